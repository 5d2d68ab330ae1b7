//! The locks of WebDAV clients, in memory: they end with their time or with the process, and bind
//! WebDAV clients only. What protects everybody's writes is the etag.

use std::{
    collections::HashMap,
    fmt,
    future::ready,
    sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::Ordering},
    time::{Duration, SystemTime},
};

use axum::http::StatusCode;
use dav_server::{
    davpath::DavPath,
    ls::{DavLock, DavLockSystem, LsFuture},
};
use unicode_normalization::UnicodeNormalization;
use xmltree::Element;

use super::filesystem::VaultFiles;
use crate::post::xml;

/// How long a lock lasts whose client says nothing.
const DEFAULT: Duration = Duration::from_secs(600);
/// How long any lock lasts; a client refreshes it.
const LONGEST: Duration = Duration::from_secs(3600);
/// Locks of one vault.
const MAX_LOCKS: usize = 1000;

/// Nodes of a lock's owner, of every kind. Clients send a name, or one element with an address.
const MAX_OWNER_NODES: usize = 16;
/// Bytes of a lock's owner.
const MAX_OWNER: usize = 1 << 10;

/// Why a lock with a long owner is refused.
pub const LONG_OWNER: &str =
    "the owner of the lock is longer than 1 KiB; nothing was locked. Send a name or an address";

/// Whether the owner that the body of a LOCK names may be kept in memory.
pub fn keeps_owner(body: &[u8]) -> bool {
    let (nodes, size) = xml::weight_of(body, "owner");
    nodes <= MAX_OWNER_NODES && size <= MAX_OWNER
}

/// The locks of every vault.
#[derive(Default)]
pub struct Locks(Mutex<HashMap<String, Arc<Mutex<Vec<Held>>>>>);

#[derive(Debug, Clone)]
struct Held {
    /// Normal form, no slash at either end.
    path: String,
    lock: DavLock,
}

impl Locks {
    /// The locks of one vault, for one request of a principal.
    pub fn of_vault(&self, files: &VaultFiles, principal: &str) -> VaultLocks {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let held = all.entry(files.vault.to_string()).or_default().clone();
        VaultLocks { held, files: files.clone(), principal: principal.into() }
    }
}

/// The locks of one vault, as one caller meets them: a lock on a place that the caller neither sees
/// nor may write does not count, for it would say that something is there.
#[derive(Clone)]
pub struct VaultLocks {
    held: Arc<Mutex<Vec<Held>>>,
    files: VaultFiles,
    principal: Arc<str>,
}

impl fmt::Debug for VaultLocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VaultLocks").field("held", &self.held).finish_non_exhaustive()
    }
}

fn normal(path: &DavPath) -> String {
    String::from_utf8_lossy(path.as_bytes()).trim_matches('/').nfc().collect()
}

/// Whether a path is below another.
fn is_below(path: &str, folder: &str) -> bool {
    match folder {
        "" => !path.is_empty(),
        _ => path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/')),
    }
}

impl Held {
    fn covers(&self, path: &str) -> bool {
        self.path == path || (self.lock.deep && is_below(path, &self.path))
    }
}

impl VaultLocks {
    /// Whether a request for a path may end or prolong a lock: whoever made it, at every path that it
    /// covers, and others at its own path, where they need the right to write.
    fn may_change(&self, lock: &Held, path: &str) -> bool {
        let is_own = lock.lock.principal.as_deref() == Some(&*self.principal);
        lock.path == path || (is_own && lock.covers(path))
    }

