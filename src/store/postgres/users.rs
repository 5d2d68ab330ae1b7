use std::sync::Arc;

use tokio_postgres::Row;

use super::{Postgres, audit, connection::Connection, fault::Fault, value};
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
const GRANT: &str = r#"id, "user", created, extent, vault, value, write"#;
const PASSKEY: &str = r#"credential, "user", name, data, created, used"#;

impl Users for Postgres {
    fn add(&self, new: &NewAccount) -> Result<Account> {
        let created = Timestamp::now();
        self.write(|tx| {
            let added = tx.query_opt(
                "INSERT INTO users (name, display_name, role, password, created)
                 VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING RETURNING id",
                &[
                    &new.name.as_str(),
                    &new.display_name,
                    &new.role.as_str(),
                    &new.password,
                    &created.0,
                ],
            )?;
            let Some(row) = added else {
                return Err(Fault::Refused(Error::conflict(format!(
                    "there is already a user `{}`; choose another name",
                    new.name
                ))));
            };
            audit::along(tx)?;
            Ok(Account {
                id: UserId(row.try_get(0)?),
                name: new.name.clone(),
                display_name: new.display_name.clone(),
                role: new.role,
                password: new.password.clone(),
                created,
                removed: None,
            })
        })
    }

    fn get(&self, id: UserId) -> Result<Option<Account>> {
        self.read(|db| {
            let sql = format!("SELECT {ACCOUNT} FROM users WHERE id = $1");
            db.query_opt(&sql, &[&id.0])?.as_ref().map(account).transpose()
        })
    }

    fn find(&self, name: &UserName) -> Result<Option<Account>> {
        self.read(|db| {
            let sql = format!("SELECT {ACCOUNT} FROM users WHERE name = $1 AND removed IS NULL");
            db.query_opt(&sql, &[&name.as_str()])?.as_ref().map(account).transpose()
        })
    }

    fn all(&self) -> Result<Vec<Account>> {
        self.read(|db| {
            let sql = format!("SELECT {ACCOUNT} FROM users ORDER BY id");
            db.query(&sql, &[])?.iter().map(account).collect()
        })
    }

