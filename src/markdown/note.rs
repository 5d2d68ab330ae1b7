//! A note read once: frontmatter, outline, passages, links and tags.

use super::{
    blocks::Blocks,
    chunk,
    frontmatter::{self, Frontmatter},
    links::{BlockId, Link, Tag},
    outline::{Outline, Section},
};
use crate::domain::Chunk;

/// A parsed note. It owns what it found, not the text; ranges are in bytes of that text.
#[derive(Debug, Clone)]
pub struct Note {
    pub front: Frontmatter,
    /// Where the body starts.
    pub body: usize,
    pub title: String,
    pub outline: Outline,
    pub(crate) blocks: Blocks,
}

impl Note {
    /// Reads a note. `name` is its title when neither frontmatter nor a leading first-level
    /// heading gives one.
    pub fn parse(text: &str, name: &str) -> Self {
        let split = frontmatter::split(text);
        let front =
            split.yaml.clone().map(|yaml| frontmatter::parse(&text[yaml])).unwrap_or_default();
        let raw = split.yaml.filter(|_| front.broken);
        let blocks = Blocks::read(text, split.body, raw);
        let heading = blocks.headings.first().filter(|heading| heading.leads && heading.level == 1);
        let title = front
            .title
            .clone()
            .or_else(|| {
                heading.map(|heading| heading.title.clone()).filter(|title| !title.is_empty())
            })
            .unwrap_or_else(|| name.to_owned());
        let outline = Outline::new(&blocks.headings, &title, text.len());
        Self { front, body: split.body, title, outline, blocks }
    }

    pub fn chunks(&self) -> Vec<Chunk> {
        chunk::chunks(&self.blocks, &self.outline)
    }

    /// The words of the note, one block a line.
    pub fn plain(&self) -> &str {
        self.blocks.plain.trim_end()
    }

    pub fn links(&self) -> &[Link] {
        &self.blocks.links
    }

    pub fn tags(&self) -> &[Tag] {
        &self.blocks.tags
    }

    pub fn block_ids(&self) -> &[BlockId] {
        &self.blocks.block_ids
    }

    /// The frontmatter's labels, then the text's tags.
    pub fn labels(&self) -> Vec<String> {
        let mut labels = self.front.labels.clone();
        frontmatter::add_labels(&mut labels, self.tags().iter().map(|tag| tag.name.as_str()));
        labels
    }

    /// The Markdown of a section with its subsections; the body for the note itself.
    pub fn section<'a>(&self, text: &'a str, section: &Section) -> &'a str {
        let start = if section.level == 0 { self.body } else { section.range.start };
        text.get(start..section.range.end).unwrap_or_default()
    }

    /// The first words of a section, for an outline that is read level by level.
    pub fn preview(&self, section: &Section, chars: usize) -> String {
        let inside = |at: usize| section.range.contains(&at);
        let units = self.blocks.units.iter().filter(|unit| inside(unit.range.start));
        let mut preview = String::new();
        for unit in units.skip_while(|unit| unit.kind == super::blocks::UnitKind::Heading) {
            for word in self.blocks.plain[unit.text.clone()].split_whitespace() {
                if !preview.is_empty() {
                    preview.push(' ');
                }
                preview.push_str(word);
            }
            if preview.chars().count() > chars {
                return preview.chars().take(chars.saturating_sub(1)).chain(['…']).collect();
            }
        }
        preview
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::markdown::links::LinkKind;

    #[test]
    fn the_title_comes_from_the_first_that_has_one() {
        assert_eq!(Note::parse("---\ntitle: A\n---\n# B\n", "c").title, "A");
        assert_eq!(Note::parse("# B `x`\n", "c").title, "B x");
        assert_eq!(Note::parse("text\n# B\n", "c").title, "c");
        assert_eq!(Note::parse("", "c").title, "c");
    }

    #[test]
    fn a_broken_block_counts_as_text_and_makes_no_heading() {
        let text = "---\ntitle: [Секрет\n---\n# B\n";
        let note = Note::parse(text, "c");
        assert!(note.front.broken);
        assert_eq!(note.title, "B");
        assert!(note.plain().contains("title: [Секрет"), "{}", note.plain());
        assert_eq!(note.outline.sections().len(), 1);
        assert!(note.chunks()[0].text.contains("Секрет"));
    }

    #[test]
    fn links_and_tags_are_found_where_they_stand() {
        let text = "---\ntags: [work]\n---\nSee [[Заметка#Раздел|тут]] and ![[図.png]] #work #мысль/сон `#no` [#no](a.md) <https://x.y> ![alt](i.png)\n\n| a |\n|---|\n| [[t\\|u]] |\n\n    #no\n";
        let note = Note::parse(text, "c");
        let seen: Vec<(LinkKind, &str, &str)> = note
            .links()
            .iter()
            .map(|link| (link.kind, link.dest.as_str(), link.text.as_str()))
            .collect();
        assert_eq!(
            seen,
            [
                (LinkKind::Wiki, "Заметка#Раздел", "тут"),
                (LinkKind::Embed, "図.png", "図.png"),
                (LinkKind::Markdown, "a.md", "#no"),
                (LinkKind::Markdown, "https://x.y", "https://x.y"),
                (LinkKind::Image, "i.png", "alt"),
                (LinkKind::Wiki, "t\\", "u"),
            ]
        );
        assert_eq!(&text[note.links()[0].range.clone()], "[[Заметка#Раздел|тут]]");
        assert_eq!(note.labels(), ["work", "мысль/сон"]);
    }

    #[test]
    fn heading_attributes_are_not_part_of_a_title() {
        let note = Note::parse("## ラベル {#label}\n\n## Use {{name}}\n", "c");
        let titles: Vec<&str> =
            note.outline.sections()[1..].iter().map(|s| s.title.as_str()).collect();
        assert_eq!(titles, ["ラベル", "Use {{name}}"]);
    }

    #[test]
    fn a_preview_is_short_and_skips_headings() {
        let note = Note::parse("## A\n### B\n\nПервый абзац. И ещё.\n", "c");
        let section = note.outline.find(&["A"]).unwrap();
        assert_eq!(note.preview(section, 9), "Первый а…");
        assert_eq!(note.preview(section, 99), "Первый абзац. И ещё.");
    }
}
