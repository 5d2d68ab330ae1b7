//! Other bases, asked beside our own search: other Notewells, trip2g bases, any MCP server with a
//! tool that searches. They get the question and nothing else. A base that is late or fails is
//! named in the answer, and never holds our own results up beyond the limit.

mod base;
mod breaker;
mod client;
mod hits;
mod merge;
mod note;
mod tools;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use serde_json::{Map, Value};

pub use self::{base::Base, merge::describe};
use self::{base::Outcome, merge::TextLimits};
use crate::{
    app::rights::{Right, Rights},
    config::Config,
    domain::{Filters, Kind, Result, Toolset},
    search,
    tools::{Listed, Output},
};

/// The tools of ours that reach other bases.
const SEARCH: &str = "search";
const READ: &str = "note_html";

/// The other bases of a config.
pub struct Remotes {
    bases: Vec<Arc<Base>>,
    limit: Duration,
    most_chars: usize,
}

impl Remotes {
    /// Those that the config names.
    pub fn new(config: &Config) -> Self {
        let bases = config.remote.iter().map(|remote| Arc::new(Base::new(remote, &config.remotes)));
        Self {
            bases: bases.collect(),
            limit: Duration::from_millis(config.remotes.limit_ms),
            most_chars: config.limits.query_chars,
        }
    }

    /// All of them, for the shell.
    pub fn all(&self) -> &[Arc<Base>] {
        &self.bases
    }

    /// Those that a caller is shown.
    fn shown_to(&self, rights: &Rights) -> Vec<Arc<Base>> {
        let searches =
            rights.may(Right::Use(Toolset::Vault)) && rights.may(Right::Read(Kind::Page));
        let may = |base: &&Arc<Base>| match base.is_public {
            true => rights.may(Right::PublicBases),
            false => rights.may(Right::OtherBases),
        };
        self.bases.iter().filter(|base| searches && may(base)).cloned().collect()
    }

    /// Makes the first contact with those that a caller is shown.
    pub fn warm(&self, rights: &Rights) {
        self.shown_to(rights).iter().for_each(Base::warm);
    }

    /// Completes the description and the schemas of a tool that reaches other bases.
    pub fn complete(&self, tool: &mut Listed, rights: &Rights) {
        if matches!(tool.name.as_str(), SEARCH | READ) {
            let bases = self.shown_to(rights);
            if !bases.is_empty() {
                describe(tool, &bases);
            }
        }
    }

    /// What a call asks other bases; `None` for any other call.
    pub fn question(&self, rights: &Rights, tool: &str, arguments: &Value) -> Option<Question> {
        if tool != SEARCH || self.bases.is_empty() {
            return None;
        }
        let bases = self.shown_to(rights);
        let text = arguments["query"].as_str().map(str::trim).filter(|text| !text.is_empty())?;
        // Their results are on the first page.
        let is_first = arguments["cursor"].as_str().is_none_or(|cursor| cursor.trim().is_empty());
        if bases.is_empty() || !is_first || text.chars().count() > self.most_chars {
            return None;
        }
        let narrowed = |name: &str| match &arguments[name] {
            Value::Null => false,
            Value::Object(fields) => fields.values().any(|value| !value.is_null()),
            Value::String(text) => !text.trim().is_empty(),
            _ => true,
        };
        let query = search::parse(text).ok()?;
        if query.is_listing() {
            return None;
        }
        Some(Question {
            bases,
            text: text.to_owned(),
            is_narrowed: narrowed("filters") || narrowed("sort"),
            has_filters: query.filters != Filters::default() || !query.excluded.is_empty(),
            until: Instant::now() + self.limit,
            limit: self.limit,
            limits: TextLimits::of(arguments),
        })
    }

    /// The note of another base that a call reads; `None` for any other call.
    pub fn reading(&self, rights: &Rights, tool: &str, arguments: &Value) -> Option<Reading> {
        if tool != READ {
            return None;
        }
        let (name, handle) = arguments["match_id"].as_str()?.trim().split_once('/')?;
        let base = self.shown_to(rights).into_iter().find(|base| base.name == name)?;
        let arguments = arguments.as_object()?.clone();
        Some(Reading { base, handle: handle.to_owned(), arguments })
    }
}

/// A question to other bases.
pub struct Question {
    bases: Vec<Arc<Base>>,
    text: String,
    /// Whether the search has filters or an order beside the question.
    is_narrowed: bool,
    /// Whether the question itself has filters.
    has_filters: bool,
    until: Instant,
    limit: Duration,
    limits: TextLimits,
}

/// What the bases answered.
pub struct Asked {
    outcomes: Vec<(String, Outcome)>,
    is_narrowed: bool,
    limit: Duration,
    limits: TextLimits,
}

impl Question {
    /// Asks all of them side by side, until the limit.
    pub async fn ask(self) -> Asked {
        let Self { bases, text, is_narrowed, has_filters, until, limit, limits } = self;
        let ask = |base: Arc<Base>| {
            let text = text.clone();
            async move {
                let name = base.name.clone();
                let outcome = match is_narrowed {
                    true => Outcome::Unasked,
                    false => base.ask(text, has_filters, until).await,
                };
                (name, outcome)
            }
        };
        let outcomes = futures::future::join_all(bases.into_iter().map(ask)).await;
        Asked { outcomes, is_narrowed, limit, limits }
    }
}

impl Asked {
    /// Adds the results of other bases to our own answer, and names those that gave none.
    pub fn add_to(self, output: &mut Output) {
        merge::add(output, &self.outcomes, self.is_narrowed, self.limit, self.limits);
    }
}

/// A read of a note of another base.
pub struct Reading {
    base: Arc<Base>,
    handle: String,
    arguments: Map<String, Value>,
}

impl Reading {
    /// Reads it. Blocks.
    pub fn read(&self) -> Result<Output> {
        note::check(&self.arguments)?;
        let result = self.base.read(&self.handle, &self.arguments)?;
        note::output(&self.base.name, &self.handle, &result, &self.arguments)
    }
}
