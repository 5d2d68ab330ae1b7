//! Bonus for the kinds the user prefers; prompts only where they fit.

use std::collections::HashSet;

use super::group::Candidate;
use crate::domain::{Kind, Pid};

/// What the kind that is wanted first gains over one that is not named: about as much as a tenth of
/// a full match.
const FIRST: f32 = 0.1;

/// The kinds that come first among items that answer about equally well, as `[search] kinds` names
/// them.
#[derive(Debug, Clone, Default)]
pub(super) struct Preference(Vec<Kind>);

impl Preference {
    pub(super) fn new(kinds: &[Kind]) -> Self {
        Self(kinds.to_vec())
    }

    pub(super) fn names(&self, kind: Kind) -> bool {
        self.0.contains(&kind)
    }

    /// What a kind gains: the first named one most.
    fn gain(&self, kind: Kind) -> f32 {
        let place = self.0.iter().position(|named| *named == kind);
        place.map_or(0.0, |place| FIRST * (self.0.len() - place) as f32 / self.0.len() as f32)
    }

    pub(super) fn apply(&self, candidates: &mut [Candidate]) {
        for candidate in candidates {
            candidate.score += self.gain(candidate.hit.kind);
        }
    }
}

/// Removes the prompts that do not fit very well, unless there is nothing else, and returns how many
/// they are: a prompt is a text for a model, and has the words of many questions without answering
/// any.
pub(super) fn remove_weak_prompts(candidates: &mut Vec<Candidate>) -> usize {
    let is_prompt = |candidate: &Candidate| candidate.hit.kind == Kind::Prompt;
    if candidates.iter().all(is_prompt) {
        return 0;
    }
    let prompts = |candidates: &[Candidate]| -> HashSet<Pid> {
        candidates.iter().filter(|c| is_prompt(c)).map(|c| c.hit.id.pid).collect()
    };
    let before = prompts(candidates);
    candidates.retain(|candidate| !is_prompt(candidate) || candidate.evidence.fits_very_well());
    before.len() - prompts(candidates).len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_that_are_named_earlier_gain_more() {
        let preference = Preference::new(&[Kind::Card, Kind::Page]);
        assert!(preference.gain(Kind::Card) > preference.gain(Kind::Page));
        assert!(preference.gain(Kind::Page) > preference.gain(Kind::Bookmark));
        assert_eq!(preference.gain(Kind::Bookmark), 0.0);
        assert_eq!(Preference::default().gain(Kind::Page), 0.0);
        assert!(preference.names(Kind::Card) && !preference.names(Kind::Prompt));
    }
}
