//! A prompt with its arguments filled in.

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::{
    domain::{
        Code, Error, Prompt, Result,
        prompt::{Argument, Message},
    },
    markdown::template::{self, Part},
};

/// Finds the text of `{{note:path#Heading}}`.
pub type Notes<'a> = &'a dyn Fn(&str, Option<&str>) -> Result<String>;

/// For a place without a vault.
pub fn no_notes(path: &str, _heading: Option<&str>) -> Result<String> {
    Err(Error::invalid_params(format!("note `{path}`: there is no vault to take it from")))
}

/// The messages with every placeholder filled, in one pass. Only text is touched: images, sounds
/// and resources pass through.
///
/// An optional argument that is absent, null or empty takes the placeholder's default, else nothing.
/// A placeholder that no argument declares (a file written by hand) can be given too, and stays as
/// it is written when it is not.
pub fn render(
    prompt: &Prompt,
    arguments: &Map<String, Value>,
    notes: Notes<'_>,
) -> Result<Vec<Message>> {
    check(prompt, arguments)?;
    let fill = |part: Part<'_>| -> Result<Cow<'_, str>> {
        Ok(match part {
            Part::Text(text) => Cow::Owned(text.to_owned()),
            Part::Note { path, heading, default, .. } => match (notes(path, heading), default) {
                (Ok(text), _) => Cow::Owned(text),
                (Err(_), Some(default)) => Cow::Owned(default.to_owned()),
                (Err(error), None) => return Err(error),
            },
            Part::Variable { name, default, whole } => {
                let given = arguments.get(name).and_then(Value::as_str);
                let given = given.filter(|text| !text.is_empty() || requires(prompt, name));
                let declared = declares(prompt, name).then_some("");
                Cow::Owned(given.or(default).or(declared).unwrap_or(whole).to_owned())
            }
        })
    };
    let rendered = prompt.messages.iter().map(|message| {
        let Some(text) = message.content.as_text() else { return Ok(message.clone()) };
        let content = message.content.with_text(template::render(text, fill)?);
        Ok(Message { content, ..message.clone() })
    });
    rendered.collect()
}

fn check(prompt: &Prompt, arguments: &Map<String, Value>) -> Result<()> {
    let missing: Vec<&Argument> = prompt
        .arguments
        .iter()
        .filter(|argument| argument.required)
        .filter(|argument| arguments.get(&argument.name).is_none_or(Value::is_null))
        .collect();
    if !missing.is_empty() {
        let names: Vec<&str> = missing.iter().map(|argument| argument.name.as_str()).collect();
        let plural = if names.len() == 1 { "" } else { "s" };
        return Err(Error::new(
            Code::InvalidParams,
            format!("Missing required argument{plural}: {}", names.join(", ")),
        ));
    }
    for (name, value) in arguments {
        if !declares(prompt, name) && !uses(prompt, name) {
            let known: Vec<String> =
                prompt.arguments.iter().map(|argument| format!("`{}`", argument.name)).collect();
            let takes = match known.as_slice() {
                [] => "takes no arguments".to_owned(),
                _ => format!("takes {}", known.join(", ")),
            };
            let name: String = name.chars().take(100).collect();
            return Err(Error::invalid_params(format!(
                "unknown argument `{name}`; prompt `{}` {takes}",
                prompt.name
            )));
        }
        if !value.is_string() && !value.is_null() {
            return Err(Error::invalid_params(format!("argument `{name}` must be a string")));
        }
    }
    Ok(())
}

fn declares(prompt: &Prompt, name: &str) -> bool {
    prompt.arguments.iter().any(|argument| argument.name == name)
}

fn requires(prompt: &Prompt, name: &str) -> bool {
    prompt.arguments.iter().any(|argument| argument.name == name && argument.required)
}

fn uses(prompt: &Prompt, name: &str) -> bool {
    prompt.texts().any(|text| template::variables(text).iter().any(|(used, _)| *used == name))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn prompt() -> Prompt {
        let Value::Object(map) = json!({"name": "p", "title": "P",
            "arguments": [{"name": "code", "required": true}, {"name": "язык"}, {"name": "語"}],
            "messages": [
                {"role": "user", "content": {"type": "text", "text": "{{code}} на {{язык|Go}}, {{語}}. {{free}}"}},
                {"role": "user", "content": {"type": "image", "data": "AAAA", "mimeType": "image/png", "annotations": {"priority": 1}}},
                {"role": "user", "content": {"type": "resource", "resource": {"uri": "a:b", "text": "{{code}}"}}},
                {"role": "assistant", "content": {"type": "text", "text": "{{note:план.md#Цель}} {{note:none|nothing yet}} \\{{code}}"}}]})
        else {
            unreachable!()
        };
        Prompt::read(map).unwrap()
    }

    fn notes(path: &str, heading: Option<&str>) -> Result<String> {
        match path {
            "план.md" => Ok(format!("<{} {{{{code}}}}>", heading.unwrap_or("all"))),
            _ => no_notes(path, heading),
        }
    }

    fn rendered(arguments: Value) -> Result<Vec<Message>> {
        let Value::Object(arguments) = arguments else { unreachable!() };
        render(&prompt(), &arguments, &notes)
    }

    #[test]
    fn every_text_is_filled_once_and_the_rest_passes_through() {
        let messages = rendered(json!({"code": "{{語}}", "語": "日本語"})).unwrap();
        assert_eq!(messages[0].content.as_text(), Some("{{語}} на Go, 日本語. {{free}}"));
        assert_eq!(messages[1], prompt().messages[1]);
        assert_eq!(messages[2], prompt().messages[2]);
        assert_eq!(messages[3].content.as_text(), Some("<Цель {{code}}> nothing yet {{code}}"));
        for empty in [json!(null), json!("")] {
            let messages = rendered(json!({"code": "", "free": "x", "язык": empty, "語": empty}));
            assert_eq!(messages.unwrap()[0].content.as_text(), Some(" на Go, . x"));
        }
    }

    #[test]
    fn arguments_are_checked_by_name() {
        for (arguments, says) in [
            (json!({}), "Missing required argument: code"),
            (json!({"code": null}), "Missing required argument: code"),
            (
                json!({"code": "x", "colour": "red"}),
                "unknown argument `colour`; prompt `p` takes `code`, `язык`, `語`",
            ),
            (json!({"code": 5}), "argument `code` must be a string"),
        ] {
            let error = rendered(arguments).unwrap_err();
            assert_eq!(error.code, Code::InvalidParams);
            assert!(error.message.ends_with(says), "{error}");
        }
    }
}
