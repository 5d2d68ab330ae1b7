//! Where the links of a note stand in its text, byte by byte, so that one can be pointed elsewhere.

use std::ops::Range;

use percent_encoding::{AsciiSet, CONTROLS, NON_ALPHANUMERIC, percent_decode_str};
use pulldown_cmark::{Event, LinkType, Parser, Tag};

use crate::markdown::{
    blocks::dialect,
    frontmatter,
    links::{LinkTarget, is_external},
};

/// How the path of a link is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkForm {
    /// `[[path]]`, `![[path]]`
    Wiki,
    /// `[text](path)`, `![text](path)`, `[label]: path`
    Address,
    /// `[text](<path>)`
    Angled,
}

/// The path of one link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkPlace {
    /// How the link is written.
    pub form: LinkForm,
    /// Decoded, without fragment; never empty.
    pub path: String,
    /// The bytes of the path, as they are written.
    pub range: Range<usize>,
    /// `[[note|alias]]`: the link shows a text of its own.
    pub has_text: bool,
}

/// The links of a note that name a path in the vault, in the order of the text. Code has none.
pub fn link_places(text: &str) -> Vec<LinkPlace> {
    let split = frontmatter::split(text);
    let body = split.body;
    let parser = Parser::new_ext(&text[body..], dialect());
    let mut places = split.yaml.map(|yaml| in_properties(text, yaml)).unwrap_or_default();
    for (_, definition) in parser.reference_definitions().iter() {
        let span = definition.span.start + body..definition.span.end + body;
        if let Some(at) = text[span.clone()].find("]:") {
            places.extend(address_at(text, span.start + at + 2, span.end));
        }
    }
    for (event, range) in parser.into_offset_iter() {
        let Event::Start(
            Tag::Link { link_type, dest_url, .. } | Tag::Image { link_type, dest_url, .. },
        ) = event
        else {
            continue;
        };
        let range = range.start + body..range.end + body;
        match link_type {
            LinkType::WikiLink { has_pothole } => {
                places.extend(wiki(text, range, has_pothole));
            }
            LinkType::Inline => places.extend(inline(text, range, &dest_url)),
            _ => {}
        }
    }
    places.sort_by_key(|place| place.range.start);
    let mut end = 0;
    places.retain(|place| {
        let is_apart = place.range.start >= end;
        end = end.max(place.range.end);
        is_apart
    });
    places
}

/// Puts new paths in the place of old ones. Every other byte stays.
pub fn rewrite_links(text: &str, paths: &[(&LinkPlace, String)]) -> String {
    let mut new = String::with_capacity(text.len());
    let mut at = 0;
    for (place, path) in paths {
        new.push_str(&text[at..place.range.start]);
        new.push_str(&place.written(path, &text[place.range.clone()]));
        at = place.range.end;
    }
    new.push_str(&text[at..]);
    new
}

impl LinkPlace {
    /// A path in the form of this link, escaped in the manner of the one before.
    fn written(&self, path: &str, before: &str) -> String {
        /// What ends an address or means something else in it.
        const ADDRESS: AsciiSet = CONTROLS
            .add(b' ')
            .add(b'%')
            .add(b'#')
            .add(b'?')
            .add(b'(')
            .add(b')')
            .add(b'<')
            .add(b'>')
            .add(b'"')
            .add(b'\\');
        const ALL: AsciiSet =
            NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'_').remove(b'.').remove(b'~');
        const ANGLED: AsciiSet =
            CONTROLS.add(b'%').add(b'#').add(b'?').add(b'<').add(b'>').add(b'\\');
        let encode = |set: &'static AsciiSet| match before.bytes().all(|byte| byte.is_ascii()) {
            // A path that was escaped throughout stays so; one that was not keeps its letters.
            true if before.contains('%') && !self.path.is_ascii() => {
                percent_encoding::utf8_percent_encode(path, &ALL).to_string()
            }
            _ => path
                .split_inclusive(|c: char| !c.is_ascii())
                .map(|part| {
                    let letters = part.find(|c: char| !c.is_ascii()).unwrap_or(part.len());
                    let escaped = percent_encoding::utf8_percent_encode(&part[..letters], set);
                    format!("{escaped}{}", &part[letters..])
                })
                .collect(),
        };
        match self.form {
            LinkForm::Wiki => path.to_owned(),
            LinkForm::Address => encode(&ADDRESS),
            LinkForm::Angled => encode(&ANGLED),
        }
    }
}

