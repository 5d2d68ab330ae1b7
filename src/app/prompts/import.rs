//! Brings libraries of prompts in: CSV and JSONL (gzipped or not), JSON lists, Markdown files and
//! folders of them.
//!
//! Names are made valid and unique; what the library called a prompt stays in `title`. Each
//! imported prompt remembers where it came from, so that a second import adds nothing twice, not
//! even when the prompt was changed here since. One file that cannot be read or one prompt that
//! cannot be taken is named in the report and stops nothing else.

use std::{
    collections::HashSet,
    fs::File,
    io::Read,
    path::{Path, PathBuf},
};

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use unicode_normalization::UnicodeNormalization;

use super::markdown;
use crate::{
    domain::{
        Error, Progress, Prompt, Result, Timestamp,
        error::Doing,
        prompt::{Argument, MAX_TAGS, MAX_TITLE, Message, check_name},
    },
    markdown::template,
    store::Prompts,
};

/// The field in which an imported prompt remembers where it came from.
const SOURCE: &str = "imported";
/// A gzipped file may not unfold to more than this.
const MAX_BYTES: u64 = 256 << 20;
const MAX_SLUG: usize = 64;

/// What an import did.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Imported {
    /// Names of the new prompts.
    pub added: Vec<String>,
    /// How many were here already.
    pub known: usize,
    /// Where, and why not.
    pub refused: Vec<(String, String)>,
}

/// A prompt found in a library, and where.
struct Found {
    prompt: Prompt,
    /// What the library itself calls it.
    id: Option<String>,
    place: String,
}

/// Imports files and folders as one change with one backup.
pub fn import(
    prompts: &dyn Prompts,
    paths: &[PathBuf],
    progress: &dyn Progress,
) -> Result<Imported> {
    let mut report = Imported::default();
    let mut found = Vec::new();
    for path in paths {
        read_path(path, &mut found, &mut report)?;
    }
    let all = prompts.all()?;
    let mut names: HashSet<String> = all.iter().map(|stored| stored.prompt.name.clone()).collect();
    let mut known: HashSet<String> = HashSet::new();
    for stored in all.iter() {
        known.insert(fingerprint(&stored.prompt));
        known.extend(stored.prompt.extra.get(SOURCE).and_then(Value::as_str).map(str::to_owned));
    }
    let total = found.len() as u64;
    let mut new = Vec::new();
    for (done, Found { mut prompt, id, place }) in found.into_iter().enumerate() {
        progress.report(done as u64, Some(total), &place);
        prepare(&mut prompt);
        let print = fingerprint(&prompt);
        let source = id.unwrap_or_else(|| print.clone());
        if known.contains(&source) || known.contains(&print) {
            report.known += 1;
            continue;
        }
        prompt.name = free_name(&prompt.name, &names);
        if let Err(error) = prompt.check() {
            report.refused.push((place, error.message));
            continue;
        }
        prompt.extra.insert(SOURCE.into(), source.clone().into());
        known.extend([source, print]);
        names.insert(prompt.name.clone());
        report.added.push(prompt.name.clone());
        new.push(prompt);
    }
    prompts.add(new)?;
    progress.report(total, Some(total), "done");
    Ok(report)
}

fn read_path(path: &Path, found: &mut Vec<Found>, report: &mut Imported) -> Result<()> {
    if path.is_dir() {
        let mut files: Vec<PathBuf> = ignore::WalkBuilder::new(path)
            .build()
            .flatten()
            .map(ignore::DirEntry::into_path)
            .filter(|file| file.extension().is_some_and(|ext| ext.eq_ignore_ascii_case("md")))
            .collect();
        files.sort();
        for file in files {
            match read_bytes(&file).and_then(|bytes| read_page(&file, &bytes)) {
                Ok(one) => found.push(one),
                Err(error) => report.refused.push((file.display().to_string(), error.message)),
            }
        }
        return Ok(());
    }
    let bytes = read_bytes(path)?;
    let name =
        path.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
    match name.strip_suffix(".gz").unwrap_or(&name).rsplit('.').next() {
        Some("csv") => read_csv(path, &bytes, found, report),
        Some("jsonl" | "ndjson") => {
            let lines = bytes.split(|byte| *byte == b'\n').enumerate();
            for (number, line) in lines.filter(|(_, line)| !line.trim_ascii().is_empty()) {
                let place = format!("{} line {}", path.display(), number + 1);
                let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
                take(serde_json::from_slice(line), place, found, report);
            }
        }
        Some("json") => {
            let list: Vec<Value> = serde_json::from_slice(&bytes).map_err(|error| {
                Error::invalid_params(format!("`{}` is not a JSON list: {error}", path.display()))
            })?;
            for (number, value) in list.into_iter().enumerate() {
                let place = format!("{} entry {}", path.display(), number + 1);
                take(Ok(value), place, found, report);
            }
        }
        Some("md" | "markdown") => found.push(read_page(path, &bytes)?),
        _ => {
            return Err(Error::invalid_params(format!(
                "`{}` is not a .csv, .jsonl, .json or .md file (or one of these with .gz)",
                path.display()
            )));
        }
    }
    Ok(())
}