    /// The locks that have not ended.
    fn live(&self) -> MutexGuard<'_, Vec<Held>> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let now = SystemTime::now();
        held.retain(|held| held.lock.timeout_at.is_none_or(|end| end > now));
        held
    }

    /// Ends the locks of what went, and those below it.
    fn end(&self, path: &str) {
        self.live().retain(|known| known.path != path && !is_below(&known.path, path));
    }

    /// Ends the locks of a destination whose place something took.
    pub fn end_replaced(&self) {
        let is_replaced = self.files.is_replaced.load(Ordering::Relaxed)
            && self.files.is_replacing.load(Ordering::Relaxed);
        if let Some(transfer) = self.files.transfer.as_ref().filter(|_| is_replaced) {
            self.end(transfer.to.as_str());
        }
    }

    /// Repeats an attempt that a lock refuses until no lock that does not count for the caller stands
    /// in the way. The attempt passes over the locks with the tokens that it gets.
    async fn counted<T>(
        &self,
        attempt: impl Fn(&[String]) -> Result<T, Box<DavLock>>,
    ) -> Result<T, DavLock> {
        let mut hidden: Vec<String> = Vec::new();
        loop {
            match attempt(&hidden) {
                Err(lock)
                    if !hidden.contains(&lock.token)
                        && !self.files.reaches(&normal(&lock.path)).await =>
                {
                    hidden.push(lock.token);
                }
                done => return done.map_err(|lock| *lock),
            }
        }
    }

    fn try_lock(&self, wanted: &DavLock, hidden: &[String]) -> Result<DavLock, Box<DavLock>> {
        let path = normal(&wanted.path);
        let mut held = self.live();
        let conflict = held.iter().find(|known| {
            let touches = known.covers(&path) || (wanted.deep && is_below(&known.path, &path));
            let is_shared = wanted.shared && known.lock.shared;
            touches && !is_shared && !hidden.contains(&known.lock.token)
        });
        if let Some(conflict) = conflict {
            return Err(Box::new(conflict.lock.clone()));
        }
        if held.len() >= MAX_LOCKS {
            self.files.outcome.refuse_with(
                StatusCode::INSUFFICIENT_STORAGE,
                "this vault has as many locks as it may have; they end by themselves",
            );
            return Err(Box::new(wanted.clone()));
        }
        held.push(Held { path, lock: wanted.clone() });
        Ok(wanted.clone())
    }

    /// Whether one of these is the token of a lock that covers a path and counts for the caller.
    async fn is_locked_with(&self, path: &str, tokens: &[String]) -> bool {
        let is_meant = |held: &&Held| held.covers(path) && tokens.contains(&held.lock.token);
        let meant: Vec<Held> = self.live().iter().filter(is_meant).cloned().collect();
        for held in meant {
            if self.files.reaches(&held.path).await {
                return true;
            }
        }
        false
    }

    fn allows(
        &self,
        path: &str,
        principal: Option<&str>,
        deep: bool,
        tokens: &[String],
        hidden: &[String],
    ) -> Result<(), Box<DavLock>> {
        let mut held = self.live().clone();
        held.retain(|known| !hidden.contains(&known.lock.token));
        let is_own = |known: &&Held| {
            known.lock.principal.as_deref() == principal && tokens.contains(&known.lock.token)
        };
        let above: Vec<&Held> = held.iter().filter(|known| known.covers(path)).collect();
        // Of several shared locks, one suffices.
        if let Some(first) = above.first()
            && !above.iter().any(is_own)
        {
            return Err(Box::new(first.lock.clone()));
        }
        let mut below = held.iter().filter(|known| deep && is_below(&known.path, path));
        match below.find(|known| !is_own(known)) {
            Some(foreign) => Err(Box::new(foreign.lock.clone())),
            None => Ok(()),
        }
    }
}

fn ends(timeout: Option<Duration>) -> (Option<Duration>, Option<SystemTime>) {
    let timeout = timeout.unwrap_or(DEFAULT).min(LONGEST);
    (Some(timeout), Some(SystemTime::now() + timeout))
}

/// A token that nobody can guess; `None` where the system has no randomness.
fn token() -> Option<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).ok()?;
    // A random UUID, as the protocol wants.
    bytes[6] = (bytes[6] & 0x0f) | 0x40;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let parts = [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]];
    Some(format!("urn:uuid:{}", parts.join("-")))
}

