mod counts;
mod many;
mod write;

use sha2::{Digest, Sha256};
use tokio_postgres::Row;

use self::{
    many::put_many,
    write::{file, put_state, remove, revision},
};
use super::{Postgres, connection::Connection, fault::Fault, value};
use crate::{
    domain::{Bookmark, Error, Pid, Result, Timestamp},
    store::{
        bookmarks::{BookmarkState, Bookmarks, Counted, Filed, Put, Series, Window, address_key},
        revisions::NewChange,
    },
};

/// Compared without regard to the case of ASCII letters, as the column is.
fn key(text: Option<&str>) -> Option<String> {
    text.map(str::to_ascii_lowercase)
}

impl Bookmarks for Postgres {
    fn put(&self, batch: &[Filed], change: &mut NewChange) -> Result<Vec<Put>> {
        self.recorded(change, |tx, revisions| put_many(tx, batch, revisions))
    }

    fn record(&self, pid: Pid) -> Result<Option<String>> {
        self.read(|db| record(db, pid))
    }

    fn put_states(&self, states: &[BookmarkState], change: &mut NewChange) -> Result<()> {
        self.recorded(change, |tx, revisions| {
            for state in states {
                if record(tx, state.pid)? != state.expected {
                    return Err(Fault::Refused(Error::invalid_request(
                        "a bookmark changed at this moment; nothing was undone, try again",
                    )));
                }
            }
            states.iter().try_for_each(|state| put_state(tx, state, revisions))
        })
    }

    fn twin(&self, bookmark: &Bookmark) -> Result<Option<(Pid, Bookmark)>> {
        self.snapshot(|db| twin(db, bookmark))
    }

    fn get(&self, pid: Pid) -> Result<Option<Bookmark>> {
        self.read(|db| by_pid(db, pid))
    }

    fn get_many(&self, pids: &[Pid]) -> Result<Vec<(Pid, Bookmark)>> {
        self.read_many(
            pids,
            |wanted| {
                format!(
                    "SELECT b.pid, b.body FROM {wanted} JOIN bookmarks b ON b.pid = wanted.value"
                )
            },
            read,
        )
    }

    fn find(&self, id: &str) -> Result<Option<(Pid, Bookmark)>> {
        self.read(|db| by_id(db, id))
    }

    fn list(&self, after: Option<Pid>, limit: usize) -> Result<Vec<(Pid, Bookmark)>> {
        self.read(|db| {
            db.query(
                "SELECT pid, body FROM bookmarks WHERE pid > $1 ORDER BY pid LIMIT $2",
                &[&after.map_or(0, |pid| pid.0), &value::limit(limit)],
            )?
            .iter()
            .map(read)
            .collect()
        })
    }

    fn remove(&self, id: &str, change: &mut NewChange) -> Result<bool> {
        self.recorded(change, |tx, revisions| {
            let Some((pid, known)) = by_id(tx, id)? else { return Ok(false) };
            revisions.push(revision(pid, Some(&known), None)?);
            remove(tx, pid)?;
            Ok(true)
        })
    }

    fn replace(&self, filed: &Filed, change: &mut NewChange) -> Result<Option<Pid>> {
        self.recorded(change, |tx, revisions| {
            let Some((pid, known)) = by_id(tx, &filed.bookmark.id)? else { return Ok(None) };
            revisions.push(revision(pid, Some(&known), Some(&filed.bookmark))?);
            file(tx, pid, &filed.bookmark, filed)?;
            Ok(Some(pid))
        })
    }

    fn categories(&self) -> Result<Vec<(String, u64)>> {
        self.read(|db| {
            db.query(
                "SELECT (array_agg(category ORDER BY pid))[1], count(*) FROM bookmarks
                 WHERE category IS NOT NULL
                 GROUP BY category_key ORDER BY count(*) DESC, category_key",
                &[],
            )?
            .iter()
            .map(counted)
            .collect()
        })
    }

    fn count(&self, window: &Window) -> Result<Counted> {
        self.read(|db| counts::count(db, window))
    }

    fn series(&self, bounds: &[Timestamp], category: Option<&str>) -> Result<Series> {
        self.snapshot(|db| counts::series(db, bounds, category))
    }

    fn notable(&self, window: &Window, limit: usize) -> Result<Vec<(Pid, Bookmark)>> {
        self.read(|db| {
            db.query(
                "SELECT pid, body FROM bookmarks
                 WHERE date >= $1 AND date < $2 AND ($3::text IS NULL OR category_key = $3)
                   AND engaged > 0
                 ORDER BY engaged DESC, date DESC, id LIMIT $4",
                &[
                    &window.from.0,
                    &window.until.0,
                    &key(window.category.as_deref()),
                    &value::limit(limit),
                ],
            )?
            .iter()
            .map(read)
            .collect()
        })
    }

