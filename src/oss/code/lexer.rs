//! Splits source text into words, numbers, strings and symbols, and drops comments.

use super::{Syntax, is_invisible};

/// Invisible characters in a row that no emoji and no script needs.
const DATA_RUN: usize = 8;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    pub line: u32,
    pub kind: TokenKind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TokenKind {
    Word(String),
    Number(String),
    /// A string literal with its escapes resolved.
    Text(String),
    Symbol(char),
}

impl Token {
    pub fn word(&self) -> Option<&str> {
        match &self.kind {
            TokenKind::Word(word) => Some(word),
            _ => None,
        }
    }

    pub fn is(&self, symbol: char) -> bool {
        self.kind == TokenKind::Symbol(symbol)
    }
}

#[derive(Default)]
pub struct Lexed {
    pub lines: Vec<String>,
    pub tokens: Vec<Token>,
    pub invisible_in_code: Option<u32>,
    pub invisible_data: Option<u32>,
}

pub fn lex(text: &str, syntax: Syntax) -> Lexed {
    let mut lexer = Lexer {
        rest: text.trim_start_matches('\u{feff}'),
        before: None,
        line: 1,
        syntax,
        out: Lexed::default(),
    };
    lexer.out.lines.push(String::new());
    while !lexer.rest.is_empty() {
        lexer.step();
    }
    lexer.out
}

/// Removes modules under `#[cfg(test)]`: they are compiled for tests only. Braces are matched by
/// tokens, so that nothing outside the module disappears with it.
pub fn drop_test_modules(lexed: &mut Lexed) {
    let attribute = ["#", "[", "cfg", "(", "test", ")", "]", "mod"];
    let fits = |token: &Token, expected: &str| match &token.kind {
        TokenKind::Word(word) => word == expected,
        TokenKind::Symbol(c) => expected.len() == 1 && expected.starts_with(*c),
        _ => false,
    };
    let mut from = 0;
    while let Some(start) = (from..lexed.tokens.len()).find(|start| {
        let rest = &lexed.tokens[*start..];
        rest.len() > attribute.len() + 2
            && attribute.iter().zip(rest).all(|(word, token)| fits(token, word))
    }) {
        let open = start + attribute.len() + 1;
        from = open;
        if !lexed.tokens[open].is('{') {
            continue;
        }
        let mut depth = 0_usize;
        let end = (open..lexed.tokens.len()).find(|at| {
            depth += usize::from(lexed.tokens[*at].is('{'));
            depth -= usize::from(lexed.tokens[*at].is('}') && depth > 0);
            depth == 0
        });
        let Some(end) = end else { continue };
        let (first, last) = (lexed.tokens[open].line as usize, lexed.tokens[end].line as usize);
        // The lines between the braces; what shares a line with a brace stays.
        for line in lexed.lines.iter_mut().take(last.saturating_sub(1)).skip(first) {
            line.clear();
        }
        lexed.tokens.drain(open + 1..end);
    }
}

struct Lexer<'a> {
    rest: &'a str,
    /// The character before `rest`.
    before: Option<char>,
    line: u32,
    syntax: Syntax,
    out: Lexed,
}

impl<'a> Lexer<'a> {
    fn step(&mut self) {
        if self.comment() || self.long_string() || self.regex() || self.string() {
            return;
        }
        let Some(c) = self.rest.chars().next() else { return };
        if c.is_alphabetic() || c == '_' || c == '$' {
            let word =
                self.take_while(|c| c.is_alphanumeric() || c == '_' || c == '$' || is_invisible(c));
            self.note_invisible(word);
            let word: String = word.chars().filter(|c| !is_invisible(*c)).collect();
            self.emit(&word);
            self.push(TokenKind::Word(word));
        } else if c.is_ascii_digit() {
            let number = self.take_while(|c| c.is_ascii_alphanumeric() || c == '_');
            self.emit(number);
            self.push(TokenKind::Number(number.to_owned()));
        } else if is_invisible(c) {
            let run = self.take_while(is_invisible);
            self.note_invisible(run);
        } else {
            self.advance(c.len_utf8());
            if c == '\n' {
                self.new_line();
                return;
            }
            let mut buffer = [0; 4];
            self.emit(c.encode_utf8(&mut buffer));
            if !c.is_whitespace() {
                self.push(TokenKind::Symbol(c));
            }
        }
    }

    /// Skips a comment, if one starts here.
    fn comment(&mut self) -> bool {
        if let Some((open, close)) = self.syntax.block_comment
            && let Some(inside) = self.rest.strip_prefix(open)
            // A comment without an end is none: code must not disappear behind it.
            && let Some(end) = inside.find(close)
        {
            let all = open.len() + end + close.len();
            self.skip_hidden(all);
            return true;
        }
        let starts = self.syntax.line_comments.iter().any(|start| {
            let joined = |c: char| c.is_alphanumeric() || "$\\{}'\"&=%-#".contains(c);
            self.rest.starts_with(start) && !(*start == "#" && self.before.is_some_and(joined))
        });
        if starts {
            let end = self.rest.find('\n').unwrap_or(self.rest.len());
            self.skip_hidden(end);
        }
        starts
    }

