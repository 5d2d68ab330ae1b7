//! What a caller is offered as prompts: the library's own, and every page that is a method.

use serde_json::{Map, Value};

use crate::{
    app::{App, methods::INITIALIZE, page::Cursor, view::View},
    domain::{
        Error, Result,
        prompt::{Argument, Message},
    },
};

/// A prompt as a list shows it.
#[derive(Debug, Clone, PartialEq)]
pub struct Offered {
    pub name: String,
    pub title: String,
    pub description: Option<String>,
    pub arguments: Vec<Argument>,
}

/// A prompt with its arguments filled in.
pub struct Rendered {
    pub description: Option<String>,
    pub messages: Vec<Message>,
}

impl App {
    /// One page of the prompts for this caller, by name.
    pub fn offered_prompts(
        &self,
        cursor: Option<String>,
        most: usize,
        view: &View<'_>,
    ) -> Result<(Vec<Offered>, Option<String>)> {
        let after = Cursor::read(cursor)?.0;
        let is_after = |name: &str| after.as_deref().is_none_or(|after| name > after);
        let owner = view.caller.is_owner() && view.author.is_none();
        let library = self.prompts.all()?;
        // Ordered by name already: only the page itself is copied.
        let from = library.partition_point(|stored| !is_after(&stored.prompt.name));
        let own = library[from..]
            .iter()
            .filter(|stored| owner || !stored.origin.is_user())
            .take(most + 1)
            .map(|stored| Offered {
                name: stored.prompt.name.clone(),
                title: stored.prompt.title.clone(),
                description: stored.prompt.description.clone(),
                arguments: stored.prompt.arguments.clone(),
            });
        let mut offered: Vec<Offered> = own.collect();
        for method in self.methods(view)? {
            let taken = || self.prompts.find(&method.name).ok().flatten().is_some();
            if method.name != INITIALIZE && is_after(&method.name) && !taken() {
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
        view: &View<'_>,
    ) -> Result<Rendered> {
        let owner = view.caller.is_owner() && view.author.is_none();
        let own = self.prompts.find(name)?.filter(|stored| owner || !stored.origin.is_user());
        if let Some(stored) = own {
            let notes = |path: &str, heading: Option<&str>| self.section_text(path, heading, view);
            let messages = super::render(&stored.prompt, arguments, &notes)?;
            // A disk that cannot take what was typed is no reason to withhold the prompt.
            if owner && let Err(error) = self.prompts.remember(name, arguments) {
                tracing::warn!(?error, "could not remember the values of a prompt");
            }
            return Ok(Rendered { description: stored.prompt.description.clone(), messages });
        }
        let Some(method) = self.method(name, view)? else {
            // The store's own words for a name that is empty or not there.
            return match self.prompts.get(name) {
                Err(error) => Err(error),
                Ok(_) => Err(Error::invalid_params(format!("no prompt is called `{name}`"))),
            };
        };
        if let Some(unknown) =
            arguments.keys().find(|key| !method.arguments.iter().any(|known| known.name == **key))
        {
            return Err(Error::invalid_params(format!(
                "unknown argument `{unknown}` of the prompt `{name}`"
            )));
        }
        let text = self.run_method(&method, arguments, view)?;
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
