//! Checks arguments against a tool's schema before the tool sees them, so that the error names the
//! argument and says what is allowed.
//!
//! Clients write the same intention in several ways. Each of these is accepted and turned into the
//! one that tools read: `10.0` is the integer 10; `null` and, for an optional argument, an empty
//! string mean "not given".

use serde_json::{Map, Number, Value};

use crate::domain::{Error, Result};

/// What `null` and an empty text mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blank {
    /// The argument is not given.
    NotGiven,
    /// The field is to be emptied. An empty string for something that is not a text still means
    /// "not given".
    Clears,
}

/// Gives the arguments as the tool reads them. Refuses what is unknown, missing, of the wrong type
/// or out of range.
pub fn accept(
    arguments: Map<String, Value>,
    schema: &Map<String, Value>,
    blank: Blank,
) -> Result<Map<String, Value>> {
    fields("", arguments, schema, blank)
}

fn fields(
    parent: &str,
    given: Map<String, Value>,
    schema: &Map<String, Value>,
    blank: Blank,
) -> Result<Map<String, Value>> {
    let empty = Map::new();
    let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&empty);
    let required: Vec<&str> = match schema.get("required") {
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let dot = if parent.is_empty() { "" } else { "." };
    let takes_others = schema.get("additionalProperties") != Some(&Value::Bool(false));
    // What is missing may be there under the name of another tool.
    let mut names = given.keys().filter(|name| !properties.contains_key(name.as_str()));
    if let Some(name) = names.find(|name| !takes_others && right_name(name, properties).is_some()) {
        return Err(unknown(name, parent, properties));
    }
    if let Some(name) = required.iter().find(|name| given.get(**name).is_none_or(Value::is_null)) {
        return Err(Error::invalid_params(format!("{parent}{dot}{name} is required")));
    }
    let mut accepted = Map::new();
    for (name, value) in given {
        match properties.get(&name) {
            None if !takes_others => return Err(unknown(&name, parent, properties)),
            None => drop(accepted.insert(name, value)),
            Some(property)
                if !required.contains(&name.as_str()) && is_blank(&value, property, blank) => {}
            Some(property) => {
                let place = format!("{parent}{dot}{name}");
                let value = match value {
                    Value::Null => Value::Null,
                    value => accept_value(&place, value, property, blank)?,
                };
                accepted.insert(name, value);
            }
        }
    }
    Ok(accepted)
}

fn unknown(name: &str, parent: &str, properties: &Map<String, Value>) -> Error {
    let known: Vec<String> = properties.keys().map(|key| format!("`{key}`")).collect();
    let takes = match known.as_slice() {
        [] => "no arguments".to_owned(),
        _ => known.join(", "),
    };
    let name: String = name.chars().take(100).collect();
    if let Some(right) = right_name(&name, properties) {
        return Error::invalid_params(format!(
            "unknown argument `{name}`; it is called `{right}` here. This tool takes {takes}"
        ));
    }
    Error::invalid_params(match parent {
        "" => format!("unknown argument `{name}`; this tool takes {takes}"),
        _ => format!("unknown field `{name}` in {parent}; it takes {takes}"),
    })
}

/// Names that models know from other tools, and what ours call the same thing.
const OTHER_NAMES: [(&str, &[&str]); 8] = [
    ("text", &["content", "new_content", "new_text", "new_str", "replacement", "body", "markdown"]),
    ("find", &["old_text", "old_content", "old_str", "old_string", "search", "pattern", "match"]),
    ("toc_path", &["heading", "section", "headings", "target"]),
    ("op", &["operation", "mode", "action", "command"]),
    ("fields", &["frontmatter", "properties", "metadata", "property"]),
    ("etag", &["if_match", "expected_checksum", "checksum", "revision", "version", "hash"]),
    ("to", &["new_path", "destination", "destination_path", "dest", "target", "new_name"]),
    (
        "path",
        &["file", "file_path", "filepath", "filename", "file_name", "note", "identifier", "title"],
    ),
];

/// The argument that is meant by a name of another tool.
fn right_name(name: &str, properties: &Map<String, Value>) -> Option<&'static str> {
    let name = name.to_lowercase();
    let meant = OTHER_NAMES.iter().filter(|(_, others)| others.contains(&name.as_str()));
    // Only where this tool writes: elsewhere the same words may mean something else.
    let writes = properties.contains_key("dry_run");
    meant.map(|(right, _)| *right).find(|right| writes && properties.contains_key(*right))
}

