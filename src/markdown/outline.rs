//! The headings of a note as a tree, and the way from a `toc_path` to exactly one section.

use std::{
    collections::{HashMap, HashSet},
    ops::Range,
};

use serde_json::json;
use unicode_normalization::UnicodeNormalization;

use super::blocks::Heading;
use crate::domain::{Error, Result};

/// Headings an error names at most.
const MAX_HEADINGS_NAMED: usize = 20;
/// Characters of a title that are compared with a heading that is not there.
const COMPARED: usize = 100;

/// One heading with what stands below it. The first section of an outline is the note itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// 1 to 6; 0 for the note itself.
    pub level: u8,
    /// Plain text.
    pub title: String,
    /// As typed: with backticks, emphasis and links.
    pub source: String,
    /// What a `toc_path` calls it: the title, with `[2]` for the second of that name.
    pub address: String,
    /// From the heading through to the next one of the same or a higher level.
    pub range: Range<usize>,
    /// From the heading up to the first subsection.
    pub own: Range<usize>,
    /// Index of the section around it.
    pub parent: Option<usize>,
    /// Indexes of its direct subsections.
    pub children: Vec<usize>,
}

/// Sections in the order of the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outline {
    sections: Vec<Section>,
}

impl Outline {
    /// Builds the tree over a text of `len` bytes. A leading first-level heading that equals the
    /// title is the note itself, not a level.
    pub fn new(headings: &[Heading], title: &str, len: usize) -> Self {
        let root = Section {
            level: 0,
            title: title.to_owned(),
            source: title.to_owned(),
            address: title.to_owned(),
            range: 0..len,
            own: 0..len,
            parent: None,
            children: Vec::new(),
        };
        let mut sections = vec![root];
        let mut stack = vec![0];
        for heading in headings {
            if heading.leads && heading.level == 1 && fold(&heading.title) == fold(title) {
                heading.source.clone_into(&mut sections[0].source);
                continue;
            }
            while stack.len() > 1 && sections[stack[stack.len() - 1]].level >= heading.level {
                stack.pop();
            }
            let parent = stack[stack.len() - 1];
            let index = sections.len();
            sections[parent].children.push(index);
            sections[index - 1].own.end = heading.range.start;
            stack.push(index);
            sections.push(Section {
                level: heading.level,
                title: heading.title.clone(),
                source: heading.source.clone(),
                address: String::new(),
                range: heading.range.start..len,
                own: heading.range.start..len,
                parent: Some(parent),
                children: Vec::new(),
            });
        }
        let mut outline = Self { sections };
        outline.end_ranges();
        outline.address_siblings();
        outline
    }

    /// A section ends where the next one that is not below it starts.
    fn end_ranges(&mut self) {
        for index in (1..self.sections.len()).rev() {
            let end = match self.sections[index].children.last() {
                Some(&last) => self.sections[last].range.end,
                None => self.sections[index].own.end,
            };
            self.sections[index].range.end = end;
        }
    }

    /// Gives every section an address that no sibling has. Linear in the number of sections: the
    /// next number of each repeated title is remembered.
    fn address_siblings(&mut self) {
        for parent in 0..self.sections.len() {
            let children = self.sections[parent].children.clone();
            let named = |section: &Section| match section.title.as_str() {
                "" => "(untitled)".to_owned(),
                title => title.to_owned(),
            };
            let mut taken: HashSet<String> = HashSet::new();
            let mut repeats = Vec::new();
            for child in children {
                let address = named(&self.sections[child]);
                if taken.insert(address.clone()) {
                    self.sections[child].address = address;
                } else {
                    repeats.push((child, address));
                }
            }
            let mut next: HashMap<String, usize> = HashMap::new();
            for (child, name) in repeats {
                let number = next.entry(name.clone()).or_insert(2);
                let address = loop {
                    let address = format!("{name}[{number}]");
                    *number += 1;
                    if taken.insert(address.clone()) {
                        break address;
                    }
                };
                self.sections[child].address = address;
            }
        }
    }

    /// The note itself.
    pub fn root(&self) -> &Section {
        &self.sections[0]
    }

    /// All sections in the order of the text, the note itself first. Their `own` ranges, one after
    /// the other, are the note byte for byte.
    pub fn sections(&self) -> &[Section] {
        &self.sections
    }

    /// The direct subsections of `section`.
    pub fn children<'a>(&'a self, section: &'a Section) -> impl Iterator<Item = &'a Section> {
        section.children.iter().map(|&child| &self.sections[child])
    }

