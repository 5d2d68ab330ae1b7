//! What a client may leave out, send empty or not see of prompts; and prompts made at the shell.

use std::process::Stdio;

use serde_json::{Value, json};

use crate::support::{Home, put};

fn text(text: &str) -> Value {
    json!([{"role": "user", "content": {"type": "text", "text": text}}])
}

#[test]
fn null_changes_nothing_and_empty_clears() {
    let home = Home::new();
    let mut client = home.stdio();
    client.initialize();
    client.ask(
        "prompts/create",
        json!({"name": "обзор", "title": "Обзор", "description": "説明", "tags": ["t"], "messages": text("{{код}}")}),
    );
    let shown = || -> Value {
        serde_json::from_str(&home.say(&["prompt", "show", "обзор", "--json"])).unwrap()
    };
    let before = shown();
    assert_eq!(before["arguments"], json!([{"name": "код", "required": true}]));
    let nulls = json!({"name": "обзор", "newName": null, "title": "Новый", "description": null,
        "arguments": null, "messages": null, "tags": null});
    for (method, wrap) in [("prompts/update", false), ("tools/call", true)] {
        let params = match wrap {
            true => json!({"name": "update_prompt", "arguments": nulls}),
            false => nulls.clone(),
        };
        let answer = client.ask(method, params);
        assert!(answer["result"].is_object(), "{answer}");
        let after = shown();
        assert_eq!(after["title"], "Новый");
        for field in ["description", "arguments", "messages", "tags"] {
            assert_eq!(after[field], before[field], "{method} {field}");
        }
    }
    client.ask("prompts/update", json!({"name": "обзор", "description": "", "tags": []}));
    assert_eq!((&shown()["description"], &shown()["tags"]), (&json!(""), &json!([])));
}

#[test]
fn placeholders_declare_themselves_and_an_empty_optional_takes_its_default() {
    let home = Home::new();
    let mut client = home.stdio();
    client.initialize();
    let made = client.ask(
        "prompts/create",
        json!({"name": "перевод", "title": "T", "messages": text("{{текст}} → {{言語|日本語}}, {{tone|plain}}")}),
    );
    assert_eq!(made["result"]["success"], true, "{made}");
    let listed = client.ask("prompts/list", json!({}))["result"]["prompts"].clone();
    let found = listed.as_array().unwrap().iter().find(|p| p["name"] == "перевод").unwrap();
    assert_eq!(
        found["arguments"],
        json!([{"name": "текст", "required": true}, {"name": "言語", "required": false}, {"name": "tone", "required": false}])
    );
    let got = client.ask(
        "prompts/get",
        json!({"name": "перевод", "arguments": {"текст": "мир", "言語": "", "tone": ""}}),
    );
    assert_eq!(got["result"]["messages"], text("мир → 日本語, plain"));
}

#[test]
fn a_prompt_of_ones_own_takes_a_built_ins_place_for_its_owner_only() {
    let home = Home::new();
    let token = home.token("owner");
    let server = home.serve();
    let ask = |owner: bool, method: &str, params: Value| {
        let body =
            json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
        if owner { server.post_as(&token, &body).json() } else { server.post(&body).json() }
    };
    let get = json!({"name": "code_review", "arguments": {"code": "x"}});
    let built_in = ask(false, "prompts/get", get.clone());
    let all = ask(false, "prompts/list", json!({}));
    let mine = json!({"name": "code_review", "title": "Mine", "messages": text("Мой {{code}}")});
    assert_eq!(ask(true, "prompts/create", mine)["result"]["success"], true);
    assert_eq!(ask(true, "prompts/get", get.clone())["result"]["messages"], text("Мой x"));
    // Nobody else learns of it.
    assert_eq!(ask(false, "prompts/get", get.clone()), built_in);
    assert_eq!(ask(false, "prompts/list", json!({})), all);
    // A private prompt and none at all answer alike.
    ask(true, "prompts/create", json!({"name": "secret", "title": "S", "messages": text("x")}));
    let private = ask(false, "prompts/get", json!({"name": "secret"})).to_string();
    let absent = ask(false, "prompts/get", json!({"name": "absent"})).to_string();
    assert_eq!(private.replace("secret", "absent"), absent);
    // Deleted, the built-in is back, and is not found among the person's own.
    ask(true, "prompts/delete", json!({"name": "code_review"}));
    assert_eq!(ask(true, "prompts/get", get), built_in);
    let search =
        json!({"name": "search", "arguments": {"query": "", "filters": {"kind": "prompt"}}});
    let found = ask(true, "tools/call", search)["result"]["structuredContent"].clone();
    assert_eq!(found["totalMatches"], 1, "{found}");
}

