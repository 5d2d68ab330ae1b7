//! The journal in the library's database. Each content is stored once, compressed.

mod contents;
mod turn;

use tokio_postgres::Row;

use super::{
    Postgres, connection::Connection, fault::Fault, items::kind, transaction::Transaction,
};
use crate::{
    domain::{Pid, Result, Timestamp},
    store::revisions::{
        Actor, Change, ChangeId, JournalSize, NewChange, PendingChange, Retention, Revision,
        Revisions, Turn, below, not_empty,
    },
};

/// Bytes of contents after which a page of revisions ends.
const PAGE_BYTES: usize = 16 << 20;
/// Revisions that one statement reads with their contents.
const BATCH: usize = 16;
/// Revisions that one statement writes.
const APPENDED: usize = 256;
/// Changes that one call of `prune` removes at most.
const MAX_PRUNED: usize = 500;

const CHANGE: &str = "j.id, j.at, j.who, j.tool, j.summary, j.undoes, j.pending_from IS NOT NULL, \
    (SELECT count(*) FROM revisions c WHERE c.change = j.id)";
const REVISION: &str = "r.pid, r.kind, r.key, r.moved_to, b.data, a.data";
const CONTENTS: &str = "LEFT JOIN contents b ON b.id = r.before \
    LEFT JOIN contents a ON a.id = r.after";
/// Done changes of an item with what each did to it. An item may have come into the registry after
/// the change that made it was finished.
const OF_ITEM: &str = "JOIN journal j ON j.id = r.change \
    WHERE (r.pid = $1 OR r.pid IS NULL AND r.key IN \
        (SELECT i.key FROM items i WHERE i.pid = $1 AND i.kind = r.kind)) \
    AND j.pending_from IS NULL";
/// How many columns [`CHANGE`] has.
const CHANGE_COLUMNS: usize = 8;

