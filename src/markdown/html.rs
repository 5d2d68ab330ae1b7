//! Markdown → HTML that is safe to show: no scripts, styles, event handlers or `javascript:`
//! addresses, whatever the note holds. Wiki-links become links, embeds are shown one level deep.

mod math;
pub mod page;

use std::{
    cell::Cell,
    collections::{HashMap, HashSet},
    fmt,
    sync::LazyLock,
};

use ammonia::Builder;
use pulldown_cmark::{
    BrokenLink, CowStr, Event, LinkType, Parser, Tag, TagEnd, TextMergeStream, TextMergeWithOffset,
    html,
};

use self::page::Anchor;
use super::{blocks::dialect, links::LinkTarget, note::Note, plain};
use crate::domain::{Error, Result};

/// What an embed shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Embedded {
    /// The text of a note, or of the part that the target names.
    Markdown(String),
    /// The address of a picture.
    Image(String),
}

/// Knows where links lead. A closure from target to address is one.
pub trait Resolve {
    /// The address of a page or of a place in it; nothing when there is no such page.
    fn link(&self, target: &LinkTarget) -> Option<String>;

    /// What `![[target]]` shows; nothing makes it a link.
    fn embed(&self, _target: &LinkTarget) -> Option<Embedded> {
        None
    }

    /// The address of a picture that a Markdown image names; nothing makes it a link.
    fn image(&self, address: &str) -> Option<String> {
        Some(address.to_owned())
    }

    /// The most bytes of HTML that a rendered text may have, embeds included.
    fn limit(&self) -> usize {
        usize::MAX
    }
}

impl<F: Fn(&LinkTarget) -> Option<String>> Resolve for F {
    fn link(&self, target: &LinkTarget) -> Option<String> {
        self(target)
    }
}

/// Renders a whole text. A result above [`Resolve::limit`] is an error.
pub fn render(markdown: &str, resolver: &dyn Resolve) -> Result<String> {
    whole(markdown, &[], resolver)
}

impl Note {
    /// Renders a part of this note (a section, a window): links that are defined elsewhere in the
    /// note still work.
    pub fn html(&self, part: &str, resolver: &dyn Resolve) -> Result<String> {
        whole(part, &self.blocks.definitions, resolver)
    }
}

fn whole(
    markdown: &str,
    definitions: &[(String, String)],
    resolver: &dyn Resolve,
) -> Result<String> {
    let limit = resolver.limit();
    let html = bounded(markdown, definitions, resolver, &[]);
    let html = html.map(|html| sanitise(&html)).filter(|html| html.len() <= limit);
    html.ok_or_else(|| too_large(limit))
}

/// HTML that is not sanitised yet; `None` when it is larger than the resolver allows.
fn bounded(
    markdown: &str,
    definitions: &[(String, String)],
    resolver: &dyn Resolve,
    anchors: &[Anchor],
) -> Option<String> {
    let limit = resolver.limit();
    // Half for what is embedded: a page that embeds too much is still a page.
    let embeds = Cell::new(limit / 2);
    unsafe_html(markdown, definitions, resolver, anchors, Some(&embeds), limit)
}

fn too_large(limit: usize) -> Error {
    Error::limit(format!(
        "the note has more than {limit} bytes as HTML, more than `limits.result_bytes` allows; read a section with toc_path, or ask for `format: markdown` and max_tokens"
    ))
}

/// Text that refuses to grow beyond a limit.
struct Bounded {
    text: String,
    limit: usize,
}

impl fmt::Write for Bounded {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        if self.text.len().saturating_add(part.len()) > self.limit {
            return Err(fmt::Error);
        }
        self.text.push_str(part);
        Ok(())
    }
}

/// Takes out of an HTML text all that could act.
pub fn sanitise(html: &str) -> String {
    static CLEANER: LazyLock<Builder<'static>> = LazyLock::new(|| {
        let mut builder = cleaner();
        builder
            .add_tags(["input"])
            .add_tag_attributes("input", ["disabled", "checked"])
            .add_tag_attribute_values("input", "type", ["checkbox"])
            .link_rel(None);
        builder
    });
    CLEANER.clean(html).to_string()
}

