//! The one error type that crosses rooms. Its code is closed: each transport maps it once, and
//! nobody matches on the text of a message.

use std::{fmt, io, path::Path};

/// The result of anything that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong, in the terms a caller can act on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Code {
    /// Not JSON.
    Parse,
    /// JSON, but not a request. Also a card that does not exist: Memento's clients expect this code.
    InvalidRequest,
    /// No such method, or no such tool for this caller.
    NotFound,
    /// A missing, unknown or wrong argument.
    InvalidParams,
    /// A limit of the configuration was reached: size, number, time or concurrency.
    Limit,
    /// The caller's credit does not cover a paid call. The data names price, balance and shortfall.
    Payment,
    /// The caller went away or cancelled the request.
    Cancelled,
    /// What the caller read has changed since. Nothing was done; the message shows what it is now.
    /// Sent as a tool result.
    Conflict,
    /// Something outside failed: a model provider, a clone, a build. Sent as a tool result.
    Outside,
    /// Storage cannot be used at the moment: locked by another program, or the disk is full. The
    /// caller gets the sentence, and can try again.
    Storage,
    /// A file that holds a person's items is missing, empty or damaged. The message says how to
    /// restore it.
    Damaged,
    /// A fault here: storage, index, a bug. The cause goes to the log, an id to the client.
    Internal,
}

impl Code {
    /// The JSON-RPC error code.
    pub fn json_rpc(self) -> i32 {
        match self {
            Code::Parse => -32700,
            Code::InvalidRequest | Code::Limit | Code::Cancelled | Code::Conflict => -32600,
            // Outside the range that the protocol reserves.
            Code::Payment => 402,
            Code::NotFound => -32601,
            Code::InvalidParams => -32602,
            Code::Outside | Code::Storage | Code::Damaged | Code::Internal => -32603,
        }
    }

    /// The word used in logs and metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Code::Parse => "parse",
            Code::InvalidRequest => "invalid_request",
            Code::NotFound => "not_found",
            Code::InvalidParams => "invalid_params",
            Code::Limit => "limit",
            Code::Payment => "payment",
            Code::Cancelled => "cancelled",
            Code::Conflict => "conflict",
            Code::Outside => "outside",
            Code::Storage => "storage",
            Code::Damaged => "damaged",
            Code::Internal => "internal",
        }
    }
}

/// An error with a sentence for the caller and, where there is one, a cause for the log.
pub struct Error {
    /// Decides how a transport reports it.
    pub code: Code,
    /// Lower case, values in backticks, and what to do next.
    pub message: String,
    /// Facts for programs, sent as the JSON-RPC error's `data`.
    pub data: Option<serde_json::Value>,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

/// How a message about an argument begins.
const INVALID_PARAMS: &str = "Invalid params: ";

/// How a message about a full disk begins.
const DISK_FULL: &str = "disk full: nothing was changed";

impl Error {
    /// An error with this code and message.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None, source: None }
    }

    /// A missing, unknown or wrong argument.
    pub fn invalid_params(message: impl fmt::Display) -> Self {
        Self::new(Code::InvalidParams, format!("{INVALID_PARAMS}{message}"))
    }

    /// The message without what the protocol puts before it: for the shell, and for a message
    /// within another.
    pub fn plain(&self) -> &str {
        self.message.strip_prefix(INVALID_PARAMS).unwrap_or(&self.message)
    }

    /// Not a request, or a card that does not exist.
    pub fn invalid_request(message: impl Into<String>) -> Self {
        Self::new(Code::InvalidRequest, message)
    }

