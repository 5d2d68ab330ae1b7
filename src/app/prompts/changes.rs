//! Changing the user's prompts: the file first, then the registry that search follows, then the
//! news to every connection. The messages are those of hexai, whose clients match on them.

use std::{path::PathBuf, sync::atomic::Ordering};

use unicode_normalization::UnicodeNormalization;

use super::document::stamp;
use crate::{
    app::{App, Event, history::ItemState},
    domain::{
        Kind, Progress, Prompt, Result,
        prompt::{Draft, Patch},
    },
    import::ImportReport,
    store::{
        prompts::Restored,
        revisions::{Actor, NewChange, Turn},
    },
};

impl App {
    /// Creates a prompt and returns its name.
    pub fn create_prompt(&self, draft: Draft, actor: &Actor) -> Result<String> {
        self.refuse_suspect_prompts()?;
        let names = [composed(draft.name.as_deref().unwrap_or_default())];
        let mut change = NewChange::new(actor, "create prompt");
        let stored = self.change_prompts(&mut change, &names, || {
            let stored = self.prompts.create(draft)?;
            self.register_prompt(&stored.prompt.name);
            Ok(stored)
        })?;
        self.tell_prompts();
        Ok(format!("Created prompt: {}", stored.prompt.name))
    }

    /// Changes a prompt and returns its name.
    pub fn update_prompt(&self, patch: Patch, actor: &Actor) -> Result<String> {
        self.refuse_suspect_prompts()?;
        let before = patch.name.clone().unwrap_or_default();
        let found = self.prompts.find(&before)?;
        let built_in = found.as_ref().is_some_and(|found| !found.origin.is_user());
        let mut names =
            vec![found.map_or_else(|| composed(&before), |found| found.prompt.name.clone())];
        names.extend(patch.new_name.as_deref().map(composed).filter(|name| *name != names[0]));
        let mut change = NewChange::new(actor, "update prompt");
        let stored = self.change_prompts(&mut change, &names, || {
            let stored = self.prompts.update(patch)?;
            self.register_prompt(&stored.prompt.name);
            if !built_in && before != stored.prompt.name {
                self.register_prompt(&before);
            }
            Ok(stored)
        })?;
        self.tell_prompts();
        Ok(match built_in {
            true => format!("Created prompt: {} (a copy of {before})", stored.prompt.name),
            false => format!("Updated prompt: {}", stored.prompt.name),
        })
    }

    /// Deletes a prompt and returns its name.
    pub fn delete_prompt(&self, name: &str, actor: &Actor) -> Result<String> {
        self.refuse_suspect_prompts()?;
        let found = self.prompts.find(name)?;
        let key = found.map_or_else(|| composed(name), |found| found.prompt.name.clone());
        let mut change = NewChange::new(actor, "delete prompt");
        self.change_prompts(&mut change, &[key], || {
            // The last prompt leaves the registry first. A crash in between is then a prompt that
            // comes back, not a file that seems to have lost its prompts.
            let last = self.store.items.count(Some(Kind::Prompt))? == 1;
            if last {
                self.store.items.remove(Kind::Prompt, name)?;
            }
            if let Err(error) = self.prompts.delete(name) {
                if last {
                    self.register_prompt(name);
                }
                return Err(error);
            }
            self.register_prompt(name);
            Ok(())
        })?;
        self.tell_prompts();
        Ok(format!("Deleted prompt: {name}"))
    }

    /// Brings a backup of `user.jsonl` back.
    pub fn restore_prompts(&self, backup: &str, actor: &Actor) -> Result<Restored> {
        let mut change = NewChange::new(actor, format!("restore prompts from {backup}"));
        let own = || -> Result<Vec<String>> {
            let all = self.prompts.all()?;
            let own = all.iter().filter(|stored| stored.origin.is_user());
            Ok(own.map(|stored| stored.prompt.name.clone()).collect())
        };
        let restored = self.journal.write(
            &mut change,
            || self.prompt_states(&own()?),
            || {
                let restored = self.prompts.restore(backup)?;
                self.register_prompts();
                Ok(restored)
            },
        )?;
        self.tell_prompts();
        Ok(restored)
    }

