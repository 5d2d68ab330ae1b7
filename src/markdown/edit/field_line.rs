//! The line of a frontmatter field: its key and its comment.

use std::borrow::Cow;

/// The key of a line, as it is written.
pub fn written_key(line: &str) -> Option<&str> {
    if line.starts_with([' ', '\t', '-', '#']) {
        return None;
    }
    let ends = |at: usize| line[at + 1..].chars().next().is_none_or(char::is_whitespace);
    let after = match line.chars().next()? {
        quote @ ('"' | '\'') => quoted(line, quote)?,
        _ => 0,
    };
    let (colon, _) = line[after..].match_indices(':').find(|(at, _)| ends(after + at))?;
    let key = line[..after + colon].trim_end();
    (after == 0 || key.len() <= after).then_some(key)
}

/// Where a quoted text at the start of a line ends.
fn quoted(line: &str, quote: char) -> Option<usize> {
    let mut escaped = false;
    let mut characters = line.char_indices().skip(1).peekable();
    while let Some((at, c)) = characters.next() {
        match c {
            _ if escaped => escaped = false,
            '\\' if quote == '"' => escaped = true,
            '\'' if quote == c => match characters.peek() {
                Some((_, '\'')) => escaped = true,
                _ => return Some(at + 1),
            },
            c if c == quote => return Some(at + 1),
            _ => {}
        }
    }
    None
}

/// The key that is written like this.
pub fn name(written: &str) -> Cow<'_, str> {
    let inside =
        |quote: char| written.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
    if let Some(text) = inside('\'') {
        return text.replace("''", "'").into();
    }
    match inside('"') {
        // A YAML double-quoted scalar is a JSON string but for a few rare escapes.
        Some(text) => serde_json::from_str(written).map_or(Cow::Borrowed(text), Cow::Owned),
        None => Cow::Borrowed(written),
    }
}

/// ` # …` after the value of a line. Quotes count where a value can start: elsewhere they are text.
pub fn comment(line: &str) -> &str {
    let Some(key) = written_key(line) else { return "" };
    let Some(colon) = line[key.len()..].find(':') else { return "" };
    let value = &line[key.len() + colon + 1..];
    let first = value.trim_start().chars().next();
    // The header of a block, and an anchor or a tag before quotes: too hard to be sure.
    if matches!(first, Some('|' | '>'))
        || (matches!(first, Some('&' | '!')) && value.contains(['"', '\'']))
    {
        return "";
    }
    let is_flow = matches!(first, Some('[' | '{'));
    let (mut at, mut may_start, mut after_space) = (0, true, false);
    while let Some(c) = value[at..].chars().next() {
        match c {
            '#' if after_space => return value[at..].trim_end(),
            '"' | '\'' if may_start => match quoted(&value[at..], c) {
                Some(end) => {
                    at += end;
                    (may_start, after_space) = (false, false);
                    continue;
                }
                None => return "",
            },
            _ => {}
        }
        after_space = c.is_whitespace();
        may_start = (may_start && after_space) || (is_flow && matches!(c, '[' | '{' | ',' | ':'));
        at += c.len_utf8();
    }
    ""
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_stands_behind_the_value() {
        for (line, found) in [
            ("a: b # c", "# c"),
            ("a: # c", "# c"),
            ("a: it's # c", "# c"),
            ("a: \"b # no\" # c", "# c"),
            ("a: ['b # no', c\"d] # c", "# c"),
            ("\"a: b\": 'it''s # no'", ""),
            ("a: b#c", ""),
            ("a: \"b # no", ""),
            ("a: | # c", ""),
            ("a: &x \"b # no\"", ""),
        ] {
            assert_eq!(comment(line), found, "{line}");
        }
    }
}
