//! What is done with prompts beyond keeping them: rendering, searching, bringing them in and out,
//! and slash-command files for coding agents.

mod changes;
mod document;
mod export;
mod file;
mod import;
mod markdown;
mod offered;
mod render;
mod sync;

pub use document::{document, stamps, text};
pub use export::{Exported, Form, export};
pub use import::{Imported, import};
pub use markdown::{read as read_markdown, write as write_markdown};
pub use offered::{Offered, Rendered};
pub use render::{Notes, no_notes, render};
pub use sync::{Synced, sync};
