//! What the index does about damage: it verifies, sets the damaged build aside, fills a new one and
//! records that it did.

use std::{
    path::Path,
    sync::{Arc, PoisonError},
    thread,
    time::{Duration, Instant},
};

use super::{
    Source,
    build::Build,
    generation::{Builds, Generation},
    guard,
    lease::Lease,
    repair::{Cause, Repair, Repairs},
    state::{Index, POLL, lock},
};
use crate::domain::{Error, Result, Timestamp, error::Code};

/// How long a process that starts waits for another one that makes the build it needs.
const OPENING: Duration = Duration::from_secs(5);
/// How long answers mention a repair.
const MENTIONED: i64 = 60_000;

/// Opens the build that is searched. Where there is none that can be trusted, an empty one takes
/// its place and `repairs` says why.
pub(super) fn open_build(
    root: &Path,
    source: &dyn Source,
    repairs: &Repairs,
) -> Result<Arc<Generation>> {
    let builds = Builds(root);
    let library = source.library()?;
    let deadline = Instant::now() + OPENING;
    loop {
        if let Ok(Some(build)) = trusted(&builds, library) {
            return Ok(build);
        }
        // Only the holder of the lease makes builds; another process may be doing so now.
        if let Some(_lease) = Lease::try_take(&root.join("lease"))? {
            // Verified again under the lease: a writer may have removed files meanwhile.
            let problem = match trusted(&builds, library) {
                Ok(Some(build)) => return Ok(build),
                Ok(None) => None,
                Err(problem) => Some(problem),
            };
            let name = builds.fresh()?;
            let build = Generation::open(root, &name)?;
            builds.choose(&name)?;
            if let Some((cause, what)) = problem {
                repairs.record(cause, what);
            }
            return Ok(build);
        }
        if Instant::now() > deadline {
            return Err(Error::internal(
                "the index is damaged and another process holds it; stop that process, then run `notewell index --rebuild`",
            ));
        }
        thread::sleep(POLL);
    }
}

/// The build that the pointer names; `None` when there is none yet, or what is wrong with it.
fn trusted(
    builds: &Builds<'_>,
    library: i64,
) -> std::result::Result<Option<Arc<Generation>>, (Cause, String)> {
    let damaged = |what: String| {
        (Cause::Damaged, format!("the index of words was damaged ({what}) and is made anew"))
    };
    let Some(name) = builds.current() else {
        return match builds.is_lost() {
            true => Err(damaged("the file `current` names no build".to_owned())),
            false => Ok(None),
        };
    };
    let build = Generation::open(builds.0, &name).map_err(|error| damaged(error.message))?;
    match build.position().map_err(|error| damaged(error.message))? {
        Some(position) if position.library != library => Err((
            Cause::OtherLibrary,
            "the index belonged to another database than `notewell.db` and is made anew".to_owned(),
        )),
        _ => Ok(Some(build)),
    }
}

impl Index {
    /// Runs `work`, which reads the index. Where it fails and the index turns out to be damaged, the
    /// index is repaired and `work` runs once more.
    pub fn guarded<T>(&self, work: impl Fn() -> Result<T>) -> Result<T> {
        let before = self.generation().name.clone();
        match guard::caught(&work) {
            Err(error) if error.code == Code::Internal => {
                // Another thread may have repaired it meanwhile.
                let repaired = self.heal().unwrap_or(false) || self.generation().name != before;
                if repaired { guard::caught(&work) } else { Err(error) }
            }
            result => result,
        }
    }

    /// Verifies every checksum of the build that is searched. A damaged one is replaced by an empty
    /// one, which the next step begins to fill. Returns whether it was replaced.
    pub fn heal(&self) -> Result<bool> {
        let generation = self.generation();
        let Some(damage) = generation.damage() else { return Ok(false) };
        let mut writing = lock(&self.writing);
        if self.generation().name != generation.name {
            // Another thread was faster.
            return Ok(true);
        }
        if !self.begin_anew(&mut writing)? {
            return Ok(false);
        }
        self.repairs.record(
            Cause::Damaged,
            format!("the index of words was damaged ({damage}) and is made anew"),
        );
        Ok(true)
    }

    /// Verifies everything that is derived, repairs it, and returns whether anything was wrong.
    pub fn examine(&self) -> Result<bool> {
        let words = self.heal()?;
        let vectors = match &self.vectors {
            Some(vectors) => vectors.examine(&self.repairs)?,
            None => false,
        };
        Ok(words || vectors)
    }

    /// Sets the current build aside and shows a new, empty one. `false` when another process writes.
    pub(super) fn begin_anew(&self, writing: &mut Option<Build>) -> Result<bool> {
        let lease = match writing.take() {
            Some(build) => Arc::clone(&build.lease),
            None => match Lease::try_take(&self.root.join("lease"))? {
                Some(lease) => Arc::new(lease),
                None => return Ok(false),
            },
        };
        let builds = Builds(&self.root);
        let name = builds.fresh()?;
        let build = Build::open(lease, Generation::open(&self.root, &name)?)?;
        builds.choose(&name)?;
        self.show(&build, None);
        *writing = Some(build);
        Ok(true)
    }

    /// Every repair that is remembered, oldest first.
    pub fn repairs(&self) -> Vec<Repair> {
        self.repairs.all()
    }

    /// What an answer says about repairs that this process made just now.
    pub fn recent_repairs(&self) -> Vec<String> {
        let since = Timestamp(Timestamp::now().0 - MENTIONED);
        self.repairs.here(since).into_iter().map(|repair| repair.what).collect()
    }

    /// Forgets the repairs: somebody had the index made anew on purpose.
    pub fn forget_repairs(&self) {
        self.repairs.forget();
    }

    pub(super) fn generation(&self) -> Arc<Generation> {
        Arc::clone(&self.shown.read().unwrap_or_else(PoisonError::into_inner).generation)
    }
}
