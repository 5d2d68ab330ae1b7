//! Opening an item to read: by its number, path or address, whole or in part.

use std::time::Instant;

use percent_encoding::percent_decode_str;
use serde_json::{Map, Value};

use super::{
    App, bookmarks, cards, prompts,
    rights::{Right, Rights},
    vaults::NO_VAULT,
};
use crate::{
    domain::{Chunk, Error, Kind, MatchId, Pid, Result, VaultPath, Visible},
    markdown::{Note, window::Window},
    store::{cards::Images, pages::PageRow},
    vault,
};

/// How a caller names a note. Tried in this order; one that is stale does not eclipse the next.
#[derive(Debug, Clone, Default)]
pub struct NoteRef {
    /// The item's number.
    pub pid: Option<i64>,
    /// Another name of `pid`, which some clients use.
    pub note_id: Option<i64>,
    /// The path in a vault.
    pub path: Option<String>,
    /// An address of a page.
    pub href: Option<String>,
}

impl NoteRef {
    /// Nothing is named.
    pub fn is_empty(&self) -> bool {
        let blank = |text: &Option<String>| text.as_ref().is_none_or(|text| text.trim().is_empty());
        self.pid.is_none() && self.note_id.is_none() && blank(&self.path) && blank(&self.href)
    }
}

/// An item opened for reading, as it is at this moment.
pub struct Opened {
    /// The item.
    pub pid: Pid,
    /// Its kind.
    pub kind: Kind,
    /// Its title.
    pub title: String,
    /// What the user calls it: a path, a card's id, a prompt's name.
    pub path: String,
    /// Its address.
    pub url: String,
    /// Its whole source text, which ranges point into.
    pub text: String,
    /// The parsed text.
    pub note: Note,
    /// The page it is, when it is one: links are resolved from there.
    pub page: Option<PageRow>,
    /// What its frontmatter says.
    pub properties: Map<String, Value>,
    /// What the caller should know about how the reference was read.
    pub remark: Option<String>,
}

impl Opened {
    /// The passages, as the index has them.
    pub fn chunks(&self) -> Vec<Chunk> {
        self.note.chunks()
    }

    /// The headings that there are, for an error that helps.
    fn no_such_match(&self, id: MatchId, chunks: usize) -> Error {
        let headings: Vec<String> = self
            .note
            .outline
            .sections()
            .iter()
            .skip(1)
            .take(20)
            .map(|section| format!("`{}`", self.note.outline.path_of(section).join(" > ")))
            .collect();
        let headings = match headings.is_empty() {
            true => "it has no headings".to_owned(),
            false => format!("its headings are {}", headings.join(", ")),
        };
        Error::invalid_params(format!(
            "match_id `{id}` is not in this note, which has passages c0 to c{}; {headings}; search again for a current match_id",
            chunks.saturating_sub(1),
        ))
    }

    /// The window around a passage of this note.
    pub fn window(&self, id: MatchId, context_words: usize) -> Result<Window> {
        let chunks = self.chunks();
        let chunk = chunks
            .iter()
            .find(|chunk| chunk.ordinal == id.chunk)
            .ok_or_else(|| self.no_such_match(id, chunks.len()))?;
        Ok(self.note.window(&self.text, chunk.range.clone(), context_words))
    }
}

