//! `search` and `similar`: the tools of the same names, for a person at the shell.

use std::process::ExitCode;

use super::{
    Common,
    bar::Bar,
    out, results,
    tool::{Arguments, given, structured},
    word,
};
use crate::{
    app::App,
    domain::{Error, Kind, Result},
};
use clap::Args;

#[derive(Args)]
#[command(after_help = "\
Examples:
  notewell search coffee brewing
  notewell search soup -lentil --kind page
  notewell search '\"late frost\"' --path garden/
  notewell search --label travel --after 2025-01-01
  notewell search coffee --paths | xargs -d '\\n' wc -w

Exit status: 0 found something, 1 found nothing, 2 error.")]
pub struct Search {
    /// Words, a question, "a phrase", -without, label:x, path:x, kind:x, before:/after:DATE
    query: Vec<String>,
    #[command(flatten)]
    filters: Filters,
    /// page, card, bookmark or prompt
    #[arg(long, value_parser = word::<Kind>)]
    kind: Option<Kind>,
    #[command(flatten)]
    shown: Shown,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  notewell similar espresso and grinders
  notewell similar 29

Exit status: 0 found something, 1 found nothing, 2 error.")]
pub struct Similar {
    /// A text, or the number of an item
    #[arg(required = true)]
    text: Vec<String>,
    #[command(flatten)]
    shown: Shown,
}

/// What a search is narrowed by. Every filter that is given must hold.
#[derive(Args)]
pub(super) struct Filters {
    /// Items with this tag or label
    #[arg(long)]
    label: Option<String>,
    /// A page, or everything below a folder: garden/
    #[arg(long)]
    path: Option<String>,
    #[arg(long)]
    author: Option<String>,
    #[arg(long)]
    category: Option<String>,
    /// From this day on: 2025-03-01
    #[arg(long, value_name = "DATE")]
    after: Option<String>,
    /// Before this day
    #[arg(long, value_name = "DATE")]
    before: Option<String>,
}

/// How many results, and in which form.
#[derive(Args)]
pub(super) struct Shown {
    /// How many results
    #[arg(long)]
    limit: Option<usize>,
    /// The next page: the cursor that the page before names
    #[arg(long)]
    cursor: Option<String>,
    /// Print only where each result is: its file, or its address
    #[arg(long, conflicts_with = "json")]
    paths: bool,
    /// Print the structured answer
    #[arg(long)]
    json: bool,
}

impl Search {
    pub fn run(self, common: &Common) -> Result<ExitCode> {
        let query = self.query.join(" ");
        let (kind, filters) = (self.kind, self.filters);
        if query.trim().is_empty() && kind.is_none() && filters.is_empty() {
            return Err(Error::invalid_params(
                "say what to search for, or give a filter such as `--label garden` to list what passes it",
            ));
        }
        find(common, &query, kind, filters, &self.shown)
    }
}

/// Searches with filters that were given as flags, and prints what is found.
pub(super) fn find(
    common: &Common,
    query: &str,
    kind: Option<Kind>,
    filters: Filters,
    shown: &Shown,
) -> Result<ExitCode> {
    let (query, filters) = filters.arguments(query, kind);
    let filters = (!filters.is_empty()).then(|| filters.into());
    let arguments = given([("query", Some(query.clone().into())), ("filters", filters)]);
    show(&ready(common)?, "search", arguments, &query, shown)
}

impl Similar {
    pub fn run(self, common: &Common) -> Result<ExitCode> {
        let text = self.text.join(" ");
        let pid = text.parse::<i64>().ok();
        let words = pid.is_none().then(|| text.clone().into());
        let arguments = given([("pid", pid.map(Into::into)), ("text", words)]);
        if self.shown.cursor.is_some() {
            return Err(Error::invalid_params("`similar` has one page; raise `--limit` for more"));
        }
        show(&ready(common)?, "similar", arguments, &text, &self.shown)
    }
}

impl Filters {
    fn is_empty(&self) -> bool {
        let Self { label, path, author, category, after, before } = self;
        [label, path, author, category, after, before].into_iter().all(Option::is_none)
    }

    /// The query string and the filters of the tool. Dates go into the string, where `before:`
    /// leaves its day out as the flag does.
    fn arguments(self, query: &str, kind: Option<Kind>) -> (String, Arguments) {
        let dates = [("after", self.after), ("before", self.before)];
        let dates = dates.into_iter().filter_map(|(name, day)| Some(format!("{name}:{}", day?)));
        let words = std::iter::once(query.to_owned()).filter(|query| !query.is_empty());
        let query = words.chain(dates).collect::<Vec<_>>().join(" ");
        let filters = given([
            ("kind", kind.map(|kind| kind.as_str().into())),
            ("label", self.label.map(Into::into)),
            ("path", self.path.map(Into::into)),
            ("author", self.author.map(Into::into)),
            ("category", self.category.map(Into::into)),
        ]);
        (query, filters)
    }
}

/// Calls a tool that searches, prints its results, and says whether there were any.
fn show(
    app: &App,
    tool: &str,
    mut arguments: Arguments,
    query: &str,
    shown: &Shown,
) -> Result<ExitCode> {
    // A person pays nothing for words: every match is shown, as with a `limit` of the tool.
    let limit = shown.limit.unwrap_or(app.config.search.limit);
    arguments.insert("limit".into(), limit.into());
    if let Some(cursor) = &shown.cursor {
        arguments.insert("cursor".into(), cursor.clone().into());
    }
    let answer = structured(app, tool, arguments)?;
    let results = answer["results"].as_array().map_or(&[][..], Vec::as_slice);
    if shown.json {
        out::json(&answer)?;
    } else if shown.paths {
        for result in results {
            out::say(results::location(app, result)?);
        }
    } else {
        results::print(&answer, query);
    }
    Ok(if results.is_empty() { ExitCode::from(1) } else { ExitCode::SUCCESS })
}

/// The library with every change in its index, and the vectors that a short while allows.
pub(super) fn ready(common: &Common) -> Result<App> {
    let app = common.open()?;
    let bar = Bar::new();
    app.refresh(&bar)?;
    app.prepare(&bar)?;
    bar.finish();
    Ok(app)
}
