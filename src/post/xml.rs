//! XML from elsewhere, before a tree is built of it. The parser of trees calls itself for each
//! element inside another, so enough of them would overflow the stack and end the process.

use xml::reader::{EventReader, XmlEvent};

/// Elements inside each other. WebDAV needs six.
const MAX_DEPTH: usize = 64;

/// Whether no more than [`MAX_DEPTH`] elements are inside each other, as far as the text is XML.
/// The rest of a text that is none is never read by a parser.
pub fn is_shallow(bytes: &[u8]) -> bool {
    let mut depth = 0_usize;
    for event in EventReader::new(bytes) {
        match event {
            Ok(XmlEvent::StartElement { .. }) => depth += 1,
            Ok(XmlEvent::EndElement { .. }) => depth = depth.saturating_sub(1),
            Ok(_) => {}
            Err(_) => break,
        }
        if depth > MAX_DEPTH {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_is_limited_in_every_disguise() {
        let nested = |depth: usize| format!("{}{}", "<a>".repeat(depth), "</a>".repeat(depth));
        let entity = format!("<!DOCTYPE r [<!ENTITY e \"{}\">]><r>&e;</r>", nested(100));
        let open = "<a>".repeat(20_000);
        let wide: Vec<u8> = "\u{feff}"
            .chars()
            .chain(nested(65).chars())
            .flat_map(|c| (c as u16).to_le_bytes())
            .collect();
        for (deep, what) in [
            (nested(65).as_bytes(), "nested"),
            (open.as_bytes(), "never closed"),
            (entity.as_bytes(), "behind an entity"),
            (wide.as_slice(), "in UTF-16"),
        ] {
            assert!(!is_shallow(deep), "{what}");
        }
        let many = format!("<r>{}</r>", "<a/>".repeat(10_000));
        for shallow in [nested(64), many, String::new(), "no XML".to_owned(), "<a><!-- <b>".into()]
        {
            assert!(is_shallow(shallow.as_bytes()), "{}", &shallow[..shallow.len().min(40)]);
        }
    }
}
