//! The `If` header of RFC 4918, section 10.4, written as `dav-server` reads it. That ignores a header
//! which it cannot read, so that a write with a condition is one without; it wants an address where a
//! path may name the file, and forgets the name after one list.

use url::Url;

/// Bytes of a header as it is written. The name of a file is there before each of its lists.
const MAX_WRITTEN: usize = 64 << 10;
/// Lists of one header. Each may ask what is at a path.
const MAX_LISTS: usize = 100;

/// The header for `dav-server`; nothing where it does not follow the grammar or is too long.
pub fn rewritten(header: &str) -> Option<String> {
    let mut written = String::new();
    let mut file = None;
    let mut all_lists = 0;
    // Since the last name of a file.
    let mut lists = 0;
    let mut rest = skipped(header);
    while !rest.is_empty() {
        rest = match rest.strip_prefix('<') {
            Some(behind) => {
                // Each name has a list, and either every list has a name or none.
                if file.is_some() != (lists > 0) {
                    return None;
                }
                let (name, behind) = behind.split_once('>')?;
                (file, lists) = (Some(address(name)?), 0);
                behind
            }
            None => {
                let (list, behind) = list(rest.strip_prefix('(')?)?;
                if let Some(file) = &file {
                    written += &format!("<{file}> ");
                }
                written += &list;
                lists += 1;
                all_lists += 1;
                if written.len() > MAX_WRITTEN || all_lists > MAX_LISTS {
                    return None;
                }
                behind
            }
        };
        rest = skipped(rest);
    }
    (lists > 0).then_some(written)
}

/// A list of conditions without its opening bracket, and what is behind it.
fn list(mut rest: &str) -> Option<(String, &str)> {
    let mut written = String::from("(");
    loop {
        rest = skipped(rest);
        if let Some(behind) = rest.strip_prefix(')') {
            return (written.len() > 1).then(|| (written + ")", behind));
        }
        if rest.get(..3).is_some_and(|word| word.eq_ignore_ascii_case("not")) {
            written += "Not ";
            rest = skipped(&rest[3..]);
        }
        let end = match rest.as_bytes().first()? {
            b'<' => {
                let (token, _) = rest[1..].split_once('>')?;
                is_absolute(token).then_some(token.len() + 2)?
            }
            b'[' => 1 + etag_end(&rest[1..])?,
            _ => return None,
        };
        written += &rest[..end];
        rest = &rest[end..];
    }
}

/// Where an etag ends, with the bracket behind it.
fn etag_end(text: &str) -> Option<usize> {
    let quoted = text.strip_prefix("W/").unwrap_or(text).strip_prefix('"')?;
    let (tag, behind) = quoted.split_once('"')?;
    let is_whole = behind.starts_with(']') && tag.bytes().all(|byte| byte.is_ascii_graphic());
    is_whole.then(|| text.len() - behind.len() + 1)
}

/// The address of a file that an address or a path names. Only the path of it counts.
fn address(name: &str) -> Option<String> {
    let address = match name.starts_with('/') {
        true => format!("http://vault{name}"),
        false => name.to_owned(),
    };
    (is_absolute(&address) && Url::parse(&address).is_ok()).then_some(address)
}

/// Whether this is an address with a scheme and without a fragment.
fn is_absolute(address: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_graphic() && !b"\"<>\\^`{|}#".contains(&byte);
    let Some((scheme, rest)) = address.split_once(':') else { return false };
    scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
        && !rest.is_empty()
        && rest.bytes().all(is_plain)
}

fn skipped(text: &str) -> &str {
    text.trim_start_matches([' ', '\t'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_written_with_addresses() {
        for (header, written) in [
            ("(<urn:x:y>)", "(<urn:x:y>)"),
            (" ( [\"e\"]\t<urn:x> ) ", "([\"e\"]<urn:x>)"),
            ("(<urn:x>)(Not<DAV:no-lock>)", "(<urn:x>)(Not <DAV:no-lock>)"),
            ("(NOT [W/\"]>\"])", "(Not [W/\"]>\"])"),
            ("([\"\"])", "([\"\"])"),
            ("</a> (<x:y>)", "<http://vault/a> (<x:y>)"),
            ("</a> (<x:y>) (<x:z>)", "<http://vault/a> (<x:y>)<http://vault/a> (<x:z>)"),
            (
                "<https://h/a?b>(<x:y>)</b>(<x:z>)",
                "<https://h/a?b> (<x:y>)<http://vault/b> (<x:z>)",
            ),
        ] {
            assert_eq!(rewritten(header).as_deref(), Some(written), "{header}");
            assert_eq!(rewritten(written).as_deref(), Some(written), "{written}");
        }
    }

    #[test]
    fn a_header_that_would_be_long_is_not_written() {
        let named = |name: usize, lists: usize| {
            let lists = "([\"\"])".repeat(lists);
            rewritten(&format!("</{}> {lists}", "a".repeat(name))).map(|written| written.len())
        };
        // Each list as it is written: the address, what is around it, and the list.
        let each = |name: usize| "http://vault/".len() + name + "<> ([\"\"])".len();
        assert_eq!(named(1, MAX_LISTS), Some(MAX_LISTS * each(1)));
        assert_eq!(named(1, MAX_LISTS + 1), None);
        let half = MAX_WRITTEN / 2 - each(0);
        assert_eq!(named(half, 2), Some(MAX_WRITTEN));
        assert_eq!(named(half + 1, 2), None);
        assert_eq!(named(32 << 10, 5_400), None);
        // Lists count in all, whatever names are between them.
        assert_eq!(rewritten(&"</a>(<x:y>)".repeat(MAX_LISTS + 1)), None);
        assert_eq!(rewritten(&"(<x:y>)".repeat(MAX_LISTS + 1)), None);
    }

    #[test]
    fn what_does_not_follow_the_grammar_is_not_written() {
        for header in [
            "",
            " ",
            "()",
            "(",
            ")",
            "<urn:x>",
            "</a>",
            "</a> </b> (<x:y>)",
            "(<x:y>) </a> (<x:z>)",
            "</a#b> (<x:y>)",
            "<a> (<x:y>)",
            "<http://[/> (<x:y>)",
            "(<x:y>",
            "(<x:y)",
            "(<xy>)",
            "(<x:>)",
            "(<1:y>)",
            "(<x: y>)",
            "(x:y)",
            "(Not)",
            "(Not Not <x:y>)",
            "([e])",
            "([\"e])",
            "([\"e\")",
            "([\"a b\"])",
            "([\"a\"\"b\"])",
            "([w/\"e\"])",
            "(<x:y>),(<x:z>)",
        ] {
            assert_eq!(rewritten(header), None, "{header}");
        }
    }
}
