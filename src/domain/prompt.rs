//! A prompt: a named, templated list of messages, and the two ways a caller may change one.
//!
//! Reading is lenient (a library written by another program must open), writing is strict: what a
//! caller sends is checked here once, before any file is touched.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use unicode_normalization::UnicodeNormalization;

use super::{Code, Error, Result, Timestamp, from_json, query::words};

/// Characters of a name.
pub const MAX_NAME: usize = 128;
/// Characters of a title.
pub const MAX_TITLE: usize = 500;
/// Characters of a description.
pub const MAX_DESCRIPTION: usize = 10_000;
/// Arguments of a prompt.
pub const MAX_ARGUMENTS: usize = 64;
/// Messages of a prompt.
pub const MAX_MESSAGES: usize = 256;
/// Tags of a prompt.
pub const MAX_TAGS: usize = 64;
/// All text of a prompt's messages together, in bytes.
pub const MAX_TEXT: usize = 1 << 20;
/// All messages together, images and sounds included, in bytes of JSON.
pub const MAX_CONTENT: usize = 8 << 20;

words!(
    /// Who speaks a message. The protocol knows these two.
    Role, "role", { User = "user", Assistant = "assistant" }
);

/// A template variable that a caller may fill in.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Argument {
    /// The variable's name in the template.
    pub name: String,
    /// A label for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What to fill in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether rendering fails without it.
    #[serde(default, deserialize_with = "null_is_default")]
    pub required: bool,
    /// What another program wrote there: kept, never sent by a caller.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// One message of a prompt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// Text, image, audio or resource, as the protocol writes it.
    pub content: Content,
    /// Fields of another program, kept as they are.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl Message {
    /// A user message of plain text.
    pub fn user(text: impl Into<String>) -> Self {
        Self { role: Role::User, content: Content::text(text), extra: Map::new() }
    }
}

/// What a message says, as the protocol has it: text, image, audio, resource or resource_link.
/// Only its shape is checked; every field passes through.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Content(pub Map<String, Value>);

impl Content {
    /// Plain text.
    pub fn text(text: impl Into<String>) -> Self {
        let mut map = Map::new();
        map.insert("type".into(), "text".into());
        map.insert("text".into(), Value::String(text.into()));
        Self(map)
    }

    /// The `type` of the content: `text`, `image`…
    pub fn kind(&self) -> &str {
        self.str("type").unwrap_or_default()
    }

    /// The text of a text message; other kinds have none that a template may touch.
    pub fn as_text(&self) -> Option<&str> {
        (self.kind() == "text").then(|| self.str("text").unwrap_or_default())
    }

    /// The same message with another text.
    pub fn with_text(&self, text: String) -> Self {
        let mut content = self.clone();
        content.0.insert("text".into(), Value::String(text));
        content
    }

    fn str(&self, key: &str) -> Option<&str> {
        self.0.get(key).and_then(Value::as_str)
    }

    fn check(&self) -> Result<(), String> {
        let need = |key: &str| match self.0.get(key) {
            Some(Value::String(text)) if !text.is_empty() => Ok(text.as_str()),
            _ => Err(format!("content of type `{}` needs a string `{key}`", self.kind())),
        };
        match self.kind() {
            // Another program leaves an empty text out.
            "text" => match self.0.get("text") {
                None | Some(Value::String(_)) => Ok(()),
                Some(_) => Err("`text` of a message is a string".into()),
            },
            "image" | "audio" => {
                use base64::Engine;
                let data = need("data")?;
                need("mimeType")?;
                base64::engine::general_purpose::STANDARD
                    .decode(data)
                    .map(drop)
                    .map_err(|error| format!("`data` is not base64: {error}"))
            }
            "resource" => {
                let resource = self.0.get("resource").and_then(Value::as_object);
                let resource =
                    resource.ok_or("content of type `resource` needs an object `resource`")?;
                let has = |key: &str| resource.get(key).is_some_and(Value::is_string);
                match has("uri") && (has("text") || has("blob")) {
                    true => Ok(()),
                    false => Err("an embedded resource needs `uri` and `text` or `blob`".into()),
                }
            }
            "resource_link" => need("uri").and_then(|_| need("name")).map(drop),
            "" => Err("content needs a `type`, as in {\"type\":\"text\",\"text\":\"…\"}".into()),
            other => Err(format!(
                "content type `{other}` is not one of text, image, audio, resource, resource_link"
            )),
        }
    }
}

