use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{
    layout::TextLimits,
    results::{Results, SearchAnswer},
};
use crate::{
    app::{
        page::Cursor,
        question::{Question, Searched},
    },
    domain::{
        Error, Filters, Kind, Result, Timestamp,
        property::{PropertyFilter, Sort},
    },
    search::{self, Query},
    tools::{Cx, Effect, Format, Right, Tool, Toolset},
};

/// Search the whole library by words and meaning, any language. Open a hit with note_html and its match_id. In query: "phrase", -word, label:x, -kind:x and other filters, before:/after:DATE, any property (status:draft, rating:>3).
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Search {
    #[serde(default)]
    query: String,
    filters: Option<FilterArguments>,
    limit: Option<usize>,
    cursor: Option<String>,
    max_tokens: Option<usize>,
    /// Property, or -property
    sort: Option<String>,
    rerank: Option<bool>,
    format: Option<Format>,
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
    sentiment: Option<String>,
    action: Option<String>,
    properties: Option<Map<String, Value>>,
}

impl FilterArguments {
    fn check(self) -> Result<Filters> {
        // Many clients send an empty text for an argument that was not given.
        let given = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
        let (date_from, date_to) = (given(self.date_from), given(self.date_to));
        let from = date_from.as_deref().map(str::parse::<Timestamp>).transpose()?;
        // A day is meant whole.
        let until = date_to.as_deref().map(search::end_of).transpose()?;
        if let (Some(from), Some(until)) = (from, until)
            && from >= until
        {
            return Err(Error::invalid_params(format!(
                "dateFrom `{}` is after dateTo `{}`; swap them",
                date_from.unwrap_or_default(),
                date_to.unwrap_or_default(),
            )));
        }
        let properties = self.properties.unwrap_or_default();
        let properties = properties
            .iter()
            .map(|(name, value)| PropertyFilter::from_json(name, value))
            .collect::<Result<Vec<_>>>()?;
        Ok(Filters {
            properties: properties.into_iter().flatten().collect(),
            kinds: self.kind.into_iter().collect(),
            category: given(self.category),
            labels: given(self.label).into_iter().collect(),
            path: given(self.path),
            author: given(self.author),
            from,
            until,
            sentiment: given(self.sentiment).map(|word| word.parse()).transpose()?,
            action: given(self.action).map(|word| word.parse()).transpose()?,
            ..Filters::default()
        })
    }
}

impl Tool for Search {
    const NAME: &'static str = "search";
    const TITLE: &'static str = "Search the library";
    const TOOLSET: Toolset = Toolset::Vault;
    const RIGHT: Right = Right::Read(Kind::Page);
    const EFFECT: Effect = Effect::Reads;
    type Answer = SearchAnswer;

    fn call(self, cx: &Cx<'_>) -> Result<SearchAnswer> {
        if self.query.trim().is_empty() && self.filters.is_none() {
            return Err(Error::invalid_params("query is required"));
        }
        TextLimits::check(self.max_tokens)?;
        let question = Question {
            text: self.query,
            filters: self.filters.unwrap_or_default().check()?,
            sort: self.sort.as_deref().map(Sort::parse).transpose()?,
            limit: limit(self.limit, cx)?,
            offset: offset(self.cursor)?,
            rerank: self.rerank == Some(true),
        };
        let (start, sort) = (question.offset, question.sort.clone());
        let Searched { answer, query, filters, note } = cx.app.search(question, cx.rights)?;
        let category = filters.category.as_ref().or(query.filters.category.as_ref());
        let unknown = match category {
            Some(category) if answer.results.is_empty() => unknown_category(cx, category)?,
            _ => None,
        };
        let limits = TextLimits {
            max_tokens: self.max_tokens,
            full: self.limit.is_some(),
            json: self.format == Some(Format::Json),
        };
        let properties = properties_used(&filters, &query, sort.as_ref());
        let mut notes: Vec<String> = note.into_iter().chain(unknown).collect();
        notes.extend(cx.app.engine.unknown_properties(&properties, &filters)?);
        Results { cx, offset: start, limits, notes, properties }.format(answer)
    }
}

/// The properties that a search filters and sorts by; results show them.
fn properties_used(filters: &Filters, query: &Query, sort: Option<&Sort>) -> Vec<String> {
    let filters = filters.properties.iter().chain(&query.filters.properties);
    let names = filters.map(|filter| &filter.name).chain(sort.map(|sort| &sort.property));
    let mut used: Vec<String> = Vec::new();
    for name in names {
        if !used.contains(name) {
            used.push(name.clone());
        }
    }
    used
}

/// Categories are an open set: one that no bookmark has is reported, with those that exist.
pub fn unknown_category(cx: &Cx<'_>, category: &str) -> Result<Option<String>> {
    let known = cx.app.store.bookmarks.categories()?;
    if !cx.rights.may(Right::LibraryState)
        || known.iter().any(|(name, _)| name.eq_ignore_ascii_case(category))
    {
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

/// Where the page of a cursor begins.
pub fn offset(cursor: Option<String>) -> Result<usize> {
    match Cursor::read(cursor)?.0 {
        None => Ok(0),
        Some(offset) => offset.parse().map_err(|_| {
            Error::invalid_params("cursor is not one that this server gave; start again without it")
        }),
    }
}
