//! Terms on their way into tantivy: analysed once by [`crate::text`], on our own threads, and handed
//! over with their positions, so that indexing and asking cannot disagree.
//!
//! Tantivy's own carrier for this (`PreTokenizedString`) goes through JSON and is cloned three times
//! a document; a flat text of `step term NUL` records costs one copy.

use tantivy::tokenizer::{Token as Out, TokenStream, Tokenizer};

/// The name under which the schema's fields ask for [`Fed`].
pub(super) const FED: &str = "fed";
const END: char = '\0';
/// A step is written as one character, below the surrogates.
const MAX_STEP: u32 = 0xD000;

/// A term of a text, where it stands, and the bytes that it was read from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) term: String,
    pub(super) position: u32,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// The version of the analyser: a change means that the terms have to be built anew.
pub(super) const VERSION: u32 = 1;

/// Cuts a text into terms. `lang` is what the item says of itself.
pub(super) fn analyse(text: &str, _lang: Option<&str>) -> Vec<Token> {
    // STAND-IN until text:: lands.
    let mut out = Vec::new();
    let mut position = 0;
    let mut word: Option<(usize, String)> = None;
    let mut previous: Option<(usize, char)> = None;
    for (at, c) in text.char_indices().chain([(text.len(), ' ')]) {
        let wide = ('\u{3040}'..'\u{A000}').contains(&c);
        if c.is_alphanumeric() && !wide {
            let (_, w) = word.get_or_insert((at, String::new()));
            w.extend(c.to_lowercase());
        } else if let Some((start, term)) = word.take() {
            out.push(Token { term, position, start, end: at });
            position += 1;
        }
        if wide {
            if let Some((start, p)) = previous {
                out.push(Token { term: [p, c].iter().collect(), position, start, end: at + c.len_utf8() });
                position += 1;
            }
            previous = Some((at, c));
        } else {
            previous = None;
        }
    }
    out
}

/// The terms of a question, in order.
pub(super) fn question(text: &str) -> Vec<Token> {
    analyse(text, None)
}

/// The terms of a phrase with their distances from the first.
pub(super) fn phrase(text: &str) -> Vec<(usize, String)> {
    let tokens = question(text);
    let first = tokens.first().map_or(0, |token| token.position);
    tokens
        .into_iter()
        .map(|token| (token.position.saturating_sub(first) as usize, token.term))
        .collect()
}

/// Analyses a text and writes it down for [`Fed`].
pub(super) fn feed(text: &str, lang: Option<&str>) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 4);
    append(&mut out, text, lang);
    out
}

/// As [`feed`], after what is there already and one position apart from it, so that a phrase does
/// not run from one value into the next.
pub(super) fn append(out: &mut String, text: &str, lang: Option<&str>) {
    // Before the first term stands position −1, so that its step is its position plus one.
    let mut last = -1i64;
    let mut gap = i64::from(!out.is_empty());
    for token in analyse(text, lang) {
        if token.term.is_empty() || token.term.contains(END) {
            continue;
        }
        let position = i64::from(token.position);
        let step = (position - last).max(0) + std::mem::take(&mut gap);
        last = position;
        let step = u32::try_from(step).unwrap_or(MAX_STEP).min(MAX_STEP);
        out.push(char::from_u32(step + 1).unwrap_or('\u{2}'));
        out.push_str(&token.term);
        out.push(END);
    }
}

/// Reads what [`feed`] wrote.
#[derive(Clone, Default)]
pub(super) struct Fed {
    token: Out,
}

pub(super) struct FedStream<'a> {
    rest: &'a str,
    token: &'a mut Out,
}

impl Tokenizer for Fed {
    type TokenStream<'a> = FedStream<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> FedStream<'a> {
        self.token.reset();
        FedStream { rest: text, token: &mut self.token }
    }
}

impl TokenStream for FedStream<'_> {
    fn advance(&mut self) -> bool {
        let Some((record, rest)) = self.rest.split_once(END) else { return false };
        let mut chars = record.chars();
        let step = chars.next().map_or(1, |c| (c as usize).saturating_sub(1));
        self.token.position = self.token.position.wrapping_add(step);
        self.token.text.clear();
        self.token.text.push_str(chars.as_str());
        self.rest = rest;
        true
    }

    fn token(&self) -> &Out {
        self.token
    }

    fn token_mut(&mut self) -> &mut Out {
        self.token
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(fed: &str) -> Vec<(usize, String)> {
        let mut tokenizer = Fed::default();
        let mut stream = tokenizer.token_stream(fed);
        let mut out = Vec::new();
        while stream.advance() {
            out.push((stream.token().position, stream.token().text.clone()));
        }
        out
    }

    #[test]
    fn what_is_fed_is_read_back_with_its_positions() {
        for text in ["One two, three", "Привет мир", "東京都に行く", "", "…"] {
            let expected: Vec<_> =
                analyse(text, None).into_iter().map(|t| (t.position as usize, t.term)).collect();
            assert_eq!(read(&feed(text, None)), expected, "{text}");
        }
    }

    #[test]
    fn two_values_do_not_touch() {
        let mut fed = feed("alpha", None);
        append(&mut fed, "beta", None);
        let positions: Vec<_> = read(&fed).into_iter().map(|(position, _)| position).collect();
        assert!(positions[1] > positions[0] + 1, "{positions:?}");
    }
}
