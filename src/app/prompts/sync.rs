//! Slash-command files for coding agents: one Markdown file per prompt.
//!
//! A file that we wrote says so in its frontmatter, with a hash of the rest. Only a file that is
//! ours and untouched is ever replaced or removed; one that a person edited, or that was there
//! before, is left alone and named.

use std::{fs, path::Path, sync::Arc};

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::{Notes, file::put};
use crate::{
    domain::{
        Error, Prompt, Result,
        error::Doing,
        prompt::{Role, check_name},
    },
    markdown::template::{self, Part},
    store::{
        Prompts,
        prompts::{Stored, not_found},
    },
    vault,
};

const MARK: &str = "notewell: ";

/// What a sync did, by file name.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Synced {
    /// Files written.
    pub written: Vec<String>,
    /// Files removed.
    pub removed: Vec<String>,
    /// Files that were right already.
    pub unchanged: usize,
    /// Left alone, and why.
    pub left: Vec<(String, String)>,
}

/// Which prompts a sync writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Selection<'a> {
    /// Those whose files an earlier sync wrote.
    Present,
    /// Those with one of these names or tags.
    Chosen {
        /// These prompts.
        names: &'a [String],
        /// Prompts with one of these tags.
        tags: &'a [String],
    },
    /// Every prompt.
    All,
}

/// Writes a command file for each of the prompts that `which` names, and removes those whose prompt
/// is gone. Files of other prompts stay as they are.
pub fn sync(
    prompts: &dyn Prompts,
    folder: &Path,
    which: Selection<'_>,
    notes: Notes<'_>,
) -> Result<Synced> {
    let all = prompts.all()?;
    let chosen = choose(&all, folder, which)?;
    vault::make_folders(folder)?;
    let mut report = Synced::default();
    for prompt in chosen {
        let name = format!("{}.md", prompt.name);
        match command(prompt, notes) {
            Ok(text) => write(folder, &name, &prompt.name, &text, &mut report)?,
            Err(error) => report.left.push((name, error.message)),
        }
    }
    let known = |name: &str| all.iter().any(|stored| stored.prompt.name == name);
    let entries = fs::read_dir(folder).doing(format!("read `{}`", folder.display()))?;
    for entry in entries.flatten() {
        let Ok(name) = entry.file_name().into_string() else { continue };
        let Some(of) = name.strip_suffix(".md").filter(|of| !known(of)) else { continue };
        match owner(&entry.path()) {
            Owner::Ours { prompt } if prompt == of => {
                fs::remove_file(entry.path()).doing(format!("remove `{name}`"))?;
                report.removed.push(name);
            }
            Owner::Edited => {
                report.left.push((name, "its prompt is gone, but it was edited by hand".into()));
            }
            _ => {}
        }
    }
    report.removed.sort();
    Ok(report)
}

fn choose<'a>(
    all: &'a [Arc<Stored>],
    folder: &Path,
    which: Selection<'_>,
) -> Result<Vec<&'a Prompt>> {
    let prompts = all.iter().map(|stored| &stored.prompt);
    let is_ours = |prompt: &&Prompt| {
        let file = folder.join(format!("{}.md", prompt.name));
        matches!(owner(&file), Owner::Ours { .. } | Owner::Edited)
    };
    let (names, tags) = match which {
        Selection::All => return Ok(prompts.collect()),
        Selection::Chosen { names, tags } => (names, tags),
        Selection::Present => {
            let present: Vec<&Prompt> = prompts.filter(is_ours).collect();
            return match holds_ours(folder) {
                true => Ok(present),
                false => Err(Error::invalid_params(format!(
                    "say which of the {} prompts to write: their names, `--tag TAG`, or `--all`",
                    all.len()
                ))),
            };
        }
    };
    if let Some(name) = names.iter().find(|name| !all.iter().any(|s| s.prompt.name == **name)) {
        return Err(not_found(name));
    }
    let has = |prompt: &Prompt, tag: &String| prompt.tags.contains(tag);
    if let Some(tag) = tags.iter().find(|tag| !all.iter().any(|s| has(&s.prompt, tag))) {
        return Err(Error::invalid_params(format!(
            "no prompt has the tag `{tag}`; `notewell prompt list` shows the tags"
        )));
    }
    let chosen =
        |prompt: &&Prompt| names.contains(&prompt.name) || tags.iter().any(|tag| has(prompt, tag));
    Ok(prompts.filter(chosen).collect())
}

/// Whether a folder has a file that a sync wrote.
fn holds_ours(folder: &Path) -> bool {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|ext| ext == "md"))
        .any(|path| matches!(owner(&path), Owner::Ours { .. } | Owner::Edited))
}

