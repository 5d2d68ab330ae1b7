//! Imports cards: Google Keep's Takeout, Memento's JSON, a folder of Markdown.
//!
//! The same source gives the same ids, so a second import of it adds nothing; a card that changed
//! there since is brought up to date. Whatever is left out is in the report, with the reason.

use std::{collections::HashMap, path::PathBuf, time::Duration};

use super::CardRoom;
use crate::{
    domain::{Progress, Result},
    import::{
        ImportReport,
        cards::{CardDraft, CardReader, Source},
    },
    store::{
        cards::Imported,
        revisions::{Actor, NewChange},
        sqlite::cards::id_of,
    },
};

/// Cards in one transaction: short enough that another program does not wait.
const BATCH: usize = 200;
/// Bytes of texts and images in one transaction.
const BATCH_BYTES: usize = 16 << 20;
/// Pause between two transactions in a database that another program uses.
const PAUSE: Duration = Duration::from_millis(25);

impl CardRoom {
    /// Imports every card of these files, folders and zips. What was filed before a fault or a
    /// stop stays, and a repeat goes on.
    pub fn import(
        &self,
        paths: &[PathBuf],
        progress: &dyn Progress,
        actor: &Actor,
    ) -> Result<ImportReport> {
        self.writable()?;
        let mut report = ImportReport::default();
        let mut sources = Vec::new();
        for path in paths {
            match Source::open(path, &mut report.skipped) {
                Ok(source) => sources.push((path, source)),
                Err(error) => report.failed.push((path.clone(), error.plain().to_owned())),
            }
        }
        let mut filing = Filing {
            room: self,
            batch: Vec::new(),
            bytes: 0,
            ids: HashMap::new(),
            change: NewChange::new(actor, "import cards"),
        };
        let total = sources.iter().map(|(_, source)| source.count()).sum::<usize>() as u64;
        let mut done = 0;
        let mut stopped = false;
        let mut failed = Vec::new();
        let mut reader = CardReader::new(&mut report);
        for (path, source) in &mut sources {
            for index in 0..source.count() {
                stopped |= progress.stopped();
                if stopped {
                    break;
                }
                let read =
                    reader.read(source, index, &mut |draft, report| filing.add(draft, report));
                match read {
                    Ok(()) => {}
                    // A fault of our own storage would repeat with every file.
                    Err(error) if error.code.json_rpc() == -32603 => {
                        return Err(report.cut_short(error));
                    }
                    Err(error) => {
                        let why = format!("`{}`: {}", source.name(index), error.plain());
                        failed.push((path.to_path_buf(), why));
                        break;
                    }
                }
                done += 1;
                progress.report(done, Some(total), "importing cards");
            }
        }
        report.stopped = stopped;
        report.failed.extend(failed);
        filing.flush(&mut report).map_err(|error| report.cut_short(error))?;
        self.state().shown.doubt();
        self.sync()?;
        Ok(report)
    }
}

/// Collects cards into batches, gives each an id, and writes the batches.
struct Filing<'a> {
    room: &'a CardRoom,
    batch: Vec<CardDraft>,
    bytes: usize,
    /// Ids given in this run, with a digest of the card each was given to.
    ids: HashMap<String, String>,
    /// All batches are one change.
    change: NewChange,
}

impl Filing<'_> {
    fn add(&mut self, mut draft: CardDraft, report: &mut ImportReport) -> Result<()> {
        if draft.card.id.is_empty() {
            let key: Vec<&str> = draft.key.iter().map(String::as_str).collect();
            draft.card.id = id_of(&key);
            // The text distinguishes two notes of the same moment and title.
            let content = format!("{}\0{:?}", draft.card.content, draft.card.check_items);
            let digest = id_of(&[&content]);
            let first = self.ids.entry(draft.card.id.clone()).or_insert_with(|| digest.clone());
            if *first != digest {
                draft.card.id = id_of(&[&draft.card.id, &content]);
            }
        }
        let images = draft.card.images.iter().flatten().map(String::len).sum::<usize>();
        self.bytes += images + draft.card.content.len();
        self.batch.push(draft);
        let full = self.batch.len() >= BATCH || self.bytes >= BATCH_BYTES;
        if full { self.flush(report) } else { Ok(()) }
    }

    fn flush(&mut self, report: &mut ImportReport) -> Result<()> {
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
        let store = self.room.store()?;
        let ids: Vec<String> = cards.iter().map(|card| card.id.clone()).collect();
        let outcomes = self.room.journal.write(
            &mut self.change,
            || self.room.states(&*store, &ids),
            || store.import(&cards),
        )?;
        for (from, outcome) in from.into_iter().zip(outcomes) {
            match outcome {
                Imported::Added => report.added += 1,
                Imported::Updated => report.updated += 1,
                Imported::Present => report.unchanged += 1,
                Imported::Refused(why) => report.skipped.push(from, why),
            }
        }
        Ok(())
    }
}
