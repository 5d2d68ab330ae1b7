//! Headers with conditions, checked before `dav-server` reads them: that takes what it cannot read for
//! no condition, and panics on a tag that is one quotation mark.

use axum::http::{HeaderMap, HeaderValue};

use super::if_header;

const IF: &str = "if";

/// Whether `If-Match`, `If-None-Match` and `If-Range` are text, and every tag of theirs that opens a
/// quotation closes it.
pub fn has_whole_tags(headers: &HeaderMap) -> bool {
    let names = ["if-match", "if-none-match", "if-range"];
    names.iter().flat_map(|name| headers.get_all(*name)).all(|value| {
        value.to_str().is_ok_and(|value| {
            value.split(',').map(str::trim).all(|tag| tag.strip_prefix("W/").unwrap_or(tag) != "\"")
        })
    })
}

/// Writes the `If` header as `dav-server` reads it; `false` where it cannot be read or is too long. A
/// request without one is fine.
pub fn rewrite_if(headers: &mut HeaderMap) -> bool {
    let mut values = headers.get_all(IF).iter();
    let Some(value) = values.next() else { return true };
    let is_alone = values.next().is_none();
    let written = value.to_str().ok().filter(|_| is_alone).and_then(if_header::rewritten);
    match written.and_then(|written| HeaderValue::try_from(written).ok()) {
        Some(written) => headers.insert(IF, written).is_some(),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_is_more_than_a_quotation_mark() {
        let is_whole = |name: &'static str, value| {
            let value = HeaderValue::from_bytes(str::as_bytes(value)).unwrap();
            has_whole_tags(&HeaderMap::from_iter([(name.parse().unwrap(), value)]))
        };
        for good in ["", "*", "\"\"", "\"a\", W/\"b\"", "a"] {
            assert!(is_whole("if-match", good), "{good}");
        }
        for bad in ["\"", "W/\"", "\"a\", \" ", ",\","] {
            assert!(!is_whole("if-none-match", bad) && !is_whole("if-range", bad), "{bad}");
        }
        assert!(is_whole("x-other", "\""));
        assert!(!is_whole("if-match", "\"é\""));
    }
}
