//! Filters within the query string: `label:garden`, `-kind:prompt`, `after:2025-03-01`.

use crate::domain::{Error, Filters, Result, Timestamp, query::Condition};

/// What each name narrows by. Some have a second name, which other programs use for the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Name {
    Kind,
    Label,
    Category,
    Author,
    Path,
    Sentiment,
    Action,
    After,
    Before,
    Until,
}

const NAMES: [(&str, Name); 12] = [
    ("kind", Name::Kind),
    ("label", Name::Label),
    ("tag", Name::Label),
    ("category", Name::Category),
    ("author", Name::Author),
    ("path", Name::Path),
    ("sentiment", Name::Sentiment),
    ("action", Name::Action),
    ("after", Name::After),
    ("dateFrom", Name::After),
    ("before", Name::Before),
    ("dateTo", Name::Until),
];

/// The filter names that messages list.
pub const FILTER_NAMES: &str = "`kind:`, `label:` (or `tag:`), `category:`, `author:`, `path:`, \
                                `sentiment:`, `action:`, `after:`, `before:`";

/// Words before a colon that are no filter in any program: schemes of addresses and numbers.
const SCHEMES: [&str; 12] =
    ["http", "https", "ftp", "file", "ssh", "git", "mailto", "tel", "urn", "doi", "isbn", "arxiv"];

/// The longest word before a colon that may be meant as a filter's name.
const MAX_NAME: usize = 20;

/// The filter that a token begins with, its name as it was typed, and its value.
pub(super) fn read(token: &str) -> Option<(Name, &str, &str)> {
    let (typed, value) = token.split_once(':')?;
    let (_, name) = NAMES.into_iter().find(|(known, _)| known.eq_ignore_ascii_case(typed))?;
    Some((name, typed, value))
}

/// The name before the colon of a token that looks like a filter and is none: `foo:bar`. Addresses,
/// times, ports, `std::fmt`, drives and a colon at the end of a word are ordinary text.
pub(super) fn unknown(token: &str) -> Option<&str> {
    let (name, value) = token.split_once(':')?;
    let is_name = |name: &str| {
        (2..=MAX_NAME).contains(&name.chars().count())
            && name.chars().all(|c| c.is_alphabetic() || c == '_')
            && !SCHEMES.iter().any(|scheme| scheme.eq_ignore_ascii_case(name))
    };
    let is_value =
        value.chars().next().is_some_and(|c| c.is_alphanumeric() || c == '"' || c == '“')
            && !value.contains(':')
            && !value.chars().all(|c| c.is_ascii_digit());
    (is_name(name) && is_value).then_some(name)
}

/// Adds a filter. Every filter holds; of kinds, one is enough.
pub(super) fn add(filters: &mut Filters, name: Name, value: &str) -> Result<()> {
    match name {
        Name::Kind => {
            let kind = value.to_lowercase().parse()?;
            if !filters.kinds.contains(&kind) {
                filters.kinds.push(kind);
            }
        }
        Name::Label => filters.labels.push(value.to_owned()),
        Name::Category => one(&mut filters.category, value.to_owned(), "category")?,
        Name::Author => one(&mut filters.author, value.to_owned(), "author")?,
        Name::Path => filters.path = Some(both_paths(filters.path.take(), value)?),
        Name::Sentiment => {
            one(&mut filters.sentiment, value.to_lowercase().parse()?, "sentiment")?;
        }
        Name::Action => one(&mut filters.action, value.to_lowercase().parse()?, "action")?,
        Name::After => filters.from = filters.from.max(Some(value.parse()?)),
        Name::Before => before(filters, value.parse()?),
        Name::Until => before(filters, end_of(value)?),
    }
    Ok(())
}

/// Adds a filter that must not hold.
pub(super) fn exclude(filters: &mut Filters, name: Name, value: &str) -> Result<()> {
    let text = value.to_owned();
    filters.excluded.push(match name {
        Name::Kind => Condition::Kind(value.to_lowercase().parse()?),
        Name::Label => Condition::Label(text),
        Name::Category => Condition::Category(text),
        Name::Author => Condition::Author(text),
        Name::Path => Condition::Path(text),
        Name::Sentiment => Condition::Sentiment(value.to_lowercase().parse()?),
        Name::Action => Condition::Action(value.to_lowercase().parse()?),
        Name::After | Name::Before | Name::Until => {
            return Err(Error::invalid_params(format!(
                "a date cannot be excluded; instead of `-after:{value}` write `before:{value}`, and the other way round"
            )));
        }
    });
    Ok(())
}

/// The end of a moment that is meant with what it names: of a day, the day after.
pub fn end_of(moment: &str) -> Result<Timestamp> {
    let parsed: Timestamp = moment.parse()?;
    Ok(if Timestamp::is_day(moment) { parsed.plus_days(1) } else { parsed })
}

