use rusqlite::{Row, Transaction, params};

use super::Sqlite;
use crate::{
    domain::{Result, Timestamp},
    store::audit::{Audit, AuditEntry, NewAuditEntry, write_awaited},
};

/// The longest name, subject and address that is kept.
const CHARS: usize = 100;

impl Audit for Sqlite {
    fn record(&self, entry: &NewAuditEntry, most: u64) -> Result<()> {
        self.write(|tx| insert(tx, entry, most))
    }

    fn entries(
        &self,
        before: Option<i64>,
        who: Option<&str>,
        limit: usize,
    ) -> Result<Vec<AuditEntry>> {
        self.read(|db| {
            db.prepare_cached(
                "SELECT id, at, who, action, subject, address, outcome FROM audit
                 WHERE id < ?1 AND (?2 IS NULL OR who = ?2 OR subject = ?2)
                 ORDER BY id DESC LIMIT ?3",
            )?
            .query_map(
                params![before.unwrap_or(i64::MAX), who, i64::try_from(limit).unwrap_or(i64::MAX)],
                entry,
            )?
            .collect()
        })
    }
}

/// Writes the entry about the change that this transaction makes, where one is awaited.
pub(super) fn along(tx: &Transaction<'_>) -> rusqlite::Result<()> {
    write_awaited(|entry, most| insert(tx, entry, most))
}

/// The same for a change of at most one row; whether there was one.
pub(super) fn recorded(tx: &Transaction<'_>, rows: usize) -> rusqlite::Result<bool> {
    if rows > 0 {
        along(tx)?;
    }
    Ok(rows > 0)
}

fn insert(tx: &Transaction<'_>, entry: &NewAuditEntry, most: u64) -> rusqlite::Result<()> {
    let cut = |text: &str| text.chars().take(CHARS).collect::<String>();
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    tx.execute(
        "INSERT INTO audit (at, who, action, subject, address, outcome)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        params![
            Timestamp::now().0,
            cut(&entry.who),
            entry.action,
            cut(&entry.subject),
            cut(&entry.address),
            entry.outcome
        ],
    )?;
    // Numbers rise by one, so that the oldest to keep is known without counting.
    let oldest = tx.last_insert_rowid().saturating_sub(most);
    tx.execute("DELETE FROM audit WHERE id <= ?1", [oldest]).map(drop)
}

fn entry(row: &Row<'_>) -> rusqlite::Result<AuditEntry> {
    Ok(AuditEntry {
        id: row.get(0)?,
        at: Timestamp(row.get(1)?),
        who: row.get(2)?,
        action: row.get(3)?,
        subject: row.get(4)?,
        address: row.get(5)?,
        outcome: row.get(6)?,
    })
}