impl Revisions for Postgres {
    fn turn(&self) -> Result<Turn<'_>> {
        self.take_turn()
    }

    fn try_turn(&self) -> Result<Option<Turn<'_>>> {
        self.try_take_turn()
    }

    fn begin(
        &self,
        turn: &Turn<'_>,
        change: &mut NewChange,
        revisions: &[Revision],
    ) -> Result<PendingChange> {
        turn.check()?;
        let begun = self.write(|tx| {
            let begun = open(tx, change)?;
            tx.execute(
                "UPDATE journal SET pending_from = $2 WHERE id = $1",
                &[&begun.id.0, &(begun.first as i64)],
            )?;
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
                tx.execute(
                    "UPDATE journal SET undoes = -abs(undoes) WHERE id = $1",
                    &[&begun.id.0],
                )?;
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
            db.query(
                "SELECT id, pending_from FROM journal WHERE pending_from IS NOT NULL ORDER BY id",
                &[],
            )?
            .iter()
            .map(|row| {
                let first = row.try_get::<_, i64>(1)? as usize;
                Ok(PendingChange { id: ChangeId(row.try_get(0)?), first })
            })
            .collect()
        })
    }

    fn get(&self, id: ChangeId) -> Result<Option<Change>> {
        self.read(|db| {
            let row =
                db.query_opt(&format!("SELECT {CHANGE} FROM journal j WHERE j.id = $1"), &[&id.0])?;
            row.as_ref().map(change).transpose()
        })
    }

    fn revisions(&self, id: ChangeId, from: usize, limit: usize) -> Result<Vec<Revision>> {
        let select = format!(
            "SELECT {REVISION} FROM revisions r {CONTENTS}
             WHERE r.change = $1 AND r.number >= $2 ORDER BY r.number LIMIT $3"
        );
        self.snapshot(|db| {
            let (mut page, mut bytes) = (Vec::new(), 0);
            while page.len() < limit {
                let batch = BATCH.min(limit - page.len());
                let next = (from + page.len()) as i64;
                let rows = db.query(&select, &[&id.0, &next, &(batch as i64)])?;
                for row in &rows {
                    let revision = revision(row, 0)?;
                    bytes += [&revision.before, &revision.after]
                        .into_iter()
                        .flatten()
                        .map(Vec::len)
                        .sum::<usize>();
                    page.push(revision);
                    if bytes >= PAGE_BYTES {
                        return Ok(page);
                    }
                }
                if rows.len() < batch {
                    break;
                }
            }
            Ok(page)
        })
    }

    fn recent(&self, before: Option<ChangeId>, limit: usize) -> Result<Vec<Change>> {
        self.read(|db| {
            db.query(
                &format!(
                    "SELECT {CHANGE} FROM journal j
                     WHERE j.id < $1 AND j.pending_from IS NULL ORDER BY j.id DESC LIMIT $2"
                ),
                &[&below(before), &(limit as i64)],
            )?
            .iter()
            .map(change)
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
            db.query(
                &format!(
                    "SELECT {CHANGE}, {REVISION} FROM revisions r {CONTENTS} {OF_ITEM}
                       AND r.change < $2 ORDER BY r.change DESC, r.number DESC LIMIT $3"
                ),
                &[&pid.0, &below(before), &(limit as i64)],
            )?
            .iter()
            .map(change_and_revision)
            .collect()
        })
    }

    fn oldest_of_item(&self, pid: Pid) -> Result<Option<(Change, Revision)>> {
        self.read(|db| {
            let row = db.query_opt(
                &format!(
                    "SELECT {CHANGE}, {REVISION} FROM revisions r {CONTENTS} {OF_ITEM}
                     ORDER BY r.change, r.number LIMIT 1"
                ),
                &[&pid.0],
            )?;
            row.as_ref().map(change_and_revision).transpose()
        })
    }

    fn item_of_key(&self, key: &str) -> Result<Option<Pid>> {
        if key.contains('\0') {
            return Ok(None);
        }
        self.read(|db| {
            let row = db.query_opt(
                "SELECT coalesce(r.pid, (SELECT i.pid FROM items i
                     WHERE i.kind = r.kind AND i.key = r.key))
                 FROM revisions r WHERE r.key = $1 ORDER BY r.change DESC LIMIT 1",
                &[&key],
            )?;
            let Some(row) = row else { return Ok(None) };
            Ok(row.try_get::<_, Option<i64>>(0)?.map(Pid))
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
                tx.execute("DELETE FROM journal WHERE id = $1", &[&id.0])?;
                contents::delete_unused(tx, &old)?;
            }
            Ok(doomed.len())
        })
    }

    fn size(&self) -> Result<JournalSize> {
        self.read(|db| {
            let row = db.query_one(
                "SELECT (SELECT count(*) FROM journal), (SELECT count(*) FROM revisions),
                   (SELECT coalesce(sum(octet_length(data)), 0)::bigint FROM contents),
                   (SELECT min(at) FROM journal)",
                &[],
            )?;
            Ok(JournalSize {
                changes: row.try_get::<_, i64>(0)? as u64,
                revisions: row.try_get::<_, i64>(1)? as u64,
                bytes: row.try_get::<_, i64>(2)? as u64,
                oldest: row.try_get::<_, Option<i64>>(3)?.map(Timestamp),
            })
        })
    }

    fn damage(&self) -> Result<Vec<String>> {
        self.read(contents::damage)
    }
}

/// Records revisions of a change that the same transaction makes: done when it commits.
pub(super) fn record(
    tx: &mut Transaction<'_>,
    change: &NewChange,
    revisions: &[Revision],
) -> Result<Option<ChangeId>, Fault> {
    if not_empty(revisions).next().is_none() {
        return Ok(change.id);
    }
    let begun = open(tx, change)?;
    append(tx, begun, not_empty(revisions))?;
    Ok(Some(begun.id))
}