    fn new_tools(&self, window: &Window, limit: usize) -> Result<Vec<(String, u64)>> {
        self.read(|db| {
            // Bookmarks that have its name as a topic count too, but only where that word is as
            // new as the tool: a project called `core` does not own the word.
            db.query(
                "WITH fresh AS (
                   SELECT tool_key, (array_agg(tool ORDER BY pid))[1] AS tool FROM bookmarks b
                   WHERE tool IS NOT NULL AND date >= $1 AND date < $2
                     AND ($3::text IS NULL OR category_key = $3)
                   GROUP BY tool_key
                   HAVING NOT EXISTS (SELECT 1 FROM bookmarks e
                                      WHERE e.tool_key = b.tool_key AND e.date < $1)
                 ), named AS (
                   SELECT f.tool_key, f.tool, m.pid FROM fresh f
                   JOIN bookmarks m ON m.tool_key = f.tool_key
                   WHERE m.date >= $1 AND m.date < $2
                   UNION
                   SELECT f.tool_key, f.tool, m.pid FROM fresh f
                   JOIN topics t ON t.topic = f.tool_key JOIN bookmarks m ON m.pid = t.pid
                   WHERE m.date >= $1 AND m.date < $2
                     AND NOT EXISTS (SELECT 1 FROM topics o JOIN bookmarks e ON e.pid = o.pid
                                     WHERE o.topic = t.topic AND e.date < $1)
                 )
                 SELECT tool, count(*) FROM named GROUP BY tool_key, tool
                 ORDER BY count(*) DESC, tool_key LIMIT $4",
                &[
                    &window.from.0,
                    &window.until.0,
                    &key(window.category.as_deref()),
                    &value::limit(limit),
                ],
            )?
            .iter()
            .map(counted)
            .collect()
        })
    }

    fn about_tool(&self, tool: &str, topic: &str, limit: usize) -> Result<Vec<Bookmark>> {
        self.read(|db| {
            db.query(
                "SELECT pid, body FROM bookmarks
                 WHERE tool_key = $1 OR pid IN (SELECT pid FROM topics WHERE topic = $2)
                 ORDER BY coalesce(tool_key = $1, false) DESC, engaged DESC, pid LIMIT $3",
                &[&key(Some(tool)), &topic, &value::limit(limit)],
            )?
            .iter()
            .map(|row| Ok(read(row)?.1))
            .collect()
        })
    }

    fn tool_of(&self, pid: Pid) -> Result<Option<String>> {
        self.read(|db| {
            match db.query_opt("SELECT tool FROM bookmarks WHERE pid = $1", &[&pid.0])? {
                Some(row) => Ok(row.try_get(0)?),
                None => Ok(None),
            }
        })
    }
}

fn counted(row: &Row) -> Result<(String, u64), Fault> {
    Ok((row.try_get(0)?, row.try_get::<_, i64>(1)?.unsigned_abs()))
}

fn by_pid(db: &mut Connection, pid: Pid) -> Result<Option<Bookmark>, Fault> {
    let row = db.query_opt("SELECT pid, body FROM bookmarks WHERE pid = $1", &[&pid.0])?;
    row.map(|row| Ok(read(&row)?.1)).transpose()
}

fn by_id(db: &mut Connection, id: &str) -> Result<Option<(Pid, Bookmark)>, Fault> {
    let row = db.query_opt("SELECT pid, body FROM bookmarks WHERE id = $1", &[&id])?;
    row.as_ref().map(read).transpose()
}

/// The same id; or the same address, unless both have an id of their own: the same page may have
/// been posted twice.
fn twin(db: &mut Connection, bookmark: &Bookmark) -> Result<Option<(Pid, Bookmark)>, Fault> {
    if let Some(known) = by_id(db, &bookmark.id)? {
        return Ok(Some(known));
    }
    let address = address_key(bookmark);
    if address.is_empty() {
        return Ok(None);
    }
    let made = bookmark.has_made_id();
    let rows = db.query(
        "SELECT pid, body FROM bookmarks WHERE address = $1 AND address <> '' ORDER BY pid",
        &[&address],
    )?;
    for row in &rows {
        let (pid, known) = read(row)?;
        if made || known.has_made_id() {
            return Ok(Some((pid, known)));
        }
    }
    Ok(None)
}

fn record(db: &mut Connection, pid: Pid) -> Result<Option<String>, Fault> {
    by_pid(db, pid)?.as_ref().map(body).transpose()
}

fn body(bookmark: &Bookmark) -> Result<String, Fault> {
    serde_json::to_string(bookmark).map_err(|error| {
        Fault::Refused(Error::internal(format!("could not write a bookmark as JSON: {error}")))
    })
}

fn stamp(body: &str) -> i64 {
    let digest: [u8; 32] = Sha256::digest(body).into();
    i64::from_le_bytes(std::array::from_fn(|at| digest[at]))
}

fn read(row: &Row) -> Result<(Pid, Bookmark), Fault> {
    let bookmark = serde_json::from_str(row.try_get(1)?).map_err(|error| {
        Fault::Refused(Error::damaged(format!(
            "a bookmark in the database cannot be read: {error}; restore it from a backup"
        )))
    })?;
    Ok((Pid(row.try_get(0)?), bookmark))
}