    /// The innermost section that the byte at `at` belongs to.
    pub fn section_at(&self, at: usize) -> usize {
        self.sections.partition_point(|section| section.own.start <= at).saturating_sub(1)
    }

    /// The `toc_path` of a section.
    pub fn path(&self, index: usize) -> Vec<String> {
        let mut path = Vec::new();
        let mut at = index;
        while let Some(parent) = self.sections[at].parent {
            path.push(self.sections[at].address.clone());
            at = parent;
        }
        path.reverse();
        path
    }

    /// The `toc_path` of a section of this outline.
    pub fn path_of(&self, section: &Section) -> Vec<String> {
        match section.level {
            0 => Vec::new(),
            // No two headings start at the same byte.
            _ => self.path(self.section_at(section.own.start)),
        }
    }

    /// The section that a `toc_path` names. The empty path is the note itself. A path is taken from
    /// the top, or, where exactly one section ends with it, from anywhere. Titles match as plain
    /// text or as typed, without regard to case and spacing; an exact match comes first.
    pub fn find<S: AsRef<str>>(&self, path: &[S]) -> Result<&Section> {
        if path.is_empty() {
            return Ok(self.root());
        }
        let wanted: Vec<Wanted> =
            path.iter().map(|element| Wanted::new(element.as_ref())).collect();
        if let Some(found) = self.walk(&wanted) {
            return Ok(&self.sections[found]);
        }
        if wanted[0].rank(self.root()).is_some() {
            if wanted.len() == 1 {
                return Ok(self.root());
            }
            if let Some(found) = self.walk(&wanted[1..]) {
                return Ok(&self.sections[found]);
            }
        }
        let ranked: Vec<(u8, usize)> = (1..self.sections.len())
            .filter_map(|index| Some((self.ends_with(index, &wanted)?, index)))
            .collect();
        let best = ranked.iter().map(|(rank, _)| *rank).min();
        let found: Vec<usize> = ranked
            .iter()
            .filter(|(rank, _)| Some(*rank) == best)
            .map(|(_, index)| *index)
            .collect();
        match found[..] {
            [only] => Ok(&self.sections[only]),
            [] => Err(self.miss(&wanted)),
            _ => Err(self.ambiguous(path, &found)),
        }
    }

    /// Element by element from the top; nothing when an element is absent or fits two siblings.
    fn walk(&self, wanted: &[Wanted]) -> Option<usize> {
        let mut at = 0;
        for element in wanted {
            let children = &self.sections[at].children;
            let exact =
                children.iter().find(|&&child| self.sections[child].address == element.text);
            if let Some(&child) = exact {
                at = child;
                continue;
            }
            let best =
                children.iter().filter_map(|&child| element.rank(&self.sections[child])).min()?;
            let mut fitting =
                children.iter().filter(|&&child| element.rank(&self.sections[child]) == Some(best));
            at = *fitting.next()?;
            if fitting.next().is_some() {
                return None;
            }
        }
        Some(at)
    }

    /// How well a section and those above it fit the path; nothing when they do not.
    fn ends_with(&self, index: usize, wanted: &[Wanted]) -> Option<u8> {
        let mut rank = 0;
        let mut at = Some(index);
        for element in wanted.iter().rev() {
            let section = &self.sections[at.filter(|&at| at > 0)?];
            rank = rank.max(element.rank(section)?);
            at = section.parent;
        }
        Some(rank)
    }

    fn ambiguous<S: AsRef<str>>(&self, path: &[S], found: &[usize]) -> Error {
        let path: Vec<&str> = path.iter().map(AsRef::as_ref).collect();
        let paths: Vec<Vec<String>> =
            found.iter().take(MAX_HEADINGS_NAMED).map(|&index| self.path(index)).collect();
        Error::invalid_params(format!(
            "toc_path `{}` fits {} sections of this note; name one in full: {}",
            path.join(" > "),
            found.len(),
            list(&paths)
        ))
        .with_data(json!({ "headings": paths }))
    }

