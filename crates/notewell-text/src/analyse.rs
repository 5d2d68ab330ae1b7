//! The analyser: a text in, its terms out, with their place in the original text.
//!
//! Indexing and asking go through the same code. What differs is how generous it is: a note gives
//! each word once in the base language of its script and once in the note's own language; a query,
//! too short to have a language, asks in all of them.

use std::ops::Range;

use super::compound::Piece;
use super::fold;
use super::grams::Character;
use super::lang::{self, Lang};
use super::script::{self, Script};
use super::stem::{self, Stemmed, Stems};

/// Between a stem and the code of its language, for languages that are not their script's base.
///
/// Without it `notes` would become `not` in German and find every English note.
pub const TAG: char = '~';

/// What the terms are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Every term under which a text is to be found.
    Index,
    /// Every term that may find a text, alternatives for one word at one position.
    Query,
    /// One term for each position, in sequence: what a phrase query matches against an index.
    ///
    /// Han characters that only Chinese folds together follow the language, so ask once as
    /// Japanese and once as Chinese where the two differ.
    Phrase,
}

/// How a term came about, so that a search can weigh it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A word: its stem in the base language of its script.
    Word,
    /// The same word, stemmed in another language and tagged with it: an alternative to the word.
    ///
    /// Where few notes are in that language the term is rare, and BM25 would overweight it. Count
    /// the best of the word and its forms, and take no form for rarer than the word.
    Form(Lang),
    /// What all forms of the word share where the stem does not: `mous` for `mice`, `ден` for `дня`.
    /// Comes with the word, and twice for a form of two words. A query splits a word's weight
    /// between the stem and its keys.
    Key,
    /// Words joined by `-`, `_`, `.` or `@`, as one: `e-mail` as `email`. Comes with the words.
    Whole,
    /// A part of a word such as `getUserName` or `O'Brien`: weaker evidence than the word.
    Part,
    /// Two neighbouring characters of Japanese, Chinese or Korean, or one that stands alone.
    Gram,
    /// The same two characters as Chinese folds them: an alternative to the gram. Queries only.
    Variant,
    /// One character inside a run that also has its grams.
    Single,
    /// A pictograph.
    Emoji,
}

/// One term and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token<'a> {
    /// The term.
    pub term: &'a str,
    /// Bytes of the original text, before any normalising.
    pub range: Range<usize>,
    /// Grows by one with each word, or with each character where words are not separated.
    pub position: u32,
    /// How the term was derived.
    pub kind: Kind,
}

/// A [`Token`] that owns its term.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Term {
    /// The term.
    pub term: String,
    /// Bytes of the original text.
    pub range: Range<usize>,
    /// As in [`Token`].
    pub position: u32,
    /// How the term was derived.
    pub kind: Kind,
}

/// Turns texts into terms. Holds caches and buffers: make one for each thread and keep it.
pub struct Analyser {
    pub(super) stems: Stems,
    pub(super) buffers: Buffers,
}

/// Memory that is used again for each word.
#[derive(Default)]
pub(super) struct Buffers {
    pub(super) lower: String,
    pub(super) bare: String,
    pub(super) joined: String,
    pub(super) term: String,
    pub(super) pieces: Vec<Piece>,
    pub(super) characters: Vec<Character>,
    pub(super) cuts: Vec<usize>,
}

impl Default for Analyser {
    fn default() -> Self {
        Self::new()
    }
}

impl Analyser {
    /// An analyser with empty caches.
    pub fn new() -> Self {
        Self { stems: Stems::new(), buffers: Buffers::default() }
    }

