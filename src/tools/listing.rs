//! Which tools there are for a caller, in a fixed order, by pages.

use serde_json::{Map, Value};

use super::{Cx, Effect, TABLE, Toolset, door::may_use};
use crate::{
    app::{App, methods::INITIALIZE},
    config,
    domain::{Caller, Patience, Result, Silent},
};

/// A set of toolsets, as the config and the connection narrow it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Toolsets(u8);

impl Toolsets {
    pub const ALL: Toolsets = Toolsets(u8::MAX);

    /// Parses `?toolsets=vault,cards`. A repeated name counts once.
    pub fn parse(list: &str) -> Result<Self> {
        let mut words = list.split(',').map(str::trim).filter(|word| !word.is_empty());
        words.try_fold(0, |bits, word| Ok(bits | Self::bit(word.parse()?))).map(Self)
    }

    pub fn has(self, toolset: Toolset) -> bool {
        self.0 & Self::bit(toolset) != 0
    }

    /// What both this connection and the config allow.
    pub fn with(self, config: &config::Toolsets) -> Self {
        let on = [
            (Toolset::Vault, config.vault),
            (Toolset::Cards, config.cards),
            (Toolset::Bookmarks, config.bookmarks),
            (Toolset::Prompts, config.prompts),
            (Toolset::Market, config.market),
        ];
        let allowed = on
            .iter()
            .filter(|(_, on)| *on)
            .fold(0, |bits, (toolset, _)| bits | Self::bit(*toolset));
        Self(self.0 & allowed)
    }

    fn bit(toolset: Toolset) -> u8 {
        1 << (toolset as u8)
    }
}

/// A tool as it is told to a client.
#[derive(Debug, Clone)]
pub struct Listed {
    pub name: String,
    pub title: String,
    pub description: String,
    pub input: Map<String, Value>,
    pub output: Option<Value>,
    pub effect: Effect,
}

/// Every tool that this caller may use, the built-in ones in the order of the table.
pub fn list(
    app: &App,
    caller: &Caller,
    toolsets: Toolsets,
    author: Option<&str>,
) -> Result<Vec<Listed>> {
    let patience = Patience::default();
    let cx = Cx { app, caller, author, progress: &Silent, patience: &patience };
    let built_in = TABLE.iter().filter(|entry| may_use(entry, &cx, toolsets)).map(|entry| {
        let input = (entry.input)();
        Listed {
            name: entry.name.into(),
            title: entry.title.into(),
            input: input.listed(),
            description: input.description,
            output: Some((entry.output)()),
            effect: entry.effect,
        }
    });
    let mut listed: Vec<Listed> = built_in.collect();
    if toolsets.with(&app.config.toolsets).has(Toolset::Vault) {
        app.await_first_look();
        let methods = app.methods(&cx.view())?;
        listed.extend(methods.into_iter().filter(|method| method.name != INITIALIZE).map(
            |method| Listed {
                input: method.schema(),
                name: method.name,
                title: method.title,
                description: method.description,
                output: None,
                effect: Effect::Reads,
            },
        ));
    }
    Ok(listed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_can_only_narrow() {
        let narrow = Toolsets::parse("vault, cards").unwrap();
        let config = config::Toolsets { cards: false, ..Default::default() };
        assert!(narrow.with(&config).has(Toolset::Vault));
        assert!(!narrow.with(&config).has(Toolset::Cards));
        assert!(!narrow.with(&config).has(Toolset::Prompts));
        assert!(Toolsets::parse("vault,kitchen").is_err());
    }

    #[test]
    fn a_repeated_toolset_counts_once() {
        let once = Toolsets::parse("vault").unwrap();
        for list in ["vault,vault", "vault, vault,vault", ",vault,,vault"] {
            assert_eq!(Toolsets::parse(list).unwrap(), once, "{list}");
        }
    }
}
