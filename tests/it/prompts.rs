//! Prompts as their users meet them: hexai's workflow over every transport, hand edits, many
//! processes at once, and the shell.

use std::{
    io::{BufRead, BufReader, Read, Write},
    process::{Command, Stdio},
};

use serde_json::{Value, json};

use crate::support::{Client, Home, put, until};

const CREATE: &str = r#"{"jsonrpc":"2.0","id":3,"method":"prompts/create","params":{"name":"perf_analysis","title":"Performance Analysis","arguments":[{"name":"code","required":true}],"messages":[{"role":"user","content":{"type":"text","text":"Analyze performance: {{code}}"}}],"tags":["performance"]}}"#;
const GET: &str = r#"{"jsonrpc":"2.0","id":4,"method":"prompts/get","params":{"name":"perf_analysis","arguments":{"code":"for i := 0; i < n; i++ { ... }"}}}"#;
const UPDATE: &str = r#"{"jsonrpc":"2.0","id":5,"method":"prompts/update","params":{"name":"perf_analysis","description":"Enhanced performance analysis with profiling suggestions"}}"#;
const LIST: &str = r#"{"jsonrpc":"2.0","id":2,"method":"prompts/list"}"#;
const DELETE: &str =
    r#"{"jsonrpc":"2.0","id":6,"method":"prompts/delete","params":{"name":"perf_analysis"}}"#;
const GONE: &str = r#"{"jsonrpc":"2.0","id":7,"method":"prompts/update","params":{}}"#;
const REVIEW: &str = r#"{"jsonrpc":"2.0","id":8,"method":"prompts/get","params":{"name":"code_review","arguments":{"code":"function hello() { console.log('world'); }"}}}"#;

/// Sends hexai's workflow through `send` and compares the answers.
fn workflow(mut send: impl FnMut(&str) -> Value) {
    let created = send(CREATE);
    assert_eq!(
        created,
        json!({"jsonrpc": "2.0", "id": 3, "result": {"success": true, "message": "Created prompt: perf_analysis"}})
    );
    let got = send(GET);
    assert_eq!(
        got["result"]["messages"],
        json!([{"role": "user", "content": {"type": "text", "text": "Analyze performance: for i := 0; i < n; i++ { ... }"}}])
    );
    assert_eq!(send(UPDATE)["result"]["message"], "Updated prompt: perf_analysis");
    let listed = send(LIST);
    let found = listed["result"]["prompts"]
        .as_array()
        .unwrap()
        .iter()
        .find(|p| p["name"] == "perf_analysis");
    assert_eq!(
        found.unwrap(),
        &json!({"name": "perf_analysis", "title": "Performance Analysis",
            "description": "Enhanced performance analysis with profiling suggestions",
            "arguments": [{"name": "code", "required": true}]})
    );
    assert_eq!(send(DELETE)["result"]["message"], "Deleted prompt: perf_analysis");
    assert_eq!(
        send(DELETE)["error"],
        json!({"code": -32602, "message": "Prompt not found: perf_analysis"})
    );
    assert_eq!(send(GONE)["error"], json!({"code": -32602, "message": "Prompt name is required"}));
    let review = send(REVIEW);
    assert_eq!(
        review["result"],
        json!({"description": "Analyzes code quality, style, and suggests improvements", "messages": [{"role": "user",
            "content": {"type": "text", "text": "Please review the following code for quality, style, and potential issues:\n\nfunction hello() { console.log('world'); }"}}]})
    );
}

#[test]
fn hexais_workflow_line_by_line() {
    let home = Home::new();
    let mut client = home.stdio();
    client.initialize();
    workflow(|request| {
        client.write(format!("{request}\n").as_bytes());
        loop {
            let message = client.read();
            if message.get("id").is_some() {
                return message;
            }
        }
    });
}

