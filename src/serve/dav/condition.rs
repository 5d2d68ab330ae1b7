//! The `If` header, checked before `dav-server` reads it: that panics on a `<` or `[` without its
//! end.

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
    use super::*;

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
