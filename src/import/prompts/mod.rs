//! Reads libraries of prompts that others made, within limits. Nothing here looks at the user's own
//! prompts.

pub mod formula;
pub mod markdown;

use std::{
    io::Read,
    path::{Path, PathBuf},
    sync::atomic::Ordering,
};

use serde_json::{Map, Value};
use unicode_normalization::UnicodeNormalization;

use crate::{
    domain::{
        Error, Prompt, Result,
        prompt::{MAX_CONTENT, Message},
    },
    import::{Cut, ImportFile, ImportReport, RecordMeter, each, each_line, failed, parse},
};

/// The columns of our own CSV export.
pub const OWN_COLUMNS: [&str; 5] = ["name", "title", "description", "tags", "prompt"];

/// The field in which an imported prompt remembers where it came from.
pub const SOURCE: &str = "imported";

/// Bytes of one library, unpacked. All of it is in memory until it is added as one change.
const MAX_LIBRARY_BYTES: u64 = 64 << 20;
/// Prompts and JSON values of one import.
const MAX_PROMPTS: usize = 100_000;
const MAX_VALUES: usize = 2_000_000;
/// Characters of a name made of a title.
const MAX_SLUG: usize = 64;
/// JSON values of one prompt.
const MAX_PROMPT_VALUES: usize = 20_000;

/// Whether a file is Markdown by its ending.
fn is_page(file: &Path) -> bool {
    let ending = file.extension().unwrap_or_default();
    ["md", "markdown"].iter().any(|known| ending.eq_ignore_ascii_case(known))
}

/// A prompt found in a library, and where.
pub struct ForeignPrompt {
    /// The prompt, its name not yet unique.
    pub prompt: Prompt,
    /// What the library itself calls it.
    pub id: Option<String>,
    /// Where it was found, for the report.
    pub place: String,
}

/// The libraries read so far.
#[derive(Default)]
pub struct Reading {
    found: Vec<ForeignPrompt>,
    report: ImportReport,
    values: usize,
}

impl Reading {
    /// The prompts and the report so far.
    pub fn finish(self) -> (Vec<ForeignPrompt>, ImportReport) {
        (self.found, self.report)
    }

    /// Reads a file or a folder of Markdown files. What cannot be read is in the report.
    pub fn path(&mut self, path: &Path) {
        let read = match path.is_dir() {
            true => self.folder(path).map(|()| "Markdown"),
            false => self.file(path),
        };
        match read {
            Ok(format) => self.report.files.push((path.to_owned(), format.to_owned())),
            Err(error) => self.report.failed.push((path.to_owned(), error.plain().to_owned())),
        }
    }

    fn folder(&mut self, folder: &Path) -> Result<()> {
        // A link may lead anywhere; a file that it names is not part of the folder.
        let walk = ignore::WalkBuilder::new(folder)
            .standard_filters(false)
            .hidden(true)
            .follow_links(false)
            .build();
        let mut files: Vec<PathBuf> = Vec::new();
        for entry in walk {
            match entry {
                Ok(entry) if entry.file_type().is_some_and(|kind| kind.is_file()) => {
                    files.extend(Some(entry.into_path()).filter(|file| is_page(file)));
                }
                Ok(_) => {}
                Err(error) => {
                    self.report.skipped.push(folder.display().to_string(), error.to_string());
                }
            }
        }
        files.sort();
        for file in files {
            let place = file.display().to_string();
            match self.page(&file) {
                Err(error) if error.code == crate::domain::Code::Limit => return Err(error),
                Err(error) => self.report.skipped.push(place, error.plain()),
                Ok(()) => {}
            }
        }
        Ok(())
    }