    /// Gives `sink` every term of `text`, ordered by where it starts.
    ///
    /// `lang` is the language of the whole note, best found once over its full text; `None` guesses
    /// from `text` when indexing and means "any" when asking.
    pub fn analyse(
        &mut self,
        text: &str,
        lang: Option<Lang>,
        mode: Mode,
        sink: impl FnMut(Token<'_>),
    ) {
        let lang = match mode {
            Mode::Query => lang,
            Mode::Index | Mode::Phrase => Some(lang.unwrap_or_else(|| lang::detect(text))),
        };
        let chinese = lang == Some(Lang::Chinese);
        Scan { text, lang, chinese, mode, position: 0, analyser: self, sink }.run();
    }

    /// The terms of `text` as a list.
    pub fn terms(&mut self, text: &str, lang: Option<Lang>, mode: Mode) -> Vec<Term> {
        let mut terms = Vec::new();
        self.analyse(text, lang, mode, |token| {
            terms.push(Term {
                term: token.term.into(),
                range: token.range,
                position: token.position,
                kind: token.kind,
            });
        });
        terms
    }
}

/// One pass over one text.
pub(super) struct Scan<'t, 'a, F> {
    pub(super) text: &'t str,
    pub(super) lang: Option<Lang>,
    pub(super) chinese: bool,
    pub(super) mode: Mode,
    pub(super) position: u32,
    pub(super) analyser: &'a mut Analyser,
    pub(super) sink: F,
}

impl<F: FnMut(Token<'_>)> Scan<'_, '_, F> {
    fn run(&mut self) {
        let bytes = self.text.as_bytes();
        let mut at = 0;
        while at < bytes.len() {
            let byte = bytes[at];
            at = if byte.is_ascii_alphanumeric() {
                self.compound(at, false)
            } else if byte == b'.' {
                let leads = (at == 0 || b" \t\n([{`'\"".contains(&bytes[at - 1]))
                    && bytes.get(at + 1).is_some_and(u8::is_ascii_alphabetic);
                if leads { self.compound(at + 1, true) } else { at + 1 }
            } else if byte.is_ascii() {
                at + 1
            } else {
                self.beyond_ascii(at)
            };
        }
    }

    fn beyond_ascii(&mut self, at: usize) -> usize {
        let Some(c) = self.text[at..].chars().next() else { return self.text.len() };
        match script::of(c) {
            Script::None | Script::Mark => at + c.len_utf8(),
            Script::Han | Script::Hiragana | Script::Katakana => self.japanese(at),
            Script::Hangul => self.hangul(at),
            Script::SouthEastAsian => self.south_east_asian(at),
            Script::Emoji => self.emoji(at),
            _ => self.compound(at, false),
        }
    }

    pub(super) fn emit(&mut self, term: &str, range: Range<usize>, kind: Kind) {
        (self.sink)(Token { term, range, position: self.position, kind });
    }

    /// One word of one script: its base stem, the keys of its forms and, where asked, its stems in
    /// other languages.
    pub(super) fn word(
        &mut self,
        script: Script,
        lower: &str,
        bare: &str,
        range: Range<usize>,
        kind: Kind,
    ) {
        // Letters that are nothing but a mark fold to nothing, such as a Greek iota below no vowel.
        if bare.is_empty() {
            return;
        }
        let stemmable =
            bare.len() > 2 && !bare.bytes().any(|b| b.is_ascii_digit() || b == b'.' || b == b'-');
        match stem::base_lang(script) {
            Some(base) if stemmable => {
                let Stemmed { stem, keys } = self.analyser.stems.look_up(base, bare);
                let position = self.position;
                let mut emit = |term, kind| {
                    (self.sink)(Token { term, range: range.clone(), position, kind });
                };
                emit(stem, kind);
                if kind == Kind::Word && self.mode != Mode::Phrase {
                    keys.split(' ')
                        .filter(|key| !key.is_empty() && *key != stem)
                        .for_each(|key| emit(key, Kind::Key));
                }
            }
            _ => self.emit(bare, range.clone(), kind),
        }
        // Words this short are small words, and they hardly bend.
        let short = bare.chars().nth(3).is_none();
        if !stemmable || short || kind != Kind::Word || self.mode == Mode::Phrase {
            return;
        }
        let langs = stem::further_langs(script);
        match self.lang {
            Some(lang) if langs.contains(&lang) => self.form(lang, lower, range),
            None => {
                for lang in langs {
                    self.form(*lang, lower, range.clone());
                }
            }
            Some(_) => {}
        }
    }

    fn form(&mut self, lang: Lang, lower: &str, range: Range<usize>) {
        let mut term = std::mem::take(&mut self.analyser.buffers.term);
        term.clear();
        fold::push_bare(self.analyser.stems.look_up(lang, lower).stem, &mut term);
        term.push(TAG);
        term.push_str(lang.code());
        self.emit(&term, range, Kind::Form(lang));
        self.analyser.buffers.term = term;
    }
}

#[cfg(test)]
mod tests;
