use std::sync::Arc;

use rusqlite::{
    Connection, OptionalExtension, Row, Transaction, params,
    types::{Type, ValueRef},
};

use super::{Sqlite, audit};
use crate::{
    domain::{
        Author, Error, Kind, Result, Timestamp, UserId, UserName,
        user::{Extent, Grant, Role},
    },
    store::{
        tokens::Holder,
        users::{Account, GrantRow, NewAccount, PasskeyRow, Users},
    },
};

const ACCOUNT: &str = "id, name, display_name, role, password, created, removed";
const GRANT: &str = "id, user, created, extent, vault, value, write";
const PASSKEY: &str = "credential, user, name, data, created, used";

impl Users for Sqlite {
    fn add(&self, new: &NewAccount) -> Result<Account> {
        let created = Timestamp::now();
        self.write(|tx| {
            let added = tx.execute(
                "INSERT INTO users (name, display_name, role, password, created)
                 VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO NOTHING",
                params![
                    new.name.as_str(),
                    new.display_name,
                    new.role.as_str(),
                    new.password,
                    created.0
                ],
            )?;
            if added == 0 {
                return Ok(Err(Error::conflict(format!(
                    "there is already a user `{}`; choose another name",
                    new.name
                ))));
            }
            let id = UserId(tx.last_insert_rowid());
            audit::along(tx)?;
            Ok(Ok(Account {
                id,
                name: new.name.clone(),
                display_name: new.display_name.clone(),
                role: new.role,
                password: new.password.clone(),
                created,
                removed: None,
            }))
        })?
    }

    fn get(&self, id: UserId) -> Result<Option<Account>> {
        self.read(|db| {
            db.prepare_cached(&format!("SELECT {ACCOUNT} FROM users WHERE id = ?1"))?
                .query_row([id.0], account)
                .optional()
        })
    }

    fn find(&self, name: &UserName) -> Result<Option<Account>> {
        self.read(|db| {
            db.prepare_cached(&format!(
                "SELECT {ACCOUNT} FROM users WHERE name = ?1 AND removed IS NULL"
            ))?
            .query_row([name.as_str()], account)
            .optional()
        })
    }

    fn all(&self) -> Result<Vec<Account>> {
        self.read(|db| {
            db.prepare_cached(&format!("SELECT {ACCOUNT} FROM users ORDER BY id"))?
                .query_map([], account)?
                .collect()
        })
    }

