//! Changes one field of a frontmatter block and leaves every other byte as the author typed it.

use serde_json::Value;

use super::frontmatter::split;

/// Sets a top-level field; `null` takes it away. A note without a block gets one.
pub fn set_field(text: &str, key: &str, value: &Value) -> String {
    let end = if text.lines().next().is_some() && text.contains("\r\n") { "\r\n" } else { "\n" };
    let split = split(text);
    let Some(yaml) = split.yaml else {
        if value.is_null() {
            return text.to_owned();
        }
        let (mark, body) = text.split_at(split.body);
        return format!("{mark}---{end}{}: {}{end}---{end}{body}", scalar(key), inline(value));
    };
    let block = &text[yaml.clone()];
    let (from, to, comment) = match find(block, key) {
        Some(found) => found,
        None if value.is_null() => return text.to_owned(),
        None => (block.len(), block.len(), ""),
    };
    let line = match value {
        Value::Null => String::new(),
        value => {
            let typed = written_key(&block[from..to]).map_or_else(|| scalar(key), str::to_owned);
            let gap = if comment.is_empty() { "" } else { " " };
            format!("{typed}: {}{gap}{comment}{end}", inline(value))
        }
    };
    let before = &text[..yaml.start + from];
    format!("{before}{line}{}", &text[yaml.start + to..])
}

/// The lines that hold a field, and the comment after a one-line value.
fn find<'a>(block: &'a str, key: &str) -> Option<(usize, usize, &'a str)> {
    let mut at = 0;
    let mut found: Option<(usize, usize, &str)> = None;
    for line in block.split_inclusive('\n') {
        let next = at + line.len();
        match &mut found {
            None => {
                if written_key(line).is_some_and(|written| written.trim_matches(['"', '\'']) == key)
                {
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

fn written_key(line: &str) -> Option<&str> {
    if line.starts_with([' ', '\t', '-', '#']) {
        return None;
    }
    let (key, rest) = line.split_once(':')?;
    (rest.is_empty() || rest.starts_with(char::is_whitespace)).then(|| key.trim_end())
}

/// ` # …` after a value that has no quotes in it; quotes make it too hard to be sure.
fn comment(line: &str) -> &str {
    match line.find(" #") {
        Some(at) if !line.contains(['"', '\'', '|', '>']) => line[at + 1..].trim_end(),
        _ => "",
    }
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
    if starts && !word && !text.ends_with(' ') && text.chars().all(plain) {
        return text.to_owned();
    }
    // A JSON string is a YAML double-quoted scalar.
    Value::String(text.to_owned()).to_string()
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
        assert_eq!(changed, text.replace("tags:\n  - a\n  - b\n", "tags: [c, 日記]\n"));
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
    fn line_ends_and_marks_are_kept() {
        let text = "\u{feff}---\r\na: 1\r\n---\r\nBody\r\n";
        assert_eq!(set_field(text, "a", &json!(2)), text.replace("a: 1", "a: 2"));
        assert_eq!(set_field("Body\n", "a", &json!("b")), "---\na: b\n---\nBody\n");
        assert_eq!(set_field("", "a", &json!("b")), "---\na: b\n---\n");
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