/// Wiki-links in quoted values of the frontmatter, as Obsidian writes them: `up: "[[Note]]"`.
fn in_properties(text: &str, yaml: Range<usize>) -> Vec<LinkPlace> {
    let mut places = Vec::new();
    let mut start = yaml.start;
    for line in text[yaml].split_inclusive('\n') {
        let mut from = 0;
        while let Some(length) = line[from..].find("]]") {
            let end = from + length + "]]".len();
            // The nearest opening; without quotes before it, it is a list in a list.
            if let Some(open) = line[from..end].rfind("[[").map(|open| from + open)
                && line[..open].contains(['"', '\''])
            {
                let range = start + open..start + end;
                let has_text = text[range.clone()].contains('|');
                places.extend(wiki(text, range, has_text));
            }
            from = end;
        }
        start += line.len();
    }
    places
}

fn wiki(text: &str, range: Range<usize>, has_text: bool) -> Option<LinkPlace> {
    let open = range.start + text[range.clone()].find("[[")? + 2;
    let inner = &text[open..range.end];
    let end = inner.find(['#', '|', ']']).unwrap_or(inner.len());
    let written = inner[..end].trim_end_matches('\\');
    let path = written.trim();
    let start = open + (written.len() - written.trim_start().len());
    (!path.is_empty() && LinkTarget::wiki(path).path == path).then(|| LinkPlace {
        form: LinkForm::Wiki,
        path: path.to_owned(),
        range: start..start + path.len(),
        has_text,
    })
}

/// The address of an inline link: behind the `](` from which the rest reads as the link's end.
fn inline(text: &str, range: Range<usize>, dest: &str) -> Option<LinkPlace> {
    let source = &text[range.clone()];
    source.match_indices("](").find_map(|(at, _)| {
        let start = range.start + at + 2;
        let raw = raw_address(text, start, range.end)?;
        let behind = text[raw.end..range.end].trim_start_matches('>').trim();
        let ends = behind == ")" || (behind.ends_with(')') && behind.starts_with(['"', '\'', '(']));
        (ends && unescape(&text[raw]) == dest).then(|| address_at(text, start, range.end)).flatten()
    })
}

/// The path of the address that starts here, unless it leads out of the vault.
fn address_at(text: &str, start: usize, end: usize) -> Option<LinkPlace> {
    let raw = raw_address(text, start, end)?;
    let written = &text[raw.clone()];
    if is_external(&unescape(written)) {
        return None;
    }
    let cut = written.find(['#', '?']).unwrap_or(written.len());
    let path = percent_decode_str(&unescape(&written[..cut])).decode_utf8_lossy().into_owned();
    let angled = text[..raw.start].ends_with('<');
    (!path.is_empty()).then(|| LinkPlace {
        form: if angled { LinkForm::Angled } else { LinkForm::Address },
        path,
        range: raw.start..raw.start + cut,
        has_text: true,
    })
}

/// The bytes of an address, without the angles around it.
fn raw_address(text: &str, start: usize, end: usize) -> Option<Range<usize>> {
    let part = &text[start..end];
    let start = start + (part.len() - part.trim_start().len());
    let part = &text[start..end];
    let angled = part.starts_with('<');
    let from = usize::from(angled);
    let (mut depth, mut escaped) = (0usize, false);
    for (at, c) in part[from..].char_indices() {
        let stop = match c {
            _ if escaped => {
                escaped = false;
                continue;
            }
            '\\' => {
                escaped = true;
                false
            }
            '>' => angled,
            '(' if !angled => {
                depth += 1;
                false
            }
            ')' if !angled => {
                depth = match depth.checked_sub(1) {
                    Some(depth) => depth,
                    None => return Some(start + from..start + from + at),
                };
                false
            }
            '\n' if angled => return None,
            c => !angled && c.is_whitespace(),
        };
        if stop {
            return Some(start + from..start + from + at);
        }
    }
    (!angled).then(|| start + from..end)
}