impl DavLockSystem for VaultLocks {
    fn lock(
        &'_ self,
        path: &DavPath,
        principal: Option<&str>,
        owner: Option<&Element>,
        timeout: Option<Duration>,
        shared: bool,
        deep: bool,
    ) -> LsFuture<'_, Result<DavLock, DavLock>> {
        let (timeout, timeout_at) = ends(timeout);
        let token = token();
        let is_random = token.is_some();
        let wanted = DavLock {
            token: token.unwrap_or_default(),
            path: Box::new(path.clone()),
            principal: principal.map(str::to_owned),
            owner: owner.map(|owner| Box::new(owner.clone())),
            timeout_at,
            timeout,
            shared,
            deep,
        };
        Box::pin(async move {
            match is_random {
                true => self.counted(|hidden| self.try_lock(&wanted, hidden)).await,
                false => Err(wanted),
            }
        })
    }

    fn unlock(&'_ self, path: &DavPath, token: &str) -> LsFuture<'_, Result<(), ()>> {
        let path = normal(path);
        let mut held = self.live();
        let before = held.len();
        held.retain(|known| !(known.lock.token == token && self.may_change(known, &path)));
        let done = if held.len() < before { Ok(()) } else { Err(()) };
        Box::pin(ready(done))
    }

    fn refresh(
        &'_ self,
        path: &DavPath,
        token: &str,
        timeout: Option<Duration>,
    ) -> LsFuture<'_, Result<DavLock, ()>> {
        let (path, token) = (normal(path), token.to_owned());
        Box::pin(async move {
            let is_it = |known: &Held| known.lock.token == token && self.may_change(known, &path);
            let locked =
                self.live().iter().find(|known| is_it(known)).map(|known| known.path.clone());
            // The right to a part prolongs no lock of more.
            if !self.files.may_lock(&locked.ok_or(())?).await {
                return Err(());
            }
            let mut held = self.live();
            let known = held.iter_mut().find(|known| is_it(known)).ok_or(())?;
            (known.lock.timeout, known.lock.timeout_at) = ends(timeout);
            Ok(known.lock.clone())
        })
    }

    fn check(
        &'_ self,
        path: &DavPath,
        principal: Option<&str>,
        ignore_principal: bool,
        deep: bool,
        submitted_tokens: &[String],
    ) -> LsFuture<'_, Result<(), DavLock>> {
        let (davpath, path) = (path.clone(), normal(path));
        let principal = principal.map(str::to_owned);
        let tokens = submitted_tokens.to_vec();
        let nobody = DavLock {
            token: String::new(),
            path: Box::new(davpath),
            principal: None,
            owner: None,
            timeout_at: None,
            timeout: None,
            shared: false,
            deep: false,
        };
        Box::pin(async move {
            // The crate passes over principals where it asks whether a token of `If` is that of a lock.
            if ignore_principal {
                return self.is_locked_with(&path, &tokens).await.then_some(()).ok_or(nobody);
            }
            let principal = principal.as_deref();
            self.counted(|hidden| self.allows(&path, principal, deep, &tokens, hidden)).await
        })
    }

    fn discover(&'_ self, path: &DavPath) -> LsFuture<'_, Vec<DavLock>> {
        let path = normal(path);
        let held = self.live();
        let found = held.iter().filter(|known| known.covers(&path));
        Box::pin(ready(found.map(|known| known.lock.clone()).collect()))
    }

    fn delete(&'_ self, path: &DavPath) -> LsFuture<'_, Result<(), ()>> {
        let path = normal(path);
        // The crate forgets the locks of a destination before something takes its place.
        let is_destination =
            self.files.transfer.as_ref().is_some_and(|transfer| transfer.to.as_str() == path);
        if !is_destination {
            self.end(&path);
        }
        Box::pin(ready(Ok(())))
    }
}
