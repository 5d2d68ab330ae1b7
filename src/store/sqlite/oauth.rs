use rusqlite::{Connection as Database, OptionalExtension, Row, Transaction, params, types::Type};

use super::Sqlite;
use crate::{
    domain::{Error, Result, Scopes, Timestamp, UserId},
    store::oauth::{
        Code, Connection, OAuth, Pair, Redeemed, Refreshed, RegisteredClient, UNUSED_CLIENT_MS,
    },
};

/// How long codes and access tokens are remembered after their end: a code that is used twice is
/// noticed, and an old token is not taken for a guess.
const ENDED_MS: i64 = 24 * 60 * 60 * 1000;
/// How long a revoked connection is remembered.
const REVOKED_CONNECTION_MS: i64 = 90 * 24 * 60 * 60 * 1000;

const CONNECTION: &str =
    "c.id, c.user, c.client, c.client_name, c.resource, c.scopes, c.created, c.used, c.revoked";

impl OAuth for Sqlite {
    fn register(&self, client: &RegisteredClient, most: usize) -> Result<()> {
        self.write(|tx| {
            tx.execute(
                "INSERT INTO oauth_clients (id, secret, metadata, created, used)
                 VALUES (?1, ?2, ?3, ?4, ?5)",
                params![
                    client.id,
                    client.secret,
                    client.metadata,
                    client.created.0,
                    client.used.map(|at| at.0)
                ],
            )?;
            tx.execute(
                "DELETE FROM oauth_clients WHERE id IN (
                     SELECT id FROM oauth_clients WHERE used IS NULL
                     ORDER BY created DESC, rowid DESC LIMIT -1 OFFSET ?1)",
                [i64::try_from(most).unwrap_or(i64::MAX)],
            )?;
            Ok(())
        })
    }

    fn client(&self, id: &str) -> Result<Option<RegisteredClient>> {
        let oldest_unused = Timestamp::now().0 - UNUSED_CLIENT_MS;
        self.read(|db| {
            db.prepare_cached(
                "SELECT id, secret, metadata, created, used FROM oauth_clients
                 WHERE id = ?1 AND (used IS NOT NULL OR created > ?2)",
            )?
            .query_row(params![id, oldest_unused], |row| {
                Ok(RegisteredClient {
                    id: row.get(0)?,
                    secret: row.get(1)?,
                    metadata: row.get(2)?,
                    created: Timestamp(row.get(3)?),
                    used: row.get::<_, Option<i64>>(4)?.map(Timestamp),
                })
            })
            .optional()
        })
    }

    fn keep_code(&self, hash: &[u8; 32], code: &Code) -> Result<()> {
        self.write(|tx| {
            tx.execute(
                "INSERT INTO oauth_codes (hash, client, client_name, user, redirect_uri, challenge, resource, scopes, expires)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
                params![
                    hash,
                    code.client,
                    code.client_name,
                    code.user.0,
                    code.redirect_uri,
                    code.challenge,
                    code.resource,
                    code.scopes.to_string(),
                    code.expires.0
                ],
            )?;
            Ok(())
        })
    }

    fn redeem(
        &self,
        hash: &[u8; 32],
        pair: &Pair,
        now: Timestamp,
        accept: &dyn Fn(&Code) -> bool,
    ) -> Result<Redeemed> {
        self.write(|tx| {
            let found = tx
                .prepare_cached(
                    "SELECT client, client_name, user, redirect_uri, challenge, resource, scopes, expires, connection, spent
                     FROM oauth_codes WHERE hash = ?1",
                )?
                .query_row([hash], |row| {
                    Ok((code(row)?, row.get::<_, Option<i64>>(8)?, row.get::<_, bool>(9)?))
                })
                .optional()?;
            let Some((code, issued, spent)) = found else { return Ok(Redeemed::Refused) };
            if let Some(id) = issued {
                let connection = connection_of(tx, id)?;
                revoke(tx, id, now)?;
                return Ok(connection.map_or(Redeemed::Refused, Redeemed::Replayed));
            }
            tx.execute("UPDATE oauth_codes SET spent = 1 WHERE hash = ?1", [hash])?;
            if spent || now >= code.expires || !accept(&code) || !is_live(tx, code.user)? {
                return Ok(Redeemed::Refused);
            }
            tx.execute(
                "INSERT INTO connections (user, client, client_name, resource, scopes, created, used)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6)",
                params![
                    code.user.0,
                    code.client,
                    code.client_name,
                    code.resource,
                    code.scopes.to_string(),
                    now.0
                ],
            )?;
            let connection = Connection {
                id: tx.last_insert_rowid(),
                user: code.user,
                client: code.client,
                client_name: code.client_name,
                resource: code.resource,
                scopes: code.scopes,
                created: now,
                used: now,
                revoked: None,
            };
            tx.execute(
                "UPDATE oauth_codes SET connection = ?2 WHERE hash = ?1",
                params![hash, connection.id],
            )?;
            tx.execute(
                "UPDATE oauth_clients SET used = ?2 WHERE id = ?1",
                params![connection.client, now.0],
            )?;
            issue(tx, &connection, connection.scopes, pair, now)?;
            Ok(Redeemed::Issued(connection))
        })
    }

    fn refresh(
        &self,
        hash: &[u8; 32],
        pair: &Pair,
        scopes: Option<Scopes>,
        now: Timestamp,
        grace_ms: i64,
        accept: &dyn Fn(&Connection) -> bool,
    ) -> Result<Refreshed> {
        self.write(|tx| {
            let found: Option<(i64, i64, Option<i64>)> = tx
                .prepare_cached(
                    "SELECT connection, expires, rotated FROM refresh_tokens WHERE hash = ?1",
                )?
                .query_row([hash], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
                .optional()?;
            let Some((id, expires, rotated)) = found else { return Ok(Refreshed::Refused) };
            let connection = connection_of(tx, id)?.filter(|one| one.revoked.is_none());
            let Some(mut connection) = connection else { return Ok(Refreshed::Refused) };
            if now.0 >= expires || !accept(&connection) || !is_live(tx, connection.user)? {
                return Ok(Refreshed::Refused);
            }
            if let Some(rotated) = rotated {
                let succeeded: bool = tx
                    .prepare_cached(
                        "SELECT EXISTS (SELECT 1 FROM refresh_tokens
                         WHERE connection = ?1 AND hash <> ?2 AND created >= ?3 AND rotated IS NOT NULL)",
                    )?
                    .query_row(params![id, hash, rotated], |row| row.get(0))?;
                if succeeded || now.0 >= rotated.saturating_add(grace_ms) {
                    revoke(tx, id, now)?;
                    return Ok(Refreshed::Replayed(connection));
                }
            }
            tx.execute(
                "UPDATE refresh_tokens SET rotated = ?2 WHERE hash = ?1 AND rotated IS NULL",
                params![hash, now.0],
            )?;
            tx.execute("UPDATE connections SET used = ?2 WHERE id = ?1", params![id, now.0])?;
            connection.used = now;
            let scopes = connection.scopes.and(scopes.unwrap_or(connection.scopes));
            issue(tx, &connection, scopes, pair, now)?;
            Ok(Refreshed::Issued(connection, scopes))
        })
    }

    fn revoke_by_token(&self, hash: &[u8; 32], client: &str) -> Result<bool> {
        self.write(|tx| {
            let found: Option<i64> = tx
                .prepare_cached(
                    "SELECT c.id FROM connections c WHERE c.client = ?2 AND c.revoked IS NULL AND c.id IN (
                         SELECT connection FROM refresh_tokens WHERE hash = ?1
                         UNION ALL SELECT connection FROM tokens WHERE hash = ?1)",
                )?
                .query_row(params![hash, client], |row| row.get(0))
                .optional()?;
            match found {
                Some(id) => revoke(tx, id, Timestamp::now()),
                None => Ok(false),
            }
        })
    }

    fn connections(&self, user: Option<UserId>) -> Result<Vec<Connection>> {
        self.read(|db| {
            db.prepare_cached(&format!(
                "SELECT {CONNECTION} FROM connections c JOIN users u ON u.id = c.user
                 WHERE c.revoked IS NULL AND u.removed IS NULL AND (?1 IS NULL OR c.user = ?1)
                 ORDER BY c.id DESC"
            ))?
            .query_map([user.map(|user| user.0)], connection)?
            .collect()
        })
    }

    fn live(&self, ids: &[i64]) -> Result<Vec<i64>> {
        let ids = serde_json::to_string(ids).unwrap_or_default();
        self.read(|db| {
            db.prepare_cached(
                "SELECT c.id FROM connections c JOIN users u ON u.id = c.user
                 WHERE c.id IN (SELECT value FROM json_each(?1))
                   AND c.revoked IS NULL AND u.removed IS NULL",
            )?
            .query_map([ids], |row| row.get(0))?
            .collect()
        })
    }

    fn revoke_connection(&self, id: i64) -> Result<bool> {
        self.write(|tx| revoke(tx, id, Timestamp::now()))
    }

    fn prune(&self, now: Timestamp) -> Result<usize> {
        self.write(|tx| {
            let mut rows = 0;
            // A connection that nothing can renew any more is over.
            let over: Vec<i64> = tx
                .prepare_cached(
                    "SELECT c.id FROM connections c WHERE c.revoked IS NULL AND NOT EXISTS (
                         SELECT 1 FROM refresh_tokens r WHERE r.connection = c.id AND r.expires > ?1)",
                )?
                .query_map([now.0], |row| row.get(0))?
                .collect::<rusqlite::Result<_>>()?;
            for id in over {
                rows += usize::from(revoke(tx, id, now)?);
            }
            rows += tx.execute("DELETE FROM refresh_tokens WHERE expires <= ?1", [now.0])?;
            rows += tx.execute(
                "DELETE FROM tokens WHERE connection IS NOT NULL AND expires <= ?1",
                [now.0 - ENDED_MS],
            )?;
            rows += tx.execute("DELETE FROM oauth_codes WHERE expires <= ?1", [now.0 - ENDED_MS])?;
            rows += tx.execute(
                "DELETE FROM oauth_clients WHERE used IS NULL AND created <= ?1",
                [now.0 - UNUSED_CLIENT_MS],
            )?;
            rows += tx.execute(
                "DELETE FROM connections WHERE revoked <= ?1
                   AND id NOT IN (SELECT connection FROM oauth_codes WHERE connection IS NOT NULL)",
                [now.0 - REVOKED_CONNECTION_MS],
            )?;
            Ok(rows)
        })
    }
}

