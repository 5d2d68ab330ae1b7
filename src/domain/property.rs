//! Properties: what the frontmatter of a page says, as filters and sorting see it.
//!
//! A property has a name and one or more values. Names and values are compared folded (case, width
//! and Unicode form do not count), numbers as numbers and dates as moments. A list has each of its
//! elements as a value; a field of a mapping is named with a dot: `project.name`.

use std::cmp::Ordering;

use serde_json::{Map, Value};

use super::{Error, Result, Timestamp, author::fold};

/// Characters of a value that are compared.
const MAX_VALUE_CHARS: usize = 200;

/// Values of one page that can be searched for; frontmatter with more is data, not properties.
const MAX_VALUES: usize = 500;

/// The operators of a filter.
const OPERATORS: &str = "=, !=, >, >=, <, <=, in, exists";

/// A condition on one property.
#[derive(Debug, Clone, PartialEq)]
pub struct PropertyFilter {
    /// The property's name, folded.
    pub name: String,
    /// What one of its values must be.
    pub test: PropertyTest,
    /// Whether the condition must not hold. It does not for a page without the property.
    pub excluded: bool,
}

/// What a value of a property must be.
#[derive(Debug, Clone, PartialEq)]
pub enum PropertyTest {
    /// Any value.
    Exists,
    /// One of these values, folded.
    OneOf(Vec<String>),
    /// On this side of a number or a date.
    Compare(Comparison, Operand),
    /// From one number or date to another, both included.
    Between(Operand, Operand),
}

/// The side of an operand on which a value must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// `>`
    Above,
    /// `>=`
    AtLeast,
    /// `<`
    Below,
    /// `<=`
    AtMost,
}

/// What a value is compared with.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Operand {
    /// A number.
    Number(f64),
    /// From this moment to before that one: a day is meant whole.
    Moment(Timestamp, Timestamp),
}

/// The order of results by a property. Pages without it come last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sort {
    /// The property's name, folded.
    pub property: String,
    /// The greatest value first.
    pub descending: bool,
}

impl Sort {
    /// Reads `due` or `-due`.
    pub fn parse(text: &str) -> Result<Self> {
        let (name, descending) = match text.trim().strip_prefix('-') {
            Some(name) => (name, true),
            None => (text, false),
        };
        match fold_name(name) {
            property if property.is_empty() => Err(Error::invalid_params(
                "sort names no property; write `due`, or `-due` for the latest first",
            )),
            property => Ok(Self { property, descending }),
        }
    }
}

/// A property's name as it is compared.
pub fn fold_name(name: &str) -> String {
    fold(name).replace('\0', "")
}

fn fold_value(value: &str) -> String {
    let folded = fold(value).replace('\0', "");
    match folded.char_indices().nth(MAX_VALUE_CHARS) {
        Some((end, _)) => folded[..end].to_owned(),
        None => folded,
    }
}

/// The folded names and values of a page's properties.
pub fn values(properties: &Map<String, Value>) -> Vec<(String, String)> {
    let mut out = Vec::new();
    for (name, value) in properties {
        collect(&fold_name(name), value, &mut out);
    }
    out.truncate(MAX_VALUES);
    out
}

fn collect(name: &str, value: &Value, out: &mut Vec<(String, String)>) {
    match value {
        Value::Object(fields) => {
            for (field, value) in fields {
                collect(&format!("{name}.{}", fold_name(field)), value, out);
            }
        }
        Value::Array(values) => values.iter().for_each(|value| collect(name, value, out)),
        scalar => {
            if let Some(text) = text_of(scalar).map(|text| fold_value(&text))
                && !text.is_empty()
                && !name.is_empty()
            {
                out.push((name.to_owned(), text));
            }
        }
    }
}

/// A scalar as text.
fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// A value as a person reads it: lists with commas.
pub fn shown(value: &Value) -> String {
    match value {
        Value::Array(values) => values.iter().map(shown).collect::<Vec<_>>().join(", "),
        Value::String(text) => text.split_whitespace().collect::<Vec<_>>().join(" "),
        other => other.to_string(),
    }
}

impl PropertyFilter {
    fn new(name: &str, test: PropertyTest, excluded: bool) -> Self {
        Self { name: fold_name(name), test, excluded }
    }

    /// Reads the value of `name:value` in a query string: a value, `*`, `>3`, `<=2025-01-31`,
    /// `!=draft` or `3..5`.
    pub fn from_text(name: &str, value: &str) -> Result<Self> {
        let value = value.trim();
        if value == "*" {
            return Ok(Self::new(name, PropertyTest::Exists, false));
        }
        if let Some((from, to)) = value.split_once("..")
            && let (Some(from), Some(to)) = (Operand::read(from), Operand::read(to))
        {
            return Ok(Self::new(name, PropertyTest::Between(from, to), false));
        }
        for operator in [">=", "<=", "!=", ">", "<", "="] {
            if let Some(operand) = value.strip_prefix(operator) {
                return Self::compared(name, operator, operand);
            }
        }
        Ok(Self::new(name, PropertyTest::OneOf(vec![fold_value(value)]), false))
    }

