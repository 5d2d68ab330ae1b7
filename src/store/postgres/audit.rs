use tokio_postgres::Row;

use super::{Postgres, fault::Fault, transaction::Transaction, value};
use crate::{
    domain::{Result, Timestamp},
    store::audit::{Audit, AuditEntry, NewAuditEntry, write_awaited},
};

/// The longest name, subject and address that is kept.
const CHARS: usize = 100;

impl Audit for Postgres {
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
            db.query(
                "SELECT id, at, who, action, subject, address, outcome FROM audit
                 WHERE id < $1 AND ($2::text IS NULL OR who = $2 OR subject = $2)
                 ORDER BY id DESC LIMIT $3",
                &[&before.unwrap_or(i64::MAX), &who, &value::limit(limit)],
            )?
            .iter()
            .map(entry)
            .collect()
        })
    }
}

/// Writes the entry about the change that this transaction makes, where one is awaited.
pub(super) fn along(tx: &mut Transaction<'_>) -> Result<(), Fault> {
    write_awaited(|entry, most| insert(tx, entry, most))
}

/// The same for a change of at most one row; whether there was one.
pub(super) fn recorded(tx: &mut Transaction<'_>, rows: u64) -> Result<bool, Fault> {
    if rows > 0 {
        along(tx)?;
    }
    Ok(rows > 0)
}

fn insert(tx: &mut Transaction<'_>, entry: &NewAuditEntry, most: u64) -> Result<(), Fault> {
    // PostgreSQL keeps no NUL in a text; a refusal would lose the entry.
    let cut = |text: &str| text.replace('\0', "").chars().take(CHARS).collect::<String>();
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    let row = tx.query_one(
        "INSERT INTO audit (at, who, action, subject, address, outcome)
         VALUES ($1, $2, $3, $4, $5, $6) RETURNING id",
        &[
            &Timestamp::now().0,
            &cut(&entry.who),
            &entry.action,
            &cut(&entry.subject),
            &cut(&entry.address),
            &entry.outcome,
        ],
    )?;
    // Numbers rise by one, so that the oldest to keep is known without counting.
    let oldest = row.try_get::<_, i64>(0)?.saturating_sub(most);
    tx.execute("DELETE FROM audit WHERE id <= $1", &[&oldest])?;
    Ok(())
}

fn entry(row: &Row) -> Result<AuditEntry, Fault> {
    Ok(AuditEntry {
        id: row.try_get(0)?,
        at: Timestamp(row.try_get(1)?),
        who: row.try_get(2)?,
        action: row.try_get(3)?,
        subject: row.try_get(4)?,
        address: row.try_get(5)?,
        outcome: row.try_get(6)?,
    })
}
