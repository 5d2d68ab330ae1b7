//! The journal in the library's database. Each content is stored once, compressed.

mod contents;
#[cfg(test)]
mod tests;

use std::{
    ffi::OsString,
    fs::{File, OpenOptions},
};

use rusqlite::{Connection, OptionalExtension, Row, Transaction, params};

use super::{Sqlite, items::kind};
use crate::{
    domain::{Pid, Result, Timestamp, error::Doing},
    store::revisions::{
        Actor, Change, ChangeId, JournalSize, NewChange, PendingChange, Retention, Revision,
        Revisions, Turn, below, not_empty,
    },
};

/// Bytes of contents after which a page of revisions ends.
const PAGE_BYTES: usize = 16 << 20;
/// Changes that one call of `prune` removes at most.
const MAX_PRUNED: usize = 500;

const CHANGE: &str = "j.id, j.at, j.who, j.tool, j.summary, j.undoes, j.pending_from IS NOT NULL, \
    (SELECT count(*) FROM revisions c WHERE c.change = j.id)";
const REVISION: &str = "r.pid, r.kind, r.key, r.moved_to, r.before, r.after";
/// Done changes of an item with what each did to it. An item may have come into the registry after
/// the change that made it was finished.
const OF_ITEM: &str = "FROM revisions r JOIN journal j ON j.id = r.change \
    WHERE (r.pid = ?1 OR r.pid IS NULL AND r.key IN \
        (SELECT i.key FROM items i WHERE i.pid = ?1 AND i.kind = r.kind)) \
    AND j.pending_from IS NULL";
/// How many columns [`CHANGE`] has.
const CHANGE_COLUMNS: usize = 8;

