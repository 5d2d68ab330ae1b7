use tokio_postgres::Row;

use super::{Postgres, connection::Connection as Database, fault::Fault, users, value};
use crate::{
    domain::{Result, Scopes, Timestamp, UserId},
    store::oauth::{
        Code, Connection, OAuth, Pair, Redeemed, Refreshed, RegisteredClient, UNUSED_CLIENT_MS,
    },
};

/// How long codes and access tokens are remembered after their end: a code that is used twice is
/// noticed, and an old token is not taken for a guess.
const ENDED_MS: i64 = 24 * 60 * 60 * 1000;
/// How long a revoked connection is remembered.
const REVOKED_CONNECTION_MS: i64 = 90 * 24 * 60 * 60 * 1000;

const CONNECTION: &str = r#"c.id, c."user", c.client, c.client_name, c.resource, c.scopes, c.created, c.used, c.revoked"#;

impl OAuth for Postgres {
    fn register(&self, client: &RegisteredClient, most: usize) -> Result<()> {
        self.write(|tx| {
            tx.execute(
                "INSERT INTO oauth_clients (id, secret, metadata, created, used)
                 VALUES ($1, $2, $3, $4, $5)",
                &[
                    &client.id,
                    &client.secret.as_ref().map(<[u8; 32]>::as_slice),
                    &client.metadata,
                    &client.created.0,
                    &client.used.map(|at| at.0),
                ],
            )?;
            tx.execute(
                "DELETE FROM oauth_clients WHERE id IN (
                     SELECT id FROM oauth_clients WHERE used IS NULL
                     ORDER BY created DESC, number DESC OFFSET $1)",
                &[&value::limit(most)],
            )
        })
        .map(drop)
    }

    fn client(&self, id: &str) -> Result<Option<RegisteredClient>> {
        let oldest_unused = Timestamp::now().0 - UNUSED_CLIENT_MS;
        self.read(|db| {
            let row = db.query_opt(
                "SELECT id, secret, metadata, created, used FROM oauth_clients
                 WHERE id = $1 AND (used IS NOT NULL OR created > $2)",
                &[&id, &oldest_unused],
            )?;
            let Some(row) = row else { return Ok(None) };
            Ok(Some(RegisteredClient {
                id: row.try_get(0)?,
                secret: value::optional_hash(&row, 1)?,
                metadata: row.try_get(2)?,
                created: Timestamp(row.try_get(3)?),
                used: value::moment(&row, 4)?,
            }))
        })
    }

    fn keep_code(&self, hash: &[u8; 32], code: &Code) -> Result<()> {
        self.write(|tx| {
            tx.execute(
                r#"INSERT INTO oauth_codes (hash, client, client_name, "user", redirect_uri, challenge, resource, scopes, expires)
                   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)"#,
                &[
                    &hash.as_slice(),
                    &code.client,
                    &code.client_name,
                    &code.user.0,
                    &code.redirect_uri,
                    &code.challenge,
                    &code.resource,
                    &code.scopes.to_string(),
                    &code.expires.0,
                ],
            )
        })
        .map(drop)
    }

    fn redeem(
        &self,
        hash: &[u8; 32],
        pair: &Pair,
        now: Timestamp,
        accept: &dyn Fn(&Code) -> bool,
    ) -> Result<Redeemed> {
        self.write(|tx| {
            let row = tx.query_opt(
                r#"SELECT client, client_name, "user", redirect_uri, challenge, resource, scopes, expires, connection, spent
                   FROM oauth_codes WHERE hash = $1"#,
                &[&hash.as_slice()],
            )?;
            let Some(row) = row else { return Ok(Redeemed::Refused) };
            let (code, issued, spent) =
                (code(&row)?, row.try_get::<_, Option<i64>>(8)?, row.try_get::<_, bool>(9)?);
            if let Some(id) = issued {
                let connection = connection_of(tx, id)?;
                revoke(tx, id, now)?;
                return Ok(connection.map_or(Redeemed::Refused, Redeemed::Replayed));
            }
            tx.execute("UPDATE oauth_codes SET spent = true WHERE hash = $1", &[&hash.as_slice()])?;
            if spent || now >= code.expires || !accept(&code) || !users::is_live(tx, code.user)? {
                return Ok(Redeemed::Refused);
            }
            let row = tx.query_one(
                r#"INSERT INTO connections ("user", client, client_name, resource, scopes, created, used)
                   VALUES ($1, $2, $3, $4, $5, $6, $6) RETURNING id"#,
                &[
                    &code.user.0,
                    &code.client,
                    &code.client_name,
                    &code.resource,
                    &code.scopes.to_string(),
                    &now.0,
                ],
            )?;
            let connection = Connection {
                id: row.try_get(0)?,
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
                "UPDATE oauth_codes SET connection = $2 WHERE hash = $1",
                &[&hash.as_slice(), &connection.id],
            )?;
            tx.execute(
                "UPDATE oauth_clients SET used = $2 WHERE id = $1",
                &[&connection.client, &now.0],
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
            let row = tx.query_opt(
                "SELECT connection, expires, rotated FROM refresh_tokens WHERE hash = $1",
                &[&hash.as_slice()],
            )?;
            let Some(row) = row else { return Ok(Refreshed::Refused) };
            let (id, expires): (i64, i64) = (row.try_get(0)?, row.try_get(1)?);
            let rotated: Option<i64> = row.try_get(2)?;
            let connection = connection_of(tx, id)?.filter(|one| one.revoked.is_none());
            let Some(mut connection) = connection else { return Ok(Refreshed::Refused) };
            let is_live = users::is_live(tx, connection.user)?;
            if now.0 >= expires || !accept(&connection) || !is_live {
                return Ok(Refreshed::Refused);
            }
            if let Some(rotated) = rotated {
                let row = tx.query_one(
                    "SELECT EXISTS (SELECT 1 FROM refresh_tokens
                     WHERE connection = $1 AND hash <> $2 AND created >= $3 AND rotated IS NOT NULL)",
                    &[&id, &hash.as_slice(), &rotated],
                )?;
                let succeeded: bool = row.try_get(0)?;
                if succeeded || now.0 >= rotated.saturating_add(grace_ms) {
                    revoke(tx, id, now)?;
                    return Ok(Refreshed::Replayed(connection));
                }
            }
            tx.execute(
                "UPDATE refresh_tokens SET rotated = $2 WHERE hash = $1 AND rotated IS NULL",
                &[&hash.as_slice(), &now.0],
            )?;
            tx.execute("UPDATE connections SET used = $2 WHERE id = $1", &[&id, &now.0])?;
            connection.used = now;
            let scopes = connection.scopes.and(scopes.unwrap_or(connection.scopes));
            issue(tx, &connection, scopes, pair, now)?;
            Ok(Refreshed::Issued(connection, scopes))
        })
    }

    fn revoke_by_token(&self, hash: &[u8; 32], client: &str) -> Result<bool> {
        self.write(|tx| {
            let row = tx.query_opt(
                "SELECT c.id FROM connections c WHERE c.client = $2 AND c.revoked IS NULL AND c.id IN (
                     SELECT connection FROM refresh_tokens WHERE hash = $1
                     UNION ALL SELECT connection FROM tokens WHERE hash = $1) LIMIT 1",
                &[&hash.as_slice(), &client],
            )?;
            match row {
                Some(row) => revoke(tx, row.try_get(0)?, Timestamp::now()),
                None => Ok(false),
            }
        })
    }

    fn connections(&self, user: Option<UserId>) -> Result<Vec<Connection>> {
        self.read(|db| {
            let sql = format!(
                r#"SELECT {CONNECTION} FROM connections c JOIN users u ON u.id = c."user"
                   WHERE c.revoked IS NULL AND u.removed IS NULL
                     AND ($1::bigint IS NULL OR c."user" = $1)
                   ORDER BY c.id DESC"#
            );
            db.query(&sql, &[&user.map(|user| user.0)])?.iter().map(connection).collect()
        })
    }

    fn live(&self, ids: &[i64]) -> Result<Vec<i64>> {
        self.read(|db| {
            let rows = db.query(
                r#"SELECT c.id FROM connections c JOIN users u ON u.id = c."user"
                   WHERE c.id = ANY ($1) AND c.revoked IS NULL AND u.removed IS NULL
                   ORDER BY c.id"#,
                &[&ids],
            )?;
            rows.iter().map(|row| Ok(row.try_get(0)?)).collect()
        })
    }

    fn revoke_connection(&self, id: i64) -> Result<bool> {
        self.write(|tx| revoke(tx, id, Timestamp::now()))
    }

    fn prune(&self, now: Timestamp) -> Result<usize> {
        self.write(|tx| {
            let mut rows = 0;
            // A connection that nothing can renew any more is over.
            let over = tx.query(
                "SELECT c.id FROM connections c WHERE c.revoked IS NULL AND NOT EXISTS (
                     SELECT 1 FROM refresh_tokens r WHERE r.connection = c.id AND r.expires > $1)",
                &[&now.0],
            )?;
            for row in over {
                rows += u64::from(revoke(tx, row.try_get(0)?, now)?);
            }
            let ended = now.0 - ENDED_MS;
            rows += tx.execute("DELETE FROM refresh_tokens WHERE expires <= $1", &[&now.0])?;
            rows += tx.execute(
                "DELETE FROM tokens WHERE connection IS NOT NULL AND expires <= $1",
                &[&ended],
            )?;
            rows += tx.execute("DELETE FROM oauth_codes WHERE expires <= $1", &[&ended])?;
            rows += tx.execute(
                "DELETE FROM oauth_clients WHERE used IS NULL AND created <= $1",
                &[&(now.0 - UNUSED_CLIENT_MS)],
            )?;
            rows += tx.execute(
                "DELETE FROM connections c WHERE c.revoked <= $1
                   AND NOT EXISTS (SELECT 1 FROM oauth_codes o WHERE o.connection = c.id)",
                &[&(now.0 - REVOKED_CONNECTION_MS)],
            )?;
            Ok(rows as usize)
        })
    }
}

