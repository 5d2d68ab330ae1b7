//! `edit_page` as an agent uses it: search, read, edit by the same handle.

use serde_json::{Value, json};

use crate::support::{Client, Home, put};

const NOTE: &str = "---\n# a comment\ntags: [x]\nstatus: draft\n---\n# Кофе\n\nВступление.\n\n## Помол\n\nКрупный помол.\n\n## 抽出\n\n九十二度。\n\n## Notes\n\n- one\n- two\n";

fn file(home: &Home, path: &str) -> String {
    std::fs::read_to_string(home.vault().join(path)).unwrap()
}

/// The structured answer of an edit that must succeed.
pub fn edit(client: &mut Client, arguments: Value) -> Value {
    let result = client.call("edit_page", arguments);
    assert_ne!(result["isError"], true, "{result}");
    result["structuredContent"].clone()
}

/// The message of an edit that must be refused, as an error or as a result that says so.
pub fn refusal(client: &mut Client, tool: &str, arguments: Value) -> String {
    let answer = client.ask("tools/call", json!({ "name": tool, "arguments": arguments }));
    match answer.get("error") {
        Some(error) => error["message"].as_str().unwrap().to_owned(),
        None => {
            assert_eq!(answer["result"]["isError"], true, "not refused: {answer}");
            answer["result"]["content"][0]["text"].as_str().unwrap().to_owned()
        }
    }
}

fn read(client: &mut Client, arguments: Value) -> Value {
    client.call("note_html", arguments)["structuredContent"].clone()
}

fn home() -> (Home, Client) {
    let home = Home::new();
    home.note("кофе.md", NOTE).note("other.md", "# Other\n\n[[кофе]]\n");
    let client = home.stdio();
    (home, client)
}

#[test]
fn search_read_edit_by_one_handle_in_each_language() {
    let (home, mut client) = home();
    for (query, word, section) in [
        ("крупный помол", "средний", "Помол"),
        ("九十二度", "八十八度", "抽出"),
        ("one two", "three", "Notes"),
    ] {
        let found = client.call("search", json!({ "query": query }));
        let id = found["structuredContent"]["results"][0]["matches"][0]["match_id"].clone();
        let note = read(&mut client, json!({ "match_id": id, "format": "markdown" }));
        assert_eq!(note["toc_path"], json!([section]), "{note}");
        let etag = note["etag"].clone();
        assert_eq!(found["structuredContent"]["results"][0]["etag"], etag, "{found}");
        let before = file(&home, "кофе.md");
        let done = edit(
            &mut client,
            json!({ "match_id": id, "op": "replace", "text": word, "etag": etag }),
        );
        assert_eq!(done["toc_path"], json!([section]), "{done}");
        assert!(done["diff"].as_str().unwrap().contains(&format!("+{word}")), "{done}");
        assert!(done["change"].as_i64().unwrap() > 0);
        let after = file(&home, "кофе.md");
        assert!(after.contains(&format!("## {section}\n\n{word}\n")), "{after}");
        assert_eq!(before.lines().next(), after.lines().next());
        // The next search finds it, and the answer's handle reads it.
        let found = client.call("search", json!({ "query": word }));
        assert_eq!(found["structuredContent"]["results"][0]["path"], "кофе.md", "{word}: {found}");
        let again =
            read(&mut client, json!({ "match_id": done["match_id"], "format": "markdown" }));
        assert!(again["content"].as_str().unwrap().contains(word), "{again}");
        assert_eq!(again["etag"], done["etag"]);
        // The etag from before is stale now.
        let told = refusal(
            &mut client,
            "edit_page",
            json!({ "path": "кофе.md", "toc_path": [section], "op": "replace", "text": "x", "etag": etag }),
        );
        assert!(told.contains("Nothing was changed") && told.contains(word), "{told}");
        assert!(told.contains(done["etag"].as_str().unwrap()), "{told}");
        assert_eq!(file(&home, "кофе.md"), after);
    }
}

