//! Lists, tables, definitions and the library itself: 60 questions in three languages over the vault
//! and the bookmarks of `tests/fixtures/ask`.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Value, json};

use crate::support::{Client, Home};

/// The least share of questions that must be right, in each language and over all.
const MIN_RIGHT: f64 = 0.8;

#[derive(Deserialize)]
struct Case {
    lang: String,
    #[serde(rename = "type")]
    form: String,
    question: String,
    /// Strings that the answer must have.
    #[serde(default)]
    all: Vec<String>,
    /// Strings that it must not have.
    #[serde(default)]
    none: Vec<String>,
    /// The vault mentions the thing and does not say what it is.
    #[serde(default)]
    declined: bool,
}

fn fixture(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/ask").join(path)
}

fn cases() -> Vec<Case> {
    let text = std::fs::read_to_string(fixture("questions.jsonl")).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn library(embedder: &str) -> (Home, Client) {
    let home = Home::new();
    for lang in ["en", "ru", "ja"] {
        for file in std::fs::read_dir(fixture("vault").join(lang)).unwrap() {
            let file = file.unwrap();
            let name = format!("{lang}/{}", file.file_name().to_str().unwrap());
            home.note(&name, &std::fs::read_to_string(file.path()).unwrap());
        }
    }
    home.say(&["import", "bookmarks", fixture("bookmarks.jsonl").to_str().unwrap()]);
    let with_model = |arguments: &[&str]| {
        let mut command = home.command(arguments);
        command.env("NOTEWELL_EMBED_PROVIDER", embedder);
        command
    };
    assert!(with_model(&["index"]).output().unwrap().status.success());
    let mut client = Client::start(with_model(&["mcp"]));
    client.initialize();
    (home, client)
}

fn ask(client: &mut Client, question: &str) -> Value {
    client.call("ask", json!({ "question": question }))["structuredContent"].clone()
}

fn is_right(case: &Case, answer: &Value) -> bool {
    let text = answer["answer"].as_str().unwrap();
    if case.declined {
        return answer["answered"] == false;
    }
    answer["answered"] == true
        && case.all.iter().all(|part| text.contains(part.as_str()))
        && !case.none.iter().any(|part| text.contains(part.as_str()))
}

/// Asks every question: how many there are, and those with wrong answers.
fn wrong(embedder: &str) -> (usize, Vec<(Case, Value)>) {
    let (_home, mut client) = library(embedder);
    let cases = cases();
    let count = cases.len();
    let answered: Vec<_> =
        cases.into_iter().map(|case| (ask(&mut client, &case.question), case)).collect();
    let wrong = answered.into_iter().filter(|(answer, case)| !is_right(case, answer));
    (count, wrong.map(|(answer, case)| (case, answer)).collect())
}

#[test]
fn lists_tables_definitions_and_counts_are_answered() {
    let (count, wrong) = wrong("embedded");
    assert_eq!(count, 60);
    let told: Vec<String> = wrong
        .iter()
        .map(|(case, answer)| {
            let Case { lang, form, question, .. } = case;
            format!("{lang} {form} {question}\n    {} {}", answer["confidence"], answer["answer"])
        })
        .collect();
    let told = told.join("\n");
    println!("{} of {count} wrong:\n{told}", wrong.len());
    for lang in ["en", "ru", "ja"] {
        let of_lang = wrong.iter().filter(|(case, _)| case.lang == lang).count();
        assert!(of_lang as f64 <= 20.0 * (1.0 - MIN_RIGHT) + 1e-9, "{lang}:\n{told}");
    }
    let sure = wrong.iter().filter(|(_, answer)| answer["confidence"].as_f64().unwrap() > 0.8);
    assert!(sure.count() <= 2, "{told}");
}

#[test]
fn by_words_only_most_are_answered() {
    let (count, wrong) = wrong("none");
    println!("{} of {count} wrong by words only", wrong.len());
    let told: Vec<&str> = wrong.iter().map(|(case, _)| case.question.as_str()).collect();
    assert!(wrong.len() * 3 <= count, "{told:?}");
}

#[test]
fn a_list_is_quoted_whole_with_its_source() {
    let (_home, mut client) = library("none");
    let answer = ask(&mut client, "What are the ingredients of minestrone?");
    let text = answer["answer"].as_str().unwrap();
    assert!(text.starts_with("Ingredients: 2 carrots; 1 leek; 3 ripe tomatoes"), "{text}");
    assert!(!text.contains("A bowl of minestrone"), "the description of an image: {text}");
    assert_eq!(answer["sources"][0]["toc_path"], json!(["Ingredients"]), "{answer}");
    let answer = ask(&mut client, "玉露の湯温は何度ですか？");
    assert!(answer["answer"].as_str().unwrap().contains("種類: 玉露; 湯温: 55度"), "{answer}");
}

#[test]
fn counts_say_how_to_list_and_name_what_they_list() {
    let (_home, mut client) = library("none");
    let answer = ask(&mut client, "How many bookmarks do I have?");
    assert_eq!(answer["answer"], "You have 5 bookmarks.");
    assert_eq!((&answer["method"], &answer["confidence"]), (&json!("counted"), &json!(1.0)));
    let notes = answer["notes"].to_string();
    assert!(notes.contains("search") && notes.contains(r#"\"kind\":\"bookmark\""#), "{notes}");
    let answer = ask(&mut client, "Что я сохранил в январе 2026 года?");
    assert_eq!(answer["sources"].as_array().unwrap().len(), 2, "{answer}");
    assert!(answer["sources"][0]["tweetId"].is_string(), "{answer}");
    let none = ask(&mut client, "What did I save in 1999?");
    assert_eq!(none["answer"], "You have 0 bookmarks of 1999-01-01 – 1999-12-31.");
    let several = ask(&mut client, "How many bookmarks about urban beekeeping?");
    assert_eq!(several["answered"], false, "{several}");
    assert!(several["notes"].to_string().contains("search"), "{several}");
}

/// A caller without a token counts what is free, in every language.
#[test]
fn counts_are_of_what_the_caller_sees() {
    let home = Home::new();
    home.note("open.md", "---\nfree: true\n---\n# Open\n\nText.\n");
    home.note("secret.md", "# Secret\n\nText.\n");
    let server = home.serve();
    for (question, answer) in [
        ("How many notes do I have?", "You have 1 note (1 page, 0 cards)."),
        ("Сколько у меня заметок?", "Заметок: 1 (страниц: 1, карточек: 0)."),
        ("メモは何件ありますか？", "メモは1件です（ページ1件、カード0件）。"),
    ] {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": { "name": "ask", "arguments": { "question": question } } });
        let result = server.post(&body.to_string()).json();
        assert_eq!(result["result"]["structuredContent"]["answer"], answer, "{result}");
    }
}
