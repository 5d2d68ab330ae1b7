//! Lines of a text: their endings, the blank ones around a content, and what each begins.

use std::ops::Range;

use crate::markdown::blocks::Blocks;

/// The line ending that most lines of a text have; a line feed where there are none.
pub fn ending(text: &str) -> &'static str {
    let all = text.bytes().filter(|byte| *byte == b'\n').count();
    let crlf = text.matches("\r\n").count();
    if crlf > 0 && crlf * 2 >= all { "\r\n" } else { "\n" }
}

/// New text with the line endings of the file. Text that has carriage returns already knows.
pub fn convert(text: &str, ending: &str) -> String {
    match ending == "\n" || text.contains("\r\n") {
        true => text.to_owned(),
        false => text.replace('\n', ending),
    }
}

/// Whether two texts differ in nothing but line endings and blank lines around them.
pub fn same(a: &str, b: &str) -> bool {
    let lines = |text: &str| -> Vec<String> {
        trimmed(text).split('\n').map(|line| line.trim_end_matches('\r').to_owned()).collect()
    };
    lines(a) == lines(b)
}

/// A text without the blank lines at its beginning and the line ends at its end.
pub fn trimmed(text: &str) -> &str {
    &text[content(text)]
}

/// From the first line that is not blank to the last character of the last one that is not.
pub fn content(text: &str) -> Range<usize> {
    let (mut start, mut end, mut at) = (None, 0, 0);
    for line in text.split_inclusive('\n') {
        if !line.trim().is_empty() {
            start.get_or_insert(at);
            end = at + line.trim_end_matches(['\r', '\n']).len();
        }
        at += line.len();
    }
    start.map_or(0..0, |start| start..end)
}

/// The last line of a text, without its ending; empty after a line ending.
pub fn last_line(text: &str) -> &str {
    let text = text.strip_suffix('\n').map_or(text, |text| text.trim_end_matches('\r'));
    text.rsplit('\n').next().unwrap_or(text)
}

/// The byte after the line that ends at or goes on from `at`. To Markdown a bare carriage return
/// ends a line.
pub fn line_end(text: &str, at: usize) -> usize {
    let (before, rest) = text.split_at(at);
    if before.ends_with('\n') || (before.ends_with('\r') && !rest.starts_with('\n')) {
        return at;
    }
    rest.find(['\n', '\r'])
        .map_or(text.len(), |end| at + end + if rest[end..].starts_with("\r\n") { 2 } else { 1 })
}

/// The byte after the byte order mark, if there is one.
pub fn after_mark(text: &str) -> usize {
    if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 }
}

/// The number of the line that a byte is in, from 1.
pub fn line_number(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}

/// Whether the second line goes on with the block of the first: two list items, two rows of a
/// table, two lines of a quotation.
pub fn continues(line: &str, next: &str) -> bool {
    let next = next.lines().next().unwrap_or_default();
    match (kind(line), kind(next)) {
        (Some(a), Some(b)) => a == b,
        // The last line of an item may be a further line of it.
        (None, Some(Kind::Item)) => line.starts_with([' ', '\t']),
        _ => false,
    }
}

#[derive(PartialEq, Eq)]
enum Kind {
    Item,
    Row,
    Quote,
}

fn kind(line: &str) -> Option<Kind> {
    let line = line.trim_start();
    if line.starts_with('|') {
        return Some(Kind::Row);
    }
    if line.starts_with('>') {
        return Some(Kind::Quote);
    }
    let digits = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let numbered = digits.len() < line.len() && digits.starts_with([')', '.']);
    let after = if numbered { &digits[1..] } else { line.strip_prefix(['-', '*', '+'])? };
    let item = after.is_empty() || after.starts_with([' ', '\t']);
    item.then_some(Kind::Item)
}

/// Whether a text begins with a heading of this level or a higher one.
pub fn starts_with_heading(text: &str, level: u8) -> bool {
    let blocks = Blocks::read(text, 0, None);
    blocks.headings.first().is_some_and(|heading| heading.leads && heading.level <= level)
}
