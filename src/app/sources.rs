//! Where items live: the vaults' files, the cards' database, the prompts' files, the bookmarks'
//! table, and the registry that gives each its number. The index reads them through here.

use std::{
    collections::HashMap,
    path::PathBuf,
    sync::{Arc, RwLock},
    time::Instant,
};

use serde_json::Value;

use super::{bookmarks, cards::CardRoom, looks::Looks, prompts};
use crate::{
    config::Config,
    domain::{Document, Error, Kind, Page, Pid, Result},
    index::Source,
    store::{Prompts, Store, pages::PageRow},
    vault::{self, Reason},
};

/// Everything that holds items.
pub struct Sources {
    pub config: Arc<Config>,
    pub store: Store,
    pub cards: Arc<CardRoom>,
    pub prompts: Arc<dyn Prompts>,
    pub looks: Arc<Looks>,
    /// Roots of the vaults, which every document of a first index asks for.
    roots: RwLock<HashMap<String, PathBuf>>,
}

impl Sources {
    pub fn new(
        config: Arc<Config>,
        store: Store,
        cards: Arc<CardRoom>,
        prompts: Arc<dyn Prompts>,
    ) -> Self {
        Self { config, store, cards, prompts, looks: Arc::default(), roots: RwLock::default() }
    }

    fn cached_root(&self, vault: &str) -> Result<PathBuf> {
        let known = |roots: &HashMap<String, PathBuf>| roots.get(vault).cloned();
        if let Some(root) = self.roots.read().ok().and_then(|roots| known(&roots)) {
            return Ok(root);
        }
        let root = self.root(vault)?;
        if let Ok(mut roots) = self.roots.write() {
            roots.insert(vault.to_owned(), root.clone());
        }
        Ok(root)
    }

    /// How a page is called in answers: its path, after the vault's name where there are several.
    pub fn shown_path(&self, vault: &str, path: &str) -> Result<String> {
        Ok(match self.store.pages.vaults()?.len() {
            0 | 1 => path.to_owned(),
            _ => format!("{vault}/{path}"),
        })
    }

    /// A page as the index takes it. One whose file cannot be read at this moment is given without
    /// its text, as the registry knows it: the index keeps the passages that it has.
    fn page_document(&self, pid: Pid) -> Result<Option<Document>> {
        let Some(row) = self.store.pages.get(pid)?.filter(|row| row.facts.page.searchable) else {
            return Ok(None);
        };
        let root = self.cached_root(&row.vault)?;
        let file = vault::locate(&root, &row.facts.page.path);
        let shown = self.shown_path(&row.vault, &row.path)?;
        match vault::read(&file, self.config.limits.note_bytes) {
            Ok(file) => {
                let (page, note) = vault::page(&row.vault, &row.facts.page.path, &file.text);
                let mut document = described(pid, page, shown);
                if let Some(document) = &mut document {
                    document.chunks = note.chunks();
                }
                Ok(document)
            }
            Err(Reason::Unreadable(_) | Reason::Absent) => {
                let mut document = described(pid, row.facts.page, shown);
                if let Some(document) = &mut document {
                    document.unread = true;
                }
                Ok(document)
            }
            // It is no note any more: the next look records that.
            Err(_) => Ok(None),
        }
    }

    /// A live page's row, whatever it was when last indexed.
    pub fn page_row(&self, pid: Pid) -> Result<Option<PageRow>> {
        self.store.pages.get(pid)
    }
}

/// What a page says of itself, for the index; `None` when it is not searched.
fn described(pid: Pid, page: Page, shown: String) -> Option<Document> {
    if !page.searchable {
        return None;
    }
    let mut document = Document::new(pid, Kind::Page, page.title, shown);
    document.labels = page.labels;
    document.aliases = page.aliases;
    document.lang = page.lang;
    document.author = page.author;
    document.date = page.date;
    document.free = page.free;
    let said = |name: &str| page.extra.get(name).and_then(Value::as_str).map(str::to_owned);
    document.category = said("category");
    document.sentiment = said("sentiment");
    document.action = said("action");
    Some(document)
}

impl Source for Sources {
    fn changes(&self, after: i64, limit: usize) -> Result<Vec<(i64, Pid)>> {
        self.store.items.changes(after, limit)
    }

    fn head(&self) -> Result<i64> {
        self.store.items.head()
    }

    fn document(&self, pid: Pid) -> Result<Option<Document>> {
        let Some(item) = self.store.items.get(pid)?.filter(|item| !item.gone) else {
            return Ok(None);
        };
        match item.kind {
            Kind::Page => self.page_document(pid),
            Kind::Card => self.cards.document(&item),
            Kind::Prompt => {
                let stored = self.prompts.find(&item.key)?;
                if stored.is_none() && !self.prompts.all()?.iter().any(|one| one.origin.is_user()) {
                    // The text of a lost prompt cannot be read again: its passages stay.
                    return Err(Error::damaged(
                        "the file of your prompts has lost them; `notewell doctor` says how to restore it",
                    ));
                }
                Ok(stored.map(|stored| prompts::document(&stored.prompt, pid)))
            }
            Kind::Bookmark => {
                let bookmark = self.store.bookmarks.get(pid)?;
                Ok(bookmark.map(|bookmark| bookmarks::document(pid, &bookmark)))
            }
        }
    }

    fn library(&self) -> Result<i64> {
        self.store.items.library()
    }

    fn settle(&self, deadline: Instant) -> usize {
        self.looks.wait(deadline)
    }

    fn all(&self) -> Result<Vec<Pid>> {
        let mut pids = Vec::new();
        loop {
            let page = self.store.items.list(None, pids.last().copied(), 10_000)?;
            if page.is_empty() {
                return Ok(pids);
            }
            pids.extend(page.into_iter().map(|item| item.pid));
        }
    }
}
