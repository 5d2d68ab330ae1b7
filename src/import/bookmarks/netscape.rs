//! The bookmark file that Netscape left to every browser and service after it.
//!
//! It is no HTML that a parser would take: lists are not closed, notes hold markup of their own.
//! So this reads the handful of marks that mean something and takes all else for text. Folders
//! become labels; an address that is filed twice is one bookmark with the labels of both places.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::{
    MAX_TEXT_BYTES, Reader, dates,
    entities::decode,
    fields::{distinct, split},
};
use crate::{
    domain::{
        Bookmark, Error, Result,
        bookmark::{Judged, links::addresses},
        query::Action,
    },
    import::{MAX_RECORDS, too_many_records},
};

/// Folders that count, from the inside.
const MAX_FOLDER_TAGS: usize = 32;
const MAX_NAME: usize = 40;
const MAX_COMMENT_BYTES: usize = 64 << 10;
/// Folders within each other; a file with more is broken.
const MAX_FOLDERS: usize = 1_000;
/// Bytes of a folder's name or note that are kept: every bookmark below it repeats them.
const MAX_FOLDER: usize = 1_000;

pub(super) fn is_file(head: &[u8]) -> bool {
    let head = String::from_utf8_lossy(head).to_ascii_lowercase();
    let start = head.trim_start();
    start.starts_with('<')
        && (head.contains("netscape-bookmark-file")
            || (head.contains("<dt>") && (head.contains("<a ") || head.contains("<h3")))
            || (head.contains("<li>") && head.contains("time_added=")))
}

pub(super) fn read(text: &str, reader: &mut Reader<'_>) -> Result<()> {
    let mut walk = Walk::default();
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        walk.text(&rest[..at]);
        rest = &rest[at..];
        match Mark::parse(rest) {
            Some((mark, length)) => {
                walk.mark(&mark, &rest[..length]);
                rest = &rest[length..];
                if walk.found.len() > MAX_RECORDS {
                    return Err(too_many_records());
                }
                if walk.folders.len() > MAX_FOLDERS {
                    return Err(Error::invalid_params(format!(
                        "more than {MAX_FOLDERS} folders stand within each other; the file is broken"
                    )));
                }
            }
            None => {
                walk.text("<");
                rest = &rest[1..];
            }
        }
    }
    walk.text(rest);
    walk.finish();
    give(walk.found, reader)
}

/// One place for each address: what is filed again adds its labels there and is reported.
fn give(found: Vec<Entry>, reader: &mut Reader<'_>) -> Result<()> {
    let mut first: HashMap<String, usize> = HashMap::new();
    let mut kept: Vec<(usize, Bookmark)> = Vec::new();
    let mut reports: Vec<(usize, String)> = Vec::new();
    for (number, entry) in found.into_iter().enumerate().map(|(at, entry)| (at + 1, entry)) {
        match entry.bookmark(reader) {
            Err(why) => reports.push((number, why)),
            Ok(bookmark) => match first.get(&bookmark.id) {
                None => {
                    first.insert(bookmark.id.clone(), kept.len());
                    kept.push((number, bookmark));
                }
                Some(at) => {
                    let (known, earlier) = &mut kept[*at];
                    for label in bookmark.labels {
                        if !earlier.labels.contains(&label) {
                            earlier.labels.push(label);
                        }
                    }
                    reports.push((
                        number,
                        format!("the same address as record {known}, which has its labels now"),
                    ));
                }
            },
        }
    }
    for (number, bookmark) in kept {
        reader.give(format!("record {number}"), Ok(bookmark))?;
    }
    reports
        .into_iter()
        .try_for_each(|(number, why)| reader.give(format!("record {number}"), Err(why)))
}

#[derive(Default)]
struct Folder {
    name: String,
    note: String,
    /// The browser's own bar: every browser has one, and it says nothing.
    bar: bool,
}

#[derive(Default)]
struct Entry {
    attributes: Vec<(String, String)>,
    title: String,
    note: String,
    folders: Vec<String>,
    labels: Vec<String>,
    folder_note: String,
}

