//! Which language, where the export does not say.

use crate::text::lang;

/// Two letters; nothing for a text without letters.
pub(super) fn of(text: &str) -> Option<String> {
    text.chars().any(char::is_alphabetic).then(|| lang::detect(text).code().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_languages_and_none() {
        for (text, expected) in [
            ("A post about agents", Some("en")),
            ("Пост об агентах", Some("ru")),
            ("エージェントについての投稿", Some("ja")),
            ("2024 — 100% 🙂", None),
            ("", None),
        ] {
            assert_eq!(of(text).as_deref(), expected, "{text}");
        }
    }
}
