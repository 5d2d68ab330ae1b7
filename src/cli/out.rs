//! The one place that prints: results to stdout, complaints to stderr.

use std::io::Write;

/// Prints a result. A closed pipe (`| head`) is not an error.
pub fn say(text: impl std::fmt::Display) {
    let mut stdout = std::io::stdout().lock();
    if writeln!(stdout, "{text}").and_then(|()| stdout.flush()).is_err() {
        std::process::exit(0);
    }
}

/// Tells the person at the terminal something that is not the result.
pub fn note(text: impl std::fmt::Display) {
    // Nobody is left to tell when stderr is closed.
    drop(writeln!(std::io::stderr().lock(), "{text}"));
}

pub fn complain(text: impl std::fmt::Display) {
    note(format_args!("notewell: {text}"));
}
