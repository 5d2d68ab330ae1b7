//! Checks arguments against a tool's schema before the tool sees them, so that the error names the
//! argument and says what is allowed.

use serde_json::{Map, Value};

use crate::domain::{Error, Result};

/// Refuses arguments that are unknown, missing or of the wrong type.
pub fn check(arguments: &Map<String, Value>, schema: &Map<String, Value>) -> Result<()> {
    let empty = Map::new();
    let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&empty);
    for required in schema.get("required").and_then(Value::as_array).into_iter().flatten() {
        let name = required.as_str().unwrap_or_default();
        if arguments.get(name).is_none_or(Value::is_null) {
            return Err(Error::invalid_params(format!("{name} is required")));
        }
    }
    for (name, value) in arguments {
        let Some(property) = properties.get(name) else {
            return Err(unknown(name, properties));
        };
        check_value(name, value, property)?;
    }
    Ok(())
}

fn unknown(name: &str, properties: &Map<String, Value>) -> Error {
    let known: Vec<String> = properties.keys().map(|key| format!("`{key}`")).collect();
    let takes = match known.as_slice() {
        [] => "this tool takes no arguments".to_owned(),
        _ => format!("this tool takes {}", known.join(", ")),
    };
    Error::invalid_params(format!("unknown argument `{name}`; {takes}"))
}

fn check_value(name: &str, value: &Value, property: &Value) -> Result<()> {
    if value.is_null() {
        // `null` is how many clients say "not given".
        return Ok(());
    }
    if let Some(words) = property.get("enum").and_then(Value::as_array)
        && !words.contains(value)
    {
        let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
        return Err(Error::invalid_params(format!(
            "{name} {} is not one of {}",
            quote(value),
            words.join(", ")
        )));
    }
    let Some(expected) = property.get("type").and_then(Value::as_str) else { return Ok(()) };
    let fits = match expected {
        "string" => value.is_string(),
        "integer" => value.as_i64().is_some() || value.as_f64().is_some_and(|n| n.fract() == 0.0),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => true,
    };
    if !fits {
        return Err(Error::invalid_params(format!(
            "{name} must be {}, not {}",
            article(expected),
            article(kind(value))
        )));
    }
    match value {
        Value::Array(items) => {
            let Some(each) = property.get("items") else { return Ok(()) };
            items
                .iter()
                .enumerate()
                .try_for_each(|(at, item)| check_value(&format!("{name}[{at}]"), item, each))
        }
        Value::Object(fields) => check_fields(name, fields, property),
        _ => Ok(()),
    }
}

fn check_fields(name: &str, fields: &Map<String, Value>, property: &Value) -> Result<()> {
    let Some(properties) = property.get("properties").and_then(Value::as_object) else {
        return Ok(());
    };
    for required in property.get("required").and_then(Value::as_array).into_iter().flatten() {
        let key = required.as_str().unwrap_or_default();
        if fields.get(key).is_none_or(Value::is_null) {
            return Err(Error::invalid_params(format!("{name}.{key} is required")));
        }
    }
    for (key, value) in fields {
        if let Some(property) = properties.get(key) {
            check_value(&format!("{name}.{key}"), value, property)?;
        }
    }
    Ok(())
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
    let article = if matches!(kind, "integer" | "array" | "object") { "an" } else { "a" };
    format!("{article} {kind}")
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

    fn complaint(arguments: Value) -> String {
        let schema = json!({
            "properties": {
                "query": {"type": "string"},
                "limit": {"type": "integer"},
                "action": {"enum": ["share", "archive"]},
                "items": {"type": "array", "items": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}},
            },
            "required": ["query"],
        });
        check(arguments.as_object().unwrap(), schema.as_object().unwrap())
            .err()
            .map(|error| error.message)
            .unwrap_or_default()
    }

    #[test]
    fn each_mistake_is_named() {
        for (arguments, expected) in [
            (json!({"query": "a", "limit": 3}), ""),
            (json!({"query": "a", "limit": null}), ""),
            (json!({}), "Invalid params: query is required"),
            (json!({"query": null}), "Invalid params: query is required"),
            (
                json!({"query": "a", "q": 1}),
                "Invalid params: unknown argument `q`; this tool takes `query`, `limit`, `action`, `items`",
            ),
            (json!({"query": 1}), "Invalid params: query must be a string, not a number"),
            (
                json!({"query": "a", "limit": 1.5}),
                "Invalid params: limit must be an integer, not a number",
            ),
            (
                json!({"query": "a", "action": "eat"}),
                "Invalid params: action `eat` is not one of share, archive",
            ),
            (json!({"query": "a", "items": [{}]}), "Invalid params: items[0].text is required"),
            (
                json!({"query": "a", "items": "x"}),
                "Invalid params: items must be an array, not a string",
            ),
        ] {
            assert_eq!(complaint(arguments), expected);
        }
    }
}
