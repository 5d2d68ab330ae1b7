//! JSON settings with comments. The text is edited, not written anew: comments, trailing commas,
//! order and white space stay as they are.

use jsonc_parser::{
    ParseOptions,
    cst::{CstInputValue, CstObject, CstRootNode},
};
use serde_json::Value;

use super::file::NAME;

/// The text with our entry below these keys. Fails with what the text is instead of settings.
pub fn set(text: &str, keys: &[&str], server: &Value) -> Result<String, String> {
    let root = parse(if text.trim().is_empty() { "{}\n" } else { text })?;
    let mut servers = root.object_value_or_create().ok_or_else(wrong_shape)?;
    for key in keys {
        servers = servers.object_value_or_create(key).ok_or_else(wrong_shape)?;
    }
    match servers.object_value(NAME) {
        Some(entry) => update(&entry, server),
        None => match servers.get(NAME) {
            Some(entry) => entry.set_value(input(server)),
            None => drop(servers.append(NAME, input(server))),
        },
    }
    Ok(root.to_string())
}

/// The text without our entry; `None` where there is none.
pub fn remove(text: &str, keys: &[&str]) -> Result<Option<String>, String> {
    if text.trim().is_empty() {
        return Ok(None);
    }
    let root = parse(text)?;
    let mut servers = root.object_value();
    for key in keys {
        servers = servers.and_then(|servers| servers.object_value(key));
    }
    let entry = servers.and_then(|servers| servers.get(NAME));
    Ok(entry.map(|entry| {
        entry.remove();
        root.to_string()
    }))
}

/// Whether a key path holds an object.
pub fn has_object(text: &str, keys: &[&str]) -> bool {
    let root = parse(text).ok();
    let mut found = root.as_ref().and_then(CstRootNode::object_value);
    for key in keys {
        found = found.and_then(|object| object.object_value(key));
    }
    found.is_some()
}

fn wrong_shape() -> String {
    "not of the shape of this client's settings".to_owned()
}

/// Comments and trailing commas, as editors take them; nothing looser.
fn parse(text: &str) -> Result<CstRootNode, String> {
    let options = ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    CstRootNode::parse(text, &options).map_err(|error| format!("not JSON ({error})"))
}

/// Sets what is ours of an entry. Fields and variables that the user added stay, and an entry that
/// is switched off stays off.
fn update(entry: &CstObject, server: &Value) {
    for (name, value) in server.as_object().into_iter().flatten() {
        let Some(field) = entry.get(name) else {
            entry.append(name, input(value));
            continue;
        };
        match (name.as_str(), field.object_value()) {
            ("enabled", _) => {}
            ("env" | "environment", Some(environment)) => update(&environment, value),
            _ => {
                let same = field.value().and_then(|value| value.to_serde_value());
                if same.as_ref() != Some(value) {
                    field.set_value(input(value));
                }
            }
        }
    }
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(value) => CstInputValue::Bool(*value),
        Value::Number(value) => CstInputValue::Number(value.to_string()),
        Value::String(value) => CstInputValue::String(value.clone()),
        Value::Array(values) => CstInputValue::Array(values.iter().map(input).collect()),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, value)| (name.clone(), input(value)));
            CstInputValue::Object(fields.collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn server() -> Value {
        json!({ "command": "/bin/notewell", "args": ["mcp"], "env": { "NOTEWELL_DATA": "/d" } })
    }

    #[test]
    fn an_empty_file_becomes_settings() {
        for text in ["", " \n", "{}", "// only a comment\n"] {
            let after = set(text, &["servers"], &server()).unwrap();
            assert!(after.contains("/bin/notewell"), "{after}");
            assert!(after.contains("only a comment") == text.contains("only"), "{after}");
        }
    }

    #[test]
    fn everything_else_keeps_its_bytes() {
        let text = "{\r\n  // mine\r\n  \"a\" : [1,2 ,],\r\n  \"servers\": {\r\n    /* x */ \"other\": {\"command\":\"y\"}, // end\r\n  },\r\n}\r\n";
        let after = set(text, &["servers"], &server()).unwrap();
        for part in [
            "{\r\n  // mine\r\n  \"a\" : [1,2 ,],",
            "/* x */ \"other\": {\"command\":\"y\"}, // end",
        ] {
            assert!(after.contains(part), "{after}");
        }
        assert!(!after.replace("\r\n", "").contains('\n'), "{after:?}");
        assert_eq!(set(&after, &["servers"], &server()).unwrap(), after);
    }

    #[test]
    fn what_the_user_added_to_our_entry_stays() {
        let text = r#"{"servers": {"notewell": {"command": "old", "disabled": true, "env": {"PATH": "/mine", "NOTEWELL_DATA": "/old"}}}}"#;
        let after: Value =
            serde_json::from_str(&set(text, &["servers"], &server()).unwrap()).unwrap();
        let entry = &after["servers"]["notewell"];
        assert_eq!(entry["command"], "/bin/notewell");
        assert_eq!(entry["disabled"], true);
        assert_eq!(entry["env"], json!({ "PATH": "/mine", "NOTEWELL_DATA": "/d" }));
    }

    #[test]
    fn an_entry_is_removed_and_nothing_else() {
        let text = "{\n\t// mine\n\t\"mcp\": {\n\t\t\"a\": 1, // one\n\t},\n}\n";
        let with = set(text, &["mcp"], &server()).unwrap();
        let without = remove(&with, &["mcp"]).unwrap().unwrap();
        for line in text.lines() {
            assert!(without.contains(line), "{line:?}: {without}");
        }
        assert!(!without.contains("notewell"), "{without}");
        for none in ["", "{}", "{\"mcp\": {}}", text] {
            assert_eq!(remove(none, &["mcp"]).unwrap(), None, "{none}");
        }
    }

    #[test]
    fn an_entry_that_is_off_stays_off() {
        let entry = json!({ "type": "local", "enabled": true, "environment": { "A": "b" } });
        let text = r#"{"mcp": {"notewell": {"enabled": false, "environment": {"MINE": "1"}}}}"#;
        let after: Value = serde_json::from_str(&set(text, &["mcp"], &entry).unwrap()).unwrap();
        let after = &after["mcp"]["notewell"];
        assert_eq!(after["enabled"], false);
        assert_eq!(after["environment"], json!({ "MINE": "1", "A": "b" }));
    }

    #[test]
    fn what_is_not_settings_is_refused() {
        for text in ["[]", "{\"servers\": []}", "{\"a\": }", "{'a': 1}", "theme = dark"] {
            assert!(set(text, &["servers"], &server()).is_err(), "{text}");
        }
    }
}
