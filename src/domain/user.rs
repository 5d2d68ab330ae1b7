//! Who is calling, and which part of the library was granted to them. What follows from that for a
//! request is decided in `app::rights`.

use std::sync::Arc;

use super::{Author, Error, Kind, Page, Result, author::fold, query::words, visible::fold_label};

words!(
    /// What a token opens that belongs to no user.
    Scope, "scope", { Owner = "owner", Reader = "reader" }
);

words!(
    /// What a caller is to the library. Logs and metrics name callers by this word.
    Role, "role", {
        Owner = "owner",
        Author = "author",
        Reader = "reader",
        Anonymous = "anonymous",
    }
);

/// The number of an account. Never given to another account.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct UserId(pub i64);

/// The name of an account: 1 to 39 of the letters a-z, digits and `-`, as it stands in addresses.
/// Names that differ only in case are the same name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct UserName(String);

/// Names that are parts of the server's own addresses.
const RESERVED_NAMES: &[&str] = &["admin", "anonymous", "api", "mcp", "me", "owner", "system"];

impl UserName {
    /// Checks and folds a name.
    pub fn new(text: &str) -> Result<Self> {
        let name = fold(text.trim().trim_start_matches('@'));
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        let is_well_formed = (1..=39).contains(&name.len())
            && name.chars().all(plain)
            && !name.starts_with('-')
            && !name.ends_with('-');
        if !is_well_formed {
            return Err(Error::invalid_params(format!(
                "`{text}` cannot be a user's name; use 1 to 39 of the letters a-z, digits and `-`, with a letter or digit at both ends"
            )));
        }
        if RESERVED_NAMES.contains(&name.as_str()) {
            return Err(Error::invalid_params(format!(
                "`{name}` is a word of the server's own addresses; choose another name"
            )));
        }
        Ok(Self(name))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for UserName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a credential may be used for. The user's own rights are the upper bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scopes {
    /// Read.
    pub read: bool,
    /// Add, change and delete.
    pub write: bool,
    /// Spend credit on paid methods.
    pub market: bool,
}

impl Scopes {
    /// Everything a credential can be used for.
    pub const ALL: Scopes = Scopes { read: true, write: true, market: true };
    /// Nothing.
    pub const NONE: Scopes = Scopes { read: false, write: false, market: false };

    /// Reads words separated by spaces or commas. `offline_access`, which OAuth clients add, and
    /// empty words are skipped; any other word is an error.
    pub fn parse(text: &str) -> Result<Self> {
        let mut scopes = Self::NONE;
        for word in text.split([' ', ',']).filter(|word| !word.is_empty()) {
            match word {
                "read" => scopes.read = true,
                "write" => scopes.write = true,
                "market" => scopes.market = true,
                "offline_access" => {}
                _ => {
                    return Err(Error::invalid_params(format!(
                        "scope `{word}` is not one of read, write, market"
                    )));
                }
            }
        }
        Ok(scopes)
    }

    /// What both allow.
    pub fn and(self, other: Self) -> Self {
        Self {
            read: self.read && other.read,
            write: self.write && other.write,
            market: self.market && other.market,
        }
    }
}

impl std::fmt::Display for Scopes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let words = [(self.read, "read"), (self.write, "write"), (self.market, "market")];
        let words: Vec<&str> =
            words.iter().filter(|(has, _)| *has).map(|(_, word)| *word).collect();
        f.write_str(&words.join(" "))
    }
}

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
    /// The account; `None` for a token that belongs to no account.
    pub id: Option<UserId>,
    /// The account's name, or the name of the token.
    pub name: String,
    /// What the user is to the library.
    pub role: Role,
    /// What the user may read and write, besides what everybody may.
    pub grants: Arc<[Grant]>,
    /// What the credential of this request may be used for.
    pub scopes: Scopes,
}

/// A part of the library that somebody may read and, perhaps, write.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
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
    /// What every user with an account may read.
    pub const MEMBERS: Grant = Grant { extent: Extent::Members, write: false };
}

