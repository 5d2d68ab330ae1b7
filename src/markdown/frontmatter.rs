//! The YAML block at the head of a note: found, read and checked. A block that cannot be read
//! never hides its note: it is reported as a problem and its lines count as text.

use std::{collections::HashSet, ops::Range};

use serde_json::{Map, Value};

use crate::domain::{
    Error, Timestamp,
    money::{Money, Price},
};

/// Where the block and the body of a text stand, in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Split {
    /// The lines between the fences.
    pub yaml: Option<Range<usize>>,
    /// Where the body starts, after the closing fence (or after a byte order mark).
    pub body: usize,
    /// The text starts like a block that is never closed.
    pub unclosed: bool,
}

/// Finds the block: `---` on the first line, then the first line that is `---` or `...`.
pub fn split(text: &str) -> Split {
    let start = if text.starts_with('\u{feff}') { 3 } else { 0 };
    let none = Split { yaml: None, body: start, unclosed: false };
    let mut lines = text[start..].split_inclusive('\n');
    let Some(first) = lines.next() else { return none };
    if first.trim_end() != "---" || !first.ends_with('\n') {
        return none;
    }
    let yaml = start + first.len();
    let mut at = yaml;
    for line in lines {
        let next = at + line.len();
        if matches!(line.trim_end(), "---" | "...") {
            return Split { yaml: Some(yaml..at), body: next, unclosed: false };
        }
        at = next;
    }
    // A first line of `---` may also be a rule; only a `key:` line after it makes it a block.
    let field = text[yaml..].lines().next().and_then(|line| line.split_once(':'));
    let is_key = |key: &str| {
        !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-'))
    };
    Split { unclosed: field.is_some_and(|(key, _)| is_key(key)), ..none }
}

/// What the block says. Fields of a wrong type are left out and named in `problems`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Frontmatter {
    /// `title`.
    pub title: Option<String>,
    /// `free: true`.
    pub free: bool,
    /// `access: members`.
    pub members: bool,
    /// `tags` and `labels`.
    pub labels: Vec<String>,
    /// `aliases`.
    pub aliases: Vec<String>,
    /// `date`.
    pub date: Option<Timestamp>,
    /// `lang`.
    pub lang: Option<String>,
    /// `author`.
    pub author: Option<String>,
    /// `price` as it is written; empty when it is no amount. A price of zero is none.
    pub price: Option<String>,
    /// `price_free`.
    pub price_free: u32,
    /// `market_description`.
    pub market_description: Option<String>,
    /// `market_example`.
    pub market_example: Option<String>,
    /// `mcp_method`.
    pub method: Option<String>,
    /// `mcp_description`.
    pub description: Option<String>,
    /// Descriptions of the `{{variables}}` of a note that is a method, by name.
    pub arguments: Map<String, Value>,
    /// `search: false` keeps the note out of search.
    pub search: Option<bool>,
    /// Every other field.
    pub extra: Map<String, Value>,
    /// What is wrong with it, one sentence each.
    pub problems: Vec<String>,
    /// The block could not be read at all, and counts as text.
    pub broken: bool,
}

/// The problem of a block that is opened and never closed.
pub const UNCLOSED: &str =
    "the frontmatter starts with `---` and is never closed with another; it counts as text";

/// Reads the lines between the fences.
pub fn parse(yaml: &str) -> Frontmatter {
    let mut front = Frontmatter::default();
    if yaml.trim().is_empty() {
        return front;
    }
    let fields = match serde_saphyr::from_str_with_options::<Value>(yaml, options()) {
        Ok(Value::Object(fields)) => fields,
        Ok(Value::Null) => return front,
        Ok(_) => {
            front.broken = true;
            front.problems.push(
                "the frontmatter is not a list of `key: value` lines; it counts as text".into(),
            );
            return front;
        }
        Err(error) => {
            front.broken = true;
            front.problems.push(format!(
                "the frontmatter is not valid YAML ({}); it counts as text",
                syntax_error(&error)
            ));
            return front;
        }
    };
    let names_method = fields.contains_key("mcp_method");
    for (key, value) in fields {
        front.take(yaml, key, value);
    }
    if names_method && front.price.is_some() {
        // It was meant to be sold: a name that cannot be read does not make it free to read.
        front.method.get_or_insert_default();
    }
    front
}

