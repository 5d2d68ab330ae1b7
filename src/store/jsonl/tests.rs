//! The library of prompts as its users see it: workflow, hand edits, broken lines, refusals.
#![expect(clippy::disallowed_methods, reason = "a person's editor writes as it likes")]

use std::fs;

use serde_json::json;

use super::*;
use crate::{
    domain::{Code, prompt::Draft},
    store::prompts::Prompts,
};

struct Library {
    folder: tempfile::TempDir,
    store: JsonlPrompts,
}

fn library() -> Library {
    let folder = tempfile::tempdir().unwrap();
    let store = JsonlPrompts::open(folder.path(), 10, None);
    Library { folder, store }
}

impl Library {
    fn create(&self, name: &str, text: &str) -> Result<Arc<Stored>> {
        self.store.create(draft(name, text))
    }

    fn update(&self, patch: Value) -> Result<Arc<Stored>> {
        self.store.update(Patch::parse(patch)?)
    }

    fn file(&self) -> String {
        fs::read_to_string(self.store.user_file()).unwrap()
    }

    fn write(&self, text: &str) {
        fs::write(self.store.user_file(), text).unwrap();
    }

    fn backups(&self) -> usize {
        self.store.snapshots().unwrap().len()
    }
}

pub(super) fn draft(name: &str, text: &str) -> Draft {
    Draft::parse(json!({"name": name, "title": format!("Title of {name}"),
        "messages": [{"role": "user", "content": {"type": "text", "text": text}}]}))
    .unwrap()
}

#[test]
fn hexais_workflow() {
    let library = library();
    let seed = json!({"name": "perf_analysis", "title": "Performance Analysis",
        "arguments": [{"name": "code", "required": true}],
        "messages": [{"role": "user", "content": {"type": "text", "text": "Analyze performance: {{code}}"}}],
        "tags": ["performance"]});
    library.store.create(Draft::parse(seed).unwrap()).unwrap();
    let found = library.store.get("perf_analysis").unwrap();
    assert_eq!(found.prompt.arguments[0].name, "code");
    assert_eq!(found.origin, Origin::User);

    library.update(json!({"name": "perf_analysis", "description": "Enhanced"})).unwrap();
    let found = library.store.get("perf_analysis").unwrap();
    assert_eq!(found.prompt.description.as_deref(), Some("Enhanced"));
    assert_eq!(found.prompt.title, "Performance Analysis");
    assert_eq!(found.prompt.tags, ["performance"]);

    library.store.delete("perf_analysis").unwrap();
    let gone = library.store.get("perf_analysis").unwrap_err();
    assert_eq!(
        (gone.code, gone.message.as_str()),
        (Code::InvalidParams, "Prompt not found: perf_analysis")
    );
    assert_eq!(library.file(), "");
}

#[test]
fn a_refused_change_changes_nothing_and_leaves_no_backup() {
    let library = library();
    library.create("mine", "text").unwrap();
    library.create("other", "text").unwrap();
    let (file, backups) = (library.file(), library.backups());
    let big = "x".repeat(5 << 20);
    for (refused, says) in [
        (library.create("mine", "again").unwrap_err(), "Prompt already exists: mine"),
        (library.create("with space", "x").unwrap_err(), "contains ` `"),
        (library.create("big", &big).unwrap_err(), "at most"),
        (
            library
                .store
                .create(Draft { arguments: Some(vec![]), ..draft("o", "{{x}}") })
                .unwrap_err(),
            "`{{x}}` is not declared",
        ),
        (library.update(json!({})).unwrap_err(), "Prompt name is required"),
        (library.update(json!({"name": "mine"})).unwrap_err(), "nothing to update"),
        (
            library.update(json!({"name": "none", "title": "T"})).unwrap_err(),
            "Prompt not found: none",
        ),
        (
            library.update(json!({"name": "mine", "title": ""})).unwrap_err(),
            "Prompt title is required",
        ),
        (
            library.update(json!({"name": "mine", "messages": []})).unwrap_err(),
            "At least one message",
        ),
        (
            library.update(json!({"name": "mine", "newName": "other"})).unwrap_err(),
            "already exists: other",
        ),
        (library.update(json!({"name": "mine", "newName": "a b"})).unwrap_err(), "contains ` `"),
        (
            library.update(json!({"name": "code_review", "title": "T"})).unwrap_err(),
            "Cannot update built-in",
        ),
        (library.store.delete("code_review").unwrap_err(), "Cannot delete built-in"),
        (library.store.delete("none").unwrap_err(), "Prompt not found: none"),
        (library.store.delete("").unwrap_err(), "Prompt name is required"),
        (library.store.restore("user.jsonl.20000101-000000").unwrap_err(), "no backup"),
    ] {
        assert_eq!(refused.code, Code::InvalidParams, "{refused}");
        assert!(refused.message.contains(says), "{refused} should say {says}");
    }
    assert_eq!(library.file(), file);
    assert_eq!(library.backups(), backups);
}