/// What the text that follows belongs to.
#[derive(Default, PartialEq)]
enum Place {
    #[default]
    Nothing,
    Title,
    Note,
    Folder,
    FolderNote,
}

#[derive(Default)]
struct Walk {
    found: Vec<Entry>,
    open: Option<Entry>,
    folders: Vec<Folder>,
    next: Option<Folder>,
    place: Place,
}

impl Walk {
    fn text(&mut self, text: &str) {
        let into = match self.place {
            Place::Nothing => None,
            Place::Title => self.open.as_mut().map(|entry| &mut entry.title),
            Place::Note => self.open.as_mut().map(|entry| &mut entry.note),
            Place::Folder => self.next.as_mut().map(|folder| &mut folder.name),
            Place::FolderNote => self.next.as_mut().map(|folder| &mut folder.note),
        };
        let folder = matches!(self.place, Place::Folder | Place::FolderNote);
        if let Some(into) = into {
            // A title or note over the limit is refused later, by its length; what lies beyond
            // need not be kept for that.
            let most = if folder { MAX_FOLDER } else { MAX_TEXT_BYTES + 1 };
            let mut room = most.saturating_sub(into.len()).min(text.len());
            while !text.is_char_boundary(room) {
                room -= 1;
            }
            into.push_str(&text[..room]);
        }
    }

    fn mark(&mut self, mark: &Mark, written: &str) {
        let noting = matches!(self.place, Place::Note | Place::FolderNote);
        match mark.name.as_str() {
            "dt" => self.finish(),
            "li" if !noting => self.finish(),
            "dl" => {
                self.finish();
                self.folders.push(self.next.take().unwrap_or_default());
            }
            "/dl" => {
                self.finish();
                self.folders.pop();
            }
            // A browser's line between two entries; a person's note writes it small.
            "hr" if !noting || written == "<HR>" => self.finish(),
            "h3" if !noting => {
                self.finish();
                let bar = mark.attributes.iter().any(|(name, _)| name == "personal_toolbar_folder");
                self.next = Some(Folder { bar, ..Folder::default() });
                self.place = Place::Folder;
            }
            "/h3" | "/a" if !noting => self.place = Place::Nothing,
            "a" if !noting && mark.attributes.iter().any(|(name, _)| name == "href") => {
                self.finish();
                self.begin(mark);
            }
            "dd" if self.open.is_some() => self.place = Place::Note,
            "dd" if self.next.is_some() => self.place = Place::FolderNote,
            // Of the page around the list, or markup inside a text.
            "p" | "/p" | "/dt" | "/dd" | "/li" | "!" if !noting => {}
            "/html" | "/body" | "/ul" if !noting => self.finish(),
            _ => self.text(written),
        }
    }

    fn begin(&mut self, mark: &Mark) {
        let deepest = self.folders.len().saturating_sub(MAX_FOLDER_TAGS);
        let named =
            || self.folders[deepest..].iter().filter(|folder| !folder.name.trim().is_empty());
        let name = |folder: &Folder| decode(folder.name.trim());
        self.open = Some(Entry {
            attributes: mark.attributes.clone(),
            folders: named().map(name).collect(),
            labels: named().filter(|folder| !folder.bar).map(name).collect(),
            folder_note: self.folders.last().map(|f| decode(f.note.trim())).unwrap_or_default(),
            ..Entry::default()
        });
        self.place = Place::Title;
    }

    fn finish(&mut self) {
        self.found.extend(self.open.take());
        self.place = Place::Nothing;
    }
}

