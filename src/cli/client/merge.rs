//! Sets our entry in a client's settings file. The text is edited, not written anew: comments,
//! trailing commas, order and white space stay as they are.

use std::path::{Path, PathBuf};

use jsonc_parser::{
    ParseOptions,
    cst::{CstInputValue, CstObject, CstRootNode},
};
use serde_json::Value;

use crate::{
    domain::{Error, Result, Timestamp, error::Doing},
    vault,
};

const NAME: &str = "notewell";
const BOM: char = '\u{feff}';

/// What became of the file.
pub enum Merged {
    /// It has this very entry already.
    Unchanged,
    Written {
        /// The file as it was, if there was one.
        kept: Option<PathBuf>,
    },
}

/// Sets the entry `notewell` below `key`, and keeps the file as it was beside it.
pub fn merge(file: &Path, key: &str, server: &Value) -> Result<Merged> {
    // A link is followed: people keep their settings in a folder of dotfiles.
    let file = match file.symlink_metadata() {
        Ok(_) => file.canonicalize().doing(format_args!("open `{}`", file.display()))?,
        Err(_) => file.to_path_buf(),
    };
    let before = match std::fs::read(&file) {
        Ok(bytes) => Some(String::from_utf8(bytes).map_err(|_| not_settings(&file, "not UTF-8"))?),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => return Err(error).doing(format_args!("read `{}`", file.display())),
    };
    let after = edit(before.as_deref().unwrap_or_default(), key, server)
        .map_err(|why| not_settings(&file, &why))?;
    if before.as_ref() == Some(&after) {
        return Ok(Merged::Unchanged);
    }
    if let Some(folder) = file.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder).doing(format_args!("make `{}`", folder.display()))?;
    }
    let kept = before.map(|text| keep(&file, &text)).transpose()?;
    vault::replace(&file, after.as_bytes())?;
    Ok(Merged::Written { kept })
}

fn not_settings(file: &Path, why: &str) -> Error {
    Error::invalid_params(format!(
        "`{}` is {why}, so nothing was written; add by hand what `notewell client` prints without `--write`",
        file.display()
    ))
}

/// Writes the old text beside the file, under a name with the time.
fn keep(file: &Path, text: &str) -> Result<PathBuf> {
    let now = Timestamp::now().to_string();
    let stamp: String = now.chars().filter(char::is_ascii_digit).take(14).collect();
    let kept = (1..).map(|number| {
        let mut name = file.as_os_str().to_owned();
        match number {
            1 => name.push(format!(".{stamp}.bak")),
            more => name.push(format!(".{stamp}-{more}.bak")),
        }
        PathBuf::from(name)
    });
    let kept = kept.into_iter().find(|kept| !kept.exists()).unwrap_or_default();
    vault::replace(&kept, text.as_bytes())?;
    if let Ok(metadata) = std::fs::metadata(file) {
        // Settings hold keys: a copy is no more readable than the file.
        std::fs::set_permissions(&kept, metadata.permissions())
            .doing(format_args!("keep the permissions of `{}`", file.display()))?;
    }
    Ok(kept)
}

/// The text with our entry in it. Fails with what the text is instead of settings.
fn edit(text: &str, key: &str, server: &Value) -> std::result::Result<String, String> {
    let (bom, text) = match text.strip_prefix(BOM) {
        Some(text) => (BOM.to_string(), text),
        None => (String::new(), text),
    };
    // Comments and trailing commas, as editors take them; nothing looser.
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
    let is_new = text.trim().is_empty();
    let root = CstRootNode::parse(if is_new { "{}\n" } else { text }, &options)
        .map_err(|error| format!("not JSON ({error})"))?;
    let wrong_shape = || "not of the shape of this client's settings".to_owned();
    let settings = root.object_value_or_create().ok_or_else(wrong_shape)?;
    let servers = settings.object_value_or_create(key).ok_or_else(wrong_shape)?;
    match servers.object_value(NAME) {
        Some(entry) => update(&entry, server),
        None => match servers.get(NAME) {
            Some(entry) => entry.set_value(input(server)),
            None => drop(servers.append(NAME, input(server))),
        },
    }
    Ok(format!("{bom}{root}"))
}

/// Sets what is ours of an entry. Fields and variables that the user added stay.
fn update(entry: &CstObject, server: &Value) {
    for (name, value) in server.as_object().into_iter().flatten() {
        let Some(field) = entry.get(name) else {
            entry.append(name, input(value));
            continue;
        };
        match (name.as_str(), field.object_value()) {
            ("env", Some(environment)) => update(&environment, value),
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
            let after = edit(text, "servers", &server()).unwrap();
            assert!(after.contains("/bin/notewell"), "{after}");
            assert!(after.contains("only a comment") == text.contains("only"), "{after}");
        }
    }

    #[test]
    fn everything_else_keeps_its_bytes() {
        let text = "\u{feff}{\r\n  // mine\r\n  \"a\" : [1,2 ,],\r\n  \"servers\": {\r\n    /* x */ \"other\": {\"command\":\"y\"}, // end\r\n  },\r\n}\r\n";
        let after = edit(text, "servers", &server()).unwrap();
        for part in [
            "\u{feff}{\r\n  // mine\r\n  \"a\" : [1,2 ,],",
            "/* x */ \"other\": {\"command\":\"y\"}, // end",
        ] {
            assert!(after.contains(part), "{after}");
        }
        assert!(!after.replace("\r\n", "").contains('\n'), "{after:?}");
        assert_eq!(edit(&after, "servers", &server()).unwrap(), after);
    }

    #[test]
    fn what_the_user_added_to_our_entry_stays() {
        let text = r#"{"servers": {"notewell": {"command": "old", "disabled": true, "env": {"PATH": "/mine", "NOTEWELL_DATA": "/old"}}}}"#;
        let after: Value =
            serde_json::from_str(&edit(text, "servers", &server()).unwrap()).unwrap();
        let entry = &after["servers"]["notewell"];
        assert_eq!(entry["command"], "/bin/notewell");
        assert_eq!(entry["disabled"], true);
        assert_eq!(entry["env"], json!({ "PATH": "/mine", "NOTEWELL_DATA": "/d" }));
    }

    #[test]
    fn what_is_not_settings_is_refused() {
        for text in ["[]", "{\"servers\": []}", "{\"a\": }", "{'a': 1}", "theme = dark"] {
            assert!(edit(text, "servers", &server()).is_err(), "{text}");
        }
    }
}
