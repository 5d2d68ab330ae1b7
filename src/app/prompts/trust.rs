//! Whether `user.jsonl` can be trusted.
//!
//! The registry knows how many prompts the user had. A file that had some and now has none is
//! suspect: its prompts keep their passages, and nothing is written to it until a backup is
//! restored or the loss is accepted.

use crate::{
    app::App,
    domain::{Error, Kind, Result},
};

impl App {
    /// Why the user's file cannot be trusted; `None` when it can.
    pub fn prompts_suspicion(&self) -> Result<Option<String>> {
        if !self.sources.has_prompts_file() {
            return Ok(None);
        }
        let all = self.prompts.all()?;
        if all.iter().any(|stored| stored.origin.is_user()) {
            return Ok(None);
        }
        let known = match self.store.items.count(Some(Kind::Prompt))? {
            0 => return Ok(None),
            1 => "one".to_owned(),
            known => known.to_string(),
        };
        let file = self.config.prompts_directory().join("user.jsonl");
        let state = match file.metadata() {
            Err(_) => "is not there",
            Ok(metadata) if metadata.len() == 0 => "is empty (0 bytes)",
            Ok(_) => "has no prompt that can be read",
        };
        Ok(Some(format!("`{}` {state}, but the library knows of {known} in it", file.display())))
    }

    /// Refuses a write to a file that has lost its prompts, or a copy of it.
    pub(in crate::app) fn refuse_suspect_prompts(&self) -> Result<()> {
        match self.prompts_suspicion()? {
            None => Ok(()),
            Some(why) => Err(Error::damaged(format!(
                "nothing was written: {why}. Bring them back with `notewell prompt restore BACKUP` \
                 (`notewell prompt backups` lists them), or, if they were removed on purpose, run \
                 `notewell doctor --accept-empty prompts`"
            ))),
        }
    }

    /// Takes the loss of every prompt as meant: the registry forgets them, and their passages go.
    /// Returns how many there were.
    pub fn accept_no_prompts(&self) -> Result<u64> {
        if self.prompts.all()?.iter().any(|stored| stored.origin.is_user()) {
            return Err(Error::invalid_request(
                "`user.jsonl` has prompts; there is no loss to accept",
            ));
        }
        let known = self.store.items.count(Some(Kind::Prompt))?;
        self.store.items.sync(Kind::Prompt, &[])?;
        Ok(known)
    }
}