/// Adds the rows of a pair of tokens.
fn issue(
    tx: &Transaction<'_>,
    connection: &Connection,
    scopes: Scopes,
    pair: &Pair,
    now: Timestamp,
) -> rusqlite::Result<()> {
    tx.prepare_cached(
        "INSERT INTO tokens (name, scope, user, scopes, audience, connection, hash, created, expires)
         VALUES (?1, 'user', ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    )?
    .execute(params![
        connection.client_name,
        connection.user.0,
        scopes.to_string(),
        connection.resource,
        connection.id,
        pair.access,
        now.0,
        pair.access_expires.0
    ])?;
    tx.prepare_cached(
        "INSERT INTO refresh_tokens (hash, connection, created, expires) VALUES (?1, ?2, ?3, ?4)",
    )?
    .execute(params![pair.refresh, connection.id, now.0, pair.refresh_expires.0])?;
    Ok(())
}

/// Revokes a connection with its tokens. False when it is not live.
fn revoke(tx: &Transaction<'_>, id: i64, now: Timestamp) -> rusqlite::Result<bool> {
    let revoked = tx.execute(
        "UPDATE connections SET revoked = ?2 WHERE id = ?1 AND revoked IS NULL",
        params![id, now.0],
    )?;
    tx.execute(
        "UPDATE tokens SET revoked = ?2 WHERE connection = ?1 AND revoked IS NULL",
        params![id, now.0],
    )?;
    tx.execute("DELETE FROM refresh_tokens WHERE connection = ?1", [id])?;
    Ok(revoked == 1)
}

fn is_live(db: &Database, user: UserId) -> rusqlite::Result<bool> {
    db.prepare_cached("SELECT EXISTS (SELECT 1 FROM users WHERE id = ?1 AND removed IS NULL)")?
        .query_row([user.0], |row| row.get(0))
}

fn connection_of(db: &Database, id: i64) -> rusqlite::Result<Option<Connection>> {
    db.prepare_cached(&format!("SELECT {CONNECTION} FROM connections c WHERE c.id = ?1"))?
        .query_row([id], connection)
        .optional()
}

fn connection(row: &Row<'_>) -> rusqlite::Result<Connection> {
    Ok(Connection {
        id: row.get(0)?,
        user: UserId(row.get(1)?),
        client: row.get(2)?,
        client_name: row.get(3)?,
        resource: row.get(4)?,
        scopes: scopes(row, 5)?,
        created: Timestamp(row.get(6)?),
        used: Timestamp(row.get(7)?),
        revoked: row.get::<_, Option<i64>>(8)?.map(Timestamp),
    })
}

/// Reads a code whose eight columns come first.
fn code(row: &Row<'_>) -> rusqlite::Result<Code> {
    Ok(Code {
        client: row.get(0)?,
        client_name: row.get(1)?,
        user: UserId(row.get(2)?),
        redirect_uri: row.get(3)?,
        challenge: row.get(4)?,
        resource: row.get(5)?,
        scopes: scopes(row, 6)?,
        expires: Timestamp(row.get(7)?),
    })
}

fn scopes(row: &Row<'_>, column: usize) -> rusqlite::Result<Scopes> {
    let text: String = row.get(column)?;
    Scopes::parse(&text).map_err(|error: Error| {
        rusqlite::Error::FromSqlConversionFailure(column, Type::Text, Box::new(error))
    })
}
