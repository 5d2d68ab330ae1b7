//! The question: a query string and filters in, items with their best passages out.
//!
//! Words and meaning are asked side by side and fused by one small rule ([`fuse`]); the answer says
//! what was replaced, how far the vectors are and how fresh it is. The room does not know who asks:
//! what a caller may see is a filter that the caller's door sets. It refuses to guess: a question it
//! cannot read is an error with a sentence, never an empty answer.

mod answer;
mod engine;
mod filters;
pub mod fuse;
mod group;
mod kinds;
mod properties;
mod query;
mod relevance;
mod similar;
mod snippet;
mod weigh;

pub use answer::{AWAY, Answer, FULL, Match, SearchResult};
pub use engine::{DEEPEST, Engine, Knows, MAX_RESULTS, Options, Role, Vectorise};
pub use filters::{combine, end_of};
pub use fuse::{Evidence, Mode};
pub use query::{MAX_CHARACTERS, Query, parse};
pub use similar::Like;

#[cfg(test)]
mod tests;