#[test]
fn every_op_touches_its_target_alone() {
    let (home, mut client) = home();
    let mut expected = NOTE.to_owned();
    let mut step = |arguments: Value, old: &str, new: &str| {
        let mut arguments = arguments;
        arguments["path"] = json!("кофе.md");
        edit(&mut client, arguments);
        expected = expected.replacen(old, new, 1);
        assert_eq!(file(&home, "кофе.md"), expected);
    };
    step(
        json!({ "op": "append", "toc_path": "Notes", "text": "- three" }),
        "- two\n",
        "- two\n- three\n",
    );
    step(
        json!({ "op": "prepend", "toc_path": "Помол", "text": "Сначала." }),
        "Крупный",
        "Сначала.\n\nКрупный",
    );
    step(
        json!({ "op": "before", "toc_path": ["抽出"], "text": "## Вода\n\nМягкая." }),
        "## 抽出",
        "## Вода\n\nМягкая.\n\n## 抽出",
    );
    step(
        json!({ "op": "after", "toc_path": ["Вода"], "text": "## Ложка" }),
        "Мягкая.\n",
        "Мягкая.\n\n## Ложка\n",
    );
    step(json!({ "op": "find", "find": "九十二度", "text": "九十度" }), "九十二度", "九十度");
    step(
        json!({ "op": "find", "find": "- ", "text": "* ", "count": 3, "toc_path": "Notes" }),
        "- one\n- two\n- three",
        "* one\n* two\n* three",
    );
    step(
        json!({ "op": "set", "fields": { "status": null, "tags": ["x", "日記"], "due": "2026-02-01" } }),
        "tags: [x]\nstatus: draft\n",
        "tags: [x, 日記]\ndue: 2026-02-01\n",
    );
    // An empty text removes what was found.
    step(json!({ "op": "find", "find": "Вступление.\n\n", "text": "" }), "Вступление.\n\n", "");
    let etag = read(&mut client, json!({ "path": "кофе.md" }))["etag"].clone();
    edit(
        &mut client,
        json!({ "path": "кофе.md", "op": "delete", "toc_path": "Ложка", "etag": etag }),
    );
    assert_eq!(file(&home, "кофе.md"), expected.replace("## Ложка\n\n", ""));
}

#[test]
fn a_dry_run_writes_nothing() {
    let (home, mut client) = home();
    let done = edit(
        &mut client,
        json!({ "path": "кофе.md", "op": "append", "text": "x", "dry_run": true }),
    );
    assert_eq!(done["dry_run"], true);
    assert!(
        done["diff"].as_str().unwrap().contains("+x") && done.get("change").is_none(),
        "{done}"
    );
    assert_eq!(file(&home, "кофе.md"), NOTE);
    let done =
        edit(&mut client, json!({ "path": "new/a", "op": "create", "text": "x", "dry_run": true }));
    assert!(done.get("change").is_none() && !home.vault().join("new").exists());
    // A change to what is there already is no change.
    let done = edit(
        &mut client,
        json!({ "path": "кофе.md", "op": "set", "fields": { "status": "draft" } }),
    );
    assert!(done.get("change").is_none(), "{done}");
}

#[test]
fn notes_are_created_once() {
    let (home, mut client) = home();
    let done = edit(
        &mut client,
        json!({ "path": "Входящие/新しい", "op": "create", "text": "# Новая\n\nслово уникум", "fields": { "tags": ["a"] } }),
    );
    assert_eq!(done["path"], "Входящие/新しい.md");
    assert_eq!(file(&home, "Входящие/新しい.md"), "---\ntags: [a]\n---\n# Новая\n\nслово уникум\n");
    let found = client.call("search", json!({ "query": "уникум" }));
    assert_eq!(found["structuredContent"]["results"][0]["pid"], done["pid"], "{found}");
    let told = refusal(
        &mut client,
        "edit_page",
        json!({ "path": "Входящие/新しい.md", "op": "create", "text": "x" }),
    );
    assert!(told.contains("exists already"), "{told}");
}