impl App {
    /// Opens the item that a reference names, if this caller may see it. Where the reference names
    /// several items, the first is opened and [`Opened::remark`] says that they disagree.
    pub fn open_note(&self, reference: &NoteRef, rights: &Rights) -> Result<Opened> {
        self.await_first_look();
        let mut missing = Vec::new();
        let mut found: Vec<(String, Pid)> = Vec::new();
        let mut opened = None;
        for (what, pid) in [("pid", reference.pid), ("note_id", reference.note_id)] {
            let Some(pid) = pid else { continue };
            let name = format!("{what} {pid}");
            match self.open_pid(Pid(pid), rights)? {
                Some(note) => {
                    found.push((name, note.pid));
                    opened.get_or_insert(note);
                }
                None => missing.push(name),
            }
        }
        for (what, text) in [("path", &reference.path), ("href", &reference.href)] {
            let Some(text) = text.as_deref().filter(|text| !text.trim().is_empty()) else {
                continue;
            };
            let path = if what == "href" { self.path_of_href(text) } else { text.to_owned() };
            let name = format!("{what} `{text}`");
            let pid = match self.find_path(&path, rights) {
                // A number that was found needs no help from a path that fits several notes.
                Err(_) if opened.is_some() => None,
                pid => pid?,
            };
            match pid.map(|pid| self.open_pid(pid, rights)).transpose()?.flatten() {
                Some(note) => {
                    found.push((name, note.pid));
                    opened.get_or_insert(note);
                }
                None => missing.push(name),
            }
        }
        let Some(mut opened) = opened else { return Err(self.no_such_note(&missing, rights)?) };
        opened.remark = remark(&found, &missing);
        Ok(opened)
    }

    /// Opens the item that a search hit is in.
    pub fn open_match(&self, id: MatchId, rights: &Rights) -> Result<Opened> {
        self.await_first_look();
        match self.open_pid(id.pid, rights)? {
            Some(opened) => Ok(opened),
            None => {
                self.require_notes(rights)?;
                Err(no_such_match(id))
            }
        }
    }

    /// The error of a match that is not in the note that was opened.
    pub fn match_of_another(&self, id: MatchId, opened: &Opened, rights: &Rights) -> Result<Error> {
        if self.open_pid(id.pid, rights)?.is_none() {
            return Ok(no_such_match(id));
        }
        Ok(Error::invalid_params(format!(
            "match_id `{id}` belongs to another note than `{}` (pid {}); open pid {} with it, or search again",
            opened.path, opened.pid, id.pid
        )))
    }

    fn no_such_note(&self, tried: &[String], rights: &Rights) -> Result<Error> {
        if tried.is_empty() {
            return Ok(Error::invalid_params("name the note by pid, note_id, path or href"));
        }
        let help = if rights.may(Right::LibraryState) && self.is_empty_library()? {
            NO_VAULT
        } else if self.vault_reads.are_done() {
            "`search` gives each note's pid and path"
        } else {
            "the notes are still being read, so try again in a moment"
        };
        Ok(Error::invalid_params(format!("there is no note with {}; {help}", tried.join(" or "))))
    }

    /// Waits for the first look at the vaults, a moment at most. Tells whether it is done.
    pub fn await_first_look(&self) -> bool {
        self.vault_reads.wait(Instant::now() + super::CATCH_UP);
        self.vault_reads.are_done()
    }

    /// Whether every vault was looked at since the start.
    pub fn has_looked_at_vaults(&self) -> bool {
        self.vault_reads.are_done()
    }

    /// Opens the item of this number; `None` when there is none that the caller may see.
    pub fn open_pid(&self, pid: Pid, rights: &Rights) -> Result<Option<Opened>> {
        if !rights.visible().is_everything() {
            let page = self.open_visible_page(pid, rights)?;
            let reads_others = [Kind::Card, Kind::Prompt, Kind::Bookmark]
                .into_iter()
                .any(|kind| rights.may(Right::Read(kind)));
            if page.is_some() || !reads_others {
                return Ok(page);
            }
        }
        let Some(item) = self.store.items.get(pid)?.filter(|item| !item.gone) else {
            return Ok(None);
        };
        if !rights.may(Right::Read(item.kind)) {
            return Ok(None);
        }
        let opened = match item.kind {
            Kind::Page => return self.open_page(pid, rights),
            Kind::Card => {
                let store = self.cards.store()?;
                let card = store.get(&item.key, Images::Links)?;
                let Some(card) = card.filter(|card| rights.sees_card(card)) else {
                    return Ok(None);
                };
                let title = card.name().lines().next().unwrap_or_default().to_owned();
                self.opened(pid, item.kind, title, item.key, cards::markdown(&card))
            }
            Kind::Prompt => {
                let Some(stored) = self.prompts.find(&item.key)? else { return Ok(None) };
                let text = prompts::text(&stored.prompt);
                self.opened(pid, item.kind, stored.prompt.title.clone(), item.key, text)
            }
            Kind::Bookmark => {
                let bookmark = self.store.bookmarks.get(pid)?;
                let Some(bookmark) = bookmark.filter(|bookmark| rights.sees_bookmark(bookmark))
                else {
                    return Ok(None);
                };
                let text = bookmarks::markdown(&bookmark);
                let opened = self.opened(pid, item.kind, bookmark.name(), item.key, text);
                Opened { url: bookmark.url, ..opened }
            }
        };
        Ok(Some(opened))
    }

