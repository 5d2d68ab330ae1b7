//! The form of a prompt: its fields, its arguments, its messages, and values to try it with.

use serde_json::{Map, Value};

use crate::{
    domain::{
        Prompt, Result, Timestamp,
        prompt::{Argument, Draft as NewPrompt, Message, Patch, Role},
    },
    serve::web::Form,
};

/// Empty rows for arguments that somebody may add.
const SPARE_ARGUMENTS: usize = 2;

/// What a form says of a prompt.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Draft {
    /// The name.
    pub name: String,
    /// The label for people.
    pub title: String,
    /// When to use it.
    pub description: String,
    /// The tags, with commas between them.
    pub tags: String,
    /// The arguments, and empty rows after them.
    pub arguments: Vec<ArgumentRow>,
    /// The messages, and an empty one after them.
    pub messages: Vec<MessageRow>,
}

/// One argument in the form.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ArgumentRow {
    /// The variable.
    pub name: String,
    /// What to fill in.
    pub description: String,
    /// Whether rendering fails without it.
    pub required: bool,
    /// The value to try it with.
    pub value: String,
}

/// One message in the form.
#[derive(Debug, Clone, PartialEq)]
pub struct MessageRow {
    /// Who speaks.
    pub role: Role,
    /// What they say.
    pub text: String,
    /// `image`, for one that is not text and is kept as it is; empty otherwise.
    pub kept: String,
}

impl Draft {
    /// The form that shows a prompt.
    pub fn of(prompt: &Prompt) -> Self {
        let argument = |argument: &Argument| ArgumentRow {
            name: argument.name.clone(),
            description: argument.description.clone().unwrap_or_default(),
            required: argument.required,
            value: String::new(),
        };
        let message = |message: &Message| MessageRow {
            role: message.role,
            text: message.content.as_text().unwrap_or_default().replace("\r\n", "\n"),
            kept: match message.content.as_text() {
                Some(_) => String::new(),
                None => message.content.kind().to_owned(),
            },
        };
        Self {
            name: prompt.name.clone(),
            title: prompt.title.clone(),
            description: prompt.description.clone().unwrap_or_default().replace("\r\n", "\n"),
            tags: prompt.tags.join(", "),
            arguments: prompt.arguments.iter().map(argument).collect(),
            messages: prompt.messages.iter().map(message).collect(),
        }
        .with_spare_rows()
    }

    /// Reads a form.
    pub fn read(form: &Form) -> Self {
        let text = |name: &str| form.field(name).replace("\r\n", "\n");
        let count = |name: &str| form.field(name).parse::<usize>().unwrap_or(0).min(300);
        let arguments = (0..count("arguments")).map(|n| ArgumentRow {
            name: text(&format!("argument-{n}")).trim().to_owned(),
            description: text(&format!("about-{n}")).trim().to_owned(),
            required: form.value(&format!("required-{n}")).is_some(),
            value: text(&format!("value-{n}")),
        });
        let messages = (0..count("messages")).map(|n| MessageRow {
            role: form.field(&format!("role-{n}")).parse().unwrap_or(Role::User),
            text: text(&format!("text-{n}")),
            kept: text(&format!("kept-{n}")),
        });
        Self {
            name: text("name").trim().to_owned(),
            title: text("title").trim().to_owned(),
            description: text("description").trim().to_owned(),
            tags: text("tags").trim().to_owned(),
            arguments: arguments.filter(|row| !row.name.is_empty()).collect(),
            messages: messages
                .filter(|row| !row.text.trim().is_empty() || !row.kept.is_empty())
                .collect(),
        }
    }

    /// The same with empty rows to fill in.
    pub fn with_spare_rows(mut self) -> Self {
        let spare = std::iter::repeat_with(ArgumentRow::default).take(SPARE_ARGUMENTS);
        self.arguments.extend(spare);
        self.messages.push(MessageRow {
            role: Role::User,
            text: String::new(),
            kept: String::new(),
        });
        self
    }

    /// Values to try the prompt with, by argument, taken over from another form.
    pub fn with_values_of(mut self, other: &Self) -> Self {
        for row in self.arguments.iter_mut().filter(|row| !row.name.is_empty()) {
            let given = other.arguments.iter().find(|given| given.name == row.name);
            row.value = given.map(|given| given.value.clone()).unwrap_or_default();
        }
        self
    }

    /// The prompt that the form describes. What the form does not show is as in `old`.
    pub fn prompt(&self, old: Option<&Prompt>) -> Prompt {
        Prompt {
            name: self.name.clone(),
            title: self.title.clone(),
            description: Some(self.description.clone()).filter(|text| !text.is_empty()),
            arguments: self.argument_list(old),
            messages: self.message_list(old),
            tags: super::super::bookmarks::tags(&self.tags),
            created: old.and_then(|old| old.created),
            updated: old.and_then(|old| old.updated),
            extra: old.map(|old| old.extra.clone()).unwrap_or_default(),
        }
    }