/// Whether an optional argument counts as not given.
fn is_blank(value: &Value, property: &Value, blank: Blank) -> bool {
    match value {
        Value::Null => blank == Blank::NotGiven,
        Value::String(text) if text.trim().is_empty() => match takes_text(property) {
            Some(true) => blank == Blank::NotGiven,
            Some(false) => true,
            None => false,
        },
        _ => false,
    }
}

/// Whether a schema takes any text; `None` where it takes anything.
fn takes_text(property: &Value) -> Option<bool> {
    if property.get("enum").is_some() {
        return Some(false);
    }
    if let Some(Value::Array(branches)) = property.get("anyOf") {
        return Some(branches.iter().any(|branch| takes_text(branch) != Some(false)));
    }
    match property.get("type") {
        None => None,
        Some(Value::Array(types)) => Some(types.iter().any(|name| name == "string")),
        Some(name) => Some(name == "string"),
    }
}

fn accept_value(place: &str, value: Value, property: &Value, blank: Blank) -> Result<Value> {
    if let Some(words) = property.get("enum").and_then(Value::as_array)
        && !words.contains(&value)
    {
        let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
        return Err(Error::invalid_params(format!(
            "{place} {} is not one of {}",
            quote(&value),
            words.join(", ")
        )));
    }
    if let Some(Value::Array(branches)) = property.get("anyOf") {
        return accept_any(place, value, branches, blank);
    }
    let types: Vec<&str> = match property.get("type") {
        Some(Value::String(name)) => vec![name],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ => return Ok(value),
    };
    if !types.iter().any(|name| fits(name, &value)) {
        let wanted: Vec<String> = types.iter().map(|name| article(name)).collect();
        let given = match &value {
            Value::Number(number) => format!("`{number}`"),
            other => article(kind(other)),
        };
        return Err(Error::invalid_params(format!(
            "{place} must be {}, not {given}",
            wanted.join(" or ")
        )));
    }
    match value {
        Value::Number(number) if types.contains(&"integer") => integer(place, &number, property),
        Value::Array(items) => {
            let Some(each) = property.get("items") else { return Ok(Value::Array(items)) };
            let items = items.into_iter().enumerate();
            let items =
                items.map(|(at, item)| accept_value(&format!("{place}[{at}]"), item, each, blank));
            items.collect::<Result<_>>().map(Value::Array)
        }
        Value::Object(given) => match property.as_object() {
            Some(schema) => fields(place, given, schema, blank).map(Value::Object),
            None => Ok(Value::Object(given)),
        },
        value => Ok(value),
    }
}

/// The first branch that takes the value. When none does, the error of the one that comes nearest:
/// that of the same type, else the first.
fn accept_any(place: &str, value: Value, branches: &[Value], blank: Blank) -> Result<Value> {
    let of_type = |branch: &&Value| {
        let name = branch.get("type").and_then(Value::as_str);
        name.is_none_or(|name| fits(name, &value))
    };
    let nearest = branches.iter().find(of_type).or(branches.first());
    let nearest = nearest.map(|branch| accept_value(place, value.clone(), branch, blank));
    match nearest {
        Some(Ok(value)) => Ok(value),
        None => Ok(value),
        Some(Err(error)) => branches
            .iter()
            .find_map(|branch| accept_value(place, value.clone(), branch, blank).ok())
            .ok_or(error),
    }
}

fn fits(name: &str, value: &Value) -> bool {
    match name {
        "string" => value.is_string(),
        "integer" => matches!(value, Value::Number(number) if whole(number).is_some()),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "null" => value.is_null(),
        _ => true,
    }
}

/// The integer that a number is: `10.0` is one in JSON Schema.
fn whole(number: &Number) -> Option<i128> {
    let exact = number.as_i64().map(i128::from).or(number.as_u64().map(i128::from));
    exact.or_else(|| number.as_f64().filter(|n| n.fract() == 0.0).map(|n| n as i128))
}

