//! Who wrote a page, as its frontmatter says.

use unicode_normalization::UnicodeNormalization;

/// An author's name, folded: two spellings that differ only in case, width, Unicode form,
/// surrounding white space or a leading `@` are the same author.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Author(String);

impl Author {
    /// Folds a name. `None` when nothing of it is left.
    pub fn new(name: &str) -> Option<Self> {
        let folded = fold(name.trim().trim_start_matches('@'));
        (!folded.is_empty()).then_some(Self(folded))
    }

    /// The folded name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether a name, as somebody wrote it, is this author's.
    pub fn is_called(&self, name: Option<&str>) -> bool {
        name.and_then(Self::new).as_ref() == Some(self)
    }
}

/// The form in which names and other words of a closed meaning are compared: trimmed, NFKC, lower
/// case.
pub fn fold(text: &str) -> String {
    let text = text.trim();
    match text.is_ascii() {
        true => text.to_ascii_lowercase(),
        false => text.nfkc().collect::<String>().to_lowercase(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_name_are_one_author() {
        for (one, other) in [
            ("Mira", "mira"),
            (" @Mira ", "MIRA"),
            ("Анна", "анна"),
            ("Йон", "\u{418}\u{306}он"),
            ("ﾔﾏﾀﾞ", "ヤマダ"),
            ("Ｔａｒｏ", "taro"),
        ] {
            let author = Author::new(one).unwrap();
            assert!(author.is_called(Some(other)), "{one} {other}");
            assert_eq!(Author::new(author.as_str()), Some(author.clone()), "folding is final");
        }
        assert!(!Author::new("Mira").unwrap().is_called(Some("Mirah")));
        assert!(!Author::new("Mira").unwrap().is_called(None));
        assert_eq!(Author::new(" @ "), None);
    }
}
