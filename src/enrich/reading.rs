//! A bookmark's words, read once for everybody who judges: in the order they stand, each with the
//! key that its other forms share.
//!
//! Addresses are taken out, so that none of it is mistaken for words. Only the beginning of a long
//! text is read: whatever the text is, the work is bounded.

use std::ops::Range;

use unicode_normalization::UnicodeNormalization;

use super::word_lists;
use crate::{
    domain::{Bookmark, bookmark::links::addresses},
    text::{
        self, Analyser, Kind, Lang, Mode, is_stop_word, lang,
        script::{self, Script},
    },
};

/// Characters of a title or a text that are read.
pub(super) const MAX_CHARACTERS: usize = 20_000;
/// Characters of a word; a longer one is no word.
const MAX_WORD: usize = 60;
/// Letters of a Russian word that is not stemmed.
const SHORT_RUSSIAN: usize = 3;

/// How a word is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Case {
    Lower,
    /// `Agent`: a name, or the beginning of a sentence.
    Capital,
    /// `MCP`.
    Upper,
    /// `CrewAI`, `iPhone`.
    Mixed,
    /// A script without capitals.
    None,
}

#[derive(Debug, Clone)]
pub(super) struct Word {
    pub(super) range: Range<usize>,
    /// As written, without an English possessive.
    pub(super) form: String,
    /// Folded stem: what its forms share.
    pub(super) key: String,
    pub(super) case: Case,
    /// Holds a sentence together, or says nothing by itself.
    pub(super) stop: bool,
    /// Something other than a space stands before it.
    pub(super) apart: bool,
    /// Begins a sentence, a line or a quotation.
    pub(super) first: bool,
    /// `#` stood before it.
    pub(super) hashtag: bool,
    /// `@` stood before it: an account, not a word.
    pub(super) mention: bool,
    /// Japanese or Chinese: a run of characters rather than a word.
    pub(super) run: bool,
}

impl Word {
    /// Says something that a list of subjects could show.
    pub(super) fn counts(&self) -> bool {
        !self.stop && !self.mention && has_meaning(&self.form)
    }
}

/// A bookmark as the judges see it.
#[derive(Debug)]
pub(super) struct Reading {
    /// Title and text, addresses blanked.
    pub(super) body: String,
    /// Where the title ends.
    pub(super) title: usize,
    pub(super) words: Vec<Word>,
    /// The body in one width and case, where it has Japanese in it; otherwise empty.
    pub(super) folded: String,
}

impl Reading {
    pub(super) fn of(bookmark: &Bookmark) -> Self {
        let mut body = blanked(first(prefix(&bookmark.title), MAX_CHARACTERS));
        let title = body.len();
        if !bookmark.text.is_empty() {
            if !body.is_empty() {
                body.push_str("\n\n");
            }
            body.push_str(&blanked(first(&bookmark.text, MAX_CHARACTERS)));
        }
        let known = bookmark.lang.as_deref().and_then(Lang::from_code);
        let lang = known.unwrap_or_else(|| lang::detect(&body));
        let words = text::with_analyser(|analyser| words(&body, lang, analyser));
        let folded = match words.iter().any(|word| word.run) {
            true => fold(&body),
            false => String::new(),
        };
        Self { body, title, words, folded }
    }

    /// The beginning as one line, for the model.
    pub(super) fn opening(&self, characters: usize) -> String {
        let text = first(&self.body, characters);
        let line: Vec<&str> = text
            .split(|c: char| c.is_whitespace() || c.is_control())
            .filter(|p| !p.is_empty())
            .collect();
        line.join(" ")
    }

    pub(super) fn in_title(&self, word: &Word) -> bool {
        word.range.start < self.title
    }
}

/// The keys of a phrase, as they would be found in a text.
pub(super) fn keys(phrase: &str) -> Vec<String> {
    let lang = lang::detect(phrase);
    let words = text::with_analyser(|analyser| words(phrase, lang, analyser));
    words.into_iter().map(|word| word.key).collect()
}

/// One width, one case, for looking for Japanese words wherever they stand.
pub(super) fn fold(text: &str) -> String {
    text.nfkc().flat_map(char::to_lowercase).collect()
}

pub(super) fn is_japanese(text: &str) -> bool {
    text.chars().any(|c| script::of(c).is_japanese())
}

