//! Prompts in JSONL files that a person can read and edit: `default.jsonl` (ours, in the binary)
//! and `user.jsonl`. A folder of hexai opens in place.
//!
//! Three layers make one list: the user's own prompts come first, then a `default.jsonl` found in
//! the folder, then what is built in. An earlier layer hides the same name of a later one, so that
//! nothing a person wrote disappears when a release adds a prompt. Only the user's are writable.
//!
//! The files are the truth. They are looked at before each answer (one `stat`) and read again only
//! when they changed; a change takes the lock, looks again, and replaces the file as a whole. This
//! room never drops a line it does not understand.

pub(super) mod backups;
mod builtin;
pub(super) mod completions;
#[cfg(test)]
mod crash;
pub(super) mod edits;
mod fields;
pub(super) mod lines;
mod replace;
pub(super) mod snapshot;
mod stamp;
#[cfg(test)]
mod tests;

use std::{
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::SystemTime,
};

use serde_json::{Map, Value};
use unicode_normalization::UnicodeNormalization;

use self::{
    backups::Backups, completions::Completions, lines::Lines, replace::Fresh, replace::Lock,
    snapshot::Snapshot, stamp::Stamp,
};
use super::prompts::{self, Origin, Page, Problem, Prompts, Restored, Stored};
use crate::domain::{Error, Prompt, Result, Timestamp, error::Doing, prompt::Patch};

const USER: &str = "user.jsonl";
const DEFAULT: &str = "default.jsonl";
/// How often a change starts over because somebody edited the file meanwhile.
const ATTEMPTS: usize = 5;

/// The moments of a change at which a process may die.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    Locked,
    Written,
    BackedUp,
    Renamed,
    Synced,
    Pruned,
}

/// Prompts in a folder.
pub struct JsonlPrompts {
    folder: PathBuf,
    backups: Backups,
    completions: Completions,
    state: Mutex<State>,
    #[cfg(test)]
    hook: Option<Box<dyn Fn(Step) + Send + Sync>>,
}

/// What was read last, of each of the two files.
struct State {
    user: Read,
    default: Read,
    snapshot: Arc<Snapshot>,
    /// What was already logged.
    logged: Vec<Problem>,
    version: u64,
    /// How often a file was read, for the tests that say it is not.
    reads: u64,
}

#[derive(Default)]
struct Read {
    stamp: Option<Stamp>,
    lines: Arc<Lines>,
}

impl JsonlPrompts {
    /// `completions` is where the values used before are remembered; without it they are
    /// forgotten at the end of the process. Nothing is created before the first change.
    pub fn open(folder: impl Into<PathBuf>, keep: usize, completions: Option<PathBuf>) -> Self {
        let folder = folder.into();
        Self {
            backups: Backups::new(folder.join("backups"), USER, keep),
            completions: Completions::new(completions),
            folder,
            state: Mutex::new(State {
                user: Read::default(),
                default: Read::default(),
                snapshot: Arc::new(Snapshot::new(&Arc::default(), &Arc::default())),
                logged: Vec::new(),
                version: 0,
                reads: 0,
            }),
            #[cfg(test)]
            hook: None,
        }
    }

