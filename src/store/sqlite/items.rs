use std::collections::HashMap;

use rusqlite::{Connection, OptionalExtension, Row, Transaction, params};

use super::Sqlite;
use crate::{
    domain::{Kind, Pid, Result},
    store::items::{Item, Items, Synced},
};

const COLUMNS: &str = "i.pid, i.kind, i.key, i.stamp, i.gone";

impl Items for Sqlite {
    fn get(&self, pid: Pid) -> Result<Option<Item>> {
        self.read(|db| {
            db.prepare_cached(&format!("SELECT {COLUMNS} FROM items i WHERE pid = ?1"))?
                .query_row([pid.0], item)
                .optional()
        })
    }

    fn get_many(&self, pids: &[Pid]) -> Result<Vec<Item>> {
        self.read_many(
            pids,
            |wanted| format!("SELECT {COLUMNS} FROM {wanted} JOIN items i ON i.pid = wanted.value"),
            item,
        )
    }

    fn find(&self, kind: Kind, key: &str) -> Result<Option<Item>> {
        self.read(|db| Ok(lookup(db, kind, key)?.filter(|item| !item.gone)))
    }

    fn list(&self, kind: Option<Kind>, after: Option<Pid>, limit: usize) -> Result<Vec<Item>> {
        self.read(|db| {
            db.prepare_cached(&format!(
                "SELECT {COLUMNS} FROM items i
                 WHERE i.gone = 0 AND i.pid > ?1 AND (?2 IS NULL OR i.kind = ?2) ORDER BY i.pid LIMIT ?3"
            ))?
            .query_map(
                params![after.map_or(0, |pid| pid.0), kind.map(Kind::as_str), limit as i64],
                item,
            )?
            .collect()
        })
    }

    fn count(&self, kind: Option<Kind>) -> Result<u64> {
        self.read(|db| {
            db.prepare_cached(
                "SELECT count(*) FROM items WHERE gone = 0 AND (?1 IS NULL OR kind = ?1)",
            )?
            .query_row([kind.map(Kind::as_str)], |row| row.get::<_, i64>(0))
            .map(|count| count as u64)
        })
    }

    fn record(&self, kind: Kind, key: &str, stamp: i64) -> Result<Pid> {
        self.write(|tx| Ok(put(tx, kind, key, stamp)?.0))
    }

    fn remove(&self, kind: Kind, key: &str) -> Result<Option<Pid>> {
        self.write(|tx| {
            let Some(item) = lookup(tx, kind, key)?.filter(|item| !item.gone) else {
                return Ok(None);
            };
            mark_gone(tx, item.pid)?;
            Ok(Some(item.pid))
        })
    }

    fn sync(&self, kind: Kind, all: &[(String, i64)]) -> Result<Synced> {
        // Compared outside the write lock first: nothing to write is the usual case.
        let known = self.read(|db| live(db, kind))?;
        if known.len() == all.len() && all.iter().all(|(key, stamp)| known.get(key) == Some(stamp))
        {
            return Ok(Synced::default());
        }
        self.write(|tx| {
            let mut known = live(tx, kind)?;
            let mut synced = Synced::default();
            for (key, stamp) in all {
                let before = known.remove(key);
                if before == Some(*stamp) {
                    continue;
                }
                put(tx, kind, key, *stamp)?;
                match before {
                    Some(_) => synced.changed += 1,
                    None => synced.new += 1,
                }
            }
            for key in known.keys() {
                if let Some(item) = lookup(tx, kind, key)? {
                    mark_gone(tx, item.pid)?;
                    synced.gone += 1;
                }
            }
            Ok(synced)
        })
    }

    fn forget_stamps(&self, kind: Kind) -> Result<()> {
        let which = "kind = ?1 AND gone = 0 AND stamp <> 0";
        let forgotten = self.read(|db| {
            db.prepare_cached(&format!("SELECT 1 FROM items WHERE {which}"))?
                .exists([kind.as_str()])
                .map(|is_known| !is_known)
        })?;
        if forgotten {
            return Ok(());
        }
        self.write(|tx| {
            tx.execute(&format!("UPDATE items SET stamp = 0 WHERE {which}"), [kind.as_str()])
                .map(drop)
        })
    }

    fn changes(&self, after: i64, limit: usize) -> Result<Vec<(i64, Pid)>> {
        self.read(|db| {
            db.prepare_cached("SELECT seq, pid FROM changes WHERE seq > ?1 ORDER BY seq LIMIT ?2")?
                .query_map(params![after, limit as i64], |row| Ok((row.get(0)?, Pid(row.get(1)?))))?
                .collect()
        })
    }

    fn head(&self) -> Result<i64> {
        self.read(|db| {
            db.prepare_cached("SELECT coalesce(max(seq), 0) FROM changes")?
                .query_row([], |row| row.get(0))
        })
    }

