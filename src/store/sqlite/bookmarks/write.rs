//! Writing bookmarks, inside a transaction that also records what was there before.

use rusqlite::{Transaction, params};

use super::{
    super::{
        Sqlite,
        items::{log, lookup, mark_gone, put, rename},
        revisions,
    },
    body, by_pid, stamp, twin,
};
use crate::{
    domain::{Bookmark, Kind, Pid, Result, bookmark},
    store::{
        bookmarks::{BookmarkState, Filed, Put, address_key},
        revisions::{NewChange, Revision},
    },
};

impl Sqlite {
    /// Runs one write transaction and records in it the revisions that `work` names.
    pub(super) fn recorded<T>(
        &self,
        change: &mut NewChange,
        work: impl FnOnce(&Transaction<'_>, &mut Vec<Revision>) -> rusqlite::Result<T>,
    ) -> Result<T> {
        let (value, id) = self.write(|tx| {
            let mut revisions = Vec::new();
            let value = work(tx, &mut revisions)?;
            Ok((value, revisions::record(tx, change, &revisions)?))
        })?;
        change.id = id;
        Ok(value)
    }
}

pub(super) fn put_one(
    tx: &Transaction<'_>,
    filed: &Filed,
    revisions: &mut Vec<Revision>,
) -> rusqlite::Result<Put> {
    let Some((pid, mut known)) = twin(tx, &filed.bookmark)? else {
        let (pid, _) = put(tx, Kind::Bookmark, &filed.bookmark.id, stamp(&filed.bookmark)?)?;
        file(tx, pid, &filed.bookmark, filed)?;
        revisions.push(revision(pid, None, Some(&filed.bookmark))?);
        return Ok(Put::Added(pid));
    };
    let before = known.clone();
    let mut changed = known.take(&filed.bookmark);
    if known.has_made_id() && !filed.bookmark.has_made_id() {
        // The export that knows the post's own id came second.
        rename(tx, pid, Kind::Bookmark, &filed.bookmark.id)?;
        known.id.clone_from(&filed.bookmark.id);
        changed = true;
    }
    if !changed {
        return Ok(Put::Same(pid));
    }
    revisions.push(revision(pid, Some(&before), Some(&known))?);
    file(tx, pid, &known, filed)?;
    Ok(Put::Updated(pid))
}

pub(super) fn put_state(
    tx: &Transaction<'_>,
    state: &BookmarkState,
    revisions: &mut Vec<Revision>,
) -> rusqlite::Result<()> {
    let known = by_pid(tx, state.pid)?;
    let wanted = state.wanted.as_ref().map(|filed| &filed.bookmark);
    if known.is_none() && wanted.is_none() {
        return Ok(());
    }
    revisions.push(revision(state.pid, known.as_ref(), wanted)?);
    let Some(filed) = &state.wanted else { return remove(tx, state.pid) };
    if lookup(tx, Kind::Bookmark, &filed.bookmark.id)?.is_none_or(|item| item.pid != state.pid) {
        rename(tx, state.pid, Kind::Bookmark, &filed.bookmark.id)?;
        log(tx, state.pid)?;
    }
    file(tx, state.pid, &filed.bookmark, filed)
}

pub(super) fn remove(tx: &Transaction<'_>, pid: Pid) -> rusqlite::Result<()> {
    tx.execute("DELETE FROM bookmarks WHERE pid = ?1", [pid.0])?;
    mark_gone(tx, pid)
}

/// What a change did to a bookmark.
pub(super) fn revision(
    pid: Pid,
    before: Option<&Bookmark>,
    after: Option<&Bookmark>,
) -> rusqlite::Result<Revision> {
    let id = |bookmark: &Bookmark| bookmark.id.clone();
    let content = |bookmark| body(bookmark).map(String::into_bytes);
    let key = before.or(after).map(id).unwrap_or_default();
    Ok(Revision {
        pid: Some(pid),
        kind: Kind::Bookmark,
        moved_to: after.map(id).filter(|after| *after != key),
        key,
        before: before.map(content).transpose()?,
        after: after.map(content).transpose()?,
    })
}

/// Writes a bookmark's row and topics, and logs the change.
pub(super) fn file(
    tx: &Transaction<'_>,
    pid: Pid,
    bookmark: &Bookmark,
    filed: &Filed,
) -> rusqlite::Result<()> {
    let body = body(bookmark)?;
    // The registry logs a change when the stamp is another.
    debug_assert!(lookup(tx, Kind::Bookmark, &bookmark.id)?.is_none_or(|item| item.pid == pid));
    put(tx, Kind::Bookmark, &bookmark.id, stamp(bookmark)?)?;
    tx.prepare_cached(
        "INSERT INTO bookmarks (pid, id, address, date, author, domain, category, tool, engaged, body)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
         ON CONFLICT (pid) DO UPDATE SET id = ?2, address = ?3, date = ?4, author = ?5, domain = ?6,
           category = ?7, tool = ?8, engaged = ?9, body = ?10",
    )?
    .execute(params![
        pid.0,
        bookmark.id,
        address_key(bookmark),
        bookmark.date.0,
        bookmark.author,
        bookmark::domain(&bookmark.url),
        bookmark.category.as_ref().map(|judged| &judged.value),
        filed.tool,
        i64::try_from(bookmark.engaged()).unwrap_or(i64::MAX),
        body,
    ])?;
    tx.prepare_cached("DELETE FROM topics WHERE pid = ?1")?.execute([pid.0])?;
    let mut insert =
        tx.prepare_cached("INSERT OR IGNORE INTO topics (pid, topic, form) VALUES (?1, ?2, ?3)")?;
    for topic in &filed.topics {
        insert.execute(params![pid.0, topic.key, topic.form])?;
    }
    Ok(())
}
