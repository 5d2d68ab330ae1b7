//! A statement as numbers, for the two models that weigh it: one ranks statements, one gives the
//! probability that an answer from the best of them is right. Both are linear, with weights fitted
//! by `models/ask/fit.py` ([`super::weights`]).

use super::{
    question::{Question, Wanted},
    statement::{Form, Statement},
    weights,
};
use crate::text::Lang;

/// The names of the features, in their order.
pub const NAMES: [&str; COUNT] = [
    "own",
    "around",
    "head",
    "cosine",
    "standing",
    "passage",
    "passage_cosine",
    "fits",
    "misses",
    "list",
    "no_list",
    "defines",
    "opens",
    "no_definition",
    "item",
    "row",
    "group",
    "first",
    "length",
    "japanese",
    "russian",
];
/// Number of features.
pub const COUNT: usize = 21;

/// A linear model over the features.
#[derive(Debug, Clone, Copy)]
pub struct Weights {
    /// The constant term.
    pub bias: f32,
    /// One weight for each feature.
    pub features: [f32; COUNT],
}

impl Weights {
    fn sum(&self, features: &[f32; COUNT]) -> f32 {
        self.bias + self.features.iter().zip(features).map(|(weight, x)| weight * x).sum::<f32>()
    }
}

/// The features of a statement, in the order of [`NAMES`].
pub fn of(question: &Question<'_>, statement: &Statement) -> [f32; COUNT] {
    let flag = |is: bool| f32::from(u8::from(is));
    let fits = statement.fits == Some(true);
    let group = statement.form.is_group();
    let wants = |wanted: Wanted| question.wanted == Some(wanted);
    let value = wants(Wanted::Number) || wants(Wanted::Date) || wants(Wanted::Name);
    let (list, definition) = (wants(Wanted::List), wants(Wanted::Definition));
    let entries: usize = statement.entries.iter().map(|entry| entry.chars().count()).sum();
    let chars = statement.text.chars().count() + entries;
    [
        statement.own,
        statement.around,
        statement.head,
        statement.cosine.unwrap_or(0.0),
        statement.standing,
        statement.of_passage,
        statement.passage_cosine.unwrap_or(0.0),
        flag(value && fits),
        flag(value && !fits),
        // A list counts as far as it is the one that is asked for.
        flag(list && group) * statement.around,
        flag(list && !group),
        flag(definition && fits),
        flag(definition && !fits && statement.opens),
        flag(definition && !fits && !statement.opens),
        flag(statement.form == Form::Item),
        flag(statement.form == Form::Row),
        flag(group && !list),
        flag(statement.place == 0),
        (chars as f32 / 100.0).ln_1p(),
        flag(matches!(question.lang, Lang::Japanese | Lang::Chinese)),
        flag(matches!(question.lang, Lang::Russian | Lang::Ukrainian)),
    ]
}

/// What statements are ranked by: the log-odds that the statement holds the answer.
pub(super) fn rank(question: &Question<'_>, statement: &Statement) -> f32 {
    let weights = match statement.cosine {
        Some(_) => &weights::RANK,
        None => &weights::RANK_WORDS,
    };
    weights.sum(&of(question, statement))
}

/// The probability that an answer led by this statement is right, 0 to 1.
pub(super) fn confidence(question: &Question<'_>, best: &Statement) -> f32 {
    let weights = match best.cosine {
        Some(_) => &weights::CONFIDENCE,
        None => &weights::CONFIDENCE_WORDS,
    };
    1.0 / (1.0 + (-weights.sum(&of(question, best))).exp())
}
