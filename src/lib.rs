//! Notewell: a person's notes, cards, bookmarks and prompts for AI agents, over MCP.
//!
//! Each room below may use only the rooms above it in this list; `tests/it/architecture.rs` fails
//! on an import that points the other way. ARCHITECTURE.md is the tour.

pub mod domain;
