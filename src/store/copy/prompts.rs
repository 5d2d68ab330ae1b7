//! Prompts: a folder beside SQLite, tables in PostgreSQL. Byte for byte.

use std::{fs, io, path::Path};

use serde_json::{Map, Value};

use super::Side;
use crate::{
    domain::{Result, error::Doing},
    store::{
        jsonl::{backups::Backups, lines::Lines},
        prompts::Origin,
    },
    vault,
};

/// The user's file, its backups, and the values used before.
#[derive(Debug, Clone, Default)]
pub(in crate::store) struct PromptFiles {
    /// `user.jsonl`.
    pub(in crate::store) lines: Vec<u8>,
    /// Name, moment and content of each, oldest first.
    pub(in crate::store) backups: Vec<(String, i64, Vec<u8>)>,
    /// Prompt, then argument, then values, the latest first; the prompt used last is the last.
    pub(in crate::store) completions: Map<String, Value>,
}

const COMPLETIONS: &str = "completions.json";

impl PromptFiles {
    pub(super) fn read(side: &Side) -> Result<Self> {
        match side {
            Side::Postgres(database) => database.export_prompts(),
            Side::Sqlite { directory, .. } => Self::of_folder(directory),
        }
    }

    pub(super) fn write(&self, side: &Side) -> Result<()> {
        match side {
            Side::Postgres(database) => database.import_prompts(self),
            Side::Sqlite { directory, .. } => self.to_folder(directory),
        }
    }

    /// Whether both have the same contents. A folder knows the moment of a backup to the second.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let backup = |(name, _, content): &(String, i64, Vec<u8>)| (name.clone(), content.clone());
        self.lines == other.lines
            && self.completions == other.completions
            && self.backups.iter().map(backup).eq(other.backups.iter().map(backup))
    }

    /// How many prompts there are.
    pub(super) fn count(&self) -> u64 {
        Lines::read(&self.lines, Origin::User, &Lines::default()).prompts().count() as u64
    }

    fn of_folder(directory: &Path) -> Result<Self> {
        let folder = directory.join("prompts");
        let read = |path: &Path| match fs::read(path) {
            Ok(bytes) => Ok(bytes),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(error).doing(format_args!("read `{}`", path.display())),
        };
        let kept = Backups::new(folder.join("backups"), "user.jsonl", usize::MAX);
        let mut backups = Vec::new();
        for backup in kept.list()?.into_iter().rev() {
            let made = backup.made.map_or(0, |made| made.0);
            let content = kept.read(&backup.id)?;
            backups.push((backup.id, made, content));
        }
        // A damaged file is no loss: it starts anew.
        let completions = read(&directory.join(COMPLETIONS))?;
        Ok(Self {
            lines: read(&folder.join("user.jsonl"))?,
            backups,
            completions: serde_json::from_slice(&completions).unwrap_or_default(),
        })
    }

    fn to_folder(&self, directory: &Path) -> Result<()> {
        let folder = directory.join("prompts");
        if !self.lines.is_empty() || !self.backups.is_empty() {
            let backups = folder.join("backups");
            fs::create_dir_all(&backups).doing(format_args!("create `{}`", backups.display()))?;
            for (name, _, content) in &self.backups {
                vault::replace(&backups.join(name), content)?;
            }
        }
        if !self.lines.is_empty() {
            vault::replace(&folder.join("user.jsonl"), &self.lines)?;
        }
        if !self.completions.is_empty() {
            let text =
                serde_json::to_vec(&self.completions).doing("write the values used before")?;
            vault::replace(&directory.join(COMPLETIONS), &text)?;
        }
        Ok(())
    }
}
