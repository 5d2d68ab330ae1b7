//! Moves and copies in a hosted vault. What is at the destination goes to the trash in the same
//! transaction, so that all of it happens or nothing.

use std::{collections::HashSet, path::Path};

use super::{HostedVault, absent, expected, hidden};
use crate::{
    app::{
        attachments::Moving,
        hosted::{check_path, write::key},
        vaults::files::{is_hidden, is_page},
    },
    domain::{Error, Kind, Result, VaultPath},
    store::{
        hosted::{Expected, FileStep, HostedFile, HostedUsage, TRASH},
        revisions::Revision,
    },
    vault::walk::is_note,
};

/// Bytes of notes that leave a folder in one transaction: all of them are in memory.
const MAX_NOTES: u64 = 64 << 20;

/// What a request that copies or moves expects at both ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ends {
    /// What is copied or moved.
    pub source: Expected,
    /// What is where it goes.
    pub destination: Expected,
    /// Whether a folder there may be replaced, as a file always may.
    pub replaces_folder: bool,
}

impl Ends {
    fn are_met_by(&self, source: &HostedFile, there: Option<&HostedFile>) -> bool {
        self.source.is_met_by(Some(source)) && self.destination.is_met_by(there)
    }
}

/// What makes room at a destination.
#[derive(Default)]
struct Room {
    steps: Vec<FileStep>,
    revisions: Vec<Revision>,
    /// The files that go.
    leaving: Vec<VaultPath>,
}

