//! The one pass over a note's Markdown: every block becomes one or more units, with its plain
//! text and its place in the source. Outline, chunks, windows, links and search text are all read
//! from what this pass leaves.

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, LinkType, Options, Parser, Tag as Mark, TagEnd};

use super::{
    links::{self, BlockId, Link, LinkKind, Tag},
    plain, split,
};

/// The Markdown that notes are written in.
pub fn dialect() -> Options {
    Options::ENABLE_TABLES
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_MATH
        | Options::ENABLE_HEADING_ATTRIBUTES
        | Options::ENABLE_WIKILINKS
}

/// The kind of a [`Unit`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnitKind {
    /// A heading.
    Heading,
    /// A paragraph or list item.
    Prose,
    /// A code block.
    Code,
    /// The header row of a table.
    TableHead,
    /// A body row of a table.
    TableRow,
    /// An HTML block.
    Html,
    /// A frontmatter block that could not be read.
    Raw,
}

/// The smallest piece that is never cut: a paragraph, a list item, a code block, a table row; or a
/// part of one that is too long to be found by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unit {
    /// What it is.
    pub kind: UnitKind,
    /// In the source; starts at the beginning of a line unless it is a later part.
    pub range: Range<usize>,
    /// In [`Blocks::plain`].
    pub text: Range<usize>,
    /// Words of the plain text.
    pub words: u32,
    /// The top-level block that it stands in.
    pub block: u32,
    /// Not the first part of its piece.
    pub continued: bool,
}

/// A heading at the top level, outside quotes and lists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heading {
    /// 1 to 6.
    pub level: u8,
    /// In the source, marks included.
    pub range: Range<usize>,
    /// Without inline markup.
    pub title: String,
    /// As typed, without its `#` marks or underline.
    pub source: String,
    /// Nothing but a frontmatter block comes before it.
    pub leads: bool,
}

/// Everything the pass leaves.
#[derive(Debug, Clone, Default)]
pub struct Blocks {
    /// The text of all units, a line feed between them.
    pub plain: String,
    /// In the order of the text.
    pub units: Vec<Unit>,
    /// In the order of the text.
    pub headings: Vec<Heading>,
    /// In the order of the text.
    pub links: Vec<Link>,
    /// In the order of the text.
    pub tags: Vec<Tag>,
    /// In the order of the text.
    pub block_ids: Vec<BlockId>,
    /// Labels of `[text][label]`, with address and title, for reading a part of the note.
    pub definitions: Vec<(String, String)>,
}

impl Blocks {
    /// Reads `text[body..]`; `raw` is a frontmatter block that counts as text.
    pub fn read(text: &str, body: usize, raw: Option<Range<usize>>) -> Self {
        let mut pass = Pass::new(text);
        if let Some(raw) = raw {
            pass.open(UnitKind::Raw, raw.start);
            pass.push(&text[raw.clone()], raw.clone(), true);
            pass.close(raw.end);
            pass.block += 1;
        }
        let parser = Parser::new_ext(&text[body..], dialect());
        let definitions = parser.reference_definitions();
        pass.out.definitions = definitions
            .iter()
            .map(|(label, definition)| (label.to_lowercase(), definition.dest.to_string()))
            .collect();
        pass.out.definitions.sort();
        for (event, range) in parser.into_offset_iter() {
            pass.event(event, range.start + body..range.end + body);
        }
        pass.close(text.len());
        pass.out
    }
}

/// Where a stretch of plain text came from.
struct Anchor {
    plain: usize,
    len: usize,
    source: usize,
    /// Outside emphasis and links, and as long in the source as in the text.
    cuttable: bool,
}

struct Open {
    kind: UnitKind,
    source: usize,
    source_end: usize,
    plain: usize,
    callout: bool,
}

struct Pass<'a> {
    text: &'a str,
    out: Blocks,
    /// Top-level blocks so far.
    block: u32,
    depth: u32,
    inline: u32,
    open: Option<Open>,
    anchors: Vec<Anchor>,
    /// Links not closed yet: index into `out.links` and where their text starts.
    pending: Vec<(usize, usize)>,
    /// A soft line break whose width depends on what follows.
    soft_break: bool,
    /// A quote has just begun: its first paragraph may carry a callout's mark.
    quote: bool,
}

impl<'a> Pass<'a> {
    fn new(text: &'a str) -> Self {
        let out = Blocks { plain: String::with_capacity(text.len()), ..Blocks::default() };
        Self {
            text,
            out,
            block: 0,
            depth: 0,
            inline: 0,
            open: None,
            anchors: Vec::new(),
            pending: Vec::new(),
            soft_break: false,
            quote: false,
        }
    }

