//! A prompt as a Markdown file that a person edits: fields in the frontmatter, the text below.
//!
//! One user message needs no mark. Further messages start with a line `<!-- user -->` or
//! `<!-- assistant -->`; what is not text stands in such a line as JSON. What is written here reads
//! back the same.

use serde_json::{Map, Value};

use crate::{
    domain::{
        Error, Prompt, Result,
        prompt::{Content, Message, Role},
    },
    markdown::frontmatter,
};

/// Writes a prompt as Markdown. [`read`] reads it back.
pub fn write(prompt: &Prompt) -> String {
    let mut out = String::from("---\n");
    let mut map = prompt.to_map();
    map.shift_remove("messages");
    for (key, value) in &map {
        match value {
            Value::Array(items) if items.iter().any(Value::is_object) => {
                out.push_str(&format!("{key}:\n"));
                items.iter().for_each(|item| write_item(&mut out, item));
            }
            value => out.push_str(&format!("{key}: {value}\n")),
        }
    }
    out.push_str("---\n\n");
    for (number, message) in prompt.messages.iter().enumerate() {
        write_message(&mut out, message, number == 0);
    }
    out
}

/// JSON is YAML; an object a line below a dash is easier to read.
fn write_item(out: &mut String, item: &Value) {
    let Value::Object(fields) = item else {
        out.push_str(&format!("  - {item}\n"));
        return;
    };
    for (number, (key, value)) in fields.iter().enumerate() {
        let dash = if number == 0 { "- " } else { "  " };
        out.push_str(&format!("  {dash}{}: {value}\n", Value::from(key.as_str())));
    }
    if fields.is_empty() {
        out.push_str("  - {}\n");
    }
}

fn write_message(out: &mut String, message: &Message, first: bool) {
    let plain = message.extra.is_empty()
        && message.content.0.len() == 2
        && message.content.as_text().is_some_and(writes_plainly);
    if !plain {
        let mut map = Map::new();
        map.insert("content".into(), Value::Object(message.content.0.clone()));
        map.extend(message.extra.clone());
        // Keeps the comment from ending early.
        let json = Value::Object(map).to_string().replace('>', "\\u003e");
        out.push_str(&format!("<!-- {} {json} -->\n", message.role));
        return;
    }
    if !first || message.role != Role::User {
        out.push_str(&format!("<!-- {} -->\n", message.role));
    }
    out.push_str(message.content.as_text().unwrap_or_default());
    out.push('\n');
}

/// Whether a text reads back the same when it stands in the file as it is.
fn writes_plainly(text: &str) -> bool {
    !text.trim().is_empty() && !text.contains('\r') && text.lines().all(|line| mark(line).is_none())
}

/// Reads a file of this form, and any Markdown with or without frontmatter: what the frontmatter
/// does not say stays empty or is taken from `name`. Nothing is checked here but the shape.
pub fn read(text: &str, name: &str) -> Result<Prompt> {
    let split = frontmatter::split(text);
    let body = &text[split.body..];
    let mut map = match &split.yaml {
        Some(range) => read_fields(&text[range.clone()])?,
        None => Map::new(),
    };
    // Foreign files say `tags: a, b`.
    if let Some(Value::String(tags)) = map.get("tags") {
        let tags: Vec<&str> =
            tags.split(',').map(str::trim).filter(|tag| !tag.is_empty()).collect();
        map.insert("tags".into(), tags.into());
    }
    if !map.get("arguments").is_none_or(|value| value.is_null() || value.is_array()) {
        map.shift_remove("arguments");
    }
    map.entry("name").or_insert_with(|| name.into());
    let body = body.strip_prefix("\r\n").or_else(|| body.strip_prefix('\n')).unwrap_or(body);
    map.insert("messages".into(), read_messages(body)?);
    Prompt::read(map).map_err(Error::invalid_params)
}

fn read_fields(yaml: &str) -> Result<Map<String, Value>> {
    let options = serde_saphyr::options! { strict_booleans: true, with_snippet: false };
    match serde_saphyr::from_str_with_options::<Value>(yaml, options) {
        Ok(Value::Object(map)) => Ok(map),
        Ok(Value::Null) => Ok(Map::new()),
        Ok(_) => Err(Error::invalid_params("the frontmatter is not a list of `key: value` lines")),
        Err(error) => Err(Error::invalid_params(format!(
            "the frontmatter is not valid YAML: {}",
            frontmatter::syntax_error(&error)
        ))),
    }
}

