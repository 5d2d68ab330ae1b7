//! Navigation, step by step: search, a focused window, a section, the outline; and wrong pointers
//! that fail loudly.

use serde_json::{Value, json};

use crate::support::{Client, Home};

/// A long note in the shape of the field report's: more than 38,000 characters.
fn long_note() -> String {
    let mut text = String::from(
        "---\ntitle: 18 - Инструкция для внешнего агента\nfree: true\n---\n\n# 18 - Инструкция для внешнего агента\n\nВступление к инструкции.\n",
    );
    for part in 1..=12 {
        text += &format!("\n## Часть {part}\n\n");
        for section in 1..=4 {
            text += &format!("### Шаг {part}.{section}\n\n");
            for paragraph in 1..=3 {
                text += &format!(
                    "Абзац {paragraph} шага {part}.{section}: агент открывает хранилище, читает список заметок и записывает в журнал, что именно он сделал, чтобы следующий агент мог продолжить работу с того же места. The log is kept in English as well, for the tools that read it later.\n\n"
                );
            }
        }
        if part == 7 {
            text += "### MCP properties для `AGENTS.md`, `SCHEMA.md` и дополнительных инструкций\n\n`SCHEMA.md` действительно хороший кандидат на отдельный `mcp_method`, потому что агенты запрашивают схему часто.\n\n#### Подробности\n\nСхема хранится рядом с заметками.\n\n";
        }
    }
    text
}

const PATH: &str =
    "Исследование trip2g/18 - Инструкция для внешнего агента - первый бесплатный инстанс.md";
const SECTION: &str = "MCP properties для `AGENTS.md`, `SCHEMA.md` и дополнительных инструкций";
const SENTENCE: &str = "действительно хороший кандидат на отдельный";

fn library() -> (Home, Client) {
    let home = Home::new();
    home.note(PATH, &long_note())
        .note("other.md", "# Other\n\nNothing to see.\n")
        .note("日本語.md", "# 日本語のノート\n\n## 手順\n\n土曜日に京都へ行きました。\n");
    home.say(&["index", "--words"]);
    let mut client = home.stdio();
    client.initialize();
    (home, client)
}

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap()
}

#[test]
fn search_then_window_then_section() {
    let (_home, mut client) = library();
    let tools = client.ask("tools/list", json!({}));
    let tools = tools["result"]["tools"].as_array().unwrap();
    let note_html = tools.iter().find(|tool| tool["name"] == "note_html").unwrap();
    for argument in ["pid", "note_id", "path", "href", "match_id", "toc_path", "context_words"] {
        assert!(note_html["inputSchema"]["properties"][argument].is_object(), "{argument}");
    }

    // 1. search gives match_id and toc_path, in the text and in the structure.
    let found = client.call("search", json!({ "query": "кандидат на mcp_method schema" }));
    let best = &found["structuredContent"]["results"][0];
    assert_eq!(best["path"], PATH);
    let hit = &best["matches"][0];
    let match_id = hit["match_id"].as_str().unwrap();
    let toc_path = hit["toc_path"].as_array().unwrap();
    assert!(text(&found).contains(&format!("match_id: {match_id}")), "{}", text(&found));
    assert_eq!(
        toc_path.last().unwrap().as_str().unwrap().replace('`', ""),
        SECTION.replace('`', "")
    );
    assert!(best["toc"].as_array().unwrap().contains(&json!("Часть 7")));
    let pid = best["pid"].as_i64().unwrap();

    // 2. The whole note.
    let whole = client.call("note_html", json!({ "path": PATH }));
    let length = text(&whole).chars().count();
    assert!(length > 38_000, "{length}");

    // 3. The window: by path and by pid, small, with the sentence.
    for reference in [json!({ "path": PATH }), json!({ "pid": pid }), json!({ "note_id": pid })] {
        let mut arguments = reference.clone();
        arguments["match_id"] = json!(match_id);
        arguments["context_words"] = json!(60);
        let window = client.call("note_html", arguments);
        let window = text(&window);
        assert!(window.contains(SENTENCE), "{window}");
        assert!(window.contains('…'), "{window}");
        assert!(window.chars().count() * 25 <= length, "{} of {length}", window.chars().count());
    }

    // 4. The section: exactly that, with its subsection. As typed, as plain text, and from the top.
    for path in [json!([SECTION]), json!([SECTION.replace('`', "")]), json!(toc_path)] {
        let section = client.call(
            "note_html",
            json!({ "pid": pid, "toc_path": path, "match_id": "p999:c9", "format": "markdown" }),
        );
        let section = text(&section);
        assert!(section.starts_with("### MCP properties"), "{section}");
        assert!(section.contains(SENTENCE) && section.contains("Схема хранится рядом"));
        assert!(!section.contains("Часть 8") && !section.contains("Шаг 7.4"), "{section}");
    }

    // 5. The outline, a few hundred characters a step.
    let outline = client.call("expand", json!({ "pid": pid }));
    assert_eq!(outline["structuredContent"]["children"].as_array().unwrap().len(), 12);
    let deeper = client.call("expand", json!({ "pid": pid, "toc_path": ["Часть 7"] }));
    let children = deeper["structuredContent"]["children"].as_array().unwrap();
    assert_eq!(children.len(), 5);
    assert_eq!(children[4]["has_children"], true);
    assert!(text(&deeper).len() < 2000);
}

#[test]
fn a_stale_pid_does_not_eclipse_a_path() {
    let (_home, mut client) = library();
    let note = client.call("note_html", json!({ "pid": 99_999, "path": "other.md" }));
    assert!(text(&note).contains("Nothing to see"));
    let note = client.call("note_html", json!({ "href": "http://127.0.0.1:7717/other.md" }));
    assert!(text(&note).contains("Nothing to see"));
    let note = client.call(
        "note_html",
        json!({ "href": "https://elsewhere.example/%E6%97%A5%E6%9C%AC%E8%AA%9E" }),
    );
    assert!(text(&note).contains("京都"));
}

