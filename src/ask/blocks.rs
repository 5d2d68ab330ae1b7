//! The blocks of a passage as its Markdown has them: prose, list items, table rows, code. The index
//! keeps only the words of a passage; which of them are a list or a table is read from the note.

use std::{collections::HashMap, ops::Range};

use super::passages::Candidate;
use crate::{
    domain::Pid,
    markdown::{
        LinkKind, Note,
        blocks::{Unit, UnitKind},
    },
};

/// Reads the Markdown of an item, as it is now; `None` where it cannot be read.
pub type ReadNote<'a> = &'a (dyn Fn(Pid) -> Option<(String, Note)> + Sync);

/// Characters of a paragraph that can introduce the list or table below it.
const MAX_LEAD_CHARS: usize = 160;

/// A part of a passage.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Block {
    /// A paragraph or code, in the passage's text.
    Prose(Range<usize>),
    /// An item of a list, in the passage's text.
    Item(Range<usize>),
    /// A row with the names of its columns, as one line.
    Row(String),
    /// A whole list or table.
    Group(Group),
}

/// A whole list or table, also where it goes on in the next passage.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Group {
    /// The top-level block of the note, which tells the groups of a note apart.
    pub block: u32,
    pub is_table: bool,
    /// The paragraph that introduces it; empty where only the headings above do.
    pub lead: String,
    pub entries: Vec<String>,
}

/// The notes that passages are from, each read once.
pub(super) struct Notes<'a> {
    read: Option<ReadNote<'a>>,
    known: HashMap<Pid, Option<(String, Note)>>,
}

impl<'a> Notes<'a> {
    pub(super) fn new(read: Option<ReadNote<'a>>) -> Self {
        Self { read, known: HashMap::new() }
    }

    /// The blocks of a passage; `None` when its note cannot be read or has changed since it was
    /// indexed.
    pub(super) fn blocks(&mut self, candidate: &Candidate) -> Option<Vec<Block>> {
        let read = self.read?;
        let pid = candidate.id.pid;
        let (text, note) = self.known.entry(pid).or_insert_with(|| read(pid)).as_ref()?;
        let chunk = note.chunks().into_iter().find(|chunk| chunk.ordinal == candidate.id.chunk)?;
        // A very long passage is cut, so that only its beginning is the same.
        (chunk.text.starts_with(&candidate.passage.text))
            .then(|| passage_blocks(text, note, &chunk.range, candidate.passage.text.len()))
    }
}

fn passage_blocks(text: &str, note: &Note, range: &Range<usize>, len: usize) -> Vec<Block> {
    let all = &note.blocks.units;
    let inside = |unit: &&Unit| range.start <= unit.range.start && unit.range.end <= range.end;
    let units: Vec<&Unit> = all.iter().filter(inside).collect();
    let Some(start) = units.first().map(|unit| unit.text.start) else { return Vec::new() };
    let mut blocks = Vec::new();
    let mut grouped = None;
    for unit in units {
        let place = unit.text.start - start..unit.text.end - start;
        if place.end > len {
            break;
        }
        let is_item = is_list_item(text, unit);
        let is_table = matches!(unit.kind, UnitKind::TableHead | UnitKind::TableRow);
        if (is_item || is_table) && grouped != Some(unit.block) {
            grouped = Some(unit.block);
            blocks.extend(group(text, note, unit.block, is_table).map(Block::Group));
        }
        match unit.kind {
            UnitKind::Heading | UnitKind::TableHead | UnitKind::Raw => {}
            UnitKind::TableRow => blocks.push(Block::Row(labelled(note, unit))),
            _ if is_image(text, note, unit) => {}
            UnitKind::Prose if is_item => blocks.push(Block::Item(place)),
            UnitKind::Prose | UnitKind::Code | UnitKind::Html => blocks.push(Block::Prose(place)),
        }
    }
    blocks
}

/// A list or table of two entries or more, with the paragraph that introduces it.
fn group(text: &str, note: &Note, block: u32, is_table: bool) -> Option<Group> {
    let units = &note.blocks.units;
    let first = units.iter().position(|unit| unit.block == block)?;
    let members = units[first..].iter().take_while(|unit| unit.block == block);
    let entries: Vec<String> = members
        .filter(|unit| match is_table {
            true => unit.kind == UnitKind::TableRow,
            false => is_list_item(text, unit) && !is_image(text, note, unit),
        })
        .map(|unit| one_line(plain(note, unit).trim_end_matches([' ', '|'])))
        .collect();
    if entries.len() < 2 {
        return None;
    }
    let before = first.checked_sub(1).map(|at| &units[at]);
    let lead = before
        .filter(|unit| unit.kind == UnitKind::Prose && !is_list_item(text, unit))
        .map(|unit| one_line(plain(note, unit)))
        .filter(|lead| lead.ends_with([':', '：']) && lead.chars().nth(MAX_LEAD_CHARS).is_none())
        .unwrap_or_default();
    Some(Group { block, is_table, lead, entries })
}