#[test]
fn only_who_may_change_prompts_is_told_that_they_change() {
    let home = Home::new();
    let token = home.token("owner");
    let server = home.serve();
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18",
        "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}})
    .to_string();
    let stream = ("Accept", "application/json, text/event-stream");
    let bearer = format!("Bearer {token}");
    for (caller, expected) in [(None, false), (Some(("Authorization", bearer.as_str())), true)] {
        for accept in [None, Some(stream)] {
            let headers: Vec<(&str, &str)> = caller.into_iter().chain(accept).collect();
            let answer = server.send("POST", "/_system/mcp", &headers, body.as_bytes()).body;
            assert!(answer.contains("protocolVersion"), "{answer}");
            assert_eq!(answer.contains("mutable"), expected, "{headers:?}: {answer}");
        }
    }
    // The toolset is off for this connection.
    let narrow = "/_system/mcp?toolsets=vault";
    let answer = server.send("POST", narrow, &[("Authorization", &bearer)], body.as_bytes()).body;
    assert!(!answer.contains("mutable"), "{answer}");
}

#[test]
fn the_shell_makes_deletes_and_syncs_what_was_asked_for() {
    let home = Home::new();
    home.say(&["prompt", "new", "приветствие", "--text", "Привет, {{имя}}!", "--tag", "ru"]);
    let rendered = home.say(&["prompt", "render", "приветствие", "имя=Мира"]);
    assert_eq!(rendered.trim(), "Привет, Мира!");
    let file = home.dir.path().join("p.txt");
    put(&file, "要約: {{本文}}\n");
    home.say(&["prompt", "new", "要約", "--file", file.to_str().unwrap(), "--title", "要約する"]);
    let mut child = home
        .command(&["prompt", "new", "piped", "--description", "d"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), b"From a pipe\n").unwrap();
    assert!(child.wait().unwrap().success());
    assert_eq!(home.say(&["prompt", "render", "piped"]).trim(), "From a pipe");
    let (ok, _, err) = home.run(&["prompt", "new", "nothing"]);
    assert!(!ok && err.contains("has no text"), "{err}");
    let (ok, _, err) = home.run(&["prompt", "new", "piped", "--text", "again"]);
    assert!(!ok && err.contains("already exists"), "{err}");

    let folder = home.dir.path().join("commands");
    let to = folder.to_str().unwrap();
    let (ok, _, err) = home.run(&["prompt", "sync", to]);
    assert!(!ok && err.contains("--all") && err.contains("--tag") && !folder.exists(), "{err}");
    home.say(&["prompt", "sync", to, "要約", "--tag", "ru"]);
    let mut files: Vec<String> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    files.sort();
    assert_eq!(files, ["приветствие.md", "要約.md"]);

    let (ok, out, err) = home.run(&["prompt", "delete", "приветствие", "piped"]);
    assert!(ok && out.contains("Deleted prompt: приветствие"), "{err}");
    let undo = err.lines().last().unwrap().rsplit(' ').next().unwrap().to_owned();
    let list = home.say(&["prompt", "list"]);
    assert!(!list.contains("приветствие") && !list.contains("piped"), "{list}");
    home.say(&["prompt", "sync", to]);
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
    home.say(&["prompt", "restore", &undo]);
    assert!(home.say(&["prompt", "list"]).contains("piped"));
    let (ok, _, err) = home.run(&["prompt", "delete", "code_review"]);
    assert!(!ok && err.contains("built-in"), "{err}");
}
