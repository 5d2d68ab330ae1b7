//! What an answer costs a model: the tokens of a search and of one focused read, both with default
//! arguments, and whether the answer is in what was read.
//!
//! `cargo test --test it cost -- --nocapture` prints the figures; `QUESTIONS=551` asks them all.

use std::{collections::HashMap, io::Read, path::Path};

use serde_json::{Value, json};
use tiktoken_rs::CoreBPE;

use crate::support::{Client, Home, shared};

/// Questions of one set, spread over all of its notes.
const QUESTIONS: usize = 50;

/// What search and read together may cost at the median.
const MEDIAN_TOKENS: usize = 800;

/// The share of questions whose answer must be in what was read, in percent.
const ANSWERED_PERCENT: usize = 96;

fn lines(file: &Path) -> Vec<Value> {
    let bytes = std::fs::read(file).unwrap();
    let text = match file.extension().is_some_and(|end| end == "gz") {
        true => {
            let mut text = String::new();
            flate2::read::GzDecoder::new(bytes.as_slice()).read_to_string(&mut text).unwrap();
            text
        }
        false => String::from_utf8(bytes).unwrap(),
    };
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// All text that a result shows a model.
pub fn shown(result: &Value) -> String {
    let parts = result["content"].as_array().unwrap().iter();
    parts.map(|part| part["text"].as_str().unwrap()).collect::<Vec<_>>().join("\n")
}

struct Asked {
    search: usize,
    read: usize,
    /// Whether the answer is in the read passage, and in either text.
    in_read: bool,
    in_either: bool,
}

fn ask(client: &mut Client, bpe: &CoreBPE, question: &str, answers: &[Value]) -> Asked {
    let count = |text: &str| bpe.encode_with_special_tokens(text).len();
    let found = client.call("search", json!({ "query": question }));
    let listed = shown(&found);
    let best = &found["structuredContent"]["results"][0];
    let read = match best["matches"][0]["match_id"].as_str() {
        Some(id) => shown(&client.call("note_html", json!({ "pid": best["pid"], "match_id": id }))),
        None => String::new(),
    };
    let has =
        |text: &str| answers.iter().any(|answer| text.contains(answer.as_str().unwrap_or("\0")));
    Asked {
        search: count(&listed),
        read: count(&read),
        in_read: has(&plain(&read)),
        in_either: has(&plain(&read)) || has(&listed),
    }
}

/// The characters that HTML writes as entities.
fn plain(html: &str) -> String {
    html.replace("&quot;", "\"")
        .replace("&#39;", "'")
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&amp;", "&")
}

fn median(mut values: Vec<usize>) -> usize {
    values.sort_unstable();
    values[values.len() / 2]
}

#[test]
fn cost_of_an_answer() {
    let questions = std::env::var("QUESTIONS").ok().and_then(|number| number.parse().ok());
    let questions: usize = questions.unwrap_or(QUESTIONS);
    let bpe = tiktoken_rs::o200k_base().unwrap();
    let mut wrong = Vec::new();
    for lang in ["en", "ru"] {
        let Some(set) = shared(&format!("eval/dev/xquad-notes-{lang}")) else { return };
        let home = Home::new();
        for doc in lines(&set.join("docs.jsonl.gz")) {
            let (path, title) = (doc["path"].as_str().unwrap(), &doc["title"]);
            let text = doc["text"].as_str().unwrap();
            home.note(path, &format!("---\ntitle: {title}\nlang: {lang}\n---\n\n{text}\n"));
        }
        let mut index = home.command(&["index"]);
        assert!(index.env_remove("NOTEWELL_EMBED_PROVIDER").output().unwrap().status.success());
        let mut command = home.command(&["mcp"]);
        command.env_remove("NOTEWELL_EMBED_PROVIDER");
        let mut client = Client::start(command);
        client.initialize();
        let answers: HashMap<String, Value> = lines(&set.join("answers.jsonl"))
            .into_iter()
            .map(|line| (line["id"].as_str().unwrap().to_owned(), line["answers"].clone()))
            .collect();
        let queries = lines(&set.join("queries.jsonl"));
        let mut asked = Vec::new();
        for number in 0..questions.min(queries.len()) {
            let query = &queries[number * queries.len() / questions.min(queries.len())];
            let answers = answers[query["id"].as_str().unwrap()].as_array().unwrap();
            let question = query["text"].as_str().unwrap();
            let one = ask(&mut client, &bpe, question, answers);
            if !one.in_either {
                println!("not answered: {question} ({answers:?})");
            }
            asked.push(one);
        }
        let of = |value: fn(&Asked) -> usize| median(asked.iter().map(value).collect());
        let total = of(|one| one.search + one.read);
        let percent = |holds: fn(&Asked) -> bool| {
            100 * asked.iter().filter(|one| holds(one)).count() / asked.len()
        };
        let answered = percent(|one| one.in_either);
        println!(
            "{lang}: {} questions; median {total} tokens (search {}, read {}), most {}; \
             answer in the read passage {} %, in either text {answered} %",
            asked.len(),
            of(|one| one.search),
            of(|one| one.read),
            asked.iter().map(|one| one.search + one.read).max().unwrap(),
            percent(|one| one.in_read),
        );
        if total > MEDIAN_TOKENS || answered < ANSWERED_PERCENT {
            wrong.push(format!("{lang}: {total} tokens, {answered} % answered"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("; "));
}

/// `max_tokens` bounds what is sent, in each language and form of answer.
#[test]
fn max_tokens_is_a_hard_ceiling() {
    let bpe = tiktoken_rs::o200k_base().unwrap();
    let count = |text: &str| bpe.encode_with_special_tokens(text).len();
    for (set, query) in [
        ("xquad-notes-en", "Who led the team in the history of the university?"),
        ("xquad-notes-ru", "Кто возглавлял команду в истории университета?"),
        ("jsquad-notes-ja", "日本の歴史で有名な大学は何ですか"),
    ] {
        let Some(set) = shared(&format!("eval/dev/{set}")) else { return };
        let home = Home::new();
        for doc in lines(&set.join("docs.jsonl.gz")) {
            home.note(doc["path"].as_str().unwrap(), doc["text"].as_str().unwrap());
        }
        home.say(&["index", "--words"]);
        let mut client = home.stdio();
        client.initialize();
        for most in [40, 60, 100, 200, 400, 600, 1500] {
            let mut found = Vec::new();
            for format in ["text", "json"] {
                let arguments = json!({ "query": query, "max_tokens": most, "format": format });
                found.push(client.call("search", arguments));
                let arguments = json!({ "query": query, "max_tokens": most, "limit": 30 });
                found.push(client.call("search", arguments));
            }
            for result in &found {
                let text = shown(result);
                // The smallest structure of one result as JSON takes more than that.
                if most < 200 && text.starts_with('{') {
                    continue;
                }
                assert!(count(&text) <= most, "{most}: {} {text}", count(&text));
            }
            let results = found[0]["structuredContent"]["results"].as_array().unwrap();
            assert!(!results.is_empty());
            for result in results {
                for format in ["html", "markdown"] {
                    let read = client.call(
                        "note_html",
                        json!({ "pid": result["pid"], "max_tokens": most, "format": format }),
                    );
                    let text = shown(&read);
                    assert!(count(&text) <= most, "{most}: {} {text}", count(&text));
                }
            }
        }
        // Room is used: with more of it the answer says more.
        let mut long = |most| {
            shown(&client.call("search", json!({ "query": query, "max_tokens": most }))).len()
        };
        assert!(long(200) < long(400) && long(400) < long(1000));
    }
}

/// The estimate is never below the tokens of a passage, and not far above.
#[test]
fn the_estimate_is_an_upper_bound() {
    let bpe = tiktoken_rs::o200k_base().unwrap();
    for set in
        ["xquad-notes-en", "tldr-en", "xquad-notes-ru", "doka-ru", "jsquad-notes-ja", "tldr-ja"]
    {
        let Some(set) = shared(&format!("eval/dev/{set}")) else { return };
        let (mut estimated, mut counted) = (0, 0);
        for doc in lines(&set.join("docs.jsonl.gz")).iter().take(200) {
            let text = doc["text"].as_str().unwrap();
            let starts: Vec<usize> = text.char_indices().map(|(at, _)| at).step_by(500).collect();
            for piece in starts.windows(2).map(|ends| &text[ends[0]..ends[1]]) {
                let cost = bpe.encode_with_special_tokens(piece).len();
                let estimate = notewell::text::tokens::estimate(piece);
                assert!(estimate >= cost, "{estimate} for {cost}: {piece}");
                estimated += estimate;
                counted += cost;
            }
        }
        let over = estimated * 100 / counted.max(1);
        println!("{}: the estimate is {over} % of the tokens", set.display());
        assert!(over <= 140, "{}: {over} %", set.display());
    }
}
