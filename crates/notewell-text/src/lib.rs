//! Text to terms: one analyser for indexing and for asking, chosen by script inside one text.
//!
//! This room is pure: it reads no file, keeps no state between calls but caches, and never fails.
//! Any string is a valid input. It refuses to know what a note, a field or an index is.

pub mod analyse;
#[cfg(test)]
mod cases;
mod compound;
mod fold;
mod forms;
mod grams;
mod han_table;
pub mod lang;
mod pool;
pub mod script;
pub mod sentences;
pub mod snippet;
mod stem;
pub mod stop;
pub mod tokens;
pub mod typo;
pub mod words;

pub use analyse::{Analyser, Kind, Mode, Term, Token};
pub use lang::Lang;
pub use pool::with_analyser;
pub use snippet::{Snippet, snippet};
pub use stop::is_stop_word;

/// Grows whenever the terms of some text change, so that an index knows to rebuild itself.
pub const VERSION: u32 = 4;
