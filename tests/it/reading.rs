//! Reading notes: references that disagree, pages that embed too much, the first seconds of a
//! server, and a library that has nothing yet.

use std::{
    fs,
    process::Stdio,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::support::{Client, Home, notewell, put, store_url, until};

/// The program on a data directory alone, without a vault.
fn bare(home: &Home, arguments: &[&str]) -> (bool, String) {
    let mut command = notewell();
    command.envs(store_url(&home.data()).map(|url| ("NOTEWELL_STORE_URL", url)));
    command.args(arguments).arg("--data").arg(home.data());
    command.env("XDG_CONFIG_HOME", home.dir.path().join("config")).env("HOME", home.dir.path());
    let output = command.stdin(Stdio::null()).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.success(), text(output.stdout) + &text(output.stderr))
}

#[test]
fn an_empty_library_says_what_to_do() {
    let home = Home::new();
    let expected = "notewell vault add DIR";
    for arguments in [
        &["search", "coffee"][..],
        &["search", "кофе"],
        &["search", "珈琲"],
        &["ask", "what is coffee?"],
        &["similar", "coffee"],
        &["read", "coffee.md"],
        &["read", "17"],
        &["status"],
        &["doctor"],
        &["index"],
        &["vault", "list"],
        &["call", "search", r#"{"query": "coffee"}"#],
        &["call", "similar", r#"{"pid": 7}"#],
        &["call", "expand", r#"{"path": "a.md"}"#],
        &["call", "note_html", r#"{"match_id": "p9:c1"}"#],
    ] {
        let (_, said) = bare(&home, arguments);
        assert!(said.contains(expected), "{arguments:?}: {said}");
        assert!(!said.contains("not found anywhere"), "{arguments:?}: {said}");
    }
    let mut command = notewell();
    command.envs(store_url(&home.data()).map(|url| ("NOTEWELL_STORE_URL", url)));
    command.arg("mcp").arg("--data").arg(home.data());
    command.env("XDG_CONFIG_HOME", home.dir.path().join("config")).env("HOME", home.dir.path());
    let mut client = Client::start(command);
    client.initialize();
    for (tool, arguments) in
        [("search", json!({ "query": "coffee" })), ("ask", json!({ "question": "why coffee?" }))]
    {
        let answer = client.call(tool, arguments).to_string();
        assert!(answer.contains(expected), "{tool}: {answer}");
    }
    let error = client.refused("note_html", json!({ "path": "coffee.md" }));
    assert!(error["message"].as_str().unwrap().contains(expected), "{error}");
}

/// A vault large enough that its first look takes a while.
fn large() -> Home {
    let home = Home::new();
    for n in 0..3000 {
        home.note(&format!("n/{n}.md"), &format!("# Note {n}\n\n{}\n", "word ".repeat(50)));
    }
    home.note("z.md", "---\nmcp_method: my-method\n---\nThe method's own text.\n");
    home
}

#[test]
fn the_first_seconds_of_a_server_wait_or_say_so_and_then_notify() {
    for restart in [false, true] {
        let home = large();
        if restart {
            home.say(&["index"]);
        }
        let mut client = home.stdio();
        client.initialize();
        let has_method = |answer: &Value| answer.to_string().contains("my-method");
        let mut listed = has_method(&client.ask("tools/list", json!({ "cursor": null })));
        let mut cursor = Value::Null;
        while !listed {
            let params = if cursor.is_null() { json!({}) } else { json!({ "cursor": cursor }) };
            let answer = client.ask("tools/list", params);
            listed = has_method(&answer);
            cursor = answer["result"]["nextCursor"].clone();
            if cursor.is_null() {
                break;
            }
        }
        if !listed {
            // It was too early: then a notice follows.
            until("a notice", || {
                client.ask("ping", json!({}));
                client
                    .notices
                    .iter()
                    .any(|notice| notice["method"] == "notifications/tools/list_changed")
            });
        }
        let answer = client.ask("tools/call", json!({ "name": "my-method", "arguments": {} }));
        let text = answer.to_string();
        assert!(
            text.contains("The method's own text.") || text.contains("still being read"),
            "{text}"
        );
        let answer = client
            .ask("tools/call", json!({ "name": "note_html", "arguments": { "path": "z.md" } }));
        let text = answer.to_string();
        assert!(
            text.contains("The method's own text.") || text.contains("still being read"),
            "{text}"
        );
        let answer = client.call("search", json!({ "query": "unheardof" }));
        let text = answer["content"][0]["text"].as_str().unwrap().to_owned();
        assert!(!text.contains("0 of 0"), "{text}");
    }
}

#[test]
fn references_that_disagree_are_told() {
    let home = Home::new();
    home.note("a.md", "# A\n\nfirst\n").note("b.md", "# B\n\nsecond\n");
    let mut client = home.stdio();
    client.initialize();
    let a = client.call("note_html", json!({ "path": "a.md" }))["structuredContent"]["pid"].clone();
    let both = client.call("note_html", json!({ "pid": a, "path": "b.md" }));
    assert_eq!(both["structuredContent"]["title"], "A");
    let remark = both["structuredContent"]["remark"].as_str().unwrap();
    assert!(remark.contains("was used") && remark.contains("another note"), "{remark}");
    assert!(both["content"][1]["text"].as_str().unwrap().ends_with(remark), "{both}");
    let stale = client.call("note_html", json!({ "pid": 999, "path": "b.md" }));
    assert_eq!(stale["structuredContent"]["title"], "B");
    assert!(stale["structuredContent"]["remark"].as_str().unwrap().contains("pid 999"));
    let agree = client.call("note_html", json!({ "pid": a, "path": "a.md" }));
    assert_eq!(agree["structuredContent"].get("remark"), None);
    for arguments in
        [json!({ "match_id": "p999:c1" }), json!({ "path": "a.md", "match_id": "p999:c1" })]
    {
        let error = client.refused("note_html", arguments)["message"].as_str().unwrap().to_owned();
        assert!(!error.contains("open pid 999"), "{error}");
        assert!(error.contains("search again"), "{error}");
    }
    let whole = client.call(
        "note_html",
        json!({ "path": "a.md", "match_id": "", "toc_path": "", "format": "markdown" }),
    );
    assert_eq!(whole["structuredContent"]["content"], "# A\n\nfirst\n");
    assert_eq!(whole["structuredContent"]["partial"], false);
}

#[test]
fn a_path_of_two_vaults_is_an_error_that_names_both() {
    let home = Home::new();
    home.note("same.md", "# Here\n\nzebra\n");
    let other = home.dir.path().join("other");
    fs::create_dir(&other).unwrap();
    put(&other.join("same.md"), "# There\n\nwalrus\n");
    put(&other.join("own.md"), "# Own\n\nokapi\n");
    home.say(&["vault", "add", other.to_str().unwrap()]);
    let mut client = home.stdio();
    client.initialize();
    for path in ["same.md", "same"] {
        let error = client.refused("note_html", json!({ "path": path }));
        let message = error["message"].as_str().unwrap();
        assert!(message.contains("`vault/same.md`"), "{message}");
        assert!(message.contains("`other/same.md`"), "{message}");
    }
    let title = |client: &mut Client, path: &str| {
        client.call("note_html", json!({ "path": path }))["structuredContent"]["title"].clone()
    };
    assert_eq!(title(&mut client, "other/same.md"), "There");
    assert_eq!(title(&mut client, "vault/same"), "Here");
    assert_eq!(title(&mut client, "own.md"), "Own");
}

#[test]
fn a_section_is_named_as_search_prints_it() {
    let home = Home::new();
    for (path, top, below, word) in [
        ("en.md", "Methods", "search", "kangaroo"),
        ("ru.md", "Методы", "поиск", "кенгуру"),
        ("ja.md", "方法", "検索", "カンガルー"),
    ] {
        home.note(
            path,
            &format!("# T\n\n## {top}\n\n### {below}\n\n{word} text\n\n## Other\n\nx\n"),
        );
    }
    let mut client = home.stdio();
    client.initialize();
    for (path, word) in [("en.md", "kangaroo"), ("ru.md", "кенгуру"), ("ja.md", "カンガルー")]
    {
        let found = client.call("search", json!({ "query": word }));
        let text = found["content"][0]["text"].as_str().unwrap();
        let section = text.split("section: ").nth(1).unwrap().lines().next().unwrap().to_owned();
        assert!(section.contains(" > "), "{text}");
        let parts: Vec<&str> = section.split(" > ").collect();
        for toc_path in [json!(section), json!([section]), json!(parts)] {
            let arguments = json!({ "path": path, "toc_path": toc_path, "format": "markdown" });
            let read = client.call("note_html", arguments);
            assert_eq!(read["structuredContent"]["toc_path"], json!(parts));
            let content = read["structuredContent"]["content"].as_str().unwrap();
            assert!(content.starts_with("###") && !content.contains("Other"), "{content}");
            client.call("expand", json!({ "path": path, "toc_path": toc_path }));
        }
    }
}

#[test]
fn a_page_that_embeds_too_much_is_bounded() {
    let home = Home::new();
    home.note("big.md", &format!("# Big\n\n{}", "A sentence of some words. ".repeat(40_000)));
    home.note("many.md", &format!("---\nfree: true\n---\n{}", "![[big]]\n\n".repeat(1000)));
    home.note(
        "method.md",
        &format!("---\nmcp_method: heavy\n---\n{}", "{{note:big.md}}\n".repeat(1000)),
    );
    home.note("title.md", "---\ntitle: \"{{body}}\"\nfree: true\n---\nOnce only.\n");
    let server = home.serve();
    let token = home.token("owner");
    let bearer = format!("Bearer {token}");
    let headers = [("Authorization", bearer.as_str())];
    let started = Instant::now();
    let mut page = server.get("/many.md", &headers);
    until("the page", || {
        page = server.get("/many.md", &headers);
        page.status == 200
    });
    assert!(page.body.len() < 5 << 20, "{}", page.body.len());
    assert!(page.body.contains("this note embeds too much"));
    let title = server.get("/title.md", &headers);
    assert_eq!(title.body.matches("<p>Once only.</p>").count(), 1, "{}", title.body);
    assert!(title.body.contains("<title>{{body}} · Notewell</title>"), "{}", title.body);
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": "heavy", "arguments": {} } });
    let answer = server.post_as(&token, &body.to_string()).body;
    assert!(answer.contains("more than"), "{}", &answer[..answer.len().min(300)]);
    assert!(started.elapsed() < Duration::from_secs(50), "{:?}", started.elapsed());
}

#[test]
fn a_hostile_outline_holds_nobody_up() {
    let home = Home::new();
    let mut client = home.stdio();
    client.initialize();
    let started = Instant::now();
    home.note("same.md", &"## Same\n\n".repeat(50_000));
    let tags: String = (0..20_000).map(|n| format!("#tag{n} ")).collect();
    home.note("tags.md", &tags);
    home.note("small.md", "# Small\n\nzebra\n");
    until("the small note", || {
        let found = client.call("search", json!({ "query": "zebra" }));
        found["structuredContent"]["results"].as_array().unwrap().len() == 1
    });
    until("the outline", || {
        let answer = client
            .ask("tools/call", json!({ "name": "expand", "arguments": { "path": "same.md" } }));
        answer["result"]["structuredContent"]["children"].as_array().is_some_and(|c| c.len() == 200)
    });
    assert!(started.elapsed() < Duration::from_secs(55), "{:?}", started.elapsed());
}
