//! The journal as people and agents read it.

use super::text;
use crate::{
    app::{App, edit::compact_diff},
    domain::{Kind, Pid, Result},
    store::revisions::{Change, ChangeId, Revision},
};

/// Items of a change that are named in a list.
const MAX_NAMED_ITEMS: usize = 3;

/// A change in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeEntry {
    /// The change.
    pub change: Change,
    /// The first items that it changed.
    pub items: Vec<ChangedItem>,
    /// The change that reverted it.
    pub undone_by: Option<ChangeId>,
}

/// What a change did to one item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedItem {
    /// The item.
    pub pid: Option<Pid>,
    /// Its kind.
    pub kind: Kind,
    /// Its path or title.
    pub name: String,
    /// One line.
    pub diff: String,
}

/// An item as it was after a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    /// The item.
    pub pid: Pid,
    /// The change that made this version.
    pub version: ChangeId,
    /// Its kind.
    pub kind: Kind,
    /// Its path or title.
    pub name: String,
    /// `None` where the item does not exist in this version.
    pub text: Option<String>,
    /// From this version to what the item is now; empty when they are the same.
    pub diff: String,
}

impl App {
    /// The last changes of all items, newest first, below `before`.
    pub fn changes(&self, before: Option<ChangeId>, limit: usize) -> Result<Vec<ChangeEntry>> {
        self.recover()?;
        let changes = self.store.revisions.recent(before, limit)?;
        let entry = |change: Change| {
            let first = self.store.revisions.revisions(change.id, 0, MAX_NAMED_ITEMS)?;
            self.entry(change, &first)
        };
        changes.into_iter().map(entry).collect()
    }

    /// The changes of one item, newest first, below `before`.
    pub fn versions(
        &self,
        pid: Pid,
        before: Option<ChangeId>,
        limit: usize,
    ) -> Result<Vec<ChangeEntry>> {
        self.recover()?;
        let found = self.store.revisions.of_item(pid, before, limit)?;
        found.into_iter().map(|(change, revision)| self.entry(change, &[revision])).collect()
    }

    /// An item as it was after a change; 0 is before the oldest change that is known.
    pub fn version(&self, pid: Pid, version: ChangeId) -> Result<Version> {
        self.recover()?;
        let (revision, content) = self.version_of(pid, version)?;
        let kind = revision.kind;
        let key = self.key_now(&revision)?;
        let now = self.content_now(kind, &key, Some(pid))?;
        let diff = compact_diff(
            &text::comparable(kind, content.as_deref()),
            &text::comparable(kind, now.as_deref()),
        );
        let known = content.as_deref().or(now.as_deref());
        Ok(Version {
            pid,
            version,
            kind,
            name: text::name(kind, &key, known),
            text: content.as_deref().map(|content| text::readable(kind, content)),
            diff,
        })
    }

    fn entry(&self, mut change: Change, revisions: &[Revision]) -> Result<ChangeEntry> {
        let item = |revision: &Revision| {
            let (before, after) = (revision.before.as_deref(), revision.after.as_deref());
            let diff = text::one_line(revision.kind, before, after);
            ChangedItem {
                pid: revision.pid,
                kind: revision.kind,
                name: text::name(revision.kind, &revision.key, after.or(before)),
                diff: match &revision.moved_to {
                    Some(to) => {
                        let to = text::name(revision.kind, to, None);
                        if diff == "moved" {
                            format!("→ {to}")
                        } else {
                            format!("→ {to}; {diff}")
                        }
                    }
                    None => diff,
                },
            }
        };
        let undone_by = self.store.revisions.undone_by(change.id)?;
        if change.in_part {
            change.summary += ", in part";
        }
        Ok(ChangeEntry { items: revisions.iter().map(item).collect(), undone_by, change })
    }
}
