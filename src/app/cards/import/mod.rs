//! Cards from elsewhere: Google Keep's Takeout, Memento's JSON, a folder of Markdown. Each may be
//! a file, a folder or a zip of either.
//!
//! The same source gives the same ids, so a second import of it adds nothing; a card that changed
//! there since is brought up to date. Whatever is left out is in the report, with the reason.

mod keep;
mod markdown;
mod memento;
mod source;

use std::{collections::HashMap, io::BufRead, path::PathBuf, time::Duration};

use super::CardRoom;
use crate::{
    app::import::{Cut, ImportReport, MOST_RECORDS, each, failed, parse, too_many_records},
    domain::{
        Card, Progress, Result,
        card::{MAX_CONTENT_BYTES, check_images},
    },
    store::{cards::Imported, sqlite::cards::id_of},
};
use source::{LARGEST_NOTE, Source};

/// JSON values of one card, and of a file that is one object.
const MOST_CARD_VALUES: usize = 100_000;
const MOST_OBJECT_VALUES: usize = 1_000_000;
/// Cards in one transaction: short enough that another program does not wait.
const BATCH: usize = 200;
/// Bytes of texts and images in one transaction.
const BATCH_BYTES: usize = 16 << 20;

/// Left between two transactions in a database that another program uses.
const PAUSE: Duration = Duration::from_millis(25);

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
    /// Imports every card of these files, folders and zips. What was filed before a fault or a
    /// stop stays, and a repeat goes on.
    pub fn import(&self, paths: &[PathBuf], progress: &dyn Progress) -> Result<ImportReport> {
        self.writable()?;
        let mut import = Import {
            room: self,
            report: ImportReport::default(),
            batch: Vec::new(),
            bytes: 0,
            given: 0,
            ids: HashMap::new(),
        };
        let mut sources = Vec::new();
        for path in paths {
            match Source::open(path, &mut import.report.skipped) {
                Ok(source) => sources.push((path, source)),
                Err(error) => {
                    import.report.failed.push((path.clone(), error.plain().to_owned()));
                }
            }
        }
        let total = sources.iter().map(|(_, source)| source.len()).sum::<usize>() as u64;
        let mut done = 0;
        for (path, source) in &mut sources {
            for index in 0..source.len() {
                if progress.stopped() {
                    import.report.stopped = true;
                    break;
                }
                match import.take(source, index) {
                    Ok(()) => {}
                    // A fault of our own storage would repeat with every file.
                    Err(error) if error.code.json_rpc() == -32603 => return Err(error),
                    Err(error) => {
                        let why = format!("`{}`: {}", source.name(index), error.plain());
                        import.report.failed.push((path.to_path_buf(), why));
                        break;
                    }
                }
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
    report: ImportReport,
    batch: Vec<Draft>,
    bytes: usize,
    /// Cards so far, those left out included.
    given: usize,
    /// Ids given in this run, with a digest of what they were given to.
    ids: HashMap<String, String>,
}

impl Import<'_> {
    fn take(&mut self, source: &mut Source, index: usize) -> Result<()> {
        let name = source.name(index);
        let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
        let found = match ending.as_deref() {
            Some("json") if source.with_reader(&name, is_list)? => {
                return self.list(source, &name);
            }
            Some("json") => match source.bytes(&name, LARGEST_NOTE)? {
                Some(bytes) => read_object(&name, &bytes, source),
                None => Found::skip(&name, TOO_LARGE),
            },
            Some("md" | "markdown") => match source.bytes(&name, LARGEST_NOTE)? {
                Some(bytes) => match String::from_utf8(bytes) {
                    Ok(text) => markdown::read(&name, &text, source.modified(index), source),
                    Err(_) => Found::skip(&name, "is not UTF-8 text"),
                },
                None => Found::skip(&name, TOO_LARGE),
            },
            _ => {
                self.report.other_files += 1;
                return Ok(());
            }
        };
        self.found(found)
    }

    /// A list of cards, one at a time.
    fn list(&mut self, source: &mut Source, name: &str) -> Result<()> {
        let mut number = 0;
        source.with_reader(name, |reader| {
            let start = reader.fill_buf().map_err(|error| failed(&error))?;
            let mark = start.len() - without_mark(start).len();
            reader.consume(mark);
            each(reader, LARGEST_NOTE as usize, |cut: Cut| {
                let from = format!("{name}[{number}]");
                number += 1;
                let found = match cut.and_then(|bytes| parse(&bytes, MOST_CARD_VALUES)) {
                    Ok(value) if memento::is_card(&value) => memento::read(&from, value),
                    Ok(_) => Found::skip(&from, "is not a card: it has no `content`"),
                    Err(why) => Found::skip(&from, why),
                };
                self.found(found)
            })
        })
    }

    fn found(&mut self, found: Found) -> Result<()> {
        self.given += found.cards.len() + found.skipped.len();
        if self.given > MOST_RECORDS {
            return Err(too_many_records());
        }
        self.report.skipped.extend(found.skipped);
        self.report.changed.extend(found.remarks);
        found.cards.into_iter().try_for_each(|draft| self.add(draft))
    }

    fn add(&mut self, mut draft: Draft) -> Result<()> {
        if let Some(why) = refuse(&draft.card) {
            self.report.skipped.push(draft.from, why);
            return Ok(());
        }
        if draft.card.id.is_empty() {
            let key: Vec<&str> = draft.key.iter().map(String::as_str).collect();
            draft.card.id = id_of(&key);
            // Two notes of the same moment and title are told apart by what they say.
            let said = format!("{}\0{:?}", draft.card.content, draft.card.check_items);
            let digest = id_of(&[&said]);
            let first = self.ids.entry(draft.card.id.clone()).or_insert_with(|| digest.clone());
            if *first != digest {
                draft.card.id = id_of(&[&draft.card.id, &said]);
            }
        }
        let images = draft.card.images.iter().flatten().map(String::len).sum::<usize>();
        self.bytes += images + draft.card.content.len();
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
        if !self.room.file.own {
            std::thread::sleep(PAUSE);
        }
        for (from, outcome) in from.into_iter().zip(self.room.store()?.import(&cards)?) {
            match outcome {
                Imported::Added => self.report.added += 1,
                Imported::Updated => self.report.updated += 1,
                Imported::Present => self.report.unchanged += 1,
                Imported::Refused(why) => self.report.skipped.push(from, why),
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

const TOO_LARGE: &str = "is larger than 160 MiB; split it";

/// The text without its byte order mark.
fn without_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)
}

/// Whether a JSON file is a list, which is read one element at a time.
fn is_list(reader: &mut dyn BufRead) -> Result<bool> {
    loop {
        let bytes = reader.fill_buf().map_err(|error| failed(&error))?;
        let blank = bytes.len();
        match without_mark(bytes).iter().find(|byte| !byte.is_ascii_whitespace()) {
            Some(byte) => return Ok(*byte == b'['),
            None if blank == 0 => return Ok(false),
            None => reader.consume(blank),
        }
    }
}

fn read_object(name: &str, bytes: &[u8], source: &mut Source) -> Found {
    match parse(without_mark(bytes), MOST_OBJECT_VALUES) {
        Err(why) => Found::skip(name, why),
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