    fn event(&mut self, event: Event<'_>, range: Range<usize>) {
        match event {
            Event::Start(mark) => self.start(mark, range),
            Event::End(end) => self.end(end, range),
            Event::Text(text) => {
                let code = matches!(&self.open, Some(open) if open.kind == UnitKind::Code);
                if !code && self.pending.is_empty() && text.contains('#') {
                    self.find_tags(&range);
                }
                self.push(&text, range, self.inline == 0);
            }
            Event::Code(text) | Event::InlineMath(text) | Event::DisplayMath(text) => {
                self.push(&text, range, false);
            }
            Event::Html(_) => self.touch(UnitKind::Html, &range),
            Event::InlineHtml(html) => {
                if html.get(..3).is_some_and(|tag| tag.eq_ignore_ascii_case("<br")) {
                    self.soft_break = true;
                }
            }
            Event::SoftBreak => self.soft_break = true,
            Event::HardBreak => {
                if self.open.is_some() {
                    self.out.plain.push('\n');
                }
            }
            Event::Rule => {
                self.close(range.start);
                if self.depth == 0 {
                    self.block += 1;
                }
            }
            Event::FootnoteReference(_) | Event::TaskListMarker(_) => {}
        }
    }

    fn start(&mut self, mark: Mark<'_>, range: Range<usize>) {
        match mark {
            Mark::Emphasis
            | Mark::Strong
            | Mark::Strikethrough
            | Mark::Superscript
            | Mark::Subscript => {
                self.inline += 1;
                self.touch(UnitKind::Prose, &range);
                return;
            }
            Mark::Link { link_type, dest_url, .. } => {
                let wiki = matches!(link_type, LinkType::WikiLink { .. });
                return self.start_link(
                    if wiki { LinkKind::Wiki } else { LinkKind::Markdown },
                    &dest_url,
                    range,
                );
            }
            Mark::Image { link_type, dest_url, .. } => {
                let wiki = matches!(link_type, LinkType::WikiLink { .. });
                return self.start_link(
                    if wiki { LinkKind::Embed } else { LinkKind::Image },
                    &dest_url,
                    range,
                );
            }
            Mark::TableCell => {
                if let Some(open) = &self.open
                    && self.out.plain.len() > open.plain
                {
                    self.out.plain.push_str(" | ");
                }
                self.depth += 1;
                return;
            }
            _ => {}
        }
        self.close(range.start);
        match mark {
            Mark::Paragraph => {
                let callout = std::mem::take(&mut self.quote);
                self.open(UnitKind::Prose, range.start);
                if let Some(open) = &mut self.open {
                    open.callout = callout;
                }
            }
            Mark::Heading { .. } => self.open(UnitKind::Heading, range.start),
            Mark::CodeBlock(CodeBlockKind::Fenced(_) | CodeBlockKind::Indented) => {
                self.open(UnitKind::Code, range.start);
            }
            Mark::HtmlBlock => self.open(UnitKind::Html, range.start),
            Mark::TableHead => self.open(UnitKind::TableHead, range.start),
            Mark::TableRow => self.open(UnitKind::TableRow, range.start),
            _ => {}
        }
        self.quote = matches!(mark, Mark::BlockQuote(_));
        self.depth += 1;
    }

    fn end(&mut self, end: TagEnd, range: Range<usize>) {
        match end {
            TagEnd::Emphasis
            | TagEnd::Strong
            | TagEnd::Strikethrough
            | TagEnd::Superscript
            | TagEnd::Subscript => {
                self.inline = self.inline.saturating_sub(1);
                return;
            }
            TagEnd::Link | TagEnd::Image => {
                self.inline = self.inline.saturating_sub(1);
                if let Some((link, plain)) = self.pending.pop() {
                    let text = self.out.plain.get(plain..).unwrap_or_default().trim();
                    self.out.links[link].text = text.to_owned();
                }
                return;
            }
            TagEnd::TableCell => {
                self.depth = self.depth.saturating_sub(1);
                return;
            }
            _ => {}
        }
        self.depth = self.depth.saturating_sub(1);
        if let TagEnd::Heading(level) = end
            && self.depth == 0
        {
            self.keep_heading(level as u8, &range);
        }
        self.close(range.end);
        if self.depth == 0 {
            self.block += 1;
        }
    }

