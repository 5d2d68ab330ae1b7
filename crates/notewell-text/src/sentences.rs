//! Where sentences begin and end, in English, Russian, Japanese and what looks like them.
//!
//! Errs on the side of too few boundaries: a snippet or a passage that holds two sentences is
//! better than one that ends after `Dr.`.

use std::ops::Range;

use super::script::{self, Script};

/// Never end a sentence. Lower case, without the last full stop; inner ones kept.
const ABBREVIATIONS: &str = "\
    adj al approx apr art aug bzw ca cf ch cm co col corp dec dept dr e.g ed eds eq esp est excl feb fig \
    figs fr gen gov hon i.e ibid inc incl jan jul jun lt ltd mar max min mr mrs ms mt no nov nr oct op p \
    pp prof ref rev sec sen sep sept sgt sra st tel u.s usw viz vol vs z.b акад англ букв в вв вкл г гг \
    гл гр д доц ед зам изд им инж искл кв корп лат лит мин млн млрд напр нач нем обл оз ок пер пл пос пр \
    прим проф р рис рус св см соч ср ст стр т т.е т.к т.н т.ч табл тел тыс ул франц ч экз яз";

/// The sentences of `text`, in order, without the white space around them.
///
/// A blank line always ends a sentence; a single line break does unless the next line goes on in
/// lower case.
pub fn sentences(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut start = 0;
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let next = at + c.len_utf8();
        let end = match c {
            '\n' => line_ends(text, next).then_some(next),
            '.' | '!' | '?' | '…' | '。' | '！' | '？' | '｡' | '．' | '؟' | '।' => {
                let end = after_closers(text, next);
                let stop = ends_here(text, start, at, c, next, end);
                if !stop && end > next && is_full_stop(c) {
                    // The closing bracket belongs to this sentence, and so does what follows it.
                    at = end;
                    continue;
                }
                stop.then_some(end)
            }
            _ => None,
        };
        at = end.unwrap_or(next);
        if let Some(end) = end {
            push_trimmed(&mut found, text, start..end);
            start = end;
        }
    }
    push_trimmed(&mut found, text, start..text.len());
    found
}

fn push_trimmed(found: &mut Vec<Range<usize>>, text: &str, range: Range<usize>) {
    let part = &text[range.clone()];
    let start = range.start + (part.len() - part.trim_start().len());
    let end = range.start + part.trim_end().len();
    if start < end {
        found.push(start..end);
    }
}

fn is_full_stop(c: char) -> bool {
    matches!(c, '。' | '！' | '？' | '｡' | '．' | '।')
}

/// Past further end marks and the quotes and brackets that close around them.
fn after_closers(text: &str, mut at: usize) -> usize {
    for c in text[at..].chars() {
        let closes = matches!(
            c,
            '.' | '!'
                | '?'
                | '…'
                | '。'
                | '！'
                | '？'
                | '"'
                | '\''
                | '”'
                | '’'
                | '»'
                | ')'
                | ']'
                | '」'
                | '』'
                | '）'
                | '】'
                | '*'
                | '_'
        );
        if !closes {
            break;
        }
        at += c.len_utf8();
    }
    at
}

fn line_ends(text: &str, next: usize) -> bool {
    let rest = &text[next..];
    let trimmed = rest.trim_start();
    let blank_line = rest[..rest.len() - trimmed.len()].contains('\n');
    blank_line || trimmed.chars().next().is_none_or(|c| !c.is_lowercase())
}

/// Whether the mark `c` at `at` ends the sentence that began at `start`.
fn ends_here(text: &str, start: usize, at: usize, c: char, next: usize, end: usize) -> bool {
    let Some(after) = text[end..].chars().next() else { return true };
    if is_full_stop(c) {
        // 「はい。」と言った goes on after the bracket.
        return end == next || script::of(after) != Script::Hiragana;
    }
    if !after.is_whitespace() {
        // After ?! Japanese needs no space; a decimal, a host name or `a.b` is one word.
        return matches!(c, '!' | '?' | '…') && script::of(after).is_japanese();
    }
    let following = text[end..]
        .trim_start()
        .trim_start_matches(['"', '“', '«', '(', '[', '\'', '—', '-', '–', ' ']);
    if following.chars().next().is_some_and(char::is_lowercase) {
        return false;
    }
    c != '.' || end > next || !is_abbreviated(&text[start..at], &text[..at])
}

