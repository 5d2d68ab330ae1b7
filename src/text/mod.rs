//! Text to terms: one analyser for indexing and for asking, chosen by script inside one text.
//!
//! This room is pure: it reads no file, keeps no state between calls but caches, and never fails.
//! Any string is a valid input. It refuses to know what a note, a field or an index is.

pub mod lang;
pub mod script;
pub mod sentences;
pub mod words;

pub use lang::Lang;

/// Grows whenever the terms of some text change, so that an index knows to rebuild itself.
pub const VERSION: u32 = 1;
