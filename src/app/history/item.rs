//! Which item somebody means, also one that is gone, and what it is now.

use super::ItemState;
use crate::{
    app::{App, vaults::files::not_there},
    domain::{Error, Kind, MatchId, Pid, Result, VaultPath},
    store::revisions::Revision,
};

impl App {
    /// The item that a number, a path, a card's or bookmark's id or a prompt's name stands for,
    /// whether it is there or was deleted.
    pub fn item_with_history(&self, pid: Option<i64>, name: Option<&str>) -> Result<Pid> {
        let mut tried = Vec::new();
        if let Some(pid) = pid.map(Pid) {
            if self.store.items.get(pid)?.is_some() {
                return Ok(pid);
            }
            tried.push(format!("pid {pid}"));
        }
        if let Some(name) = name.map(str::trim).filter(|name| !name.is_empty()) {
            if let Some(found) = self.named_item(name)? {
                return Ok(found);
            }
            tried.push(format!("`{name}`"));
        }
        Err(Error::invalid_params(match tried.is_empty() {
            true => "name the item by pid or path".to_owned(),
            false => format!(
                "there is no item {}, and none was deleted; `search` gives pids and paths, and `history` without an item lists the last changes",
                tried.join(" or ")
            ),
        }))
    }

    fn named_item(&self, name: &str) -> Result<Option<Pid>> {
        if let Ok(MatchId { pid, .. }) = name.parse() {
            return Ok(self.store.items.get(pid)?.map(|item| item.pid));
        }
        if let Some(found) = self.find_path(name, &self.owner())? {
            return Ok(Some(found));
        }
        let vaults = self.store.pages.vaults()?;
        let keys = std::iter::once(name.to_owned())
            .chain(vaults.iter().map(|vault| format!("{}/{name}", vault.name)))
            .chain(vaults.iter().map(|vault| format!("{}/{name}.md", vault.name)));
        for key in keys {
            if let Some(found) = self.store.revisions.item_of_key(&key)? {
                return Ok(Some(found));
            }
        }
        // `p29` without a passage, where nothing is called so.
        let item = Pid::of_pointer(name).map(|pid| self.store.items.get(pid)).transpose()?;
        Ok(item.flatten().map(|item| item.pid))
    }

    /// The key of a revision's item now: notes and bookmarks may have moved since.
    pub(super) fn key_now(&self, revision: &Revision) -> Result<String> {
        let moves = matches!(revision.kind, Kind::Page | Kind::Bookmark);
        let item = match revision.pid.filter(|_| moves) {
            Some(pid) => self.store.items.get(pid)?.filter(|item| !item.gone),
            None => None,
        };
        Ok(item.map_or_else(|| revision.key_after().to_owned(), |item| item.key))
    }

    /// What an item is at this moment, where it lives.
    pub(super) fn content_now(
        &self,
        kind: Kind,
        key: &str,
        pid: Option<Pid>,
    ) -> Result<Option<Vec<u8>>> {
        let only = |states: Vec<ItemState>| states.into_iter().find_map(|state| state.content);
        let key = key.to_owned();
        Ok(match kind {
            Kind::Card => only(self.cards.current(&[key])?),
            Kind::Prompt => only(self.prompt_states(&[key])?),
            Kind::Bookmark => match pid {
                Some(pid) => self.store.bookmarks.record(pid)?.map(String::into_bytes),
                None => None,
            },
            Kind::Page => self.page_now(&key)?,
        })
    }

    /// The bytes of a note. A vault that is away is an error: its notes are not gone.
    fn page_now(&self, key: &str) -> Result<Option<Vec<u8>>> {
        let (vault, path) = key
            .split_once('/')
            .ok_or_else(|| Error::internal(format!("`{key}` names no vault and path")))?;
        let row = self.sources.vault(vault)?.ok_or_else(|| not_there(vault))?;
        self.sources.check_there(&row)?;
        self.sources.file_bytes(&row, &VaultPath::parse(path)?)
    }
}
