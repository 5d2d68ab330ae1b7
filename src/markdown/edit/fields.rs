//! Changes fields of a frontmatter block by line, and leaves every other byte as the author typed it.

use serde_json::{Map, Value};

use super::{
    field_line::{comment, name, written_key},
    lines,
};
use crate::{
    domain::{Error, Result},
    markdown::frontmatter::{split, values},
};

/// Sets fields; `null` removes one. Nothing but their lines changes: the result is parsed, and an
/// edit that would change another field, or that does not read back, is refused.
pub fn set_fields(text: &str, fields: &Map<String, Value>) -> Result<String> {
    if fields.is_empty() {
        return Err(Error::invalid_params(
            "fields is required: the frontmatter fields to set, null to remove one",
        ));
    }
    let parsed = |text: &str| match split(text) {
        split if split.unclosed => None,
        split => split.yaml.map_or_else(|| Some(Map::new()), |yaml| values(&text[yaml])),
    };
    let mut expected = parsed(text).ok_or_else(|| {
        Error::invalid_params(
            "the frontmatter is not valid YAML, so that no field of it can be set; correct it first, with op replace and a text that starts with `---`",
        )
    })?;
    let mut edited = text.to_owned();
    for (key, value) in fields {
        if key.trim().is_empty() || key.chars().any(char::is_control) {
            return Err(Error::invalid_params(
                "fields has a name that is empty or has a line break",
            ));
        }
        edited = set_field(&edited, key, value);
        match value {
            Value::Null => drop(expected.remove(key)),
            value => drop(expected.insert(key.clone(), value.clone())),
        }
    }
    match parsed(&edited) {
        Some(found) if found == expected => Ok(edited),
        _ => Err(Error::invalid_params(
            "these fields cannot be set line by line in this frontmatter without a change to others; write the whole block with op replace and a text that starts with `---`",
        )),
    }
}

/// Sets a top-level field; `null` removes it. A note without a block gets one.
pub fn set_field(text: &str, key: &str, value: &Value) -> String {
    let split = split(text);
    let Some(yaml) = split.yaml else {
        if value.is_null() {
            return text.to_owned();
        }
        let end = lines::ending(text);
        let (mark, body) = text.split_at(split.body);
        return format!("{mark}---{end}{}: {}{end}---{end}{body}", scalar(key), inline(value));
    };
    let block = &text[yaml.clone()];
    let (from, to, comment) = match find(block, key) {
        Some(found) => found,
        None if value.is_null() => return text.to_owned(),
        None => (block.len(), block.len(), ""),
    };
    let old = &block[from..to];
    // A field keeps its own line ending where those of the block differ.
    let end = match old.split_inclusive('\n').next() {
        Some(first) => lines::ending(first),
        None => lines::ending(&text[..split.body]),
    };
    let line = match value {
        Value::Null => String::new(),
        value => {
            let typed = written_key(old).map_or_else(|| scalar(key), str::to_owned);
            let gap = if comment.is_empty() { "" } else { " " };
            match (value, block_items(old)) {
                (Value::Array(items), Some(before)) if !items.is_empty() => {
                    let items = items.iter().map(|item| before.line(item, end));
                    format!("{typed}:{gap}{comment}{end}{}", items.collect::<String>())
                }
                _ => format!("{typed}: {}{gap}{comment}{end}", inline(value)),
            }
        }
    };
    let before = &text[..yaml.start + from];
    format!("{before}{line}{}", &text[yaml.start + to..])
}

/// A list that is written with an item a line.
struct BlockItems<'a> {
    indent: &'a str,
    lines: Vec<&'a str>,
}

fn block_items(field: &str) -> Option<BlockItems<'_>> {
    let (first, rest) = field.split_once('\n')?;
    let (_, value) = first.split_once(':')?;
    let value = value.trim();
    if !(value.is_empty() || value.starts_with('#')) {
        return None;
    }
    let lines: Vec<&str> = rest.lines().filter(|line| !line.trim().is_empty()).collect();
    let line = lines.first()?;
    let indent = &line[..line.len() - line.trim_start().len()];
    let is_item =
        |line: &&str| line.strip_prefix(indent).is_some_and(|item| item.starts_with("- "));
    lines.iter().all(is_item).then_some(BlockItems { indent, lines })
}

