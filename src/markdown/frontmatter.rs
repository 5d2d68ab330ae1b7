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
mod tests {
    use super::*;

    fn front(text: &str) -> Frontmatter {
        let split = split(text);
        split.yaml.map(|yaml| parse(&text[yaml])).unwrap_or_default()
    }

    #[test]
    fn the_block_is_found_in_every_guise() {
        for (text, yaml, body) in [
            ("---\na: 1\n---\nText", Some("a: 1\n"), "Text"),
            ("\u{feff}---\r\na: 1\r\n---\r\nText", Some("a: 1\r\n"), "Text"),
            ("---\na: 1\n...\nText", Some("a: 1\n"), "Text"),
            ("---  \na: 1\n--- \n", Some("a: 1\n"), ""),
            ("---\n---\nText", Some(""), "Text"),
            ("---\na: 1\n---", Some("a: 1\n"), ""),
            ("---\na: 1\nText", None, "---\na: 1\nText"),
            ("----\na: 1\n----\n", None, "----\na: 1\n----\n"),
            ("\u{feff}Text", None, "Text"),
            ("---", None, "---"),
            ("", None, ""),
        ] {
            let split = split(text);
            assert_eq!(split.yaml.map(|range| &text[range]), yaml, "{text:?}");
            assert_eq!(&text[split.body..], body, "{text:?}");
        }
    }

    #[test]
    fn fields_are_read_in_three_languages() {
        let front = front(
            "---\ntitle: Заметка о сне\nfree: true\ntags: [сон, 睡眠, '#health/sleep']\naliases:\n  - 夢\n  - Dreams\ndate: 2025-01-31\nlang: RU\nauthor: Анна\nprice: 0.01\nmcp_method: sleep\nmcp_description: \"Как спать\"\narguments:\n  hours: сколько часов\nsearch: false\nrating: 5\n---\n",
        );
        assert_eq!(front.title.as_deref(), Some("Заметка о сне"));
        assert!(front.free);
        assert_eq!(front.labels, ["сон", "睡眠", "health/sleep"]);
        assert_eq!(front.aliases, ["夢", "Dreams"]);
        assert_eq!(front.date, Timestamp::parse("2025-01-31"));
        assert_eq!(front.lang.as_deref(), Some("ru"));
        assert_eq!(front.author.as_deref(), Some("Анна"));
        assert_eq!(front.price.as_deref(), Some("0.01"));
        assert_eq!(front.method.as_deref(), Some("sleep"));
        assert_eq!(front.arguments["hours"], "сколько часов");
        assert_eq!(front.search, Some(false));
        assert_eq!(front.extra["rating"], 5);
        assert!(front.problems.is_empty() && !front.broken);
    }

    #[test]
    fn tags_may_be_one_string() {
        assert_eq!(front("---\ntags: a, #b c/d, A\n---\n").labels, ["a"], "` #` starts a comment");
        assert_eq!(front("---\ntags: 'a, #b c/d, A'\n---\n").labels, ["a", "b", "c/d"]);
        assert_eq!(
            front("---\nlabels: 仕事、家\ntags: [2024]\n---\n").labels,
            ["仕事", "家", "2024"]
        );
    }

    #[test]
    fn a_number_keeps_its_spelling_as_a_title() {
        assert_eq!(front("---\ntitle: 1.10\n---\n").title.as_deref(), Some("1.10"));
        assert_eq!(front("---\ntitle: 007 # agent\n---\n").title.as_deref(), Some("007"));
    }

    #[test]
    fn a_price_is_its_text_and_never_a_float() {
        let price = |line: &str| front(&format!("---\n{line}\nmcp_method: m\n---\n"));
        for (line, text) in [
            ("price: 0.1", "0.1"),
            ("price: 0.10 # a call", "0.10"),
            ("price: '0.01'", "0.01"),
            ("\"price\": 0.000001", "0.000001"),
            ("price: 2", "2"),
        ] {
            let front = price(line);
            assert_eq!(front.price.as_deref(), Some(text), "{line}");
            assert!(front.problems.is_empty(), "{line}: {:?}", front.problems);
        }
        for line in ["price: 0", "price: 0.00", "title: x"] {
            assert_eq!(price(line).price, None, "{line}");
        }
        let flow = front("---\n{ price: 0.1, mcp_method: m }\n---\n");
        assert_eq!(flow.price.as_deref(), Some(""), "the text of a number is not at hand");
    }