impl Entry {
    fn bookmark(self, reader: &Reader<'_>) -> std::result::Result<Bookmark, String> {
        let mut extra = Map::new();
        let (mut url, mut date, mut tags, mut described) =
            (String::new(), None, Vec::new(), String::new());
        let mut to_read = false;
        for (name, value) in self.attributes {
            let value = decode(&value);
            match name.as_str() {
                "href" => url = value.trim().to_owned(),
                "add_date" | "time_added" if date.is_none() => {
                    date = dates::parse(&value);
                    if date.is_none() && !value.is_empty() {
                        extra.insert(name, value.into());
                    }
                }
                "tags" => tags = split(&value),
                "description" => described = value,
                _ => {
                    to_read |= name == "toread" && matches!(value.as_str(), "1" | "yes" | "true");
                    if !value.is_empty() {
                        extra.insert(name, value.into());
                    }
                }
            }
        }
        let title = decode(self.title.trim());
        let note = decode(self.note.trim());
        let text = [described.trim(), &note]
            .into_iter()
            .filter(|text| !text.is_empty())
            .collect::<Vec<_>>()
            .join("\n\n");
        let named = if text.is_empty() { &title } else { &text };
        let mut bookmark = Bookmark::new(None, &url, named, date.unwrap_or(reader.now))
            .map_err(|_| "it has no address, no title and no note".to_owned())?;
        bookmark.links = addresses(&text).into_iter().map(|at| text[at].to_owned()).collect();
        bookmark.text = text;
        bookmark.title = title;
        bookmark.labels = distinct(self.labels.into_iter().chain(tags));
        if !self.folders.is_empty() {
            extra.insert("folder".to_owned(), self.folders.join("/").into());
        }
        if !self.folder_note.is_empty() {
            extra.insert("folderNote".to_owned(), Value::from(self.folder_note));
        }
        if to_read {
            bookmark.action = Some(Judged::by_user(Action::ReadLater));
        }
        bookmark.extra = extra;
        Ok(bookmark)
    }
}

/// `<NAME attribute="value">`, names in lower case, values as they are written.
struct Mark {
    name: String,
    attributes: Vec<(String, String)>,
}

impl Mark {
    /// The mark that a text begins with, and its length. `a < b` begins with none.
    fn parse(text: &str) -> Option<(Self, usize)> {
        if text.starts_with("<!--") {
            // One that never ends is the rest of a broken file, not a comment.
            let end = memchr::memmem::find(
                &text.as_bytes()[..text.len().min(MAX_COMMENT_BYTES)],
                b"-->",
            )? + 3;
            return Some((Self { name: "!".to_owned(), attributes: Vec::new() }, end));
        }
        let inner = &text[1..];
        let name_end = inner
            .char_indices()
            .take(MAX_NAME)
            .find(|(at, c)| c.is_whitespace() || *c == '>' || (*c == '/' && *at > 0))?
            .0;
        let name = inner[..name_end].to_ascii_lowercase();
        let letters = name.trim_start_matches(['/', '!']);
        if !letters.starts_with(|c: char| c.is_ascii_alphabetic())
            || !letters.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-:".contains(&b))
        {
            return None;
        }
        let name = if name.starts_with('!') { "!".to_owned() } else { name };
        let mut attributes = Vec::new();
        let mut at = 1 + name_end;
        loop {
            at += spaces(&text[at..]);
            let rest = &text[at..];
            let first = rest.chars().next()?;
            if first == '>' {
                return Some((Self { name, attributes }, at + 1));
            }
            // Another mark begins before this one ended: this was none.
            let stop = |c: char| c.is_whitespace() || matches!(c, '=' | '>' | '<');
            let length = rest.find(stop)?.max(first.len_utf8());
            if first == '<' || rest[length..].starts_with('<') {
                return None;
            }
            let attribute = rest[..length].trim_matches('/').to_ascii_lowercase();
            at += length;
            let gap = spaces(&text[at..]);
            let mut value = "";
            if text[at + gap..].starts_with('=') {
                at += gap + 1;
                at += spaces(&text[at..]);
                let rest = &text[at..];
                let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''));
                let (from, length, after) = match quote {
                    Some(quote) => (1, rest[1..].find(quote)?, 1),
                    None => {
                        let end =
                            rest.find(|c: char| c.is_whitespace() || matches!(c, '>' | '<'))?;
                        (0, end, 0)
                    }
                };
                value = &rest[from..from + length];
                at += from + length + after;
            }
            if !attribute.is_empty() {
                attributes.push((attribute, value.to_owned()));
            }
        }
    }
}

fn spaces(text: &str) -> usize {
    text.len() - text.trim_start().len()
}
