//! Tables: any with a column for the address or the text, by the names that people and services
//! (Pocket, Raindrop, Instapaper, twitter-web-exporter) give their columns.

use std::sync::atomic::Ordering;

use ::csv::{ByteRecord, ReaderBuilder};
use serde_json::{Map, Value};

use super::{Reader, jsonl};
use crate::{
    domain::{Bookmark, Error, Result, Timestamp, bookmark::Judged, query::Action},
    import::{ImportFile, MAX_RECORD_BYTES, RecordMeter},
};

/// Columns of a table. A row with more is no row of a table.
const MAX_COLUMNS: usize = 1_000;

/// Further names of columns, folded, and the name we know them by.
const NAMES: &[(&str, &str)] = &[
    ("page url", "url"),
    ("website", "url"),
    ("адрес", "url"),
    ("ссылка", "url"),
    ("リンク", "url"),
    ("page title", "title"),
    ("название", "title"),
    ("заголовок", "title"),
    ("タイトル", "title"),
    ("tweet text", "text"),
    ("текст", "text"),
    ("описание", "description"),
    ("заметка", "note"),
    ("本文", "text"),
    ("説明", "description"),
    ("メモ", "note"),
    ("tag", "tags"),
    ("теги", "tags"),
    ("метки", "tags"),
    ("タグ", "tags"),
    ("label", "labels"),
    ("date added", "date_added"),
    ("saved", "saved_at"),
    ("дата", "date"),
    ("日付", "date"),
    ("author handle", "author"),
    ("автор", "author"),
    ("作者", "author"),
    ("author name", "authorName"),
    ("категория", "category"),
    ("カテゴリ", "category"),
    ("tweetid", "tweetId"),
    ("tweet id", "tweetId"),
];

/// The divider of a table whose first line is a heading that we know.
pub(super) fn divider(head: &[u8]) -> Option<u8> {
    let mut best: Option<(usize, u8)> = None;
    for divider in [b',', b'\t', b';', b'|'] {
        let mut table = ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .delimiter(divider)
            .from_reader(head);
        let mut first = ByteRecord::new();
        if !matches!(table.read_byte_record(&mut first), Ok(true)) {
            continue;
        }
        let names: Vec<String> =
            first.iter().filter_map(|name| Some(known(std::str::from_utf8(name).ok()?))).collect();
        let has = |list: &[&str]| names.iter().any(|name| list.contains(&name.as_str()));
        let table =
            has(jsonl::URLS) || (names.len() > 1 && (has(jsonl::TEXTS) || has(jsonl::TITLES)));
        if table && best.is_none_or(|(most, _)| names.len() > most) {
            best = Some((names.len(), divider));
        }
    }
    best.map(|(_, divider)| divider)
}

/// Our word for a heading; one that we do not know stays as it is.
fn known(heading: &str) -> String {
    let heading = heading.trim().trim_start_matches('\u{feff}');
    let folded = heading.to_lowercase();
    if let Some((_, name)) = NAMES.iter().find(|(other, _)| *other == folded) {
        return (*name).to_owned();
    }
    let lists =
        [jsonl::URLS, jsonl::TITLES, jsonl::TEXTS, jsonl::DATES, jsonl::AUTHORS, jsonl::LABELS];
    let further = [
        "id",
        "tags",
        "category",
        "sentiment",
        "action",
        "summary",
        "lang",
        "authorName",
        "status",
    ];
    let squeezed = |name: &str| name.to_lowercase().replace(['_', ' ', '-'], "");
    let all = lists.into_iter().flatten().chain(&further);
    all.into_iter()
        .find(|name| squeezed(name) == squeezed(&folded))
        .map_or_else(|| heading.to_owned(), |name| (*name).to_owned())
}

pub(super) fn read(source: ImportFile, divider: u8, reader: &mut Reader<'_>) -> Result<()> {
    let (body, meter) = RecordMeter::new(source.body, MAX_RECORD_BYTES as u64);
    let mut table =
        ReaderBuilder::new().has_headers(false).flexible(true).delimiter(divider).from_reader(body);
    let mut row = ByteRecord::new();
    let mut headings: Option<Vec<String>> = None;
    loop {
        let line = table.position().line();
        match table.read_byte_record(&mut row) {
            Ok(false) => return Ok(()),
            Ok(true) => {}
            Err(error) => {
                return Err(Error::invalid_params(format!(
                    "could not read the table beyond line {line}: {error}"
                )));
            }
        }
        meter.store(0, Ordering::Relaxed);
        let line = row.position().map_or(line, ::csv::Position::line);
        if row.len() > MAX_COLUMNS {
            let why = format!("it has {} columns; the limit is {MAX_COLUMNS}", row.len());
            match headings {
                None => return Err(Error::invalid_params(format!("line {line}: {why}"))),
                Some(_) => reader.give(format!("line {line}"), Err(why))?,
            }
            continue;
        }
        let Some(headings) = &headings else {
            headings = Some(
                row.iter()
                    .enumerate()
                    .map(|(at, name)| match known(&String::from_utf8_lossy(name)) {
                        name if name.is_empty() => format!("column {}", at + 1),
                        name => name,
                    })
                    .collect(),
            );
            continue;
        };
        reader.bytes = row.as_slice().len();
        reader.give(format!("line {line}"), bookmark(&row, headings, reader.now))?;
    }
}

fn bookmark(
    row: &ByteRecord,
    headings: &[String],
    now: Timestamp,
) -> std::result::Result<Bookmark, String> {
    let mut map = Map::new();
    for (at, cell) in row.iter().enumerate() {
        let cell = std::str::from_utf8(cell)
            .map_err(|_| format!("column {} is not UTF-8; save the table as UTF-8", at + 1))?;
        if cell.trim().is_empty() {
            continue;
        }
        let name = headings.get(at).cloned().unwrap_or_else(|| format!("column {}", at + 1));
        // Two columns of one name: the second keeps its number.
        let name = if map.contains_key(&name) { format!("{name} {}", at + 1) } else { name };
        map.insert(name, Value::from(cell));
    }
    // Pocket says in `status`, Instapaper in `Folder`, whether it has been read.
    let place = map.get("status").or_else(|| map.get("folder")).and_then(Value::as_str);
    let action = match place.map(str::to_lowercase).as_deref() {
        Some("unread") => Some(Action::ReadLater),
        Some("archive") => Some(Action::Archive),
        _ => None,
    };
    let mut bookmark = jsonl::read(map, false, now)?;
    if bookmark.action.is_none() {
        bookmark.action = action.map(Judged::by_user);
    }
    Ok(bookmark)
}
