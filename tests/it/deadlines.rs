//! `limits.request_seconds` reaches into what a request waits for.

use serde_json::{Value, json};

use crate::{
    llm::{Stub, Turn, configured},
    support::{Client, Home},
};

/// A question in each language, and a word of the answer that the notes themselves give.
const QUESTIONS: [(&str, &str); 3] = [
    ("Who designed the Brooklyn Bridge?", "Roebling"),
    ("Кто построил Крымский мост?", "Иванов"),
    ("清水寺を建てたのは誰ですか？", "田村麻呂"),
];

fn library() -> Home {
    let home = Home::new();
    home.note(
        "Bridge.md",
        "# Brooklyn Bridge\n\nThe Brooklyn Bridge was designed by John Augustus Roebling.\n",
    )
    .note("Мост.md", "# Крымский мост\n\nКрымский мост построил инженер Иванов.\n")
    .note("寺.md", "---\nlang: ja\n---\n# 清水寺\n\n清水寺を建てたのは坂上田村麻呂です。\n");
    // A second result each, so that there is an order to ask the model for.
    home.note("Walk.md", "# A walk\n\nWe walked over the Brooklyn Bridge at night.\n")
        .note("Поездка.md", "# Поездка\n\nЕхали через Крымский мост.\n")
        .note("旅.md", "---\nlang: ja\n---\n# 旅\n\n清水寺へ行きました。\n");
    home.say(&["index"]);
    home
}

/// The model would be waited for ten times longer than the request may take. One request may run at
/// a time, so each next one also proves that the work of the last has ended.
#[test]
fn a_silent_model_does_not_outlast_the_request() {
    let home = library();
    let stub = Stub::new(vec![Turn::Hangs]);
    let more = "timeout_seconds = 20\nretries = 3\n[limits]\nrequest_seconds = 2\nconcurrent = 1\n";
    let config = configured(&home, "openai", &stub, more);
    let mut client = Client::start(home.command(&["mcp", "--config", &config]));
    client.initialize();
    for (question, word) in QUESTIONS {
        let answer = client.call("ask", json!({ "question": question }));
        let text = answer["content"][0]["text"].to_string();
        assert!(text.contains("language model could not be used"), "{answer}");
        assert!(text.contains("`request_seconds` in `[limits]`"), "{answer}");
        assert!(text.contains(word), "{question}: {answer}");
        let found = client.call("search", json!({ "query": question, "rerank": true }));
        let notes = found["structuredContent"]["notes"].to_string();
        assert!(notes.contains("results are in their own order"), "{found}");
        assert_ne!(found["structuredContent"]["results"], Value::Array(Vec::new()), "{found}");
    }
    assert_eq!(stub.seen().len(), 2 * QUESTIONS.len(), "no second try after the time is up");
}
