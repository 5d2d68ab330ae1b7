//! A copy of the rows that searches and reads need, of a library that lives in another store. It
//! follows that store's change log and can be deleted: it is made again.

mod cards;

use std::path::Path;

use rusqlite::{
    Connection, OptionalExtension, Transaction, params, params_from_iter, types::Value,
};

use super::{DATABASE, MIGRATIONS, Sqlite, fault, opening};
use crate::{
    domain::{Code, Pid, Result, error::Doing},
    store::replica::{Batch, Cell, Rows},
};

/// Tables whose rows belong to an item, in the order in which they are written.
pub const OF_ITEMS: [&str; 5] = ["items", "changes", "pages", "bookmarks", "topics"];
/// Small tables that are copied whole.
pub const WHOLE: [&str; 2] = ["vaults", "skipped"];

/// The texts of pages whose vault lives in the store.
const TEXTS: &str = "CREATE TABLE IF NOT EXISTS mirrored_texts (
    pid INTEGER PRIMARY KEY, hash BLOB NOT NULL, data BLOB NOT NULL) STRICT";

/// The state of the store that [`WHOLE`] shows.
const STATE: &str = "CREATE TABLE IF NOT EXISTS mirrored_state (state INTEGER NOT NULL) STRICT";

impl Sqlite {
    /// Opens the copy of a library in a directory. A copy of another library is emptied; one that
    /// is damaged is made anew.
    pub fn open_mirror(directory: &Path, library: i64, readers: usize) -> Result<Self> {
        // Processes that share the directory take turns: none replaces what another just opened.
        let _turn = opening::take_turn(&directory.join("replica"));
        let path = directory.join(format!("replica-{}.db", MIGRATIONS.len()));
        let mirror = match Self::open(&path).and_then(|mirror| mirror.adopt(library)) {
            Ok(mirror) => mirror,
            // A full disk or a lock passes; what is there can be read again then.
            Err(error) if error.code == Code::Storage => return Err(error),
            Err(error) => {
                tracing::warn!(?error, "the copy of the store is made anew");
                remove(&path)?;
                Self::open(&path)?.adopt(library)?
            }
        };
        Ok(mirror.with_readers(readers))
    }

    /// Makes this the copy of a library.
    fn adopt(self, library: i64) -> Result<Self> {
        // A copy that an earlier version made has no cards.
        let is_whole: bool = self.read(|db| {
            let sql = "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = 'mirrored_cards')";
            db.query_row(sql, [], |row| row.get(0))
        })?;
        {
            let writer = self.writer.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            // Rows arrive in the order of the log: one may refer to another that comes later.
            let prepared = writer
                .pragma_update(None, "foreign_keys", false)
                .and_then(|()| writer.execute_batch(TEXTS))
                .and_then(|()| writer.execute_batch(STATE))
                .and_then(|()| writer.execute_batch(cards::TABLE));
            prepared.map_err(|error| fault::explain(error, DATABASE, "prepare it"))?;
        }
        let known: i64 =
            self.read(|db| db.query_row("SELECT id FROM library", [], |row| row.get(0)))?;
        if !is_whole || known != library {
            self.clear_mirror()?;
            self.write(|tx| tx.execute("UPDATE library SET id = ?1", [library]))?;
        }
        Ok(self)
    }

    /// The columns of a table, as this copy has them.
    pub fn mirrored_columns(&self, table: &str) -> Result<Vec<String>> {
        self.read(|db| {
            db.prepare("SELECT name FROM pragma_table_info(?1) ORDER BY cid")?
                .query_map([table], |row| row.get(0))?
                .collect()
        })
    }

    /// Takes over a part of the log with the rows of its items. Nothing is done when another
    /// process took it over already.
    pub fn mirror(&self, batch: &Batch) -> Result<()> {
        self.write_lightly(|tx| {
            let head: i64 =
                tx.query_row("SELECT coalesce(max(seq), 0) FROM changes", [], |row| row.get(0))?;
            if head != batch.after {
                return Ok(());
            }
            for pid in &batch.pids {
                for table in OF_ITEMS {
                    tx.prepare_cached(&format!("DELETE FROM {table} WHERE pid = ?1"))?
                        .execute([pid.0])?;
                }
                tx.prepare_cached("DELETE FROM mirrored_texts WHERE pid = ?1")?.execute([pid.0])?;
                cards::forget(tx, *pid)?;
            }
            for rows in &batch.tables {
                if rows.table == "items" {
                    free_keys(tx, rows)?;
                }
                insert(tx, rows)?;
            }
            cards::insert(tx, &batch.cards)?;
            let mut put = tx.prepare_cached(
                "INSERT OR REPLACE INTO mirrored_texts (pid, hash, data) VALUES (?1, ?2, ?3)",
            )?;
            for (pid, hash, data) in &batch.texts {
                put.execute(params![pid.0, hash, data])?;
            }
            Ok(())
        })
    }