    fn library(&self) -> Result<i64> {
        self.read(|db| db.prepare_cached("SELECT id FROM library")?.query_row([], |row| row.get(0)))
    }
}

fn live(db: &Connection, kind: Kind) -> rusqlite::Result<HashMap<String, i64>> {
    db.prepare_cached("SELECT key, stamp FROM items WHERE kind = ?1 AND gone = 0")?
        .query_map([kind.as_str()], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect()
}

pub(super) fn lookup(db: &Connection, kind: Kind, key: &str) -> rusqlite::Result<Option<Item>> {
    db.prepare_cached(&format!("SELECT {COLUMNS} FROM items i WHERE kind = ?1 AND key = ?2"))?
        .query_row(params![kind.as_str(), key], item)
        .optional()
}

/// The item that went and comes back under another key: of those with this content the last one
/// of the same file name, or else the only one there is.
pub(super) fn returning(
    tx: &Transaction<'_>,
    kind: Kind,
    key: &str,
    stamp: i64,
) -> rusqlite::Result<Option<Pid>> {
    let gone: Vec<(i64, String)> = tx
        .prepare_cached(
            "SELECT i.pid, i.key FROM items i LEFT JOIN changes c ON c.pid = i.pid
             WHERE i.kind = ?1 AND i.stamp = ?2 AND i.gone = 1
             ORDER BY c.seq DESC LIMIT 100",
        )?
        .query_map(params![kind.as_str(), stamp], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<rusqlite::Result<_>>()?;
    // A key that was given up to another item has its number behind a NUL.
    let name = |key: &str| {
        let key = key.split('\0').next().unwrap_or_default();
        key.rsplit('/').next().unwrap_or_default().to_owned()
    };
    let same = gone.iter().find(|(_, other)| name(other) == name(key));
    let only = if let [only] = gone.as_slice() { Some(only) } else { None };
    Ok(same.or(only).map(|(pid, _)| Pid(*pid)))
}

/// Puts an item in the registry, reviving one that is gone; logs it unless nothing changed.
pub(super) fn put(
    tx: &Transaction<'_>,
    kind: Kind,
    key: &str,
    stamp: i64,
) -> rusqlite::Result<(Pid, bool)> {
    let known = lookup(tx, kind, key)?;
    if let Some(item) = &known
        && !item.gone
        && item.stamp == stamp
    {
        return Ok((item.pid, false));
    }
    let pid = match known {
        Some(item) => {
            tx.prepare_cached("UPDATE items SET stamp = ?2, gone = 0 WHERE pid = ?1")?
                .execute(params![item.pid.0, stamp])?;
            item.pid
        }
        None => {
            tx.prepare_cached("INSERT INTO items (kind, key, stamp) VALUES (?1, ?2, ?3)")?
                .execute(params![kind.as_str(), key, stamp])?;
            Pid(tx.last_insert_rowid())
        }
    };
    log(tx, pid)?;
    Ok((pid, true))
}

/// Gives an item another key; an item that is gone and had it makes room.
pub(super) fn rename(
    tx: &Transaction<'_>,
    pid: Pid,
    kind: Kind,
    key: &str,
) -> rusqlite::Result<()> {
    if let Some(other) = lookup(tx, kind, key)?
        && other.pid != pid
    {
        // The log keeps its row of an item that is gone, so only the key is given up.
        tx.prepare_cached("UPDATE items SET key = key || char(0) || pid, gone = 1 WHERE pid = ?1")?
            .execute([other.pid.0])?;
    }
    tx.prepare_cached("UPDATE items SET key = ?2, gone = 0 WHERE pid = ?1")?
        .execute(params![pid.0, key])?;
    Ok(())
}

pub(super) fn mark_gone(tx: &Transaction<'_>, pid: Pid) -> rusqlite::Result<()> {
    tx.prepare_cached("UPDATE items SET gone = 1 WHERE pid = ?1")?.execute([pid.0])?;
    log(tx, pid)
}

pub(super) fn log(tx: &Transaction<'_>, pid: Pid) -> rusqlite::Result<()> {
    tx.prepare_cached("INSERT OR REPLACE INTO changes (pid) VALUES (?1)")?.execute([pid.0])?;
    Ok(())
}

fn item(row: &Row<'_>) -> rusqlite::Result<Item> {
    Ok(Item {
        pid: Pid(row.get(0)?),
        kind: kind(row, 1)?,
        key: row.get(2)?,
        stamp: row.get(3)?,
        gone: row.get(4)?,
    })
}

/// The kind that a column names.
pub(super) fn kind(row: &Row<'_>, column: usize) -> rusqlite::Result<Kind> {
    row.get::<_, String>(column)?.parse().map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(
            column,
            rusqlite::types::Type::Text,
            Box::<crate::domain::Error>::new(error),
        )
    })
}
