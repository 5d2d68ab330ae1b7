//! Whole folders into a hosted vault and out of it, byte for byte.

use std::{
    fs,
    path::{Path, PathBuf},
};

use ignore::WalkBuilder;

use super::{
    check_path,
    files::expected,
    write::{key, now_ns},
};
use crate::{
    app::{App, vaults::files::is_hidden},
    domain::{Error, Kind, Progress, Result, VaultPath, error::Doing},
    import::cut_short,
    store::{
        hosted::{Expected, FileStep, TRASH},
        pages::VaultRow,
        revisions::{Actor, NewChange, Revision},
    },
    vault::{self, Stamp},
};

/// Files of one transaction.
const BATCH_FILES: usize = 200;
/// Bytes of one transaction.
const BATCH_BYTES: usize = 16 << 20;

/// What an import did.
#[derive(Debug, Default, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Imported {
    /// Files that are new.
    pub added: usize,
    /// Files that had another content.
    pub updated: usize,
    /// Files that were there already.
    pub unchanged: usize,
    /// Files that were left out, with the reason.
    pub skipped: Vec<(String, String)>,
    /// Whether it was interrupted.
    pub stopped: bool,
}

/// What an export wrote.
#[derive(Debug, Default, serde::Serialize)]
pub struct Exported {
    /// Files.
    pub files: usize,
    /// Bytes.
    pub bytes: u64,
}

/// Files that wait for their transaction.
#[derive(Default)]
struct Batch {
    steps: Vec<FileStep>,
    revisions: Vec<Revision>,
    bytes: usize,
}

impl Batch {
    /// Files that it writes.
    fn puts(&self) -> usize {
        self.steps.iter().filter(|step| matches!(step, FileStep::Put { .. })).count()
    }

    /// Whether a step of it copies to this path.
    fn copies_to(&self, path: &str) -> bool {
        let is_it =
            |step: &FileStep| matches!(step, FileStep::Copy { to, .. } if to.as_str() == path);
        self.steps.iter().any(is_it)
    }
}

impl App {
    /// Copies the files of a folder into a hosted vault, attachments and hidden files too, with
    /// their times. Files that the folder does not have stay.
    pub fn import_vault(
        &self,
        folder: &Path,
        name: &str,
        progress: &dyn Progress,
        actor: &Actor,
    ) -> Result<Imported> {
        let vault = self.hosted_by_name(name)?;
        let root = folder.canonicalize().map_err(|error| {
            Error::invalid_params(format!(
                "the folder `{}` cannot be opened: {error}; name a folder of notes",
                folder.display()
            ))
        })?;
        if !root.is_dir() {
            return Err(Error::invalid_params(format!("`{}` is not a folder", root.display())));
        }
        let mut imported = Imported::default();
        let files = self.importable(&root, &mut imported)?;
        let mut change = NewChange::new(actor, format!("import into the vault `{name}`"));
        let mut batch = Batch::default();
        let mut filed = 0;
        let mut write = |batch: &mut Batch| -> Result<()> {
            let files = batch.puts();
            let written = self.write_batch(&vault, &mut change, batch);
            written.map_err(|error| cut_short(filed, "file", error))?;
            filed += files;
            Ok(())
        };
        for (at, (path, file)) in files.iter().enumerate() {
            progress.report(at as u64, Some(files.len() as u64), "importing files");
            if progress.stopped() {
                imported.stopped = true;
                break;
            }
            if let Err(error) = self.add_to_batch(&vault, path, file, &mut batch, &mut imported) {
                imported.skipped.push((path.as_str().to_owned(), error.plain().to_owned()));
            }
            if batch.steps.len() >= BATCH_FILES || batch.bytes >= BATCH_BYTES {
                write(&mut batch)?;
            }
        }
        write(&mut batch)?;
        Ok(imported)
    }

    fn hosted_by_name(&self, name: &str) -> Result<VaultRow> {
        let row = self.sources.vault(name)?;
        row.filter(VaultRow::is_hosted).ok_or_else(|| {
            Error::invalid_params(format!(
                "there is no hosted vault `{name}`; make it with `notewell vault create {name}`"
            ))
        })
    }

    /// A hosted vault to read from. Where it is not, the error names those that are.
    fn hosted_to_export(&self, name: &str) -> Result<VaultRow> {
        let vaults = self.store.pages.vaults()?.into_iter();
        let (mut named, others): (Vec<VaultRow>, Vec<VaultRow>) =
            vaults.filter(VaultRow::is_hosted).partition(|vault| vault.name == name);
        named.pop().ok_or_else(|| {
            let others: Vec<String> =
                others.iter().map(|vault| format!("`{}`", vault.name)).collect();
            let known = match others.is_empty() {
                true => "this library has none".to_owned(),
                false => format!("this library has {}", others.join(", ")),
            };
            Error::invalid_params(format!("there is no hosted vault `{name}`; {known}"))
        })
    }