impl Revisions for Sqlite {
    fn turn(&self) -> Result<Turn<'_>> {
        Turn::take(&self.turn, self.turn_file()?)
    }

    fn try_turn(&self) -> Result<Option<Turn<'_>>> {
        Turn::try_take(&self.turn, self.turn_file()?)
    }

    fn begin(
        &self,
        _turn: &Turn<'_>,
        change: &mut NewChange,
        revisions: &[Revision],
    ) -> Result<PendingChange> {
        let begun = self.write(|tx| {
            let begun = open(tx, change)?;
            tx.prepare_cached("UPDATE journal SET pending_from = ?2 WHERE id = ?1")?
                .execute(params![begun.id.0, begun.first as i64])?;
            append(tx, begun, revisions.iter())?;
            Ok(begun)
        })?;
        change.id = Some(begun.id);
        Ok(begun)
    }

    fn finish(&self, begun: PendingChange) -> Result<()> {
        self.write(|tx| done(tx, begun))
    }

    fn finish_as(&self, begun: PendingChange, revisions: &[Revision]) -> Result<bool> {
        self.write(|tx| {
            // The new ones come first: a content that both have is not deleted in between.
            let old = take_from(tx, begun)?;
            append(tx, begun, not_empty(revisions))?;
            contents::delete_unused(tx, &old)?;
            if not_empty(revisions).next().is_none() {
                tx.prepare_cached("UPDATE journal SET undoes = -abs(undoes) WHERE id = ?1")?
                    .execute([begun.id.0])?;
            }
            done(tx, begun)?;
            remove_if_empty(tx, begun.id).map(|removed| !removed)
        })
    }

    fn abandon(&self, begun: PendingChange) -> Result<()> {
        self.finish_as(begun, &[]).map(drop)
    }

    fn pending(&self) -> Result<Vec<PendingChange>> {
        self.read(|db| {
            db.prepare_cached(
                "SELECT id, pending_from FROM journal WHERE pending_from IS NOT NULL ORDER BY id",
            )?
            .query_map([], |row| {
                Ok(PendingChange {
                    id: ChangeId(row.get(0)?),
                    first: row.get::<_, i64>(1)? as usize,
                })
            })?
            .collect()
        })
    }

    fn get(&self, id: ChangeId) -> Result<Option<Change>> {
        self.read(|db| {
            db.prepare_cached(&format!("SELECT {CHANGE} FROM journal j WHERE j.id = ?1"))?
                .query_row([id.0], change)
                .optional()
        })
    }

    fn revisions(&self, id: ChangeId, from: usize, limit: usize) -> Result<Vec<Revision>> {
        self.read(|db| {
            let mut statement = db.prepare_cached(&format!(
                "SELECT {REVISION} FROM revisions r
                 WHERE r.change = ?1 AND r.number >= ?2 ORDER BY r.number LIMIT ?3"
            ))?;
            let mut rows = statement.query(params![id.0, from as i64, limit as i64])?;
            let (mut page, mut bytes) = (Vec::new(), 0);
            while let Some(row) = rows.next()? {
                let revision = revision(db, row, 0)?;
                bytes += [&revision.before, &revision.after]
                    .into_iter()
                    .flatten()
                    .map(Vec::len)
                    .sum::<usize>();
                page.push(revision);
                if bytes >= PAGE_BYTES {
                    break;
                }
            }
            Ok(page)
        })
    }

    fn recent(&self, before: Option<ChangeId>, limit: usize) -> Result<Vec<Change>> {
        self.read(|db| {
            db.prepare_cached(&format!(
                "SELECT {CHANGE} FROM journal j
                 WHERE j.id < ?1 AND j.pending_from IS NULL ORDER BY j.id DESC LIMIT ?2"
            ))?
            .query_map(params![below(before), limit as i64], change)?
            .collect()
        })
    }

    fn of_item(
        &self,
        pid: Pid,
        before: Option<ChangeId>,
        limit: usize,
    ) -> Result<Vec<(Change, Revision)>> {
        self.read(|db| {
            let mut statement = db.prepare_cached(&format!(
                "SELECT {CHANGE}, {REVISION} {OF_ITEM} AND r.change < ?2
                 ORDER BY r.change DESC, r.number DESC LIMIT ?3"
            ))?;
            let mut rows = statement.query(params![pid.0, below(before), limit as i64])?;
            let mut found = Vec::new();
            while let Some(row) = rows.next()? {
                found.push((change(row)?, revision(db, row, CHANGE_COLUMNS)?));
            }
            Ok(found)
        })
    }

    fn oldest_of_item(&self, pid: Pid) -> Result<Option<(Change, Revision)>> {
        self.read(|db| {
            db.prepare_cached(&format!(
                "SELECT {CHANGE}, {REVISION} {OF_ITEM} ORDER BY r.change, r.number LIMIT 1"
            ))?
            .query_row([pid.0], |row| Ok((change(row)?, revision(db, row, CHANGE_COLUMNS)?)))
            .optional()
        })
    }

    fn item_of_key(&self, key: &str) -> Result<Option<Pid>> {
        self.read(|db| {
            db.prepare_cached(
                "SELECT coalesce(r.pid, (SELECT i.pid FROM items i
                     WHERE i.kind = r.kind AND i.key = r.key))
                 FROM revisions r WHERE r.key = ?1 ORDER BY r.change DESC LIMIT 1",
            )?
            .query_row([key], |row| row.get::<_, Option<i64>>(0))
            .optional()
            .map(|found| found.flatten().map(Pid))
        })
    }

    fn of_change(&self, pid: Pid, id: ChangeId) -> Result<Option<(Change, Revision)>> {
        let found = self.of_item(pid, Some(ChangeId(id.0.saturating_add(1))), 1)?;
        Ok(found.into_iter().find(|(change, _)| change.id == id))
    }

    fn undone_by(&self, id: ChangeId) -> Result<Option<ChangeId>> {
        self.read(|db| undone_by(db, id.0))
    }

    fn undone_in_part_by(&self, id: ChangeId) -> Result<Option<ChangeId>> {
        self.read(|db| undone_by(db, -id.0))
    }

    fn prune(&self, retention: &Retention) -> Result<usize> {
        let doomed = self.read(|db| beyond(db, retention))?;
        if doomed.is_empty() {
            return Ok(0);
        }
        self.write(|tx| {
            for id in &doomed {
                let old = take_from(tx, PendingChange { id: *id, first: 0 })?;
                tx.prepare_cached("DELETE FROM journal WHERE id = ?1")?.execute([id.0])?;
                contents::delete_unused(tx, &old)?;
            }
            Ok(doomed.len())
        })
    }

    fn size(&self) -> Result<JournalSize> {
        self.read(|db| {
            db.query_row(
                "SELECT (SELECT count(*) FROM journal), (SELECT count(*) FROM revisions),
                   (SELECT coalesce(sum(length(data)), 0) FROM contents),
                   (SELECT min(at) FROM journal)",
                [],
                |row| {
                    Ok(JournalSize {
                        changes: row.get::<_, i64>(0)? as u64,
                        revisions: row.get::<_, i64>(1)? as u64,
                        bytes: row.get::<_, i64>(2)? as u64,
                        oldest: row.get::<_, Option<i64>>(3)?.map(Timestamp),
                    })
                },
            )
        })
    }

    fn damage(&self) -> Result<Vec<String>> {
        self.read(contents::damage)
    }
}