    fn miss(&self, wanted: &[Wanted]) -> Error {
        let path: Vec<&str> = wanted.iter().map(|element| element.text.as_str()).collect();
        let path = path.join(" > ");
        let count = self.sections.len() - 1;
        if count == 0 {
            return Error::invalid_params(format!(
                "toc_path `{path}` is not in this note, which has no headings; read it without toc_path"
            ))
            .with_data(json!({ "headings": [] }));
        }
        let last = wanted.last().map(|element| element.key.clone()).unwrap_or_default();
        let mut order: Vec<(u32, usize)> = (1..self.sections.len())
            .map(|index| (likeness(&last, &fold(&self.sections[index].title)), index))
            .collect();
        order.sort_by_key(|(likeness, index)| (std::cmp::Reverse(*likeness), *index));
        let paths: Vec<Vec<String>> =
            order.iter().take(MAX_HEADINGS_NAMED).map(|(_, index)| self.path(*index)).collect();
        let more = if count > MAX_HEADINGS_NAMED {
            format!(" (nearest {MAX_HEADINGS_NAMED} of {count})")
        } else {
            String::new()
        };
        Error::invalid_params(format!(
            "toc_path `{path}` is not in this note; its headings{more} are: {}",
            list(&paths)
        ))
        .with_data(json!({ "headings": paths }))
    }
}

fn list(paths: &[Vec<String>]) -> String {
    let quoted: Vec<String> = paths.iter().map(|path| format!("`{}`", path.join(" > "))).collect();
    quoted.join(", ")
}

/// One element of a `toc_path`, made ready for comparison.
struct Wanted {
    text: String,
    key: String,
    /// `Heading[2]`: the heading's key and its number.
    first: Option<String>,
}

impl Wanted {
    fn new(text: &str) -> Self {
        let text = text.trim().to_owned();
        let first = text.strip_suffix("[1]").map(fold);
        Self { key: fold(&text), text, first }
    }

    /// 0 as addressed, 1 as written, 2 as folded; nothing when it does not fit.
    fn rank(&self, section: &Section) -> Option<u8> {
        if self.text == section.address {
            Some(0)
        } else if self.text == section.source || self.text == section.title {
            // A repeated title as such means the first of its name.
            (section.address == section.title || section.level == 0 || section.title.is_empty())
                .then_some(1)
        } else if self.key == fold(&section.address)
            || (self.key == fold(&section.source) && !is_numbered(section))
            || self.first.as_ref().is_some_and(|key| *key == fold(&section.address))
        {
            Some(2)
        } else {
            None
        }
    }
}

fn is_numbered(section: &Section) -> bool {
    section.address.len() > section.title.len()
        && section.address.starts_with(&section.title)
        && !section.title.is_empty()
}

/// One spelling for all that look alike: NFKC, lower case, single spaces, no code or emphasis marks.
fn fold(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    for c in text.nfkc().flat_map(char::to_lowercase) {
        match c {
            '`' | '*' => {}
            c if c.is_whitespace() => {
                if !folded.is_empty() && !folded.ends_with(' ') {
                    folded.push(' ');
                }
            }
            c => folded.push(c),
        }
    }
    folded.truncate(folded.trim_end().len());
    folded
}