#[test]
fn today_is_where_obsidian_keeps_it() {
    let (home, mut client) = home();
    std::fs::create_dir(home.vault().join(".obsidian")).unwrap();
    put(
        &home.vault().join(".obsidian/daily-notes.json"),
        r#"{"folder":"Дневник","format":"YYYY/[day] DDDD","template":"Шаблон"}"#,
    );
    home.note("Шаблон.md", "# {{title}}\n\n## Log\n\n## 日記\n");
    let done = edit(
        &mut client,
        json!({ "path": "@today", "op": "append", "toc_path": "Log", "text": "- первое" }),
    );
    let path = done["path"].as_str().unwrap().to_owned();
    assert!(path.starts_with("Дневник/20") && path.contains("/day "), "{path}");
    assert_eq!(done["created"], true);
    edit(
        &mut client,
        json!({ "path": "@today", "op": "append", "toc_path": "Log", "text": "- 二番" }),
    );
    let text = file(&home, &path);
    assert!(text.contains("## Log\n\n- первое\n- 二番\n"), "{text}");
    assert!(text.starts_with("# day "), "{text}");
    let told = refusal(&mut client, "edit_page", json!({ "path": "@today", "op": "create" }));
    assert!(told.contains("exists already"), "{told}");
}

#[test]
fn a_change_elsewhere_is_merged_and_a_change_there_is_a_conflict() {
    let (home, mut client) = home();
    let note = read(&mut client, json!({ "path": "кофе.md", "toc_path": "Помол" }));
    // A person writes in another section, a while ago.
    let person = NOTE.replace("九十二度", "九十度");
    put(&home.vault().join("кофе.md"), &person);
    let told = refusal(
        &mut client,
        "edit_page",
        json!({ "path": "кофе.md", "toc_path": "Помол", "op": "replace", "text": "Мелкий.", "etag": note["etag"] }),
    );
    assert!(told.contains("may still be typing"), "{told}");
    age(&home, "кофе.md");
    let done = edit(
        &mut client,
        json!({ "path": "кофе.md", "toc_path": "Помол", "op": "replace", "text": "Мелкий.", "etag": note["etag"] }),
    );
    assert_eq!(done["merged"], true, "{done}");
    let merged = person.replace("Крупный помол.", "Мелкий.");
    assert_eq!(file(&home, "кофе.md"), merged);
    // The whole note, from the same old text: lines that do not touch are merged.
    put(&home.vault().join("кофе.md"), merged.replace("- two", "- 2"));
    age(&home, "кофе.md");
    let whole = merged.split_once("# Кофе").unwrap().1;
    let whole = format!("# Кофе{}", whole.replace("Вступление", "Введение"));
    let done = edit(
        &mut client,
        json!({ "path": "кофе.md", "op": "replace", "text": whole, "etag": done["etag"] }),
    );
    assert_eq!(done["merged"], true, "{done}");
    assert_eq!(
        file(&home, "кофе.md"),
        merged.replace("- two", "- 2").replace("Вступление", "Введение")
    );
    // The very section was changed: nothing happens.
    let before = file(&home, "кофе.md").replace("Мелкий.", "Очень мелкий.");
    put(&home.vault().join("кофе.md"), &before);
    age(&home, "кофе.md");
    let told = refusal(
        &mut client,
        "edit_page",
        json!({ "path": "кофе.md", "toc_path": "Помол", "op": "replace", "text": "Средний.", "etag": done["etag"] }),
    );
    assert!(told.contains("Очень мелкий."), "{told}");
    assert_eq!(file(&home, "кофе.md"), before);
}

