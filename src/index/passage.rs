//! What of a passage is embedded, and the numbers it is known by.

use sha2::{Digest, Sha256};

/// The text that the model sees for a passage. Changing it makes every vector be computed anew,
/// because [`key`] is taken from it.
pub fn embedded_text(title: &str, toc_path: &[String], text: &str) -> String {
    let mut out = String::with_capacity(title.len() + text.len() + 64);
    out.push_str(title);
    for heading in toc_path {
        // A page whose first heading repeats its title says it once.
        if heading != title {
            out.push_str(" > ");
            out.push_str(heading);
        }
    }
    if !text.is_empty() {
        out.push('\n');
        out.push_str(text);
    }
    out
}

/// The number a passage's vector is kept under: equal for equal embedded text, wherever it stands.
pub(super) fn key(title: &str, toc_path: &[String], text: &str) -> u64 {
    first_eight(&Sha256::digest(embedded_text(title, toc_path, text)))
}

/// Characters from which two equal passages are the same thing under whatever title.
const MIN_DISTINCT_CHARS: usize = 40;

/// Equal for passages that a reader would call the same: case, punctuation and space aside. A short
/// one (`TODO`) says little, so its title must agree too.
pub(super) fn fold(title: &str, text: &str) -> u64 {
    let plain = |text: &str| -> String {
        text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
    };
    let mut source = plain(text);
    if source.chars().count() < MIN_DISTINCT_CHARS {
        source.push('\n');
        source.push_str(&plain(title));
        if source.len() == 1 {
            source.push_str(text);
            source.push_str(title);
        }
    }
    first_eight(&Sha256::digest(source))
}

fn first_eight(digest: &[u8]) -> u64 {
    digest.iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repeated_title_is_said_once() {
        let path = ["Garden".to_owned(), "Soil".to_owned()];
        assert_eq!(embedded_text("Garden", &path, "Dig."), "Garden > Soil\nDig.");
        assert_eq!(embedded_text("Garden", &[], ""), "Garden");
    }

    #[test]
    fn folding_ignores_case_and_punctuation_in_every_script() {
        assert_eq!(fold("", "Hello, world!"), fold("", "hello world"));
        assert_eq!(fold("", "Привет, мир"), fold("", "привет мир!"));
        assert_eq!(fold("", "東京、日本。"), fold("", "東京 日本"));
        assert_ne!(fold("", "東京"), fold("", "京都"));
        assert_ne!(fold("Garden", "TODO"), fold("House", "TODO"), "too short to say anything");
        let long = "The same long paragraph that somebody copied from one note to another.";
        assert_eq!(fold("Garden", long), fold("House", long));
        assert_ne!(key("a", &[], "text"), key("b", &[], "text"));
    }
}
