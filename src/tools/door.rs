//! The one door: every call of a tool comes through here, whoever makes it.

use std::time::Instant;

use serde_json::{Map, Value};

use super::{
    Answer, Cx, Effect, Entry, Format, Output, Payment, Right, TABLE, Tool, Toolset,
    arguments::{self, Blank},
    paid,
};
use crate::{
    app::{App, rights::Rights},
    domain::{Code, Error, Patience, Progress, Result, Silent, from_json},
    search,
    telemetry::{self, metric},
};

/// What surrounds a call besides its rights: who hears of progress, and how long it may take.
pub struct Call<'a> {
    /// Where long work reports.
    pub progress: &'a dyn Progress,
    /// The caller's deadline and cancellation.
    pub patience: Patience,
    /// What the call pays with, where it costs something.
    pub payment: Payment<'a>,
}

impl Default for Call<'_> {
    fn default() -> Self {
        Self { progress: &Silent, patience: Patience::default(), payment: Payment::default() }
    }
}

/// Calls a tool by name.
pub fn call(
    app: &App,
    rights: &Rights,
    name: &str,
    arguments: Value,
    around: &Call<'_>,
) -> Result<Output> {
    // A name from the table: what a caller wrote does not go to the log.
    let known = TABLE.iter().find(|entry| entry.name == name).map_or("method", |entry| entry.name);
    let span = tracing::info_span!("tool", name = known, caller = rights.role().as_str());
    let _entered = span.enter();
    let started = Instant::now();
    let cx = Cx {
        app,
        rights,
        progress: around.progress,
        patience: &around.patience,
        payment: around.payment,
    };
    let patience = around.patience.begin();
    let (label, result) = patience.during(|| dispatch(&cx, name, arguments));
    let result = result.map(|output| patience.during(|| with_store(app, name, output)));
    let result = result.and_then(|output| within_size(app, output));
    let seconds = started.elapsed().as_secs_f64();
    let outcome = result.as_ref().map_or_else(|error| error.code.as_str(), |_| "ok");
    metrics::counter!(metric::TOOL_CALLS, "tool" => label, "caller" => rights.role().as_str(), "outcome" => outcome)
        .increment(1);
    metrics::histogram!(metric::TOOL_SECONDS, "tool" => label).record(seconds);
    match &result {
        Ok(_) => tracing::debug!(seconds, "tool answered"),
        Err(error) => tracing::debug!(code = error.code.as_str(), seconds, "tool refused"),
    }
    result.map_err(|error| match error.code {
        Code::Internal => logged(error),
        _ => error,
    })
}

/// Adds what a caller has to know of a store that other processes share: that it is away, that our
/// copy of it cannot follow, or the position of the change log that has what the call wrote.
fn with_store(app: &App, name: &str, mut output: Output) -> Output {
    if app.replica.is_none() {
        return output;
    }
    if app.store.items.absence().is_some() {
        if !output.text.contains(search::AWAY) {
            output.aside.get_or_insert_default().push_str(&format!("Note: {}.", search::AWAY));
        }
        return output;
    }
    if app.store.items.is_full() {
        output.aside.get_or_insert_default().push_str(&format!("Note: {}.", search::FULL));
    }
    let writes = TABLE.iter().any(|entry| entry.name == name && entry.effect != Effect::Reads);
    if writes && let Ok(position) = app.store.items.head() {
        output.meta.insert("notewell/position".to_owned(), position.into());
    }
    output
}

/// Logs a fault here, where the tool is known, and marks the error so that nobody logs it again.
fn logged(error: Error) -> Error {
    let incident = telemetry::incident();
    tracing::error!(incident = %incident, error = ?error, "tool failed");
    error.with_incident(incident)
}