#[test]
fn lines_that_cannot_be_read_stay_byte_for_byte() {
    let library = library();
    let kept = "\u{feff}{half a line\r\n\r\n\t\n{\"name\":\"b\",\"x\":1.10,\"title\":\"B\",\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":\"ж\\u00e9\"}}],\"y\":{\"z\":[]}}\r\n[]";
    library.write(kept);
    assert_eq!(library.store.problems().unwrap().len(), 2);
    library.create("a", "x").unwrap();
    assert!(
        library.file().starts_with(&format!("{kept}\r\n{{\"name\":\"a\"")),
        "{}",
        library.file()
    );
    library.update(json!({"name": "b", "title": "C", "tags": ["t"]})).unwrap();
    let changed = library.file();
    assert!(
        changed.contains("{\"name\":\"b\",\"x\":1.10,\"title\":\"C\",\"messages\""),
        "{changed}"
    );
    assert!(changed.contains("\"y\":{\"z\":[]},\"tags\":[\"t\"],\"updated\""), "{changed}");
    library.store.delete("a").unwrap();
    library.store.delete("b").unwrap();
    assert_eq!(library.file(), "\u{feff}{half a line\r\n\r\n\t\n[]\r\n");
}

#[test]
fn an_edit_by_hand_is_seen_at_once_and_an_unchanged_file_is_not_read_again() {
    let library = library();
    library.create("a", "one").unwrap();
    let text = |name: &str| {
        library.store.find(name).unwrap().map(|s| s.prompt.texts().next().unwrap().to_owned())
    };
    assert_eq!(text("a").unwrap(), "one");
    let version = library.store.version().unwrap();
    // In place, of the same length, within the same tick of the clock.
    library.write(&library.file().replace("one", "two"));
    assert_eq!(text("a").unwrap(), "two");
    assert!(library.store.version().unwrap() > version);
    // By an editor that renames.
    let fresh = library.folder.path().join("edited");
    fs::write(&fresh, library.file().replace("two", "три")).unwrap();
    fs::rename(&fresh, library.store.user_file()).unwrap();
    assert_eq!(text("a").unwrap(), "три");

    std::thread::sleep(std::time::Duration::from_millis(30));
    library.store.list(None, 100).unwrap();
    let version = library.store.version().unwrap();
    let reads = library.store.state().reads;
    for _ in 0..100 {
        library.store.list(None, 100).unwrap();
        library.store.find("a").unwrap();
    }
    assert_eq!(library.store.state().reads, reads);
    assert_eq!(library.store.version().unwrap(), version);

    fs::remove_file(library.store.user_file()).unwrap();
    assert_eq!(text("a"), None);
    assert!(library.store.version().unwrap() > version);
}

#[test]
fn pages_are_ordered_by_name_and_survive_changes_between_them() {
    let library = library();
    for name in ["b", "日本", "a", "жук", "c"] {
        library.create(name, "x").unwrap();
    }
    let mut names = Vec::new();
    let mut cursor = None;
    loop {
        let page = library.store.list(cursor.as_deref(), 2).unwrap();
        names.extend(page.prompts.iter().map(|stored| stored.prompt.name.clone()));
        cursor = page.next;
        if names.len() == 2 {
            library.store.delete("b").unwrap();
            library.create("aa", "x").unwrap();
        }
        if cursor.is_none() {
            break;
        }
    }
    let mut sorted = names.clone();
    sorted.sort();
    sorted.dedup();
    assert_eq!(names, sorted);
    assert!(names.contains(&"日本".to_owned()) && names.contains(&"жук".to_owned()));
    let first = library.store.list(Some(""), 3).unwrap().prompts;
    assert_eq!(first, library.store.list(None, 3).unwrap().prompts);
    for bad in ["!", "2", "YWJj"] {
        assert_eq!(library.store.list(Some(bad), 2).unwrap_err().code, Code::InvalidParams);
    }
}