    /// The file that changes go to.
    pub fn user_file(&self) -> PathBuf {
        self.folder.join(USER)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The prompts as they are now: one look at each file, and no reading when nothing changed.
    fn now(&self) -> Result<Arc<Snapshot>> {
        let mut state = self.state();
        self.refresh(&mut state)?;
        Ok(state.snapshot.clone())
    }

    fn refresh(&self, state: &mut State) -> Result<()> {
        let State { user, default, reads, .. } = state;
        let user = user.refresh(&self.user_file(), Origin::User, reads)?;
        let default = default.refresh(&self.folder.join(DEFAULT), Origin::Default, reads)?;
        if user || default {
            state.publish();
            state.log_problems();
        }
        Ok(())
    }

    /// One change: `edit` gets the lines of the user's file and may refuse. It is called again
    /// when somebody edits the file by hand at the same moment.
    fn change<T>(
        &self,
        mut edit: impl FnMut(&mut Lines, &Snapshot) -> Result<T>,
    ) -> Result<(T, Option<String>)> {
        std::fs::create_dir_all(&self.folder)
            .doing(format!("create `{}`", self.folder.display()))?;
        let _lock = Lock::take(&self.folder.join(format!("{USER}.lock")))?;
        self.reached(Step::Locked);
        let file = self.user_file();
        let target = replace::resolve(&file);
        for _ in 0..ATTEMPTS {
            let (mut lines, snapshot, seen) = {
                let mut state = self.state();
                self.refresh(&mut state)?;
                (Lines::clone(&state.user.lines), state.snapshot.clone(), state.user.stamp)
            };
            let outcome = edit(&mut lines, &snapshot)?;
            let mut fresh = Fresh::write(&target, lines.raw(), &self.backups.spare())?;
            self.reached(Step::Written);
            let still = Stamp::of(&file).doing(format!("look at `{}`", file.display()))?;
            let untouched = match (&seen, &still) {
                (Some(seen), Some(still)) => seen.looks_like(still),
                (None, None) => true,
                _ => false,
            };
            if !untouched {
                continue;
            }
            let backup = match still {
                Some(_) => Some(self.backups.make(&target, Timestamp::now())?),
                None => None,
            };
            self.reached(Step::BackedUp);
            if let Err(error) = fresh.put_in_place() {
                backup.as_deref().inspect(|name| self.backups.discard(name));
                return Err(error);
            }
            self.reached(Step::Renamed);
            let folder = target.parent().unwrap_or(&self.folder);
            replace::sync_folder(folder).doing(format!("sync `{}`", folder.display()))?;
            self.reached(Step::Synced);
            self.adopt(lines, &target, fresh.modified);
            // The change stands; an old backup too many is no reason to call it failed.
            if let Err(error) = self.backups.prune(backup.as_deref()) {
                tracing::warn!(?error, "could not remove old backups of prompts");
            }
            self.reached(Step::Pruned);
            return Ok((outcome, backup));
        }
        Err(Error::limit(format!("`{}` keeps changing; try again", file.display())))
    }

    /// Takes over what was just written, without reading it again.
    fn adopt(&self, lines: Lines, target: &Path, modified: SystemTime) {
        let mut state = self.state();
        let stamp = Stamp::of_own(target, modified).ok().flatten();
        state.user = Read { stamp, lines: Arc::new(lines) };
        state.publish();
    }

    fn reached(&self, _step: Step) {
        #[cfg(test)]
        if let Some(hook) = &self.hook {
            hook(_step);
        }
    }
}

impl State {
    fn publish(&mut self) {
        self.snapshot = Arc::new(self.snapshot.after(&self.user.lines, &self.default.lines));
        self.version += 1;
    }

    /// Logs what somebody else wrote that a person should look at.
    fn log_problems(&mut self) {
        let problems = self.snapshot.problems();
        for problem in problems.iter().filter(|problem| !self.logged.contains(problem)) {
            tracing::warn!(place = problem.place, "{}", problem.what);
        }
        self.logged = problems.to_vec();
    }
}

impl Read {
    /// Reads the file if it is not the one read last. Says whether the content changed.
    fn refresh(&mut self, path: &Path, origin: Origin, reads: &mut u64) -> Result<bool> {
        let now = Stamp::of(path).doing(format!("look at `{}`", path.display()))?;
        match (&self.stamp, &now) {
            (Some(before), Some(now)) if before.matches(now) => return Ok(false),
            (None, None) => return Ok(false),
            _ => {}
        }
        let (bytes, stamp) = match read_steadily(path) {
            Ok((bytes, stamp)) => (bytes, Some(stamp)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => (Vec::new(), None),
            Err(error) => return Err(error).doing(format!("read `{}`", path.display())),
        };
        *reads += 1;
        self.stamp = stamp;
        let same = {
            let mut rest = bytes.as_slice();
            self.lines.0.iter().all(|line| match rest.strip_prefix(&*line.raw) {
                Some(after) => {
                    rest = after;
                    true
                }
                None => false,
            }) && rest.is_empty()
        };
        if !same {
            self.lines = Arc::new(Lines::read(&bytes, origin, &self.lines));
        }
        Ok(!same)
    }
}

/// Reads a file of which no part changed while it was read, as far as its stamp can tell.
fn read_steadily(path: &Path) -> io::Result<(Vec<u8>, Stamp)> {
    for _ in 0..ATTEMPTS {
        let mut file = std::fs::File::open(path)?;
        let before = Stamp::from(&file.metadata()?);
        let mut bytes = Vec::new();
        io::Read::read_to_end(&mut file, &mut bytes)?;
        if before.looks_like(&Stamp::from(&file.metadata()?)) {
            return Ok((bytes, before));
        }
    }
    Err(io::Error::other("the file keeps changing; try again"))
}

impl Prompts for JsonlPrompts {
    fn list(&self, cursor: Option<&str>, limit: usize) -> Result<Page> {
        self.now()?.page(cursor, limit)
    }