/// The metric's label is one of a closed set: a caller cannot make new time series.
fn dispatch(cx: &Cx<'_>, name: &str, arguments: Value) -> (&'static str, Result<Output>) {
    let Some(entry) = TABLE.iter().find(|entry| entry.name == name) else {
        return ("method", run_method(cx, name, arguments));
    };
    match may_use(cx.app, entry, cx.rights) {
        Ok(true) => {}
        Ok(false) => return (entry.name, Err(no_such_tool(name))),
        Err(error) => return (entry.name, Err(error)),
    }
    (entry.name, prepare(entry, arguments).and_then(|arguments| (entry.run)(arguments, cx)))
}

/// The names of the built-in tools that a caller may use, in the order of the table.
pub fn built_in(app: &App, rights: &Rights) -> Result<Vec<&'static str>> {
    let mut names = Vec::new();
    for entry in TABLE {
        if may_use(app, entry, rights)? {
            names.push(entry.name);
        }
    }
    Ok(names)
}

/// Whether a tool is there for a caller. A market without an offer has no tool.
pub(super) fn may_use(app: &App, entry: &Entry, rights: &Rights) -> Result<bool> {
    let may = rights.may(Right::Use(entry.toolset)) && rights.may(entry.right);
    Ok(may && (entry.toolset != Toolset::Market || app.has_offers(rights)?))
}

/// A page that is a tool: its text, rendered.
fn run_method(cx: &Cx<'_>, name: &str, arguments: Value) -> Result<Output> {
    if !cx.rights.may(Right::Use(Toolset::Vault)) {
        return Err(no_such_tool(name));
    }
    let looked = cx.app.await_first_look();
    let method = cx.app.method(name, cx.rights)?.ok_or_else(|| match looked {
        true => no_such_tool(name),
        false => Error::not_found(format!(
            "{}; the notes are still being read, so try again in a moment",
            no_such_tool(name).message
        )),
    })?;
    let arguments = arguments::accept(object(arguments)?, &method.schema(), Blank::NotGiven)?;
    let ready = cx.app.open_method(&method, cx.rights)?;
    match ready.page.price() {
        Some(price) => paid::run(cx, &method, &ready, price, &arguments),
        None => cx.app.render_method(&method, &ready, &arguments, cx.rights).map(Output::of_text),
    }
}

/// Unknown, or not for this caller: the same answer, so that nobody learns what they may not see.
fn no_such_tool(name: &str) -> Error {
    let short: String = name.chars().take(100).collect();
    Error::not_found(format!("no tool is called `{short}`; `tools/list` names those there are"))
}

pub(super) fn prepare(entry: &Entry, arguments: Value) -> Result<Value> {
    arguments::accept(object(arguments)?, &entry.schemas().rules, entry.blank).map(Value::Object)
}

fn object(arguments: Value) -> Result<Map<String, Value>> {
    match arguments {
        Value::Null => Ok(Map::new()),
        Value::Object(map) => Ok(map),
        _ => Err(Error::invalid_params("arguments must be an object")),
    }
}

/// Reads the arguments of one tool and calls it. The table keeps one of these for each tool.
pub(super) fn run<T: Tool>(arguments: Value, cx: &Cx<'_>) -> Result<Output> {
    // Tools that list `json` among their formats are all answered alike.
    let as_json = arguments.get("format").and_then(Value::as_str) == Some(Format::Json.as_str());
    let tool: T = from_json(arguments)?;
    cx.patience.check()?;
    let answer = tool.call(cx)?;
    let structured = serde_json::to_value(&answer).map_err(|error| {
        Error::internal("could not write the answer as JSON").with_source(error)
    })?;
    let (text, aside) = match as_json {
        true => (structured.to_string(), None),
        false => (answer.text(), answer.aside()),
    };
    Ok(Output { text, aside, structured: Some(structured), meta: Map::new() })
}

pub(super) fn within_size(app: &App, output: Output) -> Result<Output> {
    let most = app.config.limits.result_bytes;
    if output.text.len() > most {
        return Err(Error::limit(format!(
            "the answer has {} bytes, more than `limits.result_bytes` ({most}) allows; ask for less: a section, a smaller `limit`, or `max_tokens`",
            output.text.len()
        )));
    }
    Ok(output)
}
