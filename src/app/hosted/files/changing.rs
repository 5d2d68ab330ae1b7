//! Changes to the files of a hosted vault.

use std::collections::HashSet;

use super::HostedVault;
use crate::{
    app::{
        hosted::{
            check_path,
            write::{key, now_ns},
        },
        vaults::files::is_hidden,
    },
    domain::{Code, Error, Kind, Result, VaultPath},
    store::{
        hosted::{Expected, FileStep, HostedFile},
        revisions::{Revision, Turn},
    },
    vault::read::hash,
};

/// How often a write is tried when somebody else writes at the same moment.
const ATTEMPTS: usize = 20;

/// The tool that the journal names.
const TOOL: &str = "webdav";

impl HostedVault<'_> {
    /// Writes a file. With `expected` other than [`Expected::Any`] it must be that.
    pub fn put(
        &self,
        path: &VaultPath,
        bytes: &[u8],
        mtime_ns: Option<i64>,
        expected: Expected,
    ) -> Result<HostedFile> {
        check_path(path)?;
        let limit = self.app.config.hosted.file_bytes;
        if bytes.len() as u64 > limit {
            return Err(Error::limit(format!(
                "`{path}` has {} bytes, more than `hosted.file_bytes` ({limit}) allows; nothing was changed",
                bytes.len()
            )));
        }
        let mtime_ns = mtime_ns.unwrap_or_else(now_ns);
        if !self.again(|| self.put_once(path, bytes, mtime_ns, expected))? {
            return Err(Error::conflict(format!(
                "`{path}` is not what the request expects: it was changed since; nothing was changed. Read it again"
            )));
        }
        let file = self.app.store.hosted.stat(&self.row.name, path.as_str())?;
        file.ok_or_else(|| Error::not_found(format!("`{path}` was removed at this moment")))
    }

    /// `false` when the file is not what is expected.
    fn put_once(
        &self,
        path: &VaultPath,
        bytes: &[u8],
        mtime_ns: i64,
        expected: Expected,
    ) -> Result<bool> {
        let _turn = self.turn()?;
        let before = self.app.store.hosted.read(&self.row.name, path.as_str())?;
        let known = before.as_ref().and_then(|(file, _)| file.hash);
        let before = before.map(|(_, bytes)| bytes);
        // Rights first: whether a condition holds says what is there.
        let shown = before.as_deref().map(|before| (path, before));
        self.check_put(path, before.as_deref(), shown, bytes)?;
        let now = known.map_or(Expected::Absent, Expected::Content);
        if expected != Expected::Any && expected != now {
            return Ok(false);
        }
        if known == Some(hash(bytes)) {
            // The same bytes again: no change, no history.
            return Ok(true);
        }
        let put =
            FileStep::Put { path: path.clone(), bytes: bytes.to_vec(), mtime_ns, expected: now };
        if !self.is_recorded(path, bytes.len().max(before.as_ref().map_or(0, Vec::len))) {
            let mut steps = vec![put];
            // What is replaced goes to the trash. Settings of programs change all the time.
            if let (Some(_), false) = (&before, is_hidden(path.as_str())) {
                steps.insert(0, self.kept_in_trash(path)?);
            }
            return self.write(&steps, Vec::new()).map(|()| true);
        }
        let revision = Revision {
            pid: None,
            kind: Kind::Page,
            key: key(&self.row, path),
            moved_to: None,
            before,
            after: Some(bytes.to_vec()),
        };
        self.write(&[put], vec![revision]).map(|()| true)
    }

    /// Makes a folder.
    pub fn make_folder(&self, path: &VaultPath) -> Result<()> {
        check_path(path)?;
        self.check_folder(path)?;
        self.write(&[FileStep::Folder { path: path.clone() }], Vec::new())
    }

    /// Deletes a file: it moves to the trash of the vault. What is in the trash, and what a leading
    /// dot hides, is removed. `false` when the file is not what is expected.
    pub fn delete(&self, path: &VaultPath, expected: Expected) -> Result<bool> {
        self.again(|| {
            let _turn = self.turn()?;
            let (file, bytes) = self.existing(path)?;
            let (step, revision) = self.deletion(path, &file, bytes, &HashSet::new())?;
            self.check_leaving(std::slice::from_ref(path))?;
            if !expected.is_met_by(Some(&file)) {
                return Ok(false);
            }
            self.write(&[step], revision.into_iter().collect()).map(|()| true)
        })
    }

    /// What deletes a file, and what the journal says of it. Names in the trash that are `taken` are
    /// not free.
    pub(super) fn deletion(
        &self,
        path: &VaultPath,
        file: &HostedFile,
        bytes: Vec<u8>,
        taken: &HashSet<String>,
    ) -> Result<(FileStep, Option<Revision>)> {
        let expected = Expected::like(Some(file));
        if is_hidden(path.as_str()) {
            self.check_place(path)?;
            return Ok((FileStep::Remove { path: path.clone(), expected }, None));
        }
        self.check_removal(path, &bytes)?;
        let to = self.app.free_in_trash(&self.row, path, &|name| taken.contains(name))?;
        let moved = FileStep::Move { from: path.clone(), to: to.clone(), expected };
        Ok((moved, self.moved(path, &to, bytes)))
    }

    /// Removes a folder with nothing in it.
    pub fn remove_folder(&self, path: &VaultPath) -> Result<()> {
        self.check_folder(path)?;
        let remove = FileStep::Remove { path: path.clone(), expected: Expected::Folder };
        self.write(&[remove], Vec::new())
    }

    /// Refuses that files go which notes show, where the notes would then mean files that the
    /// caller may not see.
    pub(super) fn check_leaving(&self, leaving: &[VaultPath]) -> Result<()> {
        self.app.check_leaving(&self.row, leaving, None, self.rights)
    }

    /// The turn of a caller who does not see everything: which files a note shows is looked at
    /// before the transaction, and must still be so in it.
    pub(super) fn turn(&self) -> Result<Option<Turn<'_>>> {
        match self.sees_everything() {
            true => Ok(None),
            false => self.app.store.revisions.turn().map(Some),
        }
    }

    /// Whether the journal records what happens to a file: notes, within the size of notes.
    pub(super) fn is_recorded(&self, path: &VaultPath, size: usize) -> bool {
        self.app.is_recorded(path, size)
    }

    /// The revision of a note that moves; `None` for what is no note before.
    pub(super) fn moved(
        &self,
        from: &VaultPath,
        to: &VaultPath,
        bytes: Vec<u8>,
    ) -> Option<Revision> {
        if !self.is_recorded(from, bytes.len()) && !self.is_recorded(to, bytes.len()) {
            return None;
        }
        Some(Revision {
            pid: None,
            kind: Kind::Page,
            key: key(&self.row, from),
            moved_to: Some(key(&self.row, to)),
            before: Some(bytes.clone()),
            after: Some(bytes),
        })
    }

    /// What keeps a file in the trash that is about to be replaced. A writer who takes the name there
    /// first is a conflict.
    pub(super) fn kept_in_trash(&self, path: &VaultPath) -> Result<FileStep> {
        let to = self.app.free_in_trash(&self.row, path, &|_| false)?;
        Ok(FileStep::Copy { from: path.clone(), to, expected: Expected::Absent })
    }

    /// Writes, under the change that the caller's last write began.
    pub(super) fn write(&self, steps: &[FileStep], mut revisions: Vec<Revision>) -> Result<()> {
        let keys: Vec<String> = revisions
            .iter()
            .flat_map(|revision| [revision.key.clone(), revision.key_after().to_owned()])
            .collect();
        let mut paths: Vec<&str> = keys.iter().map(String::as_str).collect();
        paths.dedup();
        let actor = self.rights.actor(TOOL);
        let mut change = self.app.joined_change(&self.row.name, &actor, &paths)?;
        self.app.write_hosted(&self.row, steps, &mut change, &mut revisions)?;
        if !paths.is_empty() {
            self.app.remember_change(&self.row.name, &change, &paths);
        }
        Ok(())
    }

    /// Tries again what met another writer. The work looks anew at what is there each time.
    pub(super) fn again<T>(&self, mut work: impl FnMut() -> Result<T>) -> Result<T> {
        for _ in 1..ATTEMPTS {
            match work() {
                Err(error) if error.code == Code::Conflict => {}
                done => return done,
            }
        }
        work()
    }
}
