//! Surface counts of a text, as `grep` would make them: code and frontmatter count too.
//! They say whether a vault was read whole; the outline and the links say what is in it.

/// What a line-by-line reader sees in a note.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Characters, a byte order mark included.
    pub chars: usize,
    /// Lines that start with one to six `#` and a space.
    pub headings: usize,
    /// `[[…]]` with at least one character inside, over line breaks too.
    pub wikilinks: usize,
    /// Starts with `---`.
    pub frontmatter: bool,
}

/// Counts the words and characters of a text.
pub fn count(text: &str) -> Counts {
    Counts {
        chars: text.chars().count(),
        headings: text.split('\n').filter(|line| is_heading(line)).count(),
        wikilinks: wikilinks(text),
        frontmatter: text.strip_prefix('\u{feff}').unwrap_or(text).starts_with("---"),
    }
}

fn is_heading(line: &str) -> bool {
    let rest = line.trim_start_matches('#');
    (1..=6).contains(&(line.len() - rest.len())) && rest.starts_with(' ')
}

fn wikilinks(text: &str) -> usize {
    let mut rest = text;
    let mut found = 0;
    while let Some(at) = rest.find("[[") {
        rest = &rest[at + 2..];
        // In `[[[a]]`, the inside may itself start with a bracket.
        let inside = rest.find(']').unwrap_or(rest.len());
        if inside > 0 && rest[inside..].starts_with("]]") {
            found += 1;
            rest = &rest[inside + 2..];
        } else {
            // The next pair may start at the second bracket of this one.
            rest = &text[text.len() - rest.len() - 1..];
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_those_of_a_line_reader() {
        let counts = count(
            "---\n# comment\n---\n# A\n## Б\n#tag\n####### no\n [[x]] ![[図|a]] [[]] [[a] b]] [[a\nb]] [[[c]]\n",
        );
        assert_eq!((counts.headings, counts.wikilinks, counts.frontmatter), (3, 4, true));
        assert_eq!(count("").wikilinks, 0);
        assert_eq!(count("[[").wikilinks, 0);
        assert_eq!(count("日本").chars, 2);
    }
}
