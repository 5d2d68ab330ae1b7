//! What stands around a note: who links to it, who mentions it, what is near it in meaning.

use super::super::hits::{self, Hit};
use crate::{
    app::{App, notes::Opened, question::Question, rights::Rights},
    domain::{Filters, Kind, Pid, Result},
    search::{Like, Options},
};

/// Items of each list.
const SHOWN: usize = 6;
/// Titles below this length are words that occur everywhere.
const LEAST_CHARS: usize = 4;

/// A note that points here.
pub struct Pointer {
    /// Where it opens.
    pub href: String,
    /// Its title.
    pub title: String,
    /// Its path.
    pub path: String,
}

/// What stands around a note.
#[derive(Default)]
pub struct Around {
    /// Notes that link here.
    pub backlinks: Vec<Pointer>,
    /// How many more link here.
    pub more_backlinks: usize,
    /// Items that have the title in their text and do not link here.
    pub mentions: Vec<Hit>,
    /// The nearest items in meaning.
    pub near: Vec<Hit>,
}

/// Looks around an open note, as far as the caller sees. What cannot be found out is left out.
pub fn around(app: &App, rights: &Rights, opened: &Opened) -> Result<Around> {
    let mut linking: Vec<Pid> = Vec::new();
    if let Some(row) = &opened.page {
        linking = app.library(rights)?.neighbours(&row.vault, opened.pid).0;
        linking.sort();
        linking.dedup();
    }
    let rows = app.store.pages.get_many(&linking)?;
    let mut backlinks = Vec::new();
    for row in rows.into_iter().filter(|row| rights.sees(&row.facts.page)) {
        backlinks.push(Pointer {
            href: format!("/n/{}", row.pid),
            path: app.sources.shown_path(&row.vault, &row.path)?,
            title: row.facts.page.title,
        });
    }
    let more_backlinks = backlinks.len().saturating_sub(SHOWN * 4);
    backlinks.truncate(SHOWN * 4);
    let known = |pid: Pid| pid == opened.pid || linking.contains(&pid);
    let mentions = mentions(app, rights, opened)?.into_iter().filter(|hit| !known(hit.pid));
    Ok(Around {
        backlinks,
        more_backlinks,
        mentions: mentions.take(SHOWN).collect(),
        near: near(app, rights, opened)?,
    })
}

/// Items with the title of this one in their text, as an exact phrase.
fn mentions(app: &App, rights: &Rights, opened: &Opened) -> Result<Vec<Hit>> {
    let title = opened.title.replace('"', " ");
    if opened.kind != Kind::Page || title.trim().chars().count() < LEAST_CHARS {
        return Ok(Vec::new());
    }
    let text = format!("\"{}\"", title.trim());
    let question = Question { text, limit: SHOWN * 3, ..Question::default() };
    match app.search(question, rights) {
        // A phrase that was searched as words finds more than mentions.
        Ok(searched) if searched.answer.mentioned.is_empty() => {
            hits::hits(app, searched.answer.results)
        }
        Ok(_) => Ok(Vec::new()),
        Err(error) => {
            tracing::debug!(?error, "mentions are left out");
            Ok(Vec::new())
        }
    }
}

fn near(app: &App, rights: &Rights, opened: &Opened) -> Result<Vec<Hit>> {
    let mut filters = Filters::default();
    rights.narrow(&mut filters);
    let mut options = Options::new(&filters);
    options.limit = SHOWN;
    match app.engine.similar(Like::Item(opened.pid), &options) {
        Ok(answer) => hits::hits(app, answer.results),
        // Without vectors, or while they are still to come, nothing is near.
        Err(error) => {
            tracing::debug!(?error, "neighbours are left out");
            Ok(Vec::new())
        }
    }
}
