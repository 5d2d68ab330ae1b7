//! How much of each result of a search is shown.
//!
//! A model pays for every word. By default the first results have a snippet and the others their
//! title; with `limit` every result has all its matches. `max_tokens` bounds the answer: titles
//! come first, then snippets from the best result down.

use super::{
    result_item::{Detail, Item},
    results::SearchAnswer,
};
use crate::{
    app::page::Cursor,
    domain::{Error, Result},
    text::tokens,
    tools::Answer,
};

/// How the results of a default answer are shown, from the best one down; the others by title.
const DEFAULT: [Detail; 3] = [Detail::Wide, Detail::Excerpt, Detail::Excerpt];

/// The smallest `max_tokens`: enough to show that there is something, and how to go on.
pub const MIN_TOKENS: usize = 40;

/// The limits on the text of an answer, from the arguments.
#[derive(Clone, Copy, Default)]
pub struct TextLimits {
    /// A hard ceiling of what is sent as text.
    pub max_tokens: Option<usize>,
    /// Every match of every result, as far as `max_tokens` allows.
    pub full: bool,
    /// The text is the structure as JSON.
    pub json: bool,
}

impl TextLimits {
    pub fn check(max_tokens: Option<usize>) -> Result<()> {
        match max_tokens {
            Some(given) if given < MIN_TOKENS => Err(Error::invalid_params(format!(
                "max_tokens must be at least {MIN_TOKENS}, not {given}"
            ))),
            _ => Ok(()),
        }
    }

    /// Fills an answer that has no results yet. `offset` is the number of the first one.
    pub fn lay_out(self, answer: &mut SearchAnswer, mut items: Vec<Item>, offset: usize) {
        mark_ambiguous(&mut items);
        let Some(max_tokens) = self.max_tokens else {
            let detail = |at: usize| match self.full {
                true => Detail::Full,
                false => DEFAULT.get(at).copied().unwrap_or(Detail::Title),
            };
            let shown = items.iter().enumerate().map(|(at, item)| item.at(detail(at)));
            answer.results = shown.collect();
            return;
        };
        answer.results = items.iter().map(|item| item.at(Detail::Title)).collect();
        self.drop_last(answer, max_tokens, offset);
        let mut spent = self.cost(answer);
        for detail in Detail::RAISED {
            for (at, item) in items.iter().enumerate().take(answer.results.len()) {
                let raised = item.at(detail);
                let (before, after) =
                    (self.item_cost(&answer.results[at]), self.item_cost(&raised));
                let cost = (spent + after).saturating_sub(before);
                // A better result is never shown in less detail than a worse one.
                if cost > max_tokens {
                    break;
                }
                let lower = std::mem::replace(&mut answer.results[at], raised);
                if self.cost(answer) > max_tokens {
                    answer.results[at] = lower;
                    break;
                }
                spent = cost;
            }
        }
    }

    /// Leaves out the last results, and then the last notes, until the answer fits.
    fn drop_last(self, answer: &mut SearchAnswer, max_tokens: usize, offset: usize) {
        while self.cost(answer) > max_tokens && answer.results.len() > 1 {
            answer.results.pop();
            answer.next_cursor = Some(Cursor::write(&(offset + answer.results.len()).to_string()));
            answer.cut = true;
        }
        if self.cost(answer) > max_tokens {
            answer.results.iter_mut().for_each(Item::strip);
        }
        while self.cost(answer) > max_tokens && !answer.notes.is_empty() {
            answer.notes.pop();
        }
    }

    fn cost(self, answer: &SearchAnswer) -> usize {
        match self.json {
            true => json_cost(answer),
            false => tokens::estimate(&answer.text()),
        }
    }

    fn item_cost(self, item: &Item) -> usize {
        match self.json {
            true => json_cost(item),
            false => tokens::estimate(&item.text(1)),
        }
    }
}

fn json_cost(value: &impl serde::Serialize) -> usize {
    serde_json::to_string(value).map_or(0, |text| tokens::estimate(&text))
}

/// Results whose title another one has too show their path also where only titles are shown.
fn mark_ambiguous(items: &mut [Item]) {
    let titles: Vec<String> = items.iter().map(|item| item.title().to_lowercase()).collect();
    for (item, title) in items.iter_mut().zip(&titles) {
        item.ambiguous = titles.iter().filter(|other| *other == title).count() > 1;
    }
}