impl Sqlite {
    /// The file whose lock is the turn.
    fn turn_file(&self) -> Result<File> {
        let mut name = OsString::from(&self.path);
        name.push(".turn");
        OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&name)
            .doing("open the lock for writing to the library")
    }
}

/// Records revisions of a change that the same transaction makes: done when it commits.
pub(super) fn record(
    tx: &Transaction<'_>,
    change: &NewChange,
    revisions: &[Revision],
) -> rusqlite::Result<Option<ChangeId>> {
    if not_empty(revisions).next().is_none() {
        return Ok(change.id);
    }
    let begun = open(tx, change)?;
    append(tx, begun, not_empty(revisions))?;
    Ok(Some(begun.id))
}

/// The change's row, made now if it has none, and the number of its next revision.
fn open(tx: &Transaction<'_>, change: &NewChange) -> rusqlite::Result<PendingChange> {
    if let Some(id) = change.id {
        let known = tx
            .prepare_cached(
                "SELECT (SELECT coalesce(max(number) + 1, 0) FROM revisions WHERE change = id)
                 FROM journal WHERE id = ?1",
            )?
            .query_row([id.0], |row| row.get::<_, i64>(0))
            .optional()?;
        // It may have been pruned while a long import went on.
        if let Some(first) = known {
            if let Some(mark) = change.mark() {
                tx.prepare_cached("UPDATE journal SET undoes = ?2 WHERE id = ?1")?
                    .execute([id.0, mark])?;
            }
            return Ok(PendingChange { id, first: first as usize });
        }
    }
    tx.prepare_cached(
        "INSERT INTO journal (at, who, tool, summary, undoes) VALUES (?1, ?2, ?3, ?4, ?5)",
    )?
    .execute(params![
        Timestamp::now().0,
        change.actor.who,
        change.actor.tool,
        change.summary,
        change.mark(),
    ])?;
    Ok(PendingChange { id: ChangeId(tx.last_insert_rowid()), first: 0 })
}

/// Adds revisions, numbered from `begun.first` on.
fn append<'a>(
    tx: &Transaction<'_>,
    begun: PendingChange,
    revisions: impl Iterator<Item = &'a Revision>,
) -> rusqlite::Result<()> {
    for (at, revision) in revisions.enumerate() {
        let before = contents::put(tx, revision.before.as_deref())?;
        let after = contents::put(tx, revision.after.as_deref())?;
        tx.prepare_cached(
            "INSERT INTO revisions (change, number, pid, kind, key, moved_to, before, after)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        )?
        .execute(params![
            begun.id.0,
            (begun.first + at) as i64,
            revision.pid.map(|pid| pid.0),
            revision.kind.as_str(),
            revision.key,
            revision.moved_to,
            before,
            after,
        ])?;
    }
    Ok(())
}

/// Deletes revisions from a number on and returns the contents that they had.
fn take_from(tx: &Transaction<'_>, begun: PendingChange) -> rusqlite::Result<Vec<i64>> {
    let rows: Vec<[Option<i64>; 2]> = tx
        .prepare_cached("SELECT before, after FROM revisions WHERE change = ?1 AND number >= ?2")?
        .query_map(params![begun.id.0, begun.first as i64], |row| Ok([row.get(0)?, row.get(1)?]))?
        .collect::<rusqlite::Result<_>>()?;
    tx.prepare_cached("DELETE FROM revisions WHERE change = ?1 AND number >= ?2")?
        .execute(params![begun.id.0, begun.first as i64])?;
    Ok(rows.into_iter().flatten().flatten().collect())
}

/// Marks a change as done, and fills in the pids that the registry knows by now.
fn done(tx: &Transaction<'_>, begun: PendingChange) -> rusqlite::Result<()> {
    tx.prepare_cached(
        "UPDATE revisions SET pid = (SELECT i.pid FROM items i
             WHERE i.kind = revisions.kind AND i.key = coalesce(moved_to, revisions.key))
         WHERE change = ?1 AND number >= ?2 AND pid IS NULL",
    )?
    .execute(params![begun.id.0, begun.first as i64])?;
    tx.prepare_cached("UPDATE journal SET pending_from = NULL WHERE id = ?1")?
        .execute([begun.id.0])
        .map(drop)
}