/// Every field as YAML reads it; `None` when the block is not a mapping.
pub fn values(yaml: &str) -> Option<Map<String, Value>> {
    if yaml.trim().is_empty() {
        return Some(Map::new());
    }
    match serde_saphyr::from_str_with_options::<Value>(yaml, options()) {
        Ok(Value::Object(fields)) => Some(fields),
        Ok(Value::Null) => Some(Map::new()),
        _ => None,
    }
}

fn options() -> serde_saphyr::Options {
    serde_saphyr::options! {
        strict_booleans: true,
        duplicate_keys: serde_saphyr::DuplicateKeyPolicy::Error,
        with_snippet: false,
        non_finite_float_policy: serde_saphyr::NonFiniteFloatPolicy::AsString,
    }
}

/// What is wrong with a block that is not YAML, with the line of the file that it is the head of.
pub fn syntax_error(error: &serde_saphyr::Error) -> String {
    // The fence is the first line.
    let options = serde_saphyr::render_options! {
        formatter: &serde_saphyr::UserMessageFormatter,
        snippets: serde_saphyr::SnippetMode::Off,
        line_offset: 1,
    };
    let text = error.render_with_options(options);
    text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("unreadable").to_owned()
}

impl Frontmatter {
    fn take(&mut self, yaml: &str, key: String, value: Value) {
        let wrong = match key.as_str() {
            "title" => self.text(yaml, &key, &value, |front, text| front.title = Some(text)),
            "lang" | "language" => {
                self.text(yaml, &key, &value, |front, text| front.lang = Some(text.to_lowercase()))
            }
            "author" => self.text(yaml, &key, &value, |front, text| front.author = Some(text)),
            "mcp_method" => self.text(yaml, &key, &value, |front, text| front.method = Some(text)),
            "mcp_description" => {
                self.text(yaml, &key, &value, |front, text| front.description = Some(text))
            }
            "free" => match value {
                Value::Bool(free) => {
                    self.free = free;
                    None
                }
                Value::Null => None,
                _ => Some("`true` or `false`"),
            },
            "access" => match value.as_str() {
                Some("members") => {
                    self.members = true;
                    None
                }
                _ if value.is_null() => None,
                _ => Some("`members`"),
            },
            "search" => match value {
                Value::Bool(search) => {
                    self.search = Some(search);
                    None
                }
                Value::Null => None,
                _ => Some("`true` or `false`"),
            },
            "price" => return self.take_price(yaml, &value),
            "price_free" => match value.as_u64().and_then(|calls| u32::try_from(calls).ok()) {
                Some(calls) => {
                    self.price_free = calls;
                    None
                }
                None if value.is_null() => None,
                None => Some("a whole number of calls, such as `3`"),
            },
            "market_description" => {
                self.text(yaml, &key, &value, |front, text| front.market_description = Some(text))
            }
            "market_example" => {
                self.text(yaml, &key, &value, |front, text| front.market_example = Some(text))
            }
            "date" => match date(&value) {
                Some(date) => {
                    self.date = Some(date);
                    None
                }
                _ if value.is_null() => None,
                _ => Some("a date such as `2025-01-31`"),
            },
            "tags" | "labels" | "tag" => {
                match words(&value, |c| c == ',' || c == '、' || c.is_whitespace()) {
                    Some(found) => {
                        let found =
                            found.iter().map(|tag| tag.trim_start_matches('#').trim_matches('/'));
                        add_labels(&mut self.labels, found);
                        None
                    }
                    None => Some("a list of words"),
                }
            }
            "aliases" | "alias" => match words(&value, |c| c == ',') {
                Some(found) => {
                    self.aliases.extend(found);
                    None
                }
                None => Some("a list of names"),
            },
            "arguments" => match value {
                Value::Object(arguments) => {
                    self.arguments = arguments;
                    None
                }
                Value::Null => None,
                _ => Some("a mapping of variable names to descriptions"),
            },
            _ => {
                self.extra.insert(key, value);
                return;
            }
        };
        if let Some(expected) = wrong {
            self.problems.push(format!(
                "the field `{key}` of the frontmatter is not {expected}; it is left out"
            ));
        }
    }

