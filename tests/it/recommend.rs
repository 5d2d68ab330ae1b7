//! Recommendations across languages, and topics and tools of a period, through the binary.

use serde_json::{Value, json};

use crate::support::{Home, put};

const SAVED: [(&str, &str, &str); 12] = [
    ("b.1", "restic makes fast, encrypted backups of a laptop to any cloud", "https://restic.net"),
    ("b.2", "Jellyfin на старом мини-ПК: вся домашняя коллекция фильмов", "https://jellyfin.org"),
    ("b.3", "Penpotはオープンソースのデザインツールで、自社サーバーに置ける", "https://penpot.app"),
    ("b.4", "DuckDB читает огромные файлы CSV прямо на ноутбуке", "https://duckdb.org"),
    ("b.5", "The Senate votes on the budget today", "https://a.example/1"),
    ("b.6", "Сосед опять сверлит стену с восьми утра", "https://a.example/2"),
    ("b.7", "カレーの玉ねぎは冷凍しておくと早く炒まる", "https://a.example/3"),
    ("b.8", "Borg keeps encrypted, deduplicated backups on another machine", "https://a.example/4"),
    ("b.9", "Kopia: encrypted backups with a window to click in", "https://a.example/5"),
    ("b.10", "Duplicati stores encrypted backups in the cloud", "https://a.example/6"),
    ("b.11", "rclone copies backups, encrypted, to forty kinds of cloud", "https://a.example/7"),
    ("b.12", "Encrypted backups off-site with a cron job and rsync", "https://a.example/8"),
];

/// An English text with what exports of Hacker News add.
fn exported(text: &str) -> String {
    let suffix = if text.contains("encrypted") { " 400 points, 89 comments" } else { "" };
    format!("{text}{suffix}")
}

fn library() -> Home {
    let home = Home::new();
    let lines = SAVED.map(|(id, text, url)| {
        json!({"id": id, "url": url, "text": exported(text),
               "created_at": "2025-01-10T00:00:00Z"})
        .to_string()
    });
    let file = home.dir.path().join("saved.jsonl");
    put(&file, lines.join("\n"));
    with_model(&home, &["import", "bookmarks", file.to_str().unwrap()]);
    with_model(&home, &["index"]);
    home
}

/// Runs a command with the embedded model, which meaning across languages needs.
fn with_model(home: &Home, arguments: &[&str]) -> String {
    let output =
        home.command(arguments).env("NOTEWELL_EMBED_PROVIDER", "embedded").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn recommended(home: &Home, arguments: &Value) -> Vec<String> {
    let answer = with_model(home, &["call", "recommend", &arguments.to_string(), "--structured"]);
    let answer: Value = serde_json::from_str(&answer).unwrap();
    let list = answer["recommendations"].as_array().unwrap();
    let id = |one: &Value| match one["source_bookmark"].as_str() {
        Some(id) => id.to_owned(),
        None => one["source_bookmarks"][0].as_str().unwrap().to_owned(),
    };
    list.iter().map(id).collect()
}

#[test]
fn a_need_meets_bookmarks_in_every_language() {
    let home = library();
    for (need, id) in [
        ("self-hosted design tool", "b.3"),
        ("watch my own collection of films at home", "b.2"),
        ("инструмент для дизайна на своём сервере", "b.3"),
        ("шифрование резервных копий", "b.1"),
        ("ノートパソコンで大きなCSVファイルを読む", "b.4"),
        ("暗号化されたバックアップ", "b.1"),
    ] {
        let ids = recommended(&home, &json!({"project_context": need, "needs": [need]}));
        let backups = ["b.1", "b.8", "b.9", "b.10", "b.11", "b.12"];
        let found =
            ids.iter().any(|one| one == id || (id == "b.1" && backups.contains(&one.as_str())));
        assert!(found, "{need}: {ids:?}");
    }
}

#[test]
fn one_need_gets_at_most_a_third_and_a_strange_one_nothing() {
    let home = library();
    let ids = recommended(
        &home,
        &json!({"project_context": "A home server", "needs": ["encrypted backups"]}),
    );
    assert!((1..=4).contains(&ids.len()), "{ids:?}");
    for need in ["knitting pattern calculator", "калькулятор петель для вязания", "楽譜の浄書"]
    {
        let ids = recommended(&home, &json!({"project_context": need, "needs": [need]}));
        assert!(ids.is_empty(), "{need}: {ids:?}");
    }
}

#[test]
fn a_description_without_needs_is_enough() {
    let home = library();
    let about = "A laptop with private documents: encrypted backups and no cloud account.";
    let ids = recommended(&home, &json!({"project_context": about}));
    assert!(!ids.is_empty() && ids.len() <= 12, "{ids:?}");
}

#[test]
fn topics_leave_out_what_exports_add_and_tools_are_known_by_their_page() {
    let home = library();
    let arguments = json!({"period": "1m", "asOf": "2025-01-20"}).to_string();
    let answer = home.say(&["call", "trends", &arguments, "--structured"]);
    let answer: Value = serde_json::from_str(&answer).unwrap();
    let names = |list: &str, field: &str| -> Vec<String> {
        let list = answer[list].as_array().unwrap().iter();
        list.map(|one| one[field].as_str().unwrap().to_owned()).collect()
    };
    let topics = names("topTopics", "topic");
    assert!(topics.iter().any(|topic| topic == "backups"), "{topics:?}");
    let noise = ["points", "comments", "восьми"];
    assert!(topics.iter().all(|topic| !noise.contains(&topic.as_str())), "{topics:?}");
    let tools = names("newTools", "name");
    for tool in ["restic", "Jellyfin", "Penpot", "DuckDB"] {
        assert!(tools.iter().any(|one| one == tool), "{tool}: {tools:?}");
    }
}
