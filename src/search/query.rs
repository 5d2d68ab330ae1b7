//! The query string: what a person or an agent types.
//!
//! `"two words"` must occur as written (unless they are quoted within a whole sentence), `-word` must not occur in the item, and `label:`, `path:`,
//! `kind:`, `before:` and `after:` narrow like the filters of the same name. Everything else is what
//! is looked for. What does not read as one of these is a word: no input is a syntax error, but a
//! date or a kind that cannot be is told.

use crate::{
    domain::{Error, Filters, Result, Timestamp},
    text::words::count_words,
};

/// Longer questions are refused rather than cut.
pub const MOST_CHARACTERS: usize = 10_000;

/// With this many words around it, a quoted phrase is part of a sentence and not a search for it.
const SENTENCE: usize = 5;

/// A query string, taken apart.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Query {
    /// What is looked for, phrases included.
    pub text: String,
    pub phrases: Vec<String>,
    pub excluded: Vec<String>,
    /// Quoted words of a whole sentence: looked for as words, not as exact phrases.
    pub mentioned: Vec<String>,
    /// What the string itself narrows by.
    pub filters: Filters,
}

impl Query {
    /// Nothing to look for: the answer is a listing of what passes the filters.
    pub fn is_listing(&self) -> bool {
        self.text.trim().is_empty()
    }

    /// Whether what is quoted is so long that hardly anything has it word for word.
    pub fn quotes_a_sentence(&self) -> bool {
        count_words(&self.phrases.join(" ")) >= SENTENCE
    }

    /// The same question with its phrases as words.
    pub fn loosened(mut self) -> Self {
        self.mentioned.append(&mut self.phrases);
        self
    }
}

/// Takes a query string apart.
pub fn parse(input: &str) -> Result<Query> {
    let length = input.chars().count();
    if length > MOST_CHARACTERS {
        return Err(Error::invalid_params(format!(
            "query has `{length}` characters, at most `{MOST_CHARACTERS}` are searched; \
             ask in fewer words, or use `similar` for a whole text"
        )));
    }
    let mut query = Query::default();
    let mut words: Vec<String> = Vec::new();
    let mut rest = input.trim_start();
    while !rest.is_empty() {
        rest = part(rest, &mut query, &mut words)?.trim_start();
    }
    let outside: Vec<&str> =
        words.iter().filter(|word| !query.phrases.contains(word)).map(String::as_str).collect();
    if count_words(&outside.join(" ")) >= SENTENCE {
        query.mentioned = std::mem::take(&mut query.phrases);
    }
    query.text = words.join(" ");
    Ok(query)
}

/// Reads one part and gives back what follows it.
fn part<'a>(input: &'a str, query: &mut Query, words: &mut Vec<String>) -> Result<&'a str> {
    if let Some((phrase, rest)) = quoted(input) {
        if !phrase.trim().is_empty() {
            query.phrases.push(phrase.trim().to_owned());
            words.push(phrase.trim().to_owned());
        }
        return Ok(rest);
    }
    if let Some(negated) = input.strip_prefix('-') {
        if let Some((phrase, rest)) = quoted(negated) {
            if !phrase.trim().is_empty() {
                query.excluded.push(phrase.trim().to_owned());
            }
            return Ok(rest);
        }
        let (word, rest) = word(negated);
        if word.starts_with(char::is_alphanumeric) {
            if let Some((name, _)) = filter(word) {
                return Err(Error::invalid_params(format!(
                    "`-{name}:` cannot be excluded; only words can: `-word`"
                )));
            }
            query.excluded.push(word.to_owned());
            return Ok(rest);
        }
    }
    let (token, rest) = word(input);
    if let Some((name, value)) = filter(token) {
        // The value may be quoted and then have spaces in it.
        let after = &input[name.len() + 1..];
        let (value, rest) = quoted(after).unwrap_or((value, rest));
        if !value.trim().is_empty() {
            narrow(&mut query.filters, name, value.trim())?;
            return Ok(rest);
        }
    }
    words.push(token.to_owned());
    Ok(rest)
}

fn word(input: &str) -> (&str, &str) {
    let end = input.find(char::is_whitespace).unwrap_or(input.len());
    input.split_at(end)
}

/// A quoted phrase at the beginning, and what follows. A quote that is never closed is no quote.
fn quoted(input: &str) -> Option<(&str, &str)> {
    let (inner, close) = match input.chars().next()? {
        '"' => (&input[1..], '"'),
        // What phones and word processors make of straight quotes.
        '“' => (&input['“'.len_utf8()..], '”'),
        _ => return None,
    };
    let (phrase, rest) = inner.split_once(close)?;
    Some((phrase, rest))
}

