//! A note cut into passages: they follow headings and blocks, aim at one size in words of the
//! note's language, and never cut a code block, a table row or a character.

use super::{
    blocks::{Blocks, Unit, UnitKind},
    outline::Outline,
    split::{TARGET, WHOLE},
};
use crate::domain::Chunk;

/// The passages of a note, in order. A passage never crosses the border of a section, but a
/// heading with nothing of its own goes with its first subsection.
pub fn chunks(blocks: &Blocks, outline: &Outline) -> Vec<Chunk> {
    let mut chunks = Vec::new();
    let mut from = 0;
    let units = &blocks.units;
    let mut at = 0;
    while at < units.len() {
        let section = outline.section_at(units[at].range.start);
        let end = outline.sections()[section].own.end;
        let next = at + units[at..].partition_point(|unit| unit.range.start < end);
        let bare = units[from..next].iter().all(|unit| unit.kind == UnitKind::Heading);
        let descends = next < units.len() && {
            let below = outline.section_at(units[next].range.start);
            outline.sections()[below].parent == Some(section)
        };
        if !(bare && descends) {
            let toc_path = outline.path(section);
            for run in pack(&units[from..next]) {
                keep(blocks, &units[from..next][run], &toc_path, &mut chunks);
            }
            from = next;
        }
        at = next;
    }
    chunks
}

fn keep(blocks: &Blocks, units: &[Unit], toc_path: &[String], chunks: &mut Vec<Chunk>) {
    let (Some(first), Some(last)) = (units.first(), units.last()) else { return };
    chunks.push(Chunk {
        ordinal: u32::try_from(chunks.len()).unwrap_or(u32::MAX),
        toc_path: toc_path.to_vec(),
        text: blocks.plain[first.text.start..last.text.end].to_owned(),
        range: first.range.start..last.range.end,
    });
}

/// Runs of units of about the target's size. A block is kept together where it fits.
fn pack(units: &[Unit]) -> Vec<std::ops::Range<usize>> {
    // Words before each unit, so that the size of any run is one subtraction.
    let mut before = Vec::with_capacity(units.len() + 1);
    before.push(0);
    for unit in units {
        before.push(before[before.len() - 1] + unit.words as usize);
    }
    let words = |from: usize, to: usize| before[to] - before[from];
    if words(0, units.len()) <= WHOLE {
        return std::iter::once(0..units.len()).collect();
    }
    let mut runs = Vec::new();
    let (mut start, mut held, mut at) = (0, 0, 0);
    // Headings never end a passage: they belong to what follows.
    let only_headings = |run: &[Unit]| run.iter().all(|unit| unit.kind == UnitKind::Heading);
    while at < units.len() {
        let block = at + units[at..].partition_point(|unit| unit.block == units[at].block);
        let whole = words(at, block);
        // A block that fits stays whole; a longer one goes unit by unit.
        let (end, size) =
            if whole <= WHOLE { (block, whole) } else { (at + 1, units[at].words as usize) };
        if held + size > TARGET && !only_headings(&units[start..at]) {
            runs.push(start..at);
            (start, held) = (at, 0);
        }
        held += size;
        at = end;
    }
    runs.push(start..units.len());
    balance(units, runs)
}

/// A last run of a few words joins the one before it.
fn balance(units: &[Unit], mut runs: Vec<std::ops::Range<usize>>) -> Vec<std::ops::Range<usize>> {
    let words = |run: &std::ops::Range<usize>| {
        units[run.clone()].iter().map(|unit| unit.words as usize).sum::<usize>()
    };
    if let [.., before, last] = &runs[..]
        && words(before) + words(last) <= WHOLE
    {
        let joined = before.start..last.end;
        runs.truncate(runs.len() - 2);
        runs.push(joined);
    }
    runs
}

#[cfg(test)]
mod tests {
    use crate::markdown::{Note, split::weigh};

