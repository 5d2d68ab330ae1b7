//! All pages at a glance: which links lead where, and who links to whom. Built when first needed,
//! and brought up to date by the pages that changed since (`follow`).
//!
//! There is one of every page, and one for each part of the library that somebody looked at lately. A page that a request does not see is no target in its library, no
//! backlink, and takes no name.

mod follow;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::{Arc, Mutex, PoisonError},
};

use super::{App, rights::Rights};
use crate::{
    domain::{Author, Pid, Result, UserName, VaultPath, Visible, user::Role},
    markdown::outline::likeness,
    store::{pages::PageRow, users::Account},
    telemetry::metric,
    vault::LinkIndex,
};

pub(super) use follow::{PagesSince, pages_since};

/// A page as others point at it.
#[derive(Debug, Clone)]
pub struct Entry {
    pub pid: Pid,
    pub path: VaultPath,
    pub title: String,
    aliases: Vec<String>,
    author: Option<Author>,
    /// Targets of its links, as written.
    links: Vec<String>,
}

impl From<PageRow> for Entry {
    fn from(row: PageRow) -> Self {
        let page = row.facts.page;
        Self {
            pid: row.pid,
            path: page.path,
            title: page.title,
            aliases: page.aliases,
            author: page.author.as_deref().and_then(Author::new),
            links: row.facts.links,
        }
    }
}

/// A library and the change it is as of.
type Cached = Mutex<Option<(i64, Arc<Library>)>>;

/// How many parts have a library of their own at a time, besides everything and what is free.
const MAX_PARTS: usize = 16;

/// The libraries of the parts that were read lately.
#[derive(Default)]
pub struct LibraryCache {
    all: Cached,
    free: Cached,
    /// By part, most recently used last.
    parts: Mutex<Vec<(Visible, Arc<Cached>)>>,
}

impl LibraryCache {
    /// The library that a request with these pages uses.
    fn with<T>(&self, part: &Visible, make: impl FnOnce(&Cached) -> T) -> T {
        if part.is_everything() {
            return make(&self.all);
        }
        if part.is_only_free() && part.author().is_none() {
            return make(&self.free);
        }
        let mut known = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
        let (part, cached) = match known.iter().position(|(known, _)| known == part) {
            Some(at) => known.remove(at),
            None => {
                if known.len() >= MAX_PARTS {
                    known.remove(0);
                }
                (part.clone(), Arc::default())
            }
        };
        known.push((part, cached.clone()));
        drop(known);
        make(&cached)
    }
}

/// Every visible page, by vault, with the links between them.
#[derive(Default, Clone)]
pub struct Library {
    vaults: BTreeMap<String, Shelf>,
    incoming: HashMap<Pid, Vec<Pid>>,
    /// How many pages each author has.
    authors: HashMap<Author, usize>,
}

/// The pages of one vault.
#[derive(Default, Clone)]
struct Shelf {
    /// By path.
    pages: Vec<Entry>,
    /// Where each page stands in `pages`.
    places: HashMap<Pid, usize>,
    links: LinkIndex,
}

impl Library {
    fn new(rows: Vec<PageRow>) -> Self {
        metrics::counter!(metric::LIBRARY_BUILT).increment(1);
        let mut library = Self::default();
        for row in rows {
            let shelf = library.vaults.entry(row.vault.clone()).or_default();
            shelf.pages.push(Entry::from(row));
        }
        library.vaults.values_mut().for_each(Shelf::index);
        library.connect();
        library
    }

    /// Finds every backlink and author again.
    fn connect(&mut self) {
        let mut incoming: HashMap<Pid, Vec<Pid>> = HashMap::new();
        for (from, to) in self.vaults.values().flat_map(Shelf::edges) {
            incoming.entry(to).or_default().push(from);
        }
        self.incoming = incoming;
        self.authors.clear();
        let pages = self.vaults.values().flat_map(|shelf| &shelf.pages);
        let authors: Vec<Author> = pages.filter_map(|page| page.author.clone()).collect();
        authors.into_iter().for_each(|author| self.count_author(Some(author), true));
    }

    /// Counts one page more or less of an author.
    fn count_author(&mut self, author: Option<Author>, more: bool) {
        let Some(author) = author else { return };
        let count = self.authors.entry(author.clone()).or_default();
        *count = if more { *count + 1 } else { count.saturating_sub(1) };
        if *count == 0 {
            self.authors.remove(&author);
        }
    }

    /// The page that a link in a vault leads to.
    pub fn resolve(&self, vault: &str, from: Option<&VaultPath>, target: &str) -> Option<&Entry> {
        let shelf = self.vaults.get(vault)?;
        shelf.links.resolve_address(from, target).map(|at| &shelf.pages[at])
    }

    /// The page of each vault that a link would find by this name.
    pub fn find<'a>(&'a self, name: &'a str) -> impl Iterator<Item = Pid> + 'a {
        self.vaults.keys().filter_map(|vault| self.resolve(vault, None, name)).map(|page| page.pid)
    }