#[test]
fn hexais_workflow_with_content_length() {
    let home = Home::new();
    let mut child = home
        .command(&["mcp"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    workflow(|request| {
        write!(stdin, "Content-Length: {}\r\n\r\n{request}", request.len()).unwrap();
        stdin.flush().unwrap();
        loop {
            let mut head = String::new();
            stdout.read_line(&mut head).unwrap();
            // News between two answers may come in either framing.
            if head.starts_with('{') {
                assert!(!head.contains("\"id\""), "not in the framing of its request: {head}");
                continue;
            }
            let length =
                head.strip_prefix("Content-Length: ").unwrap_or_else(|| panic!("{head:?}"));
            let mut blank = String::new();
            stdout.read_line(&mut blank).unwrap();
            assert_eq!(blank, "\r\n");
            let mut body = vec![0; length.trim().parse().unwrap()];
            stdout.read_exact(&mut body).unwrap();
            let message: Value = serde_json::from_slice(&body).unwrap();
            if message.get("id").is_some() {
                return message;
            }
        }
    });
    drop(stdin);
    assert!(child.wait().unwrap().success());
}

#[test]
fn hexais_workflow_over_http() {
    let home = Home::new();
    let token = home.token("owner");
    let server = home.serve();
    workflow(|request| server.post_as(&token, request).json());
    // Nobody else may change a prompt, or learn that one could.
    let refused = server.post(CREATE).json();
    assert_eq!(refused["error"]["code"], -32601, "{refused}");
}

/// The revision without a handshake: every request says for itself which protocol it speaks.
#[test]
fn hexais_workflow_without_a_handshake() {
    let home = Home::new();
    let mut client = home.stdio();
    workflow(|request| {
        let mut request: Value = serde_json::from_str(request).unwrap();
        if request.get("params").is_none() {
            request["params"] = json!({});
        }
        request["params"]["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        client.write(format!("{request}\n").as_bytes());
        loop {
            let mut message = client.read();
            if message.get("id").is_some() {
                // This era says of every result what it is; the rest is hexai's.
                if let Some(result) = message.get_mut("result").and_then(Value::as_object_mut) {
                    result.retain(|name, _| {
                        !["_meta", "resultType", "ttlMs", "cacheScope"].contains(&name.as_str())
                    });
                }
                return message;
            }
        }
    });
}

#[test]
fn a_change_is_told_once_and_takes_what_it_knows() {
    let home = Home::new();
    let mut client = home.stdio();
    client.initialize();
    let params = |text: &str| serde_json::from_str::<Value>(text).unwrap()["params"].clone();
    let unknown = client.ask("prompts/delete", json!({"name": "code_review", "force": true}));
    assert_eq!(unknown["error"]["code"], -32602, "{unknown}");
    client.ask("prompts/create", params(CREATE));
    // Longer than the look for changes of others.
    std::thread::sleep(std::time::Duration::from_millis(1_200));
    client.ask("ping", json!({}));
    let told = |client: &Client| {
        let news = client.notices.iter();
        news.filter(|n| n["method"] == "notifications/prompts/list_changed").count()
    };
    assert_eq!(told(&client), 1, "{:?}", client.notices);
    client.ask("prompts/delete", params(DELETE));
    std::thread::sleep(std::time::Duration::from_millis(1_200));
    client.ask("ping", json!({}));
    assert_eq!(told(&client), 2, "{:?}", client.notices);
}

#[test]
fn a_built_in_is_copied_by_an_update_with_a_new_name() {
    let home = Home::new();
    let mut client = home.stdio();
    client.initialize();
    let refused = client.refused("update_prompt", json!({"name": "code_review", "title": "x"}));
    assert!(refused["message"].as_str().unwrap().contains("newName"), "{refused}");
    let made = client.call(
        "update_prompt",
        json!({"name": "code_review", "newName": "моя_проверка", "title": "Моя проверка"}),
    );
    assert_eq!(made["content"][0]["text"], "Created prompt: моя_проверка (a copy of code_review)");
    let again = json!({"name": "code_review", "newName": "моя_проверка"});
    assert_eq!(
        client.refused("update_prompt", again)["message"],
        "Prompt already exists: моя_проверка"
    );
    let get = |client: &mut Client, name: &str| {
        client.ask("prompts/get", json!({"name": name, "arguments": {"code": "日本"}}))["result"]
            .clone()
    };
    let (copy, original) = (get(&mut client, "моя_проверка"), get(&mut client, "code_review"));
    assert_eq!(copy["messages"], original["messages"]);
    client.call("delete_prompt", json!({"name": "моя_проверка"}));
    assert_eq!(get(&mut client, "code_review"), original);
}

#[test]
fn the_tools_do_the_same() {
    let home = Home::new();
    let mut client = home.stdio();
    client.initialize();
    let draft = json!({"name": "обзор", "title": "Обзор", "description": "d", "tags": ["t"],
        "messages": [{"role": "user", "content": {"type": "text", "text": "日本 {{x|y}}"}}]});
    let made = client.call("create_prompt", draft.clone());
    assert_eq!(made["content"][0]["text"], "Created prompt: обзор");
    assert_eq!(
        made["structuredContent"],
        json!({"success": true, "message": "Created prompt: обзор"})
    );
    assert_eq!(client.refused("create_prompt", draft)["code"], -32602);
    client.call(
        "update_prompt",
        json!({"name": "обзор", "description": "", "tags": null, "newName": "review_ja"}),
    );
    let show = home.say(&["prompt", "show", "review_ja", "--json"]);
    let show: Value = serde_json::from_str(&show).unwrap();
    assert_eq!((&show["description"], &show["tags"]), (&json!(""), &json!(["t"])));
    let built_in = client.refused("delete_prompt", json!({"name": "code_review"}));
    assert!(built_in["message"].as_str().unwrap().contains("built-in"), "{built_in}");
    client.call("delete_prompt", json!({"name": "review_ja"}));
    assert_eq!(client.refused("delete_prompt", json!({"name": "review_ja"}))["code"], -32602);
}

#[test]
fn an_edit_by_hand_is_told_and_a_broken_line_is_kept() {
    if crate::support::only_sqlite("user.jsonl exists only there") {
        return;
    }
    let home = Home::new();
    let mut client = home.stdio();
    client.initialize();
    client.ask("prompts/create", serde_json::from_str::<Value>(CREATE).unwrap()["params"].clone());
    let file = home.data().join("prompts/user.jsonl");
    let line = std::fs::read_to_string(&file).unwrap();
    let edited = format!("{line}{{oops\n{}", line.replace("perf_analysis", "by_hand"));
    client.notices.clear();
    // Let the news of our own change pass.
    std::thread::sleep(std::time::Duration::from_millis(900));
    client.ask("ping", json!({}));
    client.notices.clear();
    put(&file, &edited);
    until("the notice of a hand edit", || {
        client.ask("ping", json!({}));
        client.notices.iter().any(|n| n["method"] == "notifications/prompts/list_changed")
    });
    let got = client.ask("prompts/get", json!({"name": "by_hand", "arguments": {"code": "x"}}));
    assert!(got["result"].is_object(), "{got}");
    client.ask("prompts/delete", json!({"name": "perf_analysis"}));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), edited.replacen(&line, "", 1));
    let (ok, found, _) = home.run(&["doctor"]);
    assert!(!ok && found.contains("user.jsonl") && found.contains("not JSON"), "{found}");
}

#[test]
fn values_used_before_are_offered_again() {
    let home = Home::new();
    let mut client = home.stdio();
    client.initialize();
    for language in ["Русский", "日本語", "Deutsch"] {
        client.ask(
            "prompts/get",
            json!({"name": "translate", "arguments": {"text": "x", "language": language}}),
        );
    }
    let complete = |client: &mut Client, typed: &str| {
        let answer = client.ask(
            "completion/complete",
            json!({"ref": {"type": "ref/prompt", "name": "translate"},
            "argument": {"name": "language", "value": typed}}),
        );
        answer["result"]["completion"]["values"].clone()
    };
    assert_eq!(complete(&mut client, ""), json!(["Deutsch", "日本語", "Русский"]));
    assert_eq!(complete(&mut client, "ру"), json!(["Русский"]));
    // Another process knows them too.
    let mut other = home.stdio();
    other.initialize();
    assert_eq!(complete(&mut other, "日"), json!(["日本語"]));
}

#[test]
fn a_section_of_the_vault_is_embedded_when_the_prompt_is_used() {
    let home = Home::new();
    home.note("style.md", "# Style\n\n## Правила\n\nБез {{жаргона}}.\n\n## Other\n\nno\n");
    let mut client = home.stdio();
    client.initialize();
    client.call("create_prompt", json!({"name": "styled", "title": "S",
        "messages": [{"role": "user", "content": {"type": "text", "text": "{{note:style.md#Правила}}"}}]}));
    until("the vault is read", || {
        client.ask("prompts/get", json!({"name": "styled"}))["result"].is_object()
    });
    let text = client.ask("prompts/get", json!({"name": "styled"}))["result"]["messages"][0]["content"]["text"].clone();
    let text = text.as_str().unwrap();
    assert!(text.contains("Без {{жаргона}}.") && !text.contains("no"), "{text}");
}

#[test]
fn eight_servers_at_once_lose_nothing() {
    let home = Home::new();
    home.say(&["prompt", "list"]);
    let writers: Vec<_> = (0..8)
        .map(|writer| {
            let mut client = home.stdio();
            std::thread::spawn(move || {
                client.initialize();
                for number in 0..50 {
                    let name = format!("w{writer}_{number}");
                    let draft = json!({ "name": name, "title": "T",
                        "messages": [{"role": "user", "content": {"type": "text", "text": "x"}}] });
                    // On a slow disk a writer may wait too long for its turn, and is asked to
                    // try again.
                    let answer = (0..20)
                        .map(|_| client.ask("prompts/create", draft.clone()))
                        .find(|answer| {
                            !answer["error"]["message"].to_string().contains("try again")
                        })
                        .expect("a turn");
                    assert_eq!(answer["result"]["success"], true, "{answer}");
                }
            })
        })
        .collect();
    writers.into_iter().for_each(|writer| writer.join().unwrap());
    let listed = home.say(&["prompt", "list"]);
    assert_eq!(
        listed.lines().filter(|line| line.starts_with('w') && line.contains("\tuser\t")).count(),
        400
    );
    assert_eq!(home.say(&["prompt", "backups"]).lines().count(), 10);
}

#[test]
fn the_shell_imports_renders_edits_restores_and_syncs() {
    let home = Home::new();
    let csv = home.dir.path().join("library.csv");
    put(&csv, "act,prompt\nLinux Terminal,Be a {{shell}}.\nПереводчик,Переведи.\n");
    let csv = csv.to_str().unwrap();
    assert_eq!(
        home.say(&["import", "prompts", csv]).trim(),
        "2 added, 0 updated, 0 already there, 0 skipped"
    );
    assert_eq!(
        home.say(&["import", "prompts", csv]).trim(),
        "0 added, 0 updated, 2 already there, 0 skipped"
    );
    assert_eq!(home.say(&["prompt", "render", "linux_terminal", "shell=zsh"]).trim(), "Be a zsh.");
    let (ok, _, err) = home.run(&["prompt", "render", "linux_terminal"]);
    assert!(!ok && err.contains("Missing required argument: shell"), "{err}");

    let edit = |script: &str, arguments: &[&str]| {
        let file = home.dir.path().join("editor.sh");
        put(&file, format!("#!/bin/sh\n{script}\n"));
        let mut command: Command = home.command(arguments);
        let output = command
            .env("EDITOR", format!("sh {}", file.display()))
            .env_remove("VISUAL")
            .output()
            .unwrap();
        (
            output.status.success(),
            String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap(),
        )
    };
    let (ok, said) = edit(
        r#"sed -i 's/Переведи\./Переведи: {{text|日本}}/' "$1""#,
        &["prompt", "edit", "переводчик"],
    );
    assert!(ok && said.contains("Updated prompt: переводчик"), "{said}");
    assert_eq!(home.say(&["prompt", "render", "переводчик"]).trim(), "Переведи: 日本");
    // A mistake saves nothing and loses nothing.
    let (ok, said) = edit(r#"echo '{{undeclared}}' >> "$1""#, &["prompt", "edit", "переводчик"]);
    assert!(
        !ok && said.contains("`{{undeclared}}` is not declared")
            && said.contains("your text is in"),
        "{said}"
    );
    assert_eq!(home.say(&["prompt", "render", "переводчик"]).trim(), "Переведи: 日本");
    let (ok, said) = edit("true", &["prompt", "edit", "code_review"]);
    assert!(!ok && said.contains("--as"), "{said}");
    let (ok, said) = edit("true", &["prompt", "edit", "code_review", "--as", "my_review"]);
    assert!(ok && said.contains("Created prompt: my_review"), "{said}");

    let backups = home.say(&["prompt", "backups"]);
    let newest = backups.split('\t').next().unwrap();
    let restored = home.say(&["prompt", "restore", newest]);
    assert!(!home.say(&["prompt", "list"]).contains("my_review"));
    let undo = restored.split_whitespace().last().unwrap();
    home.say(&["prompt", "restore", undo]);
    assert!(home.say(&["prompt", "list"]).contains("my_review"));

    let folder = home.dir.path().join("commands");
    let folder = folder.to_str().unwrap();
    home.say(&["prompt", "sync", folder, "linux_terminal"]);
    assert_eq!(std::fs::read_dir(folder).unwrap().count(), 1);
    let command = std::fs::read_to_string(format!("{folder}/linux_terminal.md")).unwrap();
    assert!(command.contains("Be a $ARGUMENTS."), "{command}");
    let out = home.dir.path().join("out.jsonl");
    home.say(&["export", "prompts", out.to_str().unwrap()]);
    assert_eq!(std::fs::read_to_string(&out).unwrap().lines().count(), 3);
    let found =
        home.say(&["call", "search", r#"{"query":"terminal","filters":{"kind":"prompt"}}"#]);
    assert!(found.contains("Linux Terminal"), "{found}");
}
