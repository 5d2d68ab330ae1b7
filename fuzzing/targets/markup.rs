//! Markdown to HTML: whatever a note holds, nothing in its HTML acts.

use notewell::markdown::{
    Embedded, LinkTarget, Note, Resolve,
    html::{page::preview, sanitise},
    render,
};

use super::{text, turns};

/// A vault where most links lead somewhere and every embed shows the same note.
struct Vault<'a>(&'a str);

impl Resolve for Vault<'_> {
    fn link(&self, target: &LinkTarget) -> Option<String> {
        (!target.path.len().is_multiple_of(3)).then(|| format!("/p/{}", target.path))
    }

    fn embed(&self, target: &LinkTarget) -> Option<Embedded> {
        match target.path.len() % 3 {
            0 => None,
            1 => Some(Embedded::Markdown(self.0.to_owned())),
            _ => Some(Embedded::Image(target.path.clone())),
        }
    }

    fn limit(&self) -> usize {
        1 << 20
    }
}

/// Text, page and section of a note are safe to show, and so is any text that was sanitised.
pub fn html(data: &[u8]) {
    let source = text(data);
    let vault = Vault(&source);
    for turn in turns(data, 4) {
        match turn {
            0 => {
                let html = render(&source, &vault).expect("a small note");
                check(&html);
                check(&sanitise(&html));
            }
            1 => check(&sanitise(&source)),
            2 => {
                let note = Note::parse(&source, "t");
                check(&note.page(&source, &vault).expect("a small note"));
            }
            _ => {
                let note = Note::parse(&source, "t");
                for section in note.outline.sections().iter().take(2) {
                    let part = note.section(&source, section);
                    check(&note.html(part, &vault).expect("a small note"));
                }
            }
        }
    }
}

/// A formula becomes MathML of known elements, or stays text.
pub fn math(data: &[u8]) {
    let formula = text(data).replace('$', "");
    let vault = Vault("");
    check(&preview(&format!("$${formula}$$\n\n${formula}$"), &vault).expect("a small note"));
}

const FORBIDDEN: [&str; 20] = [
    "script", "style", "iframe", "form", "object", "embed", "svg", "link", "meta", "base",
    "template", "button", "textarea", "select", "frame", "frameset", "applet", "audio", "video",
    "noscript",
];

/// Reads HTML tag by tag, and fails on what could act.
fn check(html: &str) {
    let mut rest = html;
    while let Some(at) = rest.find('<') {
        rest = &rest[at + 1..];
        if let Some(end) = rest.strip_prefix('/') {
            let (name, after) = end.split_once('>').unwrap_or_else(|| panic!("open tag: {html}"));
            assert!(name.chars().all(|c| c.is_ascii_alphanumeric()), "{name:?} in {html}");
            rest = after;
            continue;
        }
        let length = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
        let name = rest[..length].to_ascii_lowercase();
        assert!(!name.is_empty(), "a bare `<` in {html}");
        assert!(!FORBIDDEN.contains(&name.as_str()), "{name} in {html}");
        rest = &rest[length..];
        loop {
            rest = rest.trim_start();
            if let Some(after) = rest.strip_prefix("/>").or_else(|| rest.strip_prefix('>')) {
                rest = after;
                break;
            }
            let (attribute, after) =
                rest.split_once("=\"").unwrap_or_else(|| panic!("{rest:?} in {html}"));
            let (value, after) =
                after.split_once('"').unwrap_or_else(|| panic!("{rest:?} in {html}"));
            attributes(&name, attribute, value, html);
            rest = after;
        }
    }
}

fn attributes(element: &str, name: &str, value: &str, html: &str) {
    let name = name.to_ascii_lowercase();
    assert!(name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-'), "{name:?} in {html}");
    assert!(!name.starts_with("on"), "{name} in {html}");
    // MathML has a few styles of its own.
    let is_math = element.starts_with('m') && element != "map" && element != "mark";
    assert!(is_math || !matches!(name.as_str(), "style" | "srcdoc" | "formaction"), "{html}");
    if matches!(name.as_str(), "href" | "src" | "cite" | "xlink:href" | "action") {
        // As browsers read it: line ends and tabs count for nothing, nor does what stands before.
        let address = value.replace(['\t', '\n', '\r'], "").to_ascii_lowercase();
        let address = address.trim_start_matches(|c: char| c <= ' ');
        for scheme in ["javascript:", "vbscript:", "data:text", "data:application"] {
            assert!(!address.starts_with(scheme), "{value} in {html}");
        }
    }
}
