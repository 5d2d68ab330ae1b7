//! What an edit changed, in as few lines as say it.

use similar::{ChangeTag, TextDiff};

use crate::domain::count;

/// Lines of a diff that an answer shows.
const MAX_LINES: usize = 60;
/// Characters of a line that an answer shows.
const MAX_LINE_CHARS: usize = 200;
/// Unchanged lines around a change.
const CONTEXT: usize = 1;

/// The changed lines with a line around them; `@@ 12` is the number of the first line that follows.
pub fn compact_diff(old: &str, new: &str) -> String {
    let diff = TextDiff::from_lines(old, new);
    let mut lines: Vec<String> = Vec::new();
    let mut left_out = 0;
    for group in diff.grouped_ops(CONTEXT) {
        let Some(first) = group.first() else { continue };
        lines.push(format!("@@ {}", first.new_range().start + 1));
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            let sign = match change.tag() {
                ChangeTag::Delete => '-',
                ChangeTag::Insert => '+',
                ChangeTag::Equal => ' ',
            };
            if lines.len() >= MAX_LINES {
                left_out += usize::from(sign != ' ');
                continue;
            }
            let text = change.value().trim_end_matches(['\r', '\n']);
            let short: String = text.chars().take(MAX_LINE_CHARS).collect();
            let more = if short.len() < text.len() { "…" } else { "" };
            lines.push(format!("{sign}{short}{more}"));
        }
    }
    if left_out > 0 {
        lines.push(format!("… and {}", count(left_out, "more changed line")));
    }
    lines.join("\n")
}

/// How many lines were added and removed, as `+3 -1`.
pub fn line_counts(old: &str, new: &str) -> String {
    let diff = TextDiff::from_lines(old, new);
    let count = |tag| diff.iter_all_changes().filter(|change| change.tag() == tag).count();
    format!("+{} -{}", count(ChangeTag::Insert), count(ChangeTag::Delete))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diff_shows_what_changed() {
        let old = "a\nb\nв\n四\ne\nf\n";
        assert_eq!(compact_diff(old, &old.replace('в', "В\nГ")), "@@ 2\n b\n-в\n+В\n+Г\n 四");
        assert_eq!(compact_diff(old, old), "");
        assert_eq!(line_counts(old, &old.replace('в', "В\nГ")), "+2 -1");
        let long = compact_diff("", &"x\n".repeat(100));
        assert_eq!(long.lines().count(), MAX_LINES + 1);
        assert!(long.ends_with("… and 41 more changed lines"), "{long}");
        assert!(compact_diff("", &"ж".repeat(300)).ends_with("ж…"));
    }
}
