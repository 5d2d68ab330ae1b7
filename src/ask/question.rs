//! What a question says of the answer it wants: which of its words only ask, and whether a number, a
//! date, a name, a list or a definition is expected.

use super::{
    definition,
    vocabulary::{ASKING, HINTS, NUMBER_WORDS, words},
};
use crate::text::{Lang, lang, script};

/// The kind of answer that a question asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// A number.
    Number,
    /// A date or time.
    Date,
    /// A person, place or thing.
    Name,
    /// A list.
    List,
    /// What something is.
    Definition,
}

/// A parsed question.
pub struct Question<'a> {
    /// As it was asked.
    pub text: &'a str,
    /// Its language.
    pub lang: Lang,
    /// The question without the words that only ask.
    pub core: String,
    /// The kind of answer that it wants.
    pub wanted: Option<Wanted>,
    /// The thing whose definition is asked for; lower case.
    pub term: Option<String>,
}

impl<'a> Question<'a> {
    /// Parses a question.
    pub fn read(text: &'a str) -> Self {
        let lower = text.to_lowercase();
        let term = definition::term(text);
        let wanted = term.as_ref().map(|_| Wanted::Definition).or_else(|| hinted(&lower));
        let mut core = lower.clone();
        for asking in words(ASKING) {
            while let Some(at) = find(&core, asking) {
                core.replace_range(at..at + asking.len(), " ");
            }
        }
        // A question of nothing else is asked as it is.
        if !core.chars().any(char::is_alphanumeric) {
            core = lower;
        }
        Self { text, lang: lang::detect(text), core, wanted, term }
    }
}

/// The kind of answer that the longest hint of a question names.
fn hinted(lower: &str) -> Option<Wanted> {
    let hints =
        HINTS.iter().flat_map(|(wanted, table)| words(table).map(move |hint| (hint, *wanted)));
    let found = hints.filter(|(hint, _)| find(lower, hint).is_some());
    found.max_by_key(|(hint, _)| hint.chars().count()).map(|(_, wanted)| wanted)
}

/// Where a word stands: as a whole word where its script puts spaces between words.
pub(super) fn find(text: &str, word: &str) -> Option<usize> {
    let spaced = |c: char| script::of(c).is_spaced();
    text.match_indices(word).map(|(at, _)| at).find(|at| {
        let before = text[..*at].chars().next_back();
        let after = text[at + word.len()..].chars().next();
        let whole = word.chars().next().is_some_and(spaced);
        !whole || !(before.is_some_and(spaced) || after.is_some_and(spaced))
    })
}

impl Wanted {
    /// Whether a sentence has a number, date or name that the question has not.
    pub(super) fn is_in(self, sentence: &str, question: &str) -> bool {
        match self {
            Wanted::Number | Wanted::Date => {
                numbers(sentence).any(|number| !question.contains(number))
                    || self == Wanted::Number && has_number_word(sentence)
            }
            Wanted::Name => names(sentence).any(|name| !question.contains(name)),
            Wanted::List | Wanted::Definition => false,
        }
    }
}

/// Runs of digits, with what joins them.
pub(super) fn numbers(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_numeric() && !matches!(c, '.' | ','))
        .map(|run| run.trim_matches(['.', ',']))
        .filter(|run| run.chars().any(char::is_numeric))
}

fn has_number_word(text: &str) -> bool {
    let lower = text.to_lowercase();
    words(NUMBER_WORDS).any(|word| find(&lower, word).is_some())
}

/// Words that begin with a capital, the first of the sentence left out; in Japanese, runs of
/// katakana or of several Han characters.
fn names(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|c: char| !c.is_alphanumeric() && c != '-' && c != '\'');
    let capital = words
        .filter(|word| !word.is_empty())
        .skip(1)
        .filter(|word| word.chars().next().is_some_and(char::is_uppercase));
    let runs = text
        .split(|c: char| {
            !matches!(script::of(c), script::Script::Han | script::Script::Katakana) && c != '・'
        })
        .filter(|run| run.chars().nth(1).is_some());
    capital.chain(runs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wanted_in_three_languages() {
        for (text, wanted) in [
            ("How many points?", Some(Wanted::Number)),
            ("In what year did it end?", Some(Wanted::Date)),
            ("Who wrote it?", Some(Wanted::Name)),
            ("What happened?", None),
            ("What is a whole?", Some(Wanted::Definition)),
            ("What are the ingredients of the soup?", Some(Wanted::List)),
            ("Что нужно для борща?", Some(Wanted::List)),
            ("カレーの材料は？", Some(Wanted::List)),
            ("Сколько очков?", Some(Wanted::Number)),
            ("В каком году это было?", Some(Wanted::Date)),
            ("Кто написал?", Some(Wanted::Name)),
            ("何人いますか", Some(Wanted::Number)),
            ("いつ始まった？", Some(Wanted::Date)),
        ] {
            assert_eq!(Question::read(text).wanted, wanted, "{text}");
        }
    }

    #[test]
    fn the_core_is_what_is_asked_about() {
        for (text, core) in [
            ("How many points did the Panthers score?", "points the panthers score?"),
            ("Кто написал «Войну и мир»?", "написал «войну и мир»?"),
            ("梅雨はいつ始まりますか？", "梅雨は 始まり ？"),
            ("What?", "what?"),
        ] {
            let read = Question::read(text).core;
            assert_eq!(read.split_whitespace().collect::<Vec<_>>().join(" "), core, "{text}");
        }
    }

    #[test]
    fn a_sentence_has_what_the_question_has_not() {
        assert!(Wanted::Number.is_in("It has 24 of them.", "how many in 1999?"));
        assert!(!Wanted::Date.is_in("In 1999 it ended.", "when in 1999?"));
        assert!(Wanted::Name.is_in("It was won by Miller.", "Who won?"));
        assert!(!Wanted::Name.is_in("It was won.", "Who won?"));
    }
}