#[test]
fn a_rename_keeps_the_rest_and_a_copy_of_a_built_in_is_the_users_own() {
    let library = library();
    library.create("a", "x").unwrap();
    library.update(json!({"name": "a", "newName": "новое_имя"})).unwrap();
    assert!(library.store.find("a").unwrap().is_none());
    assert_eq!(library.store.get("новое_имя").unwrap().prompt.title, "Title of a");
    let copy = library.update(json!({"name": "code_review", "newName": "my_review"})).unwrap();
    assert_eq!(copy.origin, Origin::User);
    assert_eq!(copy.prompt.messages, library.store.get("code_review").unwrap().prompt.messages);
    library.update(json!({"name": "my_review", "title": "Mine"})).unwrap();
}

#[test]
fn a_prompt_of_the_users_takes_the_place_of_a_built_in_and_gives_it_back() {
    let library = library();
    let built_in = library.store.get("code_review").unwrap();
    library.create("code_review", "mine").unwrap();
    assert_eq!(library.store.get("code_review").unwrap().origin, Origin::User);
    let shared = library.store.shared().unwrap();
    assert!(shared.contains(&built_in), "everybody else keeps the built-in one");
    let again = library.create("code_review", "again").unwrap_err();
    assert_eq!(again.message, "Prompt already exists: code_review");
    library.create("other", "x").unwrap();
    library.update(json!({"name": "other", "newName": "summarize"})).unwrap();
    library.store.delete("code_review").unwrap();
    assert_eq!(library.store.get("code_review").unwrap(), built_in);
}

