//! The results of a search as a page shows them, in the order of the engine.

use std::{collections::HashMap, ops::Range};

use super::{age::Age, asked::noun};
use crate::{
    app::App,
    domain::{Bookmark, Card, Kind, Pid, Result, Timestamp},
    search::{Found, Match},
    store::{cards::Images, pages::PageRow},
};

/// A stretch of text, highlighted or not.
#[derive(Debug, Clone)]
pub struct Piece {
    /// The text.
    pub text: String,
    /// Whether it is a matched form.
    pub marked: bool,
}

/// A passage of a result.
pub struct Passage {
    /// Where it opens.
    pub href: String,
    /// The headings that lead to it.
    pub section: String,
    /// Its text, with the matched forms.
    pub pieces: Vec<Piece>,
}

/// What spoke for a result.
pub struct Why {
    /// How well it answers, in percent.
    pub relevance: u32,
    /// How much of the question its words answer, in percent.
    pub words: u32,
    /// How near it is in meaning, in percent; `None` where it was not compared.
    pub meaning: Option<u32>,
    /// Whether it is in another language than the question.
    pub abroad: bool,
}

/// One result.
pub struct Hit {
    /// The item.
    pub pid: Pid,
    /// Where it opens: at its best passage.
    pub href: String,
    /// Its title.
    pub title: String,
    /// What it is.
    pub kind: &'static str,
    /// Its path, for a note; the host, for a bookmark.
    pub place: String,
    /// When it was changed or saved.
    pub age: Option<Age>,
    /// Who wrote it.
    pub author: Option<String>,
    /// Its labels.
    pub labels: Vec<String>,
    /// Best first.
    pub passages: Vec<Passage>,
    /// What spoke for it.
    pub why: Why,
    /// How many items say the same and are not shown.
    pub duplicates: usize,
}

/// Labels of a result that are shown.
const MAX_LABELS: usize = 4;
/// Passages of a result that are shown.
const MAX_PASSAGES: usize = 3;

/// Joins results with what the library knows of them.
pub fn hits(app: &App, results: Vec<Found>) -> Result<Vec<Hit>> {
    let rows = Rows::read(app, &results)?;
    Ok(results.into_iter().map(|found| rows.hit(found)).collect())
}

struct Rows {
    pages: HashMap<Pid, PageRow>,
    bookmarks: HashMap<Pid, Bookmark>,
    cards: HashMap<String, Card>,
}

impl Rows {
    fn read(app: &App, results: &[Found]) -> Result<Self> {
        let of = |kind: Kind| -> Vec<Pid> {
            results.iter().filter(|found| found.kind == kind).map(|found| found.pid).collect()
        };
        let cards = results.iter().filter(|found| found.kind == Kind::Card);
        let cards: Vec<&str> = cards.map(|found| found.path.as_str()).collect();
        let cards = match cards.is_empty() {
            true => Vec::new(),
            false => app.cards.store()?.get_many(&cards, Images::Links)?,
        };
        let pages = app.store.pages.get_many(&of(Kind::Page))?;
        Ok(Self {
            pages: pages.into_iter().map(|row| (row.pid, row)).collect(),
            bookmarks: app.store.bookmarks.get_many(&of(Kind::Bookmark))?.into_iter().collect(),
            cards: cards.into_iter().map(|card| (card.id.clone(), card)).collect(),
        })
    }

    fn hit(&self, found: Found) -> Hit {
        let evidence = found.evidence;
        let percent = |share: f32| (share.clamp(0.0, 1.0) * 100.0).round() as u32;
        let address = format!("/n/{}", found.pid);
        let best = found.matches.first();
        let mut hit = Hit {
            pid: found.pid,
            href: best
                .map_or_else(|| address.clone(), |best| format!("{address}#c{}", best.id.chunk)),
            kind: noun(found.kind),
            place: String::new(),
            age: None,
            author: None,
            labels: Vec::new(),
            why: Why {
                relevance: percent(found.relevance),
                words: percent(evidence.share),
                meaning: evidence.cosine.map(percent),
                abroad: evidence.abroad,
            },
            duplicates: found.duplicates.len(),
            passages: Vec::new(),
            title: found.title,
        };
        match found.kind {
            Kind::Page => {
                hit.place = found.path;
                if let Some(row) = self.pages.get(&found.pid) {
                    hit.age = Some(Age::of(Timestamp(row.mtime_ns / 1_000_000)));
                    hit.author.clone_from(&row.facts.page.author);
                    hit.labels.clone_from(&row.facts.page.labels);
                }
            }
            Kind::Bookmark => {
                if let Some(bookmark) = self.bookmarks.get(&found.pid) {
                    hit.title = bookmark.name();
                    hit.place = host(&bookmark.url);
                    hit.age = Some(Age::of(bookmark.date));
                    hit.author = bookmark.author.as_ref().map(|author| format!("@{author}"));
                    hit.labels =
                        bookmark.tags.as_ref().map(|tags| tags.value.clone()).unwrap_or_default();
                }
            }
            Kind::Card => {
                if let Some(card) = self.cards.get(&found.path) {
                    hit.age = card.updated_at.or(card.created_at).map(Age::of);
                    hit.labels = card.labels.clone().unwrap_or_default();
                }
            }
            Kind::Prompt => hit.place = found.path,
        }
        hit.labels.truncate(MAX_LABELS);
        hit.passages = found
            .matches
            .into_iter()
            .take(MAX_PASSAGES)
            .map(|passage| passage_of(passage, &address, &hit.title))
            .collect();
        hit
    }
}

fn passage_of(found: Match, address: &str, title: &str) -> Passage {
    // A leading heading that is the title says nothing new.
    let section = match found.toc_path.split_first() {
        Some((first, rest)) if first == title => rest,
        _ => &found.toc_path,
    };
    Passage {
        href: format!("{address}#c{}", found.id.chunk),
        section: section.join(" › "),
        pieces: pieces(&found.snippet, &found.marks),
    }
}

/// Cuts a text at its marks.
pub fn pieces(text: &str, marks: &[Range<usize>]) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut at = 0;
    let mut add = |range: Range<usize>, marked| {
        if let Some(text) = text.get(range).filter(|text| !text.is_empty()) {
            pieces.push(Piece { text: text.to_owned(), marked });
        }
    };
    for mark in marks {
        // Marks that overlap are one.
        let start = mark.start.max(at);
        if start >= mark.end {
            continue;
        }
        add(at..start, false);
        add(start..mark.end, true);
        at = mark.end;
    }
    add(at..text.len(), false);
    pieces
}

/// The host of an address, as people know it.
pub fn host(address: &str) -> String {
    let host = url::Url::parse(address).ok().and_then(|url| url.host_str().map(str::to_owned));
    host.map(|host| host.trim_start_matches("www.").to_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_at_its_marks() {
        let text = "поздний мороз";
        let cut: Vec<(String, bool)> = pieces(text, &[0..14, 4..14, 15..25])
            .into_iter()
            .map(|piece| (piece.text, piece.marked))
            .collect();
        let expected = [("поздний", true), (" ", false), ("мороз", true)];
        assert_eq!(cut, expected.map(|(text, marked)| (text.to_owned(), marked)));
        assert_eq!(pieces("<b>", &[]).len(), 1);
    }
}
