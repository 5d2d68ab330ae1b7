//! Files ↔ pages: finds the notes of a folder, reads them, follows their changes and writes them
//! whole.
//!
//! The files are the user's and stay the truth: this room keeps no copy and no state. It never
//! writes outside the vault, never follows a symbolic link out of it, and names every file that it
//! leaves out.

pub mod identity;
pub mod page;
pub mod read;
pub mod resolve;
pub mod walk;
pub mod watch;
pub mod write;

pub use page::page;
pub use read::{Reason, Stamp, TextFile, locate, read};
pub use resolve::LinkIndex;
pub use walk::{Found, Scope, Skipped, Walk, walk};
pub use watch::{Change, Watch, watch};
pub use write::{replace, write};
