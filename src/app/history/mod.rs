//! History: every change that Notewell makes, and the way back from it.

mod journal;

pub use journal::{ItemState, Journal};