    fn has_owner(&self) -> Result<bool> {
        self.read(|db| {
            db.prepare_cached(
                "SELECT EXISTS (SELECT 1 FROM users u
                 WHERE u.role = 'owner' AND u.removed IS NULL AND (u.password IS NOT NULL
                   OR EXISTS (SELECT 1 FROM passkeys p WHERE p.user = u.id)))",
            )?
            .query_row([], |row| row.get(0))
        })
    }

    fn set_profile(&self, id: UserId, role: Role, display_name: &str) -> Result<bool> {
        self.write(|tx| {
            if role != Role::Owner && is_last_owner(tx, id)? {
                return Ok(Err(Error::conflict(
                    "this is the only owner, who keeps the role; make another user an owner first",
                )));
            }
            let changed = tx.execute(
                "UPDATE users SET role = ?2, display_name = ?3 WHERE id = ?1 AND removed IS NULL",
                params![id.0, role.as_str(), display_name],
            )?;
            audit::recorded(tx, changed).map(Ok)
        })?
    }

    fn set_password(&self, id: UserId, password: &str) -> Result<bool> {
        self.write(|tx| {
            let changed = tx.execute(
                "UPDATE users SET password = ?2 WHERE id = ?1 AND removed IS NULL",
                params![id.0, password],
            )?;
            tx.execute("DELETE FROM sessions WHERE user = ?1", [id.0])?;
            audit::recorded(tx, changed)
        })
    }

    fn replace_password_hash(&self, id: UserId, old: &str, new: &str) -> Result<bool> {
        self.write(|tx| {
            tx.execute(
                "UPDATE users SET password = ?3
                 WHERE id = ?1 AND password = ?2 AND removed IS NULL",
                params![id.0, old, new],
            )
        })
        .map(|changed| changed == 1)
    }

    fn remove(&self, id: UserId) -> Result<bool> {
        let now = Timestamp::now().0;
        self.write(|tx| {
            if is_last_owner(tx, id)? {
                return Ok(Err(Error::conflict(
                    "this is the only owner, who stays; make another user an owner first",
                )));
            }
            let removed = tx.execute(
                "UPDATE users SET removed = ?2, password = NULL WHERE id = ?1 AND removed IS NULL",
                params![id.0, now],
            )?;
            if removed == 0 {
                return Ok(Ok(false));
            }
            for table in ["grants", "passkeys", "sessions", "oauth_codes"] {
                tx.execute(&format!("DELETE FROM {table} WHERE user = ?1"), [id.0])?;
            }
            tx.execute(
                "DELETE FROM refresh_tokens
                 WHERE connection IN (SELECT id FROM connections WHERE user = ?1)",
                [id.0],
            )?;
            for table in ["connections", "tokens"] {
                tx.execute(
                    &format!("UPDATE {table} SET revoked = ?2 WHERE user = ?1 AND revoked IS NULL"),
                    params![id.0, now],
                )?;
            }
            audit::along(tx)?;
            Ok(Ok(true))
        })?
    }

    fn grants(&self, user: UserId) -> Result<Vec<GrantRow>> {
        self.read(|db| {
            db.prepare_cached(&format!("SELECT {GRANT} FROM grants WHERE user = ?1 ORDER BY id"))?
                .query_map([user.0], grant_row)?
                .collect()
        })
    }

    fn grant(&self, user: UserId, grant: &Grant) -> Result<GrantRow> {
        let (extent, vault, value) = match &grant.extent {
            Extent::All => ("all", "", ""),
            Extent::Vault(vault) => ("vault", vault.as_str(), ""),
            Extent::Folder { vault, folder } => ("folder", vault.as_str(), folder.as_str()),
            Extent::Label(label) => ("label", "", label.as_str()),
            Extent::Author(author) => ("author", "", author.as_str()),
            Extent::Kind(kind) => ("kind", "", kind.as_str()),
            Extent::Free | Extent::Members => {
                return Err(Error::invalid_params(
                    "pages with `free: true` and `access: members` need no grant",
                ));
            }
        };
        self.write(|tx| {
            if holder(tx, user)?.is_none() {
                return Ok(Err(Error::not_found("there is no such user; the account is removed")));
            }
            tx.execute(
                "INSERT INTO grants (user, extent, vault, value, write, created)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)
                 ON CONFLICT (user, extent, vault, value) DO UPDATE SET write = excluded.write",
                params![user.0, extent, vault, value, grant.write, Timestamp::now().0],
            )?;
            audit::along(tx)?;
            tx.query_row(
                &format!(
                    "SELECT {GRANT} FROM grants
                     WHERE user = ?1 AND extent = ?2 AND vault = ?3 AND value = ?4"
                ),
                params![user.0, extent, vault, value],
                grant_row,
            )
            .map(Ok)
        })?
    }

    fn revoke_grant(&self, id: i64) -> Result<bool> {
        self.write(|tx| {
            let changed = tx.execute("DELETE FROM grants WHERE id = ?1", [id])?;
            audit::recorded(tx, changed)
        })
    }

    fn put_passkey(&self, passkey: &PasskeyRow) -> Result<()> {
        let changed = self.write(|tx| {
            if holder(tx, passkey.user)?.is_none() {
                return Ok(false);
            }
            let changed = tx.execute(
                "INSERT INTO passkeys (credential, user, name, data, created, used)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)
                 ON CONFLICT (credential) DO UPDATE
                 SET name = excluded.name, data = excluded.data, used = excluded.used
                 WHERE user = excluded.user",
                params![
                    passkey.credential,
                    passkey.user.0,
                    passkey.name,
                    passkey.data,
                    passkey.created.0,
                    passkey.used.map(|at| at.0)
                ],
            )?;
            audit::recorded(tx, changed)
        })?;
        if !changed {
            return Err(Error::conflict(
                "this passkey belongs to another user, or the account is removed",
            ));
        }
        Ok(())
    }

    fn passkeys(&self, user: UserId) -> Result<Vec<PasskeyRow>> {
        self.read(|db| {
            db.prepare_cached(&format!(
                "SELECT {PASSKEY} FROM passkeys WHERE user = ?1 ORDER BY created, rowid"
            ))?
            .query_map([user.0], passkey)?
            .collect()
        })
    }

    fn passkey(&self, credential: &[u8]) -> Result<Option<PasskeyRow>> {
        self.read(|db| {
            db.prepare_cached(&format!("SELECT {PASSKEY} FROM passkeys WHERE credential = ?1"))?
                .query_row([credential], passkey)
                .optional()
        })
    }

    fn remove_passkey(&self, user: UserId, credential: &[u8]) -> Result<bool> {
        self.write(|tx| {
            let changed = tx.execute(
                "DELETE FROM passkeys WHERE user = ?1 AND credential = ?2",
                params![user.0, credential],
            )?;
            audit::recorded(tx, changed)
        })
    }
}

