//! `search`, `similar` and `read`: the tools of the same names, for a person at the shell.

use clap::Args;
use serde_json::{Map, Value, json};

use super::{Common, bar::Bar, out};
use crate::{
    app::App,
    domain::{Caller, Result},
    tools,
};

#[derive(Args)]
pub struct Search {
    /// Words, a question, "a phrase", -without, label:x, path:x, kind:x, before:/after:DATE
    #[arg(required = true)]
    query: Vec<String>,
    /// How many results
    #[arg(long)]
    limit: Option<usize>,
    /// Print the structured answer
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
pub struct Similar {
    /// A text, or the number of an item
    #[arg(required = true)]
    text: Vec<String>,
    /// How many results
    #[arg(long)]
    limit: Option<usize>,
    /// Print the structured answer
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
pub struct Read {
    /// A path, a title, an address or a number
    note: String,
    /// One section: its headings from the top, with > between them
    #[arg(long, value_name = "A > B")]
    toc: Option<String>,
    /// The passage of a search result
    #[arg(long = "match", value_name = "p1:c2")]
    match_id: Option<String>,
    /// As HTML instead of Markdown
    #[arg(long)]
    html: bool,
}

impl Search {
    pub fn run(self, common: &Common) -> Result<()> {
        let mut arguments = Map::new();
        arguments.insert("query".into(), self.query.join(" ").into());
        if let Some(limit) = self.limit {
            arguments.insert("limit".into(), limit.into());
        }
        tell(&ready(common)?, "search", arguments, self.json)
    }
}

impl Similar {
    pub fn run(self, common: &Common) -> Result<()> {
        let text = self.text.join(" ");
        let mut arguments = Map::new();
        match text.parse::<i64>() {
            Ok(pid) => arguments.insert("pid".into(), pid.into()),
            Err(_) => arguments.insert("text".into(), text.into()),
        };
        if let Some(limit) = self.limit {
            arguments.insert("limit".into(), limit.into());
        }
        tell(&ready(common)?, "similar", arguments, self.json)
    }
}

impl Read {
    pub fn run(self, common: &Common) -> Result<()> {
        let app = common.open()?;
        app.refresh(&Bar::new())?;
        let mut arguments = Map::new();
        let key = match (self.note.parse::<i64>(), self.note.contains("://")) {
            (Ok(pid), _) => {
                arguments.insert("pid".into(), pid.into());
                "path"
            }
            (_, true) => "href",
            _ => "path",
        };
        arguments.insert(key.into(), self.note.into());
        if let Some(toc) = &self.toc {
            let path: Vec<&str> = toc.split('>').map(str::trim).collect();
            arguments.insert("toc_path".into(), json!(path));
        }
        if let Some(id) = self.match_id {
            arguments.insert("match_id".into(), id.into());
        }
        let format = if self.html { "html" } else { "markdown" };
        arguments.insert("format".into(), format.into());
        tell(&app, "note_html", arguments, false)
    }
}

/// The library with everything in its index that there is to find.
pub(super) fn ready(common: &Common) -> Result<App> {
    let app = common.open()?;
    let bar = Bar::new();
    app.refresh(&bar)?;
    app.catch_up(&bar)?;
    bar.finish();
    Ok(app)
}

pub(super) fn tell(app: &App, tool: &str, arguments: Map<String, Value>, json: bool) -> Result<()> {
    let around = tools::Call::default();
    let output = tools::call(app, &Caller::Owner, tool, Value::Object(arguments), &around)?;
    match output.structured.filter(|_| json) {
        Some(value) => out::say(format_args!("{value:#}")),
        None => out::say(output.text.trim_end()),
    }
    Ok(())
}
