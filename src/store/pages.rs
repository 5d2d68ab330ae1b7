//! What is known of the pages of each vault: where they are, what they were when last read, and
//! what their frontmatter says. The texts themselves, behind [`Texts`](super::Texts), are the truth.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::domain::{Error, Page, Pid, Result, Timestamp, Visible};

use super::items::Synced;

/// A vault that this library reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VaultRow {
    /// Unique in the library.
    pub name: String,
    /// Where its texts are. Only the implementation of [`Texts`](super::Texts) that reads them
    /// interprets it; a folder's is its absolute path, a hosted vault's `hosted:` and its name.
    pub location: String,
    /// Whether changes are looked for at intervals, because nobody reports them.
    pub poll: bool,
    /// When it was last read whole.
    pub seen: Option<Timestamp>,
    /// Why it could not be read at the last look. Its notes stay in the library meanwhile.
    pub problem: Option<VaultProblem>,
    /// Whose pages it holds.
    pub authorship: Authorship,
}

impl VaultRow {
    /// Whether its files are in the library's database instead of a folder.
    pub fn is_hosted(&self) -> bool {
        self.location.starts_with(super::hosted::SCHEME)
    }
}

/// Who decides which author a page of a vault has.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Authorship {
    /// The page, with `author` in its frontmatter.
    #[default]
    Frontmatter,
    /// Nobody: its pages have no author.
    Nobody,
    /// The vault: every page is this user's, whatever it says.
    Vault(String),
}

impl Authorship {
    /// The author of a page that names this one.
    pub fn author_of(&self, written: Option<String>) -> Option<String> {
        match self {
            Self::Frontmatter => written,
            Self::Nobody => None,
            Self::Vault(author) => Some(author.clone()),
        }
    }

    /// How a database keeps it: the vault's author, an empty text for nobody.
    pub(super) fn to_column(&self) -> Option<&str> {
        match self {
            Self::Frontmatter => None,
            Self::Nobody => Some(""),
            Self::Vault(author) => Some(author),
        }
    }

    /// Reads what [`to_column`](Self::to_column) gave.
    pub(super) fn from_column(author: Option<String>) -> Self {
        match author {
            None => Self::Frontmatter,
            Some(author) if author.is_empty() => Self::Nobody,
            Some(author) => Self::Vault(author),
        }
    }
}

/// Why a vault was not read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VaultProblem {
    /// Its location is not there or cannot be listed; the sentence says why.
    Unreadable(String),
    /// It had notes and has none now. Perhaps a drive is not mounted; until a person says that the
    /// notes are gone, they are not.
    Empty,
}

/// How a database keeps [`VaultProblem::Empty`].
const EMPTY: &str = "empty";

impl VaultProblem {
    /// How a database keeps it.
    pub(super) fn to_column(&self) -> &str {
        match self {
            Self::Unreadable(why) => why,
            Self::Empty => EMPTY,
        }
    }

    /// Reads what [`to_column`](Self::to_column) gave.
    pub(super) fn from_column(problem: String) -> Self {
        match problem.as_str() {
            EMPTY => Self::Empty,
            _ => Self::Unreadable(problem),
        }
    }
}

/// A file of a vault that is not in the library, or not as it is now.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Skipped {
    /// The vault.
    pub vault: String,
    /// The path in the vault.
    pub path: String,
    /// One word, as `vault::Reason::kind` gives it; empty for what an older version recorded.
    pub kind: String,
    /// A sentence.
    pub reason: String,
}

/// A page as it was when last read.
#[derive(Debug, Clone, PartialEq)]
pub struct PageRow {
    /// The item.
    pub pid: Pid,
    /// The vault.
    pub vault: String,
    /// The path in the vault.
    pub path: String,
    /// Bytes of the file.
    pub size: u64,
    /// Modification time in nanoseconds.
    pub mtime_ns: i64,
    /// SHA-256 of the text.
    pub hash: [u8; 32],
    /// What the page says of itself, with the author that its vault allows.
    pub facts: Facts,
    /// Who decides on its author.
    pub authorship: Authorship,
}

/// What a page says of itself and where it links to, as of its last reading.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    /// Frontmatter, title and tags.
    pub page: Page,
    /// The targets of its links within the vault, as written.
    pub links: Vec<String>,
    /// The headings of its first level, for an overview.
    #[serde(default)]
    pub toc: Vec<String>,
    /// How long reading it took, when that was long enough to report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slow_ms: Option<u64>,
}

/// One thing that happened to a page.
#[derive(Debug, Clone, PartialEq)]
pub enum PageChange {
    /// New, changed or moved: `pid` is given when the page is known.
    #[allow(missing_docs, reason = "described above")]
    Put { pid: Option<Pid>, page: Box<NewPage> },
    /// Same content, other size or modification time: remembered, not logged.
    #[allow(missing_docs, reason = "described above")]
    Touched { pid: Pid, size: u64, mtime_ns: i64 },
    /// It is not at its path any more. A page that is elsewhere stays, and so does one that the
    /// change log has after `as_of`: somebody recorded it since the writer looked. `None` is for
    /// writers who took the page away themselves.
    #[allow(missing_docs, reason = "described above")]
    Gone { pid: Pid, vault: String, path: String, as_of: Option<i64> },
    /// It could not be read for a while and can again: logged, so that the index reads it.
    #[allow(missing_docs, reason = "described above")]
    Readable { pid: Pid },
}

