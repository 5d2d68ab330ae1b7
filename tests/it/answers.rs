//! Answers for programs that parse the text.

use serde_json::{Value, json};

use crate::support::{Client, Home};

/// Calls a tool; gives the structure of its answer and its text.
fn call(client: &mut Client, tool: &str, arguments: Value) -> (Value, String) {
    let result = client.call(tool, arguments);
    let text = result["content"][0]["text"].as_str().unwrap().to_owned();
    (result["structuredContent"].clone(), text)
}

#[test]
fn the_text_is_the_structure_for_programs_that_ask_for_json() {
    let home = Home::new();
    home.note("чай.md", "# Чай\n\nЗелёный чай заваривают при 70 градусах.\n");
    let mut client = home.stdio();
    client.initialize();
    call(
        &mut client,
        "add_bookmark",
        json!({"url": "https://github.com/example/db", "text": "A vector database in Rust"}),
    );
    for (tool, arguments, fields) in [
        (
            "ask",
            json!({"question": "Как заваривают чай?"}),
            vec!["answer", "confidence", "sources"],
        ),
        ("recommend", json!({"project_context": "a vector database"}), vec!["recommendations"]),
        (
            "trends",
            json!({}),
            vec!["period", "dateRange", "summary", "topTopics", "notableBookmarks", "newTools"],
        ),
    ] {
        let mut asked = arguments.clone();
        asked["format"] = "json".into();
        let (structured, text) = call(&mut client, tool, asked);
        let parsed: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(parsed, structured, "{tool}");
        for field in fields {
            assert!(parsed.get(field).is_some(), "{tool} has no {field}: {text}");
        }
        let (_, prose) = call(&mut client, tool, arguments);
        assert!(serde_json::from_str::<Value>(&prose).is_err(), "{tool}: {prose}");
    }
}