/// How alike two folded titles are, in thousandths: shared pairs of characters.
pub fn likeness(a: &str, b: &str) -> u32 {
    let pairs = |text: &str| -> Vec<(char, char)> {
        let start = text.chars().take(COMPARED);
        let padded: Vec<char> = [' '].into_iter().chain(start).chain([' ']).collect();
        padded.windows(2).map(|pair| (pair[0], pair[1])).collect()
    };
    let (a, mut b) = (pairs(a), pairs(b));
    let total = a.len() + b.len();
    let shared = a.iter().filter(|pair| {
        b.iter().position(|other| other == *pair).map(|at| b.swap_remove(at)).is_some()
    });
    u32::try_from(shared.count() * 2000 / total.max(1)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::markdown::{blocks::Blocks, frontmatter};

    fn outline(text: &str, title: &str) -> Outline {
        let blocks = Blocks::read(text, frontmatter::split(text).body, None);
        Outline::new(&blocks.headings, title, text.len())
    }

    fn paths(outline: &Outline) -> Vec<String> {
        (1..outline.sections().len()).map(|index| outline.path(index).join(">")).collect()
    }

    #[test]
    fn headings_make_a_tree() {
        let text = "# T\nintro\n## A\na\n#### Deep\nd\n### B\nb\n## A\nagain\n\nC\n===\n- # not\n\n> # nor\n\n```\n# code\n```\n<div>\n# html\n</div>\n";
        let outline = outline(text, "T");
        assert_eq!(paths(&outline), ["A", "A>Deep", "A>B", "A[2]", "C"]);
        assert_eq!(&text[outline.root().own.clone()], "# T\nintro\n");
        let a = outline.find(&["A"]).unwrap();
        assert_eq!(&text[a.range.clone()], "## A\na\n#### Deep\nd\n### B\nb\n");
        assert_eq!(&text[a.own.clone()], "## A\na\n");
        assert_eq!(&text[outline.find(&["A[2]"]).unwrap().own.clone()], "## A\nagain\n\n");
        assert_eq!(outline.find(&["A[1]"]).unwrap().range, a.range);
        assert_eq!(outline.find(&["T", "A"]).unwrap().range, a.range);
        assert_eq!(outline.find(&["Deep"]).unwrap().title, "Deep");
    }

    #[test]
    fn a_first_heading_unlike_the_title_is_a_level() {
        assert_eq!(paths(&outline("# Other\n## A\n", "T")), ["Other", "Other>A"]);
        assert_eq!(paths(&outline("text\n\n# T\n## A\n", "T")), ["T", "T>A"]);
    }

    #[test]
    fn titles_match_plain_or_as_typed() {
        let text = "# 18\n## MCP properties для `AGENTS.md`, `SCHEMA.md` и дополнительных инструкций\nx\n## 設定　ファイル\ny\n## Use **bold** [link](x)\n";
        let outline = outline(text, "18");
        for title in [
            "MCP properties для `AGENTS.md`, `SCHEMA.md` и дополнительных инструкций",
            "MCP properties для AGENTS.md, SCHEMA.md и дополнительных инструкций",
            "  mcp PROPERTIES  для AGENTS.md, schema.md и дополнительных инструкций ",
        ] {
            assert!(outline.find(&[title]).unwrap().title.starts_with("MCP"));
        }
        assert!(outline.find(&["設定 ファイル"]).is_ok());
        assert!(outline.find(&["Use bold link"]).is_ok());
        assert!(outline.find(&["Use **bold** [link](x)"]).is_ok());
    }

    #[test]
    fn an_exact_match_comes_first() {
        let outline = outline("## foo\n## Foo\n", "T");
        assert_eq!(outline.find(&["Foo"]).unwrap().title, "Foo");
        assert_eq!(outline.find(&["foo"]).unwrap().title, "foo");
        assert!(outline.find(&["FOO"]).is_err());
    }

    #[test]
    fn a_miss_names_the_real_headings_nearest_first() {
        let outline = outline("## Установка\n## Настройка сервера\n### Порты\n", "T");
        let error = outline.find(&["Настройка сервера", "Порт"]).unwrap_err();
        assert_eq!(error.code, crate::domain::Code::InvalidParams);
        assert!(error.message.contains("its headings are: `Настройка сервера > Порты`"), "{error}");
        assert_eq!(error.data.unwrap()["headings"].as_array().unwrap().len(), 3);
        let none = Outline::new(&[], "T", 0).find(&["x"]).unwrap_err();
        assert!(none.message.contains("no headings"));
    }

    #[test]
    fn a_suffix_must_fit_one_section_only() {
        let outline = outline("## A\n### Notes\n## B\n### Notes\n#### Deep\n", "T");
        let error = outline.find(&["Notes"]).unwrap_err();
        assert!(error.message.contains("`A > Notes`, `B > Notes`"), "{error}");
        assert_eq!(outline.find(&["B", "Notes"]).unwrap().children.len(), 1);
        assert_eq!(outline.find(&["Notes", "Deep"]).unwrap().title, "Deep");
    }

    #[test]
    fn odd_headings_have_addresses_too() {
        let outline = outline("## A[2]\n## A\n## A\n##\n##\n", "T");
        assert_eq!(paths(&outline), ["A[2]", "A", "A[3]", "(untitled)", "(untitled)[2]"]);
        assert_eq!(outline.find(&["A[2]"]).unwrap().title, "A[2]");
        assert!(outline.find(&["(untitled)[2]"]).is_ok());
    }

    proptest::proptest! {
        #[test]
        fn sections_are_the_note_and_every_address_leads_back(
            text in "((#{1,6} |> |- |```|---|===|\\| )?[aАあ #`*\\[\\]]{0,6}\r?\n){0,30}"
        ) {
            let outline = outline(&text, "a");
            let joined: String = outline.sections().iter().map(|section| &text[section.own.clone()]).collect();
            proptest::prop_assert_eq!(&joined, &text);
            for (index, section) in outline.sections().iter().enumerate().skip(1) {
                let found = outline.find(&outline.path(index)).unwrap();
                proptest::prop_assert!(std::ptr::eq(found, section), "{:?}", outline.path(index));
                proptest::prop_assert!(section.range.end >= section.own.end);
            }
        }
    }
}
