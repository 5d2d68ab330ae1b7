//! Undoes the usual encodings of a string, where the result is readable text.

use base64::{
    Engine as _, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};

use super::Disguise;

/// Shorter strings decode to something by chance.
const MIN_STRING_BYTES: usize = 8;
/// Longer strings are data, and are decoded by their head only.
const MAX_STRING_BYTES: usize = 16 << 10;

/// What a string decodes to, for each encoding that gives readable text.
pub fn decoded(text: &str) -> Vec<(Disguise, String)> {
    if text.len() < MIN_STRING_BYTES || !text.is_ascii() {
        return Vec::new();
    }
    let head = &text[..text.len().min(MAX_STRING_BYTES)];
    let mut found: Vec<(Disguise, String)> = [
        (Disguise::Base64, base64(head)),
        (Disguise::Hex, hex(head)),
        (Disguise::Percent, percent(head)),
    ]
    .into_iter()
    .filter_map(|(disguise, text)| Some((disguise, text?)))
    .collect();
    found.push((Disguise::Reversed, head.chars().rev().collect()));
    found.push((Disguise::Rot13, head.chars().map(rot13).collect()));
    found
}

/// The text that a list of character codes spells.
pub fn characters(codes: &[u32]) -> Option<String> {
    let text: Option<String> = codes.iter().map(|code| char::from_u32(*code)).collect();
    text.filter(|text| is_readable(text))
}

/// Parts of everything that the checks look for, in lower case.
const MARKERS: &[&str] = &[
    "ssh", "aws", "http", "id_", "cred", "wallet", "eval", "exec", "curl", "wget", "key", "cookie",
    "login", "netrc", "npmrc", "pypirc", "/etc", "bash", "sh ", "env", "token", "chrome", "config",
    "gnupg", "import", "require", "system", "process", "://", "function",
];

/// Whether a decoded text can matter to a check. Most strings decode to nonsense.
pub fn is_telling(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    MARKERS.iter().any(|marker| lower.contains(marker))
}

fn base64(text: &str) -> Option<String> {
    let text = text.trim_end_matches('=');
    let whole = &text[..text.len() - if text.len() % 4 == 1 { 1 } else { 0 }];
    let fits = |c: char| c.is_ascii_alphanumeric() || "+/-_".contains(c);
    if !whole.chars().all(fits) {
        return None;
    }
    let config = GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true);
    let standard = whole.replace('-', "+").replace('_', "/");
    let bytes = GeneralPurpose::new(&alphabet::STANDARD, config).decode(standard).ok()?;
    readable(bytes)
}

fn hex(text: &str) -> Option<String> {
    if !text.len().is_multiple_of(2) || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let bytes = text.as_bytes().chunks(2).map(|pair| {
        std::str::from_utf8(pair).ok().and_then(|pair| u8::from_str_radix(pair, 16).ok())
    });
    readable(bytes.collect::<Option<Vec<u8>>>()?)
}

fn percent(text: &str) -> Option<String> {
    if !text.contains('%') {
        return None;
    }
    percent_encoding::percent_decode_str(text).decode_utf8().ok().map(String::from)
}

fn rot13(c: char) -> char {
    let turn = |c: char, first: u8| char::from((c as u8 - first + 13) % 26 + first);
    match c {
        'a'..='z' => turn(c, b'a'),
        'A'..='Z' => turn(c, b'A'),
        _ => c,
    }
}

fn readable(bytes: Vec<u8>) -> Option<String> {
    String::from_utf8(bytes).ok().filter(|text| is_readable(text))
}

fn is_readable(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| !c.is_control() || matches!(c, '\n' | '\r' | '\t'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_encoding_is_undone() {
        for (text, disguise) in [
            ("LnNzaC9pZF9yc2E=", Disguise::Base64),
            ("LnNzaC9pZF9yc2E", Disguise::Base64),
            ("2e7373682f69645f727361", Disguise::Hex),
            ("%2essh%2fid_rsa", Disguise::Percent),
            ("asr_di/hss.", Disguise::Reversed),
            (".ffu/vq_efn", Disguise::Rot13),
        ] {
            let found = decoded(text);
            assert!(found.contains(&(disguise, ".ssh/id_rsa".into())), "{text}: {found:?}");
        }
        assert_eq!(characters(&[46, 115, 115, 104]).as_deref(), Some(".ssh"));
        assert_eq!(characters(&[1, 2, 3]), None);
        assert!(decoded("日本語のテキスト").is_empty());
    }
}
