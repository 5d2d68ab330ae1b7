//! Notes: their structure, and edits that change nothing but their target.

use notewell::{
    app::{
        edit::compact_diff,
        history::{Reverted, revert},
    },
    domain::Kind,
    markdown::{
        self, LinkTarget, Note,
        edit::{Edit, apply, link_places, rewrite_links, set_fields},
        frontmatter as front, template as templates,
    },
};
use serde_json::{Map, Value};

use super::{parts, text, turns};

/// Sections whose edits one input tries: more only cost time.
const MAX_SECTIONS: usize = 6;
/// Kinds of edits that `edit` tries.
const EDITS: usize = 8;

/// The block at the start of a note reads without a panic, and a field that is set reads back.
pub fn frontmatter(data: &[u8]) {
    let [note, key, value] = parts(data);
    let (note, key, value) = (text(note), text(key), text(value));
    let split = front::split(&note);
    assert!(note.is_char_boundary(split.body));
    if let Some(yaml) = split.yaml.clone() {
        assert!(yaml.end <= split.body);
        front::parse(&note[yaml.clone()]);
        front::values(&note[yaml]);
    }
    let value: Value = serde_json::from_str(&value).unwrap_or_else(|_| value.into());
    let fields = Map::from_iter([(key.into_owned(), value)]);
    if let Ok(edited) = set_fields(&note, &fields) {
        let body = &note[split.body..];
        assert!(edited.ends_with(body), "the body stays: {edited:?}");
        assert_eq!(note.starts_with('\u{feff}'), edited.starts_with('\u{feff}'));
        let again = set_fields(&edited, &fields).expect("what was set once can be set again");
        assert_eq!(again, edited, "setting a field twice is setting it once");
    }
}

/// Sections put together are the note; passages, windows and links are where they say.
pub fn outline(data: &[u8]) {
    let source = text(data);
    let note = Note::parse(&source, "name");
    let sections = note.outline.sections();
    let joined: String = sections.iter().map(|section| &source[section.own.clone()]).collect();
    assert_eq!(joined, source, "sections are the note");
    for (index, section) in sections.iter().enumerate().skip(1) {
        let path = note.outline.path(index);
        let same = note.outline.find(&path).expect("a section's own path leads to it");
        assert_eq!(same.range, section.range);
        note.preview(section, 80);
    }
    let mut end = 0;
    for chunk in note.chunks() {
        assert!(chunk.range.start >= end && chunk.range.end <= source.len());
        end = chunk.range.end;
        let window = note.window(&source, chunk.range.clone(), 20);
        assert!(window.range.start <= chunk.range.start && window.range.end >= chunk.range.end);
    }
    for link in note.links() {
        assert!(source.get(link.range.clone()).is_some());
        let _ = link.target();
    }
    for tag in note.tags() {
        assert!(source.get(tag.range.clone()).is_some());
    }
    note.labels();
    note.plain();
    note.block_ids();
    note.heading_ids();
    markdown::count(&source);
    let places = link_places(&source);
    let mut end = 0;
    for place in &places {
        assert!(place.range.start >= end && source.get(place.range.clone()).is_some());
        assert!(!place.path.is_empty());
        end = place.range.end;
    }
    let moved: Vec<_> = places.iter().map(|place| (place, "a b/語.md".to_owned())).collect();
    let rewritten = rewrite_links(&source, &moved);
    let first = places.first().map_or(source.len(), |place| place.range.start);
    assert!(rewritten.starts_with(&source[..first]));
    assert!(rewritten.ends_with(&source[end.min(source.len())..]) || places.is_empty());
    LinkTarget::wiki(&source);
}

/// An edit changes its section and nothing outside it.
pub fn edit(data: &[u8]) {
    let [source, new, find] = parts(data);
    let (source, new, find) = (text(source), text(new), text(find));
    let note = Note::parse(&source, "t");
    let sections = note.outline.sections();
    let sections = &sections[..sections.len().min(MAX_SECTIONS)];
    for turn in turns(data, sections.len() * EDITS) {
        let section = &sections[turn / EDITS];
        let edit = match turn % EDITS {
            0 => {
                let own = note.section(&source, section);
                let same =
                    apply(&source, &note, section, Edit::Replace(own)).expect("its own text");
                assert_eq!(same.text, source, "a section replaced by itself");
                continue;
            }
            1 => Edit::Replace(&new),
            2 => Edit::Append(&new),
            3 => Edit::Prepend(&new),
            4 => Edit::Before(&new),
            5 => Edit::After(&new),
            6 => Edit::Delete,
            _ => Edit::Find { find: &find, text: &new, count: 1 },
        };
        let Ok(edited) = apply(&source, &note, section, edit) else { continue };
        assert!(edited.text.get(edited.changed.clone()).is_some(), "{edit:?}");
        let writes_block = matches!(edit, Edit::Replace(new) if section.level == 0
            && front::split(new.trim_start_matches('\u{feff}')).yaml.is_some());
        let start = if section.level == 0 { note.body } else { section.range.start };
        if !writes_block {
            assert!(edited.text.starts_with(&source[..start]), "before: {edit:?}");
        }
        assert!(edited.text.ends_with(&source[section.range.end..]), "behind: {edit:?}");
        assert_eq!(
            source.starts_with('\u{feff}'),
            edited.text.starts_with('\u{feff}'),
            "byte order mark: {edit:?}"
        );
        if source.contains("\r\n") && bare_ends(&source) == 0 && !new.contains('\r') {
            assert_eq!(bare_ends(&edited.text), 0, "line ends: {edit:?}");
        }
        compact_diff(&source, &edited.text);
    }
}

/// Line ends without a carriage return before them.
fn bare_ends(text: &str) -> usize {
    text.matches('\n').count() - text.matches("\r\n").count()
}

/// A change that is taken back leaves what others changed.
pub fn merge(data: &[u8]) {
    let [before, after, now] = parts::<3>(data);
    let (before, after, now) = (text(before), text(after), text(now));
    let (before, after, now) = (before.as_bytes(), after.as_bytes(), now.as_bytes());
    for kind in [Kind::Page, Kind::Card] {
        let reverted = revert(kind, Some(before), Some(after), Some(now));
        match &reverted {
            _ if now == before => assert_eq!(reverted, Reverted::Already),
            _ if now == after => assert_eq!(reverted, Reverted::Clean(Some(before.to_vec()))),
            Reverted::Merged(merged) => assert_ne!(merged, now),
            _ => {}
        }
        if before == after && kind == Kind::Page && now != before {
            assert_eq!(reverted, Reverted::Already, "there is nothing to take back");
        }
        revert(kind, None, Some(after), Some(now));
    }
}

/// An escaped text renders as itself; a rendered one keeps to its limit.
pub fn template(data: &[u8]) {
    let source = text(data);
    let escaped = templates::escape(&source);
    let back = templates::render(&escaped, |part| panic!("{part:?} of {escaped:?}"));
    assert_eq!(back.as_deref().ok(), Some(&*source), "{escaped:?}");
    let filled = templates::render_within(&source, 200, |_| Ok("{{x}}\\".into()));
    assert!(filled.is_ok_and(|filled| filled.len() <= 200) || source.len() > 20);
    templates::variables(&source);
    let length: usize = templates::parse(&source)
        .iter()
        .map(|part| match part {
            templates::Part::Text(text) => text.len(),
            templates::Part::Variable { whole, .. } | templates::Part::Note { whole, .. } => {
                whole.len()
            }
        })
        .sum();
    assert!(length <= source.len());
}
