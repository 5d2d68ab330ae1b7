//! What a bookmark is about, for counting: its words and names, the forms of one word under one key.

use std::collections::HashSet;

use super::reading::{Case, Reading, Word, fold, is_japanese};
use crate::{
    domain::Bookmark,
    store::bookmarks::Topic,
    text::script::{self, Script},
};

/// A run of Han characters longer than this is a sentence, not a word.
const MAX_RUN: usize = 8;

/// The topics of a bookmark, in order, each once.
pub fn topics(bookmark: &Bookmark) -> Vec<Topic> {
    let reading = Reading::of(bookmark);
    let mut topics = Topics::default();
    for (at, word) in reading.words.iter().enumerate().filter(|(_, word)| word.counts()) {
        if word.run {
            topics.run(word);
        } else {
            topics.push(word.key.clone(), form(&reading.words, at));
        }
    }
    for label in &bookmark.labels {
        topics.label(label);
    }
    topics.found
}

/// How a word is shown: capitals stay where they are a name's, not where a sentence shouts.
pub(super) fn form(words: &[Word], at: usize) -> String {
    let word = &words[at];
    let shouts = |at: Option<usize>| {
        at.and_then(|at| words.get(at))
            .is_some_and(|other| other.case == Case::Upper && other.form.len() > 3)
    };
    let own = match word.case {
        Case::Mixed => true,
        Case::Upper => !shouts(at.checked_sub(1)) && !shouts(Some(at + 1)) && word.form.len() < 8,
        _ => false,
    };
    if own { word.form.clone() } else { word.form.to_lowercase() }
}

#[derive(Default)]
struct Topics {
    found: Vec<Topic>,
    seen: HashSet<String>,
}

impl Topics {
    fn push(&mut self, key: String, form: String) {
        if !key.is_empty() && self.seen.insert(key.clone()) {
            self.found.push(Topic { key, form });
        }
    }

    /// `AIエージェント` is a word and so are its parts.
    fn run(&mut self, word: &Word) {
        let parts = parts(&word.form);
        let han = |text: &str| text.chars().all(|c| script::of(c) == Script::Han);
        let long = |text: &str| text.chars().count() > MAX_RUN && han(text);
        if !long(&word.form) && parts.len() < 4 {
            self.push(word.key.clone(), word.form.clone());
        }
        if parts.len() < 2 {
            return;
        }
        for part in parts {
            let letters = part.chars().filter(|c| c.is_alphabetic()).count();
            if letters > 1 && !long(part) {
                let key = if is_japanese(part) { run_of(part) } else { latin(part) };
                self.push(key, part.to_owned());
            }
        }
    }

    fn label(&mut self, label: &str) {
        let bookmark = Bookmark::new(Some("label"), "", label, crate::domain::Timestamp(0));
        let Ok(bookmark) = bookmark else { return };
        let reading = Reading::of(&bookmark);
        for (at, word) in reading.words.iter().enumerate().filter(|(_, word)| word.counts()) {
            self.push(word.key.clone(), form(&reading.words, at));
        }
    }
}

/// The stretches of one script in a run.
fn parts(run: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut start = 0;
    let mut previous = None;
    for (at, c) in run.char_indices() {
        let script = match script::of(c) {
            // Letters and the numbers beside them are one name.
            Script::Digit => Script::Latin,
            Script::None | Script::Mark => continue,
            other => other,
        };
        if previous.is_some_and(|previous| previous != script) {
            parts.push(&run[start..at]);
            start = at;
        }
        previous = Some(script);
    }
    parts.push(&run[start..]);
    parts
}

fn run_of(part: &str) -> String {
    super::reading::keys(part).into_iter().next().unwrap_or_else(|| fold(part))
}

fn latin(part: &str) -> String {
    super::reading::keys(part).into_iter().next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Timestamp;

    fn of(title: &str, text: &str, labels: &[&str]) -> Vec<(String, String)> {
        let mut bookmark = Bookmark::new(Some("1"), "", text, Timestamp(0)).unwrap();
        bookmark.title = title.to_owned();
        bookmark.labels = labels.iter().map(|label| (*label).to_owned()).collect();
        topics(&bookmark).into_iter().map(|topic| (topic.key, topic.form)).collect()
    }

    fn shown(title: &str, text: &str) -> Vec<String> {
        of(title, text, &[]).into_iter().map(|(_, form)| form).collect()
    }

    #[test]
    fn names_keep_their_capitals_and_words_do_not() {
        assert_eq!(
            shown("Show HN: CrewAI Agents speak MCP (2025)", "The agents of CrewAI, an LLM"),
            ["CrewAI", "agents", "speak", "MCP", "LLM"]
        );
        assert_eq!(shown("", "TOTAL WITCH HUNT by the FBI"), ["total", "witch", "hunt", "FBI"]);
    }

    #[test]
    fn forms_merge_in_three_languages() {
        for (one, other) in [
            ("agent", "the agents"),
            ("агентов", "новые агенты"),
            ("サーバーの設定", "サーバを止める"),
            ("база данных", "в базах данных"),
        ] {
            let (one, other) = (of("", one, &[]), of("", other, &[]));
            assert_eq!(one[0].0, other[0].0, "{one:?} {other:?}");
        }
        assert_eq!(of("", "агент агенты агентов", &[]).len(), 1);
        assert_eq!(of("", "agents", &["Agent", "#rust"]).len(), 2);
    }

    #[test]
    fn japanese_runs_and_their_parts() {
        assert_eq!(
            shown("", "AIエージェントとMCPサーバーの人工知能"),
            ["AIエージェント", "AI", "エージェント", "MCPサーバー", "MCP", "サーバー", "人工知能"]
        );
        let key = |text: &str| of("", text, &[])[0].0.clone();
        assert_eq!(of("", "MCPサーバー", &[])[1].0, key("MCP servers"));
    }

    #[test]
    fn no_addresses_no_numbers_no_small_words() {
        assert_eq!(
            shown("", "See https://example.org/secret-path in 2024, it is 100% of the 3"),
            [""; 0]
        );
        assert_eq!(shown("", "это и есть новый https://пример.рф/путь"), [""; 0]);
        assert_eq!(shown("", "これはそれです"), [""; 0]);
    }
}