/// Makes a file look saved long ago.
pub fn age(home: &Home, path: &str) {
    let file = std::fs::File::options().write(true).open(home.vault().join(path)).unwrap();
    let past = std::time::SystemTime::now() - std::time::Duration::from_secs(60);
    file.set_modified(past).unwrap();
}

#[test]
fn a_file_keeps_what_it_is() {
    let home = Home::new();
    let text = "\u{feff}# T\r\n\r\nтекст  \r\n\r\n## A\r\n\tx\nmixed";
    // As macOS writes the name.
    let name = "Й か\u{3099}.md".replace('Й', "И\u{306}");
    put(&home.vault().join(&name), text);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::Permissions::from_mode(0o640);
        std::fs::set_permissions(home.vault().join(&name), mode).unwrap();
    }
    let mut client = home.stdio();
    edit(&mut client, json!({ "path": "Й が.md", "op": "append", "text": "a\nb" }));
    let names: Vec<_> =
        std::fs::read_dir(home.vault()).unwrap().flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(names, [std::ffi::OsString::from(&name)], "no other file, and the name as it was");
    let after = file(&home, &name);
    assert!(after.starts_with(text) && !after.ends_with('\n'), "{after:?}");
    assert!(after.ends_with("mixed\r\n\r\na\r\nb"), "{after:?}");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(home.vault().join(&name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o640);
    }
}

#[test]
fn hidden_notes_are_written_by_their_full_name_only() {
    let home = Home::new();
    home.note("_drafts/Черновик.md", "# Черновик\n").note(".gitignore", "private/\n");
    home.note("private/secret.md", "# Secret\n").note("a.md", "x\n");
    let mut client = home.stdio();
    let told = refusal(
        &mut client,
        "edit_page",
        json!({ "path": "Черновик", "op": "append", "text": "x" }),
    );
    assert!(told.contains("full path"), "{told}");
    edit(&mut client, json!({ "path": "_drafts/Черновик.md", "op": "append", "text": "x" }));
    assert_eq!(file(&home, "_drafts/Черновик.md"), "# Черновик\n\nx\n");
    assert!(
        refusal(&mut client, "edit_page", json!({ "path": "secret", "op": "append", "text": "x" }))
            .contains("no note")
    );
    edit(&mut client, json!({ "path": "private/secret.md", "op": "append", "text": "тайна" }));
    assert_eq!(file(&home, "private/secret.md"), "# Secret\n\nтайна\n");
    let found = client.call("search", json!({ "query": "тайна" }));
    assert_eq!(found["structuredContent"]["totalMatches"], 0, "{found}");
}

#[test]
fn agents_stay_in_the_folders_of_the_config() {
    let home = Home::new();
    home.note("inbox/a.md", "a\n").note("b.md", "[[a]]\n");
    let config = home.dir.path().join("fence.toml");
    put(&config, "[write]\nfolders = [\"inbox/\"]\n");
    let mut command = home.command(&["mcp"]);
    command.arg("--config").arg(&config);
    let mut client = Client::start(command);
    edit(&mut client, json!({ "path": "inbox/a.md", "op": "append", "text": "x" }));
    for (tool, arguments) in [
        ("edit_page", json!({ "path": "b.md", "op": "append", "text": "x" })),
        ("edit_page", json!({ "path": "inboxes/c.md", "op": "create", "text": "x" })),
        ("move_page", json!({ "path": "inbox/a.md", "to": "a.md" })),
        ("move_page", json!({ "path": "inbox/a.md", "to": "inbox/c.md" })),
    ] {
        let told = refusal(&mut client, tool, arguments);
        assert!(told.contains("[write] folders"), "{told}");
    }
    assert_eq!(file(&home, "b.md"), "[[a]]\n");
    put(&config, "[write]\nenabled = false\n");
    let mut command = home.command(&["mcp"]);
    command.arg("--config").arg(&config);
    let mut client = Client::start(command);
    let told = refusal(
        &mut client,
        "edit_page",
        json!({ "path": "inbox/a.md", "op": "append", "text": "x" }),
    );
    assert!(told.contains("switched off"), "{told}");
}