    fn all(&self) -> Result<Arc<[Arc<Stored>]>> {
        Ok(self.now()?.listed.clone())
    }

    fn shared(&self) -> Result<Arc<[Arc<Stored>]>> {
        Ok(self.now()?.shared())
    }

    fn find(&self, name: &str) -> Result<Option<Arc<Stored>>> {
        Ok(self.now()?.find(name))
    }

    fn find_many(&self, names: &[&str]) -> Result<Vec<Arc<Stored>>> {
        let snapshot = self.now()?;
        Ok(names.iter().filter_map(|name| snapshot.find(name)).collect())
    }

    fn add(&self, prompts: Vec<Prompt>) -> Result<()> {
        if prompts.is_empty() {
            return Ok(());
        }
        self.change(|lines, snapshot| edits::add(lines, snapshot, &prompts)).map(drop)
    }

    fn update(&self, patch: Patch) -> Result<Arc<Stored>> {
        // The plain refusals come before anything is created on disk.
        let snapshot = self.now()?;
        if let Some(original) = edits::copied(&snapshot, &patch)? {
            return self.copy_changed(original, patch);
        }
        let (stored, _) = self.change(|lines, snapshot| edits::update(lines, snapshot, &patch))?;
        Ok(stored)
    }

    fn delete(&self, name: &str) -> Result<()> {
        edits::writable(&*self.now()?, name, "delete")?;
        self.change(|lines, snapshot| edits::delete(lines, snapshot, name)).map(drop)
    }

    fn record(&self, name: &str) -> Result<Option<String>> {
        let mut state = self.state();
        self.refresh(&mut state)?;
        Ok(state.user.lines.record(name))
    }

    fn put_records(&self, records: &[(String, Option<String>)]) -> Result<()> {
        self.change(|lines, _| edits::put_records(lines, records)).map(drop)
    }

    fn version(&self) -> Result<u64> {
        let mut state = self.state();
        self.refresh(&mut state)?;
        Ok(state.version)
    }

    fn problems(&self) -> Result<Vec<Problem>> {
        Ok(self.now()?.problems().to_vec())
    }

    fn snapshots(&self) -> Result<Vec<prompts::Snapshot>> {
        self.backups.list()
    }

    fn restore(&self, backup: &str) -> Result<Restored> {
        // The plain refusal comes before anything is created on disk.
        self.backups.find(backup)?;
        let (prompts, undo) = self.change(|lines, _| {
            // Under the lock: an old backup may be written over after a change.
            let bytes = self.backups.read(backup)?;
            *lines = Lines::read(&bytes, Origin::User, lines);
            Ok(lines.prompts().count())
        })?;
        self.state().log_problems();
        Ok(Restored { prompts, undo })
    }

    fn remember(&self, name: &str, values: &Map<String, Value>) -> Result<()> {
        self.completions.remember(name, values)
    }

    fn complete(&self, name: &str, argument: &str, prefix: &str) -> Result<Vec<String>> {
        self.completions.complete(name, argument, prefix)
    }
}

/// The name as it is compared: composed, so that two keyboards write the same one.
fn composed(name: &str) -> String {
    name.nfc().collect()
}
