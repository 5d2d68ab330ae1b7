//! The words of marked-up text: HTML without tags, callouts without marks.

use super::blocks::Blocks;
use crate::text::script;

/// The words of a Markdown text, one block a line: code, link texts, table cells and footnotes
/// kept, marks and tags gone. Frontmatter is not read.
pub fn plain(markdown: &str) -> String {
    let mut text = Blocks::read(markdown, 0, None).plain;
    text.truncate(text.trim_end().len());
    text
}

/// Characters that stand side by side without spaces: a line break between them is no space.
pub fn is_wide(c: char) -> bool {
    matches!(c, '\u{3000}'..='\u{303f}' | '\u{ff00}'..='\u{ffef}') || script::of(c).is_japanese()
}

/// The mark that makes a quote a callout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Callout {
    /// `note`, `warning`…, in lower case.
    pub kind: String,
    /// Bytes of the mark and the white space after it.
    pub len: usize,
}

/// Reads `[!note]-` at the beginning of a quote.
pub fn callout(text: &str) -> Option<Callout> {
    let rest = text.strip_prefix("[!")?;
    let (kind, rest) = rest.split_once(']')?;
    let word = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '|' | ' ');
    if kind.is_empty() || kind.len() > 60 || !kind.chars().all(word) {
        return None;
    }
    let rest = rest.strip_prefix(['+', '-']).unwrap_or(rest).trim_start();
    let kind = kind.split('|').next().unwrap_or(kind).trim().to_lowercase();
    Some(Callout { kind, len: text.len() - rest.len() })
}

/// Appends the text of an HTML fragment; scripts, styles and comments are left out whole.
pub fn strip_html(html: &str, out: &mut String) {
    let from = out.len();
    let mut rest = html;
    while let Some(at) = rest.find('<') {
        push_words(&rest[..at], from, out);
        rest = &rest[at..];
        let len = tag_len(rest);
        if len == 1 {
            out.push('<');
        } else {
            space(from, out);
        }
        rest = &rest[len..];
    }
    push_words(rest, from, out);
    out.truncate(out.trim_end().len().max(from));
}

/// The length of the tag, comment, script or lone `<` that `html` starts with.
fn tag_len(html: &str) -> usize {
    let until = |end: &str| html.find(end).map_or(html.len(), |at| at + end.len());
    if html.starts_with("<!--") {
        return until("-->");
    }
    let name_end =
        html[1..].find(|c: char| !c.is_ascii_alphanumeric()).map_or(html.len(), |at| at + 1);
    let name = &html[1..name_end];
    for hidden in ["script", "style"] {
        if name.eq_ignore_ascii_case(hidden) {
            let close = format!("</{hidden}");
            let bytes = html.as_bytes();
            let found = bytes
                .windows(close.len())
                .position(|part| part.eq_ignore_ascii_case(close.as_bytes()));
            return match found {
                Some(at) => at + html[at..].find('>').map_or(html.len() - at, |end| end + 1),
                None => html.len(),
            };
        }
    }
    let tag = !name.is_empty() || html[1..].starts_with(['/', '!', '?']);
    if tag { html.find('>').map_or(html.len(), |at| at + 1) } else { 1 }
}

fn space(from: usize, out: &mut String) {
    if out.len() > from && !out.ends_with(char::is_whitespace) {
        out.push(' ');
    }
}

/// Pushes text with its white space folded and the common entities read.
fn push_words(text: &str, from: usize, out: &mut String) {
    if text.starts_with(char::is_whitespace) {
        space(from, out);
    }
    let ends_apart = text.ends_with(char::is_whitespace);
    let mut words = text.split_whitespace().peekable();
    while let Some(word) = words.next() {
        push_entities(word, out);
        if words.peek().is_some() || ends_apart {
            out.push(' ');
        }
    }
}

fn push_entities(word: &str, out: &mut String) {
    const ENTITIES: [(&str, &str); 6] = [
        ("&amp;", "&"),
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&nbsp;", " "),
        ("&#39;", "'"),
    ];
    let mut rest = word;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let found =
            ENTITIES.iter().find_map(|(name, text)| Some((rest.strip_prefix(name)?, *text)));
        let (next, text) = found.unwrap_or((&rest[1..], "&"));
        out.push_str(text);
        rest = next;
    }
    out.push_str(rest);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_goes_and_words_stay() {
        for (markdown, expected) in [
            ("# A *b* `c`\n\nText **bold** ~~old~~ [link](x.md).", "A b c\nText bold old link."),
            ("[[Note|shown]] and [[Other]] ![[pic.png]]", "shown and Other pic.png"),
            ("> [!note]- Важно\n> Текст", "Важно Текст"),
            ("> [!tip]\n> 本文です\n> 続きます", "本文です続きます"),
            ("| a | b |\n|---|---|\n| 1 | 2 |", "a | b\n1 | 2"),
            ("Text[^1].\n\n[^1]: Сноска.", "Text.\nСноска."),
            ("```rust\nfn main() {}\n```", "fn main() {}"),
            ("<div class=x>Hi <b>there</b>&amp;<script>no()</script></div>", "Hi there &"),
            ("- [ ] task\n- [x] done\n  - deep", "task\ndone\ndeep"),
            ("$e = mc^2$ and a^2", "e = mc^2 and a^2"),
            ("日本語の\n改行 English\n改行", "日本語の改行 English 改行"),
            ("One\ntwo  \nthree<br>four", "One two\nthree four"),
            ("Text ^block-1", "Text"),
            ("a <!-- hidden --> b", "a  b"),
        ] {
            assert_eq!(plain(markdown), expected, "{markdown:?}");
        }
    }

    #[test]
    fn html_is_stripped_even_when_broken() {
        for (html, expected) in [
            ("<p>a<br>b</p>", "a b"),
            ("1 < 2", "1 < 2"),
            ("<style>x</style>y", "y"),
            ("<script>forever", ""),
            ("<", "<"),
            ("a &unknown; b", "a &unknown; b"),
        ] {
            let mut out = String::new();
            strip_html(html, &mut out);
            assert_eq!(out, expected, "{html:?}");
        }
    }
}
