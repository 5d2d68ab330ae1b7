//! Making items what they were: one step an item, written together.

use crate::{
    app::App,
    domain::{Bookmark, Error, Kind, Pid, Result},
    store::{
        bookmarks::BookmarkState,
        revisions::{NewChange, Revision, Turn},
    },
};

/// What one item is to become.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Step {
    pub pid: Option<Pid>,
    pub kind: Kind,
    /// Where it is.
    pub key: String,
    /// Where it is to be, if elsewhere.
    pub to: Option<String>,
    pub now: Option<Vec<u8>>,
    pub wanted: Option<Vec<u8>>,
}

impl App {
    /// Takes these steps under one change. Those of one kind happen together or not at all; a
    /// change is of one kind, but for what older versions recorded.
    pub(super) fn take(
        &self,
        turn: &Turn<'_>,
        change: &mut NewChange,
        steps: Vec<Step>,
    ) -> Result<()> {
        for kind in Kind::ALL {
            let steps: Vec<&Step> = steps.iter().filter(|step| step.kind == kind).collect();
            if steps.is_empty() {
                continue;
            }
            let wanted = || -> Vec<(String, Option<Vec<u8>>)> {
                steps.iter().map(|step| (step.key.clone(), step.wanted.clone())).collect()
            };
            match kind {
                Kind::Card => self.cards.bring_back(turn, change, &wanted())?,
                Kind::Prompt => self.bring_prompts_back(turn, change, &wanted())?,
                Kind::Bookmark => self.bring_bookmarks_back(change, &steps)?,
                Kind::Page => self.bring_pages_back(turn, change, &steps)?,
            }
        }
        self.wake_index();
        Ok(())
    }

    fn bring_bookmarks_back(&self, change: &mut NewChange, steps: &[&Step]) -> Result<()> {
        let text = |bytes: &Vec<u8>| String::from_utf8_lossy(bytes).into_owned();
        let state = |step: &&Step| {
            let unknown = || Error::internal("the journal knows no pid of the bookmark");
            let wanted = step.wanted.as_deref().map(bookmark).transpose()?;
            Ok(BookmarkState {
                pid: step.pid.ok_or_else(unknown)?,
                expected: step.now.as_ref().map(text),
                wanted: wanted.map(crate::app::bookmarks::file),
            })
        };
        let states: Vec<BookmarkState> = steps.iter().map(state).collect::<Result<_>>()?;
        self.store.bookmarks.put_states(&states, change)
    }

    fn bring_pages_back(
        &self,
        turn: &Turn<'_>,
        change: &mut NewChange,
        steps: &[&Step],
    ) -> Result<()> {
        let revision = |step: &&Step| Revision {
            pid: step.pid,
            kind: Kind::Page,
            key: step.key.clone(),
            moved_to: step.to.clone(),
            before: step.now.clone(),
            after: step.wanted.clone(),
        };
        // The last one first: where a note took the place of another, that place is free then.
        let mut revisions: Vec<Revision> = steps.iter().rev().map(revision).collect();
        self.write_pages(turn, change, &mut revisions).map(drop)
    }
}

fn bookmark(content: &[u8]) -> Result<Bookmark> {
    serde_json::from_slice(content).map_err(|error| {
        Error::internal("the journal's copy of the bookmark cannot be read").with_source(error)
    })
}