    /// Asks for the first page from this number on, so that a number of a private item and one that
    /// was never given take the same work.
    fn open_visible_page(&self, pid: Pid, rights: &Rights) -> Result<Option<Opened>> {
        let before = Pid(pid.0.saturating_sub(1));
        let found = self.store.pages.list(Some(before), 1, &Visible::everything())?;
        match found.first() {
            Some(row) if row.pid == pid => self.open_page(pid, rights),
            _ => Ok(None),
        }
    }

    fn open_page(&self, pid: Pid, rights: &Rights) -> Result<Option<Opened>> {
        let Some(row) = self.store.pages.get(pid)? else { return Ok(None) };
        if !rights.sees(&row.facts.page) {
            return Ok(None);
        }
        let file = self.sources.page_text(&row)?;
        // Read now, not as of the last look: its rights count as they are now, too.
        let (mut page, note) = vault::page(&row.vault, &row.facts.page.path, &file.text);
        page.author = row.authorship.author_of(page.author);
        if !rights.sees(&page) {
            return Ok(None);
        }
        let path = self.sources.shown_path(&row.vault, &row.path)?;
        let url = self.url(Kind::Page, pid, &path);
        Ok(Some(Opened {
            pid,
            kind: Kind::Page,
            properties: page.properties(),
            title: page.title,
            path,
            url,
            text: file.text,
            note,
            page: Some(row),
            remark: None,
        }))
    }

    fn opened(&self, pid: Pid, kind: Kind, title: String, path: String, text: String) -> Opened {
        let note = Note::parse(&text, &title);
        let url = self.url(kind, pid, &path);
        Opened {
            pid,
            kind,
            title,
            path,
            url,
            text,
            note,
            page: None,
            properties: Map::new(),
            remark: None,
        }
    }

    /// The address of an item: a page's where a server answers and else its path, or the resource of
    /// any other kind.
    pub fn url(&self, kind: Kind, pid: Pid, path: &str) -> String {
        match (kind, self.site()) {
            (Kind::Page, Some(_)) => self.href(path),
            (Kind::Page, None) => path.to_owned(),
            _ => super::resources::uri(pid),
        }
    }

    /// The target of a link to a page: its address where a server answers, and else its path.
    pub fn href(&self, path: &str) -> String {
        let parts: Vec<String> = path.split('/').map(encode).collect();
        let path = parts.join("/");
        match self.site() {
            Some(site) => format!("{site}/{path}"),
            None => path,
        }
    }

    /// The path that an address means: of our own site, of any other host, or a bare path.
    fn path_of_href(&self, href: &str) -> String {
        let rest = match url::Url::parse(href) {
            Ok(url) if url.scheme() == "notewell" => return href.to_owned(),
            Ok(url) => url.path().to_owned(),
            Err(_) => href.split(['#', '?']).next().unwrap_or_default().to_owned(),
        };
        percent_decode_str(&rest).decode_utf8_lossy().trim_start_matches('/').to_owned()
    }

