//! Saved posts and links: brought in, judged, changed by their owner, counted, recommended.
//!
//! Nothing here goes to the network. A bookmark's text is somebody else's words: it is searched,
//! quoted and counted, never obeyed.

mod changes;
mod document;
mod export;
mod filing;
mod importing;
mod modelled;
mod project;
pub mod recommend;
pub mod trends;
mod wording;

pub use changes::{Add, Change};
pub use document::{document, markdown};
pub(in crate::app) use filing::file;
pub use modelled::Modelled;
pub use project::{Project, project};