fn write(folder: &Path, name: &str, prompt: &str, text: &str, report: &mut Synced) -> Result<()> {
    let path = folder.join(name);
    match owner(&path) {
        Owner::Nobody => {}
        Owner::Ours { prompt: of } if of == prompt => {
            if fs::read(&path).is_ok_and(|bytes| bytes == text.as_bytes()) {
                report.unchanged += 1;
                return Ok(());
            }
        }
        Owner::Ours { prompt: of } => {
            report.left.push((name.to_owned(), format!("is the file of the prompt `{of}`")));
            return Ok(());
        }
        Owner::Edited => {
            let why = "was edited by hand; remove it to have it written again";
            report.left.push((name.to_owned(), why.into()));
            return Ok(());
        }
        Owner::Other => {
            report.left.push((name.to_owned(), "was not written by notewell".into()));
            return Ok(());
        }
    }
    put(&path, text.as_bytes())?;
    report.written.push(name.to_owned());
    Ok(())
}

enum Owner {
    Nobody,
    Ours { prompt: String },
    Edited,
    Other,
}

fn owner(path: &Path) -> Owner {
    if path.symlink_metadata().is_err() {
        return Owner::Nobody;
    }
    // A link leads to a file that is somebody's, and what cannot be read is not ours to replace.
    let Some(text) = (!path.is_symlink()).then(|| fs::read_to_string(path).ok()).flatten() else {
        return Owner::Other;
    };
    let head = text.strip_prefix("---\n").and_then(|rest| rest.split_once("\n---\n"));
    let mark = head.and_then(|(head, _)| head.lines().find_map(|line| line.strip_prefix(MARK)));
    match mark.and_then(|mark| mark.split_once(' ')) {
        None => Owner::Other,
        Some((prompt, hash)) => {
            let bare = text.replacen(
                &format!("{MARK}{prompt} {hash}\n"),
                &format!("{MARK}{prompt} \n"),
                1,
            );
            match print(&bare) == hash {
                true => Owner::Ours { prompt: prompt.to_owned() },
                false => Owner::Edited,
            }
        }
    }
}

fn print(text: &str) -> String {
    Sha256::digest(text).iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// The file of a prompt: what it is for, its arguments as the agents write them, its text.
fn command(prompt: &Prompt, notes: Notes<'_>) -> Result<String> {
    check_name(&prompt.name)?;
    let mut body = String::new();
    for message in &prompt.messages {
        let text = message.content.as_text().ok_or_else(|| {
            Error::invalid_params("it holds more than text, which a command file cannot")
        })?;
        if !body.is_empty() {
            body.push_str("\n\n");
        }
        if message.role == Role::Assistant {
            body.push_str("You answered:\n\n");
        }
        body.push_str(&template::render(text, |part| argument(prompt, part, notes))?);
    }
    let hint: Vec<String> = prompt
        .arguments
        .iter()
        .map(|argument| match argument.required {
            true => format!("<{}>", argument.name),
            false => format!("[{}]", argument.name),
        })
        .collect();
    let mut head = String::new();
    let about = prompt.description.as_deref().unwrap_or(&prompt.title);
    head.push_str(&format!("description: {}\n", Value::from(about)));
    if !hint.is_empty() {
        head.push_str(&format!("argument-hint: {}\n", Value::from(hint.join(" "))));
    }
    let whole = |hash: &str| format!("---\n{head}{MARK}{} {hash}\n---\n\n{body}\n", prompt.name);
    Ok(whole(&print(&whole(""))))
}

/// How an agent's command file names an argument: all of the line for a single one, else by place.
fn argument<'a>(
    prompt: &Prompt,
    part: Part<'a>,
    notes: Notes<'_>,
) -> Result<std::borrow::Cow<'a, str>> {
    let (name, default, whole) = match part {
        Part::Text(text) => return Ok(text.into()),
        Part::Note { path, heading, default, .. } => {
            return match (notes(path, heading), default) {
                (Ok(text), _) => Ok(text.into()),
                (Err(_), Some(default)) => Ok(default.into()),
                (Err(error), None) => Err(error),
            };
        }
        Part::Variable { name, default, whole } => (name, default, whole),
    };
    let place = prompt.arguments.iter().position(|argument| argument.name == name);
    let Some(place) = place else { return Ok(default.unwrap_or(whole).into()) };
    let sign = match prompt.arguments.len() {
        1 => "$ARGUMENTS".to_owned(),
        _ => format!("${}", place + 1),
    };
    Ok(match default {
        Some(default) if !default.is_empty() => format!("{sign} (if empty: {default})").into(),
        _ => sign.into(),
    })
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a person's editor writes as it likes")]
mod tests {
    use serde_json::json;

    use super::{super::no_notes, *};
    use crate::{
        domain::prompt::{Draft, Patch},
        store::jsonl::JsonlPrompts,
    };

