//! What a caller reads when a call is wrong: each text names the field and what it takes, in the
//! words of JSON and not in those of this program's types.

use serde_json::{Value, json};

use crate::support::{Client, Home};

/// Words of serde and of Rust that mean nothing to a caller.
const INTERNAL: &[&str] = &[
    "usize",
    "isize",
    "u8",
    "u16",
    "u32",
    "u64",
    "i32",
    "i64",
    "f32",
    "f64",
    "struct",
    "enum",
    "variant",
    "untagged",
    "newtype",
    "sequence",
    "serde",
    " column ",
    "is not what it takes",
];

fn assert_plain(text: &str, call: &Value) {
    let internal = INTERNAL.iter().find(|word| text.contains(**word));
    assert!(internal.is_none(), "{call}: `{text}` says {internal:?}");
}

/// Wrong values for one property of a schema: of another type, out of range, no word of the list.
fn wrong_values(schema: &Value) -> Vec<Value> {
    if schema.get("enum").is_some() {
        return vec![json!("no-such-word"), json!(5), json!(["x"])];
    }
    match schema["type"].as_str().unwrap_or_default() {
        "string" => vec![json!(5), json!(true), json!(["x"]), json!({"a": 1})],
        "integer" => vec![json!("ten"), json!(1.5), json!(1e30), json!(-1e30), json!([1])],
        "boolean" => vec![json!("yes"), json!(1)],
        "array" => vec![json!({"a": 1}), json!(5), json!([{"a": 1}, 5]), json!([null])],
        "object" => vec![json!("x"), json!([1]), json!({"no_such_field": 1})],
        _ => Vec::new(),
    }
}

/// A value that a required argument takes.
fn right_value(schema: &Value) -> Value {
    match schema["type"].as_str().unwrap_or_default() {
        "array" => json!([{"role": "user", "content": {"type": "text", "text": "x"}}]),
        _ => json!("x"),
    }
}

/// Every tool with every kind of mistake. The texts are kept, so that a change of one is seen.
#[test]
fn every_mistake_is_named_in_plain_words() {
    let mut client = Home::new().stdio();
    client.initialize();
    let tools = client.ask("tools/list", json!({}))["result"]["tools"].clone();
    let mut texts = Vec::new();
    for tool in tools.as_array().unwrap() {
        let name = tool["name"].as_str().unwrap();
        let schema = &tool["inputSchema"];
        let mut valid = json!({});
        let mut calls = vec![json!({"no_such_argument": 1})];
        for required in schema["required"].as_array().into_iter().flatten() {
            let key = required.as_str().unwrap();
            calls.push(json!({}));
            calls.push(json!({key: null}));
            valid[key] = right_value(&schema["properties"][key]);
        }
        for (key, property) in schema["properties"].as_object().unwrap() {
            for wrong in wrong_values(property) {
                let mut call = valid.clone();
                call[key] = wrong;
                calls.push(call);
            }
        }
        for arguments in calls {
            let call = json!({ "name": name, "arguments": arguments });
            let answer = client.ask("tools/call", call.clone());
            let text = answer["error"]["message"].as_str();
            let text = text.unwrap_or_else(|| panic!("{call} was not refused: {answer}"));
            assert_plain(text, &call);
            texts.push(format!("{name} {arguments}: {text}"));
        }
    }
    texts.dedup();
    insta::assert_snapshot!("error_texts", texts.join("\n"));
}