/// What a note may have in any HTML that is made of it.
fn cleaner() -> Builder<'static> {
    let mut builder = Builder::default();
    builder
        .add_tag_attributes("code", ["class"])
        .add_tag_attributes("div", ["id", "data-callout"])
        .add_allowed_classes("div", ["callout", "embed", "footnote-definition"])
        .add_allowed_classes("p", ["callout-title"])
        .add_allowed_classes("span", ["missing", "math", "math-inline", "math-display"])
        .add_allowed_classes("sup", ["footnote-reference", "footnote-definition-label"])
        .add_url_schemes(["notewell"]);
    for heading in ["h1", "h2", "h3", "h4", "h5", "h6"] {
        builder.add_tag_attributes(heading, ["id"]);
    }
    builder
}

/// HTML that is not sanitised yet; `None` when it has more than `limit` bytes. `embeds` is the
/// number of bytes that embeds may still take; without it embeds are links.
fn unsafe_html(
    markdown: &str,
    definitions: &[(String, String)],
    resolver: &dyn Resolve,
    anchors: &[Anchor],
    embeds: Option<&Cell<usize>>,
    limit: usize,
) -> Option<String> {
    let define = |link: BrokenLink<'_>| {
        let label = link.reference.to_lowercase();
        let at = definitions.binary_search_by(|(known, _)| known.as_str().cmp(&label)).ok()?;
        Some((CowStr::from(definitions[at].1.clone()), CowStr::from("")))
    };
    let parser = Parser::new_with_broken_link_callback(markdown, dialect(), Some(define));
    let events: Vec<Event<'_>> = match anchors.is_empty() {
        true => TextMergeStream::new(parser).collect(),
        false => page::anchored(TextMergeWithOffset::new(parser.into_offset_iter()), anchors),
    };
    let mut page = Page::new(events.len(), resolver, embeds);
    let mut at = 0;
    while at < events.len() {
        at = page.take(&events, at);
    }
    let mut out = Bounded { text: String::new(), limit };
    html::write_html_fmt(&mut out, page.out.into_iter()).ok()?;
    Some(out.text)
}

/// The events of one text on their way to HTML.
struct Page<'a, 'r> {
    resolver: &'r dyn Resolve,
    embeds: Option<&'r Cell<usize>>,
    out: Vec<Event<'a>>,
    ids: Ids,
    /// For each open link: whether it leads nowhere and was opened as a span.
    links: Vec<bool>,
    /// For each open quote: whether it is a callout.
    quotes: Vec<bool>,
    /// Inside the title line of a callout.
    callout_title: bool,
}

impl<'a, 'r> Page<'a, 'r> {
    fn new(len: usize, resolver: &'r dyn Resolve, embeds: Option<&'r Cell<usize>>) -> Self {
        Self {
            resolver,
            embeds,
            out: Vec::with_capacity(len + 16),
            ids: Ids::default(),
            links: Vec::new(),
            quotes: Vec::new(),
            callout_title: false,
        }
    }

    fn raw(&mut self, html: impl Into<CowStr<'a>>) {
        self.out.push(Event::InlineHtml(html.into()));
    }

