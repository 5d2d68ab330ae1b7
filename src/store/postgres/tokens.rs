use tokio_postgres::Row;

use super::{Postgres, audit, fault::Fault, users, value};
use crate::{
    domain::{Result, Scope, Scopes, Timestamp, UserId},
    store::tokens::{Credential, NewToken, Power, Token, Tokens},
};

const COLUMNS: &str = r#"t.id, t.name, t.scope, t."user", t.scopes, t.audience, t.connection, t.created, t.expires, t.revoked"#;

/// What `scope` says of a token that belongs to a user.
const OF_USER: &str = "user";

impl Tokens for Postgres {
    fn create(&self, token: &NewToken, hash: &[u8; 32]) -> Result<Token> {
        let created = Timestamp::now();
        let (scope, user, scopes) = match token.power {
            Power::Scope(scope) => (scope.as_str(), None, String::new()),
            Power::User(user, scopes) => (OF_USER, Some(user.0), scopes.to_string()),
        };
        self.write(|tx| {
            let row = tx.query_one(
                r#"INSERT INTO tokens (name, scope, "user", scopes, audience, connection, hash, created, expires)
                   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) RETURNING id"#,
                &[
                    &token.name,
                    &scope,
                    &user,
                    &scopes,
                    &token.audience,
                    &token.connection,
                    &hash.as_slice(),
                    &created.0,
                    &token.expires.map(|at| at.0),
                ],
            )?;
            audit::along(tx)?;
            Ok(Token {
                id: row.try_get(0)?,
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
            // One statement, for one round trip: a row for each grant.
            let sql = format!(
                r#"SELECT {COLUMNS}, {} FROM tokens t {} WHERE t.hash = $1 ORDER BY g.id"#,
                users::HOLDER,
                users::join_holder(r#"t."user""#)
            );
            let rows = db.query(&sql, &[&hash.as_slice()])?;
            let Some(row) = rows.first() else { return Ok(None) };
            let token = token(row)?;
            let holder = match token.power {
                Power::Scope(_) => None,
                Power::User(user, _) => users::holder(&rows, user, 10)?,
            };
            Ok(Some(Credential { token, holder }))
        })
    }

    fn all(&self) -> Result<Vec<Token>> {
        self.read(|db| {
            let sql =
                format!("SELECT {COLUMNS} FROM tokens t WHERE t.connection IS NULL ORDER BY t.id");
            db.query(&sql, &[])?.iter().map(token).collect()
        })
    }

    fn valid(&self, ids: &[i64], now: Timestamp) -> Result<Vec<i64>> {
        self.read(|db| {
            let rows = db.query(
                r#"SELECT t.id FROM tokens t LEFT JOIN users u ON u.id = t."user"
                   WHERE t.id = ANY ($1) AND t.revoked IS NULL
                     AND (t.expires IS NULL OR t.expires > $2)
                     AND (t."user" IS NULL OR u.removed IS NULL)
                   ORDER BY t.id"#,
                &[&ids, &now.0],
            )?;
            rows.iter().map(|row| Ok(row.try_get(0)?)).collect()
        })
    }

    fn revoke(&self, id: i64) -> Result<bool> {
        self.write(|tx| {
            let revoked = tx.execute(
                "UPDATE tokens SET revoked = $2 WHERE id = $1 AND revoked IS NULL",
                &[&id, &Timestamp::now().0],
            )?;
            audit::recorded(tx, revoked)
        })
    }
}

fn token(row: &Row) -> Result<Token, Fault> {
    let power = match row.try_get::<_, Option<i64>>(3)? {
        Some(user) => {
            let scopes: String = row.try_get(4)?;
            Power::User(UserId(user), Scopes::parse(&scopes).map_err(Fault::Refused)?)
        }
        None => Power::Scope(value::parse::<Scope>(row, 2)?),
    };
    Ok(Token {
        id: row.try_get(0)?,
        name: row.try_get(1)?,
        power,
        audience: row.try_get(5)?,
        connection: row.try_get(6)?,
        created: Timestamp(row.try_get(7)?),
        expires: value::moment(row, 8)?,
        revoked: value::moment(row, 9)?,
    })
}