/// Whether the full stop after `before` is part of its last word.
fn is_abbreviated(before: &str, all_before: &str) -> bool {
    let word = before
        .rsplit(|c: char| c.is_whitespace() || "([{«“\"'".contains(c))
        .next()
        .unwrap_or_default();
    if word.is_empty() {
        return false;
    }
    // `1.` at the start of a line numbers an item.
    if word.bytes().all(|b| b.is_ascii_digit()) {
        let line = all_before.rsplit('\n').next().unwrap_or_default();
        return line.trim_start().len() == word.len();
    }
    // Initials: `A. S. Pushkin`, `А. С. Пушкин`.
    let mut letters = word.chars();
    if letters.next().is_some_and(char::is_uppercase) && letters.next().is_none() {
        return true;
    }
    let word = word.rsplit_once('-').map_or(word, |(_, last)| last).to_lowercase();
    ABBREVIATIONS.split(' ').any(|known| known == word)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::sentences;

    fn split(text: &str) -> Vec<&str> {
        sentences(text).into_iter().map(|range| &text[range]).collect()
    }

    #[test]
    fn english() {
        assert_eq!(split("One. Two! Three? Four"), ["One.", "Two!", "Three?", "Four"]);
        assert_eq!(
            split("Dr. Smith met Mr. J. R. Jones. They left."),
            ["Dr. Smith met Mr. J. R. Jones.", "They left."]
        );
        assert_eq!(
            split("Use e.g. Rust, i.e. code. Done."),
            ["Use e.g. Rust, i.e. code.", "Done."]
        );
        assert_eq!(
            split("Pi is 3.14. See https://a.example/b.c?d=e. Ok"),
            ["Pi is 3.14.", "See https://a.example/b.c?d=e.", "Ok"]
        );
        assert_eq!(
            split("He said \"Stop!\" and left. \"Really?\" She nodded."),
            ["He said \"Stop!\" and left.", "\"Really?\"", "She nodded."]
        );
        assert_eq!(split("Wait... what? Yes."), ["Wait... what?", "Yes."]);
    }

    #[test]
    fn russian() {
        assert_eq!(
            split("Он пришёл, т. е. вернулся. А. С. Пушкин родился в 1799 г. в Москве. Всё!"),
            ["Он пришёл, т. е. вернулся.", "А. С. Пушкин родился в 1799 г. в Москве.", "Всё!"]
        );
        assert_eq!(
            split("Живу на ул. Ленина. «Правда?» — спросил он. Да…  Нет."),
            ["Живу на ул. Ленина.", "«Правда?» — спросил он.", "Да…", "Нет."]
        );
    }

    #[test]
    fn japanese_and_chinese() {
        assert_eq!(
            split("今日は雨です。明日は？晴れ！「はい。」と言った。"),
            ["今日は雨です。", "明日は？", "晴れ！", "「はい。」と言った。"]
        );
        assert_eq!(split("他说：“你好。”然后走了。再见"), ["他说：“你好。”", "然后走了。", "再见"]);
        assert_eq!(split("本当?うん。"), ["本当?", "うん。"]);
    }

    #[test]
    fn lines_and_paragraphs() {
        assert_eq!(
            split("# Title\n\n- first\n- second item\n  goes on\n1. Numbered. Yes."),
            ["# Title", "- first", "- second item\n  goes on", "1. Numbered.", "Yes."]
        );
        assert!(split(" \n\n ").is_empty());
    }

    proptest! {
        #[test]
        fn ranges_are_ordered_disjoint_and_hold_all_but_space(text in "(\\PC|[ .!?。\n]){0,60}") {
            let ranges = sentences(&text);
            let mut last = 0;
            for range in ranges {
                prop_assert!(range.start < range.end);
                prop_assert!(text[last..range.start].trim().is_empty());
                last = range.end;
            }
            prop_assert!(text[last..].trim().is_empty());
        }
    }
}