fn integer(place: &str, number: &Number, property: &Value) -> Result<Value> {
    let Some(value) = whole(number) else { return Ok(Value::Number(number.clone())) };
    let bound = |keyword: &str| property.get(keyword).and_then(Value::as_f64).map(|n| n as i128);
    let least = bound("minimum").unwrap_or(i64::MIN.into());
    let most = bound("maximum").unwrap_or(i64::MAX.into()).min(i64::MAX.into());
    if value < least {
        return Err(Error::invalid_params(format!(
            "{place} must be {least} or more, not {number}"
        )));
    }
    match i64::try_from(value) {
        Ok(value) if i128::from(value) <= most => Ok(value.into()),
        _ => Err(Error::invalid_params(format!("{place} must be at most {most}, not {number}"))),
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn article(kind: &str) -> String {
    match kind {
        "null" => kind.to_owned(),
        "integer" | "array" | "object" => format!("an {kind}"),
        _ => format!("a {kind}"),
    }
}

fn quote(value: &Value) -> String {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let short: String = text.chars().take(60).collect();
    format!("`{short}`")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn schema() -> Map<String, Value> {
        let schema = json!({
            "properties": {
                "query": {"type": "string"},
                "limit": {"type": "integer", "minimum": 0},
                "pid": {"type": "integer", "format": "int64"},
                "toc_path": {"anyOf": [
                    {"type": "array", "items": {"type": "string"}}, {"type": "string"}]},
                "action": {"enum": ["share", "archive"]},
                "filters": {
                    "type": "object", "additionalProperties": false,
                    "properties": {"category": {"type": "string"}, "limit": {"type": "integer"}}},
                "items": {"type": "array", "items": {
                    "type": "object",
                    "properties": {"text": {"type": "string"}}, "required": ["text"]}},
            },
            "required": ["query"],
            "additionalProperties": false,
        });
        schema.as_object().unwrap().clone()
    }

    fn read(arguments: &Value, blank: Blank) -> Result<Value> {
        accept(arguments.as_object().unwrap().clone(), &schema(), blank).map(Value::Object)
    }

    #[test]
    fn each_mistake_is_named() {
        for (arguments, expected) in [
            (json!({}), "query is required"),
            (json!({"query": null}), "query is required"),
            (
                json!({"query": "a", "q": 1}),
                "unknown argument `q`; this tool takes `query`, `limit`, `pid`, `toc_path`, `action`, `filters`, `items`",
            ),
            (json!({"query": 1}), "query must be a string, not `1`"),
            (json!({"query": "a", "limit": 1.5}), "limit must be an integer, not `1.5`"),
            (json!({"query": "a", "limit": -1}), "limit must be 0 or more, not -1"),
            (json!({"query": "a", "limit": "10"}), "limit must be an integer, not a string"),
            (
                json!({"query": "a", "pid": 1e30}),
                "pid must be at most 9223372036854775807, not 1e+30",
            ),
            (json!({"query": "a", "action": "eat"}), "action `eat` is not one of share, archive"),
            (json!({"query": "a", "items": [{}]}), "items[0].text is required"),
            (json!({"query": "a", "items": [null]}), "items[0] must be an object, not null"),
            (json!({"query": "a", "items": "x"}), "items must be an array, not a string"),
            (json!({"query": "a", "toc_path": [1]}), "toc_path[0] must be a string, not `1`"),
            (
                json!({"query": "a", "filters": {"colour": "red"}}),
                "unknown field `colour` in filters; it takes `category`, `limit`",
            ),
        ] {
            let error = read(&arguments, Blank::NotGiven).unwrap_err();
            assert_eq!(error.plain(), expected);
        }
    }

    #[test]
    fn whole_numbers_are_integers_however_they_are_written() {
        let given = json!({"query": "a", "limit": 10.0, "pid": -22.0, "filters": {"limit": 3e2}});
        let read = read(&given, Blank::NotGiven).unwrap();
        assert_eq!(
            read.to_string(),
            r#"{"query":"a","limit":10,"pid":-22,"filters":{"limit":300}}"#
        );
    }

    #[test]
    fn what_is_blank_is_not_given_unless_it_clears() {
        let blank = json!({"query": "", "limit": null, "action": "", "toc_path": " ", "items": "",
            "filters": {"category": "", "limit": ""}});
        assert_eq!(read(&blank, Blank::NotGiven).unwrap(), json!({"query": "", "filters": {}}));
        assert_eq!(
            read(&blank, Blank::Clears).unwrap(),
            json!({"query": "", "limit": null, "toc_path": " ", "filters": {"category": ""}})
        );
    }
}
