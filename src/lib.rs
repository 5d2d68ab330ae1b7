//! Notewell: a person's notes, cards, bookmarks and prompts for AI agents, over MCP.
//!
//! Each room may use only the rooms above it in `ROOMS` of `tests/it/architecture.rs`, which fails
//! on an import that points the other way. ARCHITECTURE.md is the tour.

pub mod app;
pub mod ask;
pub mod bench;
pub mod cli;
pub mod config;
pub mod domain;
pub mod embed;
pub mod enrich;
pub mod eval;
pub mod import;
pub mod index;
pub mod llm;
pub mod markdown;
pub mod oss;
pub mod post;
pub mod search;
pub mod serve;
pub mod store;
pub mod telemetry;
pub mod tools;
pub mod vault;

/// Text to search terms. A crate of its own, so that every profile optimises it.
pub use notewell_text as text;
