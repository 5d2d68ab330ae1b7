use std::collections::HashSet;

use rusqlite::{OptionalExtension, Row, Transaction, params, types::Type};

use super::{
    Sqlite,
    hosted::Stop,
    items::{log, lookup, mark_gone, put, rename, returning},
};
use crate::{
    domain::{Kind, Pid, Result, Timestamp, Visible},
    store::{
        items::Synced,
        pages::{
            Authorship, Facts, NewPage, PageChange, PageRow, Pages, Skipped, VaultProblem,
            VaultRow, removed_vault, vaults_of,
        },
    },
};

const VAULT: &str = "name, root, poll, seen, problem, author";
const COLUMNS: &str = "p.pid, p.vault, p.path, p.size, p.mtime_ns, p.hash, p.facts,
    (SELECT v.author FROM vaults v WHERE v.name = p.vault)";

impl Pages for Sqlite {
    fn vaults(&self) -> Result<Vec<VaultRow>> {
        self.read(|db| {
            db.prepare_cached(&format!("SELECT {VAULT} FROM vaults ORDER BY name"))?
                .query_map([], vault)?
                .collect()
        })
    }

    fn add_vault(&self, name: &str, location: &str, poll: bool) -> Result<VaultRow> {
        self.write(|tx| {
            let known = tx
                .query_row("SELECT name FROM vaults WHERE root = ?1", [location], |row| {
                    row.get::<_, String>(0)
                })
                .optional()?;
            match known {
                // Nothing is written when nothing changes: a full disk must not stop a search.
                Some(known) => tx.execute(
                    "UPDATE vaults SET poll = ?2 WHERE name = ?1 AND poll <> ?2",
                    params![known, poll],
                )?,
                None => tx.execute(
                    "INSERT INTO vaults (name, root, poll) VALUES (?1, ?2, ?3)",
                    params![free_name(tx, name)?, location, poll],
                )?,
            };
            tx.query_row(&format!("SELECT {VAULT} FROM vaults WHERE root = ?1"), [location], vault)
        })
    }

    fn move_vault(&self, name: &str, location: &str) -> Result<()> {
        self.write(|tx| {
            tx.execute("UPDATE vaults SET root = ?2 WHERE name = ?1", [name, location]).map(drop)
        })
    }

    fn remove_vault(&self, name: &str) -> Result<bool> {
        self.write(|tx| {
            let pids: Vec<i64> = tx
                .prepare("SELECT pid FROM pages WHERE vault = ?1")?
                .query_map([name], |row| row.get(0))?
                .collect::<rusqlite::Result<_>>()?;
            for pid in pids {
                remove(tx, Pid(pid))?;
            }
            tx.execute("DELETE FROM skipped WHERE vault = ?1", [name])?;
            Ok(tx.execute("DELETE FROM vaults WHERE name = ?1", [name])? == 1)
        })
    }

    fn set_authorship(&self, vault: &str, authorship: &Authorship) -> Result<()> {
        let author = authorship.to_column();
        let known: Option<Option<String>> = self.read(|db| {
            db.prepare_cached("SELECT author FROM vaults WHERE name = ?1")?
                .query_row([vault], |row| row.get(0))
                .optional()
        })?;
        if known.as_ref().is_none_or(|known| known.as_deref() == author) {
            return Ok(());
        }
        self.write(|tx| {
            tx.execute("UPDATE vaults SET author = ?2 WHERE name = ?1", params![vault, author])?;
            let pids: Vec<i64> = tx
                .prepare("SELECT pid FROM pages WHERE vault = ?1 ORDER BY pid")?
                .query_map([vault], |row| row.get(0))?
                .collect::<rusqlite::Result<_>>()?;
            pids.into_iter().try_for_each(|pid| log(tx, Pid(pid)))
        })
    }

    fn mark_seen(&self, vault: &str, when: Timestamp) -> Result<()> {
        self.write(|tx| {
            tx.execute("UPDATE vaults SET seen = ?2 WHERE name = ?1", params![vault, when.0])
        })?;
        Ok(())
    }