/// A prompt as it stands in a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Prompt {
    /// Letters, digits and underscores.
    pub name: String,
    /// A label for people.
    pub title: String,
    /// When to use it.
    pub description: Option<String>,
    /// The template variables.
    pub arguments: Vec<Argument>,
    /// The messages, in order.
    pub messages: Vec<Message>,
    /// Labels to filter by.
    pub tags: Vec<String>,
    /// When it was created.
    pub created: Option<Timestamp>,
    /// When it was last changed.
    pub updated: Option<Timestamp>,
    /// Fields that are not ours. They survive every change.
    pub extra: Map<String, Value>,
}

impl Prompt {
    /// Reads one object of a library, leniently: absent and null lists are empty, a missing title
    /// is the name, a date in another form is kept and ignored. The error says what is missing.
    pub fn read(mut map: Map<String, Value>) -> Result<Self, String> {
        fn list<T: for<'a> Deserialize<'a>>(
            map: &mut Map<String, Value>,
            key: &str,
        ) -> Result<Vec<T>, String> {
            match map.shift_remove(key) {
                None | Some(Value::Null) => Ok(Vec::new()),
                Some(value) => {
                    serde_json::from_value(value).map_err(|error| format!("`{key}`: {error}"))
                }
            }
        }
        let mut text = |key: &str| match map.shift_remove(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text).filter(|text| !text.is_empty())),
            Some(_) => Err(format!("`{key}` is not a string")),
        };
        let name = text("name")?.ok_or("`name` is missing")?;
        let title = text("title")?.unwrap_or_else(|| name.clone());
        let description = text("description")?;
        let created = text("created")?.as_deref().and_then(Timestamp::parse);
        let updated = text("updated")?.as_deref().and_then(Timestamp::parse);
        let arguments = list(&mut map, "arguments")?;
        let messages: Vec<Message> = list(&mut map, "messages")?;
        let tags = list(&mut map, "tags")?;
        if messages.is_empty() {
            return Err("`messages` is empty".into());
        }
        for message in &messages {
            message.content.check()?;
        }
        Ok(Self {
            name,
            title,
            description,
            arguments,
            messages,
            tags,
            created,
            updated,
            extra: map,
        })
    }

    /// The object as a new line of a library holds it, in hexai's order of fields.
    pub fn to_map(&self) -> Map<String, Value> {
        let mut map = Map::new();
        map.insert("name".into(), self.name.clone().into());
        map.insert("title".into(), self.title.clone().into());
        map.insert("description".into(), self.description.clone().unwrap_or_default().into());
        map.insert("arguments".into(), to_value(&self.arguments));
        map.insert("messages".into(), to_value(&self.messages));
        map.insert("tags".into(), to_value(&self.tags));
        for (key, stamp) in [("created", self.created), ("updated", self.updated)] {
            if let Some(stamp) = stamp {
                map.insert(key.into(), stamp.to_string().into());
            }
        }
        map.extend(self.extra.clone());
        map
    }

    /// The messages that are text.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.messages.iter().filter_map(|message| message.content.as_text())
    }

    /// Checks what a caller wrote: names, limits, shapes. Templates are checked by the store.
    pub fn check(&self) -> Result<()> {
        check_name(&self.name)?;
        check_title(&self.title)?;
        check_description(self.description.as_deref())?;
        check_arguments(&self.arguments)?;
        check_messages(&self.messages)?;
        check_tags(&self.tags)
    }
}

/// What a caller sends to create a prompt. Everything is optional here, so that an error
/// names the missing field in the terms of the interface, not of a parser.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Draft {
    /// Required.
    pub name: Option<String>,
    /// Required.
    pub title: Option<String>,
    /// When to use it.
    pub description: Option<String>,
    /// The template variables.
    pub arguments: Option<Vec<Argument>>,
    /// Required, at least one.
    pub messages: Option<Vec<Message>>,
    /// Labels to filter by.
    pub tags: Option<Vec<String>>,
}

impl Draft {
    /// Reads a caller's JSON. An unknown field is an error.
    pub fn parse(value: Value) -> Result<Self> {
        from_json(value)
    }

