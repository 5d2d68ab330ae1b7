//! Changing the user's prompts: the file first, then the registry that search follows, then the
//! news to every connection. The messages are seed 002's.

use std::{
    path::PathBuf,
    sync::{PoisonError, atomic::Ordering},
};

use super::document::stamp;
use crate::{
    app::{App, Event},
    domain::{
        Kind, Progress, Result,
        prompt::{Draft, Patch},
    },
    import::ImportReport,
    store::prompts::Restored,
};

impl App {
    pub fn create_prompt(&self, draft: Draft) -> Result<String> {
        self.refuse_suspect_prompts()?;
        let stored = self.prompts.create(draft)?;
        self.register_prompt(&stored.prompt.name)?;
        self.tell_prompts();
        Ok(format!("Created prompt: {}", stored.prompt.name))
    }

    pub fn update_prompt(&self, patch: Patch) -> Result<String> {
        self.refuse_suspect_prompts()?;
        let before = patch.name.clone().unwrap_or_default();
        let built_in = self.prompts.find(&before)?.is_some_and(|found| !found.origin.is_user());
        let stored = self.prompts.update(patch)?;
        self.register_prompt(&stored.prompt.name)?;
        if built_in {
            self.tell_prompts();
            return Ok(format!("Created prompt: {} (a copy of {before})", stored.prompt.name));
        }
        if before != stored.prompt.name {
            self.register_prompt(&before)?;
        }
        self.tell_prompts();
        Ok(format!("Updated prompt: {}", stored.prompt.name))
    }

    pub fn delete_prompt(&self, name: &str) -> Result<String> {
        self.refuse_suspect_prompts()?;
        // The last prompt leaves the registry first. A crash in between is then a prompt that
        // comes back, not a file that seems to have lost its prompts.
        let last = self.store.items.count(Some(Kind::Prompt))? == 1;
        if last {
            self.store.items.remove(Kind::Prompt, name)?;
        }
        if let Err(error) = self.prompts.delete(name) {
            if last {
                self.register_prompt(name)?;
            }
            return Err(error);
        }
        self.register_prompt(name)?;
        self.tell_prompts();
        Ok(format!("Deleted prompt: {name}"))
    }

    /// Brings a backup of `user.jsonl` back.
    pub fn restore_prompts(&self, backup: &str) -> Result<Restored> {
        let restored = self.prompts.restore(backup)?;
        self.sync_prompts()?;
        self.tell_prompts();
        Ok(restored)
    }

    /// Brings libraries of prompts in.
    pub fn import_prompts(
        &self,
        paths: &[PathBuf],
        progress: &dyn Progress,
    ) -> Result<ImportReport> {
        self.refuse_suspect_prompts()?;
        let report = super::import(self.prompts.as_ref(), paths, progress)?;
        self.sync_prompts()?;
        self.tell_prompts();
        Ok(report)
    }

    /// Tells the registry of one name: all of a large library would take longer than the change.
    fn register_prompt(&self, name: &str) -> Result<()> {
        let version = self.prompts.version()?;
        let mut seen = self.prompts_seen.lock().unwrap_or_else(PoisonError::into_inner);
        // After this change the registry is complete, unless another came in between.
        if seen.is_some_and(|seen| seen + 1 == version) {
            *seen = Some(version);
        }
        match self.prompts.find(name)? {
            // Found under another spelling of the name, it is registered under its own. A built-in
            // prompt that comes to light again is not the user's.
            Some(stored) if stored.origin.is_user() => {
                let name = &stored.prompt.name;
                self.store.items.record(Kind::Prompt, name, stamp(&stored.prompt)).map(drop)
            }
            _ => self.store.items.remove(Kind::Prompt, name).map(drop),
        }
    }

    fn tell_prompts(&self) {
        self.wake_index();
        // The first process to see a change announces it.
        if let Ok(version) = self.prompts.version()
            && self.prompts_told.swap(version, Ordering::AcqRel) != version
        {
            self.events.send(&Event::Prompts);
        }
    }
}
