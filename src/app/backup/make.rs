//! Making a backup.

use std::{
    fs::{self, File, TryLockError},
    path::{Path, PathBuf},
};

use super::{
    CARDS, COMPLETIONS, CONFIG, FORMAT, Kept, LIBRARY, MANIFEST, Manifest, PROMPT_FILES, PROMPTS,
    copy, hash,
};
use crate::{
    app::App,
    domain::{Error, Progress, Result, Timestamp, error::Doing},
    store::{private, sqlite::Snapshot},
    vault,
};

/// Marks an unfinished backup as being made. The system releases the lock when its maker dies.
const LOCK: &str = "lock";

impl App {
    /// Copies everything that cannot be made again into the new folder `target`, as of one moment.
    /// Others may write meanwhile. `config` is the file that the settings came from.
    pub fn backup(
        &self,
        target: &Path,
        config: Option<&Path>,
        progress: &dyn Progress,
    ) -> Result<Manifest> {
        let database = self.config.data.join(LIBRARY);
        if !database.is_file() {
            return Err(Error::invalid_request(
                "this library is in PostgreSQL, which has its own backups: use `pg_dump` or `pg_basebackup` (docs/teams.md)",
            ));
        }
        // A backup without the cards or prompts that were lost would look like a good one.
        self.cards.refuse_suspect()?;
        self.refuse_suspect_prompts()?;
        check_free(target)?;
        private::close_new_files();
        let partial = Partial::make(target)?;
        let mut files = Vec::new();
        let (library, cards) = {
            // Nobody writes cards, prompts or notes until both databases are read at one moment.
            let _turn = self.store.revisions.turn()?;
            let library = Snapshot::take(&database)?;
            let path = self.config.cards_database();
            let cards = path.is_file().then(|| Snapshot::take(&path)).transpose()?;
            let prompts = self.config.prompts_directory();
            for file in PROMPT_FILES.into_iter().filter(|file| prompts.join(file).is_file()) {
                let folder = partial.folder.join(PROMPTS);
                fs::create_dir_all(&folder).doing(format_args!("make `{}`", folder.display()))?;
                copy(&prompts.join(file), &folder.join(file))?;
                files.push((format!("{PROMPTS}/{file}"), false));
            }
            (library, cards)
        };
        let others = [(COMPLETIONS, Some(self.config.data.join(COMPLETIONS)))]
            .into_iter()
            .chain([(CONFIG, config.map(Path::to_path_buf))]);
        for (name, path) in others {
            if let Some(path) = path.filter(|path| path.is_file()) {
                copy(&path, &partial.folder.join(name))?;
                files.push((name.to_owned(), false));
            }
        }
        library.copy_to(&partial.folder.join(LIBRARY), progress)?;
        files.push((LIBRARY.to_owned(), library.wal));
        if let Some(cards) = cards {
            cards.copy_to(&partial.folder.join(CARDS), progress)?;
            files.push((CARDS.to_owned(), cards.wal));
        }
        let files = files.into_iter().map(|(name, wal)| {
            let (bytes, sha256) = hash(&partial.folder.join(&name))?;
            Ok(Kept { name, bytes, sha256, wal })
        });
        let mut vaults = self.store.pages.vaults()?;
        vaults.retain(|vault| !vault.is_hosted());
        let manifest = Manifest {
            format: FORMAT,
            notewell: env!("CARGO_PKG_VERSION").to_owned(),
            made: Timestamp::now(),
            library: self.store.items.library()?,
            files: files.collect::<Result<_>>()?,
            folders: vaults.iter().map(|vault| vault.folder().to_path_buf()).collect(),
        };
        partial.finish(target, &manifest)?;
        Ok(manifest)
    }
}

fn check_free(target: &Path) -> Result<()> {
    match fs::read_dir(target) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error).doing(format_args!("look at `{}`", target.display())),
        Ok(mut entries) => match entries.next() {
            None => Ok(()),
            Some(_) => Err(Error::invalid_params(format!(
                "`{}` is not empty; name a new folder for the backup",
                target.display()
            ))),
        },
    }
}

/// The folder in which a backup is made, beside its target.
struct Partial {
    folder: PathBuf,
    _lock: File,
}

impl Partial {
    /// Makes the folder. What a backup left there that was killed is removed.
    fn make(target: &Path) -> Result<Self> {
        let Some(name) = target.file_name() else {
            return Err(Error::invalid_params(format!(
                "`{}` cannot be made; name a new folder for the backup",
                target.display()
            )));
        };
        let mut partial = name.to_owned();
        partial.push(".partial");
        let folder = target.with_file_name(partial);
        let what = format!("make `{}`", folder.display());
        fs::create_dir_all(&folder).doing(&what)?;
        let lock = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(folder.join(LOCK))
            .doing(&what)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(Error::invalid_request(format!(
                    "another process makes the backup `{}` at the moment; wait, or name another folder",
                    target.display()
                )));
            }
            Err(TryLockError::Error(error)) => return Err(error).doing(&what),
        }
        for entry in fs::read_dir(&folder).doing(&what)? {
            let path = entry.doing(&what)?.path();
            if path.file_name().is_some_and(|name| name == LOCK) {
                continue;
            }
            let removed = match path.is_dir() {
                true => fs::remove_dir_all(&path),
                false => fs::remove_file(&path),
            };
            removed.doing(&what)?;
        }
        Ok(Self { folder, _lock: lock })
    }

    /// Writes the manifest and gives the folder its name: from now on it is a backup.
    fn finish(self, target: &Path, manifest: &Manifest) -> Result<()> {
        let what = format!("put `{}` in place", target.display());
        let text = serde_json::to_vec_pretty(manifest).doing(&what)?;
        vault::replace(&self.folder.join(MANIFEST), &text)?;
        if self.folder.join(PROMPTS).is_dir() {
            vault::write::sync_folder(&self.folder.join(PROMPTS))?;
        }
        fs::remove_file(self.folder.join(LOCK)).doing(&what)?;
        vault::write::sync_folder(&self.folder)?;
        if target.is_dir() {
            fs::remove_dir(target).doing(&what)?;
        }
        fs::rename(&self.folder, target).doing(&what)?;
        vault::sync_folder(vault::folder_of(target))
    }
}
