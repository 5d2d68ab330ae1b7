//! Text ↔ structure: a note's frontmatter, outline, links, passages and windows, and its HTML.
//!
//! This room is pure: it reads no file and asks no clock, and no input makes it panic (`fuzzing/`).
//! It never writes a note's frontmatter back through a serialiser: fields are edited line by line.

pub mod blocks;
pub mod chunk;
pub mod count;
pub mod edit;
pub mod frontmatter;
pub mod html;
pub mod links;
pub mod note;
pub mod outline;
pub mod plain;
pub mod split;
pub mod template;
pub mod window;

pub use count::{Counts, count};
pub use edit::set_field;
pub use html::{Embedded, Resolve, render};
pub use links::{Link, LinkKind, LinkTarget};
pub use note::Note;
pub use outline::{Outline, Section};
pub use plain::plain;
pub use window::Window;
