//! Scripts that do not separate words: Japanese and Chinese by pairs of characters and single Han
//! ones (single katakana added nothing on five Japanese sets, and `ハン` would find `パン`), Korean by pairs of syllables, Thai and its neighbours by a trained segmenter, emoji.

use std::ops::Range;
use std::sync::OnceLock;

use icu_segmenter::{WordSegmenter, WordSegmenterBorrowed, options::WordBreakInvariantOptions};
use unicode_normalization::UnicodeNormalization;

use super::analyse::{Kind, Mode, Scan, Token};
use super::fold;
use super::script::{self, Script};

/// One character of a run after normalising, with its place before.
#[derive(Clone, Copy, Debug)]
pub(super) struct Character {
    folded: char,
    chinese: char,
    start: usize,
    end: usize,
    /// Says something on its own: Han does, kana and the repetition mark do not.
    alone: bool,
}

impl<F: FnMut(Token<'_>)> Scan<'_, '_, F> {
    pub(super) fn japanese(&mut self, start: usize) -> usize {
        let mut run = std::mem::take(&mut self.analyser.buffers.characters);
        run.clear();
        let mut at = start;
        while let Some(c) = self.text[at..].chars().next() {
            let script = script::of(c);
            if !script.is_japanese() {
                break;
            }
            let next = at + c.len_utf8();
            let end = next + marks_after(&self.text[next..]);
            if end == next && fold::is_plain_japanese(c) {
                run.push(character(c, at..end));
            } else {
                run.extend(
                    self.text[at..end]
                        .nfkc()
                        .filter(|c| script::of(*c).is_japanese())
                        .map(|c| character(c, at..end)),
                );
            }
            at = end;
        }
        self.grams(&run, |character| character.alone);
        self.analyser.buffers.characters = run;
        at
    }

    pub(super) fn hangul(&mut self, start: usize) -> usize {
        let mut run = std::mem::take(&mut self.analyser.buffers.characters);
        run.clear();
        let mut at = start;
        while self.text[at..].chars().next().is_some_and(|c| script::of(c) == Script::Hangul) {
            let end = at + syllable_len(&self.text[at..]);
            for c in self.text[at..end].nfkc().filter(|c| script::of(*c) == Script::Hangul) {
                run.push(Character { folded: c, chinese: c, start: at, end, alone: false });
            }
            at = end;
        }
        // A noun of one syllable usually carries a particle of one.
        let short = run.len() == 2;
        self.grams(&run, |character| short && character.start == start);
        self.analyser.buffers.characters = run;
        at
    }

    /// Each pair at the position of its first character, so that pairs in sequence are a phrase.
    fn grams(&mut self, run: &[Character], alone: impl Fn(&Character) -> bool) {
        for (index, first) in run.iter().enumerate() {
            match run.get(index + 1) {
                Some(second) => {
                    let range = first.start..second.end;
                    let plain = [first.folded, second.folded];
                    let chinese = [first.chinese, second.chinese];
                    self.gram(&plain, &chinese, range, Kind::Gram);
                    if alone(first) && self.mode != Mode::Phrase {
                        self.gram(
                            &[first.folded],
                            &[first.chinese],
                            first.start..first.end,
                            Kind::Single,
                        );
                    }
                }
                None if run.len() == 1 => {
                    self.gram(
                        &[first.folded],
                        &[first.chinese],
                        first.start..first.end,
                        Kind::Gram,
                    );
                }
                None if alone(first) && self.mode != Mode::Phrase => {
                    self.gram(
                        &[first.folded],
                        &[first.chinese],
                        first.start..first.end,
                        Kind::Single,
                    );
                }
                None => {}
            }
            self.position += 1;
        }
    }

    fn gram(&mut self, plain: &[char], chinese: &[char], range: Range<usize>, kind: Kind) {
        let mut bytes = [0; 8];
        let (plain, chinese) = if self.chinese { (chinese, chinese) } else { (plain, chinese) };
        self.emit(encode(plain, &mut bytes), range.clone(), kind);
        // Not for single ones: a Japanese aeroplane would find every desk.
        if self.mode == Mode::Query && plain != chinese && kind == Kind::Gram {
            self.emit(encode(chinese, &mut bytes), range, Kind::Variant);
        }
    }

    pub(super) fn south_east_asian(&mut self, start: usize) -> usize {
        let rest = &self.text[start..];
        let len = rest
            .find(|c| !matches!(script::of(c), Script::SouthEastAsian | Script::Mark))
            .unwrap_or(rest.len());
        let run = &rest[..len];
        let mut from = 0;
        for to in segmenter().segment_str(run) {
            if to > from {
                let mut lower = std::mem::take(&mut self.analyser.buffers.lower);
                let mut bare = std::mem::take(&mut self.analyser.buffers.bare);
                fold::fold_word(&run[from..to], &mut lower, &mut bare);
                if !bare.is_empty() {
                    self.emit(&bare, start + from..start + to, Kind::Word);
                    self.position += 1;
                }
                self.analyser.buffers.lower = lower;
                self.analyser.buffers.bare = bare;
            }
            from = to;
        }
        start + len
    }

    /// One emoji with its modifiers; skin tone and the choice of picture or text do not matter.
    pub(super) fn emoji(&mut self, start: usize) -> usize {
        let mut joined = std::mem::take(&mut self.analyser.buffers.joined);
        joined.clear();
        let mut at = start;
        let mut chars = self.text[start..].chars().peekable();
        while let Some(c) = chars.next() {
            let next = chars.peek().copied();
            at += c.len_utf8();
            if !is_skin_tone(c) && !is_selector(c) {
                joined.push(c);
            }
            let flag = is_flag(c) && joined.chars().count() == 1 && next.is_some_and(is_flag);
            let goes_on = flag
                || next
                    .is_some_and(|next| is_skin_tone(next) || is_selector(next) || next == JOINER)
                || (c == JOINER && next.is_some_and(|next| script::of(next) == Script::Emoji));
            if !goes_on || joined.len() > 2 * fold::MAX_WORD {
                break;
            }
        }
        let term = joined.trim_end_matches(JOINER);
        if !term.is_empty() {
            self.emit(term, start..at, Kind::Emoji);
            self.position += 1;
        }
        self.analyser.buffers.joined = joined;
        at
    }
}

