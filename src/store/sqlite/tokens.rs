use rusqlite::{Row, params, types::Type};

use super::{
    Sqlite, audit,
    users::{self, HolderRows},
};
use crate::{
    domain::{Error, Result, Scope, Scopes, Timestamp, UserId},
    store::tokens::{Credential, NewToken, Power, Token, Tokens},
};

const COLUMNS: &str = "t.id, t.name, t.scope, t.user, t.scopes, t.audience, t.connection, t.created, t.expires, t.revoked";

/// What `scope` says of a token that belongs to a user.
const OF_USER: &str = "user";

impl Tokens for Sqlite {
    fn create(&self, token: &NewToken, hash: &[u8; 32]) -> Result<Token> {
        let created = Timestamp::now();
        let (scope, user, scopes) = match token.power {
            Power::Scope(scope) => (scope.as_str(), None, String::new()),
            Power::User(user, scopes) => (OF_USER, Some(user.0), scopes.to_string()),
        };
        self.write(|tx| {
            tx.execute(
                "INSERT INTO tokens (name, scope, user, scopes, audience, connection, hash, created, expires)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
                params![
                    token.name,
                    scope,
                    user,
                    scopes,
                    token.audience,
                    token.connection,
                    hash,
                    created.0,
                    token.expires.map(|at| at.0)
                ],
            )?;
            let id = tx.last_insert_rowid();
            audit::along(tx)?;
            Ok(Token {
                id,
                name: token.name.clone(),
                power: token.power,
                audience: token.audience.clone(),
                connection: token.connection,
                created,
                expires: token.expires,
                revoked: None,
            })
        })
    }

    fn find(&self, hash: &[u8; 32]) -> Result<Option<Credential>> {
        self.read(|db| {
            let sql = format!(
                "SELECT {COLUMNS}, {} FROM tokens t {} WHERE t.hash = ?1",
                users::HOLDER,
                users::join_holder("t.user")
            );
            let mut statement = db.prepare_cached(&sql)?;
            let mut rows = statement.query([hash])?;
            let (mut found, mut holder) = (None, HolderRows::default());
            while let Some(row) = rows.next()? {
                if found.is_none() {
                    found = Some(token(row)?);
                }
                holder.add(row, 10)?;
            }
            let Some(token) = found else { return Ok(None) };
            let holder = match token.power {
                Power::Scope(_) => None,
                Power::User(user, _) => holder.finish(user),
            };
            Ok(Some(Credential { token, holder }))
        })
    }

    fn all(&self) -> Result<Vec<Token>> {
        self.read(|db| {
            db.prepare_cached(&format!(
                "SELECT {COLUMNS} FROM tokens t WHERE t.connection IS NULL ORDER BY t.id"
            ))?
            .query_map([], token)?
            .collect()
        })
    }

    fn valid(&self, ids: &[i64], now: Timestamp) -> Result<Vec<i64>> {
        let ids = serde_json::to_string(ids).unwrap_or_default();
        self.read(|db| {
            db.prepare_cached(
                "SELECT t.id FROM tokens t LEFT JOIN users u ON u.id = t.user
                 WHERE t.id IN (SELECT value FROM json_each(?1)) AND t.revoked IS NULL
                   AND (t.expires IS NULL OR t.expires > ?2)
                   AND (t.user IS NULL OR u.removed IS NULL)",
            )?
            .query_map(params![ids, now.0], |row| row.get(0))?
            .collect()
        })
    }

    fn revoke(&self, id: i64) -> Result<bool> {
        self.write(|tx| {
            let changed = tx.execute(
                "UPDATE tokens SET revoked = ?2 WHERE id = ?1 AND revoked IS NULL",
                params![id, Timestamp::now().0],
            )?;
            audit::recorded(tx, changed)
        })
    }
}

fn token(row: &Row<'_>) -> rusqlite::Result<Token> {
    let wrong = |column| {
        move |error: Error| {
            rusqlite::Error::FromSqlConversionFailure(column, Type::Text, Box::new(error))
        }
    };
    let (scope, user): (String, Option<i64>) = (row.get(2)?, row.get(3)?);
    let power = match user {
        Some(user) => {
            let scopes: String = row.get(4)?;
            Power::User(UserId(user), Scopes::parse(&scopes).map_err(wrong(4))?)
        }
        None => Power::Scope(scope.parse::<Scope>().map_err(wrong(2))?),
    };
    Ok(Token {
        id: row.get(0)?,
        name: row.get(1)?,
        power,
        audience: row.get(5)?,
        connection: row.get(6)?,
        created: Timestamp(row.get(7)?),
        expires: row.get::<_, Option<i64>>(8)?.map(Timestamp),
        revoked: row.get::<_, Option<i64>>(9)?.map(Timestamp),
    })
}