    #[test]
    fn passages_follow_sections() {
        let text =
            "# T\n\nIntro.\n\n## Empty\n\n### A\n\nText of a.\n\n## Bare\n\n## B\n\nText of b.\n";
        let note = Note::parse(text, "t");
        let chunks = note.chunks();
        let seen: Vec<(String, &str)> =
            chunks.iter().map(|chunk| (chunk.toc_path.join(">"), chunk.text.as_str())).collect();
        assert_eq!(
            seen,
            [
                (String::new(), "T\nIntro."),
                ("Empty>A".into(), "Empty\nA\nText of a."),
                ("Bare".into(), "Bare"),
                ("B".into(), "B\nText of b."),
            ]
        );
        assert_eq!(&text[chunks[1].range.clone()], "## Empty\n\n### A\n\nText of a.");
    }

    #[test]
    fn long_sections_are_cut_to_size_in_three_languages() {
        for sentence in [
            "The river rises in the hills and runs slowly to the sea. ",
            "Река начинается в горах и медленно течёт к далёкому морю. ",
            "川は山から流れ出て、ゆっくりと海へ向かって進んでいく。",
        ] {
            let paragraph = sentence.repeat(5);
            let text = format!(
                "## A\n\n{}\n\n## B\n\n{}",
                vec![paragraph; 20].join("\n\n"),
                sentence.repeat(80)
            );
            let note = Note::parse(&text, "t");
            let sizes: Vec<usize> = note.chunks().iter().map(|chunk| weigh(&chunk.text)).collect();
            assert!(sizes.len() > 8, "{sizes:?}");
            assert!(sizes.iter().all(|size| (40..=200).contains(size)), "{sizes:?}");
        }
    }

    #[test]
    fn code_and_rows_stay_whole() {
        let code = "let x = compute(a, b, c);\n".repeat(80);
        let rows = "| river | hill | sea | lake |\n".repeat(120);
        let text =
            format!("Intro.\n\n```rust\n{code}```\n\n| a | b | c | d |\n|---|---|---|---|\n{rows}");
        let note = Note::parse(&text, "t");
        let chunks = note.chunks();
        assert!(chunks.iter().any(|chunk| chunk.text.contains(code.trim_end())));
        for chunk in &chunks {
            let part = &text[chunk.range.clone()];
            assert!(part.ends_with('|') || part.ends_with("```") || part.ends_with('.'), "{part}");
        }
        let huge = format!("```\n{}```\n", code.repeat(10));
        let note = Note::parse(&huge, "t");
        assert!(note.chunks().len() > 3);
        assert!(note.chunks().iter().all(|chunk| chunk.text.ends_with(';')));
    }

    proptest::proptest! {
        #[test]
        fn passages_are_ordered_disjoint_and_complete(
            text in "((#{1,6} |> |- |1\\. |```|---|===|\\| a \\| |    |<p>|!\\[\\[)?[aА日。 #`*\\[\\]|^!$:x.]{0,60}\r?\n){0,40}"
        ) {
            let note = Note::parse(&text, "t");
            let chunks = note.chunks();
            let mut end = 0;
            for (index, chunk) in chunks.iter().enumerate() {
                proptest::prop_assert_eq!(chunk.ordinal as usize, index);
                proptest::prop_assert!(chunk.range.start >= end && chunk.range.end > chunk.range.start);
                proptest::prop_assert!(text.get(chunk.range.clone()).is_some());
                proptest::prop_assert!(!chunk.text.trim().is_empty());
                end = chunk.range.end;
            }
            let joined: Vec<&str> = chunks.iter().flat_map(|chunk| chunk.text.split_whitespace()).collect();
            let whole: Vec<&str> = note.plain().split_whitespace().collect();
            proptest::prop_assert_eq!(joined, whole);
            proptest::prop_assert_eq!(Note::parse(&text, "t").chunks(), chunks);
        }
    }
}
