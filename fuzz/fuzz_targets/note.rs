//! No text makes the reader of notes panic, and what it finds is where it says.

#![no_main]

use libfuzzer_sys::fuzz_target;
use notewell::markdown::{self, LinkTarget, Note};

fuzz_target!(|text: &str| {
    let note = Note::parse(text, "name");
    let sections = note.outline.sections();
    let joined: String = sections.iter().map(|section| &text[section.own.clone()]).collect();
    assert_eq!(joined, text, "sections are the note");
    for (index, section) in sections.iter().enumerate().skip(1) {
        let path = note.outline.path(index);
        let found = note.outline.find(&path).expect("a section's own path leads to it");
        assert_eq!(found.range, section.range);
    }
    let mut end = 0;
    for chunk in note.chunks() {
        assert!(chunk.range.start >= end && chunk.range.end <= text.len());
        end = chunk.range.end;
        let window = note.window(text, chunk.range.clone(), 20);
        assert!(window.range.start <= chunk.range.start && window.range.end >= chunk.range.end);
        let html = note.html(&window.markdown, &|_: &LinkTarget| None);
        assert!(!html.contains("<script"));
    }
    for link in note.links() {
        assert!(text.get(link.range.clone()).is_some());
        let _ = link.target();
    }
    markdown::count(text);
    markdown::set_field(text, "title", &"x".into());
});
