//! Where items live: the vaults' files, the cards' database, the prompts' files, the bookmarks'
//! table, and the registry that gives each its number. The index reads them through here.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use serde_json::Value;

use super::{
    bookmarks,
    cards::CardRoom,
    prompts,
    shown::Shown,
    vault_reads::VaultReads,
    vaults::{ParsedPages, parse_page},
};
use crate::{
    config::Config,
    domain::{Code, Document, Kind, Page, Pid, Result, property},
    index::Source,
    markdown::Note,
    store::{Prompts, Store, texts::Unread},
};

/// Everything that holds items.
pub struct Sources {
    /// The settings.
    pub config: Arc<Config>,
    /// Durable state.
    pub store: Store,
    /// The cards.
    pub cards: Arc<CardRoom>,
    /// The prompts.
    pub prompts: Arc<dyn Prompts>,
    /// When each vault was last read.
    pub vault_reads: Arc<VaultReads>,
    /// Pages that a look at a vault parsed and the index has not asked for yet.
    pub(super) parsed: ParsedPages,
    /// The state of the prompts that the registry shows. Held during a comparison.
    prompts_shown: Mutex<Shown<u64>>,
}

impl Sources {
    /// Joins the places where items live.
    pub fn new(
        config: Arc<Config>,
        store: Store,
        cards: Arc<CardRoom>,
        prompts: Arc<dyn Prompts>,
    ) -> Self {
        let (vault_reads, parsed) = (Arc::default(), ParsedPages::default());
        let prompts_shown = Mutex::default();
        Self { config, store, cards, prompts, vault_reads, parsed, prompts_shown }
    }

    pub(super) fn prompts_shown(&self) -> MutexGuard<'_, Shown<u64>> {
        self.prompts_shown.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the user's prompts are in a file, which may be lost.
    pub fn has_prompts_file(&self) -> bool {
        self.store.server.is_none() || self.config.has_prompts_directory()
    }

    /// How a page is called in answers: its path, after the vault's name where there are several.
    pub fn shown_path(&self, vault: &str, path: &str) -> Result<String> {
        Ok(match self.store.pages.vaults()?.len() {
            0 | 1 => path.to_owned(),
            _ => format!("{vault}/{path}"),
        })
    }

    /// A page as the index takes it. The text that a look at the vault parsed a moment ago is not
    /// read again. A page whose text cannot be read now is given without it, as the registry knows
    /// it: the index keeps the passages that it has.
    fn page_document(&self, pid: Pid) -> Result<Option<Document>> {
        let Some(row) = self.store.pages.get(pid)?.filter(|row| row.facts.page.searchable) else {
            return Ok(None);
        };
        let shown = self.shown_path(&row.vault, &row.path)?;
        let with_chunks = |page: Page, note: &Note| {
            let mut document = described(pid, page, shown.clone());
            if let Some(document) = &mut document {
                document.chunks = note.chunks();
            }
            document
        };
        if let Some(note) = self.parsed.take(&row.vault, &row.path, &row.hash) {
            return Ok(with_chunks(row.facts.page, &note));
        }
        let path = &row.facts.page.path;
        let read = match self.store.texts.read(&row.vault, path) {
            // The vault was removed, and its pages go with it.
            Err(error) if error.code == Code::NotFound => return Ok(None),
            read => read?,
        };
        match read {
            Ok(file) => {
                let (mut page, note) = parse_page(&row.vault, path, &file.text);
                page.author = row.authorship.author_of(page.author);
                Ok(with_chunks(page, &note))
            }
            Err(Unread::Unreadable(_) | Unread::Absent) => {
                let mut document = described(pid, row.facts.page, shown);
                if let Some(document) = &mut document {
                    document.unread = true;
                }
                Ok(document)
            }
            // It is no note any more: the next look records that.
            Err(Unread::Unfit(_)) => Ok(None),
        }
    }

    /// A prompt whose text was lost, so that its passages stay. Once the file is back, the prompts
    /// are compared anew and logged.
    fn lost_prompt(&self, pid: Pid, name: &str) -> Result<Document> {
        let mut shown = self.prompts_shown();
        if !shown.are_forgotten() {
            self.store.items.forget_stamps(Kind::Prompt)?;
            shown.forget();
        }
        Ok(Document { unread: true, ..Document::new(pid, Kind::Prompt, "", name) })
    }
}

/// What a page says of itself, for the index; `None` when it is not searched.
pub(super) fn described(pid: Pid, page: Page, shown: String) -> Option<Document> {
    if !page.searchable {
        return None;
    }
    let properties = property::values(&page.properties());
    let place = Some((page.vault.clone(), page.path.clone()));
    let priced = page.is_priced();
    let mut document = Document::new(pid, Kind::Page, page.title, shown);
    document.properties = properties;
    document.labels = page.labels;
    document.aliases = page.aliases;
    document.lang = page.lang;
    document.author = page.author;
    document.date = page.date;
    document.free = page.free;
    document.members = page.members;
    document.priced = priced;
    document.place = place;
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
        self.store.items.acknowledged()
    }

    fn reached(&self) -> Result<i64> {
        self.store.items.head()
    }

    fn is_away(&self) -> bool {
        self.store.items.absence().is_some()
    }

    fn is_full(&self) -> bool {
        self.store.items.is_full()
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
                if stored.is_none()
                    && self.has_prompts_file()
                    && !self.prompts.all()?.iter().any(|one| one.origin.is_user())
                {
                    return self.lost_prompt(pid, &item.key).map(Some);
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
        let unread = self.vault_reads.wait(deadline);
        // One that somebody added a moment ago may not be followed yet.
        let vaults = self.store.pages.vaults().unwrap_or_default();
        unread + vaults.iter().filter(|vault| vault.is_unread()).count()
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{
        app::App,
        config::EmbedProvider,
        domain::{Silent, prompt::Draft},
        store::revisions::Actor,
    };

    /// The index may have asked for prompts while their file was away, and forget what they were only
    /// after it was found to be back.
    #[test]
    fn prompts_that_were_lost_are_compared_anew() {
        let folder = tempfile::tempdir().unwrap();
        let mut config = Config { data: folder.path().to_path_buf(), ..Config::default() };
        config.embed.provider = EmbedProvider::None;
        let app = App::open(config, Vec::new()).unwrap();
        let message = json!([{"role": "user", "content": {"type": "text", "text": "茶"}}]);
        let draft = json!({"name": "tea", "title": "Чай", "messages": message});
        app.create_prompt(Draft::parse(draft).unwrap(), &Actor::shell("test")).unwrap();
        app.refresh(&Silent).unwrap();
        let items = &app.store.items;
        let (pid, before) =
            (items.find(Kind::Prompt, "tea").unwrap().unwrap(), items.head().unwrap());
        assert!(app.sources.lost_prompt(pid.pid, "tea").unwrap().unread);
        app.refresh(&Silent).unwrap();
        let after = items.head().unwrap();
        assert!(after > before, "each is logged");
        app.refresh(&Silent).unwrap();
        assert_eq!(items.head().unwrap(), after, "once");
    }
}
