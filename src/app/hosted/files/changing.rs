//! Changes to the files of a hosted vault.

use super::{HostedVault, absent, expected, hidden};
use crate::{
    app::{
        attachments::Moving,
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

    /// Makes a folder where a file is, which is deleted in the same transaction, as [`Self::delete`]
    /// does.
    pub fn replace_by_folder(&self, path: &VaultPath) -> Result<()> {
        self.check_folder(path)?;
        self.again(|| {
            let _turn = self.turn()?;
            let (deleted, revision) = self.deletion(path)?;
            self.check_leaving(std::slice::from_ref(path))?;
            let folder = FileStep::Folder { path: path.clone() };
            self.write(&[deleted, folder], revision.into_iter().collect())
        })
    }

    /// Deletes a file: it moves to the trash of the vault. What is in the trash, and what a leading
    /// dot hides, is removed.
    pub fn delete(&self, path: &VaultPath) -> Result<()> {
        self.again(|| {
            let _turn = self.turn()?;
            let (step, revision) = self.deletion(path)?;
            self.check_leaving(std::slice::from_ref(path))?;
            self.write(&[step], revision.into_iter().collect())
        })
    }

    /// What deletes a file, and what the journal says of it.
    fn deletion(&self, path: &VaultPath) -> Result<(FileStep, Option<Revision>)> {
        let (file, bytes) = self.existing(path)?;
        let expected = file.hash.map_or(Expected::Any, Expected::Content);
        if is_hidden(path.as_str()) {
            self.check_place(path)?;
            return Ok((FileStep::Remove { path: path.clone(), expected }, None));
        }
        self.check_removal(path, &bytes)?;
        let to = self.trash_path(path)?;
        let moved = FileStep::Move { from: path.clone(), to: to.clone(), expected };
        Ok((moved, self.moved(path, &to, bytes)))
    }

    /// Removes a folder with nothing in it.
    pub fn remove_folder(&self, path: &VaultPath) -> Result<()> {
        self.check_folder(path)?;
        let remove = FileStep::Remove { path: path.clone(), expected: Expected::Folder };
        self.write(&[remove], Vec::new())
    }

    /// Moves a file, or a folder with everything below it. A file at the destination is deleted in the
    /// same transaction, as [`Self::delete`] does.
    pub fn rename(&self, from: &VaultPath, to: &VaultPath) -> Result<()> {
        check_path(to)?;
        self.again(|| {
            let _turn = self.turn()?;
            let source = self.stat(from)?.ok_or_else(|| absent(from))?;
            if source.is_folder() {
                self.check_folder(from)?;
                self.check_folder(to)?;
            } else {
                self.check_unseen(to)?;
            }
            let mut steps = Vec::new();
            let mut revisions = Vec::new();
            let mut leaving = Vec::new();
            if self.is_taken(to)? {
                let (step, revision) = self.deletion(to)?;
                steps.push(step);
                revisions.extend(revision);
                leaving.extend(source.is_folder().then(|| to.clone()));
            }
            let moving = Moving { from, to };
            let files = match source.is_folder() {
                true => self.app.store.hosted.below(&self.row.name, from.as_str())?,
                false => vec![source.clone()],
            };
            for file in files.iter().filter(|file| !file.is_folder()) {
                let old = VaultPath::parse(&file.path)?;
                let new = moving.after(&old)?.ok_or_else(|| absent(&old))?;
                check_path(&new)?;
                // The name of what is hidden below a folder is not told.
                let (_, bytes) = self.read(&old)?.ok_or_else(|| partly_hidden(from))?;
                self.check_removal(&old, &bytes)?;
                self.check_arrival(&new, Some((&old, &bytes)), &bytes, Some(&moving))?;
                revisions.extend(self.moved(&old, &new, bytes));
                leaving.push(old);
            }
            self.app.check_leaving(&self.row, &leaving, Some(&moving), self.rights)?;
            let expected = source.hash.map_or(Expected::Any, Expected::Content);
            steps.push(FileStep::Move { from: from.clone(), to: to.clone(), expected });
            self.write(&steps, revisions)
        })
    }

    /// Copies a file with its properties. A file at the destination goes to the trash.
    pub fn copy(&self, from: &VaultPath, to: &VaultPath) -> Result<()> {
        check_path(to)?;
        self.again(|| {
            let _turn = self.turn()?;
            let (_, bytes) = self.existing(from)?;
            let before = self.app.store.hosted.read(&self.row.name, to.as_str())?;
            let before = before.map(|(_, bytes)| bytes);
            self.check_put(to, before.as_deref(), None, &bytes)?;
            let size = bytes.len().max(before.as_ref().map_or(0, Vec::len));
            let mut steps = Vec::new();
            if before.is_some() && !self.is_recorded(to, size) && !is_hidden(to.as_str()) {
                steps.push(self.kept_in_trash(to)?);
            }
            let expected = expected(before.as_deref());
            steps.push(FileStep::Copy { from: from.clone(), to: to.clone(), expected });
            let revision = Revision {
                pid: None,
                kind: Kind::Page,
                key: key(&self.row, to),
                moved_to: None,
                before,
                after: Some(bytes),
            };
            let revisions = self.is_recorded(to, size).then_some(revision);
            self.write(&steps, revisions.into_iter().collect())
        })
    }

    /// Whether a file is where something moves to, which is deleted then.
    fn is_taken(&self, to: &VaultPath) -> Result<bool> {
        match self.stat(to)? {
            Some(there) if there.is_folder() => {
                Err(Error::conflict(format!("the folder `{to}` exists already")))
            }
            Some(_) => Ok(true),
            None if self.app.store.hosted.stat(&self.row.name, to.as_str())?.is_some() => {
                Err(hidden(to))
            }
            None => Ok(false),
        }
    }

    /// Refuses that files go which notes show, where the notes would then mean files that the
    /// caller may not see.
    fn check_leaving(&self, leaving: &[VaultPath]) -> Result<()> {
        self.app.check_leaving(&self.row, leaving, None, self.rights)
    }

    /// The turn of a caller who does not see everything: which files a note shows is looked at
    /// before the transaction, and must still be so in it.
    fn turn(&self) -> Result<Option<Turn<'_>>> {
        match self.sees_everything() {
            true => Ok(None),
            false => self.app.store.revisions.turn().map(Some),
        }
    }

    /// Whether the journal records what happens to a file: notes, within the size of notes.
    fn is_recorded(&self, path: &VaultPath, size: usize) -> bool {
        self.app.is_recorded(path, size)
    }

    /// The revision of a note that moves; `None` for what is no note before.
    fn moved(&self, from: &VaultPath, to: &VaultPath, bytes: Vec<u8>) -> Option<Revision> {
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

    /// What keeps a file in the trash that is about to be replaced.
    fn kept_in_trash(&self, path: &VaultPath) -> Result<FileStep> {
        let to = self.trash_path(path)?;
        Ok(FileStep::Copy { from: path.clone(), to, expected: Expected::Absent })
    }

    /// A name in the trash that is free now. A writer who takes it first is a conflict.
    fn trash_path(&self, path: &VaultPath) -> Result<VaultPath> {
        self.app.free_in_trash(&self.row, path, &|_| false)
    }

    /// Writes, under the change that the caller's last write began.
    fn write(&self, steps: &[FileStep], mut revisions: Vec<Revision>) -> Result<()> {
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
    fn again<T>(&self, mut work: impl FnMut() -> Result<T>) -> Result<T> {
        for _ in 1..ATTEMPTS {
            match work() {
                Err(error) if error.code == Code::Conflict => {}
                done => return done,
            }
        }
        work()
    }
}

/// The refusal of a folder with something in it that the caller does not see.
fn partly_hidden(folder: &VaultPath) -> Error {
    Error::invalid_params(format!(
        "you may not move everything in `{folder}`; nothing was changed. Move its files one by one"
    ))
}