    /// A price that cannot be read is still a price: its page is sold to nobody and free for nobody.
    fn take_price(&mut self, yaml: &str, value: &Value) {
        // A number of YAML is a float by now, so its text counts.
        let text = match value {
            Value::String(text) => Some(text.trim().to_owned()),
            Value::Number(number) => {
                written(yaml, "price").or_else(|| number.as_u64().map(|number| number.to_string()))
            }
            _ => None,
        };
        let problem = match text.as_deref().map(Money::parse) {
            Some(Ok(Money::ZERO)) => return,
            Some(Ok(amount)) => Price::new(amount).err(),
            Some(Err(error)) => Some(error),
            None => Some(Error::invalid_params("it is no decimal number such as `0.01`")),
        };
        if let Some(problem) = &problem {
            self.problems.push(format!(
                "the field `price` of the frontmatter cannot be read: {}; until it can, the page is sold to nobody and only you can read it",
                problem.plain()
            ));
        }
        self.price = Some(text.filter(|_| problem.is_none()).unwrap_or_default());
    }

    /// A word or a sentence. A number is taken as it is written: `1.10` stays `1.10`.
    fn text(
        &mut self,
        yaml: &str,
        key: &str,
        value: &Value,
        set: impl FnOnce(&mut Self, String),
    ) -> Option<&'static str> {
        let text = match value {
            Value::String(text) => text.trim().to_owned(),
            Value::Number(_) | Value::Bool(_) => {
                written(yaml, key).unwrap_or_else(|| value.to_string())
            }
            Value::Null => return None,
            Value::Array(_) | Value::Object(_) => return Some("text"),
        };
        if !text.is_empty() {
            set(self, text);
        }
        None
    }
}

/// Adds the labels that are not empty and not in the list yet. Case is ignored.
pub fn add_labels<'a>(labels: &mut Vec<String>, more: impl IntoIterator<Item = &'a str>) {
    let mut known: HashSet<String> = labels.iter().map(|label| label.to_lowercase()).collect();
    for label in more {
        if !label.is_empty() && known.insert(label.to_lowercase()) {
            labels.push(label.to_owned());
        }
    }
}

/// A date in the forms of [`Timestamp::parse`], or a day as `20250131`, `2025/1/31` or `2025.1.31`.
fn date(value: &Value) -> Option<Timestamp> {
    let text = match value {
        Value::String(text) => text.trim().to_owned(),
        Value::Number(number) => number.to_string(),
        _ => return None,
    };
    let digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
    let parts: Vec<&str> = match text.len() {
        8 if digits(&text) => vec![&text[..4], &text[4..6], &text[6..]],
        _ => text.split(['-', '/', '.']).collect(),
    };
    let day = match parts[..] {
        [year, month, day] if year.len() == 4 && parts.iter().all(|part| digits(part)) => {
            Timestamp::parse(&format!("{year}-{month:0>2}-{day:0>2}"))
        }
        _ => None,
    };
    day.or_else(|| Timestamp::parse(&text))
}

/// A list, or one string with separators in it.
fn words(value: &Value, separator: impl Fn(char) -> bool) -> Option<Vec<String>> {
    let scalar = |value: &Value| match value {
        Value::String(text) => Some(text.trim().to_owned()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        Value::Null => Some(String::new()),
        Value::Array(_) | Value::Object(_) => None,
    };
    let mut found: Vec<String> = match value {
        Value::Array(items) => items.iter().map(scalar).collect::<Option<_>>()?,
        Value::String(text) => text.split(separator).map(|word| word.trim().to_owned()).collect(),
        other => vec![scalar(other)?],
    };
    found.retain(|word| !word.is_empty());
    Some(found)
}

/// The scalar of a top-level field, as the author typed it.
fn written(yaml: &str, key: &str) -> Option<String> {
    let keys = [key.to_owned(), format!("\"{key}\""), format!("'{key}'")];
    let after = |line: &'_ str| {
        let rest = keys.iter().find_map(|key| line.strip_prefix(key.as_str()))?;
        Some(rest.trim_start().strip_prefix(':')?.to_owned())
    };
    let line = yaml.lines().find_map(after)?;
    let line = line.split(" #").next().unwrap_or(&line).trim();
    (!line.is_empty()).then(|| line.to_owned())
}

#[cfg(test)]
mod tests;
