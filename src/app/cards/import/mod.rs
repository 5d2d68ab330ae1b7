//! Cards from elsewhere: Google Keep's Takeout, Memento's JSON, a folder of Markdown. Each may be
//! a file, a folder or a zip of either.
//!
//! The same source gives the same ids, so a second import of it adds nothing; a card that changed
//! there since is brought up to date. Nothing is left out without a word in the report.

mod keep;
mod markdown;
mod memento;
mod source;

use std::{collections::HashMap, path::PathBuf, time::Duration};

use serde_json::Value;

use super::CardRoom;
use crate::{
    domain::{
        Card, Progress, Result,
        card::{MAX_CONTENT_BYTES, check_images},
    },
    store::{cards::Imported, sqlite::cards::id_of},
};
use source::{File, Source};

/// Cards in one transaction: short enough that another program does not wait.
const BATCH: usize = 200;
/// Bytes of images in one transaction.
const BATCH_BYTES: usize = 16 << 20;

/// Left between two transactions in a database that another program uses.
const PAUSE: Duration = Duration::from_millis(25);

/// What an import did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    pub added: usize,
    /// Were there, older.
    pub updated: usize,
    /// Are there already.
    pub present: usize,
    /// What was left out, and why.
    pub skipped: Vec<(String, String)>,
    /// What was taken otherwise than it stood, and how.
    pub remarks: Vec<(String, String)>,
    /// Files that are no cards (pages for browsers, pictures that a note shows).
    pub others: usize,
}

/// What one file holds: cards, each with where it came from.
#[derive(Debug, Default)]
struct Found {
    cards: Vec<Draft>,
    skipped: Vec<(String, String)>,
    remarks: Vec<(String, String)>,
}

/// A card without an id has the parts that make one.
#[derive(Debug)]
struct Draft {
    from: String,
    card: Card,
    key: Vec<String>,
}

impl CardRoom {
    /// Imports every card of these files, folders and zips.
    pub fn import(&self, paths: &[PathBuf], progress: &dyn Progress) -> Result<Report> {
        let mut import = Import {
            room: self,
            report: Report::default(),
            batch: Vec::new(),
            bytes: 0,
            ids: HashMap::new(),
        };
        let mut sources =
            paths.iter().map(|path| Source::open(path)).collect::<Result<Vec<_>>>()?;
        let total = sources.iter().map(Source::len).sum::<usize>() as u64;
        let mut done = 0;
        for source in &mut sources {
            for index in 0..source.len() {
                import.take(source, index)?;
                done += 1;
                progress.report(done, Some(total), "importing cards");
            }
        }
        import.flush()?;
        self.state().seen = None;
        self.sync()?;
        Ok(import.report)
    }
}

struct Import<'a> {
    room: &'a CardRoom,
    report: Report,
    batch: Vec<Draft>,
    bytes: usize,
    /// Ids given in this run, with what they were given to.
    ids: HashMap<String, String>,
}

impl Import<'_> {
    fn take(&mut self, source: &mut Source, index: usize) -> Result<()> {
        let name = source.name(index);
        let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
        let found = match ending.as_deref() {
            Some("json") => match source.read(index)? {
                File::Text(text) => read_json(&name, &text, source),
                File::Refused(why) => Found::skip(&name, why),
            },
            Some("md" | "markdown") => match source.read(index)? {
                File::Text(text) => markdown::read(&name, &text, source.modified(index), source),
                File::Refused(why) => Found::skip(&name, why),
            },
            _ => {
                self.report.others += 1;
                return Ok(());
            }
        };
        self.report.skipped.extend(found.skipped);
        self.report.remarks.extend(found.remarks);
        for draft in found.cards {
            self.add(draft)?;
        }
        Ok(())
    }

    fn add(&mut self, mut draft: Draft) -> Result<()> {
        if let Some(why) = refuse(&draft.card) {
            self.report.skipped.push((draft.from, why));
            return Ok(());
        }
        if draft.card.id.is_empty() {
            let key: Vec<&str> = draft.key.iter().map(String::as_str).collect();
            draft.card.id = id_of(&key);
            // Two notes of the same moment and title are told apart by what they say.
            let said = format!("{}\0{:?}", draft.card.content, draft.card.check_items);
            let taken = self.ids.entry(draft.card.id.clone()).or_insert_with(|| said.clone());
            if *taken != said {
                draft.card.id = id_of(&[&draft.card.id, &said]);
            }
        }
        self.bytes += draft.card.images.iter().flatten().map(String::len).sum::<usize>();
        self.batch.push(draft);
        if self.batch.len() >= BATCH || self.bytes >= BATCH_BYTES { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<()> {
        self.bytes = 0;
        let batch = std::mem::take(&mut self.batch);
        let (from, cards): (Vec<_>, Vec<_>) =
            batch.into_iter().map(|draft| (draft.from, draft.card)).unzip();
        if cards.is_empty() {
            return Ok(());
        }
        // SQLite's lock is not fair: without a pause a web app that waits for it could give up.
        if !self.room.own {
            std::thread::sleep(PAUSE);
        }
        for (from, outcome) in from.into_iter().zip(self.room.store()?.import(&cards)?) {
            match outcome {
                Imported::Added => self.report.added += 1,
                Imported::Updated => self.report.updated += 1,
                Imported::Present => self.report.present += 1,
                Imported::Refused(why) => self.report.skipped.push((from, why)),
            }
        }
        Ok(())
    }
}

impl Found {
    fn skip(name: &str, why: impl Into<String>) -> Self {
        Self { skipped: vec![(name.to_owned(), why.into())], ..Self::default() }
    }

    fn one(name: &str, card: Card, key: Vec<String>) -> Self {
        let draft = Draft { from: name.to_owned(), card, key };
        Self { cards: vec![draft], ..Self::default() }
    }
}

fn read_json(name: &str, text: &str, source: &mut Source) -> Found {
    match serde_json::from_str::<Value>(text) {
        Err(error) => Found::skip(name, format!("is not JSON: {error}")),
        Ok(value) if keep::is_note(&value) => keep::read(name, &value, source),
        Ok(value) if memento::is_export(&value) => memento::read(name, value),
        Ok(_) => Found::skip(name, "is neither a Keep note nor a Memento export"),
    }
}

/// Why a card cannot be taken; the limits are those of every other way in.
fn refuse(card: &Card) -> Option<String> {
    if card.content.len() > MAX_CONTENT_BYTES {
        return Some(format!(
            "its content is {} bytes; the limit is {MAX_CONTENT_BYTES}",
            card.content.len()
        ));
    }
    check_images(card.images.as_deref().unwrap_or_default())
        .err()
        .map(|error| error.plain().to_owned())
}
