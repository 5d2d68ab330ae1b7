use super::Replica;
use crate::{
    domain::{Pid, Result, Timestamp, Visible},
    store::{
        items::Synced,
        pages::{Authorship, PageChange, PageRow, Pages, Skipped, VaultProblem, VaultRow},
    },
};

impl Pages for Replica {
    fn vaults(&self) -> Result<Vec<VaultRow>> {
        self.read(Pages::vaults)
    }

    fn add_vault(&self, name: &str, location: &str, poll: bool) -> Result<VaultRow> {
        self.write(|remote| remote.add_vault(name, location, poll))
    }

    fn move_vault(&self, name: &str, location: &str) -> Result<()> {
        self.write(|remote| remote.move_vault(name, location))
    }

    fn remove_vault(&self, name: &str) -> Result<bool> {
        self.write(|remote| remote.remove_vault(name))
    }

    fn set_authorship(&self, vault: &str, authorship: &Authorship) -> Result<()> {
        self.write(|remote| remote.set_authorship(vault, authorship))
    }

    fn mark_seen(&self, vault: &str, when: Timestamp) -> Result<()> {
        self.write(|remote| remote.mark_seen(vault, when))
    }

    fn set_problem(&self, vault: &str, problem: Option<&VaultProblem>) -> Result<()> {
        self.write(|remote| remote.set_problem(vault, problem))
    }

    fn get(&self, pid: Pid) -> Result<Option<PageRow>> {
        self.read(|local| Pages::get(local, pid))
    }

    fn get_many(&self, pids: &[Pid]) -> Result<Vec<PageRow>> {
        self.read(|local| Pages::get_many(local, pids))
    }

    fn find(&self, vault: &str, path: &str) -> Result<Option<PageRow>> {
        self.read(|local| Pages::find(local, vault, path))
    }

    fn of_vault(&self, vault: &str) -> Result<Vec<PageRow>> {
        // Compared with the files of a folder: sizes and times are in no log.
        self.write(|remote| remote.of_vault(vault))
    }

    fn with_content(&self, vault: &str, hashes: &[[u8; 32]]) -> Result<Vec<PageRow>> {
        self.write(|remote| remote.with_content(vault, hashes))
    }

    fn count_of(&self, vault: &str) -> Result<u64> {
        self.read(|local| local.count_of(vault))
    }

    fn list(&self, after: Option<Pid>, limit: usize, visible: &Visible) -> Result<Vec<PageRow>> {
        self.read(|local| Pages::list(local, after, limit, visible))
    }

    fn methods(&self) -> Result<Vec<PageRow>> {
        self.read(Pages::methods)
    }

    fn apply(&self, changes: &[PageChange]) -> Result<Synced> {
        self.write(|remote| remote.apply(changes))
    }

    fn set_skipped(
        &self,
        vault: &str,
        looked_at: Option<&[String]>,
        skipped: &[Skipped],
    ) -> Result<()> {
        self.write(|remote| remote.set_skipped(vault, looked_at, skipped))
    }

    fn skipped(&self) -> Result<Vec<Skipped>> {
        self.read(Pages::skipped)
    }
}
