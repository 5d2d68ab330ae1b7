//! Who is calling, and what a token lets them do.

use std::fmt;

use super::query::words;

words!(
    /// What a token opens.
    Scope, "scope", { Owner = "owner", Reader = "reader" }
);

/// Who is behind a request. A wrong token is refused before there is a caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Caller {
    /// Whoever runs the process, or holds an owner token: everything.
    Owner,
    /// Holds a reader token: what is free, plus what was granted to that name.
    Reader { name: String },
    /// HTTP without a token: only what is free.
    Anonymous,
}

impl Caller {
    pub fn is_owner(&self) -> bool {
        matches!(self, Caller::Owner)
    }

    /// The word used in logs and metrics.
    pub fn role(&self) -> &'static str {
        match self {
            Caller::Owner => "owner",
            Caller::Reader { .. } => "reader",
            Caller::Anonymous => "anonymous",
        }
    }
}

impl fmt::Display for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.role())
    }
}
