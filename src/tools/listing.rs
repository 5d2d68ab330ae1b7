//! Which tools there are for a caller, in a fixed order, by pages.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::{Effect, Right, TABLE, Toolset, door::may_use};
use crate::{
    app::{App, methods::INITIALIZE, rights::Rights},
    domain::Result,
};

/// A tool as it is told to a client.
#[derive(Debug, Clone)]
pub struct Listed {
    /// The name.
    pub name: String,
    /// The title for people.
    pub title: String,
    /// The instruction to models.
    pub description: String,
    /// The schema of the arguments.
    pub input: Arc<Map<String, Value>>,
    /// The schema of the structured result.
    pub output: Option<Arc<Map<String, Value>>>,
    /// What it may change.
    pub effect: Effect,
}

/// Every tool that this caller may use, the built-in ones in the order of the table.
pub fn list(app: &App, rights: &Rights) -> Result<Vec<Listed>> {
    let built_in = TABLE.iter().filter(|entry| may_use(entry, rights)).map(|entry| {
        let schemas = entry.schemas();
        Listed {
            name: entry.name.into(),
            title: entry.title.into(),
            input: schemas.input.clone(),
            description: schemas.description.clone(),
            output: Some(schemas.output.clone()),
            effect: entry.effect,
        }
    });
    let mut listed: Vec<Listed> = built_in.collect();
    if rights.may(Right::Use(Toolset::Vault)) {
        app.await_first_look();
        let methods = app.methods(rights)?;
        listed.extend(methods.into_iter().filter(|method| method.name != INITIALIZE).map(
            |method| Listed {
                input: Arc::new(method.schema()),
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
