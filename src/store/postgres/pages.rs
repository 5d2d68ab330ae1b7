use std::collections::HashSet;

use tokio_postgres::Row;

use super::{
    Postgres,
    fault::Fault,
    items::{log, lookup, mark_gone, put, rename, returning},
    transaction::Transaction,
};
use crate::{
    domain::{Error, Kind, Pid, Result, Timestamp, Visible},
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
/// Pages that one statement of a list returns at most.
const BATCH: usize = 2000;

impl Pages for Postgres {
    fn vaults(&self) -> Result<Vec<VaultRow>> {
        self.read(|db| {
            db.query(&format!("SELECT {VAULT} FROM vaults ORDER BY name"), &[])?
                .iter()
                .map(vault)
                .collect()
        })
    }

    fn add_vault(&self, name: &str, location: &str, poll: bool) -> Result<VaultRow> {
        let select = format!("SELECT {VAULT} FROM vaults WHERE root = $1");
        // Nothing is written when nothing changes: a store that is away or read-only must not
        // stop a search.
        let known =
            self.read(|db| db.query_opt(&select, &[&location])?.as_ref().map(vault).transpose())?;
        if let Some(known) = known.filter(|known| known.poll == poll) {
            return Ok(known);
        }
        self.write(|tx| {
            let known = tx.query_opt("SELECT name FROM vaults WHERE root = $1", &[&location])?;
            match known {
                Some(_) => {
                    tx.execute("UPDATE vaults SET poll = $2 WHERE root = $1", &[&location, &poll])?
                }
                None => {
                    let name = free_name(tx, name)?;
                    tx.execute(
                        "INSERT INTO vaults (name, root, poll) VALUES ($1, $2, $3)",
                        &[&name, &location, &poll],
                    )?
                }
            };
            vault(&tx.query_one(&select, &[&location])?)
        })
    }

    fn move_vault(&self, name: &str, location: &str) -> Result<()> {
        self.write(|tx| {
            tx.execute("UPDATE vaults SET root = $2 WHERE name = $1", &[&name, &location]).map(drop)
        })
    }

    fn remove_vault(&self, name: &str) -> Result<bool> {
        self.write(|tx| {
            let pids = tx.query("SELECT pid FROM pages WHERE vault = $1 ORDER BY pid", &[&name])?;
            for row in &pids {
                remove(tx, Pid(row.try_get(0)?))?;
            }
            tx.execute("DELETE FROM skipped WHERE vault = $1", &[&name])?;
            Ok(tx.execute("DELETE FROM vaults WHERE name = $1", &[&name])? == 1)
        })
    }

    fn set_authorship(&self, vault: &str, authorship: &Authorship) -> Result<()> {
        let author = authorship.to_column();
        if self.vault_has(vault, "author", author)? {
            return Ok(());
        }
        self.write(|tx| {
            tx.execute("UPDATE vaults SET author = $2 WHERE name = $1", &[&vault, &author])?;
            let pids =
                tx.query("SELECT pid FROM pages WHERE vault = $1 ORDER BY pid", &[&vault])?;
            pids.iter().try_for_each(|row| log(tx, Pid(row.try_get(0)?)))
        })
    }

    fn mark_seen(&self, vault: &str, when: Timestamp) -> Result<()> {
        self.write(|tx| {
            tx.execute("UPDATE vaults SET seen = $2 WHERE name = $1", &[&vault, &when.0])
        })?;
        Ok(())
    }

    fn set_problem(&self, vault: &str, problem: Option<&VaultProblem>) -> Result<()> {
        let text = problem.map(VaultProblem::to_column);
        if self.vault_has(vault, "problem", text)? {
            return Ok(());
        }
        self.write(|tx| {
            tx.execute("UPDATE vaults SET problem = $2 WHERE name = $1", &[&vault, &text])
        })?;
        Ok(())
    }

    fn get(&self, pid: Pid) -> Result<Option<PageRow>> {
        self.read(|db| {
            let row = db
                .query_opt(&format!("SELECT {COLUMNS} FROM pages p WHERE p.pid = $1"), &[&pid.0])?;
            row.as_ref().map(page).transpose()
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
        // No page has such a path, and the server would refuse to compare it.
        if vault.contains('\0') || path.contains('\0') {
            return Ok(None);
        }
        self.read(|db| {
            let row = db.query_opt(
                &format!("SELECT {COLUMNS} FROM pages p WHERE p.vault = $1 AND p.path = $2"),
                &[&vault, &path],
            )?;
            row.as_ref().map(page).transpose()
        })
    }

    fn of_vault(&self, vault: &str) -> Result<Vec<PageRow>> {
        self.read(|db| {
            db.query(
                &format!("SELECT {COLUMNS} FROM pages p WHERE p.vault = $1 ORDER BY p.path"),
                &[&vault],
            )?
            .iter()
            .map(page)
            .collect()
        })
    }

    fn with_content(&self, vault: &str, hashes: &[[u8; 32]]) -> Result<Vec<PageRow>> {
        let hashes: Vec<&[u8]> = hashes.iter().map(<[u8; 32]>::as_slice).collect();
        self.read(|db| {
            db.query(
                &format!(
                    "SELECT {COLUMNS} FROM unnest($2::bytea[]) WITH ORDINALITY AS h (hash, place),
                     LATERAL (SELECT * FROM pages q
                         WHERE q.hash = h.hash AND q.vault = $1 LIMIT 100) p
                     ORDER BY h.place, p.pid"
                ),
                &[&vault, &hashes],
            )?
            .iter()
            .map(page)
            .collect()
        })
    }

    fn count_of(&self, vault: &str) -> Result<u64> {
        self.read(|db| {
            let row = db.query_one("SELECT count(*) FROM pages WHERE vault = $1", &[&vault])?;
            Ok(row.try_get::<_, i64>(0)? as u64)
        })
    }

    fn list(&self, after: Option<Pid>, limit: usize, visible: &Visible) -> Result<Vec<PageRow>> {
        self.read(|db| {
            let mut after = after.map_or(0, |pid| pid.0);
            let mut listed = Vec::new();
            while listed.len() < limit {
                let rows = db.query(
                    &format!(
                        "SELECT {COLUMNS} FROM pages p WHERE p.pid > $1 AND (p.free OR NOT $2)
                         ORDER BY p.pid LIMIT $3"
                    ),
                    &[&after, &visible.is_only_free(), &(BATCH as i64)],
                )?;
                for row in &rows {
                    let row = page(row)?;
                    after = row.pid.0;
                    if visible.has_page(&row.facts.page) && listed.len() < limit {
                        listed.push(row);
                    }
                }
                if rows.len() < BATCH {
                    break;
                }
            }
            Ok(listed)
        })
    }

    fn methods(&self) -> Result<Vec<PageRow>> {
        self.read(|db| {
            db.query(
                &format!(
                    "SELECT {COLUMNS} FROM pages p WHERE p.method IS NOT NULL
                     ORDER BY p.vault, p.path"
                ),
                &[],
            )?
            .iter()
            .map(page)
            .collect()
        })
    }

    fn named(&self, file_name: &str) -> Result<Vec<PageRow>> {
        let ending = format!("/{file_name}");
        self.read(|db| {
            let sql = format!(
                "SELECT {COLUMNS} FROM pages p WHERE right(p.path, length($1)) = $1
                 ORDER BY p.vault, p.path"
            );
            db.query(&sql, &[&ending])?.iter().map(page).collect()
        })
    }

    fn apply(&self, changes: &[PageChange]) -> Result<Synced> {
        if changes.is_empty() {
            return Ok(Synced::default());
        }
        self.write(|tx| apply(tx, changes))
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
            db.query(&format!("SELECT {SKIPPED} FROM skipped WHERE vault = $1"), &[&vault])?
                .iter()
                .map(skipped_file)
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
            for skipped in &known {
                tx.execute(
                    "DELETE FROM skipped WHERE vault = $1 AND path = $2",
                    &[&vault, &skipped.path],
                )?;
            }
            for skipped in &wanted {
                tx.execute(
                    &format!(
                        "INSERT INTO skipped ({SKIPPED}) VALUES ($1, $2, $3, $4)
                         ON CONFLICT (lib, vault, path)
                         DO UPDATE SET kind = excluded.kind, reason = excluded.reason"
                    ),
                    &[&vault, &skipped.path, &skipped.kind, &skipped.reason],
                )?;
            }
            Ok(())
        })
    }

    fn skipped(&self) -> Result<Vec<Skipped>> {
        self.read(|db| {
            db.query(&format!("SELECT {SKIPPED} FROM skipped ORDER BY vault, path"), &[])?
                .iter()
                .map(skipped_file)
                .collect()
        })
    }
}

impl Postgres {
    /// Whether a column of a vault has this value, or there is no such vault.
    fn vault_has(&self, vault: &str, column: &str, value: Option<&str>) -> Result<bool> {
        self.read(|db| {
            let select = format!("SELECT {column} FROM vaults WHERE name = $1");
            let Some(row) = db.query_opt(&select, &[&vault])? else { return Ok(true) };
            Ok(row.try_get::<_, Option<String>>(0)?.as_deref() == value)
        })
    }
}

const SKIPPED: &str = "vault, path, kind, reason";

fn skipped_file(row: &Row) -> Result<Skipped, Fault> {
    Ok(Skipped {
        vault: row.try_get(0)?,
        path: row.try_get(1)?,
        kind: row.try_get(2)?,
        reason: row.try_get(3)?,
    })
}

/// Applies changes in a transaction.
pub(super) fn apply(tx: &mut Transaction<'_>, changes: &[PageChange]) -> Result<Synced, Fault> {
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
                tx.execute(
                    "UPDATE pages SET size = $2, mtime_ns = $3 WHERE pid = $1",
                    &[&pid.0, &(*size as i64), mtime_ns],
                )?;
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
fn check_vaults(tx: &mut Transaction<'_>, changes: &[PageChange]) -> Result<(), Fault> {
    for vault in vaults_of(changes) {
        if !is_registered(tx, vault)? {
            return Err(removed_vault(vault).into());
        }
    }
    Ok(())
}

fn is_registered(tx: &mut Transaction<'_>, vault: &str) -> Result<bool, Fault> {
    Ok(tx.query_opt("SELECT 1 FROM vaults WHERE name = $1", &[&vault])?.is_some())
}

fn insert(tx: &mut Transaction<'_>, page: &NewPage) -> Result<(), Fault> {
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

fn update(tx: &mut Transaction<'_>, pid: Pid, page: &NewPage) -> Result<(), Fault> {
    rename(tx, pid, Kind::Page, &page.key())?;
    tx.execute("UPDATE items SET stamp = $2 WHERE pid = $1", &[&pid.0, &page.stamp()])?;
    log(tx, pid)?;
    write(tx, pid, page)
}

fn write(tx: &mut Transaction<'_>, pid: Pid, page: &NewPage) -> Result<(), Fault> {
    let facts = serde_json::to_string(&page.facts)
        .map_err(|error| Error::internal(format!("could not write what a page says: {error}")))?;
    // Takes the path from a page that moved away in the same batch.
    tx.execute(
        "DELETE FROM pages WHERE vault = $1 AND path = $2 AND pid <> $3",
        &[&page.vault, &page.path, &pid.0],
    )?;
    tx.execute(
        "INSERT INTO pages (pid, vault, path, size, mtime_ns, hash, free, method, facts)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
         ON CONFLICT (lib, pid) DO UPDATE SET vault = excluded.vault, path = excluded.path,
             size = excluded.size, mtime_ns = excluded.mtime_ns, hash = excluded.hash,
             free = excluded.free, method = excluded.method, facts = excluded.facts",
        &[
            &pid.0,
            &page.vault,
            &page.path,
            &(page.size as i64),
            &page.mtime_ns,
            &page.hash.as_slice(),
            &page.facts.page.free,
            &page.facts.page.method,
            &facts,
        ],
    )?;
    Ok(())
}

/// Whether a page is elsewhere by now, or was recorded after `as_of`.
fn stays(
    tx: &mut Transaction<'_>,
    pid: Pid,
    (vault, path): (&str, &str),
    as_of: Option<i64>,
) -> Result<bool, Fault> {
    let select = "SELECT 1 FROM pages p LEFT JOIN changes c ON c.pid = p.pid
         WHERE p.pid = $1 AND (p.vault <> $2 OR p.path <> $3 OR c.seq > $4)";
    Ok(tx.query_opt(select, &[&pid.0, &vault, &path, &as_of])?.is_some())
}

fn remove(tx: &mut Transaction<'_>, pid: Pid) -> Result<(), Fault> {
    tx.execute("DELETE FROM pages WHERE pid = $1", &[&pid.0])?;
    mark_gone(tx, pid)
}

/// `notes`, or `notes-2` when another folder has that name.
fn free_name(tx: &mut Transaction<'_>, wanted: &str) -> Result<String, Fault> {
    let mut name = wanted.to_owned();
    let mut number = 2;
    while tx.query_opt("SELECT 1 FROM vaults WHERE name = $1", &[&name])?.is_some() {
        name = format!("{wanted}-{number}");
        number += 1;
    }
    Ok(name)
}

fn vault(row: &Row) -> Result<VaultRow, Fault> {
    Ok(VaultRow {
        name: row.try_get(0)?,
        location: row.try_get(1)?,
        poll: row.try_get(2)?,
        seen: row.try_get::<_, Option<i64>>(3)?.map(Timestamp),
        problem: row.try_get::<_, Option<String>>(4)?.map(VaultProblem::from_column),
        authorship: Authorship::from_column(row.try_get(5)?),
    })
}

fn page(row: &Row) -> Result<PageRow, Fault> {
    let authorship = Authorship::from_column(row.try_get(7)?);
    let damaged = |what: &str| {
        Error::damaged(format!(
            "{what} of a page in the store cannot be read; read the vault again with `notewell vault rescan`"
        ))
    };
    let mut facts: Facts = serde_json::from_str(row.try_get(6)?)
        .map_err(|error| damaged("the facts").with_source(error))?;
    facts.page.author = authorship.author_of(facts.page.author.take());
    // Earlier versions kept `access` among the other fields.
    facts.page.members |= facts.page.extra.get("access").is_some_and(|value| value == "members");
    Ok(PageRow {
        pid: Pid(row.try_get(0)?),
        vault: row.try_get(1)?,
        path: row.try_get(2)?,
        size: row.try_get::<_, i64>(3)? as u64,
        mtime_ns: row.try_get(4)?,
        hash: row.try_get::<_, &[u8]>(5)?.try_into().map_err(|_| damaged("the hash"))?,
        facts,
        authorship,
    })
}
