//! The language cases of `tests/cases/language.jsonl`, against the analyser alone.
//!
//! The same cases run over the real search elsewhere; here a failure points at this room.

use super::analyse::{Analyser, Kind, Mode, TAG, Term};
use super::stop::is_stop_word;
use super::typo::within_one_typo;

/// Shorter words have too many neighbours.
const SHORTEST_GUESS: usize = 4;

#[derive(serde::Deserialize)]
struct Case {
    lang: String,
    note: String,
    query: String,
    finds: bool,
    why: String,
}

fn read_cases() -> Vec<Case> {
    let lines = include_str!("../../../tests/cases/language.jsonl").lines();
    lines.map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{line}: {e}"))).collect()
}

/// At least one word of the query that is not a stop word is a term of the note, begins one, or is
/// one typo away from one.
fn finds(analyser: &mut Analyser, query: &str, note: &str) -> bool {
    let note: Vec<String> =
        analyser.terms(note, None, Mode::Index).into_iter().map(|term| term.term).collect();
    let asked = analyser.terms(query, None, Mode::Query);
    asked.iter().filter(|term| !is_stop_word(&query[term.range.clone()], None)).any(|term| {
        note.contains(&term.term)
            || (is_guessable(term) && note.iter().any(|other| is_near(&term.term, other)))
    })
}

fn is_guessable(term: &Term) -> bool {
    term.kind == Kind::Word
        && term.term.chars().count() >= SHORTEST_GUESS
        && !term.term.chars().any(|c| c.is_numeric())
}

fn is_near(asked: &str, other: &str) -> bool {
    !other.contains(TAG)
        && other.chars().count() >= SHORTEST_GUESS
        && (other.starts_with(asked) || within_one_typo(asked, other))
}

#[test]
fn every_case_holds() {
    let mut analyser = Analyser::new();
    let cases = read_cases();
    let wrong: Vec<String> = cases
        .iter()
        .filter(|case| finds(&mut analyser, &case.query, &case.note) != case.finds)
        .map(|case| {
            format!(
                "{}: `{}` in `{}` should be {} ({})",
                case.lang, case.query, case.note, case.finds, case.why
            )
        })
        .collect();
    assert!(wrong.is_empty(), "{} of {} wrong:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

#[test]
fn there_are_enough_cases_of_each_sort() {
    let cases = read_cases();
    assert!(cases.len() >= 220);
    assert!(cases.iter().filter(|case| !case.finds).count() >= 40);
    for lang in
        ["en", "ru", "ja", "zh", "ko", "th", "ar", "he", "de", "fr", "es", "code", "num", "emoji"]
    {
        assert!(cases.iter().filter(|case| case.lang == lang).count() >= 3, "{lang}");
    }
}