/// The change's row, made now if it has none, and the number of its next revision.
fn open(tx: &mut Transaction<'_>, change: &NewChange) -> Result<PendingChange, Fault> {
    if let Some(id) = change.id {
        let known = tx.query_opt(
            "SELECT (SELECT coalesce(max(number) + 1, 0) FROM revisions WHERE change = id)
             FROM journal WHERE id = $1",
            &[&id.0],
        )?;
        // It may have been pruned while a long import went on.
        if let Some(row) = known {
            if let Some(mark) = change.mark() {
                tx.execute("UPDATE journal SET undoes = $2 WHERE id = $1", &[&id.0, &mark])?;
            }
            return Ok(PendingChange { id, first: row.try_get::<_, i64>(0)? as usize });
        }
    }
    let row = tx.query_one(
        "INSERT INTO journal (at, who, tool, summary, undoes) VALUES ($1, $2, $3, $4, $5)
         RETURNING id",
        &[
            &Timestamp::now().0,
            &change.actor.who,
            &change.actor.tool,
            // A title may contain what the server cannot keep; the contents keep it.
            &change.summary.replace('\0', "\u{fffd}"),
            &change.mark(),
        ],
    )?;
    Ok(PendingChange { id: ChangeId(row.try_get(0)?), first: 0 })
}

/// Adds revisions, numbered from `begun.first` on.
fn append<'a>(
    tx: &mut Transaction<'_>,
    begun: PendingChange,
    revisions: impl Iterator<Item = &'a Revision>,
) -> Result<(), Fault> {
    let revisions: Vec<&Revision> = revisions.collect();
    let mut number = begun.first as i64;
    for part in revisions.chunks(APPENDED) {
        let before = part.iter().map(|revision| revision.before.as_deref());
        let before = contents::put(tx, before)?;
        let after = contents::put(tx, part.iter().map(|revision| revision.after.as_deref()))?;
        let numbers: Vec<i64> = (number..).take(part.len()).collect();
        let pids: Vec<Option<i64>> =
            part.iter().map(|revision| revision.pid.map(|pid| pid.0)).collect();
        let kinds: Vec<&str> = part.iter().map(|revision| revision.kind.as_str()).collect();
        let keys: Vec<&str> = part.iter().map(|revision| revision.key.as_str()).collect();
        let moved: Vec<Option<&str>> =
            part.iter().map(|revision| revision.moved_to.as_deref()).collect();
        tx.execute(
            "INSERT INTO revisions (change, number, pid, kind, key, moved_to, before, after)
             SELECT $1, t.* FROM unnest($2::bigint[], $3::bigint[], $4::text[], $5::text[],
                                        $6::text[], $7::bigint[], $8::bigint[]) AS t",
            &[&begun.id.0, &numbers, &pids, &kinds, &keys, &moved, &before, &after],
        )?;
        number += part.len() as i64;
    }
    Ok(())
}

/// Deletes revisions from a number on and returns the contents that they had.
fn take_from(tx: &mut Transaction<'_>, begun: PendingChange) -> Result<Vec<i64>, Fault> {
    let rows = tx.query(
        "DELETE FROM revisions WHERE change = $1 AND number >= $2 RETURNING before, after",
        &[&begun.id.0, &(begun.first as i64)],
    )?;
    let mut contents = Vec::new();
    for row in &rows {
        contents.extend(row.try_get::<_, Option<i64>>(0)?);
        contents.extend(row.try_get::<_, Option<i64>>(1)?);
    }
    Ok(contents)
}

/// Marks a change as done, and fills in the pids that the registry knows by now.
fn done(tx: &mut Transaction<'_>, begun: PendingChange) -> Result<(), Fault> {
    tx.execute(
        "UPDATE revisions r SET pid = (SELECT i.pid FROM items i
             WHERE i.kind = r.kind AND i.key = coalesce(r.moved_to, r.key))
         WHERE r.change = $1 AND r.number >= $2 AND r.pid IS NULL",
        &[&begun.id.0, &(begun.first as i64)],
    )?;
    tx.execute("UPDATE journal SET pending_from = NULL WHERE id = $1", &[&begun.id.0]).map(drop)
}

