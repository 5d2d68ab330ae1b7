use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension, Row, types::Type};

use crate::{
    domain::{
        Author, Error, Kind, UserId, UserName,
        user::{Extent, Grant, Role},
    },
    store::tokens::Holder,
};

/// The live account behind a credential.
pub(super) fn holder(db: &Connection, id: UserId) -> rusqlite::Result<Option<Holder>> {
    let found = db
        .prepare_cached("SELECT name, role FROM users WHERE id = ?1 AND removed IS NULL")?
        .query_row([id.0], |row| Ok((user_name(row, 0)?, role(row, 1)?)))
        .optional()?;
    let Some((name, role)) = found else { return Ok(None) };
    let grants: Vec<Grant> = db
        .prepare_cached(
            "SELECT extent, vault, value, write FROM grants WHERE user = ?1 ORDER BY id",
        )?
        .query_map([id.0], |row| grant(row, 0))?
        .collect::<rusqlite::Result<_>>()?;
    Ok(Some(Holder { id, name, role, grants: Arc::from(grants) }))
}

fn unreadable(column: usize, error: Error) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, Type::Text, Box::new(error))
}

fn user_name(row: &Row<'_>, column: usize) -> rusqlite::Result<UserName> {
    let name: String = row.get(column)?;
    UserName::new(&name).map_err(|error| unreadable(column, error))
}

fn role(row: &Row<'_>, column: usize) -> rusqlite::Result<Role> {
    let role: String = row.get(column)?;
    role.parse().map_err(|error| unreadable(column, error))
}

/// Reads a grant whose four columns begin at `first`.
fn grant(row: &Row<'_>, first: usize) -> rusqlite::Result<Grant> {
    let (extent, vault, value): (String, String, String) =
        (row.get(first)?, row.get(first + 1)?, row.get(first + 2)?);
    let wrong = || {
        let error = Error::internal(format!("a grant has the unknown extent `{extent}`"));
        unreadable(first, error)
    };
    let extent = match extent.as_str() {
        "all" => Extent::All,
        "vault" => Extent::Vault(vault),
        "folder" => Extent::Folder { vault, folder: value },
        "label" => Extent::Label(value),
        "author" => Extent::Author(Author::new(&value).ok_or_else(wrong)?),
        "kind" => {
            Extent::Kind(value.parse::<Kind>().map_err(|error| unreadable(first + 2, error))?)
        }
        _ => return Err(wrong()),
    };
    Ok(Grant { extent, write: row.get(first + 3)? })
}
