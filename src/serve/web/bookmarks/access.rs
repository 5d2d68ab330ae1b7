//! Who may do what with bookmarks here: what the caller may do with the tools for bookmarks.

use crate::{
    app::rights::Right,
    domain::{Bookmark, Error, Kind, Pid, Result, Toolset},
    serve::web::{Visit, answer::etag_of},
    store::revisions::{Actor, ChangeId},
};

/// The bookmarks as the caller of one request sees them.
pub struct BookmarkAccess<'a>(pub &'a Visit);

impl<'a> BookmarkAccess<'a> {
    /// Access to the bookmarks, unless the caller may not see any.
    pub fn to_read(visit: &'a Visit) -> Option<Self> {
        let rights = visit.rights();
        let is_open =
            rights.may(Right::Use(Toolset::Bookmarks)) && rights.may(Right::Read(Kind::Bookmark));
        is_open.then_some(Self(visit))
    }

    /// Access for callers who see every bookmark: counts are about all of them.
    pub fn whole(visit: &'a Visit) -> Option<Self> {
        Self::to_read(visit).filter(Self::sees_all)
    }

    /// Access for a change.
    pub fn to_write(visit: &'a Visit) -> Option<Self> {
        Self::to_read(visit).filter(Self::may_write)
    }

    /// Whether the caller sees every bookmark.
    pub fn sees_all(&self) -> bool {
        self.0.rights().may(Right::ReadEvery(Kind::Bookmark))
    }

    /// Whether the caller may change bookmarks.
    pub fn may_write(&self) -> bool {
        self.0.rights().may(Right::WriteEvery(Kind::Bookmark))
    }

    /// Whether the caller may take changes back.
    pub fn may_undo(&self) -> bool {
        self.0.rights().may(Right::History)
    }

    /// Who makes a change here, for the journal.
    pub fn actor(&self) -> Actor {
        self.0.rights().actor("web")
    }

    /// One bookmark.
    pub fn get(&self, pid: Pid) -> Result<Bookmark> {
        let found = self.0.app().store.bookmarks.get(pid)?;
        let found = found.filter(|bookmark| self.0.rights().sees_bookmark(bookmark));
        found.ok_or_else(|| {
            Error::not_found(
                "there is no such bookmark; it was deleted, or it is not shared with you",
            )
        })
    }

    /// A number that changes whenever the bookmark does.
    pub fn etag(&self, pid: Pid) -> Result<String> {
        let record = self.0.app().store.bookmarks.record(pid)?.unwrap_or_default();
        Ok(etag_of(record.as_bytes()))
    }

    /// The last change of an item, for whoever may take it back.
    pub fn last_change(&self, pid: Pid) -> Result<Option<ChangeId>> {
        if !self.may_undo() {
            return Ok(None);
        }
        let last = self.0.app().store.revisions.of_item(pid, None, 1)?;
        Ok(last.first().map(|(change, _)| change.id))
    }
}