/// A page as it was just read.
#[derive(Debug, Clone, PartialEq)]
pub struct NewPage {
    /// The vault.
    pub vault: String,
    /// The path in the vault.
    pub path: String,
    /// Bytes of the file.
    pub size: u64,
    /// Modification time in nanoseconds.
    pub mtime_ns: i64,
    /// SHA-256 of the text.
    pub hash: [u8; 32],
    /// What the page says of itself.
    pub facts: Facts,
}

impl NewPage {
    /// The page's key in the registry.
    pub(super) fn key(&self) -> String {
        format!("{}/{}", self.vault, self.path)
    }

    /// The first bytes of the content's hash: equal content, equal stamp.
    pub(super) fn stamp(&self) -> i64 {
        let mut first = [0; 8];
        first.copy_from_slice(&self.hash[..8]);
        i64::from_le_bytes(first)
    }
}

/// The vaults that changes put pages into.
pub(super) fn vaults_of(changes: &[PageChange]) -> BTreeSet<&str> {
    let put = changes.iter().filter_map(|change| match change {
        PageChange::Put { page, .. } => Some(page.vault.as_str()),
        _ => None,
    });
    put.collect()
}

/// The refusal of a vault that was removed meanwhile.
pub(super) fn removed_vault(vault: &str) -> Error {
    Error::not_found(format!("the vault `{vault}` is not in the library any more"))
}

/// Keeps the vaults and what is known of their pages.
pub trait Pages: Send + Sync {
    /// Every vault, by name.
    fn vaults(&self) -> Result<Vec<VaultRow>>;

    /// Adds a vault. A known location keeps its name; a name that is taken gets a number.
    fn add_vault(&self, name: &str, location: &str, poll: bool) -> Result<VaultRow>;

    /// Sets where the texts of a vault are. The next look says whether they can be read there.
    fn move_vault(&self, name: &str, location: &str) -> Result<()>;

    /// Forgets a vault; its pages leave the library, its texts stay where they are.
    fn remove_vault(&self, name: &str) -> Result<bool>;

    /// Sets whose pages a vault holds. A change is logged for every page of the vault, so that
    /// derived state follows.
    fn set_authorship(&self, vault: &str, authorship: &Authorship) -> Result<()>;

    /// Records a look that read the vault.
    fn mark_seen(&self, vault: &str, when: Timestamp) -> Result<()>;

    /// Records a look that could not read the vault, or that nothing is wrong any more.
    fn set_problem(&self, vault: &str, problem: Option<&VaultProblem>) -> Result<()>;

    /// The live page of this number.
    fn get(&self, pid: Pid) -> Result<Option<PageRow>>;

    /// The live pages of these numbers in the order asked for, as of one moment. Others are left
    /// out.
    fn get_many(&self, pids: &[Pid]) -> Result<Vec<PageRow>>;

    /// The live page at this path.
    fn find(&self, vault: &str, path: &str) -> Result<Option<PageRow>>;

    /// Every live page of a vault, by path.
    fn of_vault(&self, vault: &str) -> Result<Vec<PageRow>>;

    /// Live pages of a vault whose content has one of these hashes.
    fn with_content(&self, vault: &str, hashes: &[[u8; 32]]) -> Result<Vec<PageRow>>;

    /// How many live pages a vault has.
    fn count_of(&self, vault: &str) -> Result<u64>;

    /// Live pages of a part of the library by pid, after `after`.
    fn list(&self, after: Option<Pid>, limit: usize, visible: &Visible) -> Result<Vec<PageRow>>;

    /// Every page that is a method, by vault and path.
    fn methods(&self) -> Result<Vec<PageRow>>;

    /// Every live page whose file has this name, in any folder but the top one, by vault and path.
    fn named(&self, file_name: &str) -> Result<Vec<PageRow>> {
        let ending = format!("/{file_name}");
        let mut rows = self.list(None, usize::MAX, &Visible::everything())?;
        rows.retain(|row| row.path.ends_with(&ending));
        rows.sort_by(|a, b| (&a.vault, &a.path).cmp(&(&b.vault, &b.path)));
        Ok(rows)
    }

    /// Applies changes and logs them, in one transaction. Order matters: a move frees its old path.
    /// A page of a vault that is not registered is refused, and then nothing changes.
    fn apply(&self, changes: &[PageChange]) -> Result<Synced>;

    /// What a walk left out: replaces what was recorded for that vault, or, with `looked_at`, for
    /// these paths of it. Nothing of a vault that is not registered is recorded.
    fn set_skipped(
        &self,
        vault: &str,
        looked_at: Option<&[String]>,
        skipped: &[Skipped],
    ) -> Result<()>;

    /// Every file that was left out, by vault and path.
    fn skipped(&self) -> Result<Vec<Skipped>>;
}
