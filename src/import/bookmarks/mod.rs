//! Bookmarks from elsewhere: what a file holds, record by record.
//!
//! The content decides the format, never the file name. Nothing is left out without a
//! word: a record that cannot be taken is given with its place and the reason, and a field that
//! nobody knows, or that is not what its name promises, stays in the bookmark's `extra`. Nothing
//! here looks at the library or at the network.

mod csv;
mod dates;
mod entities;
mod fields;
mod jsonl;
mod netscape;
mod pinboard;
#[cfg(test)]
mod tests;
mod x;

use std::{
    collections::HashMap,
    fmt,
    io::{BufRead, Read},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use serde_json::{Map, Value};

use self::x::Includes;
use crate::{
    domain::{Bookmark, Error, Result, Timestamp, bookmark::same_address},
    import::{
        Cut, ImportFile, MAX_RECORD_BYTES, MAX_RECORDS, MAX_VALUES, each, each_line, failed, parse,
        too_many_records,
    },
};

/// Bytes of an export, unpacked.
pub const MAX_EXPORT_BYTES: u64 = 1 << 30;
/// Bytes of title and text together: more is no bookmark.
const MAX_TEXT_BYTES: usize = 1_000_000;
/// Bytes and values of a file that is one object, such as an answer of the X API: it is parsed as
/// a whole.
const MAX_OBJECT_BYTES: usize = 64 << 20;
const MAX_OBJECT_VALUES: usize = 2_000_000;
/// Bytes before the `=` of an X archive.
const MAX_ASSIGNMENT: u64 = 4 << 10;
/// So many records of no known shape, and the file has none.
const MAX_UNKNOWN_RECORDS: usize = 1000;

/// What kind of file it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// JSON of the twitter-web-exporter extension.
    WebExporter,
    /// `data/bookmark.js` or `like.js` of an X archive.
    XArchive,
    /// An answer of the X API.
    XApi,
    /// The HTML that browsers export.
    Netscape,
    /// Pinboard's JSON.
    Pinboard,
    /// Field Theory's JSON.
    FieldTheory,
    /// A table with a header.
    Csv,
    /// JSON or JSONL with named fields.
    Json,
}

impl Format {
    /// The name used in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::WebExporter => "twitter-web-exporter JSON",
            Self::XArchive => "X archive",
            Self::XApi => "X API JSON",
            Self::Netscape => "bookmarks HTML",
            Self::Pinboard => "Pinboard JSON",
            Self::FieldTheory => "Field Theory JSON",
            Self::Csv => "CSV",
            Self::Json => "JSON or JSONL",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A record that was not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// `line 17`, `record 3`.
    pub place: String,
    /// Why it was left out.
    pub reason: String,
}

/// One record of a file.
#[derive(Debug)]
pub struct Record {
    /// Bytes of the file that were read so far, for a bar.
    pub at: u64,
    /// Bytes of the record as it was written.
    pub bytes: usize,
    /// The bookmark, or why there is none.
    pub bookmark: std::result::Result<Bookmark, Skipped>,
}

/// Gives `sink` every record of an export (packed with gzip or not) and says what it was. A record
/// without a date that can be read is of `now`. An error of the sink ends the reading.
pub fn read(
    path: &Path,
    now: Timestamp,
    sink: &mut dyn FnMut(Record) -> Result<()>,
) -> Result<Format> {
    let source = ImportFile::open(path, MAX_EXPORT_BYTES)?;
    read_source(source, now, sink).map_err(|mut error| {
        error.message = format!("`{}`: {}", path.display(), error.plain());
        error
    })
}

fn read_source(
    source: ImportFile,
    now: Timestamp,
    sink: &mut dyn FnMut(Record) -> Result<()>,
) -> Result<Format> {
    let mut reader = Reader {
        now,
        position: source.position.clone(),
        seen: HashMap::new(),
        format: None,
        held: Vec::new(),
        given: 0,
        bytes: 0,
        sink,
    };
    let head = source.head.trim_ascii_start();
    let archive = head.starts_with(b"window.") || head.starts_with(b"YTD.");
    if archive || matches!(head.first(), Some(b'[' | b'{')) {
        reader.json(source, archive)?;
        return reader.format.map_or_else(|| Err(unknown("its records are of no known shape")), Ok);
    }
    if netscape::is_file(&source.head) {
        reader.format = Some(Format::Netscape);
        let text = source.text()?;
        netscape::read(&text, &mut reader)?;
        return Ok(Format::Netscape);
    }
    if let Some(divider) = csv::divider(&source.head) {
        reader.format = Some(Format::Csv);
        csv::read(source, divider, &mut reader)?;
        return Ok(Format::Csv);
    }
    Err(unknown(match head {
        [] => "it is empty",
        [b'P', b'K', ..] => "it is a zip; unpack it and name the file inside",
        [b'<', ..] => "it is a page, and no bookmark file of a browser",
        _ => "its beginning is of no known format",
    }))
}

