//! The neighbourhood of a passage: whole blocks around it, with `…` where the note goes on.

use std::ops::Range;

use super::{
    blocks::{Unit, UnitKind},
    note::Note,
};

/// A part of a note that reads well on its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Window {
    /// In the note's text.
    pub range: Range<usize>,
    /// The note has words before it.
    pub cut_before: bool,
    /// The note has words after it.
    pub cut_after: bool,
    /// The Markdown of the range, with `…` on a line of its own at each cut. A table that is
    /// entered in its middle gets its head again, and a code block its fence.
    pub markdown: String,
}

impl Note {
    /// The window around a passage. It holds every block that the passage touches, and grows by
    /// whole blocks, the nearest first, by up to `context_words` words of context in all.
    pub fn window(&self, text: &str, passage: Range<usize>, context_words: usize) -> Window {
        let units = &self.blocks.units;
        let mut first = units.partition_point(|unit| unit.range.end <= passage.start);
        let mut last = units.partition_point(|unit| unit.range.start < passage.end);
        if first >= last {
            first = first.min(units.len().saturating_sub(1));
            last = (first + 1).min(units.len());
        }
        grow(units, &mut first, &mut last, context_words);
        let Some(held) = units.get(first..last).filter(|held| !held.is_empty()) else {
            let range = self.body..text.len();
            let markdown = text.get(range.clone()).unwrap_or_default().to_owned();
            return Window { range, cut_before: false, cut_after: false, markdown };
        };
        let range = held[0].range.start..held[held.len() - 1].range.end;
        let mut markdown = String::with_capacity(range.len() + 16);
        let (cut_before, cut_after) = (first > 0, last < units.len());
        if cut_before {
            markdown.push_str("…\n\n");
        }
        self.repeat_head(text, first, &mut markdown);
        markdown.push_str(&dedent(&text[range.clone()]));
        if self.is_open_code(text, last) {
            markdown.push_str("\n```");
        }
        if cut_after {
            markdown.push_str("\n\n…");
        }
        markdown.push('\n');
        Window { range, cut_before, cut_after, markdown }
    }

    /// What a reader needs above a unit that starts in the middle of a table or a code block.
    fn repeat_head(&self, text: &str, first: usize, markdown: &mut String) {
        let units = &self.blocks.units;
        let unit = &units[first];
        match unit.kind {
            UnitKind::TableRow => {
                let before = units[..first].iter().rev();
                let mut same = before.take_while(|other| other.block == unit.block);
                if let Some(head) = same.find(|other| other.kind == UnitKind::TableHead) {
                    // The head, and the line of dashes below it.
                    let lines: Vec<&str> = text[head.range.start..].lines().take(2).collect();
                    markdown.push_str(&lines.join("\n"));
                    markdown.push('\n');
                }
            }
            UnitKind::Code if unit.continued => {
                let begin = units[..first].iter().rev().find(|other| !other.continued);
                let line = begin
                    .and_then(|begin| text[begin.range.start..].lines().next())
                    .unwrap_or_default();
                let info = line.trim_start().trim_start_matches(['`', '~']);
                let fenced = info.len() < line.trim_start().len();
                markdown.push_str("```");
                markdown.push_str(if fenced { info } else { "" });
                markdown.push('\n');
            }
            _ => {}
        }
    }

    /// The window ends before the last part of a code block, whose fence it must close, or begins
    /// in one that was indented and so has no fence of its own.
    fn is_open_code(&self, text: &str, last: usize) -> bool {
        let units = &self.blocks.units;
        let Some(unit) = last.checked_sub(1).map(|at| &units[at]) else { return false };
        let goes_on =
            units.get(last).is_some_and(|next| next.continued && next.kind == UnitKind::Code);
        let closed = text[unit.range.clone()].trim_end().ends_with(['`', '~']);
        unit.kind == UnitKind::Code && (goes_on || (unit.continued && !closed))
    }
}

/// Takes in the nearer neighbour while it fits; a heading that is reached comes for free.
fn grow(units: &[Unit], first: &mut usize, last: &mut usize, context_words: usize) {
    let (mut before, mut after) = (0, 0);
    loop {
        let room = context_words.saturating_sub(before + after);
        let up =
            first.checked_sub(1).map(|at| units[at].words as usize).filter(|words| *words <= room);
        let down = units.get(*last).map(|unit| unit.words as usize).filter(|words| *words <= room);
        match (up, down) {
            (Some(words), down) if before <= after || down.is_none() => {
                before += words;
                *first -= 1;
            }
            (_, Some(words)) => {
                after += words;
                *last += 1;
            }
            _ => break,
        }
    }
    let is_heading = |at: usize| units.get(at).is_some_and(|unit| unit.kind == UnitKind::Heading);
    while *first > 0 && is_heading(*first - 1) && !is_heading(*first) {
        *first -= 1;
    }
}

