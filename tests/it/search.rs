//! Search that finds it, in every language, through the tool door.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::support::{Client, Home};

#[derive(Deserialize)]
struct Case {
    note: String,
    query: String,
    finds: bool,
    why: String,
}

fn paths(answer: &Value) -> Vec<&str> {
    let results = answer["structuredContent"]["results"].as_array().unwrap();
    results.iter().map(|result| result["path"].as_str().unwrap()).collect()
}

/// The cases of `tests/cases/language.jsonl`, each against a library of all the others' notes.
#[test]
fn every_language_case_is_found() {
    let cases: Vec<Case> = include_str!("../cases/language.jsonl")
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert!(cases.len() >= 200, "{} cases", cases.len());
    // One note a text: equal texts of several cases are one note.
    let mut notes: BTreeMap<&str, String> = BTreeMap::new();
    for case in &cases {
        let number = notes.len();
        notes.entry(&case.note).or_insert_with(|| format!("n{number:03}.md"));
    }
    let mut wrong = Vec::new();
    // Typos and prefixes are tried for words that occur nowhere: each note stands alone.
    for (text, path) in &notes {
        let home = Home::new();
        home.note(path, &format!("---\ntitle: zzyzx\n---\n{text}\n"));
        home.note("noise.md", "---\ntitle: zzyzy\n---\nqwxz\n");
        home.say(&["index", "--words"]);
        let mut client = home.stdio();
        for case in cases.iter().filter(|case| case.note == **text) {
            let answer = client.ask(
                "tools/call",
                json!({ "name": "search", "arguments": { "query": case.query } }),
            );
            let found =
                answer.get("result").is_some_and(|result| paths(result).contains(&path.as_str()));
            if found != case.finds {
                wrong
                    .push(format!("{:?} in {:?}: {} ({})", case.query, case.note, found, case.why));
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// A note for every word of `tests/cases/forms.tsv` (language, class, word, form), and a search for
/// the form: the share that finds the word, by language, and how many of the class `neg` do.
#[test]
fn irregular_forms_find_each_other_by_words() {
    let pairs: Vec<[&str; 4]> = include_str!("../cases/forms.tsv")
        .lines()
        .map(|line| line.split('\t').collect::<Vec<_>>().try_into().unwrap())
        .collect();
    let home = Home::new();
    let words: BTreeMap<&str, String> =
        pairs.iter().enumerate().map(|(at, pair)| (pair[2], format!("n{at}.md"))).collect();
    for (word, path) in &words {
        home.note(path, &format!("---\ntitle: zzyzx\n---\n{word}\n"));
    }
    home.say(&["index", "--words"]);
    let mut client = home.stdio();
    client.initialize();
    let mut finds = |word: &str, form: &str| {
        let answer = client.call("search", json!({ "query": form, "limit": 100 }));
        paths(&answer).contains(&words[word].as_str())
    };
    let mut results: BTreeMap<(&str, bool), Vec<(String, bool)>> = BTreeMap::new();
    for [lang, class, word, form] in &pairs {
        let found = finds(word, form);
        let result = results.entry((lang, *class == "neg")).or_default();
        result.push((format!("{word}/{form}"), found));
    }
    for (lang, least, most_wrong) in [("ru", 0.97, 20), ("en", 0.96, 12)] {
        let meant = &results[&(lang, false)];
        let missed: Vec<_> = meant.iter().filter(|(_, found)| !found).collect();
        let share = 1.0 - missed.len() as f64 / meant.len() as f64;
        assert!(share >= least, "{lang} {share:.3}: {missed:?}");
        let wrong: Vec<_> = results[&(lang, true)].iter().filter(|(_, found)| *found).collect();
        assert!(wrong.len() <= most_wrong, "{lang} {}: {wrong:?}", wrong.len());
    }
}

fn library() -> (Home, Client) {
    let home = Home::new();
    home.note("ru/поход.md", "---\ntags: [outdoor]\ndate: 2025-05-10\n---\n# Поход\n\nВ субботу мы ходили в горы с друзьями. Погода была прекрасная.\n")
        .note("en/coffee.md", "---\ntags: [drinks, home]\ndate: 2025-06-01\nauthor: ann\n---\n# Coffee brewing\n\nGrind the beans and brew them slowly. A slow brew is a good brew.\n")
        .note("ja/旅.md", "---\ntags: [travel]\nlang: ja\n---\n# 京都旅行\n\n土曜日に友達と清水寺を見学しました。\n")
        .note("code.md", "# Code\n\n```rust\nfn getUserName(user_id: u32) -> String { todo!() }\n```\n");
    home.say(&["index", "--words"]);
    let mut client = home.stdio();
    client.initialize();
    (home, client)
}

#[test]
fn word_forms_in_three_languages() {
    let (_home, mut client) = library();
    for (query, path) in [
        ("суббота", "ru/поход.md"),
        ("друзья", "ru/поход.md"),
        ("ПОГОДУ", "ru/поход.md"),
        ("ходить", "ru/поход.md"),
        ("brewed bean", "en/coffee.md"),
        ("見学する", "ja/旅.md"),
        ("清水", "ja/旅.md"),
        ("user name", "code.md"),
        ("getUserName", "code.md"),
    ] {
        let answer = client.call("search", json!({ "query": query }));
        assert_eq!(paths(&answer).first(), Some(&path), "{query}");
    }
}

#[test]
fn a_typo_is_mended_and_said() {
    let (_home, mut client) = library();
    for (query, path) in [("cofee", "en/coffee.md"), ("пагода", "ru/поход.md")] {
        let answer = client.call("search", json!({ "query": query }));
        assert_eq!(paths(&answer).first(), Some(&path), "{query}");
        let text = answer["content"][0]["text"].as_str().unwrap();
        assert!(text.contains("occurs nowhere"), "{text}");
    }
}

#[test]
fn filters_in_the_query_and_beside_it() {
    let (_home, mut client) = library();
    for (arguments, expected) in [
        (json!({ "query": "label:outdoor" }), vec!["ru/поход.md"]),
        (json!({ "query": "brew", "filters": { "label": "drinks" } }), vec!["en/coffee.md"]),
        (json!({ "query": "brew", "filters": { "label": "travel" } }), vec![]),
        (json!({ "query": "path:ja/" }), vec!["ja/旅.md"]),
        (json!({ "query": "kind:page label:home" }), vec!["en/coffee.md"]),
        (json!({ "query": "after:2025-05-20" }), vec!["en/coffee.md"]),
        (json!({ "query": "горы", "filters": { "dateTo": "2025-05-10" } }), vec!["ru/поход.md"]),
        (json!({ "query": "горы", "filters": { "dateTo": "2025-05-09" } }), vec![]),
        (json!({ "query": "beans", "filters": { "author": "ann" } }), vec!["en/coffee.md"]),
        (json!({ "query": "\"slow brew\"" }), vec!["en/coffee.md"]),
        (json!({ "query": "\"brew slow\"" }), vec![]),
        (json!({ "query": "brew -beans" }), vec![]),
        (json!({ "query": "\"友達と清水寺\"" }), vec!["ja/旅.md"]),
    ] {
        let answer = client.call("search", arguments.clone());
        assert_eq!(paths(&answer), expected, "{arguments}");
        assert_eq!(answer["structuredContent"]["totalMatches"], expected.len(), "{arguments}");
    }
}

#[test]
fn bad_questions_get_a_sentence() {
    let (_home, mut client) = library();
    for arguments in [
        json!({ "query": "" }),
        json!({ "query": "   " }),
        json!({ "query": "!!! ???" }),
        json!({ "query": "x".repeat(1 << 20) }),
        json!({ "query": "a", "limit": 0 }),
        json!({ "query": "a", "limit": 10_000 }),
        json!({ "query": "a", "cursor": "nonsense" }),
        json!({ "query": "a", "filters": { "dateFrom": "yesterday" } }),
        json!({ "query": "a", "filters": { "dateFrom": "2025-02-01", "dateTo": "2025-01-01" } }),
        json!({ "query": "a", "filters": { "kind": "book" } }),
        json!({ "query": "a", "filters": { "sentiment": "angry" } }),
        json!({ "query": "a", "filters": { "colour": "red" } }),
        json!({ "query": "kind:book" }),
        json!({ "query": "after:soon" }),
    ] {
        let error = client.refused("search", arguments.clone());
        assert_eq!(error["code"], -32602, "{arguments}: {error}");
    }
    for query in ["the and of", "\"unbalanced quote", "-", "brew \"\"", "🙂", "a:b", "((("] {
        let answer =
            client.ask("tools/call", json!({ "name": "search", "arguments": { "query": query } }));
        let fine = answer.get("result").is_some() || answer["error"]["code"] == -32602;
        assert!(fine, "{query}: {answer}");
    }
}

/// Every match that a search gives reads back a text that contains the hit.
#[test]
fn every_match_reads_back() {
    let (_home, mut client) = library();
    for query in ["горы", "brew", "京都", "user"] {
        let answer = client.call("search", json!({ "query": query }));
        for result in answer["structuredContent"]["results"].as_array().unwrap() {
            for hit in result["matches"].as_array().unwrap() {
                let window = client.call(
                    "note_html",
                    json!({ "match_id": hit["match_id"], "pid": result["pid"], "format": "markdown" }),
                );
                // Markup and line ends aside, every word that the snippet shows is there.
                let text = window["content"][0]["text"].as_str().unwrap();
                let words = hit["snippet"].as_str().unwrap().split(|c: char| !c.is_alphanumeric());
                for word in words.filter(|word| word.chars().count() > 2) {
                    assert!(text.contains(word), "{word:?} is not in {text:?}");
                }
            }
        }
    }
}

#[test]
fn a_change_is_in_the_next_search() {
    let (_home, mut client) = library();
    for number in 0..5 {
        let made = client.call(
            "create_note",
            json!({ "content": format!("Карточка про самовары номер{number}") }),
        );
        assert!(made["structuredContent"]["id"].is_string());
        let answer = client.call("search", json!({ "query": format!("самовар номер{number}") }));
        let results = answer["structuredContent"]["results"].as_array().unwrap();
        assert_eq!(results[0]["path"], made["structuredContent"]["id"], "{answer}");
    }
}

#[test]
fn pages_go_on_where_the_last_one_ended() {
    let home = Home::new();
    for number in 0..25 {
        home.note(
            &format!("n{number}.md"),
            &format!("# Note {number}\n\nA word about topic{number} and tea.\n"),
        );
    }
    home.say(&["index", "--words"]);
    let mut client = home.stdio();
    let mut seen = Vec::new();
    let mut cursor = Value::Null;
    loop {
        let mut arguments = json!({ "query": "tea", "limit": 10 });
        if !cursor.is_null() {
            arguments["cursor"] = cursor;
        }
        let answer = client.call("search", arguments);
        seen.extend(paths(&answer).into_iter().map(str::to_owned));
        assert_eq!(answer["structuredContent"]["totalMatches"], 25);
        cursor = answer["structuredContent"]["nextCursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    let count = seen.len();
    seen.sort();
    seen.dedup();
    assert_eq!((count, seen.len()), (25, 25));
}

/// With the model in the binary: another language finds it by meaning.
#[test]
fn meaning_crosses_languages() {
    let (home, _) = library();
    let run = |arguments: &[&str]| {
        let mut command = home.command(arguments);
        command.env_remove("NOTEWELL_EMBED_PROVIDER");
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    run(&["index"]);
    for (query, path) in [
        ("mountains and good weather", "ru/поход.md"),
        ("как варить кофе", "en/coffee.md"),
        ("temple sightseeing trip", "ja/旅.md"),
    ] {
        let answer: Value = serde_json::from_str(&run(&["search", query, "--json"])).unwrap();
        assert_eq!(answer["results"][0]["path"], path, "{query}: {answer:#}");
        let relevance = answer["results"][0]["relevance"].as_f64().unwrap();
        assert!((0.0..=1.0).contains(&relevance));
    }
    let similar: Value =
        serde_json::from_str(&run(&["similar", "espresso and grinders", "--json"])).unwrap();
    assert_eq!(similar["results"][0]["path"], "en/coffee.md");
}