    /// Skips text that is no code, but notices invisible data in it.
    fn skip_hidden(&mut self, length: usize) {
        let skipped = &self.rest[..length];
        self.note_data(skipped);
        for _ in skipped.matches('\n') {
            self.new_line();
        }
        self.advance(length);
        self.before = Some(' ');
    }

    /// A string that may span lines.
    fn long_string(&mut self) -> bool {
        for quote in self.syntax.long_quotes {
            let Some(inside) = self.rest.strip_prefix(quote) else { continue };
            let Some(end) = find_unescaped(inside, quote) else { continue };
            let body = &inside[..end];
            let after = inside[end + quote.len()..].trim_start_matches([' ', '\t', '\r']);
            let statement = self.out.lines.last().is_some_and(|line| line.trim().is_empty());
            if self.syntax.docstrings && statement && (after.is_empty() || after.starts_with('\n'))
            {
                self.skip_hidden(end + 2 * quote.len());
                return true;
            }
            self.note_data(body);
            let start = self.line;
            for (at, part) in body.split('\n').enumerate() {
                if at > 0 {
                    self.new_line();
                }
                let part: String = part.chars().filter(|c| !is_invisible(*c)).collect();
                self.emit(&part);
            }
            let value = unescape(body);
            self.out.tokens.push(Token { line: start, kind: TokenKind::Text(value) });
            self.advance(end + 2 * quote.len());
            return true;
        }
        false
    }

    /// A string on one line. A quote that is not closed there is a symbol.
    fn string(&mut self) -> bool {
        let Some(quote) = self.rest.chars().next() else { return false };
        let single = quote == '\'' && self.syntax.quoted_char;
        if !single && !self.syntax.quotes.contains(&quote) {
            return false;
        }
        let inside = &self.rest[1..];
        let line_end = inside.find('\n').unwrap_or(inside.len());
        let mut buffer = [0; 4];
        let Some(end) = find_unescaped(&inside[..line_end], quote.encode_utf8(&mut buffer)) else {
            return false;
        };
        if single && end > 10 {
            return false;
        }
        let body = &inside[..end];
        self.note_data(body);
        let value = unescape(body);
        self.emit(&format!("{quote}{}{quote}", value.replace('\n', " ")));
        self.push(TokenKind::Text(value));
        self.advance(end + 2);
        true
    }

    /// A regular expression: its quotes and slashes mean nothing outside of it.
    fn regex(&mut self) -> bool {
        if !self.syntax.regex || !self.rest.starts_with('/') {
            return false;
        }
        let operand = self.out.tokens.last().is_some_and(|token| match &token.kind {
            TokenKind::Word(word) => {
                !matches!(word.as_str(), "return" | "typeof" | "case" | "in" | "of")
            }
            TokenKind::Symbol(c) => matches!(c, ')' | ']' | '}'),
            _ => true,
        });
        if operand {
            return false;
        }
        let (mut escaped, mut class) = (false, false);
        for (at, c) in self.rest.char_indices().skip(1) {
            match c {
                '\n' => return false,
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                '[' => class = true,
                ']' => class = false,
                '/' if !class => {
                    self.emit("/…/");
                    self.push(TokenKind::Symbol('/'));
                    self.advance(at + 1);
                    return true;
                }
                _ => {}
            }
        }
        false
    }

    fn take_while(&mut self, fits: impl Fn(char) -> bool) -> &'a str {
        let end = self.rest.find(|c| !fits(c)).unwrap_or(self.rest.len());
        let taken = &self.rest[..end];
        self.advance(end);
        taken
    }

    fn advance(&mut self, length: usize) {
        self.before = self.rest[..length].chars().next_back().or(self.before);
        self.rest = &self.rest[length..];
    }

    fn new_line(&mut self) {
        self.line += 1;
        self.out.lines.push(String::new());
    }

    fn emit(&mut self, text: &str) {
        if let Some(line) = self.out.lines.last_mut() {
            line.push_str(text);
        }
    }

    fn push(&mut self, kind: TokenKind) {
        self.out.tokens.push(Token { line: self.line, kind });
    }

    fn note_invisible(&mut self, text: &str) {
        if text.chars().any(is_invisible) {
            self.out.invisible_in_code.get_or_insert(self.line);
            self.note_data(text);
        }
    }

    fn note_data(&mut self, text: &str) {
        let (mut run, mut line) = (0, self.line);
        for c in text.chars() {
            run = if is_invisible(c) { run + 1 } else { 0 };
            if run >= DATA_RUN {
                self.out.invisible_data.get_or_insert(line);
            }
            line += u32::from(c == '\n');
        }
    }
}

