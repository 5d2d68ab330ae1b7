//! The tool table as a model pays for it.

use serde_json::{Value, json};

use crate::support::Home;

fn listed() -> Vec<Value> {
    let mut client = Home::new().stdio();
    client.initialize();
    let mut tools = Vec::new();
    let mut cursor = Value::Null;
    loop {
        let params = if cursor.is_null() { json!({}) } else { json!({ "cursor": cursor }) };
        let answer = client.ask("tools/list", params);
        tools.extend(answer["result"]["tools"].as_array().unwrap().clone());
        cursor = answer["result"]["nextCursor"].clone();
        if cursor.is_null() {
            return tools;
        }
    }
}

/// Peers spend up to 12,310 tokens on theirs.
#[test]
fn the_whole_table_costs_at_most_2700_tokens() {
    let bpe = tiktoken_rs::o200k_base().unwrap();
    let (mut total, mut editing) = (0, 0);
    for tool in listed() {
        let paid = json!({
            "name": tool["name"], "description": tool["description"], "inputSchema": tool["inputSchema"],
        });
        let cost = bpe.encode_with_special_tokens(&paid.to_string()).len();
        println!("{:>5}  {}", cost, tool["name"]);
        total += cost;
        if tool["name"] == "edit_page" || tool["name"] == "move_page" {
            editing += cost;
        }
    }
    println!("{total:>5}  in all");
    assert!(total <= 2700, "{total} tokens");
    assert!(editing <= 430, "{editing} tokens for editing");
}

#[test]
fn every_tool_says_what_it_is() {
    for tool in listed() {
        let name = tool["name"].as_str().unwrap();
        assert!(tool["title"].as_str().is_some_and(|title| !title.is_empty()), "{name}");
        assert!(tool["description"].as_str().is_some_and(|text| text.len() > 15), "{name}");
        assert_eq!(tool["inputSchema"]["type"], "object", "{name}");
        assert_eq!(tool["inputSchema"]["additionalProperties"], false, "{name}");
        assert_eq!(tool["outputSchema"]["type"], "object", "{name}");
        objects_only(&tool["outputSchema"], name);
        objects_only(&tool["inputSchema"], name);
        assert!(tool["annotations"]["readOnlyHint"].is_boolean(), "{name}");
    }
}

#[test]
fn the_order_is_fixed() {
    let names = |tools: Vec<Value>| -> Vec<String> {
        tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(listed()), names(listed()));
}

/// Every tool's name, schema and description, as they are promised.
#[test]
fn the_table_is_as_promised() {
    let table: Vec<Value> = listed()
        .into_iter()
        .map(|tool| {
            json!({ "name": tool["name"], "description": tool["description"],
                "inputSchema": tool["inputSchema"], "annotations": tool["annotations"] })
        })
        .collect();
    insta::assert_json_snapshot!("tools", table);
}

/// Clients of older revisions refuse a list in which a property's schema is `true`.
fn objects_only(schema: &Value, name: &str) {
    match schema {
        Value::Object(map) => {
            let properties = map.get("properties").and_then(Value::as_object);
            for (property, schema) in properties.into_iter().flatten() {
                assert!(schema.is_object(), "{name}: the schema of `{property}` is {schema}");
                objects_only(schema, name);
            }
            // A property may itself be called `properties`.
            let others = map.iter().filter(|(keyword, _)| *keyword != "properties");
            others.for_each(|(_, value)| objects_only(value, name));
        }
        Value::Array(values) => values.iter().for_each(|value| objects_only(value, name)),
        _ => {}
    }
}