    /// The path of the page whose name is most like this one, if one is at least this like it (in
    /// thousandths).
    pub fn nearest(&self, vault: &str, name: &str, least: u32) -> Option<String> {
        let wanted = name.rsplit('/').next().unwrap_or(name).trim_end_matches(".md").to_lowercase();
        let pages = self.vaults.get(vault)?.pages.iter();
        let ranked = pages.map(|page| (likeness(&wanted, &page.path.stem().to_lowercase()), page));
        let (likeness, page) = ranked.max_by_key(|(likeness, _)| *likeness)?;
        (likeness >= least).then(|| page.path.as_str().to_owned())
    }

    /// Whether a page of a vault is among them.
    pub fn has(&self, vault: &str, pid: Pid) -> bool {
        self.vaults.get(vault).is_some_and(|shelf| shelf.places.contains_key(&pid))
    }

    /// The links of a vault's pages to files of these names, each with its page.
    pub fn naming<'a>(
        &'a self,
        vault: &str,
        names: &'a BTreeSet<&'a str>,
    ) -> impl Iterator<Item = (Pid, &'a VaultPath, &'a str)> {
        let pages = self.vaults.get(vault).into_iter().flat_map(|shelf| &shelf.pages);
        pages.flat_map(move |page| {
            let named = page.links.iter().filter(|link| {
                let name = link.trim().rsplit('/').next().unwrap_or_default();
                VaultPath::parse(name).is_ok_and(|name| names.contains(name.as_str()))
            });
            named.map(move |link| (page.pid, &page.path, link.as_str()))
        })
    }

    /// Pages that link here, and pages that it links to.
    pub fn neighbours(&self, vault: &str, pid: Pid) -> (Vec<Pid>, Vec<Pid>) {
        let incoming = self.incoming.get(&pid).cloned().unwrap_or_default();
        let outgoing = self
            .vaults
            .get(vault)
            .and_then(|shelf| {
                let page = &shelf.pages[*shelf.places.get(&pid)?];
                Some(shelf.targets(page).collect())
            })
            .unwrap_or_default();
        (incoming, outgoing)
    }
}

impl Shelf {
    /// Sorts the pages and indexes their names.
    fn index(&mut self) {
        self.pages.sort_by(|a, b| a.path.cmp(&b.path));
        self.places = self.pages.iter().zip(0..).map(|(page, at)| (page.pid, at)).collect();
        self.links = LinkIndex::new(
            self.pages
                .iter()
                .map(|page| (&page.path, page.title.as_str(), page.aliases.as_slice())),
        );
    }

    fn targets<'a>(&'a self, page: &'a Entry) -> impl Iterator<Item = Pid> + 'a {
        page.links
            .iter()
            .filter_map(|target| self.links.resolve_address(Some(&page.path), target))
            .map(|at| self.pages[at].pid)
            .filter(|pid| *pid != page.pid)
    }

    fn edges(&self) -> impl Iterator<Item = (Pid, Pid)> + '_ {
        self.pages.iter().flat_map(|page| self.targets(page).map(|to| (page.pid, to)))
    }
}

impl App {
    /// The user of this name who has the role of an author.
    pub fn author_account(&self, author: &Author) -> Result<Option<Account>> {
        let Ok(name) = UserName::new(author.as_str()) else { return Ok(None) };
        let account = self.store.users.find(&name)?;
        Ok(account.filter(|account| account.role == Role::Author))
    }

    /// The library as of the newest change, with the pages that this request sees.
    pub fn library(&self, rights: &Rights) -> Result<Arc<Library>> {
        let part = rights.visible();
        self.libraries.with(part, |cached| {
            let mut kept = cached.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some((at, library)) = kept.as_mut() {
                match pages_since(self.store.items.as_ref(), *at)? {
                    PagesSince::Same(head) => {
                        *at = head;
                        return Ok(library.clone());
                    }
                    PagesSince::Changed(head, changed) => {
                        let mut rows = self.store.pages.get_many(&changed)?;
                        rows.retain(|row| rights.sees(&row.facts.page));
                        // Copied only while a request still reads the state before.
                        Arc::make_mut(library).follow(&changed, rows);
                        *at = head;
                        return Ok(library.clone());
                    }
                    PagesSince::TooMany => {}
                }
            }
            // The position first: a change in between is seen twice rather than never.
            let head = self.store.items.head()?;
            let rows = self.store.pages.list(None, usize::MAX, part)?;
            let library = Arc::new(Library::new(rows));
            *kept = Some((head, library.clone()));
            Ok(library)
        })
    }

    /// Whether somebody is called as the author to whom the request is confined: a user who is an
    /// author, or the author of a page that the request may read or call. `None` while the vaults
    /// are still being read and no such page was found.
    pub fn knows_author(&self, rights: &Rights) -> Result<Option<bool>> {
        let is_read = self.await_first_look();
        let Some(author) = rights.author() else { return Ok(Some(true)) };
        // Unconfined, so that an unknown author costs no library of its own.
        let library = self.library(&rights.clone().unconfined())?;
        let is_known = library.authors.contains_key(author)
            || self.author_account(author)?.is_some()
            || !self.methods(rights)?.is_empty();
        Ok(match is_known {
            true => Some(true),
            false => is_read.then_some(false),
        })
    }
}
