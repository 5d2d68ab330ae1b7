//! The results of a search as a page shows them, in the order of the engine.

use std::{collections::HashMap, ops::Range};

use super::{age::Age, asked::noun};
use crate::{
    app::App,
    domain::{Bookmark, Card, Kind, Pid, Result, Timestamp},
    search::{Match, SearchResult},
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
    pub section: Vec<Piece>,
    /// Its text, with the matched forms.
    pub pieces: Vec<Piece>,
}

/// The scores that ranked a result.
pub struct ResultScores {
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
    /// Its title, with the matched forms.
    pub title_pieces: Vec<Piece>,
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
    pub why: ResultScores,
    /// How many items say the same and are not shown.
    pub duplicates: usize,
}

/// Labels of a result that are shown.
const MAX_LABELS: usize = 4;
/// Passages of a result that are shown.
const MAX_PASSAGES: usize = 3;

/// Joins results with what the library knows of them.
pub fn hits(app: &App, results: Vec<SearchResult>) -> Result<Vec<Hit>> {
    let rows = Rows::read(app, &results)?;
    Ok(results.into_iter().map(|found| rows.hit(found)).collect())
}

struct Rows {
    pages: HashMap<Pid, PageRow>,
    bookmarks: HashMap<Pid, Bookmark>,
    cards: HashMap<String, Card>,
}

impl Rows {
    fn read(app: &App, results: &[SearchResult]) -> Result<Self> {
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

    fn hit(&self, found: SearchResult) -> Hit {
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
            why: ResultScores {
                relevance: percent(found.relevance),
                words: percent(evidence.share),
                meaning: evidence.cosine.map(percent),
                abroad: evidence.abroad,
            },
            duplicates: found.duplicates.len(),
            passages: Vec::new(),
            title_pieces: Vec::new(),
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
        let mut marks = Vec::new();
        for passage in found.matches.into_iter().take(MAX_PASSAGES) {
            hit.passages.push(passage_of(passage, &address, &hit.title, &mut marks));
        }
        hit.title_pieces = pieces(&hit.title, &marks);
        hit
    }
}

/// A passage. A heading at its start goes where headings are shown, and takes its marks along; those
/// of the title are left in `title_marks`.
fn passage_of(
    found: Match,
    address: &str,
    title: &str,
    title_marks: &mut Vec<Range<usize>>,
) -> Passage {
    // A leading heading that is the title says nothing new.
    let headings = match found.toc_path.split_first() {
        Some((first, rest)) if first == title => rest,
        _ => &found.toc_path,
    };
    let section = headings.join(" › ");
    let last = headings.last().map_or(title, String::as_str);
    let cut = found.snippet.strip_prefix(last).map_or(0, |rest| {
        let space = rest.len() - rest.trim_start().len();
        if space > 0 && space < rest.len() { last.len() + space } else { 0 }
    });
    let before: Vec<Range<usize>> =
        found.marks.iter().filter(|mark| cut > 0 && mark.end <= last.len()).cloned().collect();
    let after: Vec<Range<usize>> = found
        .marks
        .iter()
        .filter(|mark| mark.start >= cut)
        .map(|mark| mark.start - cut..mark.end - cut)
        .collect();
    let offset = section.len() - headings.last().map_or(0, String::len);
    let marks: Vec<Range<usize>> =
        before.iter().map(|mark| mark.start + offset..mark.end + offset).collect();
    if headings.is_empty() {
        title_marks.clone_from(&before);
    }
    Passage {
        href: format!("{address}#c{}", found.id.chunk),
        section: if headings.is_empty() { Vec::new() } else { pieces(&section, &marks) },
        pieces: pieces(&found.snippet[cut..], &after),
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

    fn shown(pieces: &[Piece]) -> String {
        pieces
            .iter()
            .map(
                |piece| if piece.marked { format!("[{}]", piece.text) } else { piece.text.clone() },
            )
            .collect()
    }

    #[test]
    fn a_heading_is_shown_once_with_its_marks() {
        let found = |snippet: &str, marks: &[(usize, usize)], path: &[&str]| Match {
            id: "p1:c2".parse().unwrap(),
            toc_path: path.iter().map(|part| (*part).to_owned()).collect(),
            snippet: snippet.to_owned(),
            marks: marks.iter().map(|(start, end)| *start..*end).collect(),
            relevance: 0.0,
        };
        let mut title = Vec::new();
        let passage = passage_of(
            found("Сад весной\nроза", &[(0, 6), (20, 28)], &["T", "Сад весной"]),
            "/n/1",
            "T",
            &mut title,
        );
        assert_eq!(shown(&passage.section), "[Сад] весной");
        assert_eq!(shown(&passage.pieces), "[роза]");
        let passage = passage_of(found("庭 の土", &[(0, 3)], &[]), "/n/1", "庭", &mut title);
        assert_eq!((shown(&passage.pieces), title.len()), ("の土".to_owned(), 1));
        let passage = passage_of(found("Gardens", &[(0, 7)], &[]), "/n/1", "Garden", &mut title);
        assert_eq!(shown(&passage.pieces), "[Gardens]");
    }

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