    /// Reads one entry of `filters.properties`: a value, a list of values of which one is enough,
    /// `null` for pages without the property, or operators with their operands.
    pub fn from_json(name: &str, value: &Value) -> Result<Vec<Self>> {
        if fold_name(name).is_empty() {
            return Err(Error::invalid_params("filters.properties has a property without a name"));
        }
        match value {
            Value::Null => Ok(vec![Self::new(name, PropertyTest::Exists, true)]),
            Value::Array(_) => Ok(vec![Self::one_of(name, value, false)?]),
            Value::Object(operators) if operators.is_empty() => {
                Err(wrong(name, format!("has no operator; give one of {OPERATORS}")))
            }
            Value::Object(operators) => operators
                .iter()
                .map(|(operator, operand)| Self::from_operator(name, operator, operand))
                .collect(),
            scalar => Ok(vec![Self::one_of(name, scalar, false)?]),
        }
    }

    fn from_operator(name: &str, operator: &str, operand: &Value) -> Result<Self> {
        match (operator, operand) {
            ("exists", Value::Bool(exists)) => Ok(Self::new(name, PropertyTest::Exists, !exists)),
            ("exists", _) => Err(wrong(name, "exists must be true or false")),
            ("in", Value::Array(_)) => Self::one_of(name, operand, false),
            ("in", _) => Err(wrong(name, "in must be an array of values")),
            ("=" | "!=", _) => Self::one_of(name, operand, operator == "!="),
            (">" | ">=" | "<" | "<=", _) => match text_of(operand) {
                Some(text) => Self::compared(name, operator, &text),
                None => Err(not_comparable(name, operator, &operand.to_string())),
            },
            _ => Err(wrong(name, format!("`{operator}` is not one of {OPERATORS}"))),
        }
    }

    fn one_of(name: &str, value: &Value, excluded: bool) -> Result<Self> {
        let all = match value {
            Value::Array(values) => values.iter().collect(),
            scalar => vec![scalar],
        };
        let texts: Option<Vec<String>> =
            all.into_iter().map(|value| text_of(value).map(|text| fold_value(&text))).collect();
        match texts {
            Some(texts) => Ok(Self::new(name, PropertyTest::OneOf(texts), excluded)),
            None => Err(wrong(name, "a value must be a string, a number, or true or false")),
        }
    }

    fn compared(name: &str, operator: &str, operand: &str) -> Result<Self> {
        let comparison = match operator {
            ">" => Comparison::Above,
            ">=" => Comparison::AtLeast,
            "<" => Comparison::Below,
            "<=" => Comparison::AtMost,
            _ => {
                let test = PropertyTest::OneOf(vec![fold_value(operand)]);
                return Ok(Self::new(name, test, operator == "!="));
            }
        };
        match Operand::read(operand) {
            Some(operand) => Ok(Self::new(name, PropertyTest::Compare(comparison, operand), false)),
            None => Err(not_comparable(name, operator, operand)),
        }
    }
}

fn wrong(name: &str, what: impl std::fmt::Display) -> Error {
    Error::invalid_params(format!("the filter on property `{name}`: {what}"))
}

fn not_comparable(name: &str, operator: &str, operand: &str) -> Error {
    wrong(
        name,
        format!(
            "`{operator}` compares numbers and dates, and `{operand}` is neither; write `3.5` or `2025-01-31`"
        ),
    )
}

impl PropertyTest {
    /// Whether a value, folded, passes.
    pub fn passes(&self, value: &str) -> bool {
        match self {
            Self::Exists => true,
            Self::OneOf(values) => values.iter().any(|wanted| is_same(wanted, value)),
            Self::Compare(comparison, operand) => operand.admits(*comparison, value),
            Self::Between(from, to) => {
                from.admits(Comparison::AtLeast, value) && to.admits(Comparison::AtMost, value)
            }
        }
    }
}

impl Operand {
    /// Whether a value is on this side of the operand; one of another type is on neither.
    fn admits(&self, comparison: Comparison, value: &str) -> bool {
        match self {
            Self::Number(wanted) => number(value).is_some_and(|value| match comparison {
                Comparison::Above => value > *wanted,
                Comparison::AtLeast => value >= *wanted,
                Comparison::Below => value < *wanted,
                Comparison::AtMost => value <= *wanted,
            }),
            Self::Moment(from, until) => moment(value).is_some_and(|value| match comparison {
                Comparison::Above => value >= *until && value > *from,
                Comparison::AtLeast => value >= *from,
                Comparison::Below => value < *from,
                Comparison::AtMost => value < *until || value == *from,
            }),
        }
    }

