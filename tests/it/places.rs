//! Walking the library by folders with `expand`, as far as the caller sees it.

use serde_json::{Value, json};

use crate::support::Home;

fn library() -> Home {
    let home = Home::new();
    home.note("top.md", "---\nfree: true\n---\n# Top\n\nAt the top.\n")
        .note("garden/roses.md", "# Roses\n\nPrune them.\n")
        .note("garden/deep/soil.md", "---\nfree: true\n---\n# Soil\n\nDig.\n")
        .note("Сад/Розы.md", "# Розы\n\nОбрезать.\n")
        .note("庭/薔薇.md", "# 薔薇\n\n剪定する。\n")
        .note("garden.md", "# A note called garden\n\n## One\n\nText.\n");
    home.say(&["index", "--words"]);
    home
}

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap()
}

#[test]
fn folders_are_walked_one_level_at_a_time() {
    let mut client = library().stdio();
    let top = client.call("expand", json!({}));
    let place = &top["structuredContent"];
    assert_eq!(place["total_notes"], 6);
    let folders: Vec<(&str, u64)> = place["folders"]
        .as_array()
        .unwrap()
        .iter()
        .map(|folder| (folder["path"].as_str().unwrap(), folder["notes"].as_u64().unwrap()))
        .collect();
    assert_eq!(folders, [("garden/", 2), ("Сад/", 1), ("庭/", 1)]);
    assert!(place["folders"][0]["newest"]["title"].is_string());
    let notes: Vec<&str> = place["notes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|note| note["path"].as_str().unwrap())
        .collect();
    assert_eq!(notes, ["garden.md", "top.md"]);
    assert!(text(&top).contains("garden/ (2 notes, newest "), "{}", text(&top));
    assert!(text(&top).contains("Сад/ (1 note, newest Розы on 20"), "{}", text(&top));

    for (path, note) in
        [("garden/", "garden/roses.md"), ("Сад", "Сад/Розы.md"), ("庭/", "庭/薔薇.md")]
    {
        let folder = client.call("expand", json!({ "path": path }));
        assert_eq!(folder["structuredContent"]["notes"][0]["path"], note, "{path}");
        let pid = &folder["structuredContent"]["notes"][0]["pid"];
        let read = client.call("note_html", json!({ "pid": pid }));
        assert_eq!(read["structuredContent"]["path"], note);
    }
    let deep = client.call("expand", json!({ "path": "garden" }));
    assert_eq!(deep["structuredContent"]["title"], "A note called garden", "a note wins");
    let deep = client.call("expand", json!({ "path": "GARDEN/deep/" }));
    assert_eq!(deep["structuredContent"]["folder"], "garden/deep/");
    let error = client.refused("expand", json!({ "path": "nowhere/" }));
    assert!(error["message"].as_str().unwrap().contains("no note"), "{error}");
    let error = client.refused("expand", json!({ "toc_path": "One" }));
    assert!(error["message"].as_str().unwrap().contains("name the note"), "{error}");
}

#[test]
fn several_vaults_are_the_first_level() {
    let home = library();
    let other = home.dir.path().join("work");
    std::fs::create_dir(&other).unwrap();
    crate::support::put(&other.join("plan.md"), "# Plan\n\nWork.\n");
    let mut command = home.command(&["mcp"]);
    command.arg("--vault").arg(&other);
    let mut client = crate::support::Client::start(command);
    client.initialize();
    let top = client.call("expand", json!({}));
    let folders = top["structuredContent"]["folders"].as_array().unwrap();
    let names: Vec<&str> = folders.iter().map(|folder| folder["path"].as_str().unwrap()).collect();
    assert_eq!(names, ["vault/", "work/"], "{}", text(&top));
    let work = client.call("expand", json!({ "path": "work/" }));
    assert_eq!(work["structuredContent"]["notes"][0]["path"], "work/plan.md");
}

/// What a caller does not see is in no count, no folder and no date.
#[test]
fn a_private_page_counts_nowhere() {
    let home = library();
    let server = home.serve();
    let expand = |arguments: Value| {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": { "name": "expand", "arguments": arguments } });
        server.post(&body.to_string()).json()
    };
    let top = expand(json!({}))["result"].clone();
    assert_eq!(top["structuredContent"]["total_notes"], 2);
    assert_eq!(top["structuredContent"]["folders"].as_array().unwrap().len(), 1);
    assert_eq!(top["structuredContent"]["folders"][0]["notes"], 1);
    assert!(!top.to_string().contains("Roses") && !top.to_string().contains("Сад"), "{top}");
    let private = expand(json!({ "path": "Сад/" }))["error"]["message"].to_string();
    let absent = expand(json!({ "path": "Cад/" }))["error"]["message"].to_string();
    assert_eq!(private, absent.replace("Cад", "Сад"));
}
