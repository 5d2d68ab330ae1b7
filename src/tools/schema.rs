//! JSON Schemas of arguments and answers.
//!
//! The schema that clients see is kept short: a model pays for each word of it in every
//! conversation. The rules that arguments are checked against keep every bound.

use std::sync::Arc;

use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::{Map, Value};

/// A tool's description and the schema of its arguments.
#[derive(Debug, Clone)]
pub struct Input {
    /// The instruction to models.
    pub description: String,
    /// The whole schema, with bounds, for `arguments::accept`.
    pub rules: Map<String, Value>,
}

/// Everything about a tool that follows from its types.
#[derive(Debug)]
pub struct Schemas {
    /// The instruction to models.
    pub description: String,
    /// What arguments are checked against.
    pub rules: Map<String, Value>,
    /// The arguments as a client sees them.
    pub input: Arc<Map<String, Value>>,
    /// The answer as a client sees it.
    pub output: Arc<Map<String, Value>>,
}

impl Schemas {
    pub(super) fn new(input: Input, output: Value) -> Self {
        let mut listed = Value::Object(input.rules.clone());
        thin(&mut listed, true);
        Self {
            description: input.description,
            rules: input.rules,
            input: Arc::new(object(listed)),
            output: Arc::new(object(output)),
        }
    }
}

/// The arguments of a tool. The struct's own doc comment becomes the tool's description.
pub fn input<T: JsonSchema>() -> Input {
    let mut schema = settings().into_generator().into_root_schema_for::<T>().to_value();
    drop_null(&mut schema);
    let mut rules = object(schema);
    let description = match rules.remove("description") {
        Some(Value::String(text)) => text.split_whitespace().collect::<Vec<_>>().join(" "),
        _ => String::new(),
    };
    rules.entry("properties").or_insert_with(|| Value::Object(Map::new()));
    rules.insert("additionalProperties".into(), Value::Bool(false));
    Input { description, rules }
}

/// The structure of an answer as it is serialised: a field that may be left out is not required,
/// and one that may be null says so.
pub fn output<T: JsonSchema>() -> Value {
    let generator = settings().for_serialize().into_generator();
    let mut schema = generator.into_root_schema_for::<T>().to_value();
    thin(&mut schema, true);
    // The doc comment of the type speaks to us.
    if let Value::Object(map) = &mut schema {
        map.remove("description");
    }
    schema
}

fn settings() -> SchemaSettings {
    SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    })
}

fn object(schema: Value) -> Map<String, Value> {
    match schema {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

/// Removes what repeats the obvious: names of Rust types, number formats, bounds that a type
/// implies, `additionalProperties` below the top.
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
            if !top && map.get("additionalProperties").is_some_and(Value::is_boolean) {
                map.remove("additionalProperties");
            }
            // "Anything" is `true` or `{}`; clients of older revisions read only the latter.
            if let Some(Value::Object(properties)) = map.get_mut("properties") {
                for anything in
                    properties.values_mut().filter(|schema| **schema == Value::Bool(true))
                {
                    *anything = Value::Object(Map::new());
                }
            }
            one_enum(map);
            for value in map.values_mut() {
                thin(value, false);
            }
        }
        Value::Array(values) => values.iter_mut().for_each(|value| thin(value, false)),
        _ => {}
    }
}

/// Removes `null` beside the type of an argument that may be left out: `null` is accepted for each
/// of them, and need not be offered.
fn drop_null(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            if let Some(Value::Array(types)) = map.get_mut("type") {
                types.retain(|name| name != "null");
                if types.len() == 1 {
                    let only = types.remove(0);
                    map.insert("type".into(), only);
                }
            }
            drop_null_branch(map);
            if let Some(Value::Array(values)) = map.get_mut("enum") {
                values.retain(|value| !value.is_null());
            }
            one_enum(map);
            map.values_mut().for_each(drop_null);
        }
        Value::Array(values) => values.iter_mut().for_each(drop_null),
        _ => {}
    }
}

/// `anyOf: [X, null]` is `X`.
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
