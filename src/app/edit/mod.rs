//! Writing notes: edits of a section or a note, moves with the links that point there, and the way
//! back. Every write is in the journal before a file is touched (`journal`), and a file changes
//! only if it still holds what was read (`vault::Staged`).

mod bases;
mod diff;
mod journal;
mod links;
mod moving;
mod page;
mod recovery;
mod relink;
mod spot;
mod stale;

pub use bases::Bases;
pub use diff::compact_diff;
pub use links::{BrokenLink, NoteLinks};
pub use moving::{MoveAnswer, MoveRequest, RewrittenLinks, TO_TRASH};
pub use page::{EditAnswer, EditOp, EditRequest, FindSection, Place, section_finder};
pub(super) use spot::{page_in, split_key};