fn unescape(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '\\' || !chars.peek().is_some_and(char::is_ascii_punctuation) {
            plain.push(c);
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_a_link_has_its_place() {
        let text = "---\nup: \"[[Верх|в]]\"\nlist: [[a], [b]]\n---\n[[Заметка#Раздел|тут]] ![[a/図.md]] [[t\\|u]] [x](a%20b.md#c) [y](<a b.md> \"t\") ![i](../i.png)\n\n[![in](p.png)](q.md) [r][def] [self](#h) [[#h]] <https://x.y> [z](https://a.b) `[[code]]`\n\n[def]: ../r.md \"t\"\n\n| a |\n|--|\n| [[cell\\|u]] |\n\n[esc](a\\(b.md) [par](a(1).md)\n";
        let places = link_places(text);
        let seen: Vec<(&str, &str)> =
            places.iter().map(|place| (place.path.as_str(), &text[place.range.clone()])).collect();
        assert_eq!(
            seen,
            [
                ("Верх", "Верх"),
                ("Заметка", "Заметка"),
                ("a/図.md", "a/図.md"),
                ("t", "t"),
                ("a b.md", "a%20b.md"),
                ("a b.md", "a b.md"),
                ("../i.png", "../i.png"),
                ("p.png", "p.png"),
                ("q.md", "q.md"),
                ("../r.md", "../r.md"),
                ("cell", "cell"),
                ("a(b.md", "a\\(b.md"),
                ("a(1).md", "a(1).md"),
            ]
        );
    }

    #[test]
    fn a_link_of_a_property_starts_at_the_nearest_opening() {
        let text = "---\nup: \"[[a [[b]] [[[c]]\" ]] [[d\n---\n";
        let places = link_places(text);
        let seen: Vec<&str> = places.iter().map(|place| place.path.as_str()).collect();
        assert_eq!(seen, ["b", "c"]);
        let moved: Vec<_> = places.iter().map(|place| (place, "x".to_owned())).collect();
        let rewritten = text.replace("[[b]]", "[[x]]").replace("[[c]]", "[[x]]");
        assert_eq!(rewrite_links(text, &moved), rewritten);
    }

    #[test]
    fn a_link_is_rewritten_in_its_own_form() {
        let text = "[[Old#h|a]] [x](Old%20one.md#h) [y](<Old one.md>) [ж](%D0%B6.md) [z](Old.md)\n";
        let places = link_places(text);
        let new = "новое/n (1)".to_owned();
        let paths: Vec<(&LinkPlace, String)> =
            places.iter().map(|place| (place, new.clone())).collect();
        assert_eq!(
            rewrite_links(text, &paths),
            "[[новое/n (1)#h|a]] [x](новое/n%20%281%29#h) [y](<новое/n (1)>) [ж](%D0%BD%D0%BE%D0%B2%D0%BE%D0%B5/n%20%281%29) [z](новое/n%20%281%29)\n"
        );
    }

    proptest::proptest! {
        #[test]
        fn a_path_that_is_written_reads_back(
            name in "[a-zа-яあ-ん0-9 ()%,'&+=!-]{1,12}",
            form in 0usize..3,
        ) {
            let name = name.trim();
            proptest::prop_assume!(!name.is_empty());
            let text = ["[[x]]", "[t](x)", "[t](<x>)"][form];
            let places = link_places(text);
            let changed = rewrite_links(text, &[(&places[0], name.to_owned())]);
            let again = link_places(&changed);
            proptest::prop_assert_eq!(again.len(), 1, "{}", &changed);
            proptest::prop_assert_eq!(&again[0].path, name);
        }
    }
}