    fn read(text: &str) -> Option<Self> {
        if let Some(number) = number(text) {
            return Some(Self::Number(number));
        }
        let from = moment(text)?;
        let until = if Timestamp::is_day(text) { from.plus_days(1) } else { from };
        Some(Self::Moment(from, until))
    }
}

fn number(text: &str) -> Option<f64> {
    text.trim().parse().ok().filter(|number: &f64| number.is_finite())
}

/// Folding has made the letters of a time small.
fn moment(text: &str) -> Option<Timestamp> {
    Timestamp::parse(&text.to_uppercase())
}

fn is_same(one: &str, other: &str) -> bool {
    one == other
        || number(one).is_some_and(|one| number(other) == Some(one))
        || moment(one).is_some_and(|one| moment(other) == Some(one))
}

/// The order of two folded values: numbers, then dates, then texts.
pub fn compare(one: &str, other: &str) -> Ordering {
    match (number(one), number(other)) {
        (Some(one), Some(other)) => return one.total_cmp(&other),
        (Some(_), None) => return Ordering::Less,
        (None, Some(_)) => return Ordering::Greater,
        (None, None) => {}
    }
    match (moment(one), moment(other)) {
        (Some(one), Some(other)) => one.cmp(&other),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => one.cmp(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn passes(filter: Value, value: &str) -> bool {
        let filters = PropertyFilter::from_json("p", &filter).unwrap();
        let value = fold_value(value);
        filters.iter().all(|filter| filter.test.passes(&value) != filter.excluded)
    }

    #[test]
    fn values_compare_by_what_they_are() {
        assert!(passes(json!("Черновик"), "черновик") && passes(json!("ﾒﾓ"), "メモ"));
        assert!(passes(json!(4), "4.0") && !passes(json!(4), "5") && passes(json!(true), "true"));
        assert!(passes(json!(["a", "b"]), "B") && !passes(json!(["a", "b"]), "c"));
        assert!(passes(json!({">": 3, "<=": 5}), "5") && !passes(json!({">": 3}), "3"));
        assert!(passes(json!({"<": 10}), "9") && !passes(json!({"<": 10}), "draft"));
        assert!(passes(json!({"<=": "2025-01-31"}), "2025-01-31T10:00:00Z"));
        assert!(!passes(json!({">": "2025-01-31"}), "2025-01-31T10:00:00Z"));
        assert!(passes(json!({">": "2025-01-31"}), "2025-02-01"));
        assert!(passes(json!({"!=": "draft"}), "done") && !passes(json!({"!=": "draft"}), "Draft"));
        assert!(passes(json!("2025-01-31"), "2025-01-31T00:00:00.000Z"));
    }

    #[test]
    fn the_query_string_says_the_same() {
        for (text, value, expected) in [
            ("draft", "Draft", true),
            ("*", "x", true),
            (">3", "4", true),
            (">3", "3", false),
            ("3..5", "5", true),
            ("3..5", "6", false),
            ("<2025-02-01", "2025-01-31", true),
            ("!=done", "done", false),
            ("a..b", "a..b", true),
        ] {
            let filter = PropertyFilter::from_text("p", text).unwrap();
            let holds = filter.test.passes(&fold_value(value)) != filter.excluded;
            assert_eq!(holds, expected, "{text} {value}");
        }
    }

    #[test]
    fn mistakes_are_named() {
        for (filter, expected) in [
            (json!({"~": 1}), "`~` is not one of"),
            (json!({}), "no operator"),
            (json!({">": "soon"}), "compares numbers and dates"),
            (json!({">": [1]}), "compares numbers and dates"),
            (json!({"exists": 1}), "true or false"),
            (json!({"in": 1}), "array"),
            (json!([[1]]), "a value must be"),
        ] {
            let error = PropertyFilter::from_json("rating", &filter).unwrap_err();
            assert!(error.message.contains(expected), "{filter}: {error}");
            assert!(error.message.contains("rating"), "{error}");
        }
        assert!(PropertyFilter::from_text("p", ">soon").is_err());
        assert!(Sort::parse("-").is_err() && Sort::parse("-Срок").unwrap().descending);
    }

    #[test]
    fn nested_fields_and_lists_are_values() {
        let front =
            json!({"Статус": "Готово", "project": {"name": "X", "n": [1, 2]}, "empty": null});
        let found = values(front.as_object().unwrap());
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(
            found,
            [
                pair("статус", "готово"),
                pair("project.name", "x"),
                pair("project.n", "1"),
                pair("project.n", "2")
            ]
        );
        let mut order = ["b", "2025-02-01", "10", "9", "a", "2024-12-31"];
        order.sort_by(|one, other| compare(one, other));
        assert_eq!(order, ["9", "10", "2024-12-31", "2025-02-01", "a", "b"]);
    }
}
