use schemars::JsonSchema;
use serde::Deserialize;

use super::results::{Results, SearchAnswer};
use crate::{
    app::page::Cursor,
    domain::{
        Error, Filters, Kind, Result, Timestamp,
        query::{Action, Sentiment},
    },
    search::{self, Options},
    tools::{Access, Cx, Effect, Tool, Toolset},
};

/// Search the whole library by words and meaning, any language. Open a hit with note_html and its match_id. In query: "phrase", -word, label:x, path:x, kind:x, before:/after:DATE.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Search {
    query: String,
    filters: Option<FilterArguments>,
    limit: Option<usize>,
    cursor: Option<String>,
    max_tokens: Option<usize>,
    rerank: Option<bool>,
}

#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct FilterArguments {
    kind: Option<Kind>,
    category: Option<String>,
    label: Option<String>,
    path: Option<String>,
    author: Option<String>,
    date_from: Option<String>,
    date_to: Option<String>,
    sentiment: Option<Sentiment>,
    action: Option<Action>,
}

impl FilterArguments {
    fn check(self) -> Result<Filters> {
        let from = self.date_from.as_deref().map(str::parse::<Timestamp>).transpose()?;
        let until = match self.date_to.as_deref() {
            // A day is meant whole.
            Some(day) if Timestamp::is_day(day) => Some(day.parse::<Timestamp>()?.plus_days(1)),
            Some(moment) => Some(moment.parse()?),
            None => None,
        };
        if let (Some(from), Some(until)) = (from, until)
            && from >= until
        {
            return Err(Error::invalid_params(format!(
                "dateFrom `{}` is after dateTo `{}`; swap them",
                self.date_from.unwrap_or_default(),
                self.date_to.unwrap_or_default(),
            )));
        }
        Ok(Filters {
            kinds: self.kind.into_iter().collect(),
            category: self.category,
            labels: self.label.into_iter().collect(),
            path: self.path,
            author: self.author,
            from,
            until,
            sentiment: self.sentiment,
            action: self.action,
            ..Filters::default()
        })
    }
}

impl Tool for Search {
    const NAME: &'static str = "search";
    const TITLE: &'static str = "Search the library";
    const TOOLSET: Toolset = Toolset::Vault;
    const ACCESS: Access = Access::Everyone;
    const EFFECT: Effect = Effect::Reads;
    type Answer = SearchAnswer;

    fn call(self, cx: &Cx<'_>) -> Result<SearchAnswer> {
        let config = &cx.app.config;
        let most = config.limits.query_chars;
        if self.query.chars().count() > most {
            return Err(Error::invalid_params(format!(
                "query has more than {most} characters; ask in fewer words, or use `similar` for a long text"
            )));
        }
        let is_word = |c: char| c.is_alphanumeric() || !(c.is_ascii() || c.is_whitespace());
        if !self.query.trim().is_empty() && !self.query.chars().any(is_word) {
            return Err(Error::invalid_params(
                "query has no words, only punctuation; write what you are looking for",
            ));
        }
        let query = search::parse(&self.query)?;
        let mut filters = self.filters.unwrap_or_default().check()?;
        cx.view().narrow(&mut filters);
        let mut options = Options::new(&filters);
        options.limit = limit(self.limit, cx)?;
        options.offset = offset(self.cursor)?;
        let (answer, note) = match self.rerank {
            Some(true) => cx.app.search_reranked(&query, &options, cx.caller)?,
            _ => (cx.app.engine.search(&query, &options)?, None),
        };
        let unknown = match &filters.category {
            Some(category) if answer.results.is_empty() => unknown_category(cx, category)?,
            _ => None,
        };
        let results = Results { cx, offset: options.offset, max_tokens: self.max_tokens };
        Ok(results.tell(answer)?.note(note).note(unknown))
    }
}

/// Categories are an open set: one that no bookmark has is told, with those that there are.
pub fn unknown_category(cx: &Cx<'_>, category: &str) -> Result<Option<String>> {
    let known = cx.app.store.bookmarks.categories()?;
    if !cx.caller.is_owner() || known.iter().any(|(name, _)| name.eq_ignore_ascii_case(category)) {
        return Ok(None);
    }
    let names: Vec<&str> = known.iter().map(|(name, _)| name.as_str()).collect();
    Ok(Some(match names.is_empty() {
        true => format!("no bookmark has the category `{category}`; there are no bookmarks yet"),
        false => {
            format!("no bookmark has the category `{category}`; there are: {}", names.join(", "))
        }
    }))
}

/// The number of results, within what the config allows.
pub fn limit(wanted: Option<usize>, cx: &Cx<'_>) -> Result<usize> {
    let config = &cx.app.config.search;
    match wanted.unwrap_or(config.limit) {
        limit if (1..=config.max_limit).contains(&limit) => Ok(limit),
        limit => Err(Error::invalid_params(format!(
            "limit {limit} is not between 1 and {}; use `cursor` for more",
            config.max_limit
        ))),
    }
}

fn offset(cursor: Option<String>) -> Result<usize> {
    match Cursor::read(cursor)?.0 {
        None => Ok(0),
        Some(offset) => offset.parse().map_err(|_| {
            Error::invalid_params("cursor is not one that this server gave; start again without it")
        }),
    }
}
