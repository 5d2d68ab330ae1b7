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
    /// The fields before the text.
    pub front: Frontmatter,
    /// Where the body starts.
    pub body: usize,
    /// `title`, the leading first-level heading, or the file's name.
    pub title: String,
    /// The sections.
    pub outline: Outline,
    pub(crate) blocks: Blocks,
}

impl Note {
    /// Reads a note. `name` is its title when neither frontmatter nor a leading first-level
    /// heading gives one.
    pub fn parse(text: &str, name: &str) -> Self {
        let split = frontmatter::split(text);
        let mut front =
            split.yaml.clone().map(|yaml| frontmatter::parse(&text[yaml])).unwrap_or_default();
        if split.unclosed {
            front.problems.push(frontmatter::UNCLOSED.to_owned());
        }
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

    /// Cuts the text into passages.
    pub fn chunks(&self) -> Vec<Chunk> {
        chunk::chunks(&self.blocks, &self.outline)
    }

    /// The words of the note, one block a line.
    pub fn plain(&self) -> &str {
        self.blocks.plain.trim_end()
    }

    /// Links in the order of the text.
    pub fn links(&self) -> &[Link] {
        &self.blocks.links
    }

    /// `#tags` in the order of the text.
    pub fn tags(&self) -> &[Tag] {
        &self.blocks.tags
    }

    /// `^ids` in the order of the text.
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
        let units = &self.blocks.units;
        let first = units.partition_point(|unit| unit.range.start < section.range.start);
        let units = units[first..].iter().take_while(|unit| unit.range.start < section.range.end);
        let units = units.skip_while(|unit| unit.kind == super::blocks::UnitKind::Heading);
        let words = units.flat_map(|unit| self.blocks.plain[unit.text.clone()].split_whitespace());
        let mut preview = String::new();
        let mut length = 0;
        for word in words {
            if length > 0 {
                preview.push(' ');
                length += 1;
            }
            preview.push_str(word);
            length += word.chars().count();
            if length > chars {
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
    fn a_block_that_is_never_closed_is_a_problem_and_a_rule_is_not() {
        let problems = |text: &str| Note::parse(text, "c").front.problems.len();
        assert_eq!(problems("---\ntitle: A\n\nText\n"), 1);
        assert_eq!(problems("---\nИмя: A\n"), 1);
        assert_eq!(problems("---\nJust a rule, then text: here\n"), 0);
        assert_eq!(problems("---\n\nText\n"), 0);
        assert!(Note::parse("---\ntitle: A\n\nText\n", "c").plain().contains("title: A"));
    }

    #[test]
    fn work_grows_with_the_length_of_a_note_and_not_with_its_square() {
        let started = std::time::Instant::now();
        let headings = Note::parse(&"## Same\n\ntext\n\n".repeat(20_000), "c");
        let last = headings.outline.sections().last().unwrap();
        assert_eq!(last.address, "Same[20000]");
        assert_eq!(headings.outline.path_of(last), ["Same[20000]"]);
        assert_eq!(headings.outline.find(&["Same[20000]"]).unwrap().range, last.range);
        for section in &headings.outline.sections()[1..] {
            assert_eq!(headings.preview(section, 100), "text");
            assert_eq!(headings.outline.path_of(section).len(), 1);
        }
        assert_eq!(headings.chunks().len(), 20_000);
        let tags: String = (0..20_000).map(|n| format!("#tag{n} #Метка{n} ")).collect();
        assert_eq!(Note::parse(&tags, "c").labels().len(), 40_000);
        let list = "- слово и ещё несколько слов\n".repeat(50_000);
        assert!(Note::parse(&list, "c").chunks().len() > 1000);
        let footnotes: String =
            (0..20_000).map(|n| format!("a[^{n}]\n\n[^{n}]: note\n\n")).collect();
        assert!(Note::parse(&footnotes, "c").chunks().len() > 10);
        assert!(started.elapsed().as_secs() < 60, "{:?}", started.elapsed());
    }

    #[test]
    fn a_preview_is_short_and_skips_headings() {
        let note = Note::parse("## A\n### B\n\nПервый абзац. И ещё.\n", "c");
        let section = note.outline.find(&["A"]).unwrap();
        assert_eq!(note.preview(section, 9), "Первый а…");
        assert_eq!(note.preview(section, 99), "Первый абзац. И ещё.");
    }
}