/// Takes away the indent that all lines share, so that an item deep in a list is not code.
fn dedent(text: &str) -> std::borrow::Cow<'_, str> {
    let indent = |line: &str| line.len() - line.trim_start_matches(' ').len();
    let shared = text.lines().filter(|line| !line.trim().is_empty()).map(indent).min().unwrap_or(0);
    let first = text.lines().next().unwrap_or_default().trim_start();
    let item =
        first.starts_with(['-', '*', '+']) || first.starts_with(|c: char| c.is_ascii_digit());
    if shared == 0 || (shared >= 4 && !item) {
        return text.into();
    }
    let lines: Vec<&str> = text.split('\n').map(|line| line.get(shared..).unwrap_or("")).collect();
    lines.join("\n").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_grows_by_whole_blocks() {
        let text =
            "# T\n\nOne two three.\n\nЧетыре пять шесть.\n\n七八九十百千。\n\nTen eleven twelve.\n";
        let note = Note::parse(text, "t");
        let at = text.find("пять").unwrap();
        let window = note.window(text, at..at + 8, 0);
        assert_eq!(window.markdown, "…\n\nЧетыре пять шесть.\n\n…\n");
        let window = note.window(text, at..at + 8, 3);
        assert_eq!(
            window.markdown,
            "…\n\n# T\n\nOne two three.\n\nЧетыре пять шесть.\n\n…\n".replace("…\n\n#", "#")
        );
        assert!(!window.cut_before && window.cut_after);
        let window = note.window(text, at..at + 8, 1000);
        assert_eq!(window.markdown, text);
    }

    #[test]
    fn a_table_keeps_its_head_and_code_its_fence() {
        let rows = "| река | гора |\n".repeat(300);
        let code = "let x = compute(a, b, c);\n".repeat(400);
        let text = format!("| a | b |\n|---|---|\n{rows}\nText.\n\n```rust\n{code}```\n");
        let note = Note::parse(&text, "t");
        let chunks = note.chunks();
        for chunk in &chunks {
            let window = note.window(&text, chunk.range.clone(), 0);
            let again = Note::parse(&window.markdown, "t");
            assert!(window.markdown.contains(&text[chunk.range.clone()]));
            if chunk.text.contains("река") {
                assert!(window.markdown.contains("| a | b |\n|---|---|\n"), "{}", window.markdown);
            }
            let fences = window.markdown.matches("```").count();
            assert_eq!(fences % 2, 0, "{}", window.markdown);
            assert!(again.plain().contains(chunk.text.lines().next().unwrap()));
        }
        assert!(chunks.len() > 6);
    }

    #[test]
    fn a_list_item_keeps_its_mark_and_loses_its_indent() {
        let text = "- a\n  - b\n    - deep item\n      more\n- c\n";
        let note = Note::parse(text, "t");
        let at = text.find("deep").unwrap();
        assert_eq!(note.window(text, at..at + 4, 0).markdown, "…\n\n- deep item\n  more\n\n…\n");
    }

    #[test]
    fn a_note_without_words_is_its_own_window() {
        let note = Note::parse("---\na: 1\n---\n\n", "t");
        assert_eq!(note.window("---\na: 1\n---\n\n", 0..0, 5).markdown, "\n");
    }

    proptest::proptest! {
        #[test]
        fn every_window_contains_its_passage(
            text in "((#{1,6} |> |- |  - |```|---|===|\\| a \\| |    |<p>)?[aА日。 #`*\\[\\]|^!x.]{0,60}\r?\n){0,40}",
            words in 0usize..60,
        ) {
            let note = Note::parse(&text, "t");
            for chunk in note.chunks() {
                let window = note.window(&text, chunk.range.clone(), words);
                proptest::prop_assert!(window.range.start <= chunk.range.start && window.range.end >= chunk.range.end);
                let flat = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
                proptest::prop_assert!(flat(&window.markdown).contains(&flat(&text[chunk.range.clone()])));
            }
        }
    }
}
