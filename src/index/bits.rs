//! Sets of passages.

use tantivy::DocId;

/// A set of passages of one segment.
#[derive(Debug, Clone)]
pub(super) struct Bits(pub(super) Vec<u64>);

impl Bits {
    pub(super) fn none(docs: u32) -> Self {
        Self(vec![0; (docs as usize).div_ceil(64)])
    }

    pub(super) fn has(&self, doc: DocId) -> bool {
        self.0.get(doc as usize / 64).is_some_and(|word| word >> (doc % 64) & 1 == 1)
    }

    pub(super) fn add(&mut self, doc: DocId) {
        if let Some(word) = self.0.get_mut(doc as usize / 64) {
            *word |= 1 << (doc % 64);
        }
    }

    /// The last one that is not after `doc`.
    #[allow(clippy::cast_possible_truncation, reason = "tantivy numbers documents with 32 bits")]
    pub(super) fn last_until(&self, doc: DocId) -> Option<DocId> {
        let mut at = doc as usize / 64;
        let mut word = self.0.get(at)? & (u64::MAX >> (63 - doc % 64));
        while word == 0 {
            at = at.checked_sub(1)?;
            word = self.0[at];
        }
        Some(at as u32 * 64 + 63 - word.leading_zeros())
    }

    /// The first one after `doc`.
    pub(super) fn first_after(&self, doc: DocId) -> Option<DocId> {
        let (mut at, rest) = ((doc as usize + 1) / 64, (doc + 1) % 64);
        let mut word = self.0.get(at)? & (u64::MAX << rest);
        while word == 0 {
            at += 1;
            word = *self.0.get(at)?;
        }
        #[allow(
            clippy::cast_possible_truncation,
            reason = "tantivy numbers documents with 32 bits"
        )]
        Some(at as u32 * 64 + word.trailing_zeros())
    }

    /// How many passages it has.
    pub(super) fn count(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Whether it has none.
    pub(super) fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = DocId> {
        self.0.iter().enumerate().flat_map(|(at, word)| {
            let mut word = *word;
            std::iter::from_fn(move || {
                let bit = word.trailing_zeros();
                (word != 0).then(|| {
                    word &= word - 1;
                    #[allow(
                        clippy::cast_possible_truncation,
                        reason = "tantivy numbers documents with 32 bits"
                    )]
                    let base = at as u32 * 64;
                    base + bit
                })
            })
        })
    }
}
