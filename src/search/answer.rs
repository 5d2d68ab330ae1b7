//! What a search gives back.

use super::{filters::FILTER_NAMES, fuse::Evidence};
use crate::{
    domain::{Kind, MatchId, Pid},
    index::{Expansion, Freshness, Progress, Replacement, Total},
};

/// What an answer says while the store cannot be reached.
pub const AWAY: &str = "the library's store does not answer; this is what was read from it before, and nothing can be written now";
/// What an answer says whose replica has no room on its disk for the latest changes.
pub const FULL: &str =
    "the disk is full; the latest changes may not be in this answer, free space on this server";

/// The items that were found, and how.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// Best first.
    pub results: Vec<SearchResult>,
    /// Number of items that match.
    pub total: Total,
    /// Where the next page begins.
    pub next: Option<usize>,
    /// Words that stood in for others.
    pub expansions: Vec<Expansion>,
    /// Words that do not occur, nor anything like them, in what the caller may see.
    pub unknown: Vec<String>,
    /// Words before a colon that look like the name of a filter and are none.
    pub unknown_filters: Vec<String>,
    /// Whether passages were compared by meaning and none came close enough.
    pub none_near: bool,
    /// Prompts that match and are not shown, because nobody asked for prompts and they do not fit
    /// very well.
    pub prompts_left_out: usize,
    /// How far the index follows the log.
    pub freshness: Freshness,
    /// How far embedding is.
    pub vectors: Option<Progress>,
    /// Quoted words that were looked for as words, not as exact phrases.
    pub mentioned: Vec<String>,
    /// Why meaning was left out, when it was.
    pub words_only: Option<String>,
    /// What was damaged in the index and made anew just now.
    pub repairs: Vec<String>,
}

/// An item with the passages it was found by.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchResult {
    /// The item.
    pub pid: Pid,
    /// Its kind.
    pub kind: Kind,
    /// Its title.
    pub title: String,
    /// Its path or id.
    pub path: String,
    /// 0 to 1, comparable between questions.
    pub relevance: f32,
    /// What results are ordered by.
    pub score: f32,
    /// How each side scored its best passage.
    pub evidence: Evidence,
    /// Best first.
    pub matches: Vec<Match>,
    /// Other items that say the same and are not shown.
    pub duplicates: Vec<Pid>,
}

/// A passage that matches.
#[derive(Debug, Clone, PartialEq)]
pub struct Match {
    /// The passage.
    pub id: MatchId,
    /// The headings that lead to it.
    pub toc_path: Vec<String>,
    /// The part that matches, highlighted.
    pub snippet: String,
    /// The matched forms in the snippet, in bytes.
    pub marks: Vec<std::ops::Range<usize>>,
    /// 0 to 1.
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
                Replacement::Prefix => format!(
                    "`{word}` occurs nowhere; searched for words that begin with it: `{instead}`"
                ),
                Replacement::Typo => {
                    format!("`{word}` occurs nowhere; searched for `{instead}` instead")
                }
            });
        }
        if !self.mentioned.is_empty() {
            notes.push(format!(
                "`{}` was searched as words, not as an exact phrase: it stands within a sentence, or nothing has it exactly",
                self.mentioned.join("`, `")
            ));
        }
        // Before the first look is done nothing can be said to be nowhere.
        if !self.unknown.is_empty() && self.freshness.unread == 0 {
            notes.push(format!("not found anywhere: `{}`", self.unknown.join("`, `")));
        }
        if !self.unknown_filters.is_empty() {
            let names = self.unknown_filters.join(":`, `");
            let verb =
                if self.unknown_filters.len() == 1 { "is not a filter" } else { "are not filters" };
            notes.push(format!("`{names}:` {verb}; searched as words. Filters: {FILTER_NAMES}"));
        }
        match self.prompts_left_out {
            0 => {}
            1 => notes.push("1 prompt is left out; `kind:prompt` finds it".to_owned()),
            count => notes.push(format!("{count} prompts are left out; `kind:prompt` finds them")),
        }
        if self.none_near {
            notes.push("no passage is close enough in meaning".to_owned());
        }
        notes.extend(self.repairs.iter().cloned());
        if self.freshness.away {
            notes.push(AWAY.to_owned());
        }
        if let Some(obstacle) = self.freshness.obstacle {
            notes.push(format!(
                "the index is behind: {}; the latest changes are not in this answer",
                obstacle.as_str()
            ));
        }
        match self.freshness.filling.filter(|_| self.freshness.obstacle.is_none()) {
            Some((_, 0)) => notes.push(
                "the index is being made, so this answer may not be complete; ask again in a moment"
                    .to_owned(),
            ),
            Some((done, total)) => notes.push(format!(
                "the index is being made: {done} of {total} items can be found so far"
            )),
            None if self.freshness.obstacle.is_some() => {}
            None if self.freshness.behind == 1 => notes.push(
                "the last change is not in this answer yet; ask again in a moment".to_owned(),
            ),
            None if self.freshness.behind > 1 => notes.push(format!(
                "the last {} changes are not in this answer yet; ask again in a moment",
                self.freshness.behind
            )),
            None => {}
        }
        if self.freshness.unread > 0 {
            notes.push(
                "the answer is behind: a folder of notes is still being read, or notes, cards or prompts could not be read, and recent changes may be missing; ask again in a moment, and run `notewell doctor` if it stays so"
                    .to_owned(),
            );
        }
        if let Some(reason) = &self.words_only {
            notes.push(reason.clone());
        } else if let Some(vectors) = self.vectors.filter(|vectors| !vectors.is_complete()) {
            notes.push(format!(
                "search by meaning covers {} of {} passages so far, words cover all; a running server or `notewell index` computes the rest",
                vectors.done, vectors.total
            ));
        }
        notes
    }
}
