//! The query string: what a person or an agent types.
//!
//! `"two words"` must occur as written (unless they are quoted within a whole sentence), `-word` must
//! not occur in the item, and `label:garden` or `-label:garden` narrow by a filter. Everything else is
//! what is searched for. No input is a syntax error, but a date or a kind that does not exist is, and
//! a `word:` that is no filter is reported.

use super::filters;
use crate::{
    domain::{Error, Filters, Result},
    text::words::count_words,
};

/// Longer questions are refused rather than cut.
pub const MAX_CHARACTERS: usize = 10_000;

/// With this many words around it, a quoted phrase is part of a sentence and not a search for it.
const SENTENCE: usize = 5;

/// A query string, taken apart.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Query {
    /// What is looked for, phrases included.
    pub text: String,
    /// Quoted phrases that must occur.
    pub phrases: Vec<String>,
    /// Words that must not occur.
    pub excluded: Vec<String>,
    /// Quoted words of a whole sentence: looked for as words, not as exact phrases.
    pub mentioned: Vec<String>,
    /// What the string itself narrows by.
    pub filters: Filters,
    /// Words before a colon that look like the name of a filter and are none.
    pub unknown_filters: Vec<String>,
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
    pub fn without_phrases(mut self) -> Self {
        self.mentioned.append(&mut self.phrases);
        self
    }
}

/// Takes a query string apart.
pub fn parse(input: &str) -> Result<Query> {
    let length = input.chars().count();
    if length > MAX_CHARACTERS {
        return Err(Error::invalid_params(format!(
            "query has `{length}` characters, at most `{MAX_CHARACTERS}` are searched; \
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
        if let Some((name, value, rest)) = filter(negated) {
            filters::exclude(&mut query.filters, name, value)?;
            return Ok(rest);
        }
        let (word, rest) = word(negated);
        if word.starts_with(char::is_alphanumeric) {
            query.excluded.push(word.to_owned());
            return Ok(rest);
        }
    }
    if let Some((name, value, rest)) = filter(input) {
        filters::add(&mut query.filters, name, value)?;
        return Ok(rest);
    }
    let (token, rest) = word(input);
    if let Some(name) = filters::unknown(token)
        && !query.unknown_filters.iter().any(|known| known == name)
    {
        query.unknown_filters.push(name.to_owned());
    }
    words.push(token.to_owned());
    Ok(rest)
}

/// A filter at the beginning, its value, and what follows. The value may be quoted and then have
/// spaces in it; without a value it is no filter.
fn filter(input: &str) -> Option<(filters::Name, &str, &str)> {
    let (token, rest) = word(input);
    let (name, typed, value) = filters::read(token)?;
    let (value, rest) = quoted(&input[typed.len() + 1..]).unwrap_or((value, rest));
    let value = value.trim();
    (!value.is_empty()).then_some((name, value, rest))
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::domain::{
        Code, Kind, Timestamp,
        query::{Action, Condition, Sentiment},
    };

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
        for text in [
            "kind:novel",
            "-kind:novel",
            "before:yesterday",
            "after:2025-13-01",
            "path:a path:b",
            "author:a author:b",
        ] {
            assert_eq!(parse(text).unwrap_err().code, Code::InvalidParams, "{text}");
        }
        let error = parse(&"x".repeat(1_000_000)).unwrap_err();
        assert!(error.message.contains("10000") && error.message.contains("1000000"), "{error}");
        assert!(parse(&"я".repeat(MAX_CHARACTERS)).is_ok());
    }

    #[test]
    fn a_filter_is_excluded_with_a_minus() {
        let query = parse("soup -kind:prompt -label:\"two words\" -author:@bob").unwrap();
        assert_eq!(query.text, "soup");
        assert_eq!(
            query.filters.excluded,
            [
                Condition::Kind(Kind::Prompt),
                Condition::Label("two words".into()),
                Condition::Author("@bob".into())
            ]
        );
        let error = parse("-after:2025-01-01").unwrap_err();
        assert!(error.message.contains("before:2025-01-01"), "{error}");
    }

    #[test]
    fn every_filter_of_the_arguments_can_be_written() {
        let query =
            parse("tag:сад category:AI-Tools author:mira sentiment:positive action:try_tool dateFrom:2025-01-01 dateTo:2025-01-31")
                .unwrap();
        assert!(query.is_listing() && query.unknown_filters.is_empty());
        let filters = query.filters;
        assert_eq!(filters.labels, ["сад"]);
        assert_eq!(filters.category.as_deref(), Some("AI-Tools"));
        assert_eq!(filters.author.as_deref(), Some("mira"));
        assert_eq!(filters.sentiment, Some(Sentiment::Positive));
        assert_eq!(filters.action, Some(Action::TryTool));
        assert_eq!(filters.until, Timestamp::parse("2025-02-01"), "the day itself is meant too");
        assert_eq!(parse("topic:庭 topic:x").unwrap().unknown_filters, ["topic"]);
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
