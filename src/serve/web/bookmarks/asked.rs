//! What the address of the list asks for: `/bookmarks?q=…&category=…&from=…`.

use crate::{
    app::question::Question,
    domain::{
        Error, Filters, Kind, Result, Timestamp,
        query::{Action, Sentiment},
    },
    search,
    serve::web::{Visit, address, asked::Chip, start_in_address},
};

use super::view::words;

/// The filters, with the words that a chip shows before the value.
const FILTERS: [(&str, &str); 7] = [
    ("category", ""),
    ("label", "#"),
    ("author", "by "),
    ("action", "to "),
    ("sentiment", ""),
    ("from", "from "),
    ("to", "until "),
];

/// The question of an address.
#[derive(Debug, Clone, Default)]
pub struct Asked {
    /// The words.
    pub text: String,
    /// Filters by name, in the order of [`FILTERS`].
    pub filters: Vec<(&'static str, String)>,
    /// Whether they stand in a grid.
    pub grid: bool,
    /// Results to leave out.
    pub start: usize,
}

impl Asked {
    /// Reads the address of a visit.
    pub fn of(visit: &Visit) -> Self {
        let given = FILTERS.iter();
        let filters =
            given.filter_map(|(name, _)| Some((*name, visit.value(name)?.to_owned()))).collect();
        Self {
            text: visit.value("q").unwrap_or_default().to_owned(),
            filters,
            grid: visit.value("view") == Some("grid"),
            start: visit.value("start").and_then(|start| start.parse().ok()).unwrap_or(0),
        }
    }

    /// Whether everything is listed.
    pub fn is_open(&self) -> bool {
        self.text.is_empty() && self.filters.is_empty()
    }

    /// The value of a filter.
    pub fn filter(&self, name: &str) -> &str {
        self.filters.iter().find(|(own, _)| *own == name).map_or("", |(_, value)| value)
    }

    /// The address of this list.
    pub fn href(&self) -> String {
        let filters = self.filters.iter().map(|(name, value)| (*name, value.as_str()));
        let view = if self.grid { "grid" } else { "" };
        let start = start_in_address(self.start);
        let values = [("q", self.text.as_str())].into_iter().chain(filters);
        address("/bookmarks", values.chain([("view", view), ("start", &start)]))
    }

    /// The same list with another value of a filter; without it for `None`.
    pub fn with(&self, name: &'static str, value: Option<&str>) -> Self {
        let mut other = Self { start: 0, ..self.clone() };
        other.filters.retain(|(own, _)| *own != name);
        other.filters.extend(value.map(|value| (name, value.to_owned())));
        other
    }

    /// The values of a filter as chips; the one in force is removed by its own.
    pub fn choices<'a>(
        &self,
        name: &'static str,
        values: impl IntoIterator<Item = &'a str>,
    ) -> Vec<Chip> {
        let current = self.filter(name);
        let chip = |value: &str| {
            let on = value.eq_ignore_ascii_case(current);
            let href = self.with(name, (!on).then_some(value)).href();
            Chip { href, text: words(value), on }
        };
        values.into_iter().map(chip).collect()
    }

    /// The filters in force, each as the link that removes it.
    pub fn in_force(&self) -> Vec<Chip> {
        let before = |name| FILTERS.iter().find(|(own, _)| *own == name).map_or("", |(_, w)| w);
        let chip = |(name, value): &(&'static str, String)| Chip {
            href: self.with(name, None).href(),
            text: format!("{}{}", before(*name), words(value)),
            on: true,
        };
        self.filters.iter().map(chip).collect()
    }

    /// The question for the one search.
    pub fn question(&self, limit: usize) -> Result<Question> {
        let given = |name| Some(self.filter(name)).filter(|value| !value.is_empty());
        let mut filters = Filters { kinds: vec![Kind::Bookmark], ..Filters::default() };
        filters.labels.extend(given("label").map(|label| label.trim_start_matches('#').to_owned()));
        filters.author = given("author").map(|author| author.trim_start_matches('@').to_owned());
        filters.category = given("category").map(str::to_owned);
        filters.from = given("from").map(str::parse::<Timestamp>).transpose()?;
        filters.until = given("to").map(search::end_of).transpose()?;
        filters.sentiment = given("sentiment").map(str::parse::<Sentiment>).transpose()?;
        filters.action = given("action").map(str::parse::<Action>).transpose()?;
        if let (Some(from), Some(until)) = (filters.from, filters.until)
            && from >= until
        {
            return Err(Error::invalid_params(format!(
                "the first day `{}` is after the last day `{}`; swap them",
                self.filter("from"),
                self.filter("to")
            )));
        }
        let text = self.text.clone();
        Ok(Question { text, filters, limit, offset: self.start, ..Question::default() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_holds_the_list() {
        let asked = Asked {
            text: "векторы & 検索".to_owned(),
            filters: vec![("category", "AI-Tools".to_owned()), ("action", "try_tool".to_owned())],
            grid: true,
            start: 30,
        };
        let href = asked.href();
        assert!(href.ends_with("&category=AI-Tools&action=try_tool&view=grid&start=30"), "{href}");
        assert_eq!(asked.with("action", None).with("category", None).start, 0);
        assert_eq!(asked.in_force()[1].text, "to try tool");
        let choices = asked.choices("category", ["AI-Tools", "Garden"]);
        assert!(choices[0].on && !choices[0].href.contains("category"), "{choices:?}");
        assert!(choices[1].href.contains("category=Garden"));
        assert_eq!(Asked::default().href(), "/bookmarks");
    }

    #[test]
    fn filters_that_cannot_be_are_refused() {
        let with = |name, value: &str| Asked::default().with(name, Some(value)).question(10);
        assert!(with("action", "dance").is_err() && with("from", "soon").is_err());
        let turned =
            Asked::default().with("from", Some("2026-02-01")).with("to", Some("2026-01-01"));
        assert!(turned.question(10).is_err());
        assert_eq!(with("author", "@mira").unwrap().filters.author.as_deref(), Some("mira"));
    }
}
