//! Schemas that say all a model needs and nothing more: each word is paid for in every
//! conversation.

use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::{Map, Value};

/// A tool's description and the schema of its arguments.
#[derive(Debug, Clone)]
pub struct Input {
    pub description: String,
    pub schema: Map<String, Value>,
}

/// The arguments of a tool. The struct's own doc comment becomes the tool's description.
pub fn input<T: JsonSchema>() -> Input {
    let mut schema = generate::<T>();
    let description = match schema.remove("description") {
        Some(Value::String(text)) => text.split_whitespace().collect::<Vec<_>>().join(" "),
        _ => String::new(),
    };
    schema.entry("properties").or_insert_with(|| Value::Object(Map::new()));
    schema.insert("additionalProperties".into(), Value::Bool(false));
    Input { description, schema }
}

/// The structure of an answer.
pub fn output<T: JsonSchema>() -> Value {
    Value::Object(generate::<T>())
}

fn generate<T: JsonSchema>() -> Map<String, Value> {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    thin(&mut schema, true);
    match schema {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

/// Takes out what repeats the obvious: Rust's type names and number formats, `null` beside the type
/// of an argument that may be left out, `additionalProperties` below the top.
fn thin(schema: &mut Value, top: bool) {
    match schema {
        Value::Object(map) => {
            // A property may be called `title`; the keyword holds a string.
            if map.get("title").is_some_and(Value::is_string) {
                map.remove("title");
            }
            for keyword in ["format", "default"] {
                if map.get(keyword).is_some_and(|value| !value.is_object()) {
                    map.remove(keyword);
                }
            }
            if map.get("minimum").and_then(Value::as_f64) == Some(0.0) {
                map.remove("minimum");
            }
            if !top && map.get("additionalProperties") == Some(&Value::Bool(false)) {
                map.remove("additionalProperties");
            }
            if let Some(Value::Array(types)) = map.get_mut("type") {
                types.retain(|name| name != "null");
                if types.len() == 1 {
                    let only = types.remove(0);
                    map.insert("type".into(), only);
                }
            }
            // "Anything" is `true` or `{}`; clients of older revisions read only the latter.
            if let Some(Value::Object(properties)) = map.get_mut("properties") {
                for anything in
                    properties.values_mut().filter(|schema| **schema == Value::Bool(true))
                {
                    *anything = Value::Object(Map::new());
                }
            }
            drop_null_branch(map);
            drop_null_value(map);
            one_enum(map);
            for value in map.values_mut() {
                thin(value, false);
            }
        }
        Value::Array(values) => values.iter_mut().for_each(|value| thin(value, false)),
        _ => {}
    }
}

/// `anyOf: [X, null]` is `X`, which may be left out.
fn drop_null_branch(map: &mut Map<String, Value>) {
    let Some(Value::Array(branches)) = map.get_mut("anyOf") else { return };
    branches.retain(|branch| branch.get("type").and_then(Value::as_str) != Some("null"));
    if branches.len() == 1
        && let Value::Object(only) = branches.remove(0)
    {
        map.remove("anyOf");
        for (key, value) in only {
            map.entry(key).or_insert(value);
        }
    }
}

fn drop_null_value(map: &mut Map<String, Value>) {
    if let Some(Value::Array(values)) = map.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
}

/// `oneOf` of constants is an `enum`; a type beside an enum of strings adds nothing.
fn one_enum(map: &mut Map<String, Value>) {
    if let Some(Value::Array(branches)) = map.get("oneOf") {
        let words: Option<Vec<Value>> =
            branches.iter().map(|branch| branch.get("const").cloned()).collect();
        if let Some(words) = words {
            map.remove("oneOf");
            map.insert("enum".into(), Value::Array(words));
        }
    }
    if map.contains_key("enum") {
        map.remove("type");
    }
}