fn read_bytes(path: &Path) -> Result<Vec<u8>> {
    let doing = || format!("read `{}`", path.display());
    let file = File::open(path).doing(doing())?;
    let mut bytes = Vec::new();
    let gzipped = path.extension().is_some_and(|ext| ext.eq_ignore_ascii_case("gz"));
    match gzipped {
        true => flate2::read::MultiGzDecoder::new(file).take(MAX_BYTES + 1).read_to_end(&mut bytes),
        false => file.take(MAX_BYTES + 1).read_to_end(&mut bytes),
    }
    .doing(doing())?;
    match bytes.len() as u64 > MAX_BYTES {
        true => Err(Error::limit(format!("`{}` is larger than 256 MiB", path.display()))),
        false => Ok(bytes),
    }
}

fn take(
    value: serde_json::Result<Value>,
    place: String,
    found: &mut Vec<Found>,
    report: &mut Imported,
) {
    let read = match value {
        Ok(Value::Object(map)) => read_object(map),
        Ok(_) => Err("not a JSON object".into()),
        Err(error) => Err(format!("not JSON: {error}")),
    };
    match read {
        Ok((prompt, id)) => found.push(Found { prompt, id, place }),
        Err(why) => report.refused.push((place, why)),
    }
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

fn read_csv(path: &Path, bytes: &[u8], found: &mut Vec<Found>, report: &mut Imported) {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(bytes);
    let headers: Vec<String> = match reader.headers() {
        Ok(headers) => headers.iter().map(|name| name.trim().to_lowercase()).collect(),
        Err(error) => {
            report.refused.push((path.display().to_string(), error.to_string()));
            return;
        }
    };
    for (number, row) in reader.records().enumerate() {
        let place = format!("{} row {}", path.display(), number + 1);
        let row = match row {
            Ok(row) => row,
            Err(error) => {
                report.refused.push((place, error.to_string()));
                continue;
            }
        };
        let mut map: Map<String, Value> =
            headers.iter().zip(&row).map(|(key, value)| (key.clone(), value.into())).collect();
        let mut tags: Vec<Value> = Vec::new();
        if let Some(Value::String(text)) = map.get("tags") {
            tags.extend(
                text.split([',', ';'])
                    .map(str::trim)
                    .filter(|tag| !tag.is_empty())
                    .map(Value::from),
            );
        }
        if let Some(kind) = map.get("type").and_then(Value::as_str) {
            tags.push(kind.to_lowercase().into());
        }
        if map
            .get("for_devs")
            .and_then(Value::as_str)
            .is_some_and(|is| is.eq_ignore_ascii_case("true"))
        {
            tags.push("dev".into());
        }
        map.insert("tags".into(), tags.into());
        let named = map.get("name").and_then(Value::as_str).filter(|_| map.contains_key("title"));
        let named = named.map(str::to_owned);
        match read_object(map) {
            Ok((mut prompt, id)) => {
                prompt.name = named.unwrap_or(prompt.name);
                found.push(Found { prompt, id, place });
            }
            Err(why) => report.refused.push((place, why)),
        }
    }
}

fn read_page(path: &Path, bytes: &[u8]) -> Result<Found> {
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
    Ok(Found { prompt, id, place: path.display().to_string() })
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

/// Makes a foreign prompt fit: placeholders are declared, or kept literal where the text is a
/// template of another language.
fn prepare(prompt: &mut Prompt) {
    let now = Timestamp::now();
    prompt.created = prompt.created.or(Some(now));
    prompt.updated = prompt.updated.or(Some(now));
    prompt.title = prompt.title.trim().chars().take(MAX_TITLE).collect();
    let mut seen = HashSet::new();
    prompt.tags.retain(|tag| {
        !tag.trim().is_empty() && tag.chars().count() <= 100 && seen.insert(tag.clone())
    });
    prompt.tags.truncate(MAX_TAGS);
    let foreign = ["{{#", "{{/", "{{^", "{{>", "{{ $", "{%"];
    for message in &mut prompt.messages {
        let Some(text) = message.content.as_text() else { continue };
        if foreign.iter().any(|sign| text.contains(sign)) {
            message.content = message.content.with_text(template::escape(text));
            continue;
        }
        for (name, optional) in template::variables(text) {
            if !optional && !prompt.arguments.iter().any(|argument| argument.name == name) {
                let argument = Argument { name: name.into(), required: true, ..Default::default() };
                prompt.arguments.push(argument);
            }
        }
    }
}

/// What makes two prompts the same prompt, whatever they are called here.
fn fingerprint(prompt: &Prompt) -> String {
    let mut hash = Sha256::new();
    hash.update(&prompt.title);
    for message in &prompt.messages {
        hash.update([0]);
        hash.update(message.role.as_str());
        hash.update(Value::Object(message.content.0.clone()).to_string());
    }
    let bytes = hash.finalize();
    let hex: String = bytes.iter().take(12).map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}

/// The name if it is valid and free, else one made of it.
fn free_name(name: &str, taken: &HashSet<String>) -> String {
    let name: String = name.nfc().collect();
    let base = match check_name(&name) {
        Ok(()) if !name.is_empty() => name,
        _ => slug(&name),
    };
    let mut free = base.clone();
    let mut number = 1;
    while taken.contains(&free) {
        number += 1;
        free = format!("{base}_{number}");
    }
    free
}

/// `Code Review: v2!` → `code_review_v2`; letters of every script stay.
fn slug(title: &str) -> String {
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

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test writes its fixtures")]
mod tests {
    use std::fs;

    use super::*;
    use crate::{domain::Silent, store::jsonl::JsonlPrompts};

    #[test]
    fn names_are_made_of_titles_in_any_script() {
        for (title, name) in [
            ("Code Review: v2!", "code_review_v2"),
            ("  Обзор кода  ", "обзор_кода"),
            ("コードレビュー（日本語）", "コードレビュー_日本語"),
            ("ﾃｽﾄ", "テスト"),
            ("!!!", "prompt"),
            ("Uppercase_OK", "uppercase_ok"),
        ] {
            assert_eq!(slug(title), name, "{title}");
            check_name(name).unwrap();
        }
        assert_eq!(free_name("Keep_It", &HashSet::new()), "Keep_It");
        assert_eq!(free_name("a b", &["a_b".into(), "a_b_2".into()].into()), "a_b_3");
    }

    #[test]
    fn every_form_is_read_and_a_second_import_adds_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("a.csv"), "act,prompt,for_devs,type\nLinux Terminal,\"be, a {{shell}}\",TRUE,TEXT\nDup,\"x\"\"y\",FALSE,IMAGE\nDup,other text,,\n,no title,,\n").unwrap();
        fs::write(at("b.jsonl"), concat!(
            r#"{"id":"1","source":"s","title":"Переводчик","text":"Переведи {{текст}}","tags":["язык"],"meta":{"description":"d"}}"#, "\n",
            "{broken\n",
            r#"{"name":"own","title":"Own","messages":[{"role":"user","content":{"type":"text","text":"hi"}}],"rating":5}"#, "\n",
            r##"{"id":"2","source":"s","title":"Mustache","text":"{{#each x}}{{this}}{{/each}}"}"##, "\n",
        )).unwrap();
        fs::create_dir_all(at("pages/要約")).unwrap();
        fs::write(at("pages/要約/system.md"), "# 要約\n\n要約して。\n").unwrap();
        fs::write(at("pages/bad.md"), "---\nx: [\n---\n").unwrap();
        let paths = [at("a.csv"), at("b.jsonl"), at("pages")];
        let store = JsonlPrompts::open(at("library"), 10, None);
        let report = import(&store, &paths, &Silent).unwrap();
        assert_eq!(
            report.added,
            ["linux_terminal", "dup", "dup_2", "переводчик", "own", "mustache", "要約"]
        );
        assert_eq!(report.refused.len(), 3, "{:?}", report.refused);
        let prompt = |name: &str| store.get(name).unwrap().prompt.clone();
        assert_eq!(prompt("linux_terminal").title, "Linux Terminal");
        assert_eq!(prompt("linux_terminal").arguments[0].name, "shell");
        assert_eq!(prompt("linux_terminal").tags, ["text", "dev"]);
        assert_eq!(prompt("переводчик").description.as_deref(), Some("d"));
        assert_eq!(prompt("own").extra["rating"], 5);
        let literal =
            super::super::render(&prompt("mustache"), &Map::new(), &super::super::no_notes);
        assert_eq!(literal.unwrap()[0].content.as_text(), Some("{{#each x}}{{this}}{{/each}}"));

        // Changed here and renamed here: still the same prompt of that library.
        let patch =
            serde_json::json!({"name": "переводчик", "newName": "translate_ru", "title": "Mine"});
        store.update(crate::domain::prompt::Patch::parse(patch).unwrap()).unwrap();
        let again = import(&store, &paths, &Silent).unwrap();
        assert_eq!((again.added, again.known), (vec![], 7));
        assert_eq!(store.backups().unwrap().len(), 1);
    }

    #[test]
    fn the_shared_libraries_come_in_whole() {
        let shared = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data/prompts");
        if !shared.is_dir() {
            eprintln!("skipped: no shared prompts");
            return;
        }
        let mut paths: Vec<PathBuf> =
            fs::read_dir(&shared).unwrap().flatten().map(|e| e.path()).collect();
        paths.retain(|path| path.extension().is_some_and(|ext| ext != "txt"));
        paths.sort();
        let folder = tempfile::tempdir().unwrap();
        let store = JsonlPrompts::open(folder.path(), 10, None);
        let report = import(&store, &paths, &Silent).unwrap();
        assert_eq!(report.refused, []);
        assert_eq!(report.added.len() + report.known, 1529 + 230 + 837 + 400 + 46 + 400);
        assert!(report.added.len() > 3000, "{}", report.added.len());
        assert_eq!(store.problems().unwrap(), []);
        assert!(import(&store, &paths, &Silent).unwrap().added.is_empty());
    }
}
