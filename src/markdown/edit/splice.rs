//! Puts new text in the place of old, and checks that the structure around it stays.

use std::ops::Range;

use super::{Edited, Target};
use crate::{
    domain::{Error, Result},
    markdown::{Note, blocks::Unit},
};

/// Parts of a text and what takes their places, in the order of the text.
pub struct Splices(Vec<(Range<usize>, String)>);

impl Splices {
    pub fn one(range: Range<usize>, with: String) -> Self {
        Self(vec![(range, with)])
    }

    pub fn many(splices: Vec<(Range<usize>, String)>) -> Self {
        Self(splices)
    }

    /// The edited text. Where the new text would run into its neighbours, blank lines keep them
    /// apart; where that does not help, the edit is refused.
    pub fn apply(self, target: &Target<'_>) -> Result<Edited> {
        if self.0.iter().all(|(range, with)| target.text[range.clone()] == **with) {
            return Ok(join(target.text, &self.0));
        }
        let ending = target.ending();
        for (before, after) in [("", ""), ("", ending), (ending, ""), (ending, ending)] {
            let mut splices = self.0.clone();
            if let Some((_, first)) = splices.first_mut() {
                first.insert_str(0, before);
            }
            if let Some((_, last)) = splices.last_mut() {
                last.push_str(after);
            }
            let edited = join(target.text, &splices);
            let spans = Spans::new(&splices);
            let parsed = Note::parse(&edited.text, "");
            if spans.old.start >= target.note.body && parsed.body != target.note.body {
                // The new text would be read as frontmatter.
                break;
            }
            if spans.keeps_structure(target, &parsed) {
                return Ok(edited);
            }
        }
        Err(Error::invalid_params(
            "the text would change other parts of the note: it leaves a code block, comment or HTML block open, or starts like frontmatter; close what it opens and try again",
        ))
    }
}

fn join(text: &str, splices: &[(Range<usize>, String)]) -> Edited {
    let mut new = String::with_capacity(text.len());
    let mut at = 0;
    let mut changed: Option<Range<usize>> = None;
    for (range, with) in splices {
        new.push_str(&text[at..range.start]);
        let start = new.len();
        new.push_str(with);
        changed = Some(changed.map_or(start, |changed| changed.start)..new.len());
        at = range.end;
    }
    new.push_str(&text[at..]);
    Edited { text: new, changed: changed.unwrap_or(0..0) }
}

/// The span from the first to the last splice, before and after.
struct Spans {
    old: Range<usize>,
    /// How many bytes what follows has moved.
    grown: isize,
}

impl Spans {
    fn new(splices: &[(Range<usize>, String)]) -> Self {
        let start = splices.first().map_or(0, |(range, _)| range.start);
        let end = splices.last().map_or(0, |(range, _)| range.end);
        let grown =
            splices.iter().map(|(range, with)| with.len() as isize - range.len() as isize).sum();
        Self { old: start..end, grown }
    }

    /// Whether headings and blocks outside the target are what they were, where they were.
    fn keeps_structure(&self, target: &Target<'_>, parsed: &Note) -> bool {
        let region = target.region();
        // What is inside the target may change with the edit; what an insertion comes next to, not.
        let inside = match self.old.is_empty() {
            true => self.old.clone(),
            false => region.start.min(self.old.start)..region.end.max(self.old.end),
        };
        let after = inside.end.saturating_add_signed(self.grown);
        let (old, new) = (&target.note.blocks, &parsed.blocks);
        let starts = |unit: &&Unit| unit.range.start;
        let outside = |units: &[Unit], start: usize, end: usize, shift: isize| {
            let before = units.iter().filter(|unit| starts(unit) < start).map(|unit| {
                // An open list or quotation may end in the target: its own text counts.
                (unit.kind, unit.range.start, unit.range.end.min(start))
            });
            let behind = units.iter().filter(|unit| starts(unit) >= end).map(|unit| {
                let moved = |at: usize| at.saturating_add_signed(shift);
                (unit.kind, moved(unit.range.start), moved(unit.range.end))
            });
            before.chain(behind).collect::<Vec<_>>()
        };
        let same_units = outside(&old.units, inside.start, inside.end, self.grown)
            == outside(&new.units, inside.start, after, 0);
        let headings = |blocks: &crate::markdown::blocks::Blocks, start, end, shift: isize| {
            let kept = blocks.headings.iter().filter_map(|heading| {
                let at = heading.range.start;
                let moved = if at >= end { at.saturating_add_signed(shift) } else { at };
                (at < start || at >= end).then(|| (heading.level, moved, heading.title.clone()))
            });
            kept.collect::<Vec<_>>()
        };
        same_units
            && headings(old, inside.start, inside.end, self.grown)
                == headings(new, inside.start, after, 0)
    }
}