/// What Hacker News puts before a title, which is about the site.
const PREFIXES: [&str; 6] = ["Show HN:", "Ask HN:", "Tell HN:", "Launch HN:", "Show HN –", "Poll:"];

/// And behind it, about the file.
const SUFFIXES: [&str; 3] = ["[pdf]", "[video]", "[audio]"];

fn prefix(title: &str) -> &str {
    let found = PREFIXES.iter().find_map(|prefix| title.strip_prefix(prefix));
    let title = found.unwrap_or(title).trim();
    SUFFIXES.iter().find_map(|suffix| title.strip_suffix(suffix)).unwrap_or(title)
}

/// The beginning, cut between characters.
pub(super) fn first(text: &str, characters: usize) -> &str {
    // Most texts are shorter in bytes than the limit in characters.
    if text.len() <= characters {
        return text;
    }
    text.char_indices().nth(characters).map_or(text, |(at, _)| &text[..at])
}

fn blanked(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    for at in addresses(text) {
        out.push_str(&text[from..at.start]);
        out.push('\u{1}');
        from = at.end;
    }
    out.push_str(&text[from..]);
    out
}

fn words(body: &str, lang: Lang, analyser: &mut Analyser) -> Vec<Word> {
    let mut found: Vec<Word> = Vec::new();
    let mut between = 0;
    let mut at = 0;
    while let Some(c) = body[at..].chars().next() {
        let script = script::of(c);
        if matches!(script, Script::None | Script::Mark | Script::Emoji | Script::Hiragana) {
            at += c.len_utf8();
            continue;
        }
        let end = end_of_word(body, at);
        let gap = &body[between..at];
        between = end;
        let range = at..end;
        at = end;
        push_word(body, range, gap, lang, analyser, &mut found);
    }
    found
}

/// Where the word that starts here ends.
fn end_of_word(body: &str, start: usize) -> usize {
    let rest = &body[start..];
    let mut characters = rest.char_indices().peekable();
    let mut end = 0;
    let mut previous = ' ';
    while let Some((at, c)) = characters.next() {
        let script = script::of(c);
        let next = characters.peek().map_or(' ', |(_, next)| *next);
        let inside = match script {
            Script::Hiragana | Script::Emoji => false,
            Script::None => match c {
                '-' | '_' | '\'' | '’' | '‑' => is_letter(previous) && is_letter(next),
                '.' => is_letter(previous) && is_letter(next) && !is_japanese_char(next),
                '&' => previous.is_uppercase() && next.is_uppercase(),
                '+' => is_latin(previous) || (previous == '+' && at <= 2),
                '#' => at == 1 && is_latin(previous) && !is_letter(next),
                _ => false,
            },
            _ => true,
        };
        if !inside {
            break;
        }
        end = at + c.len_utf8();
        previous = c;
    }
    start + end.max(rest.chars().next().map_or(1, char::len_utf8))
}

fn push_word(
    body: &str,
    range: Range<usize>,
    gap: &str,
    lang: Lang,
    analyser: &mut Analyser,
    found: &mut Vec<Word>,
) {
    let written = &body[range.clone()];
    if written.len() > MAX_WORD * 4 {
        return;
    }
    let run = is_japanese(written);
    // `AI-powered`, `MCP-сервер`: the short name is a word of its own.
    if !run
        && let Some(at) = written.find(['-', '‑'])
        && splits_word(written, at)
    {
        let after = at + written[at..].chars().next().map_or(1, char::len_utf8);
        push_word(body, range.start..range.start + at, gap, lang, analyser, found);
        push_word(body, range.start + after..range.end, "", lang, analyser, found);
        return;
    }
    let bare = possessor(written);
    // `U.S.` and `A.I.` are written without the stops as often.
    let dotted =
        !run && bare.contains('.') && bare.split('.').all(|part| part.chars().count() == 1);
    let undotted = if dotted { bare.replace('.', "") } else { String::new() };
    let form = if dotted { undotted.as_str() } else { bare };
    let key = if run { run_key(form) } else { key(singular(form), lang, analyser) };
    if key.is_empty() {
        return;
    }
    let before = gap.trim_end_matches([' ', '\u{a0}', '“', '"', '«', '「', '(', '\'', '‘']);
    let starts = found.is_empty()
        || before.ends_with(['.', '!', '?', '\n', ':', '…', '。', '！', '？', '—', '–', '|', '\r']);
    let stop = match run {
        true => form.chars().nth(1).is_none() || is_counter(form) || word_lists::is_stop(&key),
        false => is_stop_word(form, None) || word_lists::is_stop(&form.to_lowercase()),
    };
    found.push(Word {
        case: case(form),
        stop,
        apart: !found.is_empty() && gap.chars().any(|c| c != ' ' && c != '\u{a0}'),
        first: starts,
        hashtag: gap.ends_with(['#', '＃']),
        mention: gap.ends_with(['@', '＠']),
        run,
        form: form.to_owned(),
        key,
        range,
    });
}

