//! JSON from outside to a type of ours, with errors that a caller can act on.

use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_path_to_error::Segment;

use super::{Error, Result};

/// Reads `value` as a `T`. The error names the field and what it takes; serde's own wording, which
/// names types of this program, never reaches a caller.
pub fn from_json<T: DeserializeOwned>(value: Value) -> Result<T> {
    serde_path_to_error::deserialize(value).map_err(|error| {
        let place = place(error.path());
        Error::invalid_params(explain(&place, &error.into_inner().to_string()))
    })
}

/// `messages[0].role`; empty for the value itself. Stops where serde lost track.
fn place(path: &serde_path_to_error::Path) -> String {
    let mut place = String::new();
    for segment in path.iter() {
        match segment {
            Segment::Seq { index } => place += &format!("[{index}]"),
            Segment::Map { key } if place.is_empty() => place += key,
            Segment::Map { key } => place += &format!(".{key}"),
            Segment::Enum { .. } | Segment::Unknown => break,
        }
    }
    place
}

/// Rewrites one of serde's messages.
fn explain(place: &str, message: &str) -> String {
    let message = message.split_once(" at line ").map_or(message, |(message, _)| message);
    let subject = if place.is_empty() { "the value" } else { place };
    let quoted = |text: &str| -> Vec<String> {
        text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
    };
    if let Some(rest) = message.strip_prefix("missing field ") {
        let dot = if place.is_empty() { "" } else { "." };
        return format!("{place}{dot}{} is required", quoted(rest).concat());
    }
    if let Some(rest) = message.strip_prefix("unknown field ") {
        let names = quoted(rest);
        let (name, known) = names.split_first().map_or(("", [].as_slice()), |(a, b)| (a, b));
        let parent = place.strip_suffix(name).map_or(place, |parent| parent.trim_end_matches('.'));
        let inside = if parent.is_empty() { String::new() } else { format!(" in {parent}") };
        return match known {
            [] => format!("unknown field `{name}`{inside}; it takes none"),
            _ => format!("unknown field `{name}`{inside}; it takes `{}`", known.join("`, `")),
        };
    }
    if let Some(rest) = message.strip_prefix("unknown variant ") {
        let names = quoted(rest);
        let (name, known) = names.split_first().map_or(("", [].as_slice()), |(a, b)| (a, b));
        return format!("{subject} `{name}` is not one of {}", known.join(", "));
    }
    if let Some(rest) = message.strip_prefix("duplicate field ") {
        return format!("{} is given twice", quoted(rest).concat());
    }
    let wrong = message.strip_prefix("invalid type: ").or(message.strip_prefix("invalid value: "));
    if let Some((given, expected)) = wrong.and_then(|rest| rest.rsplit_once(", expected ")) {
        return match wanted(expected) {
            Some(wanted) => format!("{subject} must be {wanted}, not {}", kind(given)),
            None => format!("{subject} has a value that is not accepted"),
        };
    }
    if message.starts_with("invalid length") {
        return format!("{subject} has too many or too few entries");
    }
    if message.starts_with("data did not match") {
        return format!("{subject} has a form that is not accepted");
    }
    // Words of our own.
    match place {
        "" => message.to_owned(),
        _ => format!("{place}: {message}"),
    }
}

/// What serde expected, in the words of JSON.
fn wanted(expected: &str) -> Option<&'static str> {
    Some(match expected {
        "u8" | "u16" | "u32" | "u64" | "u128" | "usize" => "an integer of 0 or more",
        "i8" | "i16" | "i32" | "i64" | "i128" | "isize" => "an integer",
        "f32" | "f64" => "a number",
        "a string" | "a borrowed string" | "a character" | "string or map"
        | "variant identifier" => "a string",
        "a boolean" => "a boolean",
        "a sequence" | "sequence" => "an array",
        "a map" | "map" => "an object",
        text if text.starts_with("struct ") || text.starts_with("internally tagged enum ") => {
            "an object"
        }
        text if text.starts_with("enum ") => "a string",
        text if text.starts_with("a tuple") || text.starts_with("tuple") => "an array",
        _ => return None,
    })
}

/// What serde was given, in the words of JSON; a number as it is, because its kind may be right.
fn kind(given: &str) -> &str {
    match given.split([' ', '"']).next().unwrap_or_default() {
        "integer" | "floating" => given.find('`').map_or("a number", |at| &given[at..]),
        "string" | "character" => "a string",
        "boolean" => "a boolean",
        "map" => "an object",
        "sequence" => "an array",
        "null" | "unit" => "null",
        _ => "this",
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[allow(dead_code, reason = "only the errors are looked at")]
    struct Order {
        table: usize,
        #[serde(default)]
        dishes: Vec<Dish>,
        #[serde(default)]
        size: Option<Size>,
        #[serde(default)]
        either: Option<Either>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[allow(dead_code, reason = "only the errors are looked at")]
    struct Dish {
        name: String,
        hot: Option<bool>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Size {
        Small,
        Large,
    }

    #[derive(Debug, Deserialize)]
    #[serde(untagged)]
    #[allow(dead_code, reason = "only the errors are looked at")]
    enum Either {
        Number(f64),
        List(Vec<f64>),
    }

    #[test]
    fn errors_name_the_field_and_what_it_takes() {
        for (value, expected) in [
            (json!({}), "table is required"),
            (json!("x"), "the value must be an object, not a string"),
            (json!({"table": -1}), "table must be an integer of 0 or more, not `-1`"),
            (json!({"table": "3"}), "table must be an integer of 0 or more, not a string"),
            (json!({"table": 1, "dishes": {}}), "dishes must be an array, not an object"),
            (json!({"table": 1, "dishes": [{}]}), "dishes[0].name is required"),
            (
                json!({"table": 1, "dishes": [{"name": "борщ", "hot": "да"}]}),
                "dishes[0].hot must be a boolean, not a string",
            ),
            (
                json!({"table": 1, "dishes": [{"name": "寿司", "size": 1}]}),
                "unknown field `size` in dishes[0]; it takes `name`, `hot`",
            ),
            (json!({"table": 1, "size": "huge"}), "size `huge` is not one of small, large"),
            (json!({"table": 1, "either": {}}), "either has a form that is not accepted"),
        ] {
            let error = from_json::<Order>(value.clone()).unwrap_err();
            assert_eq!(error.plain(), expected, "{value}");
        }
    }
}