fn unknown(why: &str) -> Error {
    Error::invalid_params(format!(
        "{why}. Bookmarks are read from twitter-web-exporter's JSON, `tweets.js` or `like.js` of an X \
         archive, JSON of the X API, bookmarks HTML (exported by a browser, Pinboard, karakeep, \
         Shaarli), Pinboard's JSON, Field Theory's JSON, a CSV table with a column `url` or `text`, \
         and JSON or JSONL with a field `url`, `text` or `id`; export to one of these"
    ))
}

/// Takes what the formats read, and lets through what is new and not too large.
struct Reader<'a> {
    now: Timestamp,
    position: Arc<AtomicU64>,
    /// Ids of this file with where they were.
    seen: HashMap<String, String>,
    format: Option<Format>,
    /// What was left out before it was clear that the file is one of ours.
    held: Vec<Skipped>,
    /// Records given so far, those left out included.
    given: usize,
    /// Bytes of the record at hand.
    bytes: usize,
    sink: &'a mut dyn FnMut(Record) -> Result<()>,
}

impl Reader<'_> {
    fn give(&mut self, place: String, read: std::result::Result<Bookmark, String>) -> Result<()> {
        self.given += 1;
        if self.given > MAX_RECORDS {
            return Err(too_many_records());
        }
        let read = read.and_then(|bookmark| self.check(bookmark, &place));
        let bookmark = read.map_err(|reason| Skipped { place, reason });
        if let Err(skipped) = &bookmark
            && self.format.is_none()
        {
            self.held.push(skipped.clone());
            return if self.held.len() < MAX_UNKNOWN_RECORDS {
                Ok(())
            } else {
                Err(unknown("its records are of no known shape"))
            };
        }
        let at = self.position.load(Ordering::Relaxed);
        for skipped in self.held.drain(..) {
            (self.sink)(Record { at, bytes: 0, bookmark: Err(skipped) })?;
        }
        (self.sink)(Record { at, bytes: self.bytes, bookmark })
    }

    fn check(
        &mut self,
        mut bookmark: Bookmark,
        place: &str,
    ) -> std::result::Result<Bookmark, String> {
        // A link to a post is the post, whoever kept the link.
        if bookmark.has_made_id()
            && let Some(number) = same_address(&bookmark.url).strip_prefix("x.com/i/status/")
        {
            bookmark.id = number.to_owned();
        }
        let length = bookmark.title.len() + bookmark.text.len();
        if length > MAX_TEXT_BYTES {
            return Err(format!("its text is {length} bytes; the limit is {MAX_TEXT_BYTES}"));
        }
        if let Some(known) = self.seen.get(&bookmark.id) {
            return Err(format!("its id `{}` is that of {known} already", bookmark.id));
        }
        self.seen.insert(bookmark.id.clone(), place.to_owned());
        Ok(bookmark)
    }

    fn json(&mut self, mut source: ImportFile, archive: bool) -> Result<()> {
        if archive {
            let start = &mut Vec::new();
            (&mut source.body)
                .take(MAX_ASSIGNMENT)
                .read_until(b'=', start)
                .map_err(|error| failed(&error))?;
            if !start.ends_with(b"=") {
                return Err(unknown("it begins like an X archive and has no `=`"));
            }
        } else if is_lines(&source.head) {
            return each_line(&mut *source.body, |number, cut| {
                self.record(format!("line {number}"), cut, MAX_VALUES)
            });
        } else if source.head.trim_ascii_start().starts_with(b"[") {
            // A list may be empty; then there is nothing to know it by.
            let rest = source.head.trim_ascii_start()[1..].trim_ascii();
            if rest == b"]" {
                self.format = Some(Format::Json);
            }
        }
        if archive {
            self.format = Some(Format::XArchive);
        }
        // One answer of the API is one value, however many posts it has.
        let list = archive || source.head.trim_ascii_start().starts_with(b"[");
        let (most, values) = match list {
            true => (MAX_RECORD_BYTES, MAX_VALUES),
            false => (MAX_OBJECT_BYTES, MAX_OBJECT_VALUES),
        };
        let mut number = 0;
        each(&mut *source.body, most, |cut| {
            number += 1;
            self.record(format!("record {number}"), cut, values)
        })
    }

    fn record(&mut self, place: String, cut: Cut, most_values: usize) -> Result<()> {
        self.bytes = cut.as_ref().map_or(0, Vec::len);
        match cut.and_then(|bytes| parse(&bytes, most_values)) {
            Ok(value) => self.value(place, value),
            Err(why) => self.give(place, Err(why)),
        }
    }

    fn value(&mut self, place: String, value: Value) -> Result<()> {
        let map = match value {
            Value::Object(map) => map,
            Value::Array(values) => return self.each(&place, values, &Includes::default()),
            _ => return self.give(place, Err("it is not an object".to_owned())),
        };
        if let Some(answer) = Answer::of(&map) {
            self.format.get_or_insert(answer.format);
            let includes = Includes::of(&map);
            return self.answer(&place, map, answer.list, &includes);
        }
        self.object(place, map, &Includes::default())
    }

    /// What holds a list of records under a name.
    fn answer(
        &mut self,
        place: &str,
        mut map: Map<String, Value>,
        list: &str,
        includes: &Includes,
    ) -> Result<()> {
        match map.remove(list) {
            Some(Value::Array(values)) => self.each(place, values, includes)?,
            Some(value) => self.each(place, vec![value], includes)?,
            None => {}
        }
        // The API says which posts it could not give.
        if let Some(Value::Array(errors)) = map.remove("errors") {
            for (number, error) in errors.iter().enumerate() {
                let cause = ["detail", "title", "message"]
                    .iter()
                    .find_map(|name| error.get(name)?.as_str());
                let reason = format!("X left it out: {}", cause.unwrap_or("no reason given"));
                self.give(format!("{place}, error {}", number + 1), Err(reason))?;
            }
        }
        Ok(())
    }

    fn each(&mut self, place: &str, values: Vec<Value>, includes: &Includes) -> Result<()> {
        for (number, value) in values.into_iter().enumerate() {
            let place = format!("{place}, item {}", number + 1);
            match value {
                Value::Object(map) => self.object(place, map, includes)?,
                _ => self.give(place, Err("it is not an object".to_owned()))?,
            }
        }
        Ok(())
    }

    fn object(
        &mut self,
        place: String,
        map: Map<String, Value>,
        includes: &Includes,
    ) -> Result<()> {
        let format = shape(&map);
        let read = match format {
            Some(Format::XArchive | Format::XApi | Format::WebExporter) => {
                x::read(map, includes, self.now)
            }
            Some(Format::Pinboard) => pinboard::read(map, self.now),
            Some(_) => {
                let own = jsonl::is_own(&map);
                jsonl::read(map, own, self.now)
            }
            None => Err("it has neither an address nor a text nor an id".to_owned()),
        };
        if let Some(format) = format {
            self.format.get_or_insert(format);
        }
        self.give(place, read)
    }
}

