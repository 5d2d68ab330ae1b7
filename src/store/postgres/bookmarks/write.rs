//! Writing bookmarks, inside a transaction that also records what was there before.

use super::{
    super::{
        Postgres,
        fault::Fault,
        items::{log, lookup, mark_gone, put, rename},
        revisions,
        transaction::Transaction,
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

impl Postgres {
    /// Runs one write transaction and records in it the revisions that `work` names.
    pub(super) fn recorded<T>(
        &self,
        change: &mut NewChange,
        work: impl FnOnce(&mut Transaction<'_>, &mut Vec<Revision>) -> Result<T, Fault>,
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
    tx: &mut Transaction<'_>,
    filed: &Filed,
    revisions: &mut Vec<Revision>,
) -> Result<Put, Fault> {
    let Some((pid, mut known)) = twin(tx, &filed.bookmark)? else {
        let stamp = stamp(&body(&filed.bookmark)?);
        let (pid, _) = put(tx, Kind::Bookmark, &filed.bookmark.id, stamp)?;
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
    tx: &mut Transaction<'_>,
    state: &BookmarkState,
    revisions: &mut Vec<Revision>,
) -> Result<(), Fault> {
    let known = by_pid(tx, state.pid)?;
    let wanted = state.wanted.as_ref().map(|filed| &filed.bookmark);
    if known.is_none() && wanted.is_none() {
        return Ok(());
    }
    revisions.push(revision(state.pid, known.as_ref(), wanted)?);
    let Some(filed) = &state.wanted else { return remove(tx, state.pid) };
    let item = lookup(tx, Kind::Bookmark, &filed.bookmark.id)?;
    if item.is_none_or(|item| item.pid != state.pid) {
        rename(tx, state.pid, Kind::Bookmark, &filed.bookmark.id)?;
        log(tx, state.pid)?;
    }
    file(tx, state.pid, &filed.bookmark, filed)
}

pub(super) fn remove(tx: &mut Transaction<'_>, pid: Pid) -> Result<(), Fault> {
    tx.execute("DELETE FROM bookmarks WHERE pid = $1", &[&pid.0])?;
    mark_gone(tx, pid)
}

/// What a change did to a bookmark.
pub(super) fn revision(
    pid: Pid,
    before: Option<&Bookmark>,
    after: Option<&Bookmark>,
) -> Result<Revision, Fault> {
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
    tx: &mut Transaction<'_>,
    pid: Pid,
    bookmark: &Bookmark,
    filed: &Filed,
) -> Result<(), Fault> {
    let body = body(bookmark)?;
    // The registry logs a change when the stamp is another.
    put(tx, Kind::Bookmark, &bookmark.id, stamp(&body))?;
    tx.execute(
        "INSERT INTO bookmarks (pid, id, address, date, author, domain, category, tool, engaged, body)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
         ON CONFLICT (lib, pid) DO UPDATE SET id = $2, address = $3, date = $4, author = $5,
           domain = $6, category = $7, tool = $8, engaged = $9, body = $10",
        &[
            &pid.0,
            &bookmark.id,
            &address_key(bookmark),
            &bookmark.date.0,
            &bookmark.author,
            &bookmark::domain(&bookmark.url),
            &bookmark.category.as_ref().map(|judged| &judged.value),
            &filed.tool,
            &i64::try_from(bookmark.engaged()).unwrap_or(i64::MAX),
            &body,
        ],
    )?;
    let (topics, forms): (Vec<&str>, Vec<&str>) =
        filed.topics.iter().map(|topic| (topic.key.as_str(), topic.form.as_str())).unzip();
    tx.execute("DELETE FROM topics WHERE pid = $1", &[&pid.0])?;
    tx.execute(
        "INSERT INTO topics (pid, topic, form)
         SELECT $1, t.topic, t.form FROM unnest($2::text[], $3::text[]) AS t (topic, form)
         ON CONFLICT DO NOTHING",
        &[&pid.0, &topics, &forms],
    )
    .map(drop)
}
