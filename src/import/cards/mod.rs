//! Cards from elsewhere: Google Keep's Takeout, Memento's JSON, a folder of Markdown. Each may be
//! a file, a folder or a zip of either.
//!
//! The same source gives the same ids, so a second import of it adds nothing; a card that changed
//! there since is brought up to date. Whatever is left out is in the report, with the reason.

mod keep;
pub mod markdown;
mod memento;
mod source;

use std::io::BufRead;

use super::{Cut, ImportReport, MAX_RECORDS, each, failed, parse, too_many_records};
use crate::domain::{
    Card, Result,
    card::{MAX_CONTENT_BYTES, check_images},
};
use source::MAX_NOTE_BYTES;

pub use source::Source;

/// JSON values of one card, and of a file that is one object.
const MAX_CARD_VALUES: usize = 100_000;
const MAX_OBJECT_VALUES: usize = 1_000_000;
/// The cards of one file.
#[derive(Debug, Default)]
struct FileCards {
    cards: Vec<CardDraft>,
    skipped: Vec<(String, String)>,
    remarks: Vec<(String, String)>,
}

/// A card of an export.
#[derive(Debug)]
pub struct CardDraft {
    /// The file, and the position in it, for the report.
    pub from: String,
    /// Without an id where the export has none.
    pub card: Card,
    /// The parts that a stable id is derived from, for a card without one.
    pub key: Vec<String>,
}

/// Reads exports and passes each card to `sink`. Records what it leaves out in `report`.
pub struct CardReader<'a> {
    report: &'a mut ImportReport,
    /// Cards so far, including those left out.
    count: usize,
}

impl<'a> CardReader<'a> {
    /// A reader that reports into `report`.
    pub fn new(report: &'a mut ImportReport) -> Self {
        Self { report, count: 0 }
    }

    /// Reads one file of a source.
    ///
    /// # Errors
    ///
    /// Fails when the source cannot be read, holds too many records, or `sink` fails.
    pub fn read(
        &mut self,
        source: &mut Source,
        index: usize,
        sink: &mut dyn FnMut(CardDraft, &mut ImportReport) -> Result<()>,
    ) -> Result<()> {
        let name = source.name(index);
        let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
        let cards = match ending.as_deref() {
            Some("json") if source.with_reader(&name, is_list)? => {
                return self.list(source, &name, sink);
            }
            Some("json") => match source.bytes(&name, MAX_NOTE_BYTES)? {
                Some(bytes) => read_object(&name, &bytes, source),
                None => FileCards::skip(&name, TOO_LARGE),
            },
            Some("md" | "markdown") => match source.bytes(&name, MAX_NOTE_BYTES)? {
                Some(bytes) => match String::from_utf8(bytes) {
                    Ok(text) => markdown::read(&name, &text, source.modified(index), source),
                    Err(_) => FileCards::skip(&name, "is not UTF-8 text"),
                },
                None => FileCards::skip(&name, TOO_LARGE),
            },
            _ => {
                self.report.other_files += 1;
                return Ok(());
            }
        };
        self.pass_on(cards, sink)
    }

    /// A list of cards, one at a time.
    fn list(
        &mut self,
        source: &mut Source,
        name: &str,
        sink: &mut dyn FnMut(CardDraft, &mut ImportReport) -> Result<()>,
    ) -> Result<()> {
        let mut number = 0;
        source.with_reader(name, |reader| {
            let start = reader.fill_buf().map_err(|error| failed(&error))?;
            let mark = start.len() - without_mark(start).len();
            reader.consume(mark);
            each(reader, MAX_NOTE_BYTES as usize, |cut: Cut| {
                let from = format!("{name}[{number}]");
                number += 1;
                let cards = match cut.and_then(|bytes| parse(&bytes, MAX_CARD_VALUES)) {
                    Ok(value) if memento::is_card(&value) => memento::read(&from, value),
                    Ok(_) => FileCards::skip(&from, "is not a card: it has no `content`"),
                    Err(why) => FileCards::skip(&from, why),
                };
                self.pass_on(cards, sink)
            })
        })
    }

    fn pass_on(
        &mut self,
        cards: FileCards,
        sink: &mut dyn FnMut(CardDraft, &mut ImportReport) -> Result<()>,
    ) -> Result<()> {
        self.count += cards.cards.len() + cards.skipped.len();
        if self.count > MAX_RECORDS {
            return Err(too_many_records());
        }
        self.report.skipped.extend(cards.skipped);
        self.report.changed.extend(cards.remarks);
        for draft in cards.cards {
            match refuse(&draft.card) {
                Some(why) => self.report.skipped.push(draft.from, why),
                None => sink(draft, self.report)?,
            }
        }
        Ok(())
    }
}

impl FileCards {
    fn skip(name: &str, why: impl Into<String>) -> Self {
        Self { skipped: vec![(name.to_owned(), why.into())], ..Self::default() }
    }

    fn one(name: &str, card: Card, key: Vec<String>) -> Self {
        let draft = CardDraft { from: name.to_owned(), card, key };
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

fn read_object(name: &str, bytes: &[u8], source: &mut Source) -> FileCards {
    match parse(without_mark(bytes), MAX_OBJECT_VALUES) {
        Err(why) => FileCards::skip(name, why),
        Ok(value) if keep::is_note(&value) => keep::read(name, &value, source),
        Ok(value) if memento::is_export(&value) => memento::read(name, value),
        Ok(_) => FileCards::skip(name, "is neither a Keep note nor a Memento export"),
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