impl BlockItems<'_> {
    /// The line of an item: as it was typed, where it was there before.
    fn line(&self, item: &Value, end: &str) -> String {
        let written = inline(item);
        let known = self.lines.iter().find(|line| {
            let typed = line.trim_start()[1..].trim();
            let bare = typed.split(" #").next().unwrap_or(typed).trim();
            bare == written || item.as_str() == Some(bare.trim_matches(['"', '\'']))
        });
        match known {
            Some(line) => format!("{line}{end}"),
            None => format!("{}- {written}{end}", self.indent),
        }
    }
}

/// The lines that hold a field, and the comment after a one-line value.
fn find<'a>(block: &'a str, key: &str) -> Option<(usize, usize, &'a str)> {
    let mut at = 0;
    let mut found: Option<(usize, usize, &str)> = None;
    for line in block.split_inclusive('\n') {
        let next = at + line.len();
        match &mut found {
            None => {
                if written_key(line).is_some_and(|written| name(written) == key) {
                    found = Some((at, next, comment(line)));
                }
            }
            // A value goes on in lines that are indented, and in a list's items.
            Some((_, to, _)) if line.starts_with([' ', '\t', '-']) => *to = next,
            Some(_) if line.trim().is_empty() => {}
            Some(_) => break,
        }
        at = next;
    }
    found
}

/// A value on one line.
fn inline(value: &Value) -> String {
    match value {
        Value::String(text) => scalar(text),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(inline).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(fields) => {
            let fields: Vec<String> = fields
                .iter()
                .map(|(key, value)| format!("{}: {}", scalar(key), inline(value)))
                .collect();
            format!("{{{}}}", fields.join(", "))
        }
        other => other.to_string(),
    }
}

/// Plain where YAML would read the same text back, quoted otherwise.
fn scalar(text: &str) -> String {
    let plain =
        |c: char| c.is_alphanumeric() || matches!(c, ' ' | '_' | '-' | '.' | '/' | '(' | ')' | '+');
    let starts = text.chars().next().is_some_and(char::is_alphabetic);
    let word = matches!(
        text.to_lowercase().as_str(),
        "true" | "false" | "null" | "yes" | "no" | "on" | "off" | "y" | "n"
    );
    let is_plain = starts && !word && !text.ends_with(' ') && text.chars().all(plain);
    if is_plain || is_day(text) {
        return text.to_owned();
    }
    // A JSON string is a YAML double-quoted scalar.
    Value::String(text.to_owned()).to_string()
}

