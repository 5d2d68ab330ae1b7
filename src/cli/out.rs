//! The one place that prints: results to stdout, messages to stderr.
//!
//! Notes, file names and tokens may hold control characters, which a terminal would execute. On a
//! terminal they are printed as escapes (`\u{1b}`). A pipe gets the text as it is, so that
//! `notewell read NOTE > copy.md` is a copy.

use std::{
    borrow::Cow,
    fmt::Display,
    io::{ErrorKind, IsTerminal, Write},
};

use serde::Serialize;

use crate::{
    config,
    domain::{Result, error::Doing},
};

/// The exit status of an error.
pub const FAILED: u8 = 2;

/// Prints a result. A closed pipe (`| head`) is not an error.
pub fn say(text: impl Display) {
    let text = text.to_string();
    print(if std::io::stdout().is_terminal() { escape(&text) } else { text.into() });
}

/// Prints a result as JSON.
pub fn json(value: &impl Serialize) -> Result<()> {
    say(serde_json::to_string_pretty(value).doing("write the answer as JSON")?);
    Ok(())
}

/// Prints something to stderr that is not the result.
pub fn note(text: impl Display) {
    let text = text.to_string();
    // A closed stderr has no reader.
    drop(writeln!(std::io::stderr().lock(), "{}", escape(&text)));
}

/// Prints an error to stderr, after the program's name.
pub fn error(text: impl Display) {
    note(format_args!("notewell: {text}"));
}

fn print(text: Cow<'_, str>) {
    let mut stdout = std::io::stdout().lock();
    let Err(failure) = writeln!(stdout, "{text}").and_then(|()| stdout.flush()) else { return };
    if failure.kind() == ErrorKind::BrokenPipe {
        std::process::exit(0);
    }
    error(format_args!("could not write the result: {failure}; what the command did is done"));
    std::process::exit(FAILED.into());
}

/// The text with every control character but newline and tab made visible.
pub fn escape(text: &str) -> Cow<'_, str> {
    let harmless = |c: char| !c.is_control() || matches!(c, '\n' | '\t');
    if text.chars().all(harmless) {
        return text.into();
    }
    let mut shown = String::with_capacity(text.len() + 16);
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            // The end of a line, as Windows writes it.
            '\r' if rest.peek() == Some(&'\n') => {}
            c if harmless(c) => shown.push(c),
            c => shown.extend(c.escape_default()),
        }
    }
    shown.into()
}

/// How a part of a result looks on a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    Title,
    Place,
    /// A word that was searched for.
    Mark,
    /// Less important than what stands around it.
    Aside,
}

impl Style {
    fn code(self) -> &'static str {
        match self {
            Style::Title => "1",
            Style::Place => "36",
            Style::Mark => "1;31",
            Style::Aside => "2",
        }
    }
}

/// A result in several styles: with colour on a terminal (unless `NO_COLOR` is set), plain in a
/// pipe.
pub struct Text {
    text: String,
    terminal: bool,
    colour: bool,
}

impl Text {
    pub fn for_stdout() -> Self {
        let terminal = std::io::stdout().is_terminal();
        Self { text: String::new(), terminal, colour: terminal && config::wants_colour() }
    }

    pub fn plain(&mut self, text: &str) -> &mut Self {
        self.text += &if self.terminal { escape(text) } else { text.into() };
        self
    }

    pub fn styled(&mut self, style: Style, text: &str) -> &mut Self {
        if !self.colour || text.is_empty() {
            return self.plain(text);
        }
        self.text += &format!("\x1b[{}m", style.code());
        self.plain(text);
        self.text += "\x1b[0m";
        self
    }

    pub fn print(self) {
        print(self.text.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_become_visible() {
        assert_eq!(escape("a\tb\nпривет 日本語 👋"), "a\tb\nпривет 日本語 👋");
        assert_eq!(escape("x\x1b]0;owned\x07y"), "x\\u{1b}]0;owned\\u{7}y");
        assert_eq!(escape("one\r\ntwo\rthree\x7f\u{9b}2J"), "one\ntwo\\rthree\\u{7f}\\u{9b}2J");
    }

    #[test]
    fn styles_wrap_escaped_text() {
        let mut text = Text { text: String::new(), terminal: true, colour: true };
        text.styled(Style::Mark, "a\x1bb").plain("c");
        assert_eq!(text.text, "\x1b[1;31ma\\u{1b}b\x1b[0mc");
        let mut text = Text { text: String::new(), terminal: false, colour: false };
        text.styled(Style::Mark, "a\x1bb");
        assert_eq!(text.text, "a\x1bb");
    }
}