/// Whether an account is an owner and no other live account is.
fn is_last_owner(tx: &Transaction<'_>, id: UserId) -> rusqlite::Result<bool> {
    tx.query_row(
        "SELECT EXISTS (SELECT 1 FROM users WHERE id = ?1 AND role = 'owner' AND removed IS NULL)
            AND NOT EXISTS (SELECT 1 FROM users
                            WHERE id <> ?1 AND role = 'owner' AND removed IS NULL)",
        [id.0],
        |row| row.get(0),
    )
}

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

/// The columns of a holder, for a credential joined by [`join_holder`]: one row for each grant, and
/// one without where there are none. One statement takes the lock of the file once.
pub(super) const HOLDER: &str = "u.name, u.role, g.id, g.extent, g.vault, g.value, g.write";

/// The joins that give [`HOLDER`] for the account that a column names.
pub(super) fn join_holder(column: &str) -> String {
    format!(
        "LEFT JOIN users u ON u.id = {column} AND u.removed IS NULL
         LEFT JOIN grants g ON g.user = u.id"
    )
}

/// Collects a holder from rows whose columns begin at `first`.
#[derive(Default)]
pub(super) struct HolderRows {
    account: Option<(UserName, Role)>,
    /// With their numbers.
    grants: Vec<(i64, Grant)>,
}

impl HolderRows {
    pub(super) fn add(&mut self, row: &Row<'_>, first: usize) -> rusqlite::Result<()> {
        if self.account.is_none() && row.get_ref(first)? != ValueRef::Null {
            self.account = Some((user_name(row, first)?, role(row, first + 1)?));
        }
        if let Some(id) = row.get(first + 2)? {
            self.grants.push((id, grant(row, first + 3)?));
        }
        Ok(())
    }

    /// The holder, whose account this is; `None` when it is not live.
    pub(super) fn finish(mut self, id: UserId) -> Option<Holder> {
        let (name, role) = self.account?;
        // As the other statements list them.
        self.grants.sort_unstable_by_key(|(id, _)| *id);
        let grants = self.grants.into_iter().map(|(_, grant)| grant).collect();
        Some(Holder { id, name, role, grants })
    }
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

fn account(row: &Row<'_>) -> rusqlite::Result<Account> {
    Ok(Account {
        id: UserId(row.get(0)?),
        name: user_name(row, 1)?,
        display_name: row.get(2)?,
        role: role(row, 3)?,
        password: row.get(4)?,
        created: Timestamp(row.get(5)?),
        removed: row.get::<_, Option<i64>>(6)?.map(Timestamp),
    })
}

fn grant_row(row: &Row<'_>) -> rusqlite::Result<GrantRow> {
    Ok(GrantRow {
        id: row.get(0)?,
        user: UserId(row.get(1)?),
        created: Timestamp(row.get(2)?),
        grant: grant(row, 3)?,
    })
}

fn passkey(row: &Row<'_>) -> rusqlite::Result<PasskeyRow> {
    Ok(PasskeyRow {
        credential: row.get(0)?,
        user: UserId(row.get(1)?),
        name: row.get(2)?,
        data: row.get(3)?,
        created: Timestamp(row.get(4)?),
        used: row.get::<_, Option<i64>>(5)?.map(Timestamp),
    })
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
