//! Where a piece that is too long may be cut: prose at the ends of sentences, code at the ends of
//! lines, and never inside a character.

use std::ops::Range;

use crate::text::{sentences::sentences, words::count_words};

/// Words a passage aims at.
pub const TARGET: usize = 170;
/// A section or a paragraph up to this long stays whole.
pub const WHOLE: usize = 200;
/// A code block up to this long stays whole.
pub const CODE_CAP: usize = 600;
/// Bytes that weigh as much as a word where there are no words (keys, base64, tables of digits).
const BYTES_PER_WORD: usize = 24;

/// The length of a text in words of its language.
pub fn weigh(text: &str) -> usize {
    count_words(text).max(text.len() / BYTES_PER_WORD)
}

/// Cuts for prose: after sentences, packed up to the target.
pub fn prose(text: &str) -> Vec<usize> {
    let mut pieces = Vec::new();
    let mut start = 0;
    for end in sentence_ends(text) {
        clauses(text, start..end, &mut pieces);
        start = end;
    }
    pack(pieces)
}

/// Cuts for code and other text that lives in lines.
pub fn lines(text: &str) -> Vec<usize> {
    let mut pieces = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let range = start..start + line.len();
        start = range.end;
        let words = weigh(line);
        if words > CODE_CAP {
            clauses(text, range, &mut pieces)
        } else {
            pieces.push((range, words))
        }
    }
    pack(pieces)
}

/// Runs of lines of about the target's weight, covering the text.
pub fn groups(text: &str) -> Vec<Range<usize>> {
    let cuts = lines(text);
    let starts = [0].into_iter().chain(cuts.iter().copied());
    let ends = cuts.iter().copied().chain([text.len()]);
    starts.zip(ends).map(|(start, end)| start..end).collect()
}

/// Greedy packing: the cuts between runs of pieces that stay within the target.
fn pack(pieces: Vec<(Range<usize>, usize)>) -> Vec<usize> {
    let mut cuts = Vec::new();
    let mut held = 0;
    for (range, words) in pieces {
        if held > 0 && held + words > TARGET {
            cuts.push(range.start);
            held = 0;
        }
        held += words;
    }
    cuts
}

/// One sentence, or its parts when it is itself too long: first at commas and spaces, then at
/// whatever character the target falls on.
fn clauses(text: &str, range: Range<usize>, pieces: &mut Vec<(Range<usize>, usize)>) {
    let words = weigh(&text[range.clone()]);
    if words <= TARGET {
        pieces.push((range, words));
        return;
    }
    let mut start = range.start;
    let ends = text[range.clone()]
        .char_indices()
        .filter(|(_, c)| c.is_whitespace() || matches!(c, '、' | '，' | '；' | '：'))
        .map(|(at, c)| range.start + at + c.len_utf8())
        .chain([range.end]);
    for end in ends {
        let part = &text[start..end];
        let words = weigh(part);
        if words > TARGET {
            let step = (part.len() * TARGET / words).max(4);
            while end - start > step {
                let cut = (start..=start + step).rev().find(|cut| text.is_char_boundary(*cut));
                let cut = cut.unwrap_or(end);
                pieces.push((start..cut, TARGET));
                start = cut;
            }
            pieces.push((start..end, weigh(&text[start..end])));
        } else if end > start {
            pieces.push((start..end, words));
        }
        start = end;
    }
}

/// The places just after each sentence, the end of the text included.
fn sentence_ends(text: &str) -> Vec<usize> {
    let mut ends: Vec<usize> = sentences(text).into_iter().map(|range| range.end).collect();
    if ends.last() != Some(&text.len()) {
        ends.push(text.len());
    }
    ends
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_prose_is_cut_near_the_target_in_three_languages() {
        for sentence in [
            "The river rises in the hills and runs slowly to the sea. ",
            "Река начинается в горах и медленно течёт к далёкому морю. ",
            "川は山から流れ出て、ゆっくりと海へ向かって進んでいく。",
        ] {
            let text = sentence.repeat(60);
            let cuts = prose(&text);
            assert!(!cuts.is_empty());
            let mut start = 0;
            for end in cuts.into_iter().chain([text.len()]) {
                let piece = &text[start..end];
                assert!(weigh(piece) <= TARGET, "{}", weigh(piece));
                assert!(piece.trim_end().ends_with(['.', '。']), "{piece}");
                start = end;
            }
        }
    }

    #[test]
    fn text_without_sentences_or_spaces_is_cut_too() {
        for text in
            ["ｱ".repeat(5000), "x".repeat(50_000), "слово ".repeat(900), "漢字".repeat(2000)]
        {
            let mut start = 0;
            for end in prose(&text).into_iter().chain([text.len()]) {
                assert!(weigh(&text[start..end]) <= WHOLE, "{}", weigh(&text[start..end]));
                start = end;
            }
        }
    }

    proptest::proptest! {
        #[test]
        fn cuts_are_ordered_and_between_characters(text in "([a-zа-я日本。、. \n]{0,40}){0,40}") {
            for cuts in [prose(&text), lines(&text)] {
                proptest::prop_assert!(cuts.windows(2).all(|pair| pair[0] < pair[1]));
                proptest::prop_assert!(cuts.iter().all(|cut| text.is_char_boundary(*cut) && *cut > 0));
            }
        }
    }
}