fn read_messages(body: &str) -> Result<Value> {
    let mut messages: Vec<Message> = Vec::new();
    // The message that plain lines go to.
    let mut open: Option<(Role, String)> = None;
    let close = |open: &mut Option<(Role, String)>, messages: &mut Vec<Message>| {
        if let Some((role, text)) = open.take() {
            let text = text.strip_suffix('\n').unwrap_or(&text);
            let text = text.strip_suffix('\r').unwrap_or(text);
            if !text.trim().is_empty() {
                messages.push(Message { role, ..Message::user(text) });
            }
        }
    };
    for line in body.split_inclusive('\n') {
        match mark(line) {
            None => open.get_or_insert((Role::User, String::new())).1.push_str(line),
            Some((role, "")) => {
                close(&mut open, &mut messages);
                open = Some((role, String::new()));
            }
            Some((role, json)) => {
                close(&mut open, &mut messages);
                let wrong =
                    |error| Error::invalid_params(format!("the line `{}`: {error}", line.trim()));
                let mut map: Map<String, Value> = serde_json::from_str(json).map_err(wrong)?;
                let content = map.shift_remove("content").unwrap_or_default();
                let content: Content = serde_json::from_value(content).map_err(wrong)?;
                messages.push(Message { role, content, extra: map });
            }
        }
    }
    close(&mut open, &mut messages);
    serde_json::to_value(messages)
        .map_err(|error| Error::internal("messages as JSON").with_source(error))
}

/// Reads `<!-- user -->` or `<!-- assistant {json} -->`.
fn mark(line: &str) -> Option<(Role, &str)> {
    let inside = line.trim_end().strip_prefix("<!-- ")?.strip_suffix(" -->")?;
    let (role, json) = inside.split_once(' ').unwrap_or((inside, ""));
    let role = Role::ALL.iter().find(|known| known.as_str() == role)?;
    (json.is_empty() || json.starts_with('{')).then_some((*role, json))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn prompt(messages: Value) -> Prompt {
        let Value::Object(map) = json!({"name": "имя", "title": "T: \"x\" # 日本", "description": "d\nd",
            "arguments": [{"name": "a", "description": "- [x]: y", "required": true}], "messages": messages,
            "tags": ["true", "1.10"], "created": "2026-02-10T19:28:27.000Z", "rating": {"by": [1, "x"]}})
        else {
            unreachable!()
        };
        Prompt::read(map).unwrap()
    }

    #[test]
    fn a_prompt_reads_back_as_it_was_written() {
        for messages in [
            json!([{"role": "user", "content": {"type": "text", "text": "---\nx: {{a}}\n\n"}}]),
            json!([{"role": "assistant", "content": {"type": "text", "text": "привет\n日本"}},
                {"role": "user", "content": {"type": "text", "text": "<!-- user -->\n--> x"}},
                {"role": "user", "content": {"type": "image", "data": "AAAA", "mimeType": "image/png"}},
                {"role": "user", "content": {"type": "text", "text": "\n\nend", "annotations": {"priority": 1}}, "mine": 1}]),
        ] {
            let prompt = prompt(messages);
            let text = write(&prompt);
            assert_eq!(read(&text, "other").unwrap(), prompt, "{text}");
        }
    }

    #[test]
    fn foreign_markdown_becomes_one_message() {
        let text =
            "---\ndescription: Reviews code\ntags: a, b\nmode: agent\n---\n# Title\n\nDo {{it}}.\n";
        let prompt = read(text, "file_name").unwrap();
        assert_eq!((prompt.name.as_str(), prompt.title.as_str()), ("file_name", "file_name"));
        assert_eq!(prompt.texts().collect::<Vec<_>>(), ["# Title\n\nDo {{it}}."]);
        assert_eq!(prompt.tags, ["a", "b"]);
        assert_eq!(prompt.extra["mode"], "agent");
        assert!(read("", "n").is_err());
        assert!(read("---\na: [\n---\ntext", "n").is_err());
    }

    proptest! {
        #[test]
        fn any_text_survives(texts in prop::collection::vec(r"(<!-- user -->|<!-- assistant \{\} -->|[\n\r\-a ж日]){1,8}", 1..4)) {
            let messages: Vec<Value> = texts.iter().enumerate().map(|(n, text)| {
                json!({"role": if n % 2 == 0 { "user" } else { "assistant" }, "content": {"type": "text", "text": text}})
            }).collect();
            let prompt = prompt(messages.into());
            let read_back = read(&write(&prompt), "other").unwrap();
            prop_assert_eq!(read_back, prompt);
        }
    }
}