/// The key of a word: what all its forms share where their stems differ (`дня` and `день`), or its
/// stem in the language of its script.
///
/// A short Russian word without other forms stays whole: its stem would be that of another (`ИИ`
/// and `и`).
fn key(form: &str, lang: Lang, analyser: &mut Analyser) -> String {
    let (mut stem, mut shared) = (String::new(), Vec::new());
    analyser.analyse(form, Some(lang), Mode::Index, |token| match token.kind {
        Kind::Key => shared.push(token.term.to_owned()),
        Kind::Form(_) | Kind::Single | Kind::Emoji => {}
        _ if stem.is_empty() => stem.push_str(token.term),
        _ => {}
    });
    let short = form.chars().count() <= SHORT_RUSSIAN && form.chars().all(is_cyrillic);
    match (&mut shared[..], short) {
        // A form of two words belongs to neither.
        ([one], _) => std::mem::take(one),
        (_, true) => form.to_lowercase().replace('ё', "е"),
        _ => stem,
    }
}

/// `LLMs`: a stemmer wants a vowel before it takes an ending off.
fn singular(form: &str) -> &str {
    let consonant = |b: u8| b.is_ascii_alphabetic() && !b"aeiouy".contains(&b.to_ascii_lowercase());
    match form.strip_suffix('s') {
        Some(one) if one.len() > 1 && one.chars().all(char::is_uppercase) => one,
        Some(one) if one.len() > 2 && one.bytes().all(consonant) => one,
        _ => form,
    }
}

/// The long mark at the end of a katakana word comes and goes.
fn run_key(form: &str) -> String {
    let folded = fold(form);
    match folded.strip_suffix('ー') {
        Some(short) if short.chars().count() > 2 => short.to_owned(),
        _ => folded,
    }
}

fn possessor(written: &str) -> &str {
    let bare = written.strip_suffix("'s").or_else(|| written.strip_suffix("’s"));
    let bare = bare.or_else(|| written.strip_suffix("'S")).unwrap_or(written);
    bare.trim_end_matches(['-', '.', '_', '\'', '’'])
}

/// Whether the hyphen at `at` splits the word into two.
fn splits_word(written: &str, at: usize) -> bool {
    let (before, after) = (&written[..at], &written[at..]);
    let upper = before.len() > 1 && before.chars().all(|c| c.is_uppercase());
    let scripts = |text: &str| text.chars().map(script::of).find(|s| s.is_spaced());
    let lower = after.chars().any(char::is_alphabetic) && !after.chars().any(char::is_uppercase);
    (upper && lower)
        || scripts(before) != scripts(after.trim_start_matches(['-', '‑']))
            && scripts(before) != Some(Script::Digit)
            && after.chars().any(char::is_alphabetic)
}

fn case(form: &str) -> Case {
    let (mut upper, mut lower, mut first) = (0, 0, None);
    for c in form.chars() {
        let big = c.is_uppercase();
        if big || c.is_lowercase() {
            first.get_or_insert(big);
        }
        upper += usize::from(big);
        lower += usize::from(c.is_lowercase());
    }
    match (upper, lower) {
        (0, 0) => Case::None,
        (0, _) => Case::Lower,
        (1, 0) => Case::Capital,
        (_, 0) => Case::Upper,
        (1, _) if first == Some(true) => Case::Capital,
        // `LLMs`, `Open-Source`: capitals at the starts of parts are still only capitals.
        _ if form
            .split(['-', '.', '\'', '’'])
            .all(|part| part.chars().skip(1).all(|c| !c.is_uppercase())) =>
        {
            Case::Capital
        }
        _ => Case::Mixed,
    }
}

