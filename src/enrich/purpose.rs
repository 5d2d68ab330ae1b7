//! What a text is for, by its phrases: `assets/words/purpose.txt`.

use std::sync::LazyLock;

use super::reading::{Reading, first, fold, is_japanese};

const PHRASES: &str = include_str!("../../assets/words/purpose.txt");
/// Characters of a text whose phrases count.
const MAX_READ: usize = 2_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    Reference,
    Tool,
    Announcement,
    Article,
    Hiring,
    Question,
    Call,
}

impl Purpose {
    pub(super) const ALL: [Self; 7] = [
        Self::Reference,
        Self::Tool,
        Self::Announcement,
        Self::Article,
        Self::Hiring,
        Self::Question,
        Self::Call,
    ];

    fn section(self) -> &'static str {
        match self {
            Self::Reference => "[reference]",
            Self::Tool => "[tool]",
            Self::Announcement => "[announcement]",
            Self::Article => "[article]",
            Self::Hiring => "[hiring]",
            Self::Question => "[question]",
            Self::Call => "[call]",
        }
    }
}

static LISTS: LazyLock<Vec<(Purpose, Vec<&str>)>> = LazyLock::new(|| {
    let phrases = |purpose: Purpose| {
        let section = PHRASES.split(purpose.section()).nth(1).unwrap_or_default();
        let lines = section.lines().take_while(|line| !line.starts_with('['));
        lines.map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')).collect()
    };
    Purpose::ALL.into_iter().map(|purpose| (purpose, phrases(purpose))).collect()
});

/// The purposes that the phrases of a text speak for.
#[derive(Debug, Clone, Default)]
pub(super) struct Purposes(Vec<Purpose>);

impl Purposes {
    pub(super) fn of(reading: &Reading) -> Self {
        let text = fold(first(&reading.body, MAX_READ));
        let speaks = |phrases: &[&str]| phrases.iter().any(|phrase| contains(&text, phrase));
        Self(LISTS.iter().filter(|(_, list)| speaks(list)).map(|(purpose, _)| *purpose).collect())
    }

    pub(super) fn has(&self, purpose: Purpose) -> bool {
        self.0.contains(&purpose)
    }
}

/// A phrase of a spaced script must not be the end or the beginning of another word.
fn contains(text: &str, phrase: &str) -> bool {
    if is_japanese(phrase) {
        return text.contains(phrase);
    }
    let inflected = phrase.chars().next().is_some_and(|c| ('а'..='я').contains(&c));
    text.match_indices(phrase).any(|(at, found)| {
        let before = text[..at].chars().next_back().is_some_and(char::is_alphanumeric);
        let after = text[at + found.len()..].chars().next().is_some_and(char::is_alphanumeric);
        !before && (!after || inflected)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_list_has_phrases_of_three_languages() {
        for (purpose, phrases) in LISTS.iter() {
            let has = |wanted: fn(char) -> bool| phrases.iter().any(|p| p.chars().any(wanted));
            assert!(has(|c| c.is_ascii_alphabetic()), "{purpose:?}");
            assert!(has(|c| ('а'..='я').contains(&c)), "{purpose:?}");
            assert!(phrases.iter().any(|phrase| is_japanese(phrase)), "{purpose:?}");
            let folded = phrases.iter().all(|phrase| fold(phrase) == **phrase);
            assert!(folded, "{purpose:?} has a phrase in capitals");
        }
    }

    #[test]
    fn only_whole_words_count() {
        assert!(contains("a guide to git", "guide to"));
        assert!(!contains("misguide towers", "guide to"));
        assert!(contains("с инструментом", "инструмент"));
        assert!(contains("便利なツールです", "ツール"));
    }
}
