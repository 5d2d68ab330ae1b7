//! What a failure of PostgreSQL means to the person who has to act on it. No sentence contains the
//! password, a statement or a value.

use std::{error::Error as _, fmt::Display, io};

use serde_json::json;
use tokio_postgres::error::{DbError, SqlState};

use super::address::cause;
use crate::domain::{Code, Error};

/// Why a statement has no result.
#[derive(Debug)]
pub(super) enum Fault {
    /// The server refused the statement, or the connection failed under it.
    Server(tokio_postgres::Error),
    /// No answer within the limit.
    TooSlow,
    /// The server cannot be reached; the sentence says why.
    Away(String),
    /// The connection broke during COMMIT.
    Unknown,
    /// A rule of ours.
    Refused(Error),
}

impl From<tokio_postgres::Error> for Fault {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::Server(error)
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self::Refused(error)
    }
}

impl Fault {
    /// Whether the connection cannot be used again.
    pub(super) fn breaks(&self) -> bool {
        match self {
            Self::Server(error) => match error.as_db_error() {
                // A session that the server ends, a primary that became a standby, and statements
                // prepared before another version changed the schema.
                Some(error) => {
                    is_ending(error.code())
                        || *error.code() == SqlState::READ_ONLY_SQL_TRANSACTION
                        || is_stale(error)
                }
                None => error.is_closed() || is_io(error),
            },
            Self::TooSlow | Self::Away(_) | Self::Unknown => true,
            Self::Refused(_) => false,
        }
    }

    /// Whether another connection to a healthy server would have an answer.
    pub(super) fn is_worth_another_connection(&self) -> bool {
        matches!(self, Self::Server(_)) && self.breaks()
    }

    /// Whether the server, not the statement, is the reason.
    pub(super) fn is_away(&self) -> bool {
        match self {
            Self::TooSlow | Self::Away(_) => true,
            Self::Server(error) => match error.as_db_error() {
                Some(error) => is_ending(error.code()),
                None => error.is_closed() || is_io(error),
            },
            Self::Unknown | Self::Refused(_) => false,
        }
    }

    /// Whether the server reported this state.
    pub(super) fn is(&self, state: &SqlState) -> bool {
        matches!(self, Self::Server(error) if error.code() == Some(state))
    }
}

fn is_ending(code: &SqlState) -> bool {
    code.code().starts_with("08")
        || [
            SqlState::ADMIN_SHUTDOWN,
            SqlState::CRASH_SHUTDOWN,
            SqlState::CANNOT_CONNECT_NOW,
            SqlState::DATABASE_DROPPED,
            SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT,
            SqlState::TOO_MANY_CONNECTIONS,
        ]
        .contains(code)
}

/// Another version of Notewell changed a table since the statement was prepared.
fn is_stale(error: &DbError) -> bool {
    *error.code() == SqlState::FEATURE_NOT_SUPPORTED && error.message().contains("cached plan")
}

fn is_io(error: &tokio_postgres::Error) -> bool {
    error.source().is_some_and(|source| source.is::<io::Error>())
}

/// Turns a fault into a sentence: `server` is the address as people know it, `what` the attempt
/// that failed ("read it").
pub(super) fn explain(fault: Fault, server: impl Display, what: impl Display) -> Error {
    match fault {
        Fault::Refused(error) => error,
        Fault::TooSlow => away(format!(
            "the store `{server}` does not answer; try again, and check that the server is running and not overloaded (could not {what})"
        )),
        Fault::Away(why) => away(format!(
            "the store `{server}` cannot be reached: {why}; try again, and check that the server is running (could not {what})"
        )),
        Fault::Unknown => Error::storage(format!(
            "the connection to the store `{server}` broke while a change was being committed: it may or may not have been made; read the item, or `notewell history`, before you try again"
        ))
        .with_data(json!({ "store": "away", "outcome": "unknown" })),
        Fault::Server(error) => match error.as_db_error() {
            Some(reason) => of_server(reason, &server, &what),
            None if error.is_closed() || is_io(&error) => away(format!(
                "the connection to the store `{server}` broke: {}; try again (could not {what})",
                cause(&error)
            )),
            None => Error::internal(format!("could not {what}: {}", cause(&error))),
        }
        .with_source(error),
    }
}