    fn create(store: &JsonlPrompts, name: &str, text: &str, arguments: Value) {
        let draft = json!({"name": name, "title": name, "arguments": arguments,
            "messages": [{"role": "user", "content": {"type": "text", "text": text}}]});
        store.create(Draft::parse(draft).unwrap()).unwrap();
    }

    #[test]
    fn only_files_that_we_wrote_and_nobody_touched_are_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let store = JsonlPrompts::open(folder.path().join("library"), 10, None);
        let built_in = store.all().unwrap().len();
        create(
            &store,
            "обзор",
            "Check {{code}} \\{{x}}",
            json!([{"name": "code", "required": true}]),
        );
        create(&store, "two", "{{b|B}} then {{a}}", json!([{"name": "a"}, {"name": "b"}]));
        create(&store, "theirs", "x", json!([]));
        let to = folder.path().join("commands");
        fs::create_dir(&to).unwrap();
        fs::write(to.join("theirs.md"), "my own").unwrap();
        fs::write(to.join("other.md"), "---\ndescription: mine\n---\n").unwrap();

        let report = sync(&store, &to, Selection::All, &no_notes).unwrap();
        assert_eq!(report.written.len(), built_in + 2);
        assert_eq!(report.left.len(), 1);
        let read = |name: &str| fs::read_to_string(to.join(name)).unwrap();
        assert!(read("обзор.md").ends_with("---\n\nCheck $ARGUMENTS {{x}}\n"));
        assert!(read("обзор.md").contains("argument-hint: \"<code>\"\n"));
        assert!(read("two.md").ends_with("$2 (if empty: B) then $1\n"));

        let again = sync(&store, &to, Selection::All, &no_notes).unwrap();
        assert_eq!((again.written.len(), again.unchanged), (0, built_in + 2));

        let edited = read("two.md") + "and my line\n";
        fs::write(to.join("two.md"), &edited).unwrap();
        store.update(Patch::parse(json!({"name": "two", "title": "New"})).unwrap()).unwrap();
        store
            .update(Patch::parse(json!({"name": "обзор", "newName": "レビュー"})).unwrap())
            .unwrap();
        let report = sync(&store, &to, Selection::All, &no_notes).unwrap();
        assert_eq!(report.written, ["レビュー.md"]);
        assert_eq!(report.removed, ["обзор.md"]);
        assert_eq!(read("two.md"), edited);
        assert_eq!(read("theirs.md"), "my own");

        store.delete("two").unwrap();
        let report = sync(&store, &to, Selection::All, &no_notes).unwrap();
        assert!(report.removed.is_empty());
        assert!(report.left.iter().any(|(name, why)| name == "two.md" && why.contains("by hand")));
        assert_eq!(read("two.md"), edited);
        assert_eq!(read("other.md"), "---\ndescription: mine\n---\n");
    }

    #[test]
    fn only_the_prompts_asked_for_are_written() {
        let folder = tempfile::tempdir().unwrap();
        let store = JsonlPrompts::open(folder.path().join("library"), 10, None);
        for name in ["один", "二", "three"] {
            let draft = json!({"name": name, "title": name, "tags": [format!("tag_{name}")],
                "messages": [{"role": "user", "content": {"type": "text", "text": name}}]});
            store.create(Draft::parse(draft).unwrap()).unwrap();
        }
        let to = folder.path().join("commands");
        let all = store.all().unwrap().len();
        let refused = sync(&store, &to, Selection::Present, &no_notes).unwrap_err();
        assert!(refused.message.contains(&format!("which of the {all} prompts")), "{refused}");
        assert!(!to.exists());
        let words = |word: &str| vec![word.to_owned()];
        let (name, tag, none) = (words("один"), words("tag_二"), words("none"));
        for which in [
            Selection::Chosen { names: &none, tags: &[] },
            Selection::Chosen { names: &[], tags: &none },
        ] {
            sync(&store, &to, which, &no_notes).unwrap_err();
        }
        assert!(!to.exists());
        let report = sync(&store, &to, Selection::Chosen { names: &name, tags: &tag }, &no_notes);
        assert_eq!(report.unwrap().written, ["один.md", "二.md"]);
        // Another choice adds to the first; without one, what is there is brought up to date.
        let three = words("three");
        sync(&store, &to, Selection::Chosen { names: &three, tags: &[] }, &no_notes).unwrap();
        store.update(Patch::parse(json!({"name": "二", "title": "New"})).unwrap()).unwrap();
        store.delete("один").unwrap();
        let report = sync(&store, &to, Selection::Present, &no_notes).unwrap();
        assert_eq!((report.written, report.unchanged), (words("二.md"), 1));
        assert_eq!(report.removed, ["один.md"]);
    }
}