    #[test]
    fn a_price_that_cannot_be_read_is_still_a_price() {
        for line in
            ["dear", "1e-2", ".5", "-1", "0.0000001", "99999999", "[1]", "true", "1,50", "", "~"]
        {
            let front = front(&format!("---\nprice: {line}\nmcp_method: m\nfree: true\n---\n"));
            assert_eq!(front.price.as_deref(), Some(""), "{line}");
            assert_eq!(front.problems.len(), 1, "{line}: {:?}", front.problems);
        }
        let unnamed = front("---\nprice: 1\nmcp_method: [a]\n---\n");
        assert_eq!(unnamed.method.as_deref(), Some(""));
        assert_eq!(front("---\nprice: 1\n---\n").method, None);
    }

    #[test]
    fn what_buyers_read_is_text() {
        let front = front(
            "---\nprice_free: 3\nmarket_description: Разбор кода\nmarket_example: コードの例\n---\n",
        );
        assert_eq!(front.price_free, 3);
        assert_eq!(front.market_description.as_deref(), Some("Разбор кода"));
        assert_eq!(front.market_example.as_deref(), Some("コードの例"));
        let wrong = parse("price_free: some\n");
        assert_eq!((wrong.price_free, wrong.problems.len()), (0, 1));
    }

    #[test]
    fn dates_are_read_as_people_type_them() {
        for date in [
            "2025-01-31",
            "20250131",
            "2025/01/31",
            "2025.1.31",
            "2025-1-31",
            "'2025-01-31 00:00:00'",
            "2025-01-31T09:00:00+09:00",
        ] {
            let front = front(&format!("---\ndate: {date}\n---\n"));
            assert_eq!(front.date, Timestamp::parse("2025-01-31"), "{date}");
        }
        assert_eq!(front("---\ndate: 2025/13/31\n---\n").problems.len(), 1);
    }

    #[test]
    fn a_wrong_type_is_a_problem_and_only_that_field_is_lost() {
        let front =
            front("---\ntitle: Ok\nfree: \"yes\"\nprice: dear\ndate: soon\ntags: {a: 1}\n---\n");
        assert_eq!(front.title.as_deref(), Some("Ok"));
        assert!(!front.free && !front.broken);
        assert_eq!(front.problems.len(), 4, "{:?}", front.problems);
        assert!(front.problems[0].contains("`free`"), "{:?}", front.problems);
    }

    #[test]
    fn yes_is_not_true() {
        let front = front("---\nfree: yes\n---\n");
        assert!(!front.free);
        assert_eq!(front.problems.len(), 1);
    }

    #[test]
    fn a_syntax_error_names_the_line_of_the_file() {
        let problem = |yaml| parse(yaml).problems.remove(0);
        let twice = problem("title: One\ntitle: Two\n");
        assert!(twice.contains("line 3"), "{twice}");
        assert!(!twice.contains("Options") && !twice.contains("Policy"), "{twice}");
        let open = problem("a: 1\nb: [1, 2\n");
        assert!(open.contains("not valid YAML") && open.contains("line "), "{open}");
    }

    #[test]
    fn a_broken_block_is_named() {
        for text in [
            "---\na: [1\n---\n",
            "---\na: 1\na: 2\n---\n",
            "---\njust prose\n---\n",
            "---\na: \"b\n---\n",
        ] {
            let front = front(text);
            assert!(front.broken, "{text:?}");
            assert_eq!(front.problems.len(), 1);
            assert!(!front.problems[0].contains('\n'), "{:?}", front.problems);
        }
        assert!(!front("---\n# only a comment\n---\n").broken);
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "(---\n)?[a-zé: \\[\\]{}\"'#&*!|>%@`\n\t-]{0,80}(---\n)?.{0,20}") {
            let split = split(&text);
            proptest::prop_assert!(text.is_char_boundary(split.body));
            if let Some(yaml) = split.yaml { parse(&text[yaml]); }
        }
    }
}
