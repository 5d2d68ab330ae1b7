//! A note as a page for people: its passages are anchors (`#c32`), its own ids have a prefix so that
//! they shadow nothing of the page around it, and nothing in it is fetched from elsewhere.

use std::{borrow::Cow, ops::Range, sync::LazyLock};

use ammonia::Builder;
use pulldown_cmark::{Event, Tag, TagEnd};

use super::{Ids, Resolve, bounded, cleaner, math::with_formulas, too_large};
use crate::{
    domain::Result,
    markdown::{blocks::Heading, links::is_external, note::Note},
};

/// What stands before every id of a note's own.
pub const ID_PREFIX: &str = "s-";
/// How the id of an anchor begins until it is clean. No heading can have it.
const ANCHOR: &str = "..c";

/// A passage, by where it starts in the rendered text.
pub(super) struct Anchor {
    start: usize,
    ordinal: u32,
}

impl Note {
    /// Renders this note, whose whole source is `text`, as the body of a page. A leading heading
    /// that repeats the title is left out: the page shows the title itself.
    pub fn page(&self, text: &str, resolver: &dyn Resolve) -> Result<String> {
        let from = self.own_title().map_or(self.body, |title| title.range.end);
        let part = text.get(from..).unwrap_or_default();
        let chunks = self.chunks().into_iter();
        let anchors: Vec<Anchor> = chunks
            .map(|chunk| Anchor {
                start: chunk.range.start.saturating_sub(from),
                ordinal: chunk.ordinal,
            })
            .collect();
        let html = bounded(part, &self.blocks.definitions, resolver, &anchors);
        let limit = resolver.limit();
        let html = html.map(|html| clean(&html)).filter(|html| html.len() <= limit);
        let html = html.ok_or_else(|| too_large(limit))?;
        Ok(with_formulas(html, limit))
    }
}

impl Note {
    /// The first heading, where it is the title: the outline has no section for it.
    fn own_title(&self) -> Option<&Heading> {
        let headings = &self.blocks.headings;
        headings.first().filter(|_| headings.len() == self.outline.sections().len())
    }

    /// The id that each section of the outline has in [`Note::page`], the note itself left out.
    pub fn heading_ids(&self) -> Vec<String> {
        let skipped = usize::from(self.own_title().is_some());
        let mut ids = Ids::default();
        let headings = self.blocks.headings.iter().skip(skipped);
        headings.map(|heading| format!("{ID_PREFIX}{}", ids.unique(&heading.title))).collect()
    }
}

/// Renders a text that is not saved yet, as [`Note::page`] would.
pub fn preview(text: &str, resolver: &dyn Resolve) -> Result<String> {
    let note = Note::parse(text, "");
    note.page(text, resolver)
}

fn clean(html: &str) -> String {
    static CLEANER: LazyLock<Builder<'static>> = LazyLock::new(|| {
        let mut builder = cleaner();
        builder
            .add_tag_attributes("span", ["id"])
            .add_allowed_classes("span", ["at", "task", "done"])
            .id_prefix(Some(ID_PREFIX))
            .link_rel(Some("noopener noreferrer"))
            .attribute_filter(|element, attribute, value| match (element, attribute) {
                ("a", "href") => Some(match value.strip_prefix('#') {
                    Some(id) => format!("#{ID_PREFIX}{id}").into(),
                    None => Cow::Borrowed(value),
                }),
                // A picture of another site would tell that site who reads. One in raw HTML is not
                // among the links of the note, so that nothing says who may see it.
                ("img", "src") if is_external(value) || !value.starts_with('/') => None,
                _ => Some(value.into()),
            });
        builder
    });
    let unclean = format!("id=\"{ID_PREFIX}{ANCHOR}");
    CLEANER.clean(html).to_string().replace(&unclean, "id=\"c")
}

/// The events of a text with an anchor where each passage starts.
pub(super) fn anchored<'a>(
    events: impl Iterator<Item = (Event<'a>, Range<usize>)>,
    anchors: &[Anchor],
) -> Vec<Event<'a>> {
    let mut out: Vec<Event<'a>> = Vec::new();
    let mut rest = anchors.iter().peekable();
    // Inside a code block or a picture, where nothing can be put in.
    let mut closed = 0_usize;
    for (event, range) in events {
        let event = match event {
            // A box that nobody can tick is a sign, not a control.
            Event::TaskListMarker(done) => Event::InlineHtml(task(done).into()),
            event => event,
        };
        let mut anchor = String::new();
        let place = if closed == 0 { place_of(&event) } else { AnchorSide::Nowhere };
        while place != AnchorSide::Nowhere
            && let Some(next) = rest.next_if(|next| next.start <= range.start)
        {
            anchor += &format!("<span class=\"at\" id=\"{ANCHOR}{}\"></span>", next.ordinal);
        }
        match &event {
            Event::Start(Tag::CodeBlock(_) | Tag::Image { .. } | Tag::MetadataBlock(_)) => {
                closed += 1;
            }
            Event::End(TagEnd::CodeBlock | TagEnd::Image | TagEnd::MetadataBlock(_)) => {
                closed = closed.saturating_sub(1);
            }
            _ => {}
        }
        if anchor.is_empty() {
            out.push(event);
            continue;
        }
        let anchor = Event::InlineHtml(anchor.into());
        match place {
            // The first paragraph of a quote decides whether the quote is a callout.
            AnchorSide::Before if matches!(out.last(), Some(Event::Start(Tag::BlockQuote(_)))) => {
                let at = out.len() - 1;
                out.insert(at, anchor);
                out.push(event);
            }
            AnchorSide::Before => out.extend([anchor, event]),
            AnchorSide::After | AnchorSide::Nowhere => out.extend([event, anchor]),
        }
    }
    out
}

