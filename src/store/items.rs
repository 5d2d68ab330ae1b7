//! The registry of every item, and the change log that derived indexes follow.

use crate::domain::{Kind, Pid, Result};

/// An item in the registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// The item's number.
    pub pid: Pid,
    /// Its kind.
    pub kind: Kind,
    /// What the item is called where it lives: `vault/path.md`, a card's id, a prompt's name.
    pub key: String,
    /// Its position in the change log.
    pub stamp: i64,
    /// Whether it was deleted.
    pub gone: bool,
}

/// What a comparison with the place where items live has found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Synced {
    /// New items.
    pub new: usize,
    /// Changed items.
    pub changed: usize,
    /// Deleted items.
    pub gone: usize,
}

impl Synced {
    /// Whether anything changed.
    pub fn any(self) -> bool {
        self != Self::default()
    }
}

impl std::ops::AddAssign for Synced {
    fn add_assign(&mut self, more: Self) {
        self.new += more.new;
        self.changed += more.changed;
        self.gone += more.gone;
    }
}

/// The registry of items with its change log.
pub trait Items: Send + Sync {
    /// The item of this number, also when it is gone.
    fn get(&self, pid: Pid) -> Result<Option<Item>>;

    /// The items of these numbers in the order asked for, as of one moment. Numbers that nobody
    /// has are left out.
    fn get_many(&self, pids: &[Pid]) -> Result<Vec<Item>>;

    /// The live item of that kind and key.
    fn find(&self, kind: Kind, key: &str) -> Result<Option<Item>>;

    /// Live items of a kind (of every kind with `None`), by pid, starting after `after`.
    fn list(&self, kind: Option<Kind>, after: Option<Pid>, limit: usize) -> Result<Vec<Item>>;

    /// How many live items there are of a kind (of every kind with `None`).
    fn count(&self, kind: Option<Kind>) -> Result<u64>;

    /// Records that one item is there with this stamp. Logs a change only when there is one.
    fn record(&self, kind: Kind, key: &str, stamp: i64) -> Result<Pid>;

    /// Records that one item is gone.
    fn remove(&self, kind: Kind, key: &str) -> Result<Option<Pid>>;

    /// Makes the registry equal to all that there is of a kind: key and stamp of each.
    fn sync(&self, kind: Kind, all: &[(String, i64)]) -> Result<Synced>;

    /// Forgets what the items of a kind were, and logs nothing: the next [`Self::sync`] logs each
    /// that is there. For items that could not be read when the index asked for them.
    fn forget_stamps(&self, kind: Kind) -> Result<()>;

    /// Entries of the log after `after`, ascending.
    fn changes(&self, after: i64, limit: usize) -> Result<Vec<(i64, Pid)>>;

    /// The number of the newest entry; 0 when there is none.
    fn head(&self) -> Result<i64>;

    /// The newest entry that any process was acknowledged. A replica may not have read it yet;
    /// everything else here is as of [`Self::head`].
    fn acknowledged(&self) -> Result<i64> {
        self.head()
    }

    /// Why the store behind a replica cannot be reached now, as a sentence. What is read then is as
    /// of the last time that it could.
    fn absence(&self) -> Option<String> {
        None
    }

    /// Whether the copy of a replica has no room on its disk for what was written since. Writes
    /// still reach the store.
    fn is_full(&self) -> bool {
        false
    }

    /// The number that this library drew when it was made. No other library has it.
    fn library(&self) -> Result<i64>;
}
