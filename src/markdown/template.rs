//! `{{placeholders}}` in a text: found in one pass, filled in one pass.
//!
//! A value is never looked at again, so a value that contains `{{x}}` stays as it is. What does
//! not look like a placeholder (`{{#each}}`, `${{ secrets.X }}`, an unclosed `{{`) is plain text.
//! This room knows neither prompts nor pages: whoever fills a template decides what a name means.

use std::collections::HashMap;

use crate::domain::{Error, Result};

/// One piece of a template, in the order of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part<'a> {
    /// Literal text.
    Text(&'a str),
    /// `{{name}}`, `{{name|default}}`. `whole` is the placeholder as it was written.
    Variable {
        /// The variable.
        name: &'a str,
        /// Used when the caller gives no value.
        default: Option<&'a str>,
        /// As written.
        whole: &'a str,
    },
    /// `{{note:path#Heading}}`: a section of the vault, or a whole page.
    Note {
        /// The page.
        path: &'a str,
        /// The section; the whole page where `None`.
        heading: Option<&'a str>,
        /// Used when the page is not there.
        default: Option<&'a str>,
        /// As written.
        whole: &'a str,
    },
}

/// Cuts a text into its parts. `\{{name}}` is the literal text `{{name}}`.
pub fn parse(text: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    // Start of the plain text that is not yet in `parts`.
    let mut plain = 0;
    let mut at = 0;
    while let Some(found) = text[at..].find("{{") {
        let open = at + found;
        let Some((part, length)) = placeholder(&text[open..]) else {
            at = open + 1;
            continue;
        };
        // As usual with an escape character: `\\{{name}}` is a backslash and a placeholder.
        let escapes = backslashes(&text[plain..open]);
        push_text(&mut parts, &text[plain..open - escapes.div_ceil(2)]);
        match escapes % 2 {
            1 => push_text(&mut parts, &text[open..open + length]),
            _ => parts.push(part),
        }
        at = open + length;
        plain = at;
    }
    push_text(&mut parts, &text[plain..]);
    parts
}

/// Fills a template: `value` says what stands for each placeholder.
pub fn render<'a>(
    text: &'a str,
    value: impl FnMut(Part<'a>) -> Result<std::borrow::Cow<'a, str>>,
) -> Result<String> {
    render_within(text, usize::MAX, value)
}

/// As [`render`], with a result of at most `limit` bytes. A longer one is an error, found before
/// the part that is too much is added.
pub fn render_within<'a>(
    text: &'a str,
    limit: usize,
    mut value: impl FnMut(Part<'a>) -> Result<std::borrow::Cow<'a, str>>,
) -> Result<String> {
    let mut out = String::with_capacity(text.len().min(limit));
    let mut push = |part: &str| {
        if out.len().saturating_add(part.len()) > limit {
            return Err(Error::limit(format!(
                "the filled template has more than {limit} bytes; shorten what it includes"
            )));
        }
        out.push_str(part);
        Ok(())
    };
    for part in parse(text) {
        match part {
            Part::Text(text) => push(text)?,
            other => push(&value(other)?)?,
        }
    }
    Ok(out)
}

/// The names of the variables of a text, each once, in order; and whether each has a default
/// wherever it is used.
pub fn variables(text: &str) -> Vec<(&str, bool)> {
    let mut found: Vec<(&str, bool)> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    for part in parse(text) {
        if let Part::Variable { name, default, .. } = part {
            let place = *places.entry(name).or_insert(found.len());
            match found.get_mut(place) {
                Some((_, optional)) => *optional &= default.is_some(),
                None => found.push((name, default.is_some())),
            }
        }
    }
    found
}

/// Makes every placeholder of a foreign text literal: rendering gives that text back.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while let Some(found) = text[at..].find("{{") {
        let open = at + found;
        out.push_str(&text[at..open]);
        match placeholder(&text[open..]) {
            Some((_, length)) => {
                out.push_str(&"\\".repeat(backslashes(&text[..open]) + 1));
                out.push_str(&text[open..open + length]);
                at = open + length;
            }
            None => {
                out.push('{');
                at = open + 1;
            }
        }
    }
    out.push_str(&text[at..]);
    out
}

/// How many backslashes a text ends with.
fn backslashes(text: &str) -> usize {
    text.bytes().rev().take_while(|byte| *byte == b'\\').count()
}

/// A character of a variable's name.
fn in_name(c: char) -> bool {
    c == '_' || c == '-' || c.is_alphanumeric() || unicode_normalization::char::is_combining_mark(c)
}

fn push_text<'a>(parts: &mut Vec<Part<'a>>, text: &'a str) {
    if !text.is_empty() {
        parts.push(Part::Text(text));
    }
}