    fn has_owner(&self) -> Result<bool> {
        self.read(|db| {
            let row = db.query_one(
                r#"SELECT EXISTS (SELECT 1 FROM users u
                   WHERE u.role = 'owner' AND u.removed IS NULL AND (u.password IS NOT NULL
                     OR EXISTS (SELECT 1 FROM passkeys p WHERE p."user" = u.id)))"#,
                &[],
            )?;
            Ok(row.try_get(0)?)
        })
    }

    fn set_profile(&self, id: UserId, role: Role, display_name: &str) -> Result<bool> {
        self.write(|tx| {
            if role != Role::Owner && is_last_owner(tx, id)? {
                return Err(Fault::Refused(Error::conflict(
                    "this is the only owner, who keeps the role; make another user an owner first",
                )));
            }
            let changed = tx.execute(
                "UPDATE users SET role = $2, display_name = $3 WHERE id = $1 AND removed IS NULL",
                &[&id.0, &role.as_str(), &display_name],
            )?;
            audit::recorded(tx, changed)
        })
    }

    fn set_password(&self, id: UserId, password: &str) -> Result<bool> {
        self.write(|tx| {
            let changed = tx.execute(
                "UPDATE users SET password = $2 WHERE id = $1 AND removed IS NULL",
                &[&id.0, &password],
            )?;
            tx.execute(r#"DELETE FROM sessions WHERE "user" = $1"#, &[&id.0])?;
            audit::recorded(tx, changed)
        })
    }

    fn replace_password_hash(&self, id: UserId, old: &str, new: &str) -> Result<bool> {
        self.write(|tx| {
            let changed = tx.execute(
                "UPDATE users SET password = $3
                 WHERE id = $1 AND password = $2 AND removed IS NULL",
                &[&id.0, &old, &new],
            )?;
            Ok(changed == 1)
        })
    }

    fn remove(&self, id: UserId) -> Result<bool> {
        let now = Timestamp::now().0;
        self.write(|tx| {
            if is_last_owner(tx, id)? {
                return Err(Fault::Refused(Error::conflict(
                    "this is the only owner, who stays; make another user an owner first",
                )));
            }
            let removed = tx.execute(
                "UPDATE users SET removed = $2, password = NULL WHERE id = $1 AND removed IS NULL",
                &[&id.0, &now],
            )?;
            if removed == 0 {
                return Ok(false);
            }
            for table in ["grants", "passkeys", "sessions", "oauth_codes"] {
                tx.execute(&format!(r#"DELETE FROM {table} WHERE "user" = $1"#), &[&id.0])?;
            }
            tx.execute(
                r#"DELETE FROM refresh_tokens
                   WHERE connection IN (SELECT id FROM connections WHERE "user" = $1)"#,
                &[&id.0],
            )?;
            for table in ["connections", "tokens"] {
                tx.execute(
                    &format!(
                        r#"UPDATE {table} SET revoked = $2 WHERE "user" = $1 AND revoked IS NULL"#
                    ),
                    &[&id.0, &now],
                )?;
            }
            audit::along(tx)?;
            Ok(true)
        })
    }

    fn grants(&self, user: UserId) -> Result<Vec<GrantRow>> {
        self.read(|db| {
            let sql = format!(r#"SELECT {GRANT} FROM grants WHERE "user" = $1 ORDER BY id"#);
            db.query(&sql, &[&user.0])?.iter().map(grant_row).collect()
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
            require_live(tx, user)?;
            let row = tx.query_one(
                &format!(
                    r#"INSERT INTO grants ("user", extent, vault, value, write, created)
                       VALUES ($1, $2, $3, $4, $5, $6)
                       ON CONFLICT (lib, "user", extent, vault, value)
                       DO UPDATE SET write = excluded.write RETURNING {GRANT}"#
                ),
                &[&user.0, &extent, &vault, &value, &grant.write, &Timestamp::now().0],
            )?;
            audit::along(tx)?;
            grant_row(&row)
        })
    }

    fn revoke_grant(&self, id: i64) -> Result<bool> {
        self.write(|tx| {
            let revoked = tx.execute("DELETE FROM grants WHERE id = $1", &[&id])?;
            audit::recorded(tx, revoked)
        })
    }

    fn put_passkey(&self, passkey: &PasskeyRow) -> Result<()> {
        self.write(|tx| {
            let changed = match is_live(tx, passkey.user)? {
                false => 0,
                true => tx.execute(
                    r#"INSERT INTO passkeys AS known (credential, "user", name, data, created, used)
                       VALUES ($1, $2, $3, $4, $5, $6)
                       ON CONFLICT (lib, credential) DO UPDATE
                       SET name = excluded.name, data = excluded.data, used = excluded.used
                       WHERE known."user" = excluded."user""#,
                    &[
                        &passkey.credential,
                        &passkey.user.0,
                        &passkey.name,
                        &passkey.data,
                        &passkey.created.0,
                        &passkey.used.map(|at| at.0),
                    ],
                )?,
            };
            match audit::recorded(tx, changed)? {
                false => Err(Fault::Refused(Error::conflict(
                    "this passkey belongs to another user, or the account is removed",
                ))),
                true => Ok(()),
            }
        })
    }

    fn passkeys(&self, user: UserId) -> Result<Vec<PasskeyRow>> {
        self.read(|db| {
            let sql = format!(
                r#"SELECT {PASSKEY} FROM passkeys WHERE "user" = $1 ORDER BY created, credential"#
            );
            db.query(&sql, &[&user.0])?.iter().map(passkey).collect()
        })
    }

    fn passkey(&self, credential: &[u8]) -> Result<Option<PasskeyRow>> {
        self.read(|db| {
            let sql = format!("SELECT {PASSKEY} FROM passkeys WHERE credential = $1");
            db.query_opt(&sql, &[&credential])?.as_ref().map(passkey).transpose()
        })
    }

    fn remove_passkey(&self, user: UserId, credential: &[u8]) -> Result<bool> {
        self.write(|tx| {
            let removed = tx.execute(
                r#"DELETE FROM passkeys WHERE "user" = $1 AND credential = $2"#,
                &[&user.0, &credential],
            )?;
            audit::recorded(tx, removed)
        })
    }
}

/// Whether an account is an owner and no other live account is.
fn is_last_owner(tx: &mut Connection, id: UserId) -> Result<bool, Fault> {
    let row = tx.query_one(
        "SELECT EXISTS (SELECT 1 FROM users WHERE id = $1 AND role = 'owner' AND removed IS NULL)
            AND NOT EXISTS (SELECT 1 FROM users
                            WHERE id <> $1 AND role = 'owner' AND removed IS NULL)",
        &[&id.0],
    )?;
    Ok(row.try_get(0)?)
}

/// Whether an account exists and is not removed.
pub(super) fn is_live(db: &mut Connection, user: UserId) -> Result<bool, Fault> {
    let sql = "SELECT EXISTS (SELECT 1 FROM users WHERE id = $1 AND removed IS NULL)";
    Ok(db.query_one(sql, &[&user.0])?.try_get(0)?)
}

/// Refuses an account that does not exist or is removed.
pub(super) fn require_live(db: &mut Connection, user: UserId) -> Result<(), Fault> {
    match is_live(db, user)? {
        true => Ok(()),
        false => {
            Err(Fault::Refused(Error::not_found("there is no such user; the account is removed")))
        }
    }
}

/// The columns of a holder, for a credential joined with `users u` and `grants g`: one row for each
/// grant, and one without where there are none.
pub(super) const HOLDER: &str = "u.name, u.role, g.extent, g.vault, g.value, g.write";

/// The joins that give [`HOLDER`] for the account that a column names.
pub(super) fn join_holder(column: &str) -> String {
    format!(
        r#"LEFT JOIN users u ON u.id = {column} AND u.removed IS NULL
           LEFT JOIN grants g ON g."user" = u.id"#
    )
}

/// The holder in these rows, whose columns begin at `first`. `None` when the account is not live.
pub(super) fn holder(rows: &[Row], id: UserId, first: usize) -> Result<Option<Holder>, Fault> {
    let Some(row) = rows.first() else { return Ok(None) };
    if row.try_get::<_, Option<String>>(first)?.is_none() {
        return Ok(None);
    }
    let (name, role) = (user_name(row, first)?, value::parse(row, first + 1)?);
    let mut grants = Vec::with_capacity(rows.len());
    for row in rows {
        if row.try_get::<_, Option<String>>(first + 2)?.is_some() {
            grants.push(grant(row, first + 2)?);
        }
    }
    Ok(Some(Holder { id, name, role, grants: Arc::from(grants) }))
}

fn user_name(row: &Row, column: usize) -> Result<UserName, Fault> {
    UserName::new(&row.try_get::<_, String>(column)?).map_err(Fault::Refused)
}

fn account(row: &Row) -> Result<Account, Fault> {
    Ok(Account {
        id: UserId(row.try_get(0)?),
        name: user_name(row, 1)?,
        display_name: row.try_get(2)?,
        role: value::parse(row, 3)?,
        password: row.try_get(4)?,
        created: Timestamp(row.try_get(5)?),
        removed: value::moment(row, 6)?,
    })
}

fn grant_row(row: &Row) -> Result<GrantRow, Fault> {
    Ok(GrantRow {
        id: row.try_get(0)?,
        user: UserId(row.try_get(1)?),
        created: Timestamp(row.try_get(2)?),
        grant: grant(row, 3)?,
    })
}

fn passkey(row: &Row) -> Result<PasskeyRow, Fault> {
    Ok(PasskeyRow {
        credential: row.try_get(0)?,
        user: UserId(row.try_get(1)?),
        name: row.try_get(2)?,
        data: row.try_get(3)?,
        created: Timestamp(row.try_get(4)?),
        used: value::moment(row, 5)?,
    })
}

/// Reads a grant whose four columns begin at `first`.
fn grant(row: &Row, first: usize) -> Result<Grant, Fault> {
    let (extent, vault, value): (String, String, String) =
        (row.try_get(first)?, row.try_get(first + 1)?, row.try_get(first + 2)?);
    let wrong =
        || Fault::Refused(Error::internal(format!("a grant has the unknown extent `{extent}`")));
    let extent = match extent.as_str() {
        "all" => Extent::All,
        "vault" => Extent::Vault(vault),
        "folder" => Extent::Folder { vault, folder: value },
        "label" => Extent::Label(value),
        "author" => Extent::Author(Author::new(&value).ok_or_else(wrong)?),
        "kind" => Extent::Kind(value.parse::<Kind>().map_err(Fault::Refused)?),
        _ => return Err(wrong()),
    };
    Ok(Grant { extent, write: row.try_get(first + 3)? })
}