fn remove_if_empty(tx: &mut Transaction<'_>, id: ChangeId) -> Result<bool, Fault> {
    tx.execute(
        "DELETE FROM journal WHERE id = $1
         AND NOT EXISTS (SELECT 1 FROM revisions WHERE change = $1)",
        &[&id.0],
    )
    .map(|removed| removed > 0)
}

/// The newest change with this mark that is in effect. A reverted change may be in effect again,
/// when its undo was undone, and so on.
fn undone_by(db: &mut Connection, mark: i64) -> Result<Option<ChangeId>, Fault> {
    let undoing = db.query(
        "SELECT id FROM journal WHERE undoes = $1 AND pending_from IS NULL ORDER BY id DESC",
        &[&mark],
    )?;
    for row in &undoing {
        let undo: i64 = row.try_get(0)?;
        if undone_by(db, undo)?.is_none() {
            return Ok(Some(ChangeId(undo)));
        }
    }
    Ok(None)
}

/// The oldest changes that are beyond the limits.
fn beyond(db: &mut Connection, retention: &Retention) -> Result<Vec<ChangeId>, Fault> {
    let oldest_kept = Timestamp::now().plus_days(-i64::from(retention.days)).0;
    let row = db.query_one(
        "SELECT (SELECT count(*) FROM journal),
           (SELECT coalesce(sum(octet_length(data)), 0)::bigint FROM contents),
           (SELECT coalesce(max(id), 0) FROM journal)",
        &[],
    )?;
    let (mut count, mut bytes): (i64, i64) = (row.try_get(0)?, row.try_get(1)?);
    let newest: i64 = row.try_get(2)?;
    // A content that a later revision shares is freed only with it, so this removes rather too
    // little than too much; the next call goes on.
    let rows = db.query(
        "SELECT j.id, j.at, (SELECT coalesce(sum(octet_length(c.data)), 0)::bigint
             FROM revisions r JOIN contents c ON c.id IN (r.before, r.after)
             WHERE r.change = j.id)
         FROM journal j WHERE j.pending_from IS NULL AND j.id < $1 ORDER BY j.id LIMIT $2",
        &[&newest, &(MAX_PRUNED as i64)],
    )?;
    let mut doomed = Vec::new();
    for row in &rows {
        let too_many = count > i64::try_from(retention.changes).unwrap_or(i64::MAX);
        let too_large = bytes > i64::try_from(retention.bytes).unwrap_or(i64::MAX);
        if row.try_get::<_, i64>(1)? >= oldest_kept && !too_many && !too_large {
            break;
        }
        doomed.push(ChangeId(row.try_get(0)?));
        count -= 1;
        bytes -= row.try_get::<_, i64>(2)?;
    }
    Ok(doomed)
}

fn change(row: &Row) -> Result<Change, Fault> {
    let mark: Option<i64> = row.try_get(5)?;
    Ok(Change {
        id: ChangeId(row.try_get(0)?),
        at: Timestamp(row.try_get(1)?),
        actor: Actor { who: row.try_get(2)?, tool: row.try_get(3)? },
        summary: row.try_get(4)?,
        undoes: mark.map(|mark| ChangeId(mark.abs())),
        in_part: mark.is_some_and(|mark| mark < 0),
        pending: row.try_get(6)?,
        revisions: row.try_get::<_, i64>(7)? as usize,
    })
}

fn change_and_revision(row: &Row) -> Result<(Change, Revision), Fault> {
    Ok((change(row)?, revision(row, CHANGE_COLUMNS)?))
}

/// The revision whose columns start at `from`.
fn revision(row: &Row, from: usize) -> Result<Revision, Fault> {
    Ok(Revision {
        pid: row.try_get::<_, Option<i64>>(from)?.map(Pid),
        kind: kind(row, from + 1)?,
        key: row.try_get(from + 2)?,
        moved_to: row.try_get(from + 3)?,
        before: contents::get(row.try_get(from + 4)?)?,
        after: contents::get(row.try_get(from + 5)?)?,
    })
}