    fn argument_list(&self, old: Option<&Prompt>) -> Vec<Argument> {
        let rows = self.arguments.iter().filter(|row| !row.name.is_empty());
        let argument = |row: &ArgumentRow| {
            let known = old.and_then(|old| old.arguments.iter().find(|one| one.name == row.name));
            Argument {
                name: row.name.clone(),
                description: Some(row.description.clone()).filter(|text| !text.is_empty()),
                required: row.required,
                ..known.cloned().unwrap_or_default()
            }
        };
        rows.map(argument).collect()
    }

    fn message_list(&self, old: Option<&Prompt>) -> Vec<Message> {
        let stored = old.map(|old| old.messages.as_slice()).unwrap_or_default();
        // Those that are not text are kept in their order.
        let mut kept = stored.iter().filter(|message| message.content.as_text().is_none());
        let mut texts = stored.iter().filter(|message| message.content.as_text().is_some());
        let rows = self.messages.iter();
        let rows = rows.filter(|row| !row.text.trim().is_empty() || !row.kept.is_empty());
        let message = |row: &MessageRow| -> Option<Message> {
            if !row.kept.is_empty() {
                return kept.next().cloned();
            }
            Some(match texts.next() {
                Some(old) => Message {
                    role: row.role,
                    content: old.content.with_text(row.text.clone()),
                    extra: old.extra.clone(),
                },
                None => Message { role: row.role, ..Message::user(row.text.clone()) },
            })
        };
        rows.filter_map(message).collect()
    }

    /// A prompt to make.
    pub fn new_prompt(&self, old: Option<&Prompt>) -> NewPrompt {
        let prompt = self.prompt(old);
        NewPrompt {
            name: Some(prompt.name),
            title: Some(prompt.title),
            description: prompt.description,
            arguments: Some(prompt.arguments),
            messages: Some(prompt.messages),
            tags: Some(prompt.tags),
        }
    }

    /// What the form changes of a prompt: only what differs.
    pub fn patch(&self, old: &Prompt) -> Option<Patch> {
        let new = self.prompt(Some(old));
        let before = Self::of(old).prompt(Some(old));
        let patch = Patch {
            name: Some(old.name.clone()),
            new_name: (new.name != old.name).then_some(new.name),
            title: (new.title != before.title).then_some(new.title),
            description: (new.description != before.description)
                .then(|| new.description.unwrap_or_default()),
            arguments: (new.arguments != before.arguments).then_some(new.arguments),
            messages: (new.messages != before.messages).then_some(new.messages),
            tags: (self.tags != old.tags.join(", ")).then_some(new.tags),
        };
        (!patch.is_empty()).then_some(patch)
    }

    /// What the prompt becomes with the values of the form. An argument without a value stays as it
    /// is written.
    pub fn values(&self) -> Map<String, Value> {
        let rows = self.arguments.iter().filter(|row| !row.name.is_empty());
        let value = |row: &ArgumentRow| match (row.value.is_empty(), row.required) {
            (false, _) => Some((row.name.clone(), row.value.clone().into())),
            (true, true) => Some((row.name.clone(), format!("{{{{{}}}}}", row.name).into())),
            (true, false) => None,
        };
        rows.filter_map(value).collect()
    }

    /// Checks the prompt as a save would, without saving.
    pub fn check(&self, old: Option<&Prompt>) -> Result<()> {
        self.new_prompt(old).into_prompt(Timestamp(0)).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn stored() -> Prompt {
        let Value::Object(map) = json!({
            "name": "обзор", "title": "Review", "description": "", "tags": ["a, b"],
            "arguments": [{"name": "code", "required": true, "title": "Код", "x": 1}, {"name": "語"}],
            "messages": [
                {"role": "user", "content": {"type": "text", "text": "one {{code}}", "annotations": {"p": 1}}},
                {"role": "user", "content": {"type": "image", "data": "AAAA", "mimeType": "image/png"}},
                {"role": "assistant", "content": {"type": "text", "text": "two {{語}}"}},
            ],
        }) else {
            unreachable!()
        };
        Prompt::read(map).unwrap()
    }

    #[test]
    fn a_form_that_nobody_touched_changes_nothing() {
        assert_eq!(Draft::of(&stored()).patch(&stored()), None);
    }

    #[test]
    fn what_the_form_does_not_show_is_kept() {
        let mut draft = Draft::of(&stored());
        draft.messages[0].text = "three {{code}}".into();
        draft.arguments[0].description = "Что смотреть".into();
        let patch = draft.patch(&stored()).unwrap();
        assert!(patch.title.is_none() && patch.tags.is_none() && patch.new_name.is_none());
        let arguments = patch.arguments.unwrap();
        assert_eq!(arguments[0].title.as_deref(), Some("Код"));
        assert_eq!(arguments[0].extra["x"], 1);
        let messages = patch.messages.unwrap();
        assert_eq!(messages.len(), 3);
        assert_eq!(messages[0].content.0["annotations"]["p"], 1);
        assert_eq!(messages[1], stored().messages[1]);
        assert_eq!(messages[2], stored().messages[2]);
    }

    #[test]
    fn an_argument_without_a_value_stays_as_it_is_written() {
        let mut draft = Draft::of(&stored());
        draft.arguments[1].value = "日本語".into();
        assert_eq!(Value::Object(draft.values()), json!({"code": "{{code}}", "語": "日本語"}));
    }
}
