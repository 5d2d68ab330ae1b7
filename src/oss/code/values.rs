//! Resolves string values: joins pieces that operators or calls put together, and decodes them.

use std::collections::HashMap;

use super::{Token, TokenKind, decode};

/// Pieces that one value may be joined from.
const MAX_PIECES: usize = 64;
/// Character codes that spell a word and not a chance.
const MIN_CODES: usize = 5;
/// Values kept of one file. Tables of data have more; code has not.
const MAX_VALUES: usize = 50_000;

/// A string value and the line where it starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextValue {
    pub line: u32,
    pub text: String,
    pub disguise: Disguise,
}

/// How a value is written in the source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disguise {
    /// As a literal.
    Plain,
    /// In pieces, joined by an operator or a call. Ordinary for paths.
    Joined,
    Base64,
    Hex,
    Percent,
    Reversed,
    Rot13,
    CharacterCodes,
}

impl Disguise {
    /// Whether nobody writes a value this way by convenience.
    pub fn hides(self) -> bool {
        !matches!(self, Self::Plain | Self::Joined | Self::Percent)
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Joined => "put together from pieces",
            Self::Base64 => "encoded as base64",
            Self::Hex => "encoded as hex",
            Self::Percent => "percent-encoded",
            Self::Reversed => "written backwards",
            Self::Rot13 => "encoded as ROT13",
            Self::CharacterCodes => "spelled as character codes",
        }
    }
}

/// Every string value of a token stream.
pub fn resolve(tokens: &[Token]) -> Vec<TextValue> {
    let mut resolver = Resolver::default();
    for (at, token) in tokens.iter().enumerate() {
        resolver.codes(token);
        resolver.take(tokens, at);
        if resolver.found.len() > MAX_VALUES {
            break;
        }
    }
    resolver.flush();
    resolver.flush_codes();
    resolver.found
}

/// Words between pieces that put them together.
const JOINING: &[&str] = &[
    "join",
    "concat",
    "push",
    "append",
    "path",
    "Path",
    "os",
    "String",
    "resolve",
    "into",
    "to_string",
    "to_owned",
    "as_str",
    "strings",
    "Join",
    "filepath",
    "joinpath",
    "add",
    "b",
    "r",
    "f",
    "u",
    "rb",
];

#[derive(Default)]
struct Resolver {
    found: Vec<TextValue>,
    /// Variables that were given a string, so far.
    constants: HashMap<String, String>,
    /// The pieces of the current value, each with what joins it to the one before.
    pieces: Vec<(&'static str, String)>,
    line: u32,
    /// The variable that the current value is assigned to.
    target: Option<String>,
    glue: Glue,
    codes: Vec<u32>,
    codes_line: u32,
}

/// What stood between the last piece and now.
#[derive(Default, Clone, Copy)]
struct Glue {
    /// A comma, a slash or a joining call: the parts of a path.
    path: bool,
    /// The last symbol was an operator that expects another piece.
    open: bool,
}

impl Resolver {
    fn take(&mut self, tokens: &[Token], at: usize) {
        match &tokens[at].kind {
            TokenKind::Text(text) => self.piece(tokens, at, text.clone()),
            TokenKind::Word(word) => {
                if let Some(value) = self.constants.get(word).cloned() {
                    self.piece(tokens, at, value);
                } else if JOINING.contains(&word.as_str()) {
                    self.glue.path |= !matches!(
                        word.as_str(),
                        "concat" | "String" | "b" | "r" | "f" | "u" | "rb"
                    );
                } else if !self.pieces.is_empty() && self.glue.open {
                    // An unknown part of a path, such as the separator.
                    self.glue.path = true;
                } else {
                    self.flush();
                }
            }
            TokenKind::Number(_) => self.flush(),
            TokenKind::Symbol(c) => match c {
                '+' => self.glue.open = true,
                ',' | '/' => self.glue = Glue { path: true, open: true },
                '.' | '(' | ')' | '[' | ']' | '!' | '&' => {}
                _ => self.flush(),
            },
        }
    }

    fn piece(&mut self, tokens: &[Token], at: usize, text: String) {
        if self.pieces.is_empty() {
            self.line = tokens[at].line;
            self.target = assigned(tokens, at);
        } else if self.pieces.len() >= MAX_PIECES {
            self.flush();
            self.line = tokens[at].line;
        }
        let joint = if self.glue.path && !self.pieces.is_empty() { "/" } else { "" };
        if let TokenKind::Text(text) = &tokens[at].kind {
            self.add(tokens[at].line, text, Disguise::Plain);
        }
        self.pieces.push((joint, text));
        self.glue = Glue::default();
    }

    /// Ends the current value.
    fn flush(&mut self) {
        self.glue = Glue::default();
        let pieces = std::mem::take(&mut self.pieces);
        let target = self.target.take();
        if pieces.is_empty() {
            return;
        }
        let plain: String = pieces.iter().map(|(_, text)| text.as_str()).collect();
        if pieces.len() > 1 {
            let path: String =
                pieces.iter().flat_map(|(joint, text)| [*joint, text.as_str()]).collect();
            let line = self.line;
            self.add(line, &plain, Disguise::Joined);
            if path != plain {
                self.add(line, &path, Disguise::Joined);
            }
        }
        if let Some(target) = target {
            self.constants.insert(target, plain);
        }
    }