    /// Takes over the small tables as of a state of the store, and returns the state that the copy has
    /// then: a later one stays, which another process that shares the directory took over meanwhile.
    /// Tables that are the same are left alone, so that a full disk does not keep a process from
    /// reading.
    pub fn mirror_whole(&self, state: i64, tables: &[Rows]) -> Result<i64> {
        let mut changed = Vec::new();
        for rows in tables {
            if !self.has_rows(rows)? {
                changed.push(rows);
            }
        }
        let is_same = changed.is_empty();
        let known = self.mirrored_state()?;
        if is_same && known >= state {
            return Ok(known);
        }
        let taken = self.write_lightly(|tx| {
            let known = mirrored_state(tx)?;
            if known > state {
                return Ok(known);
            }
            for rows in changed {
                tx.execute(&format!("DELETE FROM {}", rows.table), [])?;
                insert(tx, rows)?;
            }
            if known < state {
                tx.execute("DELETE FROM mirrored_state", [])?;
                tx.execute("INSERT INTO mirrored_state (state) VALUES (?1)", [state])?;
            }
            Ok(state)
        });
        match taken {
            Err(error) if is_same && error.is_disk_full() => Ok(state),
            taken => taken,
        }
    }

    /// The state of the store that the small tables show; -1 before they were taken over.
    pub fn mirrored_state(&self) -> Result<i64> {
        self.read(mirrored_state)
    }

    /// Whether a table has these rows and no others.
    fn has_rows(&self, rows: &Rows) -> Result<bool> {
        let form = |row: &Vec<Value>| format!("{row:?}");
        let columns = rows.columns.join(", ");
        let mut ours: Vec<String> = self.read(|db| {
            db.prepare(&format!("SELECT {columns} FROM {}", rows.table))?
                .query_map([], |row| {
                    (0..rows.columns.len()).map(|at| row.get(at)).collect::<rusqlite::Result<_>>()
                })?
                .map(|row| row.map(|row| form(&row)))
                .collect()
        })?;
        let mut theirs: Vec<String> =
            rows.rows.iter().map(|row| form(&row.iter().map(value).collect())).collect();
        ours.sort_unstable();
        theirs.sort_unstable();
        Ok(ours == theirs)
    }

    /// Forgets every row: the log is not the one that was followed.
    pub fn clear_mirror(&self) -> Result<()> {
        self.write(|tx| {
            for table in OF_ITEMS.iter().rev().chain(&WHOLE).chain(&[
                "mirrored_texts",
                "mirrored_cards",
                "mirrored_state",
            ]) {
                tx.execute(&format!("DELETE FROM {table}"), [])?;
            }
            Ok(())
        })
    }

    /// The text of a page whose content has this hash.
    pub fn mirrored_text(&self, pid: Pid, hash: &[u8; 32]) -> Result<Option<Vec<u8>>> {
        self.read(|db| {
            db.prepare_cached("SELECT data FROM mirrored_texts WHERE pid = ?1 AND hash = ?2")?
                .query_row(params![pid.0, hash.as_slice()], |row| row.get(0))
                .optional()
        })
    }
}

fn mirrored_state(db: &Connection) -> rusqlite::Result<i64> {
    db.prepare_cached("SELECT coalesce(max(state), -1) FROM mirrored_state")?
        .query_row([], |row| row.get(0))
}

/// Lets items of the copy give up keys that items of the batch have. The log has no entry for an
/// item that is gone and gave up its key.
fn free_keys(tx: &Transaction<'_>, rows: &Rows) -> rusqlite::Result<()> {
    let column = |name: &str| rows.columns.iter().position(|column| column == name);
    let (Some(kind), Some(key)) = (column("kind"), column("key")) else { return Ok(()) };
    let mut free = tx.prepare_cached(
        "UPDATE items SET key = key || char(1) || pid, gone = 1 WHERE kind = ?1 AND key = ?2",
    )?;
    for row in &rows.rows {
        free.execute([value(&row[kind]), value(&row[key])])?;
    }
    Ok(())
}

fn insert(tx: &Transaction<'_>, rows: &Rows) -> rusqlite::Result<()> {
    if rows.rows.is_empty() {
        return Ok(());
    }
    let names: Vec<String> = rows.columns.iter().map(|name| format!("\"{name}\"")).collect();
    let places: Vec<String> = (1..=names.len()).map(|number| format!("?{number}")).collect();
    // REPLACE: what is in the way of a later state comes again with its own entry of the log.
    let mut put = tx.prepare_cached(&format!(
        "INSERT OR REPLACE INTO {} ({}) VALUES ({})",
        rows.table,
        names.join(", "),
        places.join(", ")
    ))?;
    for row in &rows.rows {
        put.execute(params_from_iter(row.iter().map(value)))?;
    }
    Ok(())
}

