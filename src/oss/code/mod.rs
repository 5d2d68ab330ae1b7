//! Source code as the checks read it: without comments, with every string value resolved.
//!
//! The checks match words in code, so a comment must neither raise nor hide an alarm, and a path
//! that is put together from pieces must read like one that is written out. [`Source::parse`] does
//! both for any language whose comments and quotes are listed in [`syntax`]. It is a lexer and not
//! a parser: it never fails, and text it does not understand counts as code.

mod decode;
mod lexer;
mod syntax;
mod values;

pub use lexer::{Token, TokenKind};
pub use syntax::{Syntax, has_rules};
pub use values::{Disguise, TextValue};

use super::tree::File;

/// One source file, ready to be matched.
pub struct Source {
    /// The lines without comments and without invisible characters, in their own case.
    pub lines: Vec<String>,
    pub tokens: Vec<Token>,
    /// String values: literals, literals joined by operators, and what they decode to.
    pub texts: Vec<TextValue>,
    /// The first line with an invisible character outside strings and comments.
    pub invisible_in_code: Option<u32>,
    /// The first line with a run of invisible characters long enough to carry data.
    pub invisible_data: Option<u32>,
}

impl Source {
    /// Parses a file with the syntax that its name stands for.
    pub fn read(file: &File) -> Self {
        Self::parse(file.text(), Syntax::of(file.name(), file.text()))
    }

    /// Parses one shell command, for instance of a manifest.
    pub fn command(text: &str) -> Self {
        Self::parse(text, Syntax::SHELL)
    }

    pub fn parse(text: &str, syntax: Syntax) -> Self {
        let mut lexed = lexer::lex(text, syntax);
        if syntax.test_modules {
            lexer::drop_test_modules(&mut lexed);
        }
        let texts = values::resolve(&lexed.tokens);
        Self {
            lines: lexed.lines,
            tokens: lexed.tokens,
            texts,
            invisible_in_code: lexed.invisible_in_code,
            invisible_data: lexed.invisible_data,
        }
    }

    /// The lines with their numbers, from one.
    pub fn numbered(&self) -> impl Iterator<Item = (u32, &str)> {
        (1..).zip(self.lines.iter().map(String::as_str))
    }

    /// Everything to match words in: code lines first, then string values.
    pub fn readings(&self) -> impl Iterator<Item = (u32, &str)> {
        let texts = self.texts.iter().map(|value| (value.line, value.text.as_str()));
        self.numbered().chain(texts)
    }
}

/// Whether a character is drawn as nothing. Such characters hide code and carry hidden data.
pub fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{2064}' | '\u{feff}' | '\u{3164}' | '\u{ffa0}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{e0000}'..='\u{e007f}' | '\u{e0100}'..='\u{e01ef}')
}

/// Whether a character changes the direction of writing, so that a line reads in another order
/// than it runs.
pub fn turns_direction(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}
