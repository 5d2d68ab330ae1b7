//! Calls a tool as the owner, for commands that are a tool with flags.

use serde_json::{Map, Value};

use super::out;
use crate::{
    app::App,
    domain::{Error, Result},
    tools::{self, Output},
};

pub type Arguments = Map<String, Value>;

/// The arguments that were given.
pub fn given<const N: usize>(arguments: [(&str, Option<Value>); N]) -> Arguments {
    let arguments = arguments.into_iter();
    arguments.filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}

/// What a tool answers for programs.
pub fn structured(app: &App, tool: &str, arguments: Arguments) -> Result<Value> {
    call(app, tool, arguments)?
        .structured
        .ok_or_else(|| Error::internal(format!("`{tool}` gave no structured answer")))
}

/// Prints what a tool answers: its text, or the structure for programs.
pub fn print_answer(app: &App, tool: &str, arguments: Arguments, json: bool) -> Result<()> {
    let output = call(app, tool, arguments)?;
    match output.structured.filter(|_| json) {
        Some(value) => out::json(&value)?,
        None => {
            out::say(output.text.trim_end());
            output.aside.into_iter().for_each(out::note);
        }
    }
    Ok(())
}

fn call(app: &App, tool: &str, arguments: Arguments) -> Result<Output> {
    let around = tools::Call::default();
    tools::call(app, &app.owner(), tool, Value::Object(arguments), &around)
}