fn value(cell: &Cell) -> Value {
    match cell {
        Cell::Null => Value::Null,
        Cell::Integer(number) => Value::Integer(*number),
        Cell::Text(text) => Value::Text(text.clone()),
        Cell::Bytes(bytes) => Value::Blob(bytes.clone()),
    }
}

fn remove(path: &Path) -> Result<()> {
    for ending in ["", "-wal", "-shm"] {
        let mut file = path.as_os_str().to_owned();
        file.push(ending);
        match std::fs::remove_file(&file) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(error).doing(format_args!("remove `{}`", path.display()));
            }
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{domain::Kind, store::Items};

    fn batch(after: i64, entries: &[(i64, i64, &str, bool)]) -> Batch {
        let text = |text: &str| Cell::Text(text.to_owned());
        let columns = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let items = entries.iter().map(|(_, pid, key, gone)| {
            vec![
                Cell::Integer(*pid),
                text("card"),
                text(key),
                Cell::Integer(1),
                Cell::Integer(i64::from(*gone)),
            ]
        });
        let changes =
            entries.iter().map(|(seq, pid, ..)| vec![Cell::Integer(*seq), Cell::Integer(*pid)]);
        Batch {
            after,
            pids: entries.iter().map(|(_, pid, ..)| Pid(*pid)).collect(),
            tables: vec![
                Rows {
                    table: "items",
                    columns: columns(&["pid", "kind", "key", "stamp", "gone"]),
                    rows: items.collect(),
                },
                Rows {
                    table: "changes",
                    columns: columns(&["seq", "pid"]),
                    rows: changes.collect(),
                },
            ],
            texts: Vec::new(),
            cards: Vec::new(),
        }
    }

    #[test]
    fn an_older_state_does_not_replace_a_newer_one() {
        let folder = tempfile::tempdir().unwrap();
        let copy = Sqlite::open_mirror(folder.path(), 1, 1).unwrap();
        let other = Sqlite::open_mirror(folder.path(), 1, 1).unwrap();
        let skipped = |paths: &[&str]| Rows {
            table: "skipped",
            columns: ["vault", "path", "reason"].map(str::to_owned).to_vec(),
            rows: paths
                .iter()
                .map(|path| ["v", path, "r"].map(|t| Cell::Text(t.into())).to_vec())
                .collect(),
        };
        let count = || -> i64 {
            let sql = "SELECT count(*) FROM skipped";
            copy.read(|db| db.query_row(sql, [], |row| row.get(0))).unwrap()
        };
        assert_eq!(copy.mirrored_state().unwrap(), -1);
        assert_eq!(copy.mirror_whole(6, &[skipped(&["a", "b"])]).unwrap(), 6);
        // A process that asked the store earlier comes later.
        assert_eq!(other.mirror_whole(5, &[skipped(&[])]).unwrap(), 6);
        assert_eq!(count(), 2);
        assert_eq!(other.mirror_whole(7, &[skipped(&["a"])]).unwrap(), 7);
        assert_eq!((count(), copy.mirrored_state().unwrap()), (1, 7));
        // The same rows in a later state.
        assert_eq!(copy.mirror_whole(8, &[skipped(&["a"])]).unwrap(), 8);
        copy.clear_mirror().unwrap();
        assert_eq!((count(), other.mirrored_state().unwrap()), (0, -1));
    }

    #[test]
    fn a_copy_follows_the_log_in_its_order_and_keeps_to_one_library() {
        let folder = tempfile::tempdir().unwrap();
        let mirror = Sqlite::open_mirror(folder.path(), 7, 1).unwrap();
        assert_eq!(mirror.library().unwrap(), 7);
        mirror.mirror(&batch(0, &[(1, 10, "чай", false), (2, 11, "お茶", false)])).unwrap();
        assert_eq!(mirror.head().unwrap(), 2);
        // What was taken over already, or begins elsewhere, changes nothing.
        mirror.mirror(&batch(0, &[(1, 12, "other", false)])).unwrap();
        mirror.mirror(&batch(5, &[(6, 12, "other", false)])).unwrap();
        assert_eq!(mirror.count(None).unwrap(), 2);
        // An item takes the key of one that went.
        mirror.mirror(&batch(2, &[(4, 12, "чай", false)])).unwrap();
        assert_eq!(mirror.find(Kind::Card, "чай").unwrap().unwrap().pid, Pid(12));
        assert!(mirror.get(Pid(10)).unwrap().unwrap().gone);
        assert_eq!(mirror.changes(0, 10).unwrap(), [(1, Pid(10)), (2, Pid(11)), (4, Pid(12))]);
        drop(mirror);
        assert_eq!(Sqlite::open_mirror(folder.path(), 7, 1).unwrap().head().unwrap(), 4);
        let other = Sqlite::open_mirror(folder.path(), 8, 1).unwrap();
        assert_eq!((other.head().unwrap(), other.library().unwrap()), (0, 8));
    }
}