fn remove_if_empty(tx: &Transaction<'_>, id: ChangeId) -> rusqlite::Result<bool> {
    tx.prepare_cached(
        "DELETE FROM journal WHERE id = ?1
         AND NOT EXISTS (SELECT 1 FROM revisions WHERE change = ?1)",
    )?
    .execute([id.0])
    .map(|removed| removed > 0)
}

/// The newest change with this mark that is in effect. A reverted change may be in effect again,
/// when its undo was undone, and so on.
fn undone_by(db: &Connection, mark: i64) -> rusqlite::Result<Option<ChangeId>> {
    let undoing: Vec<i64> = db
        .prepare_cached(
            "SELECT id FROM journal WHERE undoes = ?1 AND pending_from IS NULL ORDER BY id DESC",
        )?
        .query_map([mark], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    for undo in undoing {
        if undone_by(db, undo)?.is_none() {
            return Ok(Some(ChangeId(undo)));
        }
    }
    Ok(None)
}

/// The oldest changes that are beyond the limits.
fn beyond(db: &Connection, retention: &Retention) -> rusqlite::Result<Vec<ChangeId>> {
    let oldest_kept = Timestamp::now().plus_days(-i64::from(retention.days)).0;
    let mut count: i64 = db.query_row("SELECT count(*) FROM journal", [], |row| row.get(0))?;
    let mut bytes: i64 =
        db.query_row("SELECT coalesce(sum(length(data)), 0) FROM contents", [], |row| row.get(0))?;
    let newest: i64 =
        db.query_row("SELECT coalesce(max(id), 0) FROM journal", [], |row| row.get(0))?;
    // A content that a later revision shares is freed only with it, so this removes rather too
    // little than too much; the next call goes on.
    let mut statement = db.prepare_cached(
        "SELECT j.id, j.at, (SELECT coalesce(sum(length(c.data)), 0) FROM revisions r
             JOIN contents c ON c.id = r.before OR c.id = r.after WHERE r.change = j.id)
         FROM journal j WHERE j.pending_from IS NULL AND j.id < ?1 ORDER BY j.id LIMIT ?2",
    )?;
    let mut rows = statement.query(params![newest, MAX_PRUNED as i64])?;
    let mut doomed = Vec::new();
    while let Some(row) = rows.next()? {
        let too_many = count > i64::try_from(retention.changes).unwrap_or(i64::MAX);
        let too_large = bytes > i64::try_from(retention.bytes).unwrap_or(i64::MAX);
        if row.get::<_, i64>(1)? >= oldest_kept && !too_many && !too_large {
            break;
        }
        doomed.push(ChangeId(row.get(0)?));
        count -= 1;
        bytes -= row.get::<_, i64>(2)?;
    }
    Ok(doomed)
}

fn change(row: &Row<'_>) -> rusqlite::Result<Change> {
    let mark: Option<i64> = row.get(5)?;
    Ok(Change {
        id: ChangeId(row.get(0)?),
        at: Timestamp(row.get(1)?),
        actor: Actor { who: row.get(2)?, tool: row.get(3)? },
        summary: row.get(4)?,
        undoes: mark.map(|mark| ChangeId(mark.abs())),
        in_part: mark.is_some_and(|mark| mark < 0),
        pending: row.get(6)?,
        revisions: row.get::<_, i64>(7)? as usize,
    })
}

/// The revision whose columns start at `from`.
fn revision(db: &Connection, row: &Row<'_>, from: usize) -> rusqlite::Result<Revision> {
    Ok(Revision {
        pid: row.get::<_, Option<i64>>(from)?.map(Pid),
        kind: kind(row, from + 1)?,
        key: row.get(from + 2)?,
        moved_to: row.get(from + 3)?,
        before: contents::get(db, row.get(from + 4)?)?,
        after: contents::get(db, row.get(from + 5)?)?,
    })
}
