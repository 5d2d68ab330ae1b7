//! What a note points at: wiki-links, embeds, Markdown links, and the tags and block names that
//! others point at. Each with the bytes it stands in.

use std::ops::Range;

/// The page and the place in it that a link names.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct LinkTarget {
    /// As written, without fragment; empty for a place in the same note.
    pub path: String,
    /// `[[note#a#b]]` names heading `b` below `a`.
    pub heading: Vec<String>,
    /// `[[note#^id]]` names one block.
    pub block: Option<String>,
}

impl LinkTarget {
    /// Reads the inside of a wiki-link, before its `|`.
    pub fn wiki(text: &str) -> Self {
        // In a table the bar of an alias is escaped, and the backslash stays with the target.
        let text = text.trim().trim_end_matches('\\').trim_end();
        let mut parts = text.split('#');
        let path = parts.next().unwrap_or_default().trim().to_owned();
        let mut target = Self { path, ..Self::default() };
        for part in parts.map(str::trim).filter(|part| !part.is_empty()) {
            match part.strip_prefix('^') {
                Some(id) => target.block = Some(id.to_owned()),
                None => target.heading.push(part.to_owned()),
            }
        }
        target
    }

    /// Reads the address of a Markdown link; nothing when it leads out of the vault.
    pub fn address(url: &str) -> Option<Self> {
        if is_external(url) {
            return None;
        }
        let decode = |part: &str| {
            percent_encoding::percent_decode_str(part).decode_utf8_lossy().into_owned()
        };
        let (path, fragment) = url.split_once('#').unwrap_or((url, ""));
        let mut target = Self { path: decode(path), ..Self::default() };
        let fragment = decode(fragment);
        match fragment.strip_prefix('^') {
            Some(id) => target.block = Some(id.to_owned()),
            None if fragment.is_empty() => {}
            None => target.heading.push(fragment),
        }
        Some(target)
    }
}

/// Whether an address has a scheme or a host of its own.
pub fn is_external(url: &str) -> bool {
    if url.starts_with("//") {
        return true;
    }
    let scheme = url.split([':', '/', '?', '#']).next().unwrap_or_default();
    url[scheme.len()..].starts_with(':')
        && scheme.len() > 1
        && scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b"+.-".contains(&b))
}

/// How a link is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LinkKind {
    /// `[[note]]`
    Wiki,
    /// `![[note]]`
    Embed,
    /// `[text](address)`, in any of its forms
    Markdown,
    /// `![text](address)`
    Image,
}

/// A link, embed or image of a note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// How it is written.
    pub kind: LinkKind,
    /// The address as written.
    pub dest: String,
    /// The text a reader sees.
    pub text: String,
    /// In the source, brackets included.
    pub range: Range<usize>,
}

impl Link {
    /// The page it names, unless it leads out of the vault.
    pub fn target(&self) -> Option<LinkTarget> {
        match self.kind {
            LinkKind::Wiki | LinkKind::Embed => Some(LinkTarget::wiki(&self.dest)),
            LinkKind::Markdown | LinkKind::Image => LinkTarget::address(&self.dest),
        }
    }
}

/// `#project/notewell` in running text; `name` has no `#`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tag {
    /// Without the `#`.
    pub name: String,
    /// In the source.
    pub range: Range<usize>,
}

/// `^id` at the end of a block: the name that `[[note#^id]]` uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockId {
    /// Without the `^`.
    pub id: String,
    /// The block that it names.
    pub range: Range<usize>,
}

/// The tag whose `#` stands at `at`, if there is one.
pub fn tag_at(source: &str, at: usize) -> Option<Tag> {
    let before = source[..at].chars().next_back();
    if before.is_some_and(|c| c.is_alphanumeric() || "#/&\\_=?".contains(c)) {
        return None;
    }
    let rest = source[at..].strip_prefix('#')?;
    let end = rest.find(|c| !is_tag_char(c)).unwrap_or(rest.len());
    let name = rest[..end].trim_end_matches('/');
    let named = name.chars().any(|c| !c.is_ascii_digit() && c != '/' && c != '-');
    (named && !name.starts_with('/'))
        .then(|| Tag { name: name.to_owned(), range: at..at + 1 + name.len() })
}

fn is_tag_char(c: char) -> bool {
    match c {
        '_' | '-' | '/' => true,
        c if c.is_ascii() => c.is_ascii_alphanumeric(),
        '\u{80}'..='\u{bf}' | '\u{d7}' | '\u{f7}' => false,
        '\u{200d}' => true,
        '\u{2000}'..='\u{206f}' | '\u{2190}'..='\u{22ff}' => false,
        '\u{3000}'..='\u{3004}' | '\u{3008}'..='\u{3020}' | '\u{3030}' | '\u{30fb}' => false,
        '\u{ff01}'..='\u{ff0f}' | '\u{ff1a}'..='\u{ff20}' => false,
        '\u{ff3b}'..='\u{ff40}' | '\u{ff5b}'..='\u{ff65}' => false,
        c => !c.is_whitespace() && !c.is_control(),
    }
}

/// The block name at the end of a block's text, and where it starts.
pub fn block_id(text: &str) -> Option<(&str, usize)> {
    let at = text.rfind('^')?;
    let id = &text[at + 1..];
    let named = !id.is_empty() && id.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    let apart = at == 0 || text[..at].ends_with(char::is_whitespace);
    (named && apart).then_some((id, at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_has_page_heading_and_block() {
        let target = LinkTarget::wiki("Дневник/Май#Неделя 2#Среда");
        assert_eq!(target.path, "Дневник/Май");
        assert_eq!(target.heading, ["Неделя 2", "Среда"]);
        assert_eq!(LinkTarget::wiki("#節").path, "");
        assert_eq!(LinkTarget::wiki("note#^abc-1").block.as_deref(), Some("abc-1"));
        assert_eq!(LinkTarget::wiki("note\\").path, "note");
        let target = LinkTarget::address("../a%20b.md#c%20d").unwrap();
        assert_eq!((target.path.as_str(), target.heading), ("../a b.md", vec!["c d".to_owned()]));
    }

    #[test]
    fn an_address_with_a_scheme_leads_out() {
        for url in
            ["https://a.b/c", "mailto:a@b.c", "//host/x", "javascript:alert(1)", "obsidian://open"]
        {
            assert!(is_external(url) && LinkTarget::address(url).is_none(), "{url}");
        }
        for url in ["a.md", "#x", "a/b:c.md", "/a", "ノート.md", ""] {
            assert!(!is_external(url), "{url}");
        }
    }

    #[test]
    fn tags_are_unicode_and_nested() {
        for (text, expected) in [
            ("#tag", Some("tag")),
            ("#a/b/ x", Some("a/b")),
            ("#сон-2025, да", Some("сон-2025")),
            ("#日記。次", Some("日記")),
            ("#タグ、", Some("タグ")),
            ("#2025", None),
            ("#", None),
            ("# heading", None),
            ("#!x", None),
        ] {
            assert_eq!(tag_at(text, 0).map(|tag| tag.name).as_deref(), expected, "{text}");
        }
        assert_eq!(tag_at("C#x", 1), None);
        assert_eq!(tag_at("(#x)", 1).unwrap().range, 1..3);
    }

    #[test]
    fn a_block_name_ends_a_block() {
        assert_eq!(block_id("Text ^id-1"), Some(("id-1", 5)));
        assert_eq!(block_id("^id"), Some(("id", 0)));
        assert_eq!(block_id("2^8"), None);
        assert_eq!(block_id("Text ^id more"), None);
    }
}