const JOINER: char = '\u{200D}';

fn is_skin_tone(c: char) -> bool {
    matches!(c, '\u{1F3FB}'..='\u{1F3FF}')
}

fn is_selector(c: char) -> bool {
    matches!(c, '\u{FE0E}' | '\u{FE0F}')
}

fn is_flag(c: char) -> bool {
    matches!(c, '\u{1F1E6}'..='\u{1F1FF}')
}

fn character(c: char, range: Range<usize>) -> Character {
    let script = script::of(c);
    let han = script == Script::Han;
    Character {
        folded: if han { fold::fold_han(c, false) } else { c },
        chinese: if han { fold::fold_han(c, true) } else { c },
        start: range.start,
        end: range.end,
        alone: han && c != '々',
    }
}

/// Bytes of the marks that `rest` begins with.
fn marks_after(rest: &str) -> usize {
    rest.find(|c| script::of(c) != Script::Mark).unwrap_or(rest.len())
}

/// Bytes of the first syllable: one code point, or the letters that compose to one.
fn syllable_len(rest: &str) -> usize {
    let mut len = 0;
    let mut last = None;
    for c in rest.chars() {
        let goes_on = match (last, u32::from(c)) {
            (None, _) => true,
            (Some(_), 0x1160..=0x11FF | 0xD7B0..=0xD7FB) => true,
            (Some(_), _) => script::of(c) == Script::Mark,
        };
        if !goes_on {
            break;
        }
        len += c.len_utf8();
        last = Some(c);
    }
    len
}

fn encode<'a>(chars: &[char], bytes: &'a mut [u8; 8]) -> &'a str {
    let mut len = 0;
    for c in chars {
        len += c.encode_utf8(&mut bytes[len..]).len();
    }
    std::str::from_utf8(&bytes[..len]).unwrap_or_default()
}

/// By trained models and not by dictionary: the dictionaries come with a large one for Chinese
/// that nothing here uses.
fn segmenter() -> WordSegmenterBorrowed<'static> {
    static SEGMENTER: OnceLock<WordSegmenterBorrowed<'static>> = OnceLock::new();
    *SEGMENTER.get_or_init(|| WordSegmenter::new_lstm(WordBreakInvariantOptions::default()))
}