    fn start_link(&mut self, kind: LinkKind, dest: &str, range: Range<usize>) {
        self.touch(UnitKind::Prose, &range);
        self.settle_break("x");
        self.inline += 1;
        self.pending.push((self.out.links.len(), self.out.plain.len()));
        self.out.links.push(Link { kind, dest: dest.to_owned(), text: String::new(), range });
    }

    fn keep_heading(&mut self, level: u8, range: &Range<usize>) {
        let start = line_start(self.text, range.start);
        let source = self.text[start..range.end].trim();
        let source = match source.strip_prefix('#') {
            Some(rest) => {
                let rest = rest.trim_start_matches('#').trim();
                let open = rest.trim_end_matches('#');
                if open.is_empty() || open.ends_with(char::is_whitespace) {
                    open.trim_end()
                } else {
                    rest
                }
            }
            None => source.rsplit_once('\n').map_or(source, |(text, _)| text.trim()),
        };
        let title = self.open.as_ref().map_or("", |open| &self.out.plain[open.plain..]);
        let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
        let leads = self.out.headings.is_empty()
            && !self.out.units.iter().any(|unit| unit.kind != UnitKind::Raw);
        self.out.headings.push(Heading {
            level,
            range: start..range.end,
            title,
            source: source.to_owned(),
            leads,
        });
    }

    fn find_tags(&mut self, range: &Range<usize>) {
        for (at, _) in self.text[range.clone()].match_indices('#') {
            if let Some(tag) = links::tag_at(self.text, range.start + at) {
                self.out.tags.push(tag);
            }
        }
    }

    fn open(&mut self, kind: UnitKind, source: usize) {
        self.anchors.clear();
        self.soft_break = false;
        let plain = self.out.plain.len();
        self.open = Some(Open { kind, source, source_end: source, plain, callout: false });
    }

    /// Text may come with no paragraph around it, as in a tight list.
    fn touch(&mut self, kind: UnitKind, range: &Range<usize>) {
        if self.open.is_none() {
            self.open(kind, range.start);
        }
        if let Some(open) = &mut self.open {
            open.source_end = open.source_end.max(range.end);
        }
    }

    fn settle_break(&mut self, next: &str) {
        if !std::mem::take(&mut self.soft_break) {
            return;
        }
        let start = self.open.as_ref().map_or(0, |open| open.plain);
        let before = self.out.plain[start..].chars().next_back();
        let wide =
            before.is_some_and(plain::is_wide) && next.chars().next().is_some_and(plain::is_wide);
        if !wide && before.is_some_and(|c| !c.is_whitespace()) {
            self.out.plain.push(' ');
        }
    }

    fn push(&mut self, text: &str, range: Range<usize>, cuttable: bool) {
        self.touch(UnitKind::Prose, &range);
        self.settle_break(text);
        self.anchors.push(Anchor {
            plain: self.out.plain.len(),
            len: text.len(),
            source: range.start,
            cuttable: cuttable && text.len() == range.len(),
        });
        self.out.plain.push_str(text);
    }

    /// Ends the open unit, cutting it into parts when it is too long.
    fn close(&mut self, end: usize) {
        let Some(open) = self.open.take() else { return };
        self.soft_break = false;
        let end = match open.kind {
            UnitKind::Prose if open.source_end > open.source => open.source_end,
            _ => end.max(open.source_end),
        };
        if open.kind == UnitKind::Html {
            return self.close_html(&open, end);
        }
        if open.callout {
            self.drop_callout_mark(&open);
        }
        let previous = self.out.units.last().map_or(0, |unit| unit.range.end);
        let start = line_start(self.text, open.source).max(previous).min(open.source);
        let end = start + self.text[start..end.max(start)].trim_end().len();
        self.keep_block_id(&open, start..end);
        let kept = self.out.plain.trim_end().len().max(open.plain);
        self.out.plain.truncate(kept);
        if self.out.plain[open.plain..].trim().is_empty() {
            self.out.plain.truncate(open.plain);
            return;
        }
        let text = &self.out.plain[open.plain..];
        let words = split::weigh(text);
        let cuts = match open.kind {
            UnitKind::Prose if words > split::WHOLE => split::prose(text),
            UnitKind::Code | UnitKind::Raw if words > split::CODE_CAP => split::lines(text),
            _ => Vec::new(),
        };
        let cuts: Vec<(usize, usize)> = cuts
            .into_iter()
            .filter_map(|cut| Some((cut + open.plain, self.source_of(cut + open.plain)?)))
            .filter(|(_, source)| (start..end).contains(source))
            .collect();
        let ends = cuts.into_iter().chain([(self.out.plain.len(), end)]);
        self.keep_parts(open.kind, (open.plain, start), ends, words);
        self.out.plain.push('\n');
    }

