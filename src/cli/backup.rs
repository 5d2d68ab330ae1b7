use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use super::{Common, bar::Bar, out};
use crate::{
    app::backup::{CONFIG, Plan},
    config::{self, Config},
    domain::{Result, count},
};

#[derive(Args)]
#[command(after_help = "\
Notes in folders are not in the backup: they are files of yours, and it names their folders.
The index is not either: it is made anew.

Examples:
  notewell backup ~/backups/2026-11-16
  notewell restore ~/backups/2026-11-16 --data ~/restored")]
pub struct Backup {
    /// A new folder
    folder: PathBuf,
    /// Print what was copied as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
#[command(after_help = "\
Every file is compared with its hash before anything is changed. With --force, what is in the data
directory is moved into a folder `before-restore-…` in it.")]
pub struct Restore {
    /// A folder that `notewell backup` made
    folder: PathBuf,
    /// Move aside what is in the data directory now
    #[arg(long)]
    force: bool,
    /// Print what was restored as JSON
    #[arg(long)]
    json: bool,
}

impl Common {
    /// The config file that the settings come from, whether or not it exists.
    pub(super) fn config_file(&self) -> Option<PathBuf> {
        self.config
            .as_deref()
            .map(config::expand_home)
            .or_else(config::named_file)
            .or_else(config::default_file)
    }
}

impl Backup {
    pub fn run(self, common: &Common) -> Result<()> {
        let app = common.open()?;
        let bar = Bar::new();
        let made = app.backup(&self.folder, common.config_file().as_deref(), &bar);
        bar.finish();
        let manifest = made?;
        if self.json {
            out::say(json!({
                "folder": self.folder, "made": manifest.made, "files": manifest.files,
                "bytes": manifest.bytes(), "notesNotInIt": manifest.folders,
            }));
            return Ok(());
        }
        let files = count(manifest.files.len(), "file");
        out::say(format_args!(
            "{files}, {} bytes in `{}`",
            manifest.bytes(),
            self.folder.display()
        ));
        for folder in &manifest.folders {
            out::say(format_args!(
                "not in it: the notes in `{}`; back up that folder too",
                folder.display()
            ));
        }
        Ok(())
    }
}

impl Restore {
    pub fn run(self, common: &Common) -> Result<()> {
        let mut flags = common.flags();
        let config_file = common.config_file();
        // On a new machine the settings of the backup decide where things go.
        if !config_file.as_ref().is_some_and(|path| path.exists()) {
            flags.config = Some(self.folder.join(CONFIG)).filter(|path| path.is_file());
        }
        let config = Config::load(&flags)?;
        let plan = Plan {
            backup: &self.folder,
            config: &config,
            config_file: config_file.as_deref(),
            force: self.force,
        };
        let bar = Bar::new();
        let restored = plan.restore(&bar);
        bar.finish();
        let restored = restored?;
        if self.json {
            out::say(json!({
                "data": config.data, "made": restored.manifest.made,
                "files": restored.manifest.files, "movedAside": restored.aside,
                "configStays": restored.other_config,
            }));
            return Ok(());
        }
        let files = count(restored.manifest.files.len(), "file");
        out::say(format_args!(
            "restored: {files} of {} in `{}`",
            restored.manifest.made,
            config.data.display()
        ));
        for aside in &restored.aside {
            out::say(format_args!("what was there before is in `{}`", aside.display()));
        }
        if let Some(path) = &restored.other_config {
            out::say(format_args!(
                "the config `{}` stays as it is; that of the backup is `{}`",
                path.display(),
                self.folder.join(CONFIG).display()
            ));
        }
        out::say("the index is made anew at the next start (`notewell index` does it now)");
        Ok(())
    }
}
