use rusqlite::{OptionalExtension, Row, params};

use super::Sqlite;
use crate::{
    domain::{Result, Timestamp},
    store::reports::{ReportLine, Reports, StoredReport},
};

impl Reports for Sqlite {
    fn put(&self, report: &StoredReport) -> Result<()> {
        self.write(|tx| {
            tx.execute(
                "INSERT INTO reports (repo, commit_id, verified, score, verdict, report)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)
                 ON CONFLICT (repo, commit_id) DO UPDATE SET
                    verified = excluded.verified, score = excluded.score,
                    verdict = excluded.verdict, report = excluded.report",
                params![
                    report.repo,
                    report.commit,
                    report.verified.0,
                    report.score,
                    report.verdict,
                    report.json
                ],
            )
        })
        .map(drop)
    }

    fn newest(&self, repo: &str) -> Result<Option<StoredReport>> {
        self.read(|db| {
            db.prepare_cached(
                "SELECT repo, commit_id, verified, score, verdict, report FROM reports
                 WHERE repo = ?1 ORDER BY verified DESC, rowid DESC LIMIT 1",
            )?
            .query_row([repo], stored)
            .optional()
        })
    }

    fn of_commit(&self, repo: &str, commit: &str) -> Result<Option<StoredReport>> {
        self.read(|db| {
            db.prepare_cached(
                "SELECT repo, commit_id, verified, score, verdict, report FROM reports
                 WHERE repo = ?1 AND commit_id = ?2",
            )?
            .query_row([repo, commit], stored)
            .optional()
        })
    }

    fn list(&self, repo: Option<&str>, offset: usize, limit: usize) -> Result<Vec<ReportLine>> {
        let number = |number| i64::try_from(number).unwrap_or(i64::MAX);
        self.read(|db| {
            db.prepare_cached(
                "SELECT repo, commit_id, verified, score, verdict FROM reports r
                 WHERE repo = ?1 OR (?1 IS NULL AND rowid = (
                     SELECT rowid FROM reports WHERE repo = r.repo
                     ORDER BY verified DESC, rowid DESC LIMIT 1))
                 ORDER BY verified DESC, rowid DESC LIMIT ?3 OFFSET ?2",
            )?
            .query_map(params![repo, number(offset), number(limit)], |row| {
                Ok(ReportLine {
                    repo: row.get(0)?,
                    commit: row.get(1)?,
                    verified: Timestamp(row.get(2)?),
                    score: row.get(3)?,
                    verdict: row.get(4)?,
                })
            })?
            .collect()
        })
    }
}

fn stored(row: &Row<'_>) -> rusqlite::Result<StoredReport> {
    Ok(StoredReport {
        repo: row.get(0)?,
        commit: row.get(1)?,
        verified: Timestamp(row.get(2)?),
        score: row.get(3)?,
        verdict: row.get(4)?,
        json: row.get(5)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_report_for_each_commit_and_the_newest_first() {
        let dir = tempfile::tempdir().unwrap();
        let database = Sqlite::open(&dir.path().join("notewell.db")).unwrap();
        let report = |commit: &str, verified, score| StoredReport {
            repo: "https://github.com/a/b".into(),
            commit: commit.into(),
            verified: Timestamp(verified),
            score,
            verdict: "SAFE".into(),
            json: "{}".into(),
        };
        assert_eq!(database.newest("https://github.com/a/b").unwrap(), None);
        for one in [report("c1", 1, 70), report("c2", 3, 80), report("c1", 2, 75)] {
            database.put(&one).unwrap();
        }
        assert_eq!(database.newest("https://github.com/a/b").unwrap(), Some(report("c2", 3, 80)));
        let first = database.of_commit("https://github.com/a/b", "c1").unwrap();
        assert_eq!(first, Some(report("c1", 2, 75)));
        assert_eq!(database.newest("https://github.com/a/c").unwrap(), None);
        database
            .put(&StoredReport { repo: "https://github.com/a/c".into(), ..report("d1", 2, 9) })
            .unwrap();
        let listed = |repo, offset, limit| -> Vec<(String, String)> {
            let lines = database.list(repo, offset, limit).unwrap();
            lines.into_iter().map(|line| (line.repo, line.commit)).collect()
        };
        let line =
            |repo: &str, commit: &str| (format!("https://github.com/a/{repo}"), commit.into());
        assert_eq!(listed(None, 0, 9), [line("b", "c2"), line("c", "d1")]);
        assert_eq!(listed(None, 1, 1), [line("c", "d1")]);
        let of_one = listed(Some("https://github.com/a/b"), 0, 9);
        assert_eq!(of_one, [line("b", "c2"), line("b", "c1")]);
    }
}
