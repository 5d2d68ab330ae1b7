//! A question as the address of the front page holds it: `/?q=…&kind=…&label=…`.

use super::{Visit, errors::sentence};
use crate::{
    app::question::Question,
    domain::{Error, Filters, Kind, Result, Timestamp, property::Sort},
    search,
};

/// The filters that an address can hold, with the words that a chip shows before the value.
const FILTERS: [(&str, &str); 10] = [
    ("kind", ""),
    ("label", "#"),
    ("author", "by "),
    ("category", "in "),
    ("path", "below "),
    ("from", "from "),
    ("to", "until "),
    ("sentiment", ""),
    ("action", "to "),
    ("sort", "sorted by "),
];

/// A link that changes the question.
#[derive(Debug, Clone)]
pub struct Chip {
    /// The address with the change.
    pub href: String,
    /// What it says.
    pub text: String,
    /// Whether it is in force.
    pub on: bool,
}

/// The question of an address.
#[derive(Debug, Clone, Default)]
pub struct Asked {
    /// The words.
    pub text: String,
    /// Filters by name, in the order of [`FILTERS`].
    pub filters: Vec<(&'static str, String)>,
    /// Results to leave out.
    pub start: usize,
    /// Whether an answer is wanted beside the results.
    pub ask: bool,
}

impl Asked {
    /// Reads the address of a visit.
    pub fn of(visit: &Visit) -> Self {
        let filters = FILTERS
            .iter()
            .filter_map(|(name, _)| Some((*name, visit.value(name)?.to_owned())))
            .collect();
        Self {
            text: visit.value("q").unwrap_or_default().to_owned(),
            filters,
            start: visit.value("start").and_then(|start| start.parse().ok()).unwrap_or(0),
            ask: visit.value("ask").is_some(),
        }
    }

    /// Whether nothing is asked.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty() && self.filters.is_empty()
    }

    /// The value of a filter.
    pub fn filter(&self, name: &str) -> &str {
        self.filters.iter().find(|(own, _)| *own == name).map_or("", |(_, value)| value)
    }

    /// The address of this question.
    pub fn href(&self) -> String {
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        if !self.text.is_empty() {
            query.append_pair("q", &self.text);
        }
        for (name, value) in &self.filters {
            query.append_pair(name, value);
        }
        if self.start > 0 {
            query.append_pair("start", &self.start.to_string());
        }
        if self.ask {
            query.append_pair("ask", "1");
        }
        match query.finish() {
            query if query.is_empty() => "/".to_owned(),
            query => format!("/?{query}"),
        }
    }

    /// The same question with another value of a filter; without it for `None`.
    pub fn with(&self, name: &'static str, value: Option<&str>) -> Self {
        let mut other = Self { start: 0, ..self.clone() };
        other.filters.retain(|(own, _)| *own != name);
        other.filters.extend(value.map(|value| (name, value.to_owned())));
        other
    }

    /// The same question from another result on.
    pub fn from(&self, start: usize) -> Self {
        Self { start, ask: false, ..self.clone() }
    }

    /// A choice of kinds.
    pub fn kinds(&self, kinds: &[Kind]) -> Vec<Chip> {
        let current = self.filter("kind");
        let chip = |value: Option<Kind>, text: &str| Chip {
            href: self.with("kind", value.map(Kind::as_str)).href(),
            text: text.to_owned(),
            on: value.map_or("", Kind::as_str) == current,
        };
        let all = chip(None, "Everything");
        let each = kinds.iter().map(|kind| chip(Some(*kind), plural(*kind)));
        [all].into_iter().chain(each).collect()
    }

    /// The filters in force, besides the kind, each as the link that removes it.
    pub fn in_force(&self) -> Vec<Chip> {
        let words = |name| FILTERS.iter().find(|(own, _)| *own == name).map_or("", |(_, w)| w);
        self.filters
            .iter()
            .filter(|(name, _)| *name != "kind")
            .map(|(name, value)| Chip {
                href: self.with(name, None).href(),
                text: format!("{}{}", words(*name), value.replace('_', " ")),
                on: true,
            })
            .collect()
    }

    /// The question for the engine.
    pub fn question(&self, limit: usize) -> Result<Question> {
        let given = |name| Some(self.filter(name)).filter(|value| !value.is_empty());
        let mut filters = Filters::default();
        filters.kinds.extend(given("kind").map(str::parse::<Kind>).transpose()?);
        filters.labels.extend(given("label").map(|label| label.trim_start_matches('#').to_owned()));
        filters.author = given("author").map(str::to_owned);
        filters.category = given("category").map(str::to_owned);
        filters.path = given("path").map(str::to_owned);
        filters.from = given("from").map(str::parse::<Timestamp>).transpose()?;
        filters.until = given("to").map(search::end_of).transpose()?;
        filters.sentiment = given("sentiment").map(str::parse).transpose()?;
        filters.action = given("action").map(str::parse).transpose()?;
        if let (Some(from), Some(until)) = (filters.from, filters.until)
            && from >= until
        {
            return Err(Error::invalid_params(format!(
                "the first day `{}` is after the last day `{}`; swap them",
                self.filter("from"),
                self.filter("to")
            )));
        }
        let sort = given("sort").map(Sort::parse).transpose()?;
        let text = self.text.clone();
        Ok(Question { text, filters, sort, limit, offset: self.start, rerank: false })
    }
}

/// The plural of a kind, as people call it.
pub fn plural(kind: Kind) -> &'static str {
    match kind {
        Kind::Page => "Notes",
        Kind::Card => "Cards",
        Kind::Bookmark => "Bookmarks",
        Kind::Prompt => "Prompts",
    }
}

/// A kind as people call it.
pub fn noun(kind: Kind) -> &'static str {
    match kind {
        Kind::Page => "note",
        Kind::Card => "card",
        Kind::Bookmark => "bookmark",
        Kind::Prompt => "prompt",
    }
}

/// Notes of a search as sentences.
pub fn sentences(notes: Vec<String>) -> Vec<String> {
    notes.iter().map(|note| sentence(note)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_holds_the_question() {
        let asked = Asked {
            text: "поздний frost & 霜".to_owned(),
            filters: vec![("kind", "page".to_owned())],
            start: 10,
            ask: false,
        };
        let href = asked.href();
        assert!(href.starts_with("/?q=") && href.ends_with("&kind=page&start=10"), "{href}");
        assert_eq!(asked.with("kind", None).href(), href.replace("&kind=page&start=10", ""));
        assert_eq!(Asked::default().href(), "/");
    }
}
