//! The journal: every change that Notewell makes to an item, with the content before and after it.
//!
//! A write outside the library's database (a note, a card, a prompt) goes in four steps: take the
//! [`Turn`], [`Revisions::begin`], write, [`Revisions::finish`]. `begin` is durable before the
//! first file is touched, so that there is never a change without its way back. After a crash,
//! [`Revisions::pending`] lists the changes that were begun and not finished; whoever holds the
//! turn completes or abandons them.
//!
//! A write inside the library's database records its revisions in its own transaction.

use std::{
    fmt,
    fs::File,
    sync::{Mutex, MutexGuard, PoisonError, TryLockError},
    time::{Duration, Instant},
};

use crate::domain::{Error, Kind, Pid, Result, Timestamp, error::Doing};

/// The number of a change. Later changes have higher numbers; none is given twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ChangeId(pub i64);

impl fmt::Display for ChangeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Who makes a change, and with which tool or command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Actor {
    /// The user, `owner` or `shell`.
    pub who: String,
    /// The tool or command.
    pub tool: String,
}

impl Actor {
    /// An actor.
    pub fn new(who: impl Into<String>, tool: impl Into<String>) -> Self {
        Self { who: who.into(), tool: tool.into() }
    }

    /// Somebody at the shell, with this command.
    pub fn shell(command: &str) -> Self {
        Self::new("shell", command)
    }
}

/// A change that is being made. It has a number once a revision was recorded in it; an import
/// records one batch after another under the same number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewChange {
    /// Who changes.
    pub actor: Actor,
    /// One line, for lists.
    pub summary: String,
    /// The change that this one reverts.
    pub undoes: Option<ChangeId>,
    /// What is recorded now reverts only a part of it: more follows under the same number.
    pub in_part: bool,
    /// The change to continue; `None` for a new one.
    pub id: Option<ChangeId>,
}

impl NewChange {
    /// A change without revisions.
    pub fn new(actor: &Actor, summary: impl Into<String>) -> Self {
        let (actor, summary) = (actor.clone(), summary.into());
        Self { actor, summary, undoes: None, in_part: false, id: None }
    }

    /// The number that the journal keeps of the change that this one reverts. It is below zero while
    /// only a part is reverted, so that the change does not count as undone.
    pub(super) fn mark(&self) -> Option<i64> {
        self.undoes.map(|id| if self.in_part { -id.0 } else { id.0 })
    }
}

/// What one change did to one item. The contents are what the item's kind makes of it: the bytes
/// of a note, JSON of a card, a bookmark or a prompt. `None` where the item did not exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revision {
    /// `None` until the item is in the registry; filled in from there when the change is finished
    /// or the item is asked for.
    pub pid: Option<Pid>,
    /// The item's kind.
    pub kind: Kind,
    /// The key in the registry: `vault/path.md`, a card's id, a bookmark's id, a prompt's name.
    pub key: String,
    /// The key after the change, where it is another one.
    pub moved_to: Option<String>,
    /// The content before; `None` where it did not exist.
    pub before: Option<Vec<u8>>,
    /// The content after; `None` where it was deleted.
    pub after: Option<Vec<u8>>,
}

impl Revision {
    /// Whether the change left the item as it was.
    pub fn is_empty(&self) -> bool {
        self.before == self.after && self.moved_to.is_none()
    }

    /// The key under which the item is found after the change.
    pub fn key_after(&self) -> &str {
        self.moved_to.as_deref().unwrap_or(&self.key)
    }
}

/// The revisions that change something.
pub(super) fn not_empty(revisions: &[Revision]) -> impl Iterator<Item = &Revision> {
    revisions.iter().filter(|revision| !revision.is_empty())
}

/// The number below which a list goes on: that of `before`, or any.
pub(super) fn below(before: Option<ChangeId>) -> i64 {
    before.map_or(i64::MAX, |id| id.0)
}

/// A change as the journal lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Its number.
    pub id: ChangeId,
    /// When.
    pub at: Timestamp,
    /// Who.
    pub actor: Actor,
    /// One line.
    pub summary: String,
    /// The change that it reverts.
    pub undoes: Option<ChangeId>,
    /// Only a part of it is reverted yet: whoever undoes it continues this change.
    pub in_part: bool,
    /// It was begun and is not finished.
    pub pending: bool,
    /// How many items it changed.
    pub revisions: usize,
}

/// Revisions of a change that is not finished: those from an index on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PendingChange {
    /// The change.
    pub id: ChangeId,
    /// Index of its first revision.
    pub first: usize,
}

/// How much the journal may keep. The newest change and pending ones always stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// Age in days.
    pub days: u32,
    /// Number of changes.
    pub changes: u64,
    /// Compressed size.
    pub bytes: u64,
}

/// How much the journal keeps.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct JournalSize {
    /// Number of changes.
    pub changes: u64,
    /// Number of revisions.
    pub revisions: u64,
    /// Of the compressed contents.
    pub bytes: u64,
    /// The oldest change.
    pub oldest: Option<Timestamp>,
}

/// The right to write outside the database: one writer at a time, in this process and in others.
/// The system releases it when its holder dies, so a pending change seen by the holder of the turn
/// is nobody's any more.
pub struct Turn<'a> {
    // Released first.
    lock: Box<dyn Exclusive + 'a>,
    _process: MutexGuard<'a, ()>,
}

