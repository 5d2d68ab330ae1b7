use std::collections::HashMap;

use tokio_postgres::Row;

use super::{Postgres, connection::Connection, fault::Fault, transaction::Transaction};
use crate::{
    domain::{Error, Kind, Pid, Result},
    store::items::{Item, Items, Synced},
};

const COLUMNS: &str = "i.pid, i.kind, i.key, i.stamp, i.gone";
/// Stands between a key that was given up to another item and the item's number.
const RETIRED_KEY_MARK: char = '\u{1}';

impl Items for Postgres {
    fn get(&self, pid: Pid) -> Result<Option<Item>> {
        self.read(|db| {
            let row =
                db.query_opt(&format!("SELECT {COLUMNS} FROM items i WHERE pid = $1"), &[&pid.0])?;
            row.as_ref().map(item).transpose()
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
            db.query(
                &format!(
                    "SELECT {COLUMNS} FROM items i
                     WHERE NOT i.gone AND i.pid > $1 AND ($2::text IS NULL OR i.kind = $2)
                     ORDER BY i.pid LIMIT $3"
                ),
                &[&after.map_or(0, |pid| pid.0), &kind.map(Kind::as_str), &(limit as i64)],
            )?
            .iter()
            .map(item)
            .collect()
        })
    }

    fn count(&self, kind: Option<Kind>) -> Result<u64> {
        self.read(|db| {
            let row = db.query_one(
                "SELECT count(*) FROM items WHERE NOT gone AND ($1::text IS NULL OR kind = $1)",
                &[&kind.map(Kind::as_str)],
            )?;
            Ok(row.try_get::<_, i64>(0)? as u64)
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
        let which = "kind = $1 AND NOT gone AND stamp <> 0";
        let known = self.read(|db| {
            db.query_opt(&format!("SELECT 1 FROM items WHERE {which} LIMIT 1"), &[&kind.as_str()])
        })?;
        if known.is_none() {
            return Ok(());
        }
        self.write(|tx| {
            tx.execute(&format!("UPDATE items SET stamp = 0 WHERE {which}"), &[&kind.as_str()])
                .map(drop)
        })
    }

    fn changes(&self, after: i64, limit: usize) -> Result<Vec<(i64, Pid)>> {
        self.read(|db| {
            db.query(
                "SELECT seq, pid FROM changes WHERE seq > $1 ORDER BY seq LIMIT $2",
                &[&after, &(limit as i64)],
            )?
            .iter()
            .map(|row| Ok((row.try_get(0)?, Pid(row.try_get(1)?))))
            .collect()
        })
    }

    fn head(&self) -> Result<i64> {
        self.read(|db| {
            let row = db.query_one("SELECT head FROM libraries WHERE id = $1", &[&self.library])?;
            Ok(row.try_get(0)?)
        })
    }

    fn library(&self) -> Result<i64> {
        self.read(|db| {
            let row =
                db.query_one("SELECT number FROM libraries WHERE id = $1", &[&self.library])?;
            Ok(row.try_get(0)?)
        })
    }
}

fn live(db: &mut Connection, kind: Kind) -> Result<HashMap<String, i64>, Fault> {
    db.query("SELECT key, stamp FROM items WHERE kind = $1 AND NOT gone", &[&kind.as_str()])?
        .iter()
        .map(|row| Ok((row.try_get(0)?, row.try_get(1)?)))
        .collect()
}

pub(super) fn lookup(db: &mut Connection, kind: Kind, key: &str) -> Result<Option<Item>, Fault> {
    let row = db.query_opt(
        &format!("SELECT {COLUMNS} FROM items i WHERE kind = $1 AND key = $2"),
        &[&kind.as_str(), &key],
    )?;
    row.as_ref().map(item).transpose()
}

/// The item that went and comes back under another key: of those with this content the last one
/// of the same file name, or else the only one there is.
pub(super) fn returning(
    tx: &mut Transaction<'_>,
    kind: Kind,
    key: &str,
    stamp: i64,
) -> Result<Option<Pid>, Fault> {
    let gone: Vec<(i64, String)> = tx
        .query(
            "SELECT i.pid, i.key FROM items i LEFT JOIN changes c ON c.pid = i.pid
             WHERE i.kind = $1 AND i.stamp = $2 AND i.gone
             ORDER BY c.seq DESC NULLS LAST LIMIT 100",
            &[&kind.as_str(), &stamp],
        )?
        .iter()
        .map(|row| Ok((row.try_get(0)?, row.try_get(1)?)))
        .collect::<Result<_, Fault>>()?;
    let name = |key: &str| {
        let key = key.split(RETIRED_KEY_MARK).next().unwrap_or_default();
        key.rsplit('/').next().unwrap_or_default().to_owned()
    };
    let same = gone.iter().find(|(_, other)| name(other) == name(key));
    let only = if let [only] = gone.as_slice() { Some(only) } else { None };
    Ok(same.or(only).map(|(pid, _)| Pid(*pid)))
}

/// Puts an item in the registry, reviving one that is gone; logs it unless nothing changed.
pub(super) fn put(
    tx: &mut Transaction<'_>,
    kind: Kind,
    key: &str,
    stamp: i64,
) -> Result<(Pid, bool), Fault> {
    let known = lookup(tx, kind, key)?;
    if let Some(item) = &known
        && !item.gone
        && item.stamp == stamp
    {
        return Ok((item.pid, false));
    }
    let pid = match known {
        Some(item) => {
            tx.execute(
                "UPDATE items SET stamp = $2, gone = false WHERE pid = $1",
                &[&item.pid.0, &stamp],
            )?;
            item.pid
        }
        None => {
            let library = tx.library;
            let row = tx.query_one(
                "WITH given AS
                     (UPDATE libraries SET last_pid = last_pid + 1 WHERE id = $4 RETURNING last_pid)
                 INSERT INTO items (pid, kind, key, stamp) SELECT last_pid, $1, $2, $3 FROM given
                 RETURNING pid",
                &[&kind.as_str(), &key, &stamp, &library],
            )?;
            Pid(row.try_get(0)?)
        }
    };
    log(tx, pid)?;
    Ok((pid, true))
}

/// Gives an item another key; an item that is gone and had it makes room.
pub(super) fn rename(
    tx: &mut Transaction<'_>,
    pid: Pid,
    kind: Kind,
    key: &str,
) -> Result<(), Fault> {
    if let Some(other) = lookup(tx, kind, key)?
        && other.pid != pid
    {
        // The log keeps its row of an item that is gone, so only the key is given up.
        let given_up = format!("{key}{RETIRED_KEY_MARK}{}", other.pid.0);
        tx.execute(
            "UPDATE items SET key = $2, gone = true WHERE pid = $1",
            &[&other.pid.0, &given_up],
        )?;
    }
    tx.execute("UPDATE items SET key = $2, gone = false WHERE pid = $1", &[&pid.0, &key])?;
    Ok(())
}

pub(super) fn mark_gone(tx: &mut Transaction<'_>, pid: Pid) -> Result<(), Fault> {
    tx.execute("UPDATE items SET gone = true WHERE pid = $1", &[&pid.0])?;
    log(tx, pid)
}

pub(super) fn log(tx: &mut Transaction<'_>, pid: Pid) -> Result<(), Fault> {
    tx.log(pid.0)
}

fn item(row: &Row) -> Result<Item, Fault> {
    Ok(Item {
        pid: Pid(row.try_get(0)?),
        kind: kind(row, 1)?,
        key: row.try_get(2)?,
        stamp: row.try_get(3)?,
        gone: row.try_get(4)?,
    })
}

/// The kind that a column names.
pub(super) fn kind(row: &Row, column: usize) -> Result<Kind, Fault> {
    let word: &str = row.try_get(column)?;
    word.parse().map_err(|error: Error| Fault::Refused(error))
}
