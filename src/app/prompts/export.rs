//! Takes prompts out: one JSONL file, one CSV file, or a folder of Markdown files. What went out
//! as JSONL or Markdown comes in again the same.

use std::path::Path;

use serde_json::Value;

use super::file::put;
use crate::{
    domain::{Error, Result, error::Doing, prompt::check_name},
    import::prompts::{OWN_COLUMNS, formula, markdown},
    store::{Prompts, prompts::Stored},
    vault,
};

/// The form of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// One JSON object a line.
    Jsonl,
    /// A table.
    Csv,
    /// A folder of files.
    Markdown,
}

impl Form {
    /// What a path asks for: by its ending; without one, a folder of Markdown files.
    pub fn of(path: &Path) -> Result<Self> {
        match path.extension().and_then(|ext| ext.to_str()) {
            Some("jsonl" | "ndjson") => Ok(Form::Jsonl),
            Some("csv") => Ok(Form::Csv),
            None => Ok(Form::Markdown),
            Some(other) => Err(Error::invalid_params(format!(
                "`.{other}` is not a form of export; name a .jsonl or .csv file, or a folder"
            ))),
        }
    }
}

/// What an export did.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Exported {
    /// Prompts written.
    pub written: usize,
    /// Prompts that this form cannot hold, and why.
    pub left_out: Vec<(String, String)>,
}

/// Writes the user's own prompts, or all of them.
pub fn export(prompts: &dyn Prompts, path: &Path, form: Form, all: bool) -> Result<Exported> {
    if form != Form::Markdown {
        vault::check_folder_of(path)?;
    }
    let every = prompts.all()?;
    let chosen: Vec<&Stored> =
        every.iter().map(AsRef::as_ref).filter(|stored| all || stored.origin.is_user()).collect();
    match form {
        Form::Jsonl => {
            let lines = chosen.iter().map(|s| Value::Object(s.prompt.to_map()).to_string() + "\n");
            put(path, lines.collect::<String>().as_bytes())?;
            Ok(Exported { written: chosen.len(), left_out: Vec::new() })
        }
        Form::Csv => csv(&chosen, path),
        Form::Markdown => folder(&chosen, path),
    }
}

fn csv(chosen: &[&Stored], path: &Path) -> Result<Exported> {
    let mut report = Exported::default();
    let mut writer = csv::Writer::from_writer(Vec::new());
    let doing = "write CSV";
    writer.write_record(OWN_COLUMNS).doing(doing)?;
    for Stored { prompt, .. } in chosen {
        let ([message], Some(text)) = (prompt.messages.as_slice(), prompt.texts().next()) else {
            let why = "has more than one message, or one that is not text";
            report.left_out.push((prompt.name.clone(), why.into()));
            continue;
        };
        if message.role != crate::domain::prompt::Role::User {
            report
                .left_out
                .push((prompt.name.clone(), "has a message that is not of the user".into()));
            continue;
        }
        let description = prompt.description.as_deref().unwrap_or_default();
        let tags = prompt.tags.join(";");
        let cells: [&str; 5] = [&prompt.name, &prompt.title, description, &tags, text];
        writer.write_record(cells.map(formula::defuse)).doing(doing)?;
        report.written += 1;
    }
    let bytes = writer
        .into_inner()
        .map_err(|error| Error::internal(format!("could not {doing}: {error}")))?;
    put(path, &bytes)?;
    Ok(report)
}

fn folder(chosen: &[&Stored], path: &Path) -> Result<Exported> {
    let mut report = Exported::default();
    vault::make_folders(path)?;
    for Stored { prompt, .. } in chosen {
        // A name that a person wrote by hand might lead out of the folder.
        if check_name(&prompt.name).is_err() {
            let why = "its name has more than letters, digits and underscores; rename it";
            report.left_out.push((prompt.name.clone(), why.into()));
            continue;
        }
        let file = path.join(format!("{}.md", prompt.name));
        put(&file, markdown::write(prompt).as_bytes())?;
        report.written += 1;
    }
    Ok(report)
}

#[cfg(test)]
mod tests {
    use super::{super::import, *};
    use crate::{
        domain::{Silent, prompt::Draft},
        store::jsonl::JsonlPrompts,
    };

    #[test]
    fn what_goes_out_comes_in_again() {
        let folder = tempfile::tempdir().unwrap();
        let store = JsonlPrompts::open(folder.path().join("one"), 10, None);
        let text = |text: &str| serde_json::json!({"type": "text", "text": text});
        for (name, messages) in [
            ("плата", serde_json::json!([{"role": "user", "content": text("={{a}}, \"b\"\nc")}])),
            (
                "二つ",
                serde_json::json!([{"role": "user", "content": text("x")}, {"role": "assistant", "content": text("y")}]),
            ),
        ] {
            let draft = serde_json::json!({"name": name, "title": format!("{name}!"), "messages": messages,
                "arguments": [{"name": "a", "required": true}], "tags": ["t", "u"], "description": "d"});
            store.create(Draft::parse(draft).unwrap()).unwrap();
        }
        for (to, form, written) in
            [("out.jsonl", Form::Jsonl, 2), ("out.csv", Form::Csv, 1), ("out", Form::Markdown, 2)]
        {
            let path = folder.path().join(to);
            assert_eq!(Form::of(&path).unwrap(), form);
            let report = export(&store, &path, form, false).unwrap();
            assert_eq!((report.written, report.left_out.len()), (written, 2 - written));
            if form == Form::Csv {
                let table = std::fs::read_to_string(&path).unwrap();
                assert!(table.contains("'={{a}}"), "a spreadsheet would run it: {table}");
            }
            // Back into the library it came from: nothing new.
            let again =
                import(&store, std::slice::from_ref(&path), &Silent, |new| store.add(new)).unwrap();
            assert_eq!((again.added, again.unchanged), (0, written), "{to}");
            // Into an empty one: the same prompts.
            let other = JsonlPrompts::open(folder.path().join(format!("{to}-library")), 10, None);
            import(&other, &[path], &Silent, |new| other.add(new)).unwrap();
            for stored in store.all().unwrap().iter().filter(|s| s.origin.is_user()).take(written) {
                let mut copy = other.get(&stored.prompt.name).unwrap().prompt.clone();
                copy.extra.clear();
                (copy.created, copy.updated) = (stored.prompt.created, stored.prompt.updated);
                assert_eq!(copy, stored.prompt, "{to}");
            }
        }
    }
}
