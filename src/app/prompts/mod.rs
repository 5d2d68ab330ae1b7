//! What is done with prompts beyond keeping them: rendering, searching, bringing them in and out,
//! and slash-command files for coding agents.

mod changes;
mod document;
mod export;
mod file;
mod import;
mod offered;
mod render;
mod sync;
mod trust;

pub use document::{document, stamps, text};
pub use export::{Exported, Form, export};
pub use import::import;
pub use offered::{Offered, Rendered};
pub use render::{Notes, no_notes, render};
pub use sync::{Selection, Synced, sync};
