//! Brings libraries of prompts in: CSV and JSONL (gzipped or not), JSON lists, Markdown files and
//! folders of them.
//!
//! Names are made valid and unique; what the library called a prompt stays in `title`. Each
//! imported prompt remembers where it came from, so that a second import adds nothing twice, not
//! even when the prompt was changed here since. One file that cannot be read or one prompt that
//! cannot be taken is named in the report and stops nothing else.

use std::{collections::HashSet, path::PathBuf};

use serde_json::Value;
use sha2::{Digest, Sha256};
use unicode_normalization::UnicodeNormalization;

use crate::{
    domain::{
        Progress, Prompt, Result, Timestamp,
        prompt::{MAX_TAGS, MAX_TITLE, check_name},
    },
    import::{
        ImportReport,
        prompts::{ForeignPrompt, Reading, SOURCE, slug},
    },
    markdown::template,
    store::{Prompts, prompts::declare_placeholders},
};

/// Reads files and folders, and hands what is new to `add`, as one change with one backup.
pub fn import(
    prompts: &dyn Prompts,
    paths: &[PathBuf],
    progress: &dyn Progress,
    add: impl FnOnce(Vec<Prompt>) -> Result<()>,
) -> Result<ImportReport> {
    let mut reading = Reading::default();
    for path in paths {
        reading.path(path);
    }
    let (found, mut report) = reading.finish();
    let all = prompts.all()?;
    let mut names: HashSet<String> = all.iter().map(|stored| stored.prompt.name.clone()).collect();
    let mut known: HashSet<String> = HashSet::new();
    for stored in all.iter() {
        known.insert(fingerprint(&stored.prompt));
        known.extend(stored.prompt.extra.get(SOURCE).and_then(Value::as_str).map(str::to_owned));
    }
    let total = found.len() as u64;
    let mut new = Vec::new();
    for (done, ForeignPrompt { mut prompt, id, place }) in found.into_iter().enumerate() {
        progress.report(done as u64, Some(total), &place);
        if progress.stopped() {
            // All or nothing is in the file at once, so nothing is.
            return Ok(ImportReport { stopped: true, ..ImportReport::default() });
        }
        prepare(&mut prompt);
        let print = fingerprint(&prompt);
        let source = id.unwrap_or_else(|| print.clone());
        if known.contains(&source) || known.contains(&print) {
            report.unchanged += 1;
            continue;
        }
        let wanted = std::mem::take(&mut prompt.name);
        prompt.name = free_name(&wanted, &names);
        if let Err(error) = prompt.check() {
            report.skipped.push(place, error.plain());
            continue;
        }
        if names.contains(&wanted) {
            let why = format!("its name `{wanted}` is taken; it is `{}` here", prompt.name);
            report.changed.push(place, why);
        } else if prompt.name != wanted {
            let why = format!("its name `{wanted}` became `{}`", prompt.name);
            report.changed.push(place, why);
        }
        prompt.extra.insert(SOURCE.into(), source.clone().into());
        known.extend([source, print]);
        names.insert(prompt.name.clone());
        new.push(prompt);
    }
    report.added = new.len();
    if !new.is_empty() {
        add(new)?;
    }
    progress.report(total, Some(total), "done");
    Ok(report)
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
        }
    }
    declare_placeholders(prompt);
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

/// The name if it is valid and free, else a valid and free variant.
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

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test writes its fixtures")]
mod tests {
    use std::{fs, path::Path};

    use serde_json::Map;

    use super::*;
    use crate::{domain::Silent, store::jsonl::JsonlPrompts};

    fn import_into(store: &JsonlPrompts, paths: &[PathBuf]) -> Result<ImportReport> {
        import(store, paths, &Silent, |prompts| store.add(prompts))
    }

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
        let report = import_into(&store, &paths).unwrap();
        assert_eq!(report.added, 7);
        for name in ["linux_terminal", "dup", "dup_2", "переводчик", "own", "mustache", "要約"]
        {
            assert!(store.find(name).unwrap().is_some(), "{name}");
        }
        assert_eq!(report.skipped.total, 3, "{:?}", report.skipped);
        let renamed = &report.changed.first;
        assert!(renamed.iter().any(|(_, why)| why.contains("`dup` is taken")), "{renamed:?}");
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
        let again = import_into(&store, &paths).unwrap();
        assert_eq!((again.added, again.unchanged), (0, 7));
        assert_eq!(store.snapshots().unwrap().len(), 1);
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
        let report = import_into(&store, &paths).unwrap();
        assert!(report.skipped.is_empty(), "{:?}", report.skipped);
        assert!(report.failed.is_empty(), "{:?}", report.failed);
        assert_eq!(report.added + report.unchanged, 1529 + 230 + 837 + 400 + 46 + 400);
        assert!(report.added > 3000, "{}", report.added);
        assert_eq!(store.problems().unwrap(), []);
        assert_eq!(import_into(&store, &paths).unwrap().added, 0);
    }
}
