use tokio_postgres::Row;

use super::{Postgres, fault::Fault, value};
use crate::{
    domain::{Result, Timestamp},
    store::reports::{ReportLine, Reports, StoredReport},
};

const COLUMNS: &str = "repo, commit_id, verified, score, verdict, report";

impl Reports for Postgres {
    fn put(&self, report: &StoredReport) -> Result<()> {
        self.write(|tx| {
            tx.execute(
                "INSERT INTO reports (repo, commit_id, verified, score, verdict, report)
                 VALUES ($1, $2, $3, $4, $5, $6)
                 ON CONFLICT (lib, repo, commit_id) DO UPDATE SET
                    verified = excluded.verified, score = excluded.score,
                    verdict = excluded.verdict, report = excluded.report",
                &[
                    &report.repo,
                    &report.commit,
                    &report.verified.0,
                    &i64::from(report.score),
                    &report.verdict,
                    &report.json,
                ],
            )
        })
        .map(drop)
    }

    fn newest(&self, repo: &str) -> Result<Option<StoredReport>> {
        self.read(|db| {
            let sql = format!(
                "SELECT {COLUMNS} FROM reports WHERE repo = $1
                 ORDER BY verified DESC, commit_id DESC LIMIT 1"
            );
            db.query_opt(&sql, &[&repo])?.as_ref().map(stored).transpose()
        })
    }

    fn of_commit(&self, repo: &str, commit: &str) -> Result<Option<StoredReport>> {
        self.read(|db| {
            let sql = format!("SELECT {COLUMNS} FROM reports WHERE repo = $1 AND commit_id = $2");
            db.query_opt(&sql, &[&repo, &commit])?.as_ref().map(stored).transpose()
        })
    }

    fn list(&self, repo: Option<&str>, offset: usize, limit: usize) -> Result<Vec<ReportLine>> {
        self.read(|db| {
            db.query(
                "SELECT repo, commit_id, verified, score, verdict FROM reports r
                 WHERE repo = $1::text OR ($1::text IS NULL AND commit_id = (
                     SELECT n.commit_id FROM reports n WHERE n.repo = r.repo
                     ORDER BY n.verified DESC, n.commit_id DESC LIMIT 1))
                 ORDER BY verified DESC, commit_id DESC LIMIT $3 OFFSET $2",
                &[&repo, &value::limit(offset), &value::limit(limit)],
            )?
            .iter()
            .map(|row| {
                Ok(ReportLine {
                    repo: row.try_get(0)?,
                    commit: row.try_get(1)?,
                    verified: Timestamp(row.try_get(2)?),
                    score: u8::try_from(row.try_get::<_, i64>(3)?).unwrap_or(u8::MAX),
                    verdict: row.try_get(4)?,
                })
            })
            .collect()
        })
    }
}

fn stored(row: &Row) -> Result<StoredReport, Fault> {
    Ok(StoredReport {
        repo: row.try_get(0)?,
        commit: row.try_get(1)?,
        verified: Timestamp(row.try_get(2)?),
        score: u8::try_from(row.try_get::<_, i64>(3)?).unwrap_or(u8::MAX),
        verdict: row.try_get(4)?,
        json: row.try_get(5)?,
    })
}