fn before(filters: &mut Filters, until: Timestamp) {
    filters.until = Some(filters.until.map_or(until, |other| other.min(until)));
}

/// Sets a filter of which an item has only one value.
fn one<T: PartialEq + std::fmt::Display>(
    place: &mut Option<T>,
    value: T,
    name: &str,
) -> Result<()> {
    match place {
        Some(other) if *other != value => Err(Error::invalid_params(format!(
            "an item has one {name}, so `{other}` and `{value}` cannot both hold; give one"
        ))),
        _ => {
            *place = Some(value);
            Ok(())
        }
    }
}

/// Both hold: the narrower one does.
fn both_paths(first: Option<String>, second: &str) -> Result<String> {
    let Some(first) = first else { return Ok(second.to_owned()) };
    let inside = |inner: &str, outer: &str| {
        let (inner, outer) = (inner.trim_matches('/'), outer.trim_matches('/'));
        inner == outer || inner.strip_prefix(outer).is_some_and(|rest| rest.starts_with('/'))
    };
    if inside(&first, second) {
        Ok(first)
    } else if inside(second, &first) {
        Ok(second.to_owned())
    } else {
        Err(Error::invalid_params(format!(
            "path `{first}` and path `{second}` have nothing in common; give one"
        )))
    }
}

/// The filters of the arguments and those of the query string: both hold.
pub fn combine(arguments: &Filters, string: &Filters) -> Result<Filters> {
    let mut both = arguments.clone();
    both.labels.extend(string.labels.iter().cloned());
    both.excluded.extend(string.excluded.iter().cloned());
    both.properties.extend(string.properties.iter().cloned());
    if let Some(path) = &string.path {
        both.path = Some(both_paths(both.path.take(), path)?);
    }
    if let Some(category) = &string.category {
        one(&mut both.category, category.clone(), "category")?;
    }
    if let Some(author) = &string.author {
        one(&mut both.author, author.clone(), "author")?;
    }
    if let Some(sentiment) = string.sentiment {
        one(&mut both.sentiment, sentiment, "sentiment")?;
    }
    if let Some(action) = string.action {
        one(&mut both.action, action, "action")?;
    }
    if !string.kinds.is_empty() {
        if both.kinds.is_empty() {
            both.kinds.clone_from(&string.kinds);
        } else {
            both.kinds.retain(|kind| string.kinds.contains(kind));
            if both.kinds.is_empty() {
                return Err(Error::invalid_params(
                    "the `kind:` of the query and the filter `kind` exclude each other; give one",
                ));
            }
        }
    }
    both.from = both.from.max(string.from);
    if let Some(until) = string.until {
        before(&mut both, until);
    }
    Ok(both)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Kind;

    #[test]
    fn addresses_times_and_code_are_ordinary_text() {
        for text in [
            "https://x.org/a",
            "mailto:a@b.c",
            "10:30",
            "localhost:8080",
            "std::fmt",
            "a::b:c",
            "C:/notes",
            "note:",
            "Q:",
            "doi:10.1/2",
            "例:今日",
            "x:y",
            "12:ab",
            "Map<K,V>:Debug",
        ] {
            assert_eq!(unknown(text), None, "{text}");
        }
        for (text, name) in
            [("foo:bar", "foo"), ("тема:сад", "тема"), ("タグ:庭", "タグ"), ("is_a:\"b", "is_a")]
        {
            assert_eq!(unknown(text), Some(name));
        }
    }

    #[test]
    fn filters_of_both_hold() {
        let string = crate::search::parse(
            "kind:page path:a/b after:2025-01-02 label:x category:Tools -author:bob",
        )
        .unwrap()
        .filters;
        let arguments = Filters {
            kinds: vec![Kind::Page, Kind::Card],
            path: Some("a".into()),
            from: Timestamp::parse("2025-01-01"),
            labels: vec!["y".into()],
            ..Filters::default()
        };
        let both = combine(&arguments, &string).unwrap();
        assert_eq!(both.kinds, [Kind::Page]);
        assert_eq!(both.path.as_deref(), Some("a/b"));
        assert_eq!(both.from, Timestamp::parse("2025-01-02"));
        assert_eq!(both.labels, ["y", "x"]);
        assert_eq!(both.category.as_deref(), Some("Tools"));
        assert_eq!(both.excluded, [Condition::Author("bob".into())]);
        let other = Filters { kinds: vec![Kind::Card], ..Filters::default() };
        assert!(combine(&other, &string).is_err());
        let other = Filters { category: Some("Music".into()), ..Filters::default() };
        assert!(combine(&other, &string).is_err());
    }
}