    fn set_problem(&self, vault: &str, problem: Option<&VaultProblem>) -> Result<()> {
        let text = problem.map(VaultProblem::to_column);
        let known: Option<Option<String>> = self.read(|db| {
            db.prepare_cached("SELECT problem FROM vaults WHERE name = ?1")?
                .query_row([vault], |row| row.get(0))
                .optional()
        })?;
        if known.as_ref().is_none_or(|known| known.as_deref() == text) {
            return Ok(());
        }
        self.write(|tx| {
            tx.execute("UPDATE vaults SET problem = ?2 WHERE name = ?1", params![vault, text])
        })?;
        Ok(())
    }

    fn get(&self, pid: Pid) -> Result<Option<PageRow>> {
        self.read(|db| {
            db.prepare_cached(&format!("SELECT {COLUMNS} FROM pages p WHERE p.pid = ?1"))?
                .query_row([pid.0], page)
                .optional()
        })
    }

    fn get_many(&self, pids: &[Pid]) -> Result<Vec<PageRow>> {
        self.read_many(
            pids,
            |wanted| format!("SELECT {COLUMNS} FROM {wanted} JOIN pages p ON p.pid = wanted.value"),
            page,
        )
    }

    fn find(&self, vault: &str, path: &str) -> Result<Option<PageRow>> {
        self.read(|db| {
            db.prepare_cached(&format!(
                "SELECT {COLUMNS} FROM pages p WHERE p.vault = ?1 AND p.path = ?2"
            ))?
            .query_row([vault, path], page)
            .optional()
        })
    }

    fn of_vault(&self, vault: &str) -> Result<Vec<PageRow>> {
        self.read(|db| {
            db.prepare_cached(&format!(
                "SELECT {COLUMNS} FROM pages p WHERE p.vault = ?1 ORDER BY p.path"
            ))?
            .query_map([vault], page)?
            .collect()
        })
    }

    fn with_content(&self, vault: &str, hashes: &[[u8; 32]]) -> Result<Vec<PageRow>> {
        self.read(|db| {
            let mut found = Vec::new();
            let mut query = db.prepare_cached(&format!(
                "SELECT {COLUMNS} FROM pages p WHERE p.hash = ?2 AND p.vault = ?1 LIMIT 100"
            ))?;
            for hash in hashes {
                for row in query.query_map(params![vault, hash], page)? {
                    found.push(row?);
                }
            }
            Ok(found)
        })
    }

    fn count_of(&self, vault: &str) -> Result<u64> {
        self.read(|db| {
            db.prepare_cached("SELECT count(*) FROM pages WHERE vault = ?1")?
                .query_row([vault], |row| row.get::<_, i64>(0))
                .map(|count| count as u64)
        })
    }

    fn list(&self, after: Option<Pid>, limit: usize, visible: &Visible) -> Result<Vec<PageRow>> {
        self.read(|db| {
            let mut query = db.prepare_cached(&format!(
                "SELECT {COLUMNS} FROM pages p WHERE p.pid > ?1 AND (p.free OR NOT ?2)
                 ORDER BY p.pid"
            ))?;
            let after = after.map_or(0, |pid| pid.0);
            let rows = query.query_map(params![after, visible.is_only_free()], page)?;
            let is_visible = |row: &rusqlite::Result<PageRow>| {
                row.as_ref().map_or(true, |row| visible.has_page(&row.facts.page))
            };
            rows.filter(is_visible).take(limit).collect()
        })
    }

    fn methods(&self) -> Result<Vec<PageRow>> {
        self.read(|db| {
            db.prepare_cached(&format!(
                "SELECT {COLUMNS} FROM pages p WHERE p.method IS NOT NULL ORDER BY p.vault, p.path"
            ))?
            .query_map([], page)?
            .collect()
        })
    }

    fn named(&self, file_name: &str) -> Result<Vec<PageRow>> {
        let ending = format!("/{file_name}");
        self.read(|db| {
            db.prepare_cached(&format!(
                "SELECT {COLUMNS} FROM pages p WHERE substr(p.path, -length(?1)) = ?1
                 ORDER BY p.vault, p.path"
            ))?
            .query_map([ending], page)?
            .collect()
        })
    }