/// A lock that other processes respect, held until it is dropped.
pub trait Exclusive {
    /// An error if the lock was lost.
    fn check(&self) -> Result<()>;
}

/// The system holds the lock of a file as long as the file is open.
impl Exclusive for File {
    fn check(&self) -> Result<()> {
        Ok(())
    }
}

const LOCK: &str = "lock the library for writing";
/// A disk that others write to may stall for many seconds.
const TURN_WAIT: Duration = Duration::from_secs(30);
const TURN_RETRY: Duration = Duration::from_millis(2);

impl<'a> Turn<'a> {
    /// The turn of whoever holds both locks.
    pub fn new(process: MutexGuard<'a, ()>, lock: impl Exclusive + 'a) -> Self {
        Self { lock: Box::new(lock), _process: process }
    }

    /// An error if the turn was lost, with the connection that held it.
    pub fn check(&self) -> Result<()> {
        self.lock.check()
    }

    /// Takes the turn if nobody has it.
    pub fn try_take(process: &'a Mutex<()>, file: File) -> Result<Option<Self>> {
        let process = match process.try_lock() {
            Ok(process) => process,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return Ok(None),
        };
        match file.try_lock() {
            Ok(()) => Ok(Some(Self::new(process, file))),
            Err(std::fs::TryLockError::WouldBlock) => Ok(None),
            Err(std::fs::TryLockError::Error(error)) => Err(error).doing(LOCK),
        }
    }

    /// Waits for the turn: first among the threads of this process, then for the lock on `file`.
    pub fn take(process: &'a Mutex<()>, file: File) -> Result<Self> {
        let process = process.lock().unwrap_or_else(PoisonError::into_inner);
        let deadline = Instant::now() + TURN_WAIT;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Self::new(process, file)),
                Err(std::fs::TryLockError::WouldBlock) if Instant::now() < deadline => {
                    std::thread::sleep(TURN_RETRY);
                }
                Err(std::fs::TryLockError::WouldBlock) => {
                    return Err(Error::storage(
                        "another Notewell process is writing to this library; try again",
                    ));
                }
                Err(std::fs::TryLockError::Error(error)) => {
                    return Err(error).doing(LOCK);
                }
            }
        }
    }
}

/// The journal of changes: contents before and after, for every kind of item.
pub trait Revisions: Send + Sync {
    /// Waits until nobody else writes outside the database.
    fn turn(&self) -> Result<Turn<'_>>;

    /// As [`Self::turn`], without waiting; `None` when somebody else has it.
    fn try_turn(&self) -> Result<Option<Turn<'_>>>;

    /// Records revisions as pending, under the change's number or a new one. Durable when this
    /// returns. Contents that are not known yet may be left `None` and given to `finish_as`.
    fn begin(
        &self,
        turn: &Turn<'_>,
        change: &mut NewChange,
        revisions: &[Revision],
    ) -> Result<PendingChange>;

    /// Marks what was begun as done, as it was begun.
    fn finish(&self, begun: PendingChange) -> Result<()>;

    /// Marks what was begun as done, with these revisions in the place of those begun. Empty ones
    /// are left out; a change that has none is removed. Where nothing of it happened, what the
    /// change did before reverts only a part. Returns whether the change remains.
    fn finish_as(&self, begun: PendingChange, revisions: &[Revision]) -> Result<bool>;

    /// Forgets what was begun: it did not happen.
    fn abandon(&self, begun: PendingChange) -> Result<()>;

    /// What was begun and not finished, oldest first. Only the holder of the turn may act on it.
    fn pending(&self) -> Result<Vec<PendingChange>>;

    /// One change.
    fn get(&self, id: ChangeId) -> Result<Option<Change>>;

    /// The revisions of a change from the number `from` on, with their contents. A page ends
    /// early when the contents grow large; the next one starts after its last revision.
    fn revisions(&self, id: ChangeId, from: usize, limit: usize) -> Result<Vec<Revision>>;

    /// Done changes of every item, newest first, starting below `before`.
    fn recent(&self, before: Option<ChangeId>, limit: usize) -> Result<Vec<Change>>;

    /// Done changes of one item with what each did to it, newest first, starting below `before`.
    fn of_item(
        &self,
        pid: Pid,
        before: Option<ChangeId>,
        limit: usize,
    ) -> Result<Vec<(Change, Revision)>>;

    /// The oldest done change of one item with what it did to it first: a change may have several
    /// revisions of an item.
    fn oldest_of_item(&self, pid: Pid) -> Result<Option<(Change, Revision)>>;

    /// The item that last had this key in the registry, whether it is still there or not.
    fn item_of_key(&self, key: &str) -> Result<Option<Pid>>;

    /// What one change did to one item.
    fn of_change(&self, pid: Pid, id: ChangeId) -> Result<Option<(Change, Revision)>>;

    /// The change that reverts this one and is itself in effect.
    fn undone_by(&self, id: ChangeId) -> Result<Option<ChangeId>>;

    /// The change that reverts a part of this one, was interrupted, and is itself in effect.
    fn undone_in_part_by(&self, id: ChangeId) -> Result<Option<ChangeId>>;

    /// Removes the oldest changes beyond the limits, a bounded number at a time. Returns how many.
    fn prune(&self, retention: &Retention) -> Result<usize>;

    /// How large the journal is.
    fn size(&self) -> Result<JournalSize>;

    /// What is wrong with the stored contents; empty when each can be read and is what was stored.
    fn damage(&self) -> Result<Vec<String>>;
}
