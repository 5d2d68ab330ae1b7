//! The answer in the notes' own words: the statements that speak most to the question, in order.

use super::{
    features::rank,
    passages::Retrieved,
    question::Question,
    statement::{self, Statement},
};
use crate::text::Lang;

/// Statements of an answer.
const MAX_QUOTES: usize = 4;
/// How far below the best a further statement may rank, in log-odds.
const MAX_GAP: f32 = 3.0;
/// Characters up to which further statements are quoted however they rank: a short sentence alone
/// often says too little.
const MIN_CHARS: usize = 120;
/// Longer statements are cut to the part that matches, in characters.
const MAX_QUOTE_CHARS: usize = 600;

/// A statement as the answer quotes it, and its passage.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Quote {
    pub text: String,
    pub passage: usize,
}

/// The statement that ranks first.
pub(super) fn best<'a>(
    question: &Question<'_>,
    statements: &'a [Statement],
) -> Option<&'a Statement> {
    let ranked = statements.iter().map(|statement| (rank(question, statement), statement));
    ranked.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, statement)| statement)
}

/// The quotes of the answer: those of the best one's passage first, in the order of the text. A
/// whole list or table is an answer of its own.
pub(super) fn pick(
    question: &Question<'_>,
    found: &Retrieved,
    statements: &[Statement],
) -> Vec<Quote> {
    let mut ranked: Vec<(f32, &Statement)> =
        statements.iter().map(|statement| (rank(question, statement), statement)).collect();
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0));
    let Some((top, best)) = ranked.first().copied() else { return Vec::new() };
    if best.form.is_group() {
        return vec![Quote { text: whole(best), passage: best.passage }];
    }
    let mut picked: Vec<(&Statement, String)> = Vec::new();
    for (score, statement) in ranked {
        let chars: usize = picked.iter().map(|(_, text)| text.chars().count()).sum();
        if picked.len() == MAX_QUOTES || score < top - MAX_GAP && chars >= MIN_CHARS {
            break;
        }
        // The entries of a list stand alone beside sentences.
        if statement.form.is_group() {
            continue;
        }
        let text = shown(found, statement);
        // Two notes may say the same.
        if !picked.iter().any(|(_, other)| *other == text) {
            picked.push((statement, text));
        }
    }
    picked.sort_by_key(|(statement, _)| {
        (statement.passage != best.passage, statement.passage, statement.place)
    });
    picked.into_iter().map(|(statement, text)| Quote { text, passage: statement.passage }).collect()
}

/// A statement at a length that a person reads.
fn shown(found: &Retrieved, statement: &Statement) -> String {
    let text = &statement.text;
    if text.chars().nth(MAX_QUOTE_CHARS).is_none() {
        return text.clone();
    }
    let lang = Lang::from_code(&found.passages[statement.passage].passage.lang);
    let asked = |term: &str| found.words.terms.iter().any(|asked| asked == term);
    statement::cut(text, lang, MAX_QUOTE_CHARS, asked)
}

/// A list or table on one line; where it is too long, with the number of entries left out.
fn whole(statement: &Statement) -> String {
    let mut text = statement.text.trim_end_matches([':', '：', ' ']).to_owned();
    text.push_str(": ");
    let mut chars = text.chars().count();
    for (at, entry) in statement.entries.iter().enumerate() {
        chars += entry.chars().count() + 2;
        if at > 0 && chars > MAX_QUOTE_CHARS {
            text += &format!("; … (+{})", statement.entries.len() - at);
            return text;
        }
        if at > 0 {
            text.push_str("; ");
        }
        text.push_str(entry.trim_end_matches([';', ',', '、']));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ask::statement::Form;

    fn list(entries: &[&str]) -> Statement {
        Statement {
            passage: 0,
            place: 0,
            form: Form::List,
            text: "You need:".into(),
            entries: entries.iter().map(|entry| (*entry).to_owned()).collect(),
            standing: 1.0,
            own: 1.0,
            around: 1.0,
            head: 1.0,
            of_passage: 1.0,
            cosine: None,
            passage_cosine: None,
            fits: None,
            opens: false,
        }
    }

    #[test]
    fn a_long_list_says_how_many_entries_are_left_out() {
        assert_eq!(whole(&list(&["2 beets;", "1 onion"])), "You need: 2 beets; 1 onion");
        let many = vec!["an entry of some length"; 100];
        let text = whole(&list(&many));
        assert!(text.chars().count() < MAX_QUOTE_CHARS + 20, "{text}");
        let left_out = 100 - text.matches("entry").count();
        assert!(text.ends_with(&format!("; … (+{left_out})")), "{text}");
    }
}