    /// Takes the event at `at`, and those that belong to it; says where to go on.
    fn take(&mut self, events: &[Event<'a>], at: usize) -> usize {
        match &events[at] {
            Event::Start(Tag::BlockQuote(_)) => return self.quote(events, at),
            Event::End(TagEnd::BlockQuote(_)) if self.quotes.pop() == Some(true) => {
                self.raw("</div>\n")
            }
            Event::Start(Tag::Heading { level, .. }) => {
                let id = self.ids.unique(&text_until(&events[at + 1..], |end| {
                    matches!(end, TagEnd::Heading(_))
                }));
                self.out.push(Event::Start(Tag::Heading {
                    level: *level,
                    id: Some(id.into()),
                    classes: Vec::new(),
                    attrs: Vec::new(),
                }));
            }
            Event::Start(Tag::Link { link_type, dest_url, title, .. }) => {
                self.link(*link_type, dest_url, title);
            }
            Event::End(TagEnd::Link) => match self.links.pop() {
                Some(true) => self.raw("</span>"),
                _ => self.out.push(Event::End(TagEnd::Link)),
            },
            Event::Start(Tag::Image { link_type: LinkType::WikiLink { .. }, dest_url, .. }) => {
                return self.embed(events, at, dest_url);
            }
            Event::Start(Tag::Image { dest_url, title, .. }) => {
                match self.resolver.image(dest_url) {
                    Some(address) => self.out.push(Event::Start(Tag::Image {
                        link_type: LinkType::Inline,
                        dest_url: address.into(),
                        title: title.clone(),
                        id: "".into(),
                    })),
                    None => return self.image_link(events, at, dest_url),
                }
            }
            Event::SoftBreak | Event::HardBreak if self.callout_title => {
                self.callout_title = false;
                self.raw("</p>\n");
                self.out.push(Event::Start(Tag::Paragraph));
            }
            Event::End(TagEnd::Paragraph) if self.callout_title => {
                self.callout_title = false;
                self.raw("</p>\n");
            }
            Event::Text(text) if text.contains("==") && !in_code(&self.out) => self.highlight(text),
            other => self.out.push(other.clone()),
        }
        at + 1
    }

    fn quote(&mut self, events: &[Event<'a>], at: usize) -> usize {
        let mark = match (events.get(at + 1), events.get(at + 2)) {
            (Some(Event::Start(Tag::Paragraph)), Some(Event::Text(text))) => {
                plain::callout(text).map(|mark| (mark, text))
            }
            _ => None,
        };
        self.quotes.push(mark.is_some());
        let Some((mark, text)) = mark else {
            self.out.push(events[at].clone());
            return at + 1;
        };
        let kind = escape(&mark.kind);
        self.raw(format!(
            "<div class=\"callout\" data-callout=\"{kind}\"><p class=\"callout-title\">"
        ));
        let title = text[mark.len..].to_owned();
        let bare = title.is_empty()
            && matches!(
                events.get(at + 3),
                None | Some(Event::SoftBreak | Event::End(TagEnd::Paragraph))
            );
        self.out.push(Event::Text(if bare { mark.kind.into() } else { title.into() }));
        self.callout_title = true;
        at + 3
    }

    fn link(&mut self, link_type: LinkType, dest: &CowStr<'a>, title: &CowStr<'a>) {
        let wiki = matches!(link_type, LinkType::WikiLink { .. });
        let target = if wiki { Some(LinkTarget::wiki(dest)) } else { LinkTarget::address(dest) };
        let inside = |target: &LinkTarget| wiki || !target.path.is_empty();
        let found = target.filter(inside).and_then(|target| self.resolver.link(&target));
        let missing = wiki && found.is_none();
        self.links.push(missing);
        if missing {
            self.raw("<span class=\"missing\">");
            return;
        }
        let kept = if matches!(link_type, LinkType::Email) { link_type } else { LinkType::Inline };
        self.out.push(Event::Start(Tag::Link {
            link_type: kept,
            dest_url: found.map_or_else(|| dest.clone(), CowStr::from),
            title: title.clone(),
            id: "".into(),
        }));
    }

    fn embed(&mut self, events: &[Event<'a>], at: usize, dest: &str) -> usize {
        let text = text_until(&events[at + 1..], |end| matches!(end, TagEnd::Image));
        let inside =
            events[at + 1..].iter().position(|event| matches!(event, Event::End(TagEnd::Image)));
        let next = inside.map_or(events.len(), |inside| at + 1 + inside + 1);
        let target = LinkTarget::wiki(dest);
        let budget = self.embeds.filter(|budget| budget.get() > 0);
        let shown = budget.and_then(|_| self.resolver.embed(&target));
        match shown {
            Some(Embedded::Markdown(markdown)) => {
                let left = budget.map_or(0, Cell::get);
                let inner = unsafe_html(&markdown, &[], self.resolver, &[], None, left);
                let Some(inner) =
                    inner.map(|inner| format!("<div class=\"embed\">\n{inner}</div>\n"))
                else {
                    // What does not fit is not tried again: rendering it costs as much each time.
                    if let Some(budget) = budget {
                        budget.set(0);
                    }
                    return self.left_out(&target, &text, next);
                };
                if let Some(budget) = budget {
                    budget.set(left.saturating_sub(inner.len()));
                }
                let alone = matches!(self.out.last(), Some(Event::Start(Tag::Paragraph)))
                    && matches!(events.get(next), Some(Event::End(TagEnd::Paragraph)));
                if alone {
                    self.out.pop();
                }
                self.out.push(Event::Html(inner.into()));
                next + usize::from(alone)
            }
            None if self.embeds.is_some_and(|budget| budget.get() == 0) => {
                self.left_out(&target, &text, next)
            }
            Some(Embedded::Image(src)) => {
                self.out.push(Event::Start(Tag::Image {
                    link_type: LinkType::Inline,
                    dest_url: src.into(),
                    title: "".into(),
                    id: "".into(),
                }));
                self.out.push(Event::Text(text.into()));
                self.out.push(Event::End(TagEnd::Image));
                next
            }
            None => {
                self.link_to(&target, &text);
                next
            }
        }
    }

    /// A picture that is not shown as the link to it.
    fn image_link(&mut self, events: &[Event<'a>], at: usize, dest: &str) -> usize {
        let is_end = |event: &Event<'_>| matches!(event, Event::End(TagEnd::Image));
        let text = text_until(&events[at + 1..], |end| matches!(end, TagEnd::Image));
        let text = if text.trim().is_empty() { dest } else { &text };
        // A link cannot stand in a link.
        match self.links.is_empty() {
            true => self.raw(format!("<a href=\"{}\">{}</a>", escape(dest), escape(text))),
            false => self.raw(escape(text)),
        }
        events[at + 1..].iter().position(is_end).map_or(events.len(), |end| at + end + 2)
    }

    /// An embed as a link, or as plain text where it leads nowhere.
    fn link_to(&mut self, target: &LinkTarget, text: &str) {
        match self.resolver.link(target) {
            Some(href) => self.raw(format!("<a href=\"{}\">{}</a>", escape(&href), escape(text))),
            None => self.raw(format!("<span class=\"missing\">{}</span>", escape(text))),
        }
    }

    fn left_out(&mut self, target: &LinkTarget, text: &str, next: usize) -> usize {
        self.link_to(target, text);
        self.raw(" (not shown here: this note embeds too much)");
        next
    }

    /// `==marked==` where both marks stand in one stretch of text.
    fn highlight(&mut self, text: &str) {
        let parts: Vec<&str> = text.split("==").collect();
        let pairs = (parts.len() - 1) / 2 * 2;
        for (index, part) in parts.iter().enumerate() {
            if index > 0 {
                match index {
                    index if index > pairs => self.out.push(Event::Text("==".into())),
                    index if index % 2 == 1 => self.raw("<mark>"),
                    _ => self.raw("</mark>"),
                }
            }
            if !part.is_empty() {
                self.out.push(Event::Text((*part).to_owned().into()));
            }
        }
    }
}

/// The anchors that a text has given so far.
#[derive(Default)]
struct Ids {
    counts: HashMap<String, usize>,
    taken: HashSet<String>,
}

impl Ids {
    /// An anchor for a heading that no other one of this text has.
    fn unique(&mut self, title: &str) -> String {
        let base = slug(title);
        let count = self.counts.entry(base.clone()).or_insert(0);
        loop {
            let id = if *count == 0 { base.clone() } else { format!("{base}-{count}") };
            *count += 1;
            if self.taken.insert(id.clone()) {
                return id;
            }
        }
    }
}

/// The anchor of a heading: letters and digits of any script, `-` between words.
pub fn slug(title: &str) -> String {
    let mut slug = String::with_capacity(title.len());
    for c in title.chars().flat_map(char::to_lowercase) {
        if c.is_alphanumeric() || c == '_' {
            slug.push(c);
        } else if (c.is_whitespace() || c == '-') && !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    slug.truncate(slug.trim_end_matches('-').len());
    if slug.is_empty() { "section".to_owned() } else { slug }
}

fn text_until(events: &[Event<'_>], ends: impl Fn(&TagEnd) -> bool) -> String {
    let mut text = String::new();
    for event in events {
        match event {
            Event::End(end) if ends(end) => break,
            Event::Text(part) | Event::Code(part) | Event::InlineMath(part) => text.push_str(part),
            Event::SoftBreak | Event::HardBreak => text.push(' '),
            _ => {}
        }
    }
    text
}

fn in_code(out: &[Event<'_>]) -> bool {
    matches!(out.last(), Some(Event::Start(Tag::CodeBlock(_))))
}

/// Text made safe between tags and in quoted attributes.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests;
