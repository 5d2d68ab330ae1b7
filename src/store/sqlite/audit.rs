use rusqlite::{Row, params};

use super::Sqlite;
use crate::{
    domain::{Result, Timestamp},
    store::audit::{Audit, AuditEntry, NewAuditEntry},
};

/// The longest name, subject and address that is kept.
const CHARS: usize = 100;

impl Audit for Sqlite {
    fn record(&self, entry: &NewAuditEntry, most: u64) -> Result<()> {
        let cut = |text: &str| text.chars().take(CHARS).collect::<String>();
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        self.write(|tx| {
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
            tx.execute("DELETE FROM audit WHERE id <= ?1", [oldest])
        })?;
        Ok(())
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