const NAMES: [&str; 5] = ["label", "path", "kind", "before", "after"];

fn filter(token: &str) -> Option<(&'static str, &str)> {
    let (name, value) = token.split_once(':')?;
    let name = NAMES.into_iter().find(|known| known.eq_ignore_ascii_case(name))?;
    Some((name, value))
}

fn narrow(filters: &mut Filters, name: &str, value: &str) -> Result<()> {
    match name {
        "label" => filters.labels.push(value.to_owned()),
        "path" => filters.path = Some(both_paths(filters.path.take(), value)?),
        "kind" => {
            let kind = value.to_lowercase().parse()?;
            if !filters.kinds.contains(&kind) {
                filters.kinds.push(kind);
            }
        }
        // Neither the day of `before:` nor anything ahead of the day of `after:`.
        "before" => {
            let until: Timestamp = value.parse()?;
            filters.until = Some(filters.until.map_or(until, |other| other.min(until)));
        }
        _ => {
            let from: Timestamp = value.parse()?;
            filters.from = Some(filters.from.map_or(from, |other| other.max(from)));
        }
    }
    Ok(())
}

/// One of two folders that lies in the other.
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

/// The filters of the arguments and those of the string: both hold.
pub fn combine(arguments: &Filters, string: &Filters) -> Result<Filters> {
    let mut both = arguments.clone();
    both.labels.extend(string.labels.iter().cloned());
    if let Some(path) = &string.path {
        both.path = Some(both_paths(both.path.take(), path)?);
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
    both.until = match (both.until, string.until) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    };
    Ok(both)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::domain::{Code, Kind};

    #[test]
    fn a_plain_question_stays_as_it_is() {
        for text in
            ["how do I prune roses?", "как обрезать розы", "バラの剪定", "C++ a:b http://x.y/z"]
        {
            let query = parse(text).unwrap();
            assert_eq!(query, Query { text: text.to_owned(), ..Query::default() });
        }
    }

    #[test]
    fn phrases_exclusions_and_filters() {
        let query = parse(
            r#"roses "white rose" -"red rose" -thorn label:garden label:"two words" path:notes/ kind:page after:2025-01-01 before:2025-02-01"#,
        )
        .unwrap();
        assert_eq!(query.text, "roses white rose");
        assert_eq!(query.phrases, ["white rose"]);
        assert_eq!(query.excluded, ["red rose", "thorn"]);
        assert_eq!(query.filters.labels, ["garden", "two words"]);
        assert_eq!(query.filters.path.as_deref(), Some("notes/"));
        assert_eq!(query.filters.kinds, [Kind::Page]);
        assert_eq!(query.filters.from, Timestamp::parse("2025-01-01"));
        assert_eq!(query.filters.until, Timestamp::parse("2025-02-01"));
        let query = parse("“белая роза” -шипы label:сад バラ").unwrap();
        assert_eq!(query.phrases, ["белая роза"]);
        assert_eq!(query.excluded, ["шипы"]);
        assert_eq!(query.filters.labels, ["сад"]);
        assert_eq!(query.text, "белая роза バラ");
    }

    #[test]
    fn what_does_not_read_as_syntax_is_a_word() {
        for text in ["\"open quote", "rm -- x", "a - b", "kind: of", "label:", "5\" disk", "-"] {
            let query = parse(text).unwrap();
            assert_eq!(query.text, text, "{query:?}");
            assert!(query.phrases.is_empty() && query.excluded.is_empty());
        }
        assert!(parse("").unwrap().is_listing());
        assert!(parse(" \"\" ").unwrap().is_listing());
    }

    #[test]
    fn what_cannot_be_is_told() {
        for text in
            ["kind:novel", "before:yesterday", "after:2025-13-01", "-label:x", "path:a path:b"]
        {
            assert_eq!(parse(text).unwrap_err().code, Code::InvalidParams, "{text}");
        }
        let error = parse(&"x".repeat(1_000_000)).unwrap_err();
        assert!(error.message.contains("10000") && error.message.contains("1000000"), "{error}");
        assert!(parse(&"я".repeat(MOST_CHARACTERS)).is_ok());
    }

    #[test]
    fn filters_of_both_hold() {
        let string = parse("kind:page path:a/b after:2025-01-02 label:x").unwrap().filters;
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
        let other = Filters { kinds: vec![Kind::Card], ..Filters::default() };
        assert!(combine(&other, &string).is_err());
    }

    proptest! {
        #[test]
        fn nothing_makes_it_fail_badly(text in "[-\"“”a-zл東: /]{0,60}") {
            if let Err(error) = parse(&text) {
                prop_assert_eq!(error.code, Code::InvalidParams);
            }
        }
    }
}
