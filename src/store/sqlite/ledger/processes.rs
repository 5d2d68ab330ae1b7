//! Which processes live. Each that makes paid calls locks a file of its own, and the system
//! releases the lock when the process ends.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    path::{Path, PathBuf},
};

use super::{super::Sqlite, holds};
use crate::{
    domain::{Result, Timestamp, error::Doing},
    store::{ledger::Process, usage::Outcome},
};

const FOLDER: &str = "market";
const LOCK: &str = "lock";

impl Sqlite {
    fn process_file(&self, id: i64) -> PathBuf {
        self.processes_folder().join(format!("{id}.{LOCK}"))
    }

    fn processes_folder(&self) -> PathBuf {
        self.path.with_file_name(FOLDER)
    }

    pub(super) fn enlist_process(&self) -> Result<Process> {
        let folder = self.processes_folder();
        let what = || format!("take a place in `{}`", folder.display());
        fs::create_dir_all(&folder).doing(what())?;
        let id = self.write(|tx| {
            tx.execute("INSERT INTO market_processes (started) VALUES (?1)", [Timestamp::now().0])?;
            Ok(tx.last_insert_rowid())
        })?;
        // Under its name only once it is locked: a file that can be locked belongs to nobody.
        let unnamed = folder.join(format!("{id}.new"));
        let file = OpenOptions::new()
            .create(true)
            .truncate(true)
            .write(true)
            .open(&unnamed)
            .doing(what())?;
        file.lock().doing(what())?;
        fs::rename(&unnamed, self.process_file(id)).doing(what())?;
        Ok(Process { id, lock: Box::new(file) })
    }

    pub(super) fn release_holds_of_the_dead(&self) -> Result<usize> {
        let processes: Vec<i64> = self.read(|db| {
            db.prepare_cached("SELECT DISTINCT process FROM holds")?
                .query_map([], |row| row.get(0))?
                .collect()
        })?;
        let mut released = 0;
        for process in processes {
            let path = self.process_file(process);
            let Some(lock) = lock_of_the_dead(&path)? else { continue };
            let of_process: Vec<_> = self.read(holds::open)?;
            for hold in of_process.into_iter().filter(|hold| hold.process == process) {
                released += usize::from(
                    self.write(|tx| holds::release(tx, hold.id, Outcome::Abandoned, 0))??,
                );
            }
            remove(&path);
            drop(lock);
        }
        self.remove_files_of_the_dead();
        Ok(released)
    }

    /// Processes that ended without a call under way leave their file behind.
    fn remove_files_of_the_dead(&self) {
        let Ok(files) = fs::read_dir(self.processes_folder()) else { return };
        for path in files.flatten().map(|file| file.path()) {
            let is_lock = path.extension().is_some_and(|extension| extension == LOCK);
            if is_lock && let Ok(Some(_lock)) = lock_of_the_dead(&path) {
                remove(&path);
            }
        }
    }
}

/// The lock of a process that ended; `None` while it lives. A missing file is an ended process.
fn lock_of_the_dead(path: &Path) -> Result<Option<Option<File>>> {
    let what = || format!("look whether the holder of `{}` lives", path.display());
    let file = match OpenOptions::new().write(true).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Some(None)),
        Err(error) => return Err(error).doing(what()),
    };
    match file.try_lock() {
        Ok(()) => Ok(Some(Some(file))),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error).doing(what()),
    }
}

fn remove(path: &Path) {
    // One that stays is looked at again the next time.
    if let Err(error) = fs::remove_file(path)
        && error.kind() != std::io::ErrorKind::NotFound
    {
        tracing::warn!(%error, "could not remove the lock file of a process that ended");
    }
}