/// Adds the rows of a pair of tokens.
fn issue(
    tx: &mut Database,
    connection: &Connection,
    scopes: Scopes,
    pair: &Pair,
    now: Timestamp,
) -> Result<(), Fault> {
    tx.execute(
        r#"INSERT INTO tokens (name, scope, "user", scopes, audience, connection, hash, created, expires)
           VALUES ($1, 'user', $2, $3, $4, $5, $6, $7, $8)"#,
        &[
            &connection.client_name,
            &connection.user.0,
            &scopes.to_string(),
            &connection.resource,
            &connection.id,
            &pair.access.as_slice(),
            &now.0,
            &pair.access_expires.0,
        ],
    )?;
    tx.execute(
        "INSERT INTO refresh_tokens (hash, connection, created, expires) VALUES ($1, $2, $3, $4)",
        &[&pair.refresh.as_slice(), &connection.id, &now.0, &pair.refresh_expires.0],
    )
    .map(drop)
}

/// Revokes a connection with its tokens. False when it is not live.
fn revoke(tx: &mut Database, id: i64, now: Timestamp) -> Result<bool, Fault> {
    let revoked = tx.execute(
        "UPDATE connections SET revoked = $2 WHERE id = $1 AND revoked IS NULL",
        &[&id, &now.0],
    )?;
    tx.execute(
        "UPDATE tokens SET revoked = $2 WHERE connection = $1 AND revoked IS NULL",
        &[&id, &now.0],
    )?;
    tx.execute("DELETE FROM refresh_tokens WHERE connection = $1", &[&id])?;
    Ok(revoked == 1)
}

