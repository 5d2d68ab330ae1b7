//! Tools over saved posts and links.

pub mod add;
pub mod ask;
pub mod maintain;
pub mod recommend;
pub mod trends;

use crate::domain::Bookmark;

/// The author with a leading `@`; empty where nobody is named.
pub fn handle(bookmark: &Bookmark) -> String {
    bookmark.author.as_ref().map(|author| format!("@{author}")).unwrap_or_default()
}

/// The beginning of a text, with a sign that there is more.
pub fn shorten(text: String, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text,
        Some((at, _)) => format!("{}…", text[..at].trim_end()),
    }
}