#[test]
fn placeholders_become_arguments_when_none_are_given() {
    let library = library();
    let stored = library.create("привет", "{{имя}}, {{言語|日本語}} {{имя|x}} \\{{not}}").unwrap();
    let arguments: Vec<(&str, bool)> =
        stored.prompt.arguments.iter().map(|a| (a.name.as_str(), a.required)).collect();
    assert_eq!(arguments, [("имя", true), ("言語", false)]);
    assert!(library.file().contains(r#""arguments":[{"name":"имя","required":true}"#));
}

#[test]
fn a_restore_can_be_undone() {
    let library = library();
    library.create("a", "x").unwrap();
    library.create("b", "x").unwrap();
    let before = library.file();
    let backup = library.store.snapshots().unwrap()[0].id.clone();
    let restored = library.store.restore(&backup).unwrap();
    assert_eq!(restored.prompts, 1);
    assert!(library.store.find("b").unwrap().is_none());
    library.store.restore(&restored.undo.unwrap()).unwrap();
    assert_eq!(library.file(), before);
}

/// The file of a backup that went is written over; nothing of what it held is left behind.
#[test]
fn a_longer_file_that_is_written_over_leaves_nothing() {
    let library = library();
    let long = "long ".repeat(2_000);
    for number in 0..4 {
        library.create(&format!("long_{number}"), &long).unwrap();
    }
    for number in 0..4 {
        library.store.delete(&format!("long_{number}")).unwrap();
    }
    let spare = library.folder.path().join("backups/.user.jsonl.spare");
    let mut used = 0;
    for number in 0..12 {
        let before = fs::metadata(&spare).map_or(0, |meta| meta.len());
        library.create(&format!("short_{number}"), "short").unwrap();
        used += usize::from(before > 10_000);
        let text = library.file();
        assert_eq!(text.lines().count(), number + 1);
        assert!(!text.contains("long") && text.ends_with("}\n"));
        assert!(library.backups() <= 10);
    }
    assert!(used > 0, "a long one was written over");
}

#[test]
fn only_the_newest_backups_are_kept() {
    let library = library();
    for round in 0..25 {
        library.create(&format!("p{round}"), "x").unwrap();
    }
    assert_eq!(library.backups(), 10);
    let newest = &library.store.snapshots().unwrap()[0];
    let kept = fs::read_to_string(library.folder.path().join("backups").join(&newest.id)).unwrap();
    assert_eq!(kept.lines().count(), 24);
}

#[test]
fn a_hexai_folder_opens_in_place() {
    let library = library();
    let line = |name: &str, title: &str| {
        format!(
            "{{\"name\":\"{name}\",\"title\":\"{title}\",\"description\":\"\",\"arguments\":null,\
             \"messages\":[{{\"role\":\"user\",\"content\":{{\"type\":\"text\",\"text\":\"t\"}}}}],\"tags\":null,\
             \"created\":\"2026-02-10T19:28:27.1+02:00\",\"updated\":\"2026-02-10T19:28:27.1+02:00\"}}\n"
        )
    };
    fs::write(
        library.folder.path().join("default.jsonl"),
        line("theirs", "D") + &line("both", "D"),
    )
    .unwrap();
    library.write(&(line("both", "U") + &line("code_review", "U") + &line("with-hyphen", "U")));
    let origin = |name: &str| library.store.get(name).unwrap().origin;
    assert_eq!(origin("theirs"), Origin::Default);
    assert_eq!(origin("both"), Origin::User);
    // What a person wrote is not hidden by a prompt of ours.
    assert_eq!(origin("code_review"), Origin::User);
    assert!(library.store.delete("theirs").unwrap_err().message.contains("built-in"));
    let default = fs::read_to_string(library.folder.path().join("default.jsonl")).unwrap();
    library.update(json!({"name": "with-hyphen", "newName": "with_underscore"})).unwrap();
    library.store.delete("code_review").unwrap();
    assert_eq!(origin("code_review"), Origin::BuiltIn);
    assert_eq!(fs::read_to_string(library.folder.path().join("default.jsonl")).unwrap(), default);
}

#[cfg(unix)]
#[test]
fn a_link_stays_a_link_and_rights_stay_as_they_were() {
    use std::os::unix::fs::PermissionsExt;
    let library = library();
    let real = tempfile::tempdir().unwrap();
    let file = real.path().join("prompts.jsonl");
    fs::write(&file, "").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    std::os::unix::fs::symlink(&file, library.store.user_file()).unwrap();
    library.create("a", "x").unwrap();
    library.create("b", "x").unwrap();
    assert!(library.store.user_file().is_symlink());
    assert_eq!(fs::read_to_string(&file).unwrap().lines().count(), 2);
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(library.backups(), 2);
}

#[test]
fn deleting_a_name_that_stands_twice_removes_both() {
    let library = library();
    library.create("a", "first").unwrap();
    let line = library.file();
    library.write(&(line.clone() + &line.replace("first", "second")));
    assert_eq!(library.store.get("a").unwrap().prompt.texts().next(), Some("first"));
    assert!(library.store.problems().unwrap()[0].what.contains("line 1 already"));
    library.store.delete("a").unwrap();
    assert!(library.store.find("a").unwrap().is_none());
}

#[test]
fn what_is_left_of_a_dead_writer_is_removed_by_the_next() {
    let library = library();
    let leftover = library.folder.path().join(".user.jsonl.new-1");
    fs::write(&leftover, "{half").unwrap();
    library.create("a", "x").unwrap();
    assert!(!leftover.exists());
}

#[test]
fn an_unreadable_library_is_an_error_and_not_an_empty_list() {
    let library = library();
    fs::create_dir(library.store.user_file()).unwrap();
    assert_eq!(library.store.list(None, 10).unwrap_err().code, Code::Internal);
    assert!(library.create("a", "x").is_err());
}

#[test]
fn a_refusal_creates_nothing_on_disk() {
    let library = library();
    library.update(json!({"name": "code_review", "title": "T"})).unwrap_err();
    library.store.delete("code_review").unwrap_err();
    library.store.delete("none").unwrap_err();
    library.create("a b", "x").unwrap_err();
    assert_eq!(fs::read_dir(library.folder.path()).unwrap().count(), 0);
}
