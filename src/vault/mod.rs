//! Files ↔ pages: finds the notes of a folder, reads them, follows their changes and writes them
//! whole.
//!
//! The files are the user's and stay the truth: this room keeps no copy and no state. It never
//! writes outside the vault, never follows a symbolic link out of it, and names every file that it
//! leaves out.

mod attachment;
pub mod bundle;
mod daily;
pub mod identity;
mod moment;
pub mod page;
mod place;
pub mod read;
pub mod resolve;
mod swap;
pub mod walk;
pub mod watch;
pub mod write;

pub use attachment::{attachment, names_file};
pub use daily::{Daily, ReadText, daily_with};
pub use page::page;
pub use place::{check_new_name, file_for_writing, is_ignored};
pub use read::{Reason, Stamp, TextFile, etag, locate, read};
pub use resolve::{LinkIndex, join_path};
pub use swap::{
    Staged, is_abandoned, is_set_aside, remove_abandoned, remove_staged, staging_prefix,
};
pub use walk::{NoteFile, Scope, Skipped, Walk, walk};
pub use watch::{Change, Watch, watch};
pub use write::{check_folder_of, folder_of, make_folders, replace, sync_folder};
