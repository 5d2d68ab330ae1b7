//! Notes parsed by a look at a vault, kept until the index asks for them: an edited file is read and
//! parsed once.

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
};

use crate::markdown::Note;

/// Bytes of text whose notes are kept. A look at a whole new vault passes this at once; what does
/// not fit is read again by the index.
const MAX_BYTES: usize = 4 << 20;

/// Notes that are kept. Few enough for a linear search.
const MAX_PAGES: usize = 500;

/// Parsed notes by vault, path and content, the oldest first.
#[derive(Default)]
pub struct ParsedPages(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    pages: VecDeque<Parsed>,
    bytes: usize,
}

struct Parsed {
    vault: String,
    path: String,
    hash: [u8; 32],
    note: Note,
    bytes: usize,
}

impl ParsedPages {
    /// Whether the notes of a look at so many files, of so many bytes in all, can be kept.
    pub(super) fn has_room_for(files: usize, bytes: u64) -> bool {
        files <= MAX_PAGES && usize::try_from(bytes).is_ok_and(|bytes| bytes <= MAX_BYTES)
    }

    /// Keeps a note of `bytes` bytes of text, in place of an earlier one of the same page. The
    /// oldest notes make room.
    pub(super) fn keep(&self, vault: &str, path: &str, hash: [u8; 32], note: Note, bytes: usize) {
        let mut kept = self.lock();
        kept.remove(|page| page.vault == vault && page.path == path);
        kept.bytes += bytes;
        kept.pages.push_back(Parsed {
            vault: vault.to_owned(),
            path: path.to_owned(),
            hash,
            note,
            bytes,
        });
        while (kept.bytes > MAX_BYTES || kept.pages.len() > MAX_PAGES)
            && let Some(oldest) = kept.pages.pop_front()
        {
            kept.bytes -= oldest.bytes;
        }
    }

    /// Takes the note of a page if it was parsed from this content.
    pub fn take(&self, vault: &str, path: &str, hash: &[u8; 32]) -> Option<Note> {
        let mut kept = self.lock();
        let page = kept.remove(|page| page.path == path && page.vault == vault)?;
        (page.hash == *hash).then_some(page.note)
    }

    /// Drops the note of a page whose content the index has.
    pub(super) fn forget(&self, vault: &str, path: &str) {
        self.lock().remove(|page| page.vault == vault && page.path == path);
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn remove(&mut self, is_it: impl Fn(&Parsed) -> bool) -> Option<Parsed> {
        let at = self.pages.iter().position(is_it)?;
        let page = self.pages.remove(at)?;
        self.bytes -= page.bytes;
        Some(page)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note() -> Note {
        Note::parse("# Заметка\n", "n")
    }

    #[test]
    fn a_note_is_given_once_and_only_for_its_content() {
        let parsed = ParsedPages::default();
        parsed.keep("v", "a.md", [1; 32], note(), 10);
        assert!(parsed.take("v", "a.md", &[2; 32]).is_none(), "other content");
        parsed.keep("v", "a.md", [1; 32], note(), 10);
        parsed.keep("v", "a.md", [3; 32], note(), 10);
        assert!(parsed.take("w", "a.md", &[3; 32]).is_none(), "another vault");
        assert!(parsed.take("v", "a.md", &[3; 32]).is_some(), "the later state");
        assert!(parsed.take("v", "a.md", &[3; 32]).is_none(), "taken before");
        assert_eq!(parsed.lock().bytes, 0);
    }

    #[test]
    fn the_oldest_makes_room() {
        let parsed = ParsedPages::default();
        for (path, bytes) in [("a.md", MAX_BYTES / 2), ("b.md", MAX_BYTES / 2), ("c.md", 1)] {
            parsed.keep("v", path, [1; 32], note(), bytes);
        }
        assert!(parsed.take("v", "a.md", &[1; 32]).is_none());
        assert!(parsed.take("v", "b.md", &[1; 32]).is_some());
        parsed.keep("v", "d.md", [1; 32], note(), MAX_BYTES + 1);
        assert!(parsed.take("v", "d.md", &[1; 32]).is_none(), "larger than all the room");
    }
}