fn plain<'a>(note: &'a Note, unit: &Unit) -> &'a str {
    note.blocks.plain.get(unit.text.clone()).unwrap_or_default()
}

/// The text with its line breaks and tabs as spaces. Other spaces stay: `17 786 419` is one number
/// by its no-break spaces.
pub(super) fn one_line(text: &str) -> String {
    text.trim().replace("\r\n", " ").replace(['\n', '\r', '\t', '\u{2028}', '\u{2029}'], " ")
}

/// Whether the unit's first line begins with the mark of a list, also inside a quote.
fn is_list_item(text: &str, unit: &Unit) -> bool {
    if unit.kind != UnitKind::Prose || unit.continued {
        return false;
    }
    let line = text.get(unit.range.clone()).unwrap_or_default();
    let line = line.trim_start_matches([' ', '\t', '>']);
    let number = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let rest = match number.len() < line.len() {
        true => number.strip_prefix(['.', ')']),
        false => line.strip_prefix(['-', '*', '+']),
    };
    rest.is_some_and(|rest| rest.starts_with([' ', '\t', '\n']))
}

/// Whether a unit is nothing but images, whose descriptions answer nothing.
fn is_image(text: &str, note: &Note, unit: &Unit) -> bool {
    let mut at = unit.range.start;
    let mut has_image = false;
    for link in note.links() {
        let image = matches!(link.kind, LinkKind::Image | LinkKind::Embed);
        if !image || link.range.start < at || link.range.end > unit.range.end {
            continue;
        }
        has_image = true;
        if text.get(at..link.range.start).is_some_and(has_words) {
            return false;
        }
        at = link.range.end;
    }
    has_image && !text.get(at..unit.range.end).is_some_and(has_words)
}

fn has_words(text: &str) -> bool {
    text.chars().any(char::is_alphanumeric)
}

/// A row with the name of each column before its cell: `City: Kyoto; Year: 794`.
fn labelled(note: &Note, row: &Unit) -> String {
    let units = &note.blocks.units;
    let head =
        units.iter().find(|unit| unit.block == row.block && unit.kind == UnitKind::TableHead);
    let names: Vec<&str> = head.map_or_else(Vec::new, |head| cells(plain(note, head)));
    let mut parts = Vec::new();
    for (at, cell) in cells(plain(note, row)).into_iter().enumerate() {
        if cell.is_empty() {
            continue;
        }
        parts.push(match names.get(at).filter(|name| !name.is_empty()) {
            Some(name) => format!("{}: {}", one_line(name), one_line(cell)),
            None => one_line(cell),
        });
    }
    parts.join("; ")
}

fn cells(row: &str) -> Vec<&str> {
    row.split(" |").map(str::trim).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<(String, String)> {
        let note = Note::parse(text, "t");
        let chunk = &note.chunks()[0];
        let shown = |range: &Range<usize>| chunk.text[range.clone()].to_owned();
        passage_blocks(text, &note, &chunk.range, chunk.text.len())
            .iter()
            .map(|block| match block {
                Block::Prose(range) => ("prose".into(), shown(range)),
                Block::Item(range) => ("item".into(), shown(range)),
                Block::Row(text) => ("row".into(), text.clone()),
                Block::Group(group) => {
                    ("group".into(), format!("{}|{}", group.lead, group.entries.join("/")))
                }
            })
            .collect()
    }

    #[test]
    fn lists_tables_and_prose_are_told_apart() {
        let text = "# Soup\n\nYou need:\n\n- 2 beets\n- 1 onion\n\nCook it.\n\n| City | Year |\n|---|---|\n| Kyoto | 794 |\n| Edo | |\n";
        let told = read(text);
        let told: Vec<(&str, &str)> =
            told.iter().map(|(kind, text)| (kind.as_str(), text.as_str())).collect();
        assert_eq!(
            told,
            [
                ("prose", "You need:"),
                ("group", "You need:|2 beets/1 onion"),
                ("item", "2 beets"),
                ("item", "1 onion"),
                ("prose", "Cook it."),
                ("group", "|Kyoto | 794/Edo"),
                ("row", "City: Kyoto; Year: 794"),
                ("row", "City: Edo"),
            ]
        );
    }

    #[test]
    fn images_alone_are_no_evidence() {
        assert_eq!(read("![A red bridge](a.png)\n\nText ![b](b.png) here.").len(), 1);
        assert_eq!(read("- [ ] buy milk\n- [x] call Anna\n> - quoted").len(), 4);
        assert_eq!(read("1. one\n2) two\n").len(), 2);
        assert_eq!(read("-5 degrees\n\n3.14 is pi"), read("-5 degrees\n\n3.14 is pi"));
        assert!(read("3.14 is pi").iter().all(|(kind, _)| kind == "prose"));
    }
}