    fn apply(&self, changes: &[PageChange]) -> Result<Synced> {
        if changes.is_empty() {
            return Ok(Synced::default());
        }
        self.refusable(|tx| apply(tx, changes))
    }

    fn set_skipped(
        &self,
        vault: &str,
        looked_at: Option<&[String]>,
        skipped: &[Skipped],
    ) -> Result<()> {
        let looked_at: Option<HashSet<&str>> =
            looked_at.map(|paths| paths.iter().map(String::as_str).collect());
        let concerned = |path: &str| looked_at.as_ref().is_none_or(|paths| paths.contains(path));
        let known: Vec<Skipped> = self.read(|db| {
            db.prepare_cached(&format!("SELECT {SKIPPED} FROM skipped WHERE vault = ?1"))?
                .query_map([vault], skipped_file)?
                .collect()
        })?;
        let mut known: Vec<Skipped> =
            known.into_iter().filter(|skipped| concerned(&skipped.path)).collect();
        let mut wanted = skipped.to_vec();
        known.sort();
        wanted.sort();
        wanted.dedup_by(|a, b| a.path == b.path);
        if known == wanted {
            return Ok(());
        }
        self.write(|tx| {
            if !is_registered(tx, vault)? {
                return Ok(());
            }
            let mut delete = tx.prepare("DELETE FROM skipped WHERE vault = ?1 AND path = ?2")?;
            for skipped in &known {
                delete.execute([vault, &skipped.path])?;
            }
            let mut insert = tx.prepare(&format!(
                "INSERT OR REPLACE INTO skipped ({SKIPPED}) VALUES (?1, ?2, ?3, ?4)"
            ))?;
            for skipped in &wanted {
                insert.execute([vault, &skipped.path, &skipped.kind, &skipped.reason])?;
            }
            Ok(())
        })
    }

    fn skipped(&self) -> Result<Vec<Skipped>> {
        self.read(|db| {
            db.prepare_cached(&format!("SELECT {SKIPPED} FROM skipped ORDER BY vault, path"))?
                .query_map([], skipped_file)?
                .collect()
        })
    }
}

/// Applies changes and logs them, in a transaction that may do more.
pub(super) fn apply(tx: &Transaction<'_>, changes: &[PageChange]) -> Result<Synced, Stop> {
    check_vaults(tx, changes)?;
    let mut synced = Synced::default();
    for change in changes {
        match change {
            PageChange::Put { pid: None, page } => {
                insert(tx, page)?;
                synced.new += 1;
            }
            PageChange::Put { pid: Some(pid), page } => {
                update(tx, *pid, page)?;
                synced.changed += 1;
            }
            PageChange::Touched { pid, size, mtime_ns } => {
                tx.prepare_cached("UPDATE pages SET size = ?2, mtime_ns = ?3 WHERE pid = ?1")?
                    .execute(params![pid.0, *size as i64, mtime_ns])?;
            }
            PageChange::Gone { pid, vault, path, as_of } => {
                if !stays(tx, *pid, (vault, path), *as_of)? {
                    remove(tx, *pid)?;
                    synced.gone += 1;
                }
            }
            PageChange::Readable { pid } => {
                log(tx, *pid)?;
                synced.changed += 1;
            }
        }
    }
    Ok(synced)
}

/// Refuses pages of vaults that are not registered.
fn check_vaults(tx: &Transaction<'_>, changes: &[PageChange]) -> Result<(), Stop> {
    for vault in vaults_of(changes) {
        if !is_registered(tx, vault)? {
            return Err(removed_vault(vault).into());
        }
    }
    Ok(())
}

fn is_registered(tx: &Transaction<'_>, vault: &str) -> rusqlite::Result<bool> {
    tx.prepare_cached("SELECT 1 FROM vaults WHERE name = ?1")?.exists([vault])
}

const SKIPPED: &str = "vault, path, kind, reason";

fn skipped_file(row: &Row<'_>) -> rusqlite::Result<Skipped> {
    Ok(Skipped { vault: row.get(0)?, path: row.get(1)?, kind: row.get(2)?, reason: row.get(3)? })
}

