//! Who may change the files of a skill. Agents follow a `SKILL.md` and run the scripts beside it, so
//! a grant to write the folder does not suffice.

use super::{App, address::SKILL};
use crate::{
    app::rights::Rights,
    domain::{Error, Result, VaultPath},
    store::pages::VaultRow,
};

impl App {
    /// Refuses to change a file below a folder with a `SKILL.md` which the request may not write.
    pub(in crate::app) fn check_skill(
        &self,
        vault: &VaultRow,
        path: &VaultPath,
        rights: &Rights,
    ) -> Result<()> {
        let mut folder = path.folder();
        while !folder.is_empty() {
            let skill = self.store.pages.find(&vault.name, &format!("{folder}/{SKILL}"))?;
            if skill.is_some_and(|skill| !rights.writes(&skill.facts.page)) {
                return Err(Error::invalid_params(format!(
                    "you may not write `{path}`: it is part of the skill in `{folder}`, which agents follow, so only the owner and the author of its `{SKILL}` write it; nothing was changed"
                )));
            }
            folder = folder.rsplit_once('/').map_or("", |(above, _)| above);
        }
        Ok(())
    }
}