/// A part of the library.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Extent {
    /// Every item.
    All,
    /// The pages that say `free: true`.
    Free,
    /// The pages that say `access: members`.
    Members,
    /// The pages of a vault.
    Vault(String),
    /// The pages below a folder of a vault.
    Folder {
        /// The vault.
        vault: String,
        /// The folder, without a slash at its ends.
        folder: String,
    },
    /// The pages, cards and bookmarks with this label, folded as `fold_label` does.
    Label(String),
    /// The pages of an author.
    Author(Author),
    /// Every item of a kind.
    Kind(Kind),
}

impl Extent {
    /// Whether a page is in this part.
    pub fn has_page(&self, page: &Page) -> bool {
        match self {
            Extent::All => true,
            Extent::Free => page.free,
            Extent::Members => page.members,
            Extent::Vault(vault) => page.vault == *vault,
            Extent::Folder { vault, folder } => {
                let below = page.path.as_str().strip_prefix(folder.as_str());
                page.vault == *vault && below.is_some_and(|rest| rest.starts_with('/'))
            }
            Extent::Label(label) => page.labels.iter().any(|own| fold_label(own) == *label),
            Extent::Author(author) => author.is_called(page.author.as_deref()),
            Extent::Kind(kind) => *kind == Kind::Page,
        }
    }

    /// Whether items of a kind can be in this part.
    pub fn has_kind(&self, kind: Kind) -> bool {
        match self {
            Extent::All => true,
            Extent::Kind(own) => *own == kind,
            Extent::Label(_) => kind != Kind::Prompt,
            Extent::Free
            | Extent::Members
            | Extent::Vault(_)
            | Extent::Folder { .. }
            | Extent::Author(_) => kind == Kind::Page,
        }
    }
}

impl std::fmt::Display for Extent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Extent::All => f.write_str("everything"),
            Extent::Free => f.write_str("the pages with `free: true`"),
            Extent::Members => f.write_str("the pages with `access: members`"),
            Extent::Vault(vault) => write!(f, "the vault `{vault}`"),
            Extent::Folder { vault, folder } => {
                write!(f, "the folder `{folder}/` of the vault `{vault}`")
            }
            Extent::Label(label) => write!(f, "what has the label `{label}`"),
            Extent::Author(author) => write!(f, "the pages of the author `{}`", author.as_str()),
            Extent::Kind(kind) => write!(f, "every {kind}"),
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
    pub fn grants(&self) -> impl Iterator<Item = &Grant> + '_ {
        let (own, has_account): (&[Grant], bool) = match self {
            Caller::Owner => (&[Grant::EVERYTHING], true),
            Caller::User(user) if user.role == Role::Owner => {
                (&[Grant::EVERYTHING], user.id.is_some())
            }
            Caller::User(user) => (&user.grants, user.id.is_some()),
            Caller::Anonymous => (&[], false),
        };
        own.iter().chain(has_account.then_some(&Grant::MEMBERS)).chain([&Grant::FREE])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_name_is_safe_in_an_address() {
        assert_eq!(UserName::new(" @Mira-2 ").unwrap().as_str(), "mira-2");
        for bad in ["", "-a", "a-", "a b", "a/b", "анна", "..", "mcp", "a_b", &"a".repeat(40)] {
            assert!(UserName::new(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn an_account_of_an_owner_needs_no_grant() {
        let user = |role| {
            Caller::User(User {
                id: Some(UserId(1)),
                name: "olga".to_owned(),
                role,
                grants: [].into(),
                scopes: Scopes::ALL,
            })
        };
        assert!(user(Role::Owner).grants().any(|grant| *grant == Grant::EVERYTHING));
        assert!(!user(Role::Reader).grants().any(|grant| *grant == Grant::EVERYTHING));
    }

    #[test]
    fn scopes_are_words() {
        let scopes = Scopes::parse("write  read, offline_access").unwrap();
        assert_eq!(scopes.to_string(), "read write");
        assert_eq!(scopes.and(Scopes { market: true, ..Scopes::NONE }), Scopes::NONE);
        assert!(Scopes::parse("admin").is_err());
    }
}
