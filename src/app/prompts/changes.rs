//! Changing the user's prompts: the file first, then the registry that search follows, then the
//! news to every connection. The messages are seed 002's.

use crate::{
    app::{App, Event},
    domain::{
        Result,
        prompt::{Draft, Patch},
    },
};

impl App {
    pub fn create_prompt(&self, draft: Draft) -> Result<String> {
        let stored = self.prompts.create(draft)?;
        self.prompts_changed()?;
        Ok(format!("Created prompt: {}", stored.prompt.name))
    }

    pub fn update_prompt(&self, patch: Patch) -> Result<String> {
        let stored = self.prompts.update(patch)?;
        self.prompts_changed()?;
        Ok(format!("Updated prompt: {}", stored.prompt.name))
    }

    pub fn delete_prompt(&self, name: &str) -> Result<String> {
        self.prompts.delete(name)?;
        self.prompts_changed()?;
        Ok(format!("Deleted prompt: {name}"))
    }

    fn prompts_changed(&self) -> Result<()> {
        self.sync_prompts()?;
        self.wake_index();
        self.events.send(&Event::Prompts);
        Ok(())
    }
}