/// Where an anchor can stand, beside an event.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AnchorSide {
    Before,
    After,
    Nowhere,
}

fn place_of(event: &Event<'_>) -> AnchorSide {
    match event {
        Event::Start(Tag::Item | Tag::TableCell) => AnchorSide::After,
        Event::Start(Tag::TableHead | Tag::TableRow) | Event::End(_) => AnchorSide::Nowhere,
        _ => AnchorSide::Before,
    }
}

fn task(done: bool) -> &'static str {
    match done {
        true => "<span class=\"task done\">[x]</span> ",
        false => "<span class=\"task\">[ ]</span> ",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::markdown::links::LinkTarget;

    fn page(text: &str) -> String {
        let nowhere = |_: &LinkTarget| None;
        Note::parse(text, "Name").page(text, &nowhere).unwrap()
    }

    #[test]
    fn every_passage_has_an_anchor_in_the_order_of_the_text() {
        let words = "слово word 単語 ".repeat(60);
        let text = format!(
            "---\ntags: [a]\n---\n# T\n\n{words}\n\n> [!note] Title\n> {words}\n\n- {words}\n- {words}\n\n```rs\n{words}\n```\n\n| a | b |\n|---|---|\n| {words} | x |\n| {words} | y |\n\n## Last\n\n{words}\n"
        );
        let html = page(&text);
        let count = Note::parse(&text, "Name").chunks().len();
        assert!(count > 5, "{count}");
        let mut at = 0;
        for ordinal in 0..count {
            let id = format!("id=\"c{ordinal}\"");
            assert_eq!(html.matches(&id).count(), 1, "{id} in {html}");
            let next = html.find(&id).unwrap();
            assert!(next >= at, "{id} stands before its neighbour");
            at = next;
        }
        assert!(html.contains("data-callout=\"note\""), "{html}");
        assert!(!html.contains("<code class=\"language-rs\"><span"), "{html}");
    }

    #[test]
    fn the_title_is_not_repeated() {
        assert!(!page("# One\n\ntext\n").contains("<h1"));
        assert!(page("---\ntitle: Two\n---\n# One\n\ntext\n").contains("<h1"));
        assert!(page("text\n\n# Name\n").contains("<h1"));
    }

    #[test]
    fn the_outline_knows_the_ids_of_its_headings() {
        let text = "# One\n\n## A `b`\n\n## A b\n\n### Сад и 庭\n";
        let note = Note::parse(text, "Name");
        let html = page(text);
        let ids = note.heading_ids();
        assert_eq!(ids.len(), note.outline.sections().len() - 1);
        for id in ids {
            assert!(html.contains(&format!("id=\"{id}\"")), "{id} in {html}");
        }
    }

    #[test]
    fn ids_of_a_note_shadow_nothing_and_its_links_still_lead_there() {
        let html = page("## Main\n\n[up](#main) a[^q]\n\n[^q]: b\n\n<div id=\"q\">x</div>\n");
        for id in html.split("id=\"").skip(1).map(|rest| rest.split('"').next().unwrap()) {
            let is_passage = id.strip_prefix('c').is_some_and(|n| n.parse::<u32>().is_ok());
            assert!(id.starts_with("s-") || is_passage, "{id} in {html}");
        }
        assert!(html.contains("href=\"#s-main\"") && html.contains("id=\"s-main\""), "{html}");
        assert!(html.contains("href=\"#s-q\""), "{html}");
    }

    #[test]
    fn nothing_acts_and_nothing_is_fetched_from_elsewhere() {
        let html = page(
            "<script>alert(1)</script><p style=\"color:red\" onclick=\"x()\" class=\"top\">a</p>\n\n<img src=\"https://evil.example/a.png\"> [a](javascript:alert(1)) <form action=/x><button>b</button></form>\n\n- [ ] open\n- [x] done\n",
        );
        for bad in [
            "<script",
            "style=",
            "onclick",
            "class=\"top\"",
            "src=\"http",
            "javascript:",
            "<form",
            "<button",
            "<input",
        ] {
            assert!(!html.contains(bad), "{bad} in {html}");
        }
        assert!(html.contains("<span class=\"task done\">"), "{html}");
    }

    #[test]
    fn a_formula_is_mathml_and_markup_of_a_note_is_not() {
        let html = page("An $x^2$ and\n\n$$\\frac{a}{b}$$\n\ncosts $5 and 6\n\n`$y$`\n");
        assert_eq!(html.matches("<math").count(), 2, "{html}");
        assert!(html.contains("$5 and 6") && html.contains("<code>$y$</code>"), "{html}");
        let html = page("<math><mi onclick=\"x()\">x</mi></math> <svg><script>1</script></svg>\n");
        assert!(!html.contains("<math") && !html.contains("onclick"), "{html}");
        let nested = "<span class=\"math math-inline\"><b>x^2</b></span>\n";
        assert!(!page(nested).contains("<math"), "{}", page(nested));
    }
}
