//! Properties within the query string: `status:draft`, `-status:done`, `rating:>3`. A word before a
//! colon is the name of a property where some page that the caller may see has it, and an ordinary
//! word where none has.

use super::{engine::Engine, query::Query};
use crate::domain::{
    Filters, Result,
    property::{PropertyFilter, fold_name},
};

/// The longest word before a colon that may be the name of a property.
const MAX_NAME_CHARS: usize = 40;

/// `name:value` in a query string.
struct Candidate<'a> {
    /// As it stands in the text.
    token: &'a str,
    name: &'a str,
    value: &'a str,
}

/// Reads a candidate at the beginning of a text. A value in quotes may have spaces.
fn candidate(text: &str) -> Option<Candidate<'_>> {
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    let (name, value) = text[..end].split_once(':')?;
    let is_name = name.chars().count() <= MAX_NAME_CHARS
        && name.chars().any(char::is_alphabetic)
        && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.'));
    if !is_name || value.is_empty() || value.starts_with(':') {
        return None;
    }
    let start = name.len() + 1;
    let quoted = text[start..]
        .strip_prefix('"')
        .and_then(|rest| rest.find('"').map(|close| (&rest[..close], start + close + 2)));
    let (value, end) = quoted.unwrap_or((value, end));
    Some(Candidate { token: &text[..end], name, value })
}

/// The candidates of a text, each at the beginning of a word.
fn candidates(text: &str) -> Vec<Candidate<'_>> {
    let mut found = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let end = match candidate(rest) {
            Some(candidate) => {
                let end = candidate.token.len();
                found.push(candidate);
                end
            }
            None => rest.find(char::is_whitespace).unwrap_or(rest.len()),
        };
        rest = rest[end..].trim_start();
    }
    found
}

impl Engine {
    /// The query with its `name:value` words as filters, where `name` is a property.
    pub fn with_properties(&self, mut query: Query, rights: &Filters) -> Result<Query> {
        let text = query.text.clone();
        let quoted = |token: &str| {
            query.phrases.iter().chain(&query.mentioned).any(|phrase| phrase.contains(token))
        };
        let wanted: Vec<Candidate<'_>> =
            candidates(&text).into_iter().filter(|candidate| !quoted(candidate.token)).collect();
        let excluded = query.excluded.clone();
        let unwanted = excluded.iter().filter_map(|text| {
            candidate(text).filter(|candidate| candidate.token.len() == text.len())
        });
        let unwanted: Vec<Candidate<'_>> = unwanted.collect();
        if wanted.is_empty() && unwanted.is_empty() {
            return Ok(query);
        }
        let view = self.current_view(rights)?;
        let mut rest = text.clone();
        for Candidate { token, name, value } in wanted {
            if view.has_property(&fold_name(name), rights)? {
                query.filters.properties.push(PropertyFilter::from_text(name, value)?);
                rest = rest.replacen(token, "", 1);
                query.unknown_filters.retain(|unknown| unknown != name);
            }
        }
        for Candidate { token, name, value } in unwanted {
            if view.has_property(&fold_name(name), rights)? {
                let filter = PropertyFilter::from_text(name, value)?;
                let excluded = !filter.excluded;
                query.filters.properties.push(PropertyFilter { excluded, ..filter });
                query.excluded.retain(|text| text != token);
            }
        }
        query.text = rest.split_whitespace().collect::<Vec<_>>().join(" ");
        Ok(query)
    }

    /// A sentence on each of these properties that no page has which the caller may see.
    pub fn unknown_properties(&self, names: &[String], rights: &Filters) -> Result<Vec<String>> {
        if names.is_empty() {
            return Ok(Vec::new());
        }
        let view = self.current_view(rights)?;
        let mut unknown = Vec::new();
        for name in names {
            if !view.has_property(name, rights)? {
                unknown.push(name.as_str());
            }
        }
        if unknown.is_empty() {
            return Ok(Vec::new());
        }
        let known = view.property_names(rights)?;
        let known = match known.is_empty() {
            true => "no note has properties".to_owned(),
            false => format!("there are: {}", known.join(", ")),
        };
        Ok(vec![format!("no note has the property `{}`; {known}", unknown.join("`, `"))])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_with_a_colon_are_candidates() {
        let found = |text| -> Vec<(&str, &str)> {
            candidates(text).into_iter().map(|one| (one.name, one.value)).collect()
        };
        assert_eq!(
            found("soup status:draft rating:>3 статус:\"в работе\" 状態:下書き"),
            [("status", "draft"), ("rating", ">3"), ("статус", "в работе"), ("状態", "下書き")]
        );
        assert!(found("std::fmt at 10:30 and note: x").is_empty());
    }
}
