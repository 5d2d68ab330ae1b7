//! A folder as an agent walks it: folders with how much is in them, then notes.

use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    app::places::{Folder, Place, PlacedNote},
    domain::count,
};

/// Folders, and notes, that one answer shows.
const SHOWN: usize = 100;

/// What is directly in a folder, or in the library.
#[derive(Serialize, JsonSchema)]
pub struct PlaceList {
    /// The folder, with `/` at its end; empty for the library.
    folder: String,
    /// The vault, where there is only one.
    #[serde(skip_serializing_if = "Option::is_none")]
    vault: Option<String>,
    /// Notes in it and below it.
    total_notes: usize,
    folders: Vec<FolderEntry>,
    notes: Vec<NoteEntry>,
    /// What is not shown, and how to see it.
    #[serde(skip_serializing_if = "Option::is_none")]
    not_shown: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct FolderEntry {
    path: String,
    notes: usize,
    /// The note that was changed last.
    #[serde(skip_serializing_if = "Option::is_none")]
    newest: Option<NoteEntry>,
}

#[derive(Serialize, JsonSchema)]
struct NoteEntry {
    pid: i64,
    title: String,
    path: String,
    /// The day on which it was changed.
    changed: String,
}

impl NoteEntry {
    fn new(note: PlacedNote) -> Self {
        let changed = note.changed.date();
        Self { pid: note.pid.0, title: note.title, path: note.path, changed }
    }
}

impl FolderEntry {
    fn new(folder: Folder) -> Self {
        let newest = folder.newest.map(NoteEntry::new);
        Self { path: folder.path, notes: folder.notes, newest }
    }
}

impl PlaceList {
    pub fn new(place: Place) -> Self {
        let folders = place.folders.len().saturating_sub(SHOWN);
        let notes = place.notes.len().saturating_sub(SHOWN);
        let not_shown = (folders + notes > 0).then(|| {
            let what = match (folders, notes) {
                (0, notes) => count(notes, "more note"),
                (folders, 0) => count(folders, "more folder"),
                _ => format!("{} and {}", count(folders, "more folder"), count(notes, "more note")),
            };
            format!(
                "{what} not shown; `search` with filters.path `{}` lists all of them by pages",
                place.path
            )
        });
        Self {
            folder: place.path,
            vault: place.vault,
            total_notes: place.total,
            folders: place.folders.into_iter().take(SHOWN).map(FolderEntry::new).collect(),
            notes: place.notes.into_iter().take(SHOWN).map(NoteEntry::new).collect(),
            not_shown,
        }
    }

    pub fn text(&self) -> String {
        let name = match (&self.vault, self.folder.as_str()) {
            (Some(vault), _) => format!("vault {vault}"),
            (None, "") => "the library".to_owned(),
            (None, folder) => folder.to_owned(),
        };
        let mut text = format!("{name}: {}", count(self.total_notes, "note"));
        for folder in &self.folders {
            text += &format!("\n{} ({}", folder.path, count(folder.notes, "note"));
            if let Some(newest) = &folder.newest {
                text += &format!(", newest {} on {}", newest.title, newest.changed);
            }
            text.push(')');
        }
        for note in &self.notes {
            let file = note.path.rsplit('/').next().unwrap_or(&note.path);
            text += &format!("\n{file}: {} (pid {}, {})", note.title, note.pid, note.changed);
        }
        if let Some(not_shown) = &self.not_shown {
            text += &format!("\n{not_shown}");
        }
        text
    }
}