/// A value that is not a record but holds them.
struct Answer {
    format: Format,
    list: &'static str,
}

impl Answer {
    fn of(map: &Map<String, Value>) -> Option<Self> {
        let holds = |name: &str| match map.get(name) {
            Some(Value::Array(_)) => true,
            Some(Value::Object(inner)) => name == "data" && x::is_post(inner),
            _ => false,
        };
        let api = ["data", "includes", "meta", "errors"].iter().any(|name| map.contains_key(*name));
        if api && (holds("data") || map.contains_key("meta") || map.contains_key("errors")) {
            let post = |value: &Value| {
                value.as_object().is_some_and(|map| shape(map) != Some(Format::Json))
            };
            let first = map.get("data").and_then(|data| data.as_array()?.first());
            let format = if first.is_none_or(post) || map.contains_key("includes") {
                Format::XApi
            } else {
                Format::Json
            };
            return (!jsonl::is_record(map)).then_some(Self { format, list: "data" });
        }
        ["bookmarks", "items", "tweets", "links", "results"]
            .into_iter()
            .find(|name| holds(name) && !jsonl::is_record(map))
            .map(|list| Self { format: Format::Json, list })
    }
}

/// Which export writes records like this.
fn shape(map: &Map<String, Value>) -> Option<Format> {
    if x::wrapper(map).is_some() {
        return Some(Format::XArchive);
    }
    if jsonl::is_own(map) {
        return Some(Format::Json);
    }
    if x::is_post(map) {
        let api = map.contains_key("public_metrics") || !map.contains_key("full_text");
        return Some(if api { Format::XApi } else { Format::WebExporter });
    }
    if pinboard::is_pin(map) {
        return Some(Format::Pinboard);
    }
    if jsonl::is_field_theory(map) {
        return Some(Format::FieldTheory);
    }
    jsonl::is_record(map).then_some(Format::Json)
}

/// Whether each line is a record of its own. The first may be broken.
fn is_lines(head: &[u8]) -> bool {
    head.split(|byte| *byte == b'\n')
        .filter(|line| !line.trim_ascii().is_empty())
        .take(2)
        .filter(|line| line.starts_with(b"{"))
        .any(|line| serde_json::from_slice::<Map<String, Value>>(line).is_ok())
}
