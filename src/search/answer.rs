//! What a search gives back.

use super::fuse::Evidence;
use crate::{
    domain::{Kind, MatchId, Pid},
    index::{Expansion, Freshness, How, Progress, Total},
};

/// The items that were found, and how.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    pub results: Vec<Found>,
    pub total: Total,
    /// Where the next page begins.
    pub next: Option<usize>,
    pub expansions: Vec<Expansion>,
    /// Words that occur nowhere, nor anything like them.
    pub unknown: Vec<String>,
    pub freshness: Freshness,
    pub vectors: Option<Progress>,
    /// Quoted words that were looked for as words, not as exact phrases.
    pub mentioned: Vec<String>,
    /// Why meaning was left out, when it was.
    pub words_only: Option<String>,
}

/// An item with the passages it was found by.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    pub pid: Pid,
    pub kind: Kind,
    pub title: String,
    pub path: String,
    /// 0 to 1, comparable between questions.
    pub relevance: f32,
    /// What results are ordered by.
    pub score: f32,
    /// What each side said of its best passage.
    pub evidence: Evidence,
    /// Best first.
    pub matches: Vec<Match>,
    /// Other items that say the same and are not shown.
    pub duplicates: Vec<Pid>,
}

/// A passage that matches.
#[derive(Debug, Clone, PartialEq)]
pub struct Match {
    pub id: MatchId,
    pub toc_path: Vec<String>,
    pub snippet: String,
    /// The matched forms in the snippet, in bytes.
    pub marks: Vec<std::ops::Range<usize>>,
    pub relevance: f32,
}

impl Answer {
    /// What the reader has to know about the answer, in sentences.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        for expansion in &self.expansions {
            let instead = expansion.instead.join("`, `");
            let word = &expansion.word;
            notes.push(match expansion.how {
                How::Prefix => format!(
                    "`{word}` occurs nowhere; searched for words that begin with it: `{instead}`"
                ),
                How::Typo => format!("`{word}` occurs nowhere; searched for `{instead}` instead"),
            });
        }
        if !self.mentioned.is_empty() {
            notes.push(format!(
                "`{}` was searched as words, not as an exact phrase: it stands within a sentence, or nothing has it exactly",
                self.mentioned.join("`, `")
            ));
        }
        if !self.unknown.is_empty() {
            notes.push(format!("not found anywhere: `{}`", self.unknown.join("`, `")));
        }
        if let Some((done, total)) = self.freshness.filling {
            notes.push(format!(
                "the index is being made: {done} of {total} items can be found so far"
            ));
        } else if self.freshness.behind > 0 {
            notes.push(format!(
                "the last {} changes are not in this answer yet; ask again in a moment",
                self.freshness.behind
            ));
        }
        if self.freshness.unread > 0 {
            notes.push(
                "a folder of notes is still being read; what changed in it lately may be missing, so ask again in a moment"
                    .to_owned(),
            );
        }
        if let Some(reason) = &self.words_only {
            notes.push(reason.clone());
        } else if let Some(vectors) = self.vectors.filter(|vectors| !vectors.is_complete()) {
            notes.push(format!(
                "search by meaning covers {} of {} passages so far; words cover all",
                vectors.done, vectors.total
            ));
        }
        notes
    }
}
