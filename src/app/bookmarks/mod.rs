//! Saved posts and links: imported, judged, changed by their owner, counted, recommended.
//!
//! Nothing here goes to the network. A bookmark's text is somebody else's words: it is searched,
//! quoted and counted, never obeyed.

mod changes;
mod document;
mod export;
mod importing;
mod judge;
mod model_run;
pub mod recommend;
mod rephrase;
pub mod trends;

pub use crate::enrich::{Project, project};
pub use changes::{Add, Change};
pub use document::{document, markdown};
pub(in crate::app) use judge::file;
pub use model_run::ModelRun;