fn connection_of(db: &mut Database, id: i64) -> Result<Option<Connection>, Fault> {
    let sql = format!("SELECT {CONNECTION} FROM connections c WHERE c.id = $1");
    db.query_opt(&sql, &[&id])?.as_ref().map(connection).transpose()
}

fn connection(row: &Row) -> Result<Connection, Fault> {
    Ok(Connection {
        id: row.try_get(0)?,
        user: UserId(row.try_get(1)?),
        client: row.try_get(2)?,
        client_name: row.try_get(3)?,
        resource: row.try_get(4)?,
        scopes: scopes(row, 5)?,
        created: Timestamp(row.try_get(6)?),
        used: Timestamp(row.try_get(7)?),
        revoked: value::moment(row, 8)?,
    })
}

/// Reads a code whose eight columns come first.
fn code(row: &Row) -> Result<Code, Fault> {
    Ok(Code {
        client: row.try_get(0)?,
        client_name: row.try_get(1)?,
        user: UserId(row.try_get(2)?),
        redirect_uri: row.try_get(3)?,
        challenge: row.try_get(4)?,
        resource: row.try_get(5)?,
        scopes: scopes(row, 6)?,
        expires: Timestamp(row.try_get(7)?),
    })
}

fn scopes(row: &Row, column: usize) -> Result<Scopes, Fault> {
    Scopes::parse(&row.try_get::<_, String>(column)?).map_err(Fault::Refused)
}