    /// Imports libraries of prompts as one change.
    pub fn import_prompts(
        &self,
        paths: &[PathBuf],
        progress: &dyn Progress,
        actor: &Actor,
    ) -> Result<ImportReport> {
        self.refuse_suspect_prompts()?;
        let mut change = NewChange::new(actor, "import prompts");
        let add = |prompts: Vec<Prompt>| {
            let names: Vec<String> = prompts.iter().map(|prompt| prompt.name.clone()).collect();
            self.change_prompts(&mut change, &names, || {
                self.prompts.add(prompts)?;
                self.register_prompts();
                Ok(())
            })
        };
        let report = super::import(self.prompts.as_ref(), paths, progress, add)?;
        self.tell_prompts();
        Ok(report)
    }

    /// Makes each of these prompts what its record says, or removes it: all or none.
    pub fn bring_prompts_back(
        &self,
        turn: &Turn<'_>,
        change: &mut NewChange,
        wanted: &[(String, Option<Vec<u8>>)],
    ) -> Result<()> {
        self.refuse_suspect_prompts()?;
        let names: Vec<String> = wanted.iter().map(|(name, _)| name.clone()).collect();
        let text = |bytes: &Vec<u8>| String::from_utf8_lossy(bytes).into_owned();
        let records: Vec<(String, Option<String>)> =
            wanted.iter().map(|(name, record)| (name.clone(), record.as_ref().map(text))).collect();
        self.journal.write_in(
            turn,
            change,
            || self.prompt_states(&names),
            || {
                // As for a deletion: the registry must not know of prompts that an empty file lost.
                let removed: Vec<&String> =
                    records.iter().filter(|(_, r)| r.is_none()).map(|(name, _)| name).collect();
                if self.store.items.count(Some(Kind::Prompt))? <= removed.len() as u64 {
                    for name in removed {
                        self.store.items.remove(Kind::Prompt, name)?;
                    }
                }
                self.prompts.put_records(&records)?;
                self.register_prompts();
                Ok(())
            },
        )?;
        self.tell_prompts();
        Ok(())
    }

    fn change_prompts<T>(
        &self,
        change: &mut NewChange,
        names: &[String],
        write: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        self.journal.write(change, || self.prompt_states(names), write)
    }

    /// The user's own prompts of these names as they are now.
    pub fn prompt_states(&self, names: &[String]) -> Result<Vec<ItemState>> {
        let state = |name: &String| {
            Ok(ItemState {
                pid: self.store.items.find(Kind::Prompt, name)?.map(|item| item.pid),
                kind: Kind::Prompt,
                key: name.clone(),
                content: self.prompts.record(name)?.map(String::into_bytes),
            })
        };
        names.iter().map(state).collect()
    }

    /// Tells the registry of one name: all of a large library would take longer than the change. The
    /// file is written, so a registry that cannot take it in now is no failure of the change: the
    /// next look at the prompts does it.
    fn register_prompt(&self, name: &str) {
        if let Err(error) = self.try_register_prompt(name) {
            self.sources.prompts_shown().doubt();
            tracing::warn!(%error, "a written prompt waits to be registered");
        }
    }

    /// The same for all names.
    fn register_prompts(&self) {
        if let Err(error) = self.sync_prompts() {
            tracing::warn!(%error, "written prompts wait to be registered");
        }
    }

    fn try_register_prompt(&self, name: &str) -> Result<()> {
        let version = self.prompts.version()?;
        let mut shown = self.sources.prompts_shown();
        // After this change the registry is complete, unless another came in between.
        shown.advance(version.wrapping_sub(1), version);
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
            && self.prompts_announced.swap(version, Ordering::AcqRel) != version
        {
            self.events.send(&Event::Prompts);
        }
    }
}

/// The name under which a prompt is stored.
fn composed(name: &str) -> String {
    name.nfc().collect()
}
