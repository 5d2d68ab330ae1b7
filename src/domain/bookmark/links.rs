//! Finds web addresses in a text.

use std::ops::Range;

/// Bytes of an address; a longer one is cut off as no address.
const MAX_ADDRESS: usize = 8192;

/// Where the `http` addresses of a text stand, in order. A closing bracket or a full stop behind
/// one belongs to the sentence.
pub fn addresses(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(at) = text[from..].find("http").map(|at| at + from) {
        let rest = &text[at..];
        let Some(scheme) = ["https://", "http://"].into_iter().find(|s| rest.starts_with(s)) else {
            from = at + 4;
            continue;
        };
        let ends = |c: char| {
            c.is_whitespace()
                || c.is_control()
                || matches!(
                    c,
                    '<' | '>' | '"' | '`' | '「' | '」' | '。' | '、' | '）' | '】' | '»' | '”'
                )
        };
        let end = rest.find(ends).unwrap_or(rest.len());
        // No address is that long; taking it apart would cost more than it says.
        let mut address = if end > MAX_ADDRESS { "" } else { &rest[..end] };
        loop {
            let shorter = address.trim_end_matches(['.', ',', ';', ':', '!', '?', '\'', '…', '*']);
            let shorter = match shorter.strip_suffix(')') {
                Some(inner) if !inner.contains('(') => inner,
                _ => shorter.strip_suffix(']').unwrap_or(shorter),
            };
            if shorter.len() == address.len() {
                break;
            }
            address = shorter;
        }
        if address.len() > scheme.len() {
            found.push(at..at + address.len());
        }
        from = at + end.max(scheme.len());
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_end_where_the_sentence_goes_on() {
        for (text, expected) in [
            (
                "see https://example.org/a, and (http://b.org/c).",
                vec!["https://example.org/a", "http://b.org/c"],
            ),
            (
                "https://en.wikipedia.org/wiki/Rust_(language)",
                vec!["https://en.wikipedia.org/wiki/Rust_(language)"],
            ),
            ("смотри https://пример.рф/страница!", vec!["https://пример.рф/страница"]),
            ("記事「https://例え.jp/記事」を読む", vec!["https://例え.jp/記事"]),
            ("http and https:// are no addresses", vec![]),
            ("", vec![]),
        ] {
            let found: Vec<&str> = addresses(text).into_iter().map(|at| &text[at]).collect();
            assert_eq!(found, expected, "{text}");
        }
    }
}