    /// Checks the draft and dates it.
    pub fn into_prompt(self, now: Timestamp) -> Result<Prompt> {
        let prompt = Prompt {
            name: required_name(self.name)?,
            title: self.title.unwrap_or_default(),
            description: self.description.filter(|text| !text.is_empty()),
            arguments: self.arguments.unwrap_or_default(),
            messages: self.messages.unwrap_or_default(),
            tags: self.tags.unwrap_or_default(),
            created: Some(now),
            updated: Some(now),
            extra: Map::new(),
        };
        prompt.check()?;
        Ok(prompt)
    }
}

/// What a caller sends to change a prompt. A field that is absent or `null` keeps its value: many
/// clients write `null` for what they leave out. An empty text or list clears a field.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Patch {
    /// The prompt to change. Required.
    pub name: Option<String>,
    /// Renames the prompt.
    #[serde(rename = "newName", alias = "new_name")]
    pub new_name: Option<String>,
    /// The new title.
    pub title: Option<String>,
    /// The new description.
    pub description: Option<String>,
    /// The new arguments, all of them.
    pub arguments: Option<Vec<Argument>>,
    /// The new messages, all of them.
    pub messages: Option<Vec<Message>>,
    /// The new tags, all of them.
    pub tags: Option<Vec<String>>,
}

impl Patch {
    /// Reads a caller's JSON. An unknown field is an error.
    pub fn parse(value: Value) -> Result<Self> {
        from_json(value)
    }

    /// The prompt it is for.
    pub fn name(&self) -> Result<&str> {
        match self.name.as_deref() {
            Some(name) if !name.is_empty() => Ok(name),
            _ => Err(invalid("Prompt name is required")),
        }
    }

    /// Whether it changes nothing.
    pub fn is_empty(&self) -> bool {
        Self { name: None, ..self.clone() } == Self::default()
    }

    /// Changes the fields given, and nothing else. Returns them as they stand in a file, `None` for
    /// one that was cleared. Only what is given is checked: an older prompt that would not pass
    /// today can still be fixed one field at a time.
    pub fn apply(
        self,
        prompt: &mut Prompt,
        now: Timestamp,
    ) -> Result<Vec<(&'static str, Option<Value>)>> {
        let mut changes = Vec::new();
        if let Some(name) = self.new_name
            && name != prompt.name
        {
            prompt.name = required_name(Some(name))?;
            check_name(&prompt.name)?;
            changes.push(("name", Some(to_value(&prompt.name))));
        }
        if let Some(title) = self.title {
            prompt.title = title;
            check_title(&prompt.title)?;
            changes.push(("title", Some(to_value(&prompt.title))));
        }
        if let Some(description) = self.description {
            prompt.description = Some(description).filter(|text| !text.is_empty());
            check_description(prompt.description.as_deref())?;
            changes.push(("description", prompt.description.as_ref().map(to_value)));
        }
        if let Some(arguments) = self.arguments {
            prompt.arguments = arguments;
            check_arguments(&prompt.arguments)?;
            changes.push(("arguments", unless_empty(&prompt.arguments)));
        }
        if let Some(messages) = self.messages {
            prompt.messages = messages;
            check_messages(&prompt.messages)?;
            changes.push(("messages", unless_empty(&prompt.messages)));
        }
        if let Some(tags) = self.tags {
            prompt.tags = tags;
            check_tags(&prompt.tags)?;
            changes.push(("tags", unless_empty(&prompt.tags)));
        }
        prompt.updated = Some(now);
        changes.push(("updated", Some(to_value(&now))));
        Ok(changes)
    }
}

/// Letters and digits of any script, and underscores. The same name typed on another keyboard is
/// the same name (NFC).
pub fn check_name(name: &str) -> Result<()> {
    let fits = |c: char| c == '_' || c.is_alphanumeric() || is_mark(c);
    if let Some(bad) = name.chars().find(|c| !fits(*c)) {
        return Err(Error::invalid_params(format!(
            "name `{}` contains `{}`; use letters, digits and underscores, as in `code_review`",
            name.chars().take(MAX_NAME).collect::<String>(),
            bad.escape_debug()
        )));
    }
    at_most("name", name.chars().count(), MAX_NAME, "characters")
}