    fn file(&mut self, path: &Path) -> Result<&'static str> {
        let name =
            path.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
        match name.strip_suffix(".gz").unwrap_or(&name).rsplit('.').next() {
            Some("csv") => self.csv(path).map(|()| "CSV"),
            Some("jsonl" | "ndjson") => {
                let mut file = ImportFile::open(path, MAX_LIBRARY_BYTES)?;
                each_line(&mut *file.body, |number, cut| {
                    self.record(cut, format!("{} line {number}", path.display()))
                })?;
                Ok("JSONL")
            }
            Some("json") => {
                let mut file = ImportFile::open(path, MAX_LIBRARY_BYTES)?;
                if !file.head.trim_ascii_start().starts_with(b"[") {
                    return Err(Error::invalid_params(format!(
                        "`{}` is not a JSON list; save several prompts as a list or as JSONL",
                        path.display()
                    )));
                }
                let mut number = 0;
                each(&mut *file.body, MAX_CONTENT * 2, |cut| {
                    number += 1;
                    self.record(cut, format!("{} entry {number}", path.display()))
                })?;
                Ok("JSON")
            }
            Some("md" | "markdown") => self.page(path).map(|()| "Markdown"),
            _ => Err(Error::invalid_params(format!(
                "`{}` is not a .csv, .jsonl, .json or .md file (or one of these with .gz)",
                path.display()
            ))),
        }
    }

    fn page(&mut self, path: &Path) -> Result<()> {
        let mut bytes = Vec::new();
        let body = ImportFile::open(path, MAX_CONTENT as u64)?.body;
        body.take(MAX_LIBRARY_BYTES).read_to_end(&mut bytes).map_err(|error| failed(&error))?;
        let found = read_page(path, &bytes)?;
        self.push(found)
    }

    fn push(&mut self, found: ForeignPrompt) -> Result<()> {
        if self.found.len() == MAX_PROMPTS {
            return Err(Error::limit(format!(
                "one import takes at most {MAX_PROMPTS} prompts; import the rest separately"
            )));
        }
        self.found.push(found);
        Ok(())
    }

    fn record(&mut self, cut: Cut, place: String) -> Result<()> {
        let value = cut.and_then(|bytes| {
            self.values += bytes.iter().filter(|byte| matches!(byte, b',' | b'[' | b'{')).count();
            parse(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes), MAX_PROMPT_VALUES)
        });
        if self.values > MAX_VALUES {
            return Err(Error::limit(format!(
                "{place}: the library holds more than {MAX_VALUES} values; split it"
            )));
        }
        match value {
            Ok(Value::Object(map)) => self.object(map, place, None),
            Ok(_) => {
                self.report.skipped.push(place, "it is not a JSON object");
                Ok(())
            }
            Err(why) => {
                self.report.skipped.push(place, why);
                Ok(())
            }
        }
    }

    fn object(
        &mut self,
        map: Map<String, Value>,
        place: String,
        name: Option<String>,
    ) -> Result<()> {
        match read_object(map) {
            Ok((mut prompt, id)) => {
                prompt.name = name.unwrap_or(prompt.name);
                self.push(ForeignPrompt { prompt, id, place })
            }
            Err(why) => {
                self.report.skipped.push(place, why);
                Ok(())
            }
        }
    }

    fn csv(&mut self, path: &Path) -> Result<()> {
        let file = ImportFile::open(path, MAX_LIBRARY_BYTES)?;
        let (body, meter) = RecordMeter::new(file.body, MAX_CONTENT as u64 * 2);
        let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(body);
        let refuse = |error: csv::Error| {
            Error::invalid_params(format!("could not read `{}`: {error}", path.display()))
        };
        let headers: Vec<String> = reader
            .headers()
            .map_err(refuse)?
            .iter()
            .map(|name| name.trim().to_lowercase())
            .collect();
        // Only our own export puts an apostrophe before a formula.
        let own = headers == OWN_COLUMNS;
        let mut row = csv::StringRecord::new();
        for number in 1_usize.. {
            meter.store(0, Ordering::Relaxed);
            let place = format!("{} row {number}", path.display());
            match reader.read_record(&mut row) {
                Ok(false) => break,
                Ok(true) => {}
                // The rows behind a broken one are read; behind a broken file there are none.
                Err(error) if error.is_io_error() => return Err(refuse(error)),
                Err(error) => {
                    self.report.skipped.push(place, error.to_string());
                    continue;
                }
            }
            let cell = |cell: &str| match own {
                true => formula::arm(cell).to_owned(),
                false => cell.to_owned(),
            };
            let cells = headers.iter().zip(&row);
            let mut map: Map<String, Value> =
                cells.map(|(key, value)| (key.clone(), cell(value).into())).collect();
            map.insert("tags".into(), tags(&map).into());
            // A row without a name gets one from its title, like a row of a library without names.
            let named = map.get("name").and_then(Value::as_str).filter(|name| !name.is_empty());
            let named = named.filter(|_| map.contains_key("title")).map(str::to_owned);
            self.object(map, place, named)?;
        }
        Ok(())
    }
}

