//! Prompts in the protocol's types, and the methods `prompts/create`, `prompts/update` and
//! `prompts/delete`.

use rmcp::model::{GetPromptResult, MetaObject, Prompt, PromptArgument, PromptMessage};
use serde::Deserialize;
use serde_json::Value;

use crate::{
    app::{
        App,
        prompts::{Offered, Rendered},
    },
    domain::{
        Error, Result, from_json,
        prompt::{Argument, Draft, Patch},
    },
    search,
    store::revisions::Actor,
};

pub fn listed(offered: Offered) -> Prompt {
    let arguments: Vec<PromptArgument> = offered.arguments.into_iter().map(argument).collect();
    let mut prompt = Prompt::new(offered.name, offered.description, Some(arguments));
    prompt.title = Some(offered.title);
    prompt
}

fn argument(argument: Argument) -> PromptArgument {
    let mut listed_argument = PromptArgument::new(argument.name);
    listed_argument.title = argument.title;
    listed_argument.description = argument.description;
    listed_argument.required = Some(argument.required);
    listed_argument
}

pub fn rendered(rendered: Rendered) -> Result<GetPromptResult> {
    let messages: Vec<PromptMessage> = rendered
        .messages
        .into_iter()
        .map(|message| {
            let value = serde_json::json!({ "role": message.role, "content": message.content });
            serde_json::from_value(value).map_err(|error| {
                Error::internal("a message of this prompt is not of the protocol's form")
                    .with_source(error)
            })
        })
        .collect::<Result<_>>()?;
    let mut result = GetPromptResult::new(messages);
    result.description = rendered.description;
    Ok(result)
}

/// Says in a description that the store is away: the prompt is as it was read last.
pub fn say_absence(app: &App, description: &mut Option<String>) {
    if app.store.items.absence().is_some() {
        let before = description.take().map(|text| format!("{text} ")).unwrap_or_default();
        *description = Some(format!("{before}(Note: {}.)", search::AWAY));
    }
}

/// The same for a list.
pub fn absence(app: &App) -> Option<MetaObject> {
    app.store.items.absence()?;
    Some(MetaObject([("notewell/note".to_owned(), search::AWAY.into())].into_iter().collect()))
}

/// What `prompts/delete` takes. The store refuses a name that is missing.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Named {
    name: Option<String>,
}

/// The methods that change prompts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    Create,
    Update,
    Delete,
}

impl Change {
    pub fn of(method: &str) -> Option<Self> {
        match method {
            "prompts/create" => Some(Self::Create),
            "prompts/update" => Some(Self::Update),
            "prompts/delete" => Some(Self::Delete),
            _ => None,
        }
    }

    /// Makes the change and returns hexai's message.
    pub fn make(self, app: &App, mut params: Value, actor: &Actor) -> Result<String> {
        if let Value::Object(map) = &mut params {
            map.remove("_meta");
        }
        match self {
            Self::Create => app.create_prompt(Draft::parse(params)?, actor),
            Self::Update => app.update_prompt(Patch::parse(params)?, actor),
            Self::Delete => {
                let named: Named = from_json(params)?;
                app.delete_prompt(&named.name.unwrap_or_default(), actor)
            }
        }
    }
}
