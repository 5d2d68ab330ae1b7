//! The answer of `search` and `similar`: a numbered list for a model, the same facts as a structure
//! for a program.

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    layout::TextLimits,
    result_item::{Item, ResultRows},
};
use crate::{
    app::page::Cursor,
    domain::{Result, count},
    search::Answer,
    tools::{self, Cx, Right},
};

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SearchAnswer {
    pub(super) results: Vec<Item>,
    total_matches: u64,
    /// False when there are more than were counted.
    total_is_exact: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) next_cursor: Option<String>,
    /// What was corrected, left out or is not indexed yet.
    pub(super) notes: Vec<String>,
    /// Whether results were left out to keep within `max_tokens`.
    #[serde(skip)]
    pub(super) cut: bool,
}

impl tools::Answer for SearchAnswer {
    fn text(&self) -> String {
        let mut text = match (self.results.len(), self.total_matches) {
            (0, _) => "Found nothing.".to_owned(),
            (shown, total) if total as usize > shown => {
                let least = if self.total_is_exact { "" } else { "at least " };
                format!("Found {least}{}, showing {shown}:", count(total, "note"))
            }
            (shown, _) => format!("Found {}:", count(shown, "note")),
        };
        let mut headlines = false;
        for (number, item) in self.results.iter().enumerate() {
            if item.is_headline() && !headlines {
                text.push('\n');
                headlines = true;
            }
            text += &item.text(number + 1);
        }
        for note in &self.notes {
            text += &format!("\n\nNote: {}.", note.trim_end_matches('.'));
        }
        if let Some(cursor) = &self.next_cursor {
            let cut = if self.cut { " (max_tokens is reached)" } else { "" };
            text += &format!("\n\nMore with cursor: {cursor}{cut}");
        }
        text
    }
}

/// Turns an engine's answer into a tool's.
pub struct Results<'a, 'b> {
    pub cx: &'a Cx<'b>,
    /// Where this page begins.
    pub offset: usize,
    pub limits: TextLimits,
    /// What the caller has to know beside what the search itself reports.
    pub notes: Vec<String>,
    /// Folded names of properties that each result shows.
    pub properties: Vec<String>,
}

impl Results<'_, '_> {
    pub fn format(self, answer: Answer) -> Result<SearchAnswer> {
        let rights = self.cx.rights;
        let mut notes = match rights.may(Right::LibraryState) && self.cx.app.is_empty_library()? {
            // Nothing can be missing from a library that has nothing.
            true => Vec::new(),
            false => answer.notes(),
        };
        notes.extend(self.cx.app.notices(rights)?);
        notes.extend(self.notes);
        let mut rows = ResultRows::read(&answer.results, &self.cx.app.store)?;
        let items = answer
            .results
            .into_iter()
            .map(|found| Item::new(found, &mut rows, self.cx, &self.properties));
        let items = items.collect::<Result<Vec<_>>>()?;
        let mut shown = SearchAnswer {
            results: Vec::new(),
            total_matches: answer.total.items as u64,
            total_is_exact: answer.total.exact,
            next_cursor: answer.next.map(|offset| Cursor::write(&offset.to_string())),
            notes,
            cut: false,
        };
        self.limits.lay_out(&mut shown, items, self.offset);
        Ok(shown)
    }
}
