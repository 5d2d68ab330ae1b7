//! Which tools there are for a caller, in a fixed order, by pages.

use std::{fmt, sync::Arc};

use serde_json::{Map, Value};

use super::{Effect, Right, TABLE, Toolset, door::may_use};
use crate::{
    app::{App, methods::Method, rights::Rights},
    domain::{Pid, Price, Result},
};

/// A tool as a client lists it.
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
    /// What a call costs, where it costs something.
    pub price: Option<ListedPrice>,
}

/// The price of a method as a client sees it.
#[derive(Debug, Clone)]
pub struct ListedPrice {
    /// The page that is sold.
    pub pid: Pid,
    /// The amount.
    pub price: Price,
    /// The currency.
    pub currency: String,
    /// Trial calls that each buyer has.
    pub free_calls: u32,
}

impl ListedPrice {
    /// The price of a method.
    pub fn of(method: &Method, app: &App) -> Option<Self> {
        Some(Self {
            pid: method.pid(),
            price: method.price()?,
            currency: app.config.market.currency.clone(),
            free_calls: method.page().price_free,
        })
    }
}

impl fmt::Display for ListedPrice {
    /// `0.01 USD a call, the first 3 free`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} a call", self.price, self.currency)?;
        match self.free_calls {
            0 => Ok(()),
            1 => f.write_str(", the first one free"),
            calls => write!(f, ", the first {calls} free"),
        }
    }
}

/// Every tool that this caller may use with any client, the built-in ones in the order of the table.
pub fn list(app: &App, rights: &Rights) -> Result<Vec<Listed>> {
    list_for(app, rights, false)
}

/// As [`list`], with what is only there for clients that follow tasks.
pub fn list_for(app: &App, rights: &Rights, follows_tasks: bool) -> Result<Vec<Listed>> {
    // Methods, and what they make of the market, come with the first look at the vaults.
    if [Toolset::Vault, Toolset::Market].iter().any(|set| rights.may(Right::Use(*set))) {
        app.await_first_look();
    }
    let mut listed: Vec<Listed> = Vec::new();
    for entry in TABLE {
        if !may_use(app, entry, rights)? || (entry.task_only && !follows_tasks) {
            continue;
        }
        let schemas = entry.schemas();
        listed.push(Listed {
            name: entry.name.into(),
            title: entry.title.into(),
            input: schemas.input.clone(),
            description: schemas.description.clone(),
            output: Some(schemas.output.clone()),
            effect: entry.effect,
            price: None,
        });
    }
    if rights.may(Right::Use(Toolset::Vault)) {
        let methods = app.methods(rights)?;
        let tools = methods.into_iter().filter(|method| !method.is_initialize());
        listed.extend(tools.map(|method| {
            let price = ListedPrice::of(&method, app);
            let description = match &price {
                Some(price) => format!("{} · {price}", method.description.trim_end()),
                None => method.description.clone(),
            };
            Listed {
                input: Arc::new(method.schema()),
                name: method.name,
                title: method.title,
                description,
                output: None,
                effect: Effect::Reads,
                price,
            }
        }));
    }
    Ok(listed)
}