/// Numbers, versions and `10x` are about something else.
fn has_meaning(form: &str) -> bool {
    let letters = form.chars().filter(|c| c.is_alphabetic()).count();
    let digits = form.chars().filter(char::is_ascii_digit).count();
    let starts = form.starts_with(|c: char| c.is_ascii_digit());
    match (letters, digits) {
        (0, _) => false,
        (1, 0) => form.chars().any(|c| !c.is_alphabetic()),
        (1, _) => !starts && !form.starts_with(['v', 'V']) || form.chars().any(char::is_uppercase),
        (2, d) if d > 0 && starts => form.chars().any(char::is_uppercase),
        _ => true,
    }
}

fn is_letter(c: char) -> bool {
    !matches!(script::of(c), Script::None | Script::Emoji | Script::Mark | Script::Hiragana)
}

fn is_japanese_char(c: char) -> bool {
    script::of(c).is_japanese()
}

fn is_latin(c: char) -> bool {
    script::of(c) == Script::Latin
}

fn is_cyrillic(c: char) -> bool {
    script::of(c) == Script::Cyrillic
}

/// `80行`, `3泊4日`, `42万件`: a number with its counter.
fn is_counter(run: &str) -> bool {
    const NUMERALS: &str = "一二三四五六七八九十百千万億兆数半";
    let number = |c: char| c.is_numeric() || NUMERALS.contains(c);
    run.starts_with(number)
        && run.chars().filter(|c| !number(*c)).count() <= 2
        && run.chars().all(|c| script::of(c) != Script::Latin && script::of(c) != Script::Katakana)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Timestamp;

    fn read(title: &str, text: &str) -> Reading {
        let mut bookmark = Bookmark::new(Some("1"), "", text, Timestamp(0)).unwrap();
        bookmark.title = title.to_owned();
        Reading::of(&bookmark)
    }

    fn forms(text: &str) -> Vec<String> {
        read("", text).words.into_iter().filter(Word::counts).map(|word| word.form).collect()
    }

    #[test]
    fn words_as_they_are_written() {
        for (text, expected) in [
            (
                "The AI-powered Node.js and C++ agents' GPT-4, v2.0 in 2026",
                vec!["AI", "powered", "Node.js", "C++", "agents", "GPT-4"],
            ),
            (
                "Read https://example.org/agents now: R&D costs 10x, @someone's #MCP",
                vec!["R&D", "costs", "MCP"],
            ),
            (
                "Сервер MCP-сервера и ИИ-агентов не умеет C#",
                vec!["Сервер", "MCP", "сервера", "ИИ", "агентов", "умеет", "C#"],
            ),
            ("AIエージェントの実装パターンをまとめた", vec!["AIエージェント", "実装パターン"]),
        ] {
            assert_eq!(forms(text), expected, "{text}");
        }
    }

    #[test]
    fn forms_of_a_word_share_a_key() {
        for forms in [
            ["agent", "agents", "Agents", "agent's"],
            ["агент", "агенты", "агентов", "Агентами"],
            ["サーバー", "サーバ", "ｻｰﾊﾞｰ", "サーバー"],
            ["LLM", "LLMs", "llm", "LLM's"],
            ["mouse", "mice", "Mice", "mouse's"],
            ["день", "дня", "дней", "дни"],
        ] {
            let found: Vec<String> = forms.iter().flat_map(|form| keys(form)).collect();
            assert!(found.len() == 4 && found.iter().all(|key| *key == found[0]), "{found:?}");
        }
    }

    #[test]
    fn how_words_are_written() {
        for (form, expected) in [
            ("agent", Case::Lower),
            ("Agent", Case::Capital),
            ("Open-Source", Case::Capital),
            ("MCP", Case::Upper),
            ("CrewAI", Case::Mixed),
            ("iPhone", Case::Mixed),
            ("エージェント", Case::None),
            ("Москва", Case::Capital),
            ("РФ", Case::Upper),
        ] {
            assert_eq!(case(form), expected, "{form}");
        }
    }

    #[test]
    fn only_the_beginning_is_read() {
        let reading = read("", &"слово ".repeat(200_000));
        assert!(reading.body.chars().count() <= MAX_CHARACTERS + 2);
        assert_eq!(read("", &"x".repeat(1_000_000)).words.len(), 0);
    }
}
