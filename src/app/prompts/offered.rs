//! What a caller is offered as prompts: the library's own, and every page that is a method.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::{
    app::{
        App,
        page::Cursor,
        rights::{Right, Rights},
    },
    domain::{
        Error, Kind, Result,
        prompt::{Argument, Message},
    },
    store::prompts::{Stored, not_found},
};

/// A prompt as a list shows it.
#[derive(Debug, Clone, PartialEq)]
pub struct Offered {
    /// The name.
    pub name: String,
    /// The label for people.
    pub title: String,
    /// When to use it.
    pub description: Option<String>,
    /// The template variables.
    pub arguments: Vec<Argument>,
}

/// A prompt with its arguments filled in.
pub struct Rendered {
    /// When to use it.
    pub description: Option<String>,
    /// The rendered messages.
    pub messages: Vec<Message>,
}

/// A prompt of a list that is ordered by name.
fn named<'a>(library: &'a [Arc<Stored>], name: &str) -> Option<&'a Arc<Stored>> {
    let at = library.binary_search_by(|stored| stored.prompt.name.as_str().cmp(name)).ok()?;
    library.get(at)
}

impl App {
    /// The library's prompts that the caller may see, by name.
    pub fn visible_prompts(&self, rights: &Rights) -> Result<Arc<[Arc<Stored>]>> {
        match rights {
            rights if rights.may(Right::Read(Kind::Prompt)) => self.prompts.all(),
            rights if rights.may(Right::SharedPrompts) => self.prompts.shared(),
            _ => Ok(Arc::default()),
        }
    }

    /// One page of the prompts for this caller, by name.
    pub fn offered_prompts(
        &self,
        cursor: Option<String>,
        most: usize,
        rights: &Rights,
    ) -> Result<(Vec<Offered>, Option<String>)> {
        let after = Cursor::read(cursor)?.0;
        let is_after = |name: &str| after.as_deref().is_none_or(|after| name > after);
        let library = self.visible_prompts(rights)?;
        // Ordered by name already: only the page itself is copied.
        let from = library.partition_point(|stored| !is_after(&stored.prompt.name));
        let own = library[from..].iter().take(most + 1).map(|stored| Offered {
            name: stored.prompt.name.clone(),
            title: stored.prompt.title.clone(),
            description: stored.prompt.description.clone(),
            arguments: stored.prompt.arguments.clone(),
        });
        let mut offered: Vec<Offered> = own.collect();
        self.await_first_look();
        for method in self.methods(rights)? {
            let taken = || named(&library, &method.name).is_some();
            // What is sold is not given as a prompt.
            let is_offered = !method.is_initialize() && rights.sees(method.page());
            if is_offered && is_after(&method.name) && !taken() {
                offered.push(Offered {
                    arguments: method.arguments.iter().map(as_argument).collect(),
                    name: method.name,
                    title: method.title,
                    description: Some(method.description),
                });
            }
        }
        offered.sort_by(|a, b| a.name.cmp(&b.name));
        let more = offered.len() > most;
        offered.truncate(most);
        let next = offered.last().filter(|_| more).map(|last| Cursor::write(&last.name));
        Ok((offered, next))
    }

    /// Renders a prompt, and remembers the values for completion.
    pub fn render_prompt(
        &self,
        name: &str,
        arguments: &Map<String, Value>,
        rights: &Rights,
    ) -> Result<Rendered> {
        let is_own = rights.may(Right::Read(Kind::Prompt));
        let stored = match is_own {
            true => self.prompts.find(name)?,
            false => named(&self.visible_prompts(rights)?, name).cloned(),
        };
        if let Some(stored) = stored {
            let notes =
                |path: &str, heading: Option<&str>| self.section_text(path, heading, rights);
            let messages = super::render(&stored.prompt, arguments, &notes)?;
            // A disk that cannot take what was typed is no reason to withhold the prompt.
            if is_own && let Err(error) = self.prompts.remember(name, arguments) {
                tracing::warn!(?error, "could not remember the values of a prompt");
            }
            return Ok(Rendered { description: stored.prompt.description.clone(), messages });
        }
        self.await_first_look();
        let Some(method) = self.method(name, rights)? else { return Err(not_found(name)) };
        if let Some(unknown) =
            arguments.keys().find(|key| !method.arguments.iter().any(|known| known.name == **key))
        {
            return Err(Error::invalid_params(format!(
                "unknown argument `{unknown}` of the prompt `{name}`"
            )));
        }
        let text = self.run_method(&method, arguments, rights)?;
        Ok(Rendered { description: Some(method.description), messages: vec![Message::user(text)] })
    }
}

fn as_argument(argument: &crate::app::methods::Argument) -> Argument {
    Argument {
        name: argument.name.clone(),
        description: argument.description.clone(),
        required: argument.required,
        ..Argument::default()
    }
}
