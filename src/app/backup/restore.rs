//! Putting a backup back.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::{
    CARDS, COMPLETIONS, CONFIG, LIBRARY, Manifest, PROMPTS, RESTORE_UNFINISHED, copy, hash,
};
use crate::{
    config::Config,
    domain::{Error, Progress, Result, Timestamp, error::Doing},
    store::{private, sqlite},
    vault,
};

/// How the name of the folder begins that has what was there before.
const BEFORE: &str = "before-restore-";

/// A backup, and the places where its files go.
pub struct Plan<'a> {
    /// The folder of the backup.
    pub backup: &'a Path,
    /// The settings: they name the places.
    pub config: &'a Config,
    /// Where the config file goes, if the backup has one and none is there.
    pub config_file: Option<&'a Path>,
    /// Move aside what is there now.
    pub force: bool,
}

/// What a restore did.
#[derive(Debug)]
pub struct Restored {
    /// What was restored.
    pub manifest: Manifest,
    /// Where what was there before is now.
    pub aside: Vec<PathBuf>,
    /// A config file that stays as it is, although that of the backup differs.
    pub other_config: Option<PathBuf>,
}

impl Plan<'_> {
    /// Verifies the backup and puts it back. What was there before is moved aside, never deleted.
    pub fn restore(&self, progress: &dyn Progress) -> Result<Restored> {
        let manifest = Manifest::read(self.backup)?;
        self.verify(&manifest, progress)?;
        let data = &self.config.data;
        let occupied = self.occupied(&manifest)?;
        if let (Some(first), false) = (occupied.first(), self.force) {
            return Err(Error::invalid_request(format!(
                "`{}` is there already; `--force` moves what is there aside and restores the backup. Nothing was changed",
                first.display()
            )));
        }
        for database in [data.join(LIBRARY), self.config.cards_database()] {
            if database.is_file() && !sqlite::settle(&database)? {
                return Err(Error::invalid_request(format!(
                    "another process has `{}` open; end it (`notewell serve`, `notewell mcp`, a client) and restore again. Nothing was changed",
                    database.display()
                )));
            }
        }
        // Closing a database took its companions away.
        let occupied = self.occupied(&manifest)?;
        private::make_private(data)?;
        let marker = data.join(RESTORE_UNFINISHED);
        vault::replace(&marker, b"`notewell restore` did not finish; run it again with --force\n")?;
        let aside = self.move_aside(&occupied)?;
        for file in &manifest.files {
            let Some(target) = self.place(&file.name) else { continue };
            self.put(&file.name, &target)?;
            if file.wal {
                sqlite::set_wal(&target)?;
            }
        }
        let other_config = self.put_config(&manifest)?;
        fs::remove_file(&marker).doing(format_args!("remove `{}`", marker.display()))?;
        vault::write::sync_folder(data)?;
        Ok(Restored { manifest, aside, other_config })
    }

    /// Compares every file with the manifest, and checks the structure of the databases.
    fn verify(&self, manifest: &Manifest, progress: &dyn Progress) -> Result<()> {
        let total = manifest.files.len() as u64;
        for (done, file) in manifest.files.iter().enumerate() {
            progress.report(done as u64, Some(total), "checking files");
            let path = self.backup.join(&file.name);
            let damaged = |why: &str| {
                Error::damaged(format!(
                    "`{}` {why}; use another backup. Nothing was changed",
                    path.display()
                ))
            };
            if !path.is_file() {
                return Err(damaged("is missing"));
            }
            if hash(&path)? != (file.bytes, file.sha256.clone()) {
                return Err(damaged("is not what the backup wrote"));
            }
            if [LIBRARY, CARDS].contains(&file.name.as_str())
                && let Some(first) = sqlite::quick_check(&path)?.first()
            {
                return Err(damaged(&format!("is damaged ({})", first.replace('\n', " "))));
            }
        }
        match manifest.file(LIBRARY) {
            Some(_) => sqlite::check_version(&self.backup.join(LIBRARY)),
            None => Err(Error::damaged(format!(
                "the backup `{}` has no `{LIBRARY}`; use another one. Nothing was changed",
                self.backup.display()
            ))),
        }
    }

    /// Where a file of the backup goes. The config has rules of its own.
    fn place(&self, name: &str) -> Option<PathBuf> {
        let data = &self.config.data;
        match name {
            LIBRARY => Some(data.join(LIBRARY)),
            COMPLETIONS => Some(data.join(COMPLETIONS)),
            CARDS => Some(self.config.cards_database()),
            CONFIG => None,
            _ => {
                let file = name.strip_prefix(PROMPTS)?.strip_prefix('/')?;
                Some(self.config.prompts_directory().join(file))
            }
        }
    }

    /// What is in the way: everything in the data directory, and files elsewhere whose place is
    /// taken. What earlier restores moved aside stays where it is.
    fn occupied(&self, manifest: &Manifest) -> Result<Vec<PathBuf>> {
        let data = &self.config.data;
        let backup = self.backup.canonicalize().unwrap_or_else(|_| self.backup.to_path_buf());
        let has_backup =
            |path: &Path| path.canonicalize().is_ok_and(|path| backup.starts_with(path));
        let mut occupied = Vec::new();
        match fs::read_dir(data) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(error).doing(format_args!("look at `{}`", data.display())),
            Ok(entries) => {
                for entry in entries {
                    let entry = entry.doing(format_args!("look at `{}`", data.display()))?;
                    let name = entry.file_name();
                    let name = name.to_string_lossy();
                    let stays = name.starts_with(BEFORE)
                        || [RESTORE_UNFINISHED, "lost+found"].contains(&name.as_ref())
                        || has_backup(&entry.path());
                    if !stays {
                        occupied.push(entry.path());
                    }
                }
            }
        }
        occupied.sort();
        let elsewhere = manifest.files.iter().filter_map(|file| self.place(&file.name));
        occupied.extend(elsewhere.filter(|path| !path.starts_with(data) && path.exists()));
        Ok(occupied)
    }

    /// Renames what is in the way, within its folder: nothing is copied and nothing is deleted.
    fn move_aside(&self, occupied: &[PathBuf]) -> Result<Vec<PathBuf>> {
        let stamp: String =
            Timestamp::now().to_string().chars().filter(char::is_ascii_digit).collect();
        let folder = self.config.data.join(format!("{BEFORE}{stamp}"));
        let mut aside = Vec::new();
        for path in occupied {
            let what = format!("move `{}` aside", path.display());
            let name = path.file_name().unwrap_or_default();
            let to = if path.starts_with(&self.config.data) {
                if !folder.exists() {
                    fs::create_dir(&folder).doing(&what)?;
                    aside.push(folder.clone());
                }
                folder.join(name)
            } else {
                let mut name = name.to_owned();
                name.push(format!(".{BEFORE}{stamp}"));
                aside.push(path.with_file_name(&name));
                path.with_file_name(name)
            };
            fs::rename(path, &to).doing(&what)?;
        }
        Ok(aside)
    }

    fn put(&self, name: &str, target: &Path) -> Result<()> {
        let folder = target.parent().unwrap_or(Path::new("."));
        let what = format!("put `{}` in place", target.display());
        fs::create_dir_all(folder).doing(&what)?;
        let mut fresh = target.file_name().unwrap_or_default().to_owned();
        fresh.push(".restoring");
        let fresh = target.with_file_name(fresh);
        copy(&self.backup.join(name), &fresh)?;
        fs::rename(&fresh, target).doing(&what)?;
        vault::write::sync_folder(folder)
    }

    /// Puts the config file back where there is none. One that is there stays.
    fn put_config(&self, manifest: &Manifest) -> Result<Option<PathBuf>> {
        let (Some(kept), Some(target)) = (manifest.file(CONFIG), self.config_file) else {
            return Ok(None);
        };
        if !target.exists() {
            self.put(CONFIG, target)?;
            return Ok(None);
        }
        let same = hash(target)? == (kept.bytes, kept.sha256.clone());
        Ok((!same).then(|| target.to_path_buf()))
    }
}
