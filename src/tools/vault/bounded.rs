//! A note's text within `max_tokens`: whole passages from its start, and what was left out.

use crate::{domain::Result, markdown::Note, text::tokens};

/// Below this the sentence about what was left out is short: the room is for the note.
const SHORT_TOKENS: usize = 200;

/// Renders as many whole passages as `max_tokens` allows, with a sentence about what was left out.
/// `taken` tokens are spent elsewhere in the answer.
pub fn content(
    markdown: &str,
    max_tokens: usize,
    taken: usize,
    render: impl Fn(&str) -> Result<String>,
) -> Result<(String, Option<String>)> {
    let whole = render(markdown)?;
    if tokens::estimate(&whole) + taken <= max_tokens {
        return Ok((whole, None));
    }
    let note = Note::parse(markdown, "");
    let ends: Vec<usize> = note.chunks().into_iter().map(|chunk| chunk.range.end).collect();
    let total = tokens::estimate(markdown);
    let mut budget = max_tokens.saturating_sub(taken);
    loop {
        let passages = ends.iter().copied();
        let cut = passages
            .take_while(|end| tokens::estimate(&markdown[..*end]) <= budget)
            .last()
            .unwrap_or_else(|| tokens::prefix(markdown, budget));
        let left = total.saturating_sub(tokens::estimate(&markdown[..cut]));
        let kept = render(&format!("{}\n\n…\n", markdown[..cut].trim_end()))?;
        let left_out = left_out(left, max_tokens);
        let sent = tokens::estimate(&with_left_out(&kept, &left_out)) + taken;
        if sent <= max_tokens || budget == 0 {
            return Ok((kept, Some(left_out)));
        }
        // Tags and the sentence take room that Markdown alone does not show.
        budget = budget.saturating_sub((sent - max_tokens).max(4));
    }
}

/// The text of an answer of which a part was left out.
pub fn with_left_out(content: &str, left_out: &str) -> String {
    format!("{}\n\n[{left_out}]", content.trim_end())
}

fn left_out(tokens: usize, max_tokens: usize) -> String {
    let what =
        format!("about {tokens} more tokens were left out to keep within max_tokens {max_tokens}");
    match max_tokens < SHORT_TOKENS {
        true => what,
        false => format!(
            "{what}; read on by section with toc_path (`expand` lists the sections), or raise max_tokens"
        ),
    }
}
