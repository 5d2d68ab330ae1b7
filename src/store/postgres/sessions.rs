use tokio_postgres::Row;

use super::{Postgres, fault::Fault, users};
use crate::{
    domain::{Result, Timestamp, UserId},
    store::{
        sessions::{NewSession, Session, Sessions},
        tokens::Holder,
    },
};

const COLUMNS: &str = r#"s.id, s."user", s.created, s.seen, s.expires, s.agent, s.address"#;

/// The longest name of a browser that is kept.
const AGENT_CHARS: usize = 200;

impl Sessions for Postgres {
    fn open(&self, hash: &[u8; 32], new: &NewSession) -> Result<Session> {
        let now = Timestamp::now();
        let agent: String = new.agent.chars().take(AGENT_CHARS).collect();
        self.write(|tx| {
            users::require_live(tx, new.user)?;
            let row = tx.query_one(
                r#"INSERT INTO sessions (hash, "user", created, seen, expires, agent, address)
                   VALUES ($1, $2, $3, $3, $4, $5, $6) RETURNING id"#,
                &[&hash.as_slice(), &new.user.0, &now.0, &new.expires.0, &agent, &new.address],
            )?;
            Ok(Session {
                id: row.try_get(0)?,
                user: new.user,
                created: now,
                seen: now,
                expires: new.expires,
                agent: agent.clone(),
                address: new.address.clone(),
            })
        })
    }

    fn find(&self, hash: &[u8; 32], now: Timestamp) -> Result<Option<(Session, Holder)>> {
        self.read(|db| {
            let sql = format!(
                r#"SELECT {COLUMNS}, {} FROM sessions s {}
                   WHERE s.hash = $1 AND s.expires > $2 ORDER BY g.id"#,
                users::HOLDER,
                users::join_holder(r#"s."user""#)
            );
            let rows = db.query(&sql, &[&hash.as_slice(), &now.0])?;
            let Some(row) = rows.first() else { return Ok(None) };
            let session = session(row)?;
            Ok(users::holder(&rows, session.user, 7)?.map(|holder| (session, holder)))
        })
    }

    fn touch(&self, id: i64, seen: Timestamp, expires: Timestamp) -> Result<()> {
        self.write(|tx| {
            tx.execute(
                "UPDATE sessions SET seen = $2, expires = $3 WHERE id = $1",
                &[&id, &seen.0, &expires.0],
            )
        })
        .map(drop)
    }

    fn of_user(&self, user: UserId, now: Timestamp) -> Result<Vec<Session>> {
        self.read(|db| {
            let sql = format!(
                r#"SELECT {COLUMNS} FROM sessions s
                   WHERE s."user" = $1 AND s.expires > $2 ORDER BY s.id DESC"#
            );
            db.query(&sql, &[&user.0, &now.0])?.iter().map(session).collect()
        })
    }

    fn end(&self, user: UserId, id: i64) -> Result<bool> {
        self.write(|tx| {
            let ended = tx.execute(
                r#"DELETE FROM sessions WHERE "user" = $1 AND id = $2"#,
                &[&user.0, &id],
            )?;
            Ok(ended == 1)
        })
    }

    fn end_all(&self, user: UserId, except: Option<i64>) -> Result<usize> {
        self.write(|tx| {
            let ended = tx.execute(
                r#"DELETE FROM sessions WHERE "user" = $1 AND id IS DISTINCT FROM $2"#,
                &[&user.0, &except],
            )?;
            Ok(ended as usize)
        })
    }

    fn prune(&self, now: Timestamp) -> Result<usize> {
        self.write(|tx| {
            Ok(tx.execute("DELETE FROM sessions WHERE expires <= $1", &[&now.0])? as usize)
        })
    }
}

fn session(row: &Row) -> Result<Session, Fault> {
    Ok(Session {
        id: row.try_get(0)?,
        user: UserId(row.try_get(1)?),
        created: Timestamp(row.try_get(2)?),
        seen: Timestamp(row.try_get(3)?),
        expires: Timestamp(row.try_get(4)?),
        agent: row.try_get(5)?,
        address: row.try_get(6)?,
    })
}