    fn add(&mut self, line: u32, text: &str, disguise: Disguise) {
        self.found.push(TextValue { line, text: text.to_owned(), disguise });
        for (outer, once) in decode::decoded(text) {
            // Encoders are stacked: base64 of a reversed string is still a disguise. Reversing twice
            // is none.
            if matches!(outer, Disguise::Base64 | Disguise::Hex | Disguise::Reversed) {
                for (_, twice) in decode::decoded(&once) {
                    if twice != text && decode::is_telling(&twice) {
                        self.found.push(TextValue { line, text: twice, disguise: outer });
                    }
                }
            }
            if decode::is_telling(&once) {
                self.found.push(TextValue { line, text: once, disguise: outer });
            }
        }
    }

    /// Collects character codes: `[104, 116]`, `chr(104) + chr(116)`, `fromCharCode(104, 116)`.
    fn codes(&mut self, token: &Token) {
        match &token.kind {
            TokenKind::Number(number) => {
                let digits = number.trim_end_matches("u8");
                let code = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
                    Some(digits) => u32::from_str_radix(digits, 16).ok(),
                    None => digits.parse().ok(),
                };
                match code.filter(|code| (9..127).contains(code)) {
                    Some(code) => {
                        if self.codes.is_empty() {
                            self.codes_line = token.line;
                        }
                        self.codes.push(code);
                    }
                    None => self.flush_codes(),
                }
            }
            TokenKind::Symbol(',' | '+' | '(' | ')' | '[' | ']' | '.') => {}
            TokenKind::Word(word)
                if matches!(
                    word.as_str(),
                    "chr" | "String" | "fromCharCode" | "char" | "Chr" | "byte"
                ) => {}
            _ => self.flush_codes(),
        }
    }

    fn flush_codes(&mut self) {
        let codes = std::mem::take(&mut self.codes);
        if codes.len() >= MIN_CODES
            && let Some(text) = decode::characters(&codes)
        {
            let line = self.codes_line;
            for (_, twice) in decode::decoded(&text) {
                self.found.push(TextValue {
                    line,
                    text: twice,
                    disguise: Disguise::CharacterCodes,
                });
            }
            self.found.push(TextValue { line, text, disguise: Disguise::CharacterCodes });
        }
    }
}

/// The variable that the value at `at` is assigned to: `name = "…"`, `name: &str = "…"`.
fn assigned(tokens: &[Token], at: usize) -> Option<String> {
    let mut before = tokens[..at].iter().rev();
    let mut sign = before.next()?;
    if sign.is('(') || sign.is('[') {
        sign = before.next()?;
    }
    if !sign.is('=') {
        return None;
    }
    before
        .take(6)
        .find_map(|token| token.word().filter(|word| !matches!(*word, "str" | "string" | "String")))
        .map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::{
        super::{Source, Syntax},
        *,
    };

    fn has(name: &str, code: &str, value: &str) -> Option<Disguise> {
        let source = Source::parse(code, Syntax::of(name, code));
        source.texts.iter().find(|found| found.text == value).map(|found| found.disguise)
    }

    #[test]
    fn pieces_are_joined() {
        for (name, code, value) in [
            ("a.js", "read(home + '/.s' + 'sh' + sep + 'id_rsa')", "/.ssh/id_rsa"),
            ("a.js", "path.join(os.homedir(), '.ssh', 'id_rsa')", ".ssh/id_rsa"),
            ("a.js", "const d = ['.s', 'sh'].join('')", ".ssh"),
            ("a.js", "const a = '.s';\nconst b = 'sh/';\nread(a + b + 'id_rsa')", ".ssh/id_rsa"),
            ("a.py", "Path.home() / '.ssh' / 'id_rsa'", ".ssh/id_rsa"),
            ("a.py", "p = ('.ssh/'\n     'id_' 'rsa')", ".ssh/id_rsa"),
            ("a.rs", "home.join(\".ssh\").join(\"id_rsa\")", ".ssh/id_rsa"),
            ("a.rs", "concat!(\".ssh/\", \"id_rsa\")", ".ssh/id_rsa"),
            ("a.go", "filepath.Join(home, \".ssh\", \"id_rsa\")", ".ssh/id_rsa"),
        ] {
            assert_eq!(has(name, code, value), Some(Disguise::Joined), "{code}");
        }
    }

    #[test]
    fn codes_and_encodings_are_read() {
        for (name, code, disguise) in [
            ("a.js", "String.fromCharCode(46,115,115,104)", None),
            ("a.js", "String.fromCharCode(46,115,115,104,47)", Some(Disguise::CharacterCodes)),
            ("a.py", "chr(46)+chr(115)+chr(115)+chr(0x68)+chr(47)", Some(Disguise::CharacterCodes)),
            ("a.py", "b64decode('LnNzaC8v')", None),
        ] {
            assert_eq!(has(name, code, ".ssh/"), disguise, "{code}");
        }
        assert_eq!(has("a.py", "b64decode('LnNz' + 'aC9pZA')", ".ssh/id"), Some(Disguise::Base64));
        assert_eq!(
            has("a.js", "'asr_di/hss.'.split('').reverse()", ".ssh/id_rsa"),
            Some(Disguise::Reversed)
        );
    }
}
