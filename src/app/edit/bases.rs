//! Texts that callers have read: what an edit with an older etag was made from.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

/// How many bytes of texts are kept, the newest first.
const MAX_BYTES: usize = 2 << 20;

/// Notes as they were read, by etag. The journal keeps those that Notewell wrote; these are the ones
/// that a person changed in between.
#[derive(Default)]
pub struct Bases(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    texts: VecDeque<(String, Arc<str>)>,
    bytes: usize,
}

impl Bases {
    /// Keeps a text that somebody was given together with its etag.
    pub fn remember(&self, etag: &str, text: &str) {
        if text.len() > MAX_BYTES / 4 {
            return;
        }
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.texts.iter().any(|(known, _)| known == etag) {
            return;
        }
        kept.bytes += text.len();
        kept.texts.push_back((etag.to_owned(), text.into()));
        while kept.bytes > MAX_BYTES
            && let Some((_, old)) = kept.texts.pop_front()
        {
            kept.bytes -= old.len();
        }
    }

    /// The text that had this etag.
    pub fn get(&self, etag: &str) -> Option<Arc<str>> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.texts.iter().find(|(known, _)| known == etag).map(|(_, text)| text.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_texts_are_kept_within_the_limit() {
        let bases = Bases::default();
        let text = "ж".repeat(MAX_BYTES / 16);
        for number in 0..20 {
            bases.remember(&number.to_string(), &text);
            bases.remember(&number.to_string(), &text);
        }
        assert!(bases.get("0").is_none() && bases.get("19").is_some());
        bases.remember("large", &"x".repeat(MAX_BYTES));
        assert!(bases.get("large").is_none());
    }
}