/// An error that says that the store is away. `/readyz` and degraded search recognise it.
fn away(message: String) -> Error {
    Error::storage(message).with_data(json!({ "store": "away" }))
}

/// Whether an error says that the store cannot be reached.
pub fn is_away(error: &Error) -> bool {
    error.code == Code::Storage && error.data.as_ref().is_some_and(|data| data["store"] == "away")
}

/// Why the server did not let us in, or `None` where it is not there.
pub(super) fn refusal(error: &tokio_postgres::Error, server: impl Display) -> Option<Error> {
    let reason = error.as_db_error()?;
    (!is_ending(reason.code())).then(|| of_server(reason, &server, &"connect"))
}

fn of_server(reason: &DbError, server: &impl Display, what: &impl Display) -> Error {
    let says = reason.message();
    let code = reason.code();
    if is_ending(code) {
        return away(format!(
            "the store `{server}` is not available: {says}; try again (could not {what})"
        ));
    }
    if *code == SqlState::INVALID_PASSWORD || *code == SqlState::INVALID_AUTHORIZATION_SPECIFICATION
    {
        return Error::invalid_request(format!(
            "the store `{server}` refused the login: {says}; check user and password in `[store] url`"
        ));
    }
    if *code == SqlState::INVALID_CATALOG_NAME {
        return Error::invalid_request(format!(
            "the store `{server}` does not have that database: {says}; create it with `createdb`, or correct `[store] url`"
        ));
    }
    if *code == SqlState::READ_ONLY_SQL_TRANSACTION {
        return Error::storage(format!(
            "the store `{server}` is a read-only standby: nothing was changed; use the address of the primary, or name both hosts in `[store] url` (could not {what})"
        ))
        .with_data(json!({ "store": "read-only" }));
    }
    if *code == SqlState::INSUFFICIENT_PRIVILEGE {
        return Error::invalid_request(format!(
            "could not {what}: the store `{server}` says {says}; give the user of `[store] url` that right"
        ));
    }
    if *code == SqlState::DISK_FULL {
        return Error::storage(format!(
            "the disk of the store `{server}` is full: nothing was changed; free space there and try again (could not {what})"
        ));
    }
    if [SqlState::QUERY_CANCELED, SqlState::LOCK_NOT_AVAILABLE].contains(code) {
        return Error::storage(format!(
            "the store `{server}` is busy: {says}; nothing was changed, try again (could not {what})"
        ));
    }
    if [SqlState::T_R_SERIALIZATION_FAILURE, SqlState::T_R_DEADLOCK_DETECTED].contains(code) {
        return Error::storage(format!(
            "another process changed the same rows of the store `{server}`: nothing was changed, try again (could not {what})"
        ));
    }
    if *code == SqlState::CHARACTER_NOT_IN_REPERTOIRE || *code == SqlState::UNTRANSLATABLE_CHARACTER
    {
        return Error::invalid_params(
            "a text contains the character NUL, which PostgreSQL cannot keep; remove it".to_owned(),
        );
    }
    if code.code().starts_with("23") {
        let rule = reason.constraint().unwrap_or("without a name");
        return Error::invalid_request(format!(
            "could not {what}: the rule `{rule}` of the store `{server}` forbids it"
        ));
    }
    if ["XX001", "XX002"].contains(&code.code()) {
        return Error::damaged(format!(
            "the store `{server}` is damaged: {says}; restore it from a backup (could not {what})"
        ));
    }
    Error::internal(format!("could not {what}: the store says {says} ({})", code.code()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_that_is_away_is_told_from_one_that_refuses() {
        let away = explain(Fault::TooSlow, "postgres://nw@h/db", "read it");
        assert!(is_away(&away), "{away}");
        let away = explain(Fault::Away("connection refused".into()), "postgres://h", "read it");
        assert!(is_away(&away) && away.message.contains("connection refused"));
        let unknown = explain(Fault::Unknown, "postgres://h", "write to it");
        assert!(unknown.message.contains("may or may not"), "{unknown}");
        let refused = explain(Fault::Refused(Error::conflict("taken")), "postgres://h", "write");
        assert!(!is_away(&refused) && refused.code == Code::Conflict);
    }
}
