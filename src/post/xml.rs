//! XML from elsewhere, before a tree is built of it. The parser of trees calls itself for each
//! element inside another, so enough of them would overflow the stack and end the process.

use xml::reader::{EventReader, ParserConfig, XmlEvent};

/// Elements inside each other. WebDAV needs six.
const MAX_DEPTH: usize = 64;

/// The events that the parser of trees gets: comments too, which a reader leaves out otherwise.
fn events(bytes: &[u8]) -> EventReader<&[u8]> {
    EventReader::new_with_config(bytes, ParserConfig::new().ignore_comments(false))
}

/// Whether no more than [`MAX_DEPTH`] elements are inside each other, as far as the text is XML.
/// The rest of a text that is none is never read by a parser.
pub fn is_shallow(bytes: &[u8]) -> bool {
    let mut depth = 0_usize;
    for event in events(bytes) {
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

/// How much an element named `name` directly below the first one weighs, as far as the text is XML:
/// nodes in it, itself included, and bytes of texts, names and attributes. Everything that takes
/// memory is a node: elements, attributes, texts, comments and instructions.
pub fn weight_of(bytes: &[u8], name: &str) -> (usize, usize) {
    let (mut depth, mut inside) = (0_usize, None);
    let (mut nodes, mut size) = (0, 0);
    for event in events(bytes) {
        match event {
            Ok(XmlEvent::StartElement { name: own, attributes, namespace }) => {
                if depth == 1 && own.local_name == name {
                    inside = Some(depth);
                }
                depth += 1;
                if inside.is_some() {
                    nodes += 1 + attributes.len();
                    let attributes = attributes.iter();
                    let attributes =
                        attributes.map(|one| one.name.local_name.len() + one.value.len());
                    let spaces = namespace.0.iter().map(|(prefix, uri)| prefix.len() + uri.len());
                    size += own.local_name.len() + attributes.sum::<usize>();
                    // Each element of a tree has those that hold for it.
                    size += spaces.sum::<usize>().saturating_sub(BUILT_IN);
                }
            }
            Ok(XmlEvent::EndElement { .. }) => {
                depth = depth.saturating_sub(1);
                inside = inside.filter(|outer| *outer < depth);
            }
            Ok(
                XmlEvent::Characters(text)
                | XmlEvent::CData(text)
                | XmlEvent::Whitespace(text)
                | XmlEvent::Comment(text),
            ) if inside.is_some() => {
                nodes += 1;
                size += text.len();
            }
            Ok(XmlEvent::ProcessingInstruction { name, data }) if inside.is_some() => {
                nodes += 1;
                size += name.len() + data.map_or(0, |data| data.len());
            }
            Ok(_) => {}
            Err(_) => break,
        }
    }
    (nodes, size)
}

/// Bytes of the namespaces that every document has.
const BUILT_IN: usize =
    "xmlhttp://www.w3.org/XML/1998/namespace".len() + "xmlnshttp://www.w3.org/2000/xmlns/".len();

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_element_is_weighed_with_all_in_it() {
        let weight = |text: &str| weight_of(text.as_bytes(), "owner");
        assert_eq!(weight("<l><scope>long</scope><owner>me</owner><type/></l>"), (2, 7));
        assert_eq!(weight("<l><owner><a b='c'/><a/>d</owner><type>e</type></l>"), (5, 10));
        let kinds = "<l><!--no--><owner><!--c--><?p i?><?p?><![CDATA[]]>\n<a/></owner></l>";
        assert_eq!(weight(kinds), (7, "owner".len() + "c".len() + "pi".len() + "p\na".len()));
        assert_eq!(weight("<l><scope><owner>no</owner></scope></l>"), (0, 0));
        let twice = "<!DOCTYPE l [<!ENTITY e \"<a/><a/>\">]><l><owner>&e;&e;</owner></l>";
        assert_eq!(weight(twice).0, 5);
        let (_, size) = weight("<l xmlns:a='urn:long'><owner><b/></owner></l>");
        assert_eq!(size, "owner".len() + "b".len() + 2 * "aurn:long".len());
    }

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
