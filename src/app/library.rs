//! All pages at a glance: which links lead where, and who links to whom. Built when first needed
//! after a change, and kept until the next one.
//!
//! There is one of every page, one of the pages that everybody may see, and one for each author whose
//! address was called lately. A page that a request does not see is no target in its library, no
//! backlink, and takes no name.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::{Arc, Mutex, PoisonError},
};

use super::{
    App,
    rights::{Rights, VisiblePages},
};
use crate::{
    domain::{Author, Pid, Result, VaultPath},
    markdown::outline::likeness,
    store::pages::PageRow,
    vault::LinkIndex,
};

/// A page as others point at it.
#[derive(Debug)]
pub struct Entry {
    pub pid: Pid,
    pub path: VaultPath,
    pub title: String,
    links: Vec<String>,
}

/// A library and the change it is as of.
type Glance = Mutex<Option<(i64, Arc<Library>)>>;

/// How many authors have a library of their own at a time.
const MAX_AUTHORS: usize = 16;

#[derive(Default)]
pub struct Glances {
    all: Glance,
    free: Glance,
    /// By author, most recently made last.
    authors: Mutex<Vec<(VisiblePages, Arc<Glance>)>>,
}

impl Glances {
    /// The library that a request with these pages uses.
    fn with<T>(&self, pages: &VisiblePages, make: impl FnOnce(&Glance) -> T) -> T {
        match pages {
            VisiblePages { author: None, only_free: false } => make(&self.all),
            VisiblePages { author: None, only_free: true } => make(&self.free),
            confined => {
                let mut known = self.authors.lock().unwrap_or_else(PoisonError::into_inner);
                let glance = match known.iter().find(|(pages, _)| pages == confined) {
                    Some((_, glance)) => glance.clone(),
                    None => {
                        if known.len() >= MAX_AUTHORS {
                            known.remove(0);
                        }
                        let glance: Arc<Glance> = Arc::default();
                        known.push((confined.clone(), glance.clone()));
                        glance
                    }
                };
                drop(known);
                make(&glance)
            }
        }
    }
}

#[derive(Default)]
pub struct Library {
    vaults: BTreeMap<String, Shelf>,
    incoming: HashMap<Pid, Vec<Pid>>,
    authors: HashSet<Author>,
}

#[derive(Default)]
struct Shelf {
    pages: Vec<Entry>,
    /// Where each page stands in `pages`.
    places: HashMap<Pid, usize>,
    links: LinkIndex,
}

impl Library {
    fn new(rows: Vec<PageRow>) -> Self {
        let mut library = Self::default();
        let mut aliases: HashMap<Pid, Vec<String>> = HashMap::new();
        for row in rows {
            let page = row.facts.page;
            aliases.insert(row.pid, page.aliases);
            library.authors.extend(page.author.as_deref().and_then(Author::new));
            library.vaults.entry(row.vault).or_default().pages.push(Entry {
                pid: row.pid,
                path: page.path,
                title: page.title,
                links: row.facts.links,
            });
        }
        for shelf in library.vaults.values_mut() {
            shelf.pages.sort_by(|a, b| a.path.cmp(&b.path));
            shelf.places = shelf.pages.iter().zip(0..).map(|(page, at)| (page.pid, at)).collect();
            shelf.links = LinkIndex::new(
                shelf
                    .pages
                    .iter()
                    .map(|page| (&page.path, page.title.as_str(), aliases[&page.pid].as_slice())),
            );
        }
        let mut incoming: HashMap<Pid, Vec<Pid>> = HashMap::new();
        for (from, to) in library.vaults.values().flat_map(Shelf::edges) {
            incoming.entry(to).or_default().push(from);
        }
        library.incoming = incoming;
        library
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
    /// The library as of the newest change, with the pages that this request sees.
    pub fn library(&self, rights: &Rights) -> Result<Arc<Library>> {
        let head = self.store.items.head()?;
        let pages = rights.visible_pages();
        self.glances.with(&pages, |glance| {
            let mut kept = glance.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some((at, library)) = kept.as_ref()
                && *at == head
            {
                return Ok(library.clone());
            }
            let mut rows = self.store.pages.list(None, usize::MAX >> 1, pages.only_free)?;
            rows.retain(|row| rights.sees(&row.facts.page));
            let library = Arc::new(Library::new(rows));
            *kept = Some((head, library.clone()));
            Ok(library)
        })
    }

    /// Whether the request sees a page of the author to whom it is confined. `None` while the vaults
    /// are still being read and no such page was found.
    pub fn knows_author(&self, rights: &Rights) -> Result<Option<bool>> {
        let is_read = self.await_first_look();
        let Some(author) = rights.author() else { return Ok(Some(true)) };
        // Unconfined, so that an unknown author costs no library of its own.
        let library = self.library(&rights.clone().unconfined())?;
        Ok(match library.authors.contains(author) {
            true => Some(true),
            false => is_read.then_some(false),
        })
    }
}