    fn keep_parts(
        &mut self,
        kind: UnitKind,
        from: (usize, usize),
        ends: impl Iterator<Item = (usize, usize)>,
        whole: usize,
    ) {
        let (mut plain, mut source) = from;
        let mut continued = false;
        for (plain_end, source_end) in ends {
            let text = trim(&self.out.plain, plain..plain_end);
            // The indent of a code line is part of it.
            let range = match kind {
                UnitKind::Code | UnitKind::Html => {
                    source..source + self.text[source..source_end].trim_end().len()
                }
                _ if continued => trim(self.text, source..source_end),
                _ => source..source + self.text[source..source_end].trim_end().len(),
            };
            if text.is_empty() || range.is_empty() {
                continue;
            }
            let whole_piece = !continued && plain_end == self.out.plain.len();
            let words =
                if whole_piece { whole } else { split::weigh(&self.out.plain[text.clone()]) };
            self.out.units.push(Unit {
                kind,
                range,
                text,
                words: u32::try_from(words).unwrap_or(u32::MAX),
                block: self.block,
                continued,
            });
            (plain, source, continued) = (plain_end, source_end, true);
        }
    }

    /// HTML is read from the source, since a tag may span the lines that come as events.
    fn close_html(&mut self, open: &Open, end: usize) {
        let previous = self.out.units.last().map_or(0, |unit| unit.range.end);
        let start = line_start(self.text, open.source).max(previous).min(open.source);
        let source = &self.text[start..end.max(start)];
        self.out.plain.truncate(open.plain);
        plain::strip_html(source, &mut self.out.plain);
        let mut ends = vec![(self.out.plain.len(), start + source.len())];
        let words = split::weigh(&self.out.plain[open.plain..]);
        if words > split::CODE_CAP {
            self.out.plain.truncate(open.plain);
            ends.clear();
            for piece in split::groups(source) {
                plain::strip_html(&source[piece.clone()], &mut self.out.plain);
                self.out.plain.push('\n');
                ends.push((self.out.plain.len(), start + piece.end));
            }
        }
        self.keep_parts(UnitKind::Html, (open.plain, start), ends.into_iter(), words);
        if self.out.plain.len() > open.plain {
            self.out.plain.push('\n');
        }
    }

    /// `[!note]+ Title` leaves `Title`.
    fn drop_callout_mark(&mut self, open: &Open) {
        let text = &self.out.plain[open.plain..];
        let Some(mark) = plain::callout(text) else { return };
        let len = mark.len;
        self.out.plain.replace_range(open.plain..open.plain + len, "");
        for anchor in &mut self.anchors {
            match anchor.plain.checked_sub(open.plain + len) {
                Some(_) => anchor.plain -= len,
                None => (anchor.plain, anchor.cuttable) = (open.plain, false),
            }
        }
    }

    fn keep_block_id(&mut self, open: &Open, range: Range<usize>) {
        if !matches!(open.kind, UnitKind::Prose | UnitKind::Heading) {
            return;
        }
        let text = self.out.plain[open.plain..].trim_end();
        let Some((id, at)) = links::block_id(text) else { return };
        // A name on a line of its own belongs to the block before it.
        let block = match (at, self.out.units.last()) {
            (0, Some(before)) => before.range.clone(),
            _ => range,
        };
        self.out.block_ids.push(BlockId { id: id.to_owned(), range: block });
        self.out.plain.truncate(open.plain + at);
    }

    /// The place in the source of a place in the plain text, where the source may be cut there.
    fn source_of(&self, plain: usize) -> Option<usize> {
        let index = self.anchors.partition_point(|anchor| anchor.plain < plain).checked_sub(1)?;
        let anchor = &self.anchors[index];
        let source = anchor.source + (plain - anchor.plain);
        let inside = plain <= anchor.plain + anchor.len && anchor.cuttable;
        (inside && self.text.is_char_boundary(source)).then_some(source)
    }
}

/// The beginning of the line that `at` is in. To Markdown a bare carriage return ends a line.
pub fn line_start(text: &str, at: usize) -> usize {
    text[..at]
        .rfind(['\n', '\r'])
        .map_or_else(|| if text.starts_with('\u{feff}') { 3.min(at) } else { 0 }, |at| at + 1)
}

fn trim(text: &str, range: Range<usize>) -> Range<usize> {
    let part = &text[range.clone()];
    let start = range.start + (part.len() - part.trim_start().len());
    start..start + part.trim().len()
}
