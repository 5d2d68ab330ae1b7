//! Who is calling, and which part of the library was granted to them. What follows from that for a
//! request is decided in `app::rights`.

use super::{Kind, Page, query::words};

words!(
    /// What a token opens.
    Scope, "scope", { Owner = "owner", Reader = "reader" }
);

words!(
    /// What a caller is to the library. Logs and metrics name callers by this word.
    Role, "role", { Owner = "owner", Reader = "reader", Anonymous = "anonymous" }
);

/// Who is behind a request. A wrong token is refused before there is a caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Caller {
    /// Whoever runs the process.
    Owner,
    /// Somebody who proved who they are.
    User(User),
    /// A caller over HTTP without a token.
    Anonymous,
}

/// Somebody with a credential.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    /// The number of the credential.
    pub id: i64,
    /// The name that the owner gave it.
    pub name: String,
    /// What the user is to the library.
    pub role: Role,
    /// What the user may read and write, besides what everybody may.
    pub grants: Vec<Grant>,
}

/// A part of the library that somebody may read and, perhaps, write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grant {
    /// Which part.
    pub extent: Extent,
    /// Whether it may be changed.
    pub write: bool,
}

impl Grant {
    /// The whole library, to read and write.
    pub const EVERYTHING: Grant = Grant { extent: Extent::All, write: true };
    /// What everybody may read.
    pub const FREE: Grant = Grant { extent: Extent::Free, write: false };
}

/// A part of the library.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// Every item.
    All,
    /// The pages that say `free: true`.
    Free,
}

impl Extent {
    /// Whether a page is in this part.
    pub fn has_page(self, page: &Page) -> bool {
        match self {
            Extent::All => true,
            Extent::Free => page.free,
        }
    }

    /// Whether items of a kind can be in this part.
    pub fn has_kind(self, kind: Kind) -> bool {
        match self {
            Extent::All => true,
            Extent::Free => kind == Kind::Page,
        }
    }
}

impl Caller {
    /// What the caller is to the library.
    pub fn role(&self) -> Role {
        match self {
            Caller::Owner => Role::Owner,
            Caller::User(user) => user.role,
            Caller::Anonymous => Role::Anonymous,
        }
    }

    /// Every part of the library that the caller may use. What everybody may read is among them.
    pub fn grants(&self) -> impl Iterator<Item = Grant> + '_ {
        let own: &[Grant] = match self {
            Caller::Owner => &[Grant::EVERYTHING],
            Caller::User(user) => &user.grants,
            Caller::Anonymous => &[],
        };
        own.iter().copied().chain([Grant::FREE])
    }
}