/// The tags of a row: its own, and what prompts.chat says in further columns.
fn tags(row: &Map<String, Value>) -> Vec<Value> {
    let text = |name: &str| row.get(name).and_then(Value::as_str);
    let mut tags: Vec<Value> = Vec::new();
    let own = text("tags").unwrap_or_default().split([',', ';']).map(str::trim);
    tags.extend(own.filter(|tag| !tag.is_empty()).map(Value::from));
    tags.extend(text("type").map(|kind| kind.to_lowercase().into()));
    if text("for_devs").is_some_and(|is| is.eq_ignore_ascii_case("true")) {
        tags.push("dev".into());
    }
    tags
}

/// Reads an object of our own form (`messages`), or of a library (`text` and a `title`).
fn read_object(mut map: Map<String, Value>) -> Result<(Prompt, Option<String>), String> {
    if map.get("messages").is_some_and(Value::is_array) {
        let id = map.shift_remove(SOURCE).and_then(|id| id.as_str().map(str::to_owned));
        return Prompt::read(map).map(|prompt| (prompt, id));
    }
    let text = |keys: &[&str]| {
        let found = keys.iter().filter_map(|key| map.get(*key).and_then(Value::as_str));
        found.map(str::to_owned).find(|text| !text.trim().is_empty())
    };
    let body = text(&["text", "prompt", "content"]).ok_or("there is no `text` or `prompt`")?;
    let title = text(&["title", "act", "name"]).ok_or("there is no `title`")?;
    let mut prompt = plain(title, body);
    prompt.description = text(&["description"])
        .or_else(|| map.get("meta")?.get("description")?.as_str().map(str::to_owned))
        .filter(|text| !text.is_empty());
    if let Some(Value::Array(tags)) = map.get("tags") {
        prompt.tags = tags.iter().filter_map(Value::as_str).map(str::to_owned).collect();
    }
    let id = text(&["id"]).map(|id| format!("{}#{id}", text(&["source"]).unwrap_or_default()));
    Ok((prompt, id))
}

fn read_page(path: &Path, bytes: &[u8]) -> Result<ForeignPrompt> {
    let text = std::str::from_utf8(bytes)
        .map_err(|_| Error::invalid_params("the file is not UTF-8 text"))?;
    let stem = |path: &Path| path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let name = stem(path).unwrap_or_default();
    let name = name.strip_suffix(".prompt").unwrap_or(&name);
    // `code_review/system.md`: the folder says what it is.
    let general = ["system", "user", "readme", "index", "skill", "prompt"];
    let name = match path.parent().and_then(stem) {
        Some(folder) if general.contains(&name.to_lowercase().as_str()) => folder,
        _ => name.to_owned(),
    };
    let mut prompt = markdown::read(text, &name)?;
    let id = prompt.extra.shift_remove(SOURCE).and_then(|id| id.as_str().map(str::to_owned));
    Ok(ForeignPrompt { prompt, id, place: path.display().to_string() })
}

fn plain(title: String, text: String) -> Prompt {
    Prompt {
        name: slug(&title),
        title,
        description: None,
        arguments: Vec::new(),
        messages: vec![Message::user(text)],
        tags: Vec::new(),
        created: None,
        updated: None,
        extra: Map::new(),
    }
}

/// `Code Review: v2!` → `code_review_v2`; letters of every script stay.
pub fn slug(title: &str) -> String {
    let mut slug = String::new();
    for c in title.nfkc().flat_map(char::to_lowercase).nfc() {
        let fits = c.is_alphanumeric() || unicode_normalization::char::is_combining_mark(c);
        match fits {
            true => slug.push(c),
            false if !slug.is_empty() && !slug.ends_with('_') => slug.push('_'),
            false => {}
        }
    }
    let slug: String = slug.chars().take(MAX_SLUG).collect();
    match slug.trim_end_matches('_') {
        "" => "prompt".to_owned(),
        slug => slug.to_owned(),
    }
}