#[test]
fn links_of_a_note_are_told_where_asked_for() {
    let home = Home::new();
    home.note("Главная.md", "[[Заметка]] [[Заметкa]] [[Заметка#Раздел]] [[Заметка#Разделы]] [x](нет.md) ![[p.png]] [[#Нет]]\n");
    home.note("Заметка.md", "# Заметка\n\n## Раздел\n");
    let mut client = home.stdio();
    let note = read(&mut client, json!({ "path": "Заметка.md", "include": ["links"] }));
    assert_eq!(note["links"]["backlinks"], json!(["Главная.md"]), "{note}");
    let note = read(&mut client, json!({ "path": "Главная.md", "include": ["links"] }));
    let broken = note["links"]["broken"].as_array().unwrap();
    let targets: Vec<&str> = broken.iter().map(|link| link["target"].as_str().unwrap()).collect();
    assert_eq!(targets, ["Заметкa", "Заметка#Разделы", "нет.md", "#Нет"], "{note}");
    assert_eq!(broken[0]["nearest"], "Заметка.md");
    assert_eq!(broken[1]["nearest"], "#Раздел");
    let (_, out, _) = home.run(&["doctor"]);
    assert!(out.contains("Заметкa") && out.contains("Заметка.md"), "{out}");
}

#[test]
fn names_of_other_tools_are_answered_with_ours() {
    let (home, mut client) = home();
    for (wrong, right) in
        [("content", "text"), ("heading", "toc_path"), ("old_text", "find"), ("new_path", "to")]
    {
        let tool = if right == "to" { "move_page" } else { "edit_page" };
        let mut arguments = json!({ "path": "кофе.md" });
        if tool == "edit_page" {
            arguments["op"] = json!("append");
        } else {
            arguments["to"] = json!("x.md");
        }
        arguments[wrong] = json!("x");
        let told = refusal(&mut client, tool, arguments);
        assert!(
            told.contains(&format!("unknown argument `{wrong}`; it is called `{right}` here")),
            "{told}"
        );
    }
    // Also where it stands for an argument that is required.
    for (tool, arguments, expected) in [
        (
            "edit_page",
            json!({ "operation": "append", "text": "x" }),
            "`operation`; it is called `op`",
        ),
        ("move_page", json!({ "destination": "x.md" }), "`destination`; it is called `to`"),
        ("move_page", json!({ "destination_path": "x" }), "`destination_path`; it is called `to`"),
        ("move_page", json!({ "nowhere": "x.md" }), "to is required"),
    ] {
        let mut arguments = arguments;
        arguments["path"] = json!("кофе.md");
        let told = refusal(&mut client, tool, arguments);
        assert!(told.contains(expected), "{told}");
    }
    assert_eq!(file(&home, "кофе.md"), NOTE);
}