/// `2025-01-31`, which people and Obsidian write without quotes.
fn is_day(text: &str) -> bool {
    text.len() == 10
        && text.bytes().enumerate().all(|(at, byte)| match at {
            4 | 7 => byte == b'-',
            _ => byte.is_ascii_digit(),
        })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::markdown::frontmatter;

    #[test]
    fn only_that_line_changes() {
        let text = "---\nversion: 1.10   # keep\ntitle: Old # why\ntags:\n  - a\n  - b\n\nfree: yes\n---\nBody: x\n";
        let changed = set_field(text, "title", &json!("Новое: имя"));
        assert_eq!(changed, text.replace("title: Old # why", "title: \"Новое: имя\" # why"));
        let changed = set_field(text, "tags", &json!(["c", "日記"]));
        assert_eq!(changed, text.replace("  - a\n  - b\n", "  - c\n  - 日記\n"));
        let changed = set_field(text, "free", &json!(true));
        assert_eq!(changed, text.replace("free: yes", "free: true"));
        let changed = set_field(text, "price", &json!(0.5));
        assert_eq!(changed, text.replace("free: yes\n", "free: yes\nprice: 0.5\n"));
        assert_eq!(
            set_field(text, "tags", &Value::Null),
            text.replace("tags:\n  - a\n  - b\n", "")
        );
        assert_eq!(set_field(text, "absent", &Value::Null), text);
    }

    #[test]
    fn a_comment_stays_however_often_its_field_is_set() {
        let text = "---\na: # why\n---\n";
        for value in [json!("b: c"), json!(["b: c", "d # e"]), json!({ "b": "'c'" })] {
            let once = set_field(text, "a", &value);
            assert!(once.contains(" # why\n"), "{once}");
            assert_eq!(set_field(&once, "a", &value), once);
        }
    }

    #[test]
    fn line_ends_and_marks_are_kept() {
        let text = "\u{feff}---\r\na: 1\r\n---\r\nBody\r\n";
        assert_eq!(set_field(text, "a", &json!(2)), text.replace("a: 1", "a: 2"));
        assert_eq!(set_field("Body\n", "a", &json!("b")), "---\na: b\n---\nBody\n");
        let mixed = "---\nx: 1\ny: 1\na: |\r\n  b\r\n  c\r\nz: 1\n---\n";
        let changed = set_field(mixed, "a", &json!(2));
        assert_eq!(changed, "---\nx: 1\ny: 1\na: 2\r\nz: 1\n---\n");
        assert_eq!(set_field(&changed, "a", &json!(2)), changed);
        assert_eq!(set_field("", "a", &json!("b")), "---\na: b\n---\n");
    }

    #[test]
    fn several_fields_are_set_and_read_back() {
        let text = "---\n# mine\ntags:\n  - \"a\" # first\n  - b\nstatus: draft\nnested:\n  x: 1\n---\nBody\n";
        let fields = json!({ "tags": ["a", "日記"], "status": null, "due": "2026-01-31",
            "link": "[[Заметка]]", "number": 3, "say": "yes", "empty": [] });
        let changed = set_fields(text, fields.as_object().unwrap()).unwrap();
        assert_eq!(
            changed,
            "---\n# mine\ntags:\n  - \"a\" # first\n  - 日記\nnested:\n  x: 1\ndue: 2026-01-31\nlink: \"[[Заметка]]\"\nnumber: 3\nsay: \"yes\"\nempty: []\n---\nBody\n"
        );
        assert_eq!(
            set_fields("日記", json!({"a": true}).as_object().unwrap()).unwrap(),
            "---\na: true\n---\n日記"
        );
    }

    #[test]
    fn a_field_is_found_however_its_name_is_quoted() {
        for key in ["a\"b", "a: b", "it's", "\\", "x:y", "日: 記"] {
            let fields = |value: Value| Map::from_iter([(key.to_owned(), value)]);
            let once = set_fields("---\na: 1\n---\nBody\n", &fields(json!("x"))).unwrap();
            let again = set_fields(&once, &fields(json!("y"))).unwrap();
            assert_eq!(again.lines().count(), once.lines().count(), "{key}: {again}");
            assert_eq!(set_fields(&again, &fields(Value::Null)).unwrap(), "---\na: 1\n---\nBody\n");
        }
        let single = "---\n'it''s: so': 1\n---\n";
        assert_eq!(set_field(single, "it's: so", &json!(2)), single.replace('1', "2"));
    }

    #[test]
    fn what_lines_cannot_do_is_refused() {
        let value = json!({ "a": [2] });
        for text in [
            "---\n{a: 1}\n---\n",
            "---\na: [1\n---\n",
            "---\na: 1\n\nText\n",
            "---\na:\n- 1\n# why\n- 2\n---\n",
        ] {
            let error = set_fields(text, value.as_object().unwrap()).unwrap_err();
            assert!(error.message.contains("op replace"), "{text}: {error}");
        }
        assert!(set_fields("x", &Map::new()).is_err());
        assert!(set_fields("x", json!({"": 1}).as_object().unwrap()).is_err());
        assert!(set_fields("x", json!({"a\nb": 1}).as_object().unwrap()).is_err());
    }

    proptest::proptest! {
        #[test]
        fn what_is_set_reads_back(
            text in "(---\n(title: [a-z]{0,9}( # x)?\n)?(x: 1\n)?(list:\n- a\n  - b\n)?---\n)?[a-zа-я \n]{0,20}",
            value in "[ -~а-яあ-ん]{1,20}",
        ) {
            let changed = set_field(&text, "mcp_description", &json!(value));
            let yaml = split(&changed).yaml.unwrap();
            let front = frontmatter::parse(&changed[yaml]);
            if !front.broken {
                let expected = Some(value.trim().to_owned()).filter(|value| !value.is_empty());
                proptest::prop_assert_eq!(front.description, expected);
            }
        }
    }
}