/// A combining mark inside a word, which some scripts cannot be written without.
fn is_mark(c: char) -> bool {
    unicode_normalization::char::is_combining_mark(c)
}

fn required_name(name: Option<String>) -> Result<String> {
    match name {
        Some(name) if !name.is_empty() => Ok(name.nfc().collect()),
        _ => Err(invalid("Prompt name is required")),
    }
}

fn check_title(title: &str) -> Result<()> {
    if title.trim().is_empty() {
        return Err(invalid("Prompt title is required"));
    }
    at_most("title", title.chars().count(), MAX_TITLE, "characters")
}

fn check_description(description: Option<&str>) -> Result<()> {
    let length = description.unwrap_or_default().chars().count();
    at_most("description", length, MAX_DESCRIPTION, "characters")
}

fn check_tags(tags: &[String]) -> Result<()> {
    at_most("tags", tags.len(), MAX_TAGS, "entries")?;
    match tags.iter().find(|tag| tag.trim().is_empty() || tag.chars().count() > 100) {
        Some(tag) => Err(Error::invalid_params(format!(
            "tag `{}` is empty or longer than 100 characters",
            tag.chars().take(40).collect::<String>()
        ))),
        None => Ok(()),
    }
}

fn check_arguments(arguments: &[Argument]) -> Result<()> {
    at_most("arguments", arguments.len(), MAX_ARGUMENTS, "entries")?;
    for (position, argument) in arguments.iter().enumerate() {
        let name = &argument.name;
        let fits = |c: char| c == '_' || c == '-' || c.is_alphanumeric() || is_mark(c);
        if name.is_empty() || !name.chars().all(fits) || name.starts_with('-') {
            return Err(Error::invalid_params(format!(
                "argument name `{}` is not made of letters, digits, underscores and hyphens",
                name.chars().take(MAX_NAME).collect::<String>()
            )));
        }
        at_most("argument name", name.chars().count(), MAX_NAME, "characters")?;
        if arguments[..position].iter().any(|earlier| earlier.name == *name) {
            return Err(Error::invalid_params(format!("argument `{name}` is declared twice")));
        }
        no_extra(&argument.extra, "argument", "name, title, description, required")?;
    }
    Ok(())
}

fn check_messages(messages: &[Message]) -> Result<()> {
    if messages.is_empty() {
        return Err(invalid("At least one message is required"));
    }
    at_most("messages", messages.len(), MAX_MESSAGES, "entries")?;
    for message in messages {
        message.content.check().map_err(Error::invalid_params)?;
        if message.content.as_text().is_some_and(str::is_empty) {
            return Err(Error::invalid_params("a text message needs a `text`"));
        }
        no_extra(&message.extra, "message", "role, content")?;
    }
    let text: usize = messages.iter().filter_map(|m| m.content.as_text()).map(str::len).sum();
    at_most("text of the messages", text, MAX_TEXT, "bytes")?;
    let whole: usize = messages.iter().map(|m| to_value(m).to_string().len()).sum();
    at_most("messages", whole, MAX_CONTENT, "bytes")
}

fn no_extra(extra: &Map<String, Value>, of: &str, known: &str) -> Result<()> {
    match extra.keys().next() {
        Some(key) => {
            Err(Error::invalid_params(format!("unknown field `{key}` in a {of}; it has {known}")))
        }
        None => Ok(()),
    }
}

fn at_most(what: &str, is: usize, limit: usize, unit: &str) -> Result<()> {
    match is <= limit {
        true => Ok(()),
        false => {
            Err(Error::invalid_params(format!("{what}: {is} {unit}, at most {limit} are allowed")))
        }
    }
}

fn unless_empty<T: Serialize>(list: &[T]) -> Option<Value> {
    (!list.is_empty()).then(|| to_value(list))
}

fn to_value<T: Serialize + ?Sized>(value: &T) -> Value {
    serde_json::to_value(value).expect("plain strings, lists and objects are always JSON")
}

/// A message in the interface's own words, without the usual prefix.
fn invalid(message: &str) -> Error {
    Error::new(Code::InvalidParams, message)
}

fn null_is_default<'de, T, D>(deserializer: D) -> std::result::Result<T, D::Error>
where
    T: Deserialize<'de> + Default,
    D: Deserializer<'de>,
{
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

#[cfg(test)]
mod tests;