    /// The item that a path means: as it is, with its vault's name, without `.md`, or as a link
    /// would name it. A path that fits notes of several vaults is an error that names them. A page
    /// that the caller may not see takes no path.
    pub fn find_path(&self, path: &str, rights: &Rights) -> Result<Option<Pid>> {
        if let Some(pid) = path.strip_prefix("notewell://item/") {
            return Ok(pid.parse().ok().map(Pid));
        }
        let path = path.trim().trim_start_matches('/');
        if path.is_empty() {
            return Ok(None);
        }
        let vaults = self.store.pages.vaults()?;
        for path in [path.to_owned(), format!("{path}.md")] {
            // With several vaults, the name of the vault comes first in the paths that we print.
            let full = vaults.iter().filter_map(|vault| {
                let rest = path.strip_prefix(&vault.name)?.strip_prefix('/')?;
                Some((vault.name.as_str(), rest.to_owned()))
            });
            let bare = vaults.iter().map(|vault| (vault.name.as_str(), path.clone()));
            let (first, second) = match vaults.len() {
                0 | 1 => (bare.collect(), full.collect()),
                _ => (full.collect(), bare.collect::<Vec<_>>()),
            };
            for places in [first, second] {
                let found = self.seen_at(&places, rights)?;
                if let Some(pid) = self.only(&path, &found)? {
                    return Ok(Some(pid));
                }
            }
        }
        if let Some(pid) = self.find_by_key(path, rights)? {
            return Ok(Some(pid));
        }
        let mut found = Vec::new();
        for pid in self.library(rights)?.find(path) {
            found.extend(self.store.pages.get(pid)?.filter(|row| rights.sees(&row.facts.page)));
        }
        self.only(path, &found)
    }

    /// The pages at these places that the caller may see.
    fn seen_at(&self, places: &[(&str, String)], rights: &Rights) -> Result<Vec<PageRow>> {
        let mut found = Vec::new();
        for (vault, path) in places {
            let Ok(path) = VaultPath::parse(path) else { continue };
            let row = self.store.pages.find(vault, path.as_str())?;
            found.extend(row.filter(|row| rights.sees(&row.facts.page)));
        }
        Ok(found)
    }

    /// The one page that was found; an error that names all when there are several.
    fn only(&self, path: &str, found: &[PageRow]) -> Result<Option<Pid>> {
        match found {
            [] => Ok(None),
            [one] => Ok(Some(one.pid)),
            several => {
                let names: Vec<String> = several
                    .iter()
                    .map(|row| format!("`{}/{}` (pid {})", row.vault, row.path, row.pid))
                    .collect();
                Err(Error::invalid_params(format!(
                    "path `{path}` fits notes of {} vaults: {}; name one with its vault, or by pid",
                    several.len(),
                    names.join(", ")
                )))
            }
        }
    }

    /// Cards, prompts and bookmarks are called by their own names.
    fn find_by_key(&self, key: &str, rights: &Rights) -> Result<Option<Pid>> {
        for kind in [Kind::Card, Kind::Prompt, Kind::Bookmark] {
            if rights.may(Right::Read(kind))
                && let Some(item) = self.store.items.find(kind, key)?
                // One that the caller may not see takes no name.
                && (rights.may(Right::ReadEvery(kind))
                    || self.open_pid(item.pid, rights)?.is_some())
            {
                return Ok(Some(item.pid));
            }
        }
        Ok(None)
    }
}

fn no_such_match(id: MatchId) -> Error {
    Error::invalid_params(format!(
        "match_id `{id}` names a note that is not there; search again for a current match_id"
    ))
}

/// Says which of several references was used, when they do not all name one item.
fn remark(found: &[(String, Pid)], missing: &[String]) -> Option<String> {
    let (used, pid) = found.first()?;
    let others = found[1..]
        .iter()
        .filter(|(_, other)| other != pid)
        .map(|(name, other)| format!("{name} is another note (pid {other})"));
    let missing = missing.iter().map(|name| format!("there is no note with {name}"));
    let disagree: Vec<String> = others.chain(missing).collect();
    (!disagree.is_empty()).then(|| format!("{used} was used: {}", disagree.join("; ")))
}

/// What may stand unescaped in a part of a path.
fn encode(part: &str) -> String {
    const KEEP: percent_encoding::AsciiSet =
        percent_encoding::NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');
    percent_encoding::utf8_percent_encode(part, &KEEP).to_string()
}