/// Reads the placeholder that `text` starts with, and its length in bytes.
fn placeholder(text: &str) -> Option<(Part<'_>, usize)> {
    let inner = text.strip_prefix("{{")?;
    // A further `{{` before the end means that this one was plain text; it also keeps the scan
    // of a hostile text linear.
    let pair = inner.as_bytes().windows(2).position(|pair| pair == b"}}" || pair == b"{{")?;
    let end = inner[pair..].starts_with("}}").then_some(pair)?;
    let inner = &inner[..end];
    let length = end + 4;
    let whole = &text[..length];
    let (head, default) = match inner.split_once('|') {
        Some((head, default)) => (head.trim(), Some(default.trim())),
        None => (inner.trim(), None),
    };
    if let Some(note) = head.strip_prefix("note:") {
        let (path, heading) = match note.split_once('#') {
            Some((path, heading)) => (path.trim(), Some(heading.trim())),
            None => (note.trim(), None),
        };
        let one_line = !note.contains(['\n', '\r']);
        let heading = heading.filter(|heading| !heading.is_empty());
        return (one_line && !path.is_empty())
            .then_some((Part::Note { path, heading, default, whole }, length));
    }
    let named = !head.is_empty() && !head.starts_with('-') && head.chars().all(in_name);
    named.then_some((Part::Variable { name: head, default, whole }, length))
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use proptest::prelude::*;

    use super::*;

    fn fill(text: &str, values: &[(&str, &str)]) -> String {
        render(text, |part| {
            Ok(match part {
                Part::Variable { name, default, whole } => {
                    let value = values.iter().find(|(known, _)| *known == name).map(|(_, v)| *v);
                    Cow::Owned(value.or(default).unwrap_or(whole).to_owned())
                }
                Part::Note { path, heading, .. } => {
                    Cow::Owned(format!("<{path}|{}>", heading.unwrap_or_default()))
                }
                Part::Text(_) => unreachable!(),
            })
        })
        .unwrap()
    }

    #[test]
    fn placeholders_in_the_forms_people_write() {
        let values = [("a", "1"), ("имя", "Анна"), ("言語", "日本語"), ("x-y", "2")];
        for (text, expected) in [
            ("{{a}}", "1"),
            ("{{ a }}, {{a}}", "1, 1"),
            ("Привет, {{имя}}!", "Привет, Анна!"),
            ("{{言語}}で書く", "日本語で書く"),
            ("{{x-y}}", "2"),
            ("{{b|two words}}", "two words"),
            ("{{ a | other }}", "1"),
            ("{{b|}}.", "."),
            ("{{b|多言語\nも}}", "多言語\nも"),
            ("{{{a}}}", "{1}"),
            ("{{ {{a}} }}", "{{ 1 }}"),
            (r"\{{a}}", "{{a}}"),
            (r"\\{{a}}", r"\1"),
            (r"\{{#each}} \n \{", r"\{{#each}} \n \{"),
            ("{{note:guides/setup.md#First steps}}", "<guides/setup.md|First steps>"),
            ("{{note: заметки/план }}", "<заметки/план|>"),
            (
                "${{ secrets.KEY }} {{/if}} {{ }} {{}} {{[-A|--all]}} {{a",
                "${{ secrets.KEY }} {{/if}} {{ }} {{}} {{[-A|--all]}} {{a",
            ),
        ] {
            assert_eq!(fill(text, &values), expected, "{text}");
        }
    }

    #[test]
    fn variables_are_named_once_with_their_defaults() {
        assert_eq!(
            variables(r"{{b}} {{a|x}} {{b|y}} {{a|z}} \{{c}} {{note:d}}"),
            [("b", false), ("a", true)]
        );
    }

    proptest! {
        #[test]
        fn values_are_not_expanded_again(value in r"(\{\{[ab]\}\}|[\\{}|ab語ж ]){0,12}") {
            prop_assert_eq!(fill("<{{a}}>", &[("a", &value), ("b", "never")]), format!("<{value}>"));
        }

        #[test]
        fn parts_cover_the_text(text in r"(\{\{|\}\}|[\\{}|#: a語ж-]|note:){0,40}") {
            // Every byte is in a part, escapes aside.
            let length: usize = parse(&text).iter().map(|part| match part {
                Part::Text(text) => text.len(),
                Part::Variable { whole, .. } | Part::Note { whole, .. } => whole.len(),
            }).sum();
            prop_assert!(length <= text.len());
            prop_assert!(text.contains('\\') || length == text.len());
        }

        #[test]
        fn an_escaped_text_renders_as_it_was(text in r"(\{\{|\}\}|[\\{}|#: a語ж-]|note:){0,40}") {
            prop_assert_eq!(fill(&escape(&text), &[("a", "!")]), text);
        }
    }

    #[test]
    fn a_limit_holds_while_a_template_is_filled() {
        let mut asked = 0;
        let result = render_within(&"{{a}}".repeat(1000), 100, |_| {
            asked += 1;
            Ok("x".repeat(40).into())
        });
        assert_eq!(result.unwrap_err().code, crate::domain::Code::Limit);
        assert_eq!(asked, 3, "nothing is asked for after the limit");
        assert_eq!(render_within("{{a}}", 1, |_| Ok("x".into())).unwrap(), "x");
    }

    #[test]
    fn variables_are_counted_in_linear_time() {
        let text: String = (0..50_000).map(|n| format!("{{{{v{n}}}}}")).collect();
        assert_eq!(variables(&text).len(), 50_000);
    }

    #[test]
    fn a_hostile_text_is_read_in_one_go() {
        let text = "{{a|".repeat(200_000);
        assert_eq!(parse(&text).len(), 1);
    }
}