/// Where a quote stands that no backslash precedes.
fn find_unescaped(text: &str, quote: &str) -> Option<usize> {
    let mut from = 0;
    while let Some(found) = text[from..].find(quote).map(|at| from + at) {
        let slashes = text[..found].bytes().rev().take_while(|byte| *byte == b'\\').count();
        if slashes % 2 == 0 {
            return Some(found);
        }
        from = found + quote.len();
    }
    None
}

/// Resolves the escapes that most languages share: `\n`, `\x2e`, `\u002e`, `\u{2e}`, `\056`.
fn unescape(text: &str) -> String {
    let mut value = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        value.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let Some(kind) = rest.chars().next() else { break };
        let after = &rest[kind.len_utf8()..];
        let coded = match kind {
            'x' => code(after, 2, 2, 16),
            'u' => match after.strip_prefix('{') {
                Some(inside) => inside.find('}').and_then(|end| {
                    let (c, length) = code(inside, 1, end.min(6), 16)?;
                    Some((c, length + 2))
                }),
                None => code(after, 4, 4, 16),
            },
            'U' => code(after, 8, 8, 16),
            '0'..='7' => code(rest, 2, 3, 8).map(|(c, length)| (c, length - 1)),
            _ => None,
        };
        match (coded, kind) {
            (Some((c, length)), _) => {
                value.extend(Some(c).filter(|c| !is_invisible(*c)));
                rest = &after[length..];
            }
            (None, 'n' | 'r') => {
                value.push('\n');
                rest = after;
            }
            (None, 't') => {
                value.push('\t');
                rest = after;
            }
            (None, _) => {
                value.push(kind);
                rest = after;
            }
        }
    }
    value.push_str(rest);
    value.retain(|c| !is_invisible(c));
    value
}

/// A character given by `least` to `most` digits, and how many digits it took.
fn code(text: &str, least: usize, most: usize, radix: u32) -> Option<(char, usize)> {
    let length = text.chars().take(most).take_while(|c| c.is_digit(radix)).count();
    if length < least {
        return None;
    }
    let c = char::from_u32(u32::from_str_radix(&text[..length], radix).ok()?)?;
    Some((c, length))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(name: &str, text: &str) -> Vec<String> {
        lex(text, Syntax::of(name, text)).lines
    }

    #[test]
    fn comments_are_dropped_and_strings_are_not() {
        let found = lines("a.js", "a('//x'); // curl\n/* curl\n curl */ b(\"/*\")\nc\n");
        assert_eq!(found[..4], ["a('//x'); ", "", " b(\"/*\")", "c"]);
        let found =
            lines("a.py", "\"\"\"reads id_rsa\n\"\"\"\nx = '#' # id_rsa\ny = \"\"\"kept\"\"\"\n");
        assert_eq!(found[2..4], ["x = '#' ", "y = kept"]);
        assert_eq!(lines("a.sh", "echo ${#x} # no\n")[0], "echo ${#x} ");
    }

    #[test]
    fn a_regular_expression_opens_no_comment() {
        let found = lines("a.js", "const a = /[/*]/; steal(); const b = /[*/]/;\n");
        assert!(found[0].contains("steal"), "{found:?}");
        let found = lines("a.js", "x = 1 /* never closed\nsteal()\n");
        assert!(found[1].contains("steal"), "{found:?}");
    }

    #[test]
    fn test_modules_are_dropped_and_nothing_else() {
        let text = "fn a() { keep(\"}\"); }\n#[cfg(test)]\nmod tests {\n    fn b() { drop(\"{\"); }\n    }\nfn evil() {\n    steal();\n}\n";
        let source = super::super::Source::parse(text, Syntax::of("a.rs", ""));
        let code = source.lines.join("\n");
        assert!(
            code.contains("keep") && code.contains("steal") && !code.contains("drop"),
            "{code}"
        );
        assert!(source.tokens.iter().any(|token| token.word() == Some("steal")));
        assert!(!source.tokens.iter().any(|token| token.word() == Some("drop")));
    }

    #[test]
    fn escapes_are_resolved() {
        assert_eq!(unescape(r"\x2es\u0073h\/id\137rsa\u{2e}"), ".ssh/id_rsa.");
        assert_eq!(unescape("日本\\"), "日本");
        assert_eq!(
            lines("a.rs", "fn a<'a>(x: &'a str) { b('\\n', \"it's\") }")[0].matches("it's").count(),
            1
        );
    }

    #[test]
    fn invisible_characters_do_not_split_words() {
        let lexed = lex("re\u{200b}quire('x')\n", Syntax::of("a.js", ""));
        assert_eq!(lexed.lines[0], "require('x')");
        assert_eq!(lexed.invisible_in_code, Some(1));
        let data = format!("x\nconst s = `{}`;\n", "\u{fe01}\u{e0101}".repeat(10));
        assert_eq!(lex(&data, Syntax::of("a.js", "")).invisible_data, Some(2));
        let emoji = lex("s = '👩\u{200d}👧\u{fe0f}'\n", Syntax::of("a.py", ""));
        assert_eq!((emoji.invisible_in_code, emoji.invisible_data), (None, None));
    }
}
