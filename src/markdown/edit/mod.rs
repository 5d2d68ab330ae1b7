//! Edits of a note's text. One target changes; every byte outside it stays as it is.
//!
//! A target is a section with its subsections, or the note itself. After an edit the text is parsed
//! again: an edit that would change the structure outside its target, such as a code block that the
//! new text never closes, is refused.

mod field_line;
mod fields;
mod find;
mod lines;
mod links;
mod splice;

use std::ops::Range;

pub use fields::{set_field, set_fields};
pub use links::{LinkForm, LinkPlace, link_places, rewrite_links};

use self::splice::Splices;
use super::{Note, Section};
use crate::domain::{Error, Result};

/// What to do with a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Edit<'a> {
    /// A new text for the section with its subsections. The heading stays unless the text starts
    /// with one of the same or a higher level; the frontmatter of a note stays unless the text
    /// starts with one.
    Replace(&'a str),
    /// At the end of the target, subsections included.
    Append(&'a str),
    /// Right below the heading.
    Prepend(&'a str),
    /// In front of the heading.
    Before(&'a str),
    /// Behind the section, as a block of its own.
    After(&'a str),
    /// `find` must occur exactly `count` times; each occurrence becomes `text`.
    #[allow(missing_docs, reason = "described above")]
    Find { find: &'a str, text: &'a str, count: usize },
    /// Removes the section with its heading and subsections.
    Delete,
}

/// A text after an edit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edited {
    /// The note afterwards.
    pub text: String,
    /// What is new in it, from the first changed byte to the last.
    pub changed: Range<usize>,
}

/// Applies an edit to one section of a note, which is the note itself for the root.
pub fn apply(text: &str, note: &Note, section: &Section, edit: Edit<'_>) -> Result<Edited> {
    let target = Target { text, note, section };
    if section.level == 0 {
        check_place(edit)?;
    }
    let plan = match edit {
        Edit::Replace(with) => target.replace(with),
        Edit::Append(new) => target.append(given(new)?, false),
        Edit::Prepend(new) => target.prepend(given(new)?),
        Edit::Before(new) => target.before(given(new)?),
        Edit::After(new) => target.append(given(new)?, true),
        Edit::Find { find, text: with, count } => target.find(find, with, count)?,
        Edit::Delete => Splices::one(section.range.clone(), String::new()),
    };
    plan.apply(&target)
}

/// Refuses what can be done to a section and not to a whole note.
pub fn check_place(edit: Edit<'_>) -> Result<()> {
    match edit {
        Edit::Delete => Err(Error::invalid_params(
            "delete needs a section: give toc_path or match_id; `move_page` with to `@trash` removes a whole note",
        )),
        Edit::Before(_) | Edit::After(_) => Err(Error::invalid_params(
            "before and after need a section: give toc_path or match_id; prepend and append add to the note",
        )),
        _ => Ok(()),
    }
}

fn given(text: &str) -> Result<&str> {
    match text.trim().is_empty() {
        true => Err(Error::invalid_params("text is required: what to write")),
        false => Ok(text),
    }
}

/// A section of a note, with the text it stands in.
struct Target<'a> {
    text: &'a str,
    note: &'a Note,
    section: &'a Section,
}

impl Target<'_> {
    /// The bytes of the target: a section, or the body of the note.
    fn region(&self) -> Range<usize> {
        let start = if self.section.level == 0 { self.note.body } else { self.section.range.start };
        start..self.section.range.end
    }

    /// Where the line after the target's heading starts. A note's heading is its title.
    fn below_heading(&self) -> usize {
        let region = self.region();
        let heading = self.note.blocks.headings.iter().find(|heading| match self.section.level {
            0 => {
                let listed = self.note.outline.sections().get(1);
                heading.leads && listed.is_none_or(|first| first.range.start != heading.range.start)
            }
            _ => heading.range.start == region.start,
        });
        heading.map_or(region.start, |heading| lines::line_end(self.text, heading.range.end))
    }

    /// The line ending that new text takes: that of the target, else that of the file.
    fn ending(&self) -> &'static str {
        let region = &self.text[self.region()];
        if region.contains('\n') { lines::ending(region) } else { lines::ending(self.text) }
    }

    fn replace(&self, with: &str) -> Splices {
        let region = self.region();
        let unmarked = with.strip_prefix('\u{feff}').unwrap_or(with);
        // A byte order mark is none where the target starts with one itself.
        let with = if self.text[region.clone()].starts_with('\u{feff}') { with } else { unmarked };
        let start = match self.section.level {
            0 if self.brings_frontmatter(with) => lines::after_mark(self.text),
            0 => region.start,
            level if lines::starts_with_heading(with, level) => region.start,
            _ if self.brings_heading(with) => region.start,
            _ => self.below_heading(),
        };
        let old = &self.text[start..region.end];
        if lines::same(old, with) {
            return Splices::one(start..start, String::new());
        }
        let ending = self.ending();
        let content = lines::content(old);
        let new = lines::convert(lines::trimmed(with), ending);
        if !content.is_empty() {
            return Splices::one(start + content.start..start + content.end, new);
        }
        // Nothing was there: below a heading a blank line, and an end of line before what follows.
        let bare = start > 0 && !self.text[..start].ends_with(['\n', '\r']);
        let below = if start > region.start { ending } else { "" };
        let lead = if bare { format!("{ending}{below}") } else { below.to_owned() };
        let last = region.end == self.text.len();
        let trail = if last && (bare || !old.is_empty()) { "" } else { ending };
        Splices::one(start..start, format!("{lead}{new}{trail}"))
    }

    /// Whether a new text starts with the heading of the section. On its own that may read as
    /// something else: as a list, for example, which could not interrupt the paragraph before it.
    fn brings_heading(&self, with: &str) -> bool {
        let heading = lines::trimmed(&self.text[self.region().start..self.below_heading()]);
        let with = lines::trimmed(with);
        let last = heading.matches('\n').count();
        let end = with.match_indices('\n').nth(last).map_or(with.len(), |(at, _)| at);
        !heading.is_empty() && lines::same(heading, &with[..end])
    }

    /// Whether a new text for the note starts with its frontmatter. A body may start like frontmatter
    /// too, with rules: a text that starts as this body does is a new body.
    fn brings_frontmatter(&self, with: &str) -> bool {
        let block = |text| {
            let split = super::frontmatter::split(text);
            split.yaml.map(|_| &text[..split.body])
        };
        let own = block(&self.text[self.note.body..]);
        block(with).is_some_and(|new| own.is_none_or(|own| !lines::same(own, new)))
    }

    /// Adds after the last line that is not blank, in a block of its own unless both are items of a
    /// list, rows of a table or lines of a quotation.
    fn append(&self, new: &str, apart: bool) -> Splices {
        let region = self.region();
        let ending = self.ending();
        let content = lines::content(&self.text[region.clone()]);
        let at = region.start + content.end;
        let last = lines::last_line(&self.text[region.start..at]);
        let trimmed = lines::trimmed(new);
        let blank = apart || !lines::continues(last, trimmed);
        let new = lines::convert(trimmed, ending);
        if content.is_empty() {
            let trail = if self.text[at..].is_empty() { ending } else { "" };
            return Splices::one(at..at, format!("{new}{trail}"));
        }
        let gap = if blank { ending } else { "" };
        Splices::one(at..at, format!("{ending}{gap}{new}"))
    }

    fn prepend(&self, new: &str) -> Splices {
        let region = self.region();
        let ending = self.ending();
        let below = self.below_heading();
        let content = lines::content(&self.text[below..region.end]);
        if content.is_empty() {
            return self.append(new, false);
        }
        let at = below + content.start;
        let trimmed = lines::trimmed(new);
        let next = self.text[at..].lines().next().unwrap_or_default();
        let gap = if lines::continues(lines::last_line(trimmed), next) { "" } else { ending };
        let new = lines::convert(trimmed, ending);
        Splices::one(at..at, format!("{new}{ending}{gap}"))
    }

    fn before(&self, new: &str) -> Splices {
        let ending = self.ending();
        let at = self.section.range.start;
        let above = lines::last_line(&self.text[..at]);
        let lead = if above.trim().is_empty() { "" } else { ending };
        let new = lines::convert(lines::trimmed(new), ending);
        Splices::one(at..at, format!("{lead}{new}{ending}{ending}"))
    }
}

#[cfg(test)]
mod tests;