#[test]
fn bad_input_changes_nothing_and_says_what_to_do() {
    let (home, mut client) = home();
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(home.dir.path(), home.vault().join("out")).unwrap();
        home.note("locked.md", "locked\n");
        let file = home.vault().join("locked.md");
        let mut permissions = std::fs::metadata(&file).unwrap().permissions();
        permissions.set_readonly(true);
        std::fs::set_permissions(&file, permissions).unwrap();
    }
    let long = "ж".repeat(300);
    let cases = [
        (json!({ "op": "explode" }), "is not one of"),
        (json!({ "op": "find", "find": "", "text": "x" }), "find is empty"),
        (json!({ "op": "find", "text": "x" }), "find is required"),
        (json!({ "op": "find", "find": "о", "text": "x" }), "times in the note"),
        (json!({ "op": "find", "find": "zzz", "text": "x" }), "does not occur"),
        (json!({ "op": "find", "find": "one" }), "text is required"),
        (json!({ "op": "append" }), "text is required"),
        (json!({ "op": "append", "text": " \n" }), "text is required"),
        (json!({ "op": "append", "text": "a\u{0}b" }), "NUL"),
        (json!({ "op": "append", "text": "x", "toc_path": "Нет такого" }), "`Помол`"),
        (
            json!({ "op": "append", "text": "```\nopen", "toc_path": "Помол" }),
            "close what it opens",
        ),
        (json!({ "op": "append", "text": "x", "fields": {} }), "fields is for op set and create"),
        (json!({ "op": "set" }), "fields is required"),
        (json!({ "op": "set", "fields": {} }), "fields is required"),
        (json!({ "op": "set", "fields": { "a": 1 }, "toc_path": "Помол" }), "whole note"),
        (json!({ "op": "delete", "etag": "x" }), "delete needs a section"),
        (json!({ "op": "before", "text": "x" }), "need a section"),
        (json!({ "op": "replace", "text": "x" }), "etag is required"),
        (json!({ "op": "append", "text": "x", "match_id": "p99999:c0" }), "another note"),
        (json!({ "op": "append", "text": "x", "match_id": "nonsense" }), "is not of the form"),
        (json!({ "op": "append", "text": "x", "path": "нет.md" }), "op create makes a new note"),
        (json!({ "op": "append", "text": "x", "path": "../x.md" }), "no note"),
        (json!({ "op": "create", "text": "x", "path": "../x.md" }), "`..`"),
        (json!({ "op": "create", "text": "x", "path": "/etc/x.md" }), "absolute"),
        (json!({ "op": "create", "text": "x", "path": "a\u{0}.md" }), "control character"),
        (json!({ "op": "create", "text": "x", "path": "CON.md" }), "reserved"),
        (json!({ "op": "create", "text": "x", "path": "a?.md" }), "cannot be a file's name"),
        (json!({ "op": "create", "text": "x", "path": long }), "too long"),
        (json!({ "op": "create", "text": "x", "path": ".obsidian/x.md" }), "another program"),
        (json!({ "op": "create", "text": "x" , "path": "out/x.md" }), "symbolic link"),
        (json!({ "op": "append", "text": "x", "path": "locked.md" }), "read-only"),
    ];
    for (mut arguments, expected) in cases {
        if arguments.get("path").is_none() {
            arguments["path"] = json!("кофе.md");
        }
        let told = refusal(&mut client, "edit_page", arguments.clone());
        let shown: String = arguments.to_string().chars().take(200).collect();
        assert!(told.contains(expected), "{shown}: {told}");
        assert!(!told.contains("internal error"), "{shown}: {told}");
    }
    assert_eq!(file(&home, "кофе.md"), NOTE);
    let mut names: Vec<String> = std::fs::read_dir(home.vault())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    assert_eq!(names, ["locked.md", "other.md", "out", "кофе.md"]);
    // A note that would be too large for the library.
    let config = home.dir.path().join("small.toml");
    put(&config, "[limits]\nnote_bytes = 1000\n");
    let mut command = home.command(&["mcp"]);
    command.arg("--config").arg(&config);
    let mut small = Client::start(command);
    let arguments = json!({ "path": "кофе.md", "op": "append", "text": "a".repeat(1000) });
    let told = refusal(&mut small, "edit_page", arguments);
    assert!(told.contains("limits.note_bytes") && file(&home, "кофе.md") == NOTE, "{told}");
    drop(small);
    // Nobody but the owner edits.
    let server = home.serve();
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": "edit_page", "arguments": { "path": "кофе.md", "op": "append", "text": "x" } } });
    assert_eq!(server.post(&call.to_string()).json()["error"]["code"], -32601);
    let reader = home.token("reader");
    assert_eq!(server.post_as(&reader, &call.to_string()).json()["error"]["code"], -32601);
}