#[test]
fn a_request_that_lacks_what_it_needs_is_told_what() {
    let home = Home::new();
    let server = home.serve();
    let mut client = home.stdio();
    client.initialize();
    for (method, params, says) in [
        ("tools/call", json!({}), "Invalid params: name is required"),
        ("tools/call", json!({"name": 5}), "Invalid params: name must be a string, not `5`"),
        (
            "tools/call",
            json!({"name": "search", "arguments": [1]}),
            "Invalid params: arguments must be an object, not an array",
        ),
        ("prompts/get", json!({}), "Invalid params: name is required"),
        ("prompts/get", json!({"name": ""}), "Prompt name is required"),
        ("resources/read", json!({}), "Invalid params: uri is required"),
        ("initialize", json!({}), "Invalid params: protocolVersion is required"),
        (
            "prompts/create",
            json!({"name": "a", "title": "A", "messages": [{"role": "system", "content": {}}]}),
            "Invalid params: messages[0].role `system` is not one of user, assistant",
        ),
        (
            "prompts/create",
            json!({"name": "a", "title": 5}),
            "Invalid params: title must be a string, not `5`",
        ),
        (
            "prompts/update",
            json!({"name": "a", "colour": "red"}),
            "Invalid params: unknown field `colour`; it takes `name`, `newName`, `new_name`, `title`, `description`, `arguments`, `messages`, `tags`",
        ),
    ] {
        let answer = client.ask(method, params.clone());
        assert_eq!(answer["error"]["code"], -32602, "{method} {params}: {answer}");
        assert_eq!(answer["error"]["message"], says, "{method} {params}");
        if method.starts_with("prompts/c") || method.starts_with("prompts/u") {
            continue;
        }
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        assert_eq!(server.post(&body.to_string()).json()["error"]["message"], says, "{body}");
    }
    // Without any parameters.
    for (method, says) in [
        ("tools/call", "Invalid params: name is required"),
        ("prompts/get", "Invalid params: name is required"),
        ("initialize", "Invalid params: protocolVersion is required"),
    ] {
        client.write(
            format!("{{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":\"{method}\"}}\n").as_bytes(),
        );
        assert_eq!(client.read()["error"]["message"], says, "{method}");
    }
    client.write(b"{\"jsonrpc\": broken\n");
    let parse = client.read();
    assert_plain(parse["error"]["message"].as_str().unwrap(), &parse);
}

/// The same call with a value written in two ways gives the same answer.
fn same(client: &mut Client, tool: &str, one: Value, other: Value) {
    let first = client.call(tool, one.clone());
    assert_eq!(first, client.call(tool, other.clone()), "{tool} {one} {other}");
}

#[test]
fn whole_numbers_and_blanks_are_understood() {
    let home = Home::new();
    home.note("tea.md", "# Tea\n\nGreen tea.\n\n## Вода\n\nМягкая вода.\n\n## 温度\n\n七十度。\n");
    home.note("m.md", "---\nmcp_method: brew\n---\nBrew {{what|зелёный чай}}.\n");
    let mut client = home.stdio();
    client.initialize();
    crate::support::until("the vault is read", || {
        client.call("search", json!({"query": "tea"}))["structuredContent"]["results"] != json!([])
    });
    let found = client.call("search", json!({"query": "tea"}));
    let pid = found["structuredContent"]["results"][0]["pid"].as_i64().unwrap();
    for query in ["tea", "вода", "温度"] {
        let plain = json!({"query": query, "limit": 5});
        let filters =
            json!({"kind": "", "category": "", "label": " ", "dateFrom": "", "action": null});
        let blank = json!({"query": query, "limit": 5.0, "cursor": "", "filters": filters});
        same(&mut client, "search", plain, blank);
    }
    same(
        &mut client,
        "note_html",
        json!({"pid": pid}),
        json!({"pid": pid as f64, "path": "", "href": "", "match_id": "", "toc_path": "", "format": "",
            "context_words": 120.0, "max_tokens": ""}),
    );
    same(&mut client, "expand", json!({"pid": pid}), json!({"pid": pid as f64, "toc_path": ""}));
    same(
        &mut client,
        "trends",
        json!({"asOf": "2026-01-01"}),
        json!({"asOf": "2026-01-01", "period": "", "category": ""}),
    );
    same(&mut client, "brew", json!({}), json!({"what": ""}));
    assert_eq!(client.call("brew", json!({}))["content"][0]["text"], "Brew зелёный чай.");
    // Where an empty text is a value, it stays one.
    let card = client.call("create_note", json!({"title": "T", "content": "x", "color": ""}));
    let id = card["structuredContent"]["id"].clone();
    let change = json!({"id": id, "content": "", "color": "", "reminder": "", "labels": ""});
    let changed = client.call("update_note", change)["structuredContent"].clone();
    assert_eq!((&changed["title"], &changed["content"]), (&json!("T"), &json!("")));
}