    /// No such method, tool or item for this caller.
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(Code::NotFound, message)
    }

    /// A limit of the configuration was reached.
    pub fn limit(message: impl Into<String>) -> Self {
        Self::new(Code::Limit, message)
    }

    /// The caller's credit does not cover the call.
    pub fn payment(message: impl Into<String>) -> Self {
        Self::new(Code::Payment, message)
    }

    /// A failure outside: a model provider, a clone, a build.
    pub fn outside(message: impl Into<String>) -> Self {
        Self::new(Code::Outside, message)
    }

    /// What the caller read has changed since.
    pub fn conflict(message: impl Into<String>) -> Self {
        Self::new(Code::Conflict, message)
    }

    /// Storage cannot be used at the moment.
    pub fn storage(message: impl Into<String>) -> Self {
        Self::new(Code::Storage, message)
    }

    /// A person's file is missing, empty or damaged.
    pub fn damaged(message: impl Into<String>) -> Self {
        Self::new(Code::Damaged, message)
    }

    /// A write that did not fit on the disk. Every write here replaces a file or commits a
    /// transaction as a whole, so a failed one has changed nothing.
    pub fn disk_full(what: impl fmt::Display) -> Self {
        Self::storage(format!("{DISK_FULL}; free space and try again (could not {what})"))
    }

    /// Whether this is what [`Self::disk_full`] makes.
    pub fn is_disk_full(&self) -> bool {
        self.code == Code::Storage && self.message.starts_with(DISK_FULL)
    }

    /// A folder in which this process can make no file: full, read-only, or another account's.
    pub fn unwritable(folder: &Path, what: impl fmt::Display, error: io::Error) -> Self {
        let shown = folder.display();
        let made = match error.kind() {
            _ if is_disk_full(&error) => Self::disk_full(format_args!(
                "{what}: no new file fits into `{shown}`; `df` and `df -i` show what is used up"
            )),
            io::ErrorKind::ReadOnlyFilesystem => Self::storage(format!(
                "could not {what}: `{shown}` is on a read-only file system; nothing was changed. Mount it writable, or name another folder with `--data DIR`"
            )),
            io::ErrorKind::PermissionDenied => Self::storage(format!(
                "could not {what}: this account may not write to `{shown}`; nothing was changed. Give it that right, or name another folder with `--data DIR`"
            )),
            _ => Self::storage(format!("could not {what}: `{shown}` cannot be written: {error}")),
        };
        made.with_source(error)
    }

    /// What failed, without the words that nothing was changed: for a failure after something was.
    pub fn reason(&self) -> &str {
        let reason = self.message.split("nothing was changed").next().unwrap_or_default();
        reason.trim_end_matches([' ', ':', ';', ','])
    }

    /// A fault here. The caller gets an id, the log the cause.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(Code::Internal, message)
    }

    /// Adds the cause, for the log.
    pub fn with_source(
        mut self,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        self.source = Some(source.into());
        self
    }

    /// Adds the id under which the log has this fault. It is not logged again.
    pub fn with_incident(self, id: String) -> Self {
        self.with_data(serde_json::json!({ "incident": id }))
    }

    /// The id under which the log has this fault, if it was logged.
    pub fn incident(&self) -> Option<&str> {
        self.data.as_ref()?.get("incident")?.as_str()
    }

    /// Adds facts for programs.
    pub fn with_data(mut self, data: serde_json::Value) -> Self {
        self.data = Some(data);
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code.as_str(), self.message)?;
        let mut cause = std::error::Error::source(self);
        while let Some(error) = cause {
            write!(f, ": {error}")?;
            cause = error.source();
        }
        Ok(())
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_ref().map(|source| source.as_ref() as _)
    }
}

/// Says what was being done when a foreign error happened: `.doing("read the vault")?`.
pub trait Doing<T> {
    /// The failure is ours: storage, index or file system.
    fn doing(self, what: impl fmt::Display) -> Result<T>;
}

impl<T, E> Doing<T> for std::result::Result<T, E>
where
    E: std::error::Error + Send + Sync + 'static,
{
    fn doing(self, what: impl fmt::Display) -> Result<T> {
        self.map_err(|error| {
            let full = is_disk_full(&error);
            let described = match full {
                true => Error::disk_full(what),
                false => Error::internal(format!("could not {what}: {error}")),
            };
            described.with_source(error)
        })
    }
}

/// Whether an I/O error behind this one says that the disk, or the caller's share of it, is full.
fn is_disk_full(error: &(dyn std::error::Error + 'static)) -> bool {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(error) = error.downcast_ref::<io::Error>() {
            use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
            return matches!(error.kind(), StorageFull | QuotaExceeded | FileTooLarge);
        }
        next = error.source();
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_told_and_any_other_fault_is_not() {
        let fail = |kind| Err::<(), _>(io::Error::from(kind)).doing("write `x`").unwrap_err();
        let full = fail(io::ErrorKind::StorageFull);
        assert_eq!((full.code, full.code.json_rpc()), (Code::Storage, -32603));
        assert!(full.message.starts_with("disk full: nothing was changed"), "{full}");
        assert_eq!(full.reason(), "disk full");
        assert_eq!(fail(io::ErrorKind::PermissionDenied).code, Code::Internal);
    }

    #[test]
    fn a_folder_that_cannot_be_written_names_the_remedy() {
        let said = |kind| {
            let error = Error::unwritable(Path::new("/d"), "open `/d/x`", io::Error::from(kind));
            assert_eq!(error.code, Code::Storage);
            error.message
        };
        let denied = said(io::ErrorKind::PermissionDenied);
        assert!(denied.contains("this account may not write to `/d`"), "{denied}");
        assert!(denied.contains("`--data DIR`"), "{denied}");
        assert!(said(io::ErrorKind::ReadOnlyFilesystem).contains("read-only file system"));
        assert!(said(io::ErrorKind::StorageFull).starts_with(DISK_FULL));
    }
}