fn insert(tx: &Transaction<'_>, page: &NewPage) -> rusqlite::Result<()> {
    let key = page.key();
    let stamp = page.stamp();
    // The other half of a move: the same content went a moment, or a session, ago.
    if lookup(tx, Kind::Page, &key)?.is_none()
        && let Some(pid) = returning(tx, Kind::Page, &key, stamp)?
    {
        return update(tx, pid, page);
    }
    let (pid, logged) = put(tx, Kind::Page, &key, stamp)?;
    if !logged {
        log(tx, pid)?;
    }
    write(tx, pid, page)
}

fn update(tx: &Transaction<'_>, pid: Pid, page: &NewPage) -> rusqlite::Result<()> {
    rename(tx, pid, Kind::Page, &page.key())?;
    tx.prepare_cached("UPDATE items SET stamp = ?2 WHERE pid = ?1")?
        .execute(params![pid.0, page.stamp()])?;
    log(tx, pid)?;
    write(tx, pid, page)
}

fn write(tx: &Transaction<'_>, pid: Pid, page: &NewPage) -> rusqlite::Result<()> {
    // REPLACE: also takes the path from a page that moved away in the same batch.
    let facts = serde_json::to_string(&page.facts)
        .map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))?;
    tx.prepare_cached(
        "INSERT OR REPLACE INTO pages (pid, vault, path, size, mtime_ns, hash, free, method, facts)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
    )?
    .execute(params![
        pid.0,
        page.vault,
        page.path,
        page.size as i64,
        page.mtime_ns,
        page.hash,
        page.facts.page.free,
        page.facts.page.method,
        facts
    ])?;
    Ok(())
}

/// Whether a page is elsewhere by now, or was recorded after `as_of`.
fn stays(
    tx: &Transaction<'_>,
    pid: Pid,
    (vault, path): (&str, &str),
    as_of: Option<i64>,
) -> rusqlite::Result<bool> {
    tx.prepare_cached(
        "SELECT 1 FROM pages p LEFT JOIN changes c ON c.pid = p.pid
         WHERE p.pid = ?1 AND (p.vault <> ?2 OR p.path <> ?3 OR c.seq > ?4)",
    )?
    .exists(params![pid.0, vault, path, as_of])
}

fn remove(tx: &Transaction<'_>, pid: Pid) -> rusqlite::Result<()> {
    tx.prepare_cached("DELETE FROM pages WHERE pid = ?1")?.execute([pid.0])?;
    mark_gone(tx, pid)
}

/// `notes`, or `notes-2` when another folder has that name.
fn free_name(tx: &Transaction<'_>, wanted: &str) -> rusqlite::Result<String> {
    let mut name = wanted.to_owned();
    let mut number = 2;
    while tx
        .query_row("SELECT 1 FROM vaults WHERE name = ?1", [&name], |_| Ok(()))
        .optional()?
        .is_some()
    {
        name = format!("{wanted}-{number}");
        number += 1;
    }
    Ok(name)
}

fn vault(row: &Row<'_>) -> rusqlite::Result<VaultRow> {
    Ok(VaultRow {
        name: row.get(0)?,
        location: row.get(1)?,
        poll: row.get(2)?,
        seen: row.get::<_, Option<i64>>(3)?.map(Timestamp),
        problem: row.get::<_, Option<String>>(4)?.map(VaultProblem::from_column),
        authorship: Authorship::from_column(row.get(5)?),
    })
}

fn page(row: &Row<'_>) -> rusqlite::Result<PageRow> {
    let authorship = Authorship::from_column(row.get(7)?);
    let mut facts: Facts = serde_json::from_str(&row.get::<_, String>(6)?).map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(6, Type::Text, Box::new(error))
    })?;
    facts.page.author = authorship.author_of(facts.page.author.take());
    // Earlier versions kept `access` among the other fields.
    facts.page.members |= facts.page.extra.get("access").is_some_and(|value| value == "members");
    Ok(PageRow {
        pid: Pid(row.get(0)?),
        vault: row.get(1)?,
        path: row.get(2)?,
        size: row.get::<_, i64>(3)? as u64,
        mtime_ns: row.get(4)?,
        hash: row.get(5)?,
        facts,
        authorship,
    })
}
