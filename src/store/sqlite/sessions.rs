use rusqlite::{Row, params};

use super::{
    Sqlite,
    users::{self, HolderRows},
};
use crate::{
    domain::{Error, Result, Timestamp, UserId},
    store::{
        sessions::{NewSession, Session, Sessions},
        tokens::Holder,
    },
};

const COLUMNS: &str = "id, user, created, seen, expires, agent, address";

/// The longest name of a browser that is kept.
const AGENT_CHARS: usize = 200;

impl Sessions for Sqlite {
    fn open(&self, hash: &[u8; 32], new: &NewSession) -> Result<Session> {
        let now = Timestamp::now();
        let agent: String = new.agent.chars().take(AGENT_CHARS).collect();
        self.write(|tx| {
            if users::holder(tx, new.user)?.is_none() {
                return Ok(Err(Error::not_found("there is no such user; the account is removed")));
            }
            tx.execute(
                "INSERT INTO sessions (hash, user, created, seen, expires, agent, address)
                 VALUES (?1, ?2, ?3, ?3, ?4, ?5, ?6)",
                params![hash, new.user.0, now.0, new.expires.0, agent, new.address],
            )?;
            Ok(Ok(Session {
                id: tx.last_insert_rowid(),
                user: new.user,
                created: now,
                seen: now,
                expires: new.expires,
                agent: agent.clone(),
                address: new.address.clone(),
            }))
        })?
    }

    fn find(&self, hash: &[u8; 32], now: Timestamp) -> Result<Option<(Session, Holder)>> {
        self.read(|db| {
            let sql = format!(
                "SELECT s.id, s.user, s.created, s.seen, s.expires, s.agent, s.address, {}
                 FROM sessions s {} WHERE s.hash = ?1 AND s.expires > ?2",
                users::HOLDER,
                users::join_holder("s.user")
            );
            let mut statement = db.prepare_cached(&sql)?;
            let mut rows = statement.query(params![hash, now.0])?;
            let (mut found, mut holder) = (None, HolderRows::default());
            while let Some(row) = rows.next()? {
                if found.is_none() {
                    found = Some(session(row)?);
                }
                holder.add(row, 7)?;
            }
            let Some(session) = found else { return Ok(None) };
            Ok(holder.finish(session.user).map(|holder| (session, holder)))
        })
    }

    fn touch(&self, id: i64, seen: Timestamp, expires: Timestamp) -> Result<()> {
        self.write(|tx| {
            tx.execute(
                "UPDATE sessions SET seen = ?2, expires = ?3 WHERE id = ?1",
                params![id, seen.0, expires.0],
            )
        })?;
        Ok(())
    }

    fn of_user(&self, user: UserId, now: Timestamp) -> Result<Vec<Session>> {
        self.read(|db| {
            db.prepare_cached(&format!(
                "SELECT {COLUMNS} FROM sessions WHERE user = ?1 AND expires > ?2 ORDER BY id DESC"
            ))?
            .query_map(params![user.0, now.0], session)?
            .collect()
        })
    }

    fn end(&self, user: UserId, id: i64) -> Result<bool> {
        self.write(|tx| {
            tx.execute("DELETE FROM sessions WHERE user = ?1 AND id = ?2", params![user.0, id])
        })
        .map(|changed| changed == 1)
    }

    fn end_all(&self, user: UserId, except: Option<i64>) -> Result<usize> {
        self.write(|tx| {
            tx.execute(
                "DELETE FROM sessions WHERE user = ?1 AND id IS NOT ?2",
                params![user.0, except],
            )
        })
    }

    fn prune(&self, now: Timestamp) -> Result<usize> {
        self.write(|tx| tx.execute("DELETE FROM sessions WHERE expires <= ?1", [now.0]))
    }
}

fn session(row: &Row<'_>) -> rusqlite::Result<Session> {
    Ok(Session {
        id: row.get(0)?,
        user: UserId(row.get(1)?),
        created: Timestamp(row.get(2)?),
        seen: Timestamp(row.get(3)?),
        expires: Timestamp(row.get(4)?),
        agent: row.get(5)?,
        address: row.get(6)?,
    })
}
