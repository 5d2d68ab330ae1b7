//! Passages become results: those that say the same are folded, those of one item stand together.

use std::collections::{HashMap, HashSet};

use super::{
    answer::{Match, SearchResult},
    fuse::{Evidence, Mode},
    snippet::snippet,
};
use crate::{
    domain::{Pid, Result},
    index::{Hit, View},
};

/// Passages of one item that are shown.
const MATCHES: usize = 3;

/// A passage in the running.
#[derive(Clone, Copy)]
pub(super) struct Candidate {
    pub(super) hit: Hit,
    pub(super) evidence: Evidence,
    pub(super) score: f32,
}

/// The passages of one item, best first.
pub(super) struct Group {
    /// What the item is ordered by: the most that one of its passages brings.
    pub(super) best: Candidate,
    pub(super) candidates: Vec<Candidate>,
    pub(super) duplicates: Vec<Pid>,
}

/// Orders passages, folds those that say the same and gathers them by item.
pub(super) fn group(mut candidates: Vec<Candidate>, mode: Mode) -> Vec<Group> {
    candidates
        .sort_unstable_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.hit.id.cmp(&b.hit.id)));
    let mut groups: Vec<Group> = Vec::new();
    let mut places: HashMap<Pid, usize> = HashMap::new();
    let mut said: HashMap<u64, usize> = HashMap::new();
    for candidate in candidates {
        let pid = candidate.hit.id.pid;
        if let Some(place) = said.get(&candidate.hit.fold).copied() {
            let first = &mut groups[place];
            let own = first.best.hit.id.pid == pid;
            if !own && !places.contains_key(&pid) && !first.duplicates.contains(&pid) {
                first.duplicates.push(pid);
            }
            continue;
        }
        let place = *places.entry(pid).or_insert_with(|| {
            groups.push(Group { best: candidate, candidates: Vec::new(), duplicates: Vec::new() });
            groups.len() - 1
        });
        said.insert(candidate.hit.fold, place);
        groups[place].candidates.push(candidate);
    }
    // One that was folded away and then found by something of its own is shown after all.
    for group in &mut groups {
        group.duplicates.retain(|pid| !places.contains_key(pid));
        group.candidates.sort_by(|a, b| {
            let (a, b) = (a.evidence.inside(mode), b.evidence.inside(mode));
            b.total_cmp(&a)
        });
    }
    groups
}

impl Group {
    pub(super) fn show(
        &self,
        view: &View,
        terms: &HashSet<&str>,
        mode: Mode,
    ) -> Result<SearchResult> {
        let best = &self.best;
        let mut head = None;
        let mut matches = Vec::with_capacity(MATCHES);
        for candidate in self.candidates.iter().take(MATCHES) {
            let passage = view.passage(&candidate.hit)?;
            // Any passage of an item says what the item is called.
            head.get_or_insert_with(|| (passage.kind, passage.title.clone(), passage.path.clone()));
            let (snippet, marks) = snippet(&passage, terms);
            matches.push(Match {
                id: candidate.hit.id,
                toc_path: passage.toc_path,
                snippet,
                marks,
                relevance: candidate.evidence.relevance(mode),
            });
        }
        let (kind, title, path) = match head {
            Some(head) => head,
            None => {
                let passage = view.passage(&best.hit)?;
                (passage.kind, passage.title, passage.path)
            }
        };
        Ok(SearchResult {
            pid: best.hit.id.pid,
            kind,
            title,
            path,
            relevance: best.evidence.relevance(mode),
            score: best.score,
            evidence: best.evidence,
            matches,
            duplicates: self.duplicates.clone(),
        })
    }
}
