//! Headers with conditions, checked before `dav-server` reads them: that panics on a `<` or `[`
//! without its end in `If`, and on a tag that is one quotation mark elsewhere.

use axum::http::HeaderMap;

/// Whether every tag of `If-Match`, `If-None-Match` and `If-Range` that opens a quotation closes it.
pub fn has_whole_tags(headers: &HeaderMap) -> bool {
    let names = ["if-match", "if-none-match", "if-range"];
    names.iter().flat_map(|name| headers.get_all(*name)).all(|value| {
        value.as_bytes().split(|byte| *byte == b',').all(|tag| {
            let tag = tag.trim_ascii();
            tag.strip_prefix(b"W/").unwrap_or(tag) != b"\""
        })
    })
}

/// Whether every state token and etag of an `If` header ends.
pub fn is_closed(header: &[u8]) -> bool {
    let mut rest = header;
    while let [first, behind @ ..] = rest {
        let end = match first {
            b'<' => b'>',
            b'[' => b']',
            _ => {
                rest = behind;
                continue;
            }
        };
        let mut quoted = false;
        let at = behind.iter().position(|byte| {
            let is_end = !quoted && *byte == end;
            quoted ^= *byte == b'"';
            is_end
        });
        match at {
            Some(at) => rest = &behind[at + 1..],
            None => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn a_tag_is_more_than_a_quotation_mark() {
        let is_whole = |name: &'static str, value| {
            let value = HeaderValue::from_static(value);
            has_whole_tags(&HeaderMap::from_iter([(name.parse().unwrap(), value)]))
        };
        for good in ["", "*", "\"\"", "\"a\", W/\"b\"", "a"] {
            assert!(is_whole("if-match", good), "{good}");
        }
        for bad in ["\"", "W/\"", "\"a\", \" ", ",\","] {
            assert!(!is_whole("if-none-match", bad) && !is_whole("if-range", bad), "{bad}");
        }
        assert!(is_whole("x-other", "\""));
    }

    #[test]
    fn what_is_opened_is_closed() {
        for good in
            ["", "(<opaquelocktoken:a>)", "</a> (<x> [\"e]>\"]) (Not <DAV:no-lock>)", "([W/\"<\"])"]
        {
            assert!(is_closed(good.as_bytes()), "{good}");
        }
        for bad in ["<", "(<opaquelocktoken:a", "([\"e\")", "([\"e])", "<a\">", "(<a>) ["] {
            assert!(!is_closed(bad.as_bytes()), "{bad}");
        }
    }
}
