//! The sentence or two of a passage that show why it was found.

use std::{collections::HashSet, ops::Range};

use crate::{
    index::Passage,
    text::{self, Lang},
};

/// Enough for a sentence before and one after, in any script.
const CHARACTERS: usize = 240;

/// The cut-out and the matched forms in it.
pub(super) fn snippet(passage: &Passage, terms: &HashSet<&str>) -> (String, Vec<Range<usize>>) {
    let text = if passage.text.is_empty() { &passage.title } else { &passage.text };
    text::with_analyser(|analyser| {
        let lang = Lang::from_code(&passage.lang);
        let cut = text::snippet(analyser, text, lang, CHARACTERS, |term| terms.contains(term));
        (cut.text, cut.marks)
    })
}
