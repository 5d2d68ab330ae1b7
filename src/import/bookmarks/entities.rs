//! `&amp;` and its kin, read back into characters.

/// Those that bookmark files and posts use. What is not here stays as it is written.
const NAMED: &[(&str, &str)] = &[
    ("amp", "&"),
    ("lt", "<"),
    ("gt", ">"),
    ("quot", "\""),
    ("apos", "'"),
    ("nbsp", "\u{a0}"),
    ("hellip", "…"),
    ("mdash", "—"),
    ("ndash", "–"),
    ("laquo", "«"),
    ("raquo", "»"),
    ("ldquo", "“"),
    ("rdquo", "”"),
    ("lsquo", "‘"),
    ("rsquo", "’"),
    ("bull", "•"),
    ("middot", "·"),
    ("copy", "©"),
    ("reg", "®"),
    ("trade", "™"),
    ("euro", "€"),
    ("times", "×"),
    ("eacute", "é"),
    ("egrave", "è"),
    ("agrave", "à"),
    ("auml", "ä"),
    ("ouml", "ö"),
    ("uuml", "ü"),
    ("szlig", "ß"),
];

/// The text with its entities read, once: `&amp;lt;` is `&lt;`.
pub(super) fn decode(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        // No entity has a longer name.
        let end = rest.bytes().take(12).position(|byte| byte == b';');
        match end.and_then(|end| Some((character(&rest[1..end])?, end))) {
            Some((character, end)) => {
                out.push_str(&character);
                rest = &rest[end + 1..];
            }
            None => {
                out.push('&');
                rest = &rest[1..];
            }
        }
    }
    out.push_str(rest);
    out
}

fn character(name: &str) -> Option<String> {
    let Some(number) = name.strip_prefix('#') else {
        let named = NAMED.iter().find(|(known, _)| *known == name)?;
        return Some(named.1.to_owned());
    };
    let code = match number.strip_prefix(['x', 'X']) {
        Some(hex) => u32::from_str_radix(hex, 16).ok()?,
        None => number.parse().ok()?,
    };
    char::from_u32(code).filter(|c| *c != '\0').map(String::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entities_are_read_once() {
        for (text, expected) in [
            ("Michelle &amp; I", "Michelle & I"),
            ("&lt;b&gt; &quot;x&quot; it&#39;s &#x41;", "<b> \"x\" it's A"),
            ("&amp;lt;", "&lt;"),
            ("AT&T; &unknown; & &#0; &", "AT&T; &unknown; & &#0; &"),
            ("Россия &laquo;и&raquo; 日本&amp;", "Россия «и» 日本&"),
            ("&日本;", "&日本;"),
        ] {
            assert_eq!(decode(text), expected);
        }
    }
}