impl HostedVault<'_> {
    /// Moves a file, or a folder with everything below it. `false` when an end is not what is
    /// expected.
    pub fn rename(&self, from: &VaultPath, to: &VaultPath, ends: Ends) -> Result<bool> {
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
            let there = self.replaced(to, ends)?;
            if !ends.are_met_by(&source, there.as_ref()) {
                return Ok(false);
            }
            let files = match source.is_folder() {
                true => self.below_at_once(from)?,
                false => vec![source.clone()],
            };
            let Room { mut steps, mut revisions, mut leaving } = self.room(to, there.as_ref())?;
            if !source.is_folder() && there.is_some_and(|there| !there.is_folder()) {
                // A file is where this one was.
                leaving.clear();
            }
            let moving = Moving { from, to };
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
            let expected = Expected::like(Some(&source));
            steps.push(FileStep::Move { from: from.clone(), to: to.clone(), expected });
            self.write(&steps, revisions).map(|()| true)
        })
    }

    /// Copies a file with its properties. `folder` is what it is copied with, and where that goes:
    /// the files that a note shows there come before it. `false` when an end is not what is expected.
    pub fn copy(
        &self,
        from: &VaultPath,
        to: &VaultPath,
        ends: Ends,
        folder: Option<(&VaultPath, &VaultPath)>,
    ) -> Result<bool> {
        check_path(to)?;
        if let Some((top, top_to)) = folder.filter(|_| is_page(to.as_str())) {
            self.copy_shown(from, &Moving { from: top, to: top_to })?;
        }
        self.again(|| {
            let _turn = self.turn()?;
            let (source, bytes) = self.existing(from)?;
            let before = self.app.store.hosted.read(&self.row.name, to.as_str())?;
            let before = before.map(|(_, bytes)| bytes);
            self.check_put(to, before.as_deref(), None, &bytes)?;
            let there = self.replaced(to, ends)?;
            if !ends.are_met_by(&source, there.as_ref()) {
                return Ok(false);
            }
            if folder.is_some() && before.as_ref() == Some(&bytes) {
                // It came before a note that shows it.
                return Ok(true);
            }
            let Room { mut steps, mut revisions, leaving } = match &before {
                // The journal or the trash keeps a file that another one is written over.
                Some(_) => Room::default(),
                None => self.room(to, there.as_ref())?,
            };
            self.check_leaving(&leaving)?;
            let size = bytes.len().max(before.as_ref().map_or(0, Vec::len));
            if before.is_some() && !self.is_recorded(to, size) && !is_hidden(to.as_str()) {
                steps.push(self.kept_in_trash(to)?);
            }
            // What the journal says was copied is copied.
            steps.push(FileStep::Check {
                path: from.clone(),
                expected: Expected::like(Some(&source)),
            });
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
            revisions.extend(self.is_recorded(to, size).then_some(revision));
            self.write(&steps, revisions).map(|()| true)
        })
    }

    /// Copies the files that a note shows and that are copied with it, as far as they are not there
    /// yet. The note that comes first would show what else has their path, which the caller perhaps
    /// may not see, and so it would be refused.
    fn copy_shown(&self, note: &VaultPath, copying: &Moving<'_>) -> Result<()> {
        if self.sees_everything() {
            return Ok(());
        }
        // What is not there is refused when the note is copied.
        let Some((_, bytes)) = self.read(note)? else { return Ok(()) };
        let text = String::from_utf8_lossy(&bytes);
        let carried = self.app.carried_files(&self.row, (note, &text), copying, self.rights)?;
        let ends =
            Ends { source: Expected::Any, destination: Expected::Absent, replaces_folder: false };
        for file in carried.values() {
            let Some(to) = copying.after(file)? else { continue };
            if self.stat(&to)?.is_none() {
                self.copy(file, &to, ends, None)?;
            }
        }
        Ok(())
    }

    /// Makes a folder that is copied. A file that came before a note which shows it has perhaps made
    /// it.
    pub fn make_copied_folder(&self, path: &VaultPath) -> Result<()> {
        match self.stat(path)? {
            Some(there) if there.is_folder() => self.check_folder(path),
            _ => self.make_folder(path),
        }
    }

    /// Makes a folder where something is. With `copied`, everything in that folder follows, and is
    /// looked at first. `false` when the destination is not what is expected.
    pub fn replace_by_folder(
        &self,
        copied: Option<&VaultPath>,
        to: &VaultPath,
        ends: Ends,
    ) -> Result<bool> {
        check_path(to)?;
        self.check_folder(to)?;
        self.again(|| {
            let _turn = self.turn()?;
            let there = self.replaced(to, ends)?;
            if !ends.destination.is_met_by(there.as_ref()) {
                return Ok(false);
            }
            if let Some(from) = copied {
                self.check_copies(&Moving { from, to }, there.as_ref())?;
            }
            let Room { mut steps, revisions, leaving } = self.room(to, there.as_ref())?;
            self.check_leaving(&leaving)?;
            steps.push(FileStep::Folder { path: to.clone() });
            self.write(&steps, revisions).map(|()| true)
        })
    }

    /// What is where something goes. A folder there is refused unless it may be replaced.
    fn replaced(&self, to: &VaultPath, ends: Ends) -> Result<Option<HostedFile>> {
        let mut there = self.stat(to)?;
        if there.is_none() && self.app.store.hosted.stat(&self.row.name, to.as_str())?.is_some() {
            // Somebody may have put it there between the two looks.
            there = Some(self.stat(to)?.ok_or_else(|| hidden(to))?);
        }
        match there {
            Some(there) if there.is_folder() && !ends.replaces_folder => {
                Err(Error::conflict(format!("the folder `{to}` exists already")))
            }
            there => Ok(there),
        }
    }

    /// What makes room where something is: a file is deleted, and a folder with everything in it.
    fn room(&self, at: &VaultPath, there: Option<&HostedFile>) -> Result<Room> {
        let Some(there) = there else { return Ok(Room::default()) };
        let (mut files, mut folders) = (vec![there.clone()], Vec::new());
        if there.is_folder() {
            self.check_folder(at)?;
            files = self.below_at_once(at)?;
            folders.push(at.clone());
        }
        let mut room = Room::default();
        let mut taken = HashSet::new();
        for file in &files {
            let path = VaultPath::parse(&file.path)?;
            if file.is_folder() {
                self.check_folder(&path)?;
                folders.push(path);
                continue;
            }
            let (file, bytes) = self.read(&path)?.ok_or_else(|| partly_hidden(at))?;
            let (step, revision) = self.deletion(&path, &file, bytes, &taken)?;
            if let FileStep::Move { to, .. } = &step {
                taken.insert(to.as_str().to_owned());
            }
            room.steps.push(step);
            room.revisions.extend(revision);
            room.leaving.push(path);
        }
        // Folders go after what is in them.
        folders.sort();
        room.steps.extend(
            folders
                .into_iter()
                .rev()
                .map(|path| FileStep::Remove { path, expected: Expected::Folder }),
        );
        Ok(room)
    }

    /// Refuses a copy of a folder over what is there, where something in it may not be written there,
    /// a note would show what the caller may not see, or the vault has no place for it.
    fn check_copies(&self, copying: &Moving<'_>, there: Option<&HostedFile>) -> Result<()> {
        let source = self.app.store.hosted.below(&self.row.name, copying.from.as_str())?;
        // The folder itself is made, too.
        let mut folders = 1;
        for folder in source.iter().filter(|file| file.is_folder()) {
            folders += 1;
            let old = VaultPath::parse(&folder.path)?;
            self.check_folder(&copying.after(&old)?.ok_or_else(|| absent(&old))?)?;
        }
        let copied = self.visible(source)?;
        for file in &copied {
            let old = VaultPath::parse(&file.path)?;
            let new = copying.after(&old)?.ok_or_else(|| absent(&old))?;
            check_path(&new)?;
            match is_page(new.as_str()) {
                true => {
                    let (_, bytes) = self.existing(&old)?;
                    let text = String::from_utf8_lossy(&bytes);
                    self.check_text(&new, &text)?;
                    self.app.check_copied(&self.row, (&old, &text), copying, self.rights)?;
                }
                false => self.check_place(&new)?,
            }
        }
        let usage = self.app.store.hosted.usage(&self.row.name)?;
        let gone = self.room_for(copying, there)?;
        let weight = |files: &[HostedFile]| files.iter().map(|file| file.size).sum::<u64>();
        let usage = HostedUsage {
            files: usage.files.saturating_sub(gone.len() as u64) + folders + copied.len() as u64,
            bytes: usage.bytes.saturating_sub(weight(&gone)) + weight(&copied),
            ..usage
        };
        self.app.hosted_limits().check(&self.row.name, usage)
    }

    /// What goes for a folder that is copied over what is there: that with everything in it, which is
    /// in the trash then, and the files of the trash, which make room. Each once.
    fn room_for(
        &self,
        copying: &Moving<'_>,
        there: Option<&HostedFile>,
    ) -> Result<Vec<HostedFile>> {
        let below = |folder: &str| self.app.store.hosted.below(&self.row.name, folder);
        let mut gone = below(copying.to.as_str())?;
        gone.extend(there.cloned());
        for file in below(TRASH)?.into_iter().filter(|file| !file.is_folder()) {
            if !copying.replaces(&VaultPath::parse(&file.path)?) {
                gone.push(file);
            }
        }
        Ok(gone)
    }

    /// Everything below a folder, all of which one transaction takes along: not too much of it.
    fn below_at_once(&self, folder: &VaultPath) -> Result<Vec<HostedFile>> {
        let files = self.app.store.hosted.below(&self.row.name, folder.as_str())?;
        // What is too large for a note is not in the journal.
        let limit = self.app.config.limits.note_bytes;
        let notes =
            files.iter().filter(|file| is_note(Path::new(&file.path)) && file.size <= limit);
        match notes.map(|file| file.size).sum::<u64>() {
            0..=MAX_NOTES => Ok(files),
            _ => Err(Error::limit(format!(
                "the notes in `{folder}` have more than {} MiB; nothing was changed. Move or delete them in parts",
                MAX_NOTES >> 20
            ))),
        }
    }
}

/// The refusal of a folder with something in it that the caller does not see.
fn partly_hidden(folder: &VaultPath) -> Error {
    Error::invalid_params(format!(
        "you may not move everything in `{folder}`; nothing was changed. Move its files one by one"
    ))
}
