//! The schema of the database, and the library's row in it.
//!
//! Old and new versions run side by side: a schema is refused only when its `oldest` version is
//! newer than this program.

use super::{address::Address, connection::Connection, fault::Fault, transaction::Transaction};
use crate::domain::Error;

/// The migrations, in order. Their numbers and names are those of SQLite.
const MIGRATIONS: &[&str] = &[
    include_str!("../../../migrations/postgres/0001_start.sql"),
    include_str!("../../../migrations/postgres/0002_bookmarks.sql"),
    include_str!("../../../migrations/postgres/0003_reports.sql"),
    include_str!("../../../migrations/postgres/0004_vault_state.sql"),
    include_str!("../../../migrations/postgres/0005_library.sql"),
    include_str!("../../../migrations/postgres/0006_revisions.sql"),
    include_str!("../../../migrations/postgres/0007_accounts.sql"),
    include_str!("../../../migrations/postgres/0008_oauth.sql"),
    include_str!("../../../migrations/postgres/0009_market.sql"),
    include_str!("../../../migrations/postgres/0010_authors.sql"),
    include_str!("../../../migrations/postgres/0011_hosted.sql"),
    include_str!("../../../migrations/postgres/0012_tasks.sql"),
    include_str!("../../../migrations/postgres/0013_teams.sql"),
    include_str!("../../../migrations/postgres/0014_property_bytes.sql"),
];
/// The oldest version that works with the newest schema. Raise it with a migration that takes away
/// or changes what earlier versions use.
const OLDEST: i32 = 14;
/// The advisory lock of whoever migrates: "Nwll".
const LOCK: i64 = 0x4e77_6c6c;
/// The role without the right to see every library, for users who have that right.
const ROLE: &str = "notewell_library";

/// What a session needs to know.
pub(super) struct Library {
    /// The library's row.
    pub(super) id: i64,
    /// The statements that each session begins with.
    pub(super) session: String,
}

/// Brings the schema up to date, and makes the library if there is none of that name.
pub(super) fn prepare(connection: &mut Connection, address: &Address) -> Result<Library, Fault> {
    let newest = MIGRATIONS.len() as i32;
    let (current, oldest) = version(connection)?;
    refuse_newer(current, oldest, address)?;
    if current < newest {
        migrate(connection, address)?;
    }
    let role = confine(connection, current < newest)?;
    connection.batch(&role)?;
    connection.query_one("SELECT set_config('nw.library', $1, false)", &[&address.library()])?;
    let id = library(connection, address.library())?;
    let name = address.library().replace('\'', "''");
    let session = format!("{role} SET nw.library = '{name}'; SET nw.lib = '{id}';");
    Ok(Library { id, session })
}

/// The version of the schema, and the oldest program that works with it; 0 for an empty database.
fn version(connection: &mut Connection) -> Result<(i32, i32), Fault> {
    let row = connection.query_one("SELECT to_regclass('schema_version') IS NOT NULL", &[])?;
    if !row.try_get::<_, bool>(0)? {
        return Ok((0, 0));
    }
    let row = connection.query_opt("SELECT version, oldest FROM schema_version", &[])?;
    row.map_or(Ok((0, 0)), |row| Ok((row.try_get(0)?, row.try_get(1)?)))
}

fn refuse_newer(version: i32, oldest: i32, address: &Address) -> Result<(), Fault> {
    let newest = MIGRATIONS.len() as i32;
    if oldest > newest {
        return Err(Fault::Refused(Error::invalid_request(format!(
            "the store `{address}` was written by a newer Notewell (schema {version}, which needs {oldest}; this one knows {newest}); update Notewell, or use another database. Nothing was changed"
        ))));
    }
    Ok(())
}

fn migrate(connection: &mut Connection, address: &Address) -> Result<(), Fault> {
    // The limits are for requests; a migration takes as long as it takes.
    let mut transaction = Transaction::begin(
        connection,
        0,
        &format!(
            "BEGIN; SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0;
             SELECT pg_advisory_xact_lock({LOCK})"
        ),
    )?;
    // Another process may have migrated while this one waited for the lock.
    let (current, oldest) = version(&mut transaction)?;
    refuse_newer(current, oldest, address)?;
    for sql in MIGRATIONS.iter().skip(usize::try_from(current).unwrap_or(0)) {
        transaction.batch(sql)?;
    }
    let newest = MIGRATIONS.len() as i32;
    if current < newest {
        transaction.batch(&format!(
            "DELETE FROM schema_version;
             INSERT INTO schema_version (version, oldest) VALUES ({newest}, {OLDEST})"
        ))?;
    }
    transaction.commit()
}

/// The statement that puts a session under the rule that it sees one library. Row-level security
/// does not bind superusers and roles with BYPASSRLS, so these continue as another role.
fn confine(connection: &mut Connection, migrated: bool) -> Result<String, Fault> {
    let row = connection.query_one(
        "SELECT rolsuper OR rolbypassrls,
                EXISTS (SELECT 1 FROM pg_roles r WHERE r.rolname = $1),
                NOT EXISTS (SELECT 1 FROM pg_class c JOIN pg_roles r ON r.rolname = $1
                    WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r'
                      AND NOT has_table_privilege(r.oid, c.oid, 'INSERT')),
                quote_ident(current_schema()), quote_ident(current_user)
         FROM pg_roles WHERE rolname = current_user",
        &[&ROLE],
    )?;
    let (sees_all, exists, granted): (bool, bool, bool) =
        (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
    if !sees_all {
        return Ok(String::new());
    }
    let (schema, user): (String, String) = (row.try_get(3)?, row.try_get(4)?);
    if !exists || !granted || migrated {
        let make = if exists {
            String::new()
        } else {
            // Roles belong to the whole cluster: another database may make it at this moment.
            format!(
                "DO $$ BEGIN CREATE ROLE {ROLE} NOLOGIN NOBYPASSRLS;
                 EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$;"
            )
        };
        connection
            .batch(&format!(
                "BEGIN; SELECT pg_advisory_xact_lock({LOCK}); {make}
                 GRANT USAGE ON SCHEMA {schema} TO {ROLE};
                 GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO {ROLE};
                 GRANT USAGE, SELECT, UPDATE ON ALL SEQUENCES IN SCHEMA {schema} TO {ROLE};
                 GRANT {ROLE} TO {user}; COMMIT"
            ))
            .map_err(|fault| match fault {
                Fault::Server(error) if error.as_db_error().is_some() => {
                    Fault::Refused(Error::invalid_request(format!(
                        "the user {user} of `[store] url` sees every library of the database, and cannot make the role `{ROLE}` that sees one; connect as an ordinary user (without SUPERUSER and BYPASSRLS) who owns the tables"
                    )).with_source(error))
                }
                fault => fault,
            })?;
    }
    Ok(format!("SET ROLE {ROLE};"))
}

/// The number of the library of that name, made now if there is none.
fn library(connection: &mut Connection, name: &str) -> Result<i64, Fault> {
    const FIND: &str = "SELECT id FROM libraries WHERE name = $1";
    if let Some(row) = connection.query_opt(FIND, &[&name])? {
        return Ok(row.try_get(0)?);
    }
    let mut number = [0; 8];
    getrandom::fill(&mut number)
        .map_err(|error| Error::internal(format!("could not draw a random number: {error}")))?;
    connection.execute(
        "INSERT INTO libraries (name, number) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING",
        &[&name, &i64::from_le_bytes(number)],
    )?;
    Ok(connection.query_one(FIND, &[&name])?.try_get(0)?)
}