    /// Every regular file below a folder, by path.
    fn importable(
        &self,
        root: &Path,
        imported: &mut Imported,
    ) -> Result<Vec<(VaultPath, PathBuf)>> {
        let mut files = Vec::new();
        let walk = WalkBuilder::new(root)
            .standard_filters(false)
            .hidden(false)
            .follow_links(false)
            .filter_entry(|entry| entry.depth() != 1 || !is_other_program(entry))
            .build();
        for entry in walk {
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) => {
                    imported.skipped.push((root.display().to_string(), error.to_string()));
                    continue;
                }
            };
            let Some(kind) = entry.file_type().filter(|kind| !kind.is_dir()) else { continue };
            let relative = entry.path().strip_prefix(root).unwrap_or(entry.path());
            let shown = relative.to_string_lossy().replace('\\', "/");
            let mut skip = |why: &str| imported.skipped.push((shown.clone(), why.to_owned()));
            if !kind.is_file() {
                skip("is not a regular file");
                continue;
            }
            match relative.to_str().map(|_| VaultPath::parse(&shown)) {
                Some(Ok(path)) => files.push((path, entry.into_path())),
                _ => skip("has a name that cannot be kept: not UTF-8, or a control character"),
            }
        }
        files.sort();
        Ok(files)
    }

    fn add_to_batch(
        &self,
        vault: &VaultRow,
        path: &VaultPath,
        file: &Path,
        batch: &mut Batch,
        imported: &mut Imported,
    ) -> Result<()> {
        check_path(path)?;
        let limit = self.config.hosted.file_bytes;
        let metadata = fs::metadata(file).doing(format_args!("look at `{path}`"))?;
        if metadata.len() > limit {
            return Err(Error::limit(format!(
                "has {} bytes, more than `hosted.file_bytes` ({limit}) allows",
                metadata.len()
            )));
        }
        let bytes = fs::read(file).doing(format_args!("read `{path}`"))?;
        let before = self.store.hosted.read(&vault.name, path.as_str())?.map(|(_, bytes)| bytes);
        if before.as_ref() == Some(&bytes) {
            imported.unchanged += 1;
            return Ok(());
        }
        let is_recorded =
            self.is_recorded(path, bytes.len().max(before.as_ref().map_or(0, Vec::len)));
        // What is replaced goes to the trash, unless the journal has it or a leading dot hides it.
        if before.is_some() && !is_recorded && !is_hidden(path.as_str()) {
            let to = self.free_in_trash(vault, path, &|name| batch.copies_to(name))?;
            batch.steps.push(FileStep::Copy { from: path.clone(), to, expected: Expected::Absent });
        }
        match before {
            Some(_) => imported.updated += 1,
            None => imported.added += 1,
        }
        batch.bytes += bytes.len();
        batch.steps.push(FileStep::Put {
            path: path.clone(),
            bytes: bytes.clone(),
            mtime_ns: Stamp::of(&metadata).mtime_ns.min(now_ns()),
            expected: expected(before.as_deref()),
        });
        if is_recorded {
            batch.revisions.push(Revision {
                pid: None,
                kind: Kind::Page,
                key: key(vault, path),
                moved_to: None,
                before,
                after: Some(bytes),
            });
        }
        Ok(())
    }

    fn write_batch(
        &self,
        vault: &VaultRow,
        change: &mut NewChange,
        batch: &mut Batch,
    ) -> Result<()> {
        let Batch { steps, mut revisions, .. } = std::mem::take(batch);
        match steps.is_empty() {
            true => Ok(()),
            false => self.write_hosted(vault, &steps, change, &mut revisions),
        }
    }

    /// Writes every file of a hosted vault but the trash to a folder that is new or empty.
    pub fn export_vault(
        &self,
        name: &str,
        folder: &Path,
        progress: &dyn Progress,
    ) -> Result<Exported> {
        let vault = self.hosted_to_export(name)?;
        vault::make_folders(folder)?;
        let mut there = fs::read_dir(folder).doing(format_args!("list `{}`", folder.display()))?;
        if there.next().is_some() {
            return Err(Error::invalid_params(format!(
                "the folder `{}` is not empty, and nothing in it is overwritten; name a new folder",
                folder.display()
            )));
        }
        let in_trash = |path: &str| path.split('/').next() == Some(TRASH);
        let files = self.store.hosted.below(&vault.name, "")?;
        let files: Vec<_> = files.into_iter().filter(|file| !in_trash(&file.path)).collect();
        let mut exported = Exported::default();
        for (at, file) in files.iter().enumerate() {
            progress.report(at as u64, Some(files.len() as u64), "writing files");
            let to = folder.join(&file.path);
            if file.is_folder() {
                vault::make_folders(&to)?;
                continue;
            }
            let Some((file, bytes)) = self.store.hosted.read(&vault.name, &file.path)? else {
                continue;
            };
            vault::replace(&to, &bytes)?;
            set_time(&to, file.mtime_ns);
            exported.files += 1;
            exported.bytes += file.size;
        }
        Ok(exported)
    }
}

/// The repository of a version control, and our own trash: no part of what a person wrote.
fn is_other_program(entry: &ignore::DirEntry) -> bool {
    [".git", TRASH].iter().any(|name| entry.file_name() == *name)
}

/// Gives a file its time. One that cannot have it keeps today's.
fn set_time(file: &Path, mtime_ns: i64) {
    let Ok(since) = u64::try_from(mtime_ns) else { return };
    let time = std::time::UNIX_EPOCH + std::time::Duration::from_nanos(since);
    let _ = fs::File::options().write(true).open(file).and_then(|file| file.set_modified(time));
}
