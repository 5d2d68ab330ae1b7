use rusqlite::{OptionalExtension, Row, params, types::Type};

use super::Sqlite;
use crate::{
    domain::{Error, Result, Scope, Timestamp},
    store::tokens::{Token, Tokens},
};

const COLUMNS: &str = "id, name, scope, created, expires, revoked";

impl Tokens for Sqlite {
    fn create(
        &self,
        name: &str,
        scope: Scope,
        hash: &[u8; 32],
        expires: Option<Timestamp>,
    ) -> Result<Token> {
        let created = Timestamp::now();
        self.write(|tx| {
            tx.execute(
                "INSERT INTO tokens (name, scope, hash, created, expires) VALUES (?1, ?2, ?3, ?4, ?5)",
                params![name, scope.as_str(), hash, created.0, expires.map(|at| at.0)],
            )?;
            Ok(Token {
                id: tx.last_insert_rowid(),
                name: name.to_owned(),
                scope,
                created,
                expires,
                revoked: None,
            })
        })
    }

    fn find(&self, hash: &[u8; 32]) -> Result<Option<Token>> {
        self.read(|db| {
            db.prepare_cached(&format!("SELECT {COLUMNS} FROM tokens WHERE hash = ?1"))?
                .query_row([hash], token)
                .optional()
        })
    }

    fn all(&self) -> Result<Vec<Token>> {
        self.read(|db| {
            db.prepare_cached(&format!("SELECT {COLUMNS} FROM tokens ORDER BY id"))?
                .query_map([], token)?
                .collect()
        })
    }

    fn revoke(&self, id: i64) -> Result<bool> {
        self.write(|tx| {
            tx.execute(
                "UPDATE tokens SET revoked = ?2 WHERE id = ?1 AND revoked IS NULL",
                params![id, Timestamp::now().0],
            )
        })
        .map(|changed| changed == 1)
    }
}

fn token(row: &Row<'_>) -> rusqlite::Result<Token> {
    let scope: String = row.get(2)?;
    Ok(Token {
        id: row.get(0)?,
        name: row.get(1)?,
        scope: scope.parse::<Scope>().map_err(|error: Error| {
            rusqlite::Error::FromSqlConversionFailure(2, Type::Text, Box::new(error))
        })?,
        created: Timestamp(row.get(3)?),
        expires: row.get::<_, Option<i64>>(4)?.map(Timestamp),
        revoked: row.get::<_, Option<i64>>(5)?.map(Timestamp),
    })
}