#[test]
fn wrong_pointers_fail_loudly() {
    let (_home, mut client) = library();
    let other = client.call("search", json!({ "query": "Nothing to see" }));
    let foreign = other["structuredContent"]["results"][0]["matches"][0]["match_id"].clone();
    for (arguments, expected) in [
        (json!({ "path": PATH, "toc_path": ["Нет такой"] }), "Часть 1"),
        (json!({ "path": PATH, "toc_path": ["Часть 1", "Шаг 2.1"] }), "Часть 1"),
        (json!({ "path": PATH, "match_id": foreign }), "another note"),
        (json!({ "path": PATH, "match_id": "p1:c99999" }), "p1:c99999"),
        (json!({ "path": PATH, "match_id": "c5" }), "p29:c32"),
        (json!({ "path": "../../etc/passwd" }), "no note"),
        (json!({ "path": "нет.md" }), "no note"),
        (json!({}), "pid, note_id, path or href"),
        (json!({ "path": PATH, "context_words": 1_000_000 }), "context_words"),
    ] {
        let error = client.refused("note_html", arguments.clone());
        assert_eq!(error["code"], -32602, "{arguments}");
        assert!(error["message"].as_str().unwrap().contains(expected), "{arguments}: {error}");
    }
}

#[test]
fn html_is_safe_and_links_lead_somewhere() {
    let home = Home::new();
    home.note(
        "a.md",
        "# A\n\nText <script>alert(1)</script> <img src=x onerror=alert(1)> [x](javascript:alert(1)) [[b|to b]] [[c]]\n\n<div onclick=\"alert(1)\">raw</div>\n\n![[b#Part]]\n",
    )
    .note("b.md", "# B\n\n## Part\n\nEmbedded words. ![[a]]\n");
    home.say(&["doctor"]);
    let mut client = home.stdio();
    let html = client.call("note_html", json!({ "path": "a.md" }));
    let html = text(&html);
    for bad in ["<script", "onerror", "javascript:", "onclick"] {
        assert!(!html.contains(bad), "{html}");
    }
    assert!(html.contains("href=\"b.md\"") && html.contains(">to b</a>"), "{html}");
    assert!(html.contains("Embedded words."), "{html}");
}

#[test]
fn max_tokens_bounds_the_answer_and_says_so() {
    let (_home, mut client) = library();
    let bpe = tiktoken_rs::o200k_base().unwrap();
    for format in ["html", "markdown"] {
        let note =
            client.call("note_html", json!({ "path": PATH, "max_tokens": 500, "format": format }));
        assert!(text(&note).contains("left out to keep within max_tokens 500"));
        let cost = bpe.encode_with_special_tokens(text(&note)).len();
        assert!(cost <= 700, "{format}: {cost}");
    }
    let found =
        client.call("search", json!({ "query": "агент журнал", "max_tokens": 60, "limit": 10 }));
    assert_eq!(found["structuredContent"]["results"].as_array().unwrap().len(), 1);
}

#[test]
fn a_pid_survives_edits_renames_and_moves() {
    let (home, mut client) = library();
    let pid = |client: &mut Client, path: &str| {
        let answer =
            client.ask("tools/call", json!({ "name": "note_html", "arguments": { "path": path } }));
        answer["result"]["structuredContent"]["pid"].as_i64()
    };
    let before = pid(&mut client, "other.md").unwrap();
    home.note("other.md", "# Other\n\nEdited text that is new.\n");
    crate::support::until("the edit is seen", || {
        let found = client.call("search", json!({ "query": "\"edited text\"" }));
        found["structuredContent"]["totalMatches"] == 1
    });
    assert_eq!(pid(&mut client, "other.md"), Some(before));
    std::fs::create_dir(home.vault().join("deep")).unwrap();
    std::fs::rename(home.vault().join("other.md"), home.vault().join("deep/renamed.md")).unwrap();
    crate::support::until("the move is seen", || pid(&mut client, "deep/renamed.md").is_some());
    assert_eq!(pid(&mut client, "deep/renamed.md"), Some(before));
    // Gone for good: a new note never gets the number.
    std::fs::remove_file(home.vault().join("deep/renamed.md")).unwrap();
    home.note("fresh.md", "# Fresh\n\nNew.\n");
    crate::support::until("the new note is seen", || pid(&mut client, "fresh.md").is_some());
    assert_ne!(pid(&mut client, "fresh.md"), Some(before));
}

#[test]
fn resources_are_the_pages_and_their_sections() {
    let (_home, mut client) = library();
    let list = client.ask("resources/list", json!({}));
    let resources = list["result"]["resources"].as_array().unwrap().clone();
    assert_eq!(resources.len(), 3);
    let ja = resources.iter().find(|resource| resource["name"] == "日本語.md").unwrap();
    let uri = ja["uri"].as_str().unwrap();
    let read = client.ask("resources/read", json!({ "uri": uri }));
    assert!(read["result"]["contents"][0]["text"].as_str().unwrap().contains("京都"));
    let section = format!("{uri}/%E6%89%8B%E9%A0%86");
    let read = client.ask("resources/read", json!({ "uri": section }));
    assert!(read["result"]["contents"][0]["text"].as_str().unwrap().starts_with("## 手順"));
    let templates = client.ask("resources/templates/list", json!({}));
    assert!(!templates["result"]["resourceTemplates"].as_array().unwrap().is_empty());
    let missing = client.ask("resources/read", json!({ "uri": "notewell://item/9999" }));
    assert_eq!(missing["error"]["data"]["uri"], "notewell://item/9999");
}
