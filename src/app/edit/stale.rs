//! An etag that is not the note's any more: what it was made from, whether the edit can still be
//! made, and the error where it cannot.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use serde_json::json;

use super::{
    page::{EditRequest, find_section},
    spot::Spot,
};
use crate::{
    app::{App, notes::Opened, rights::Rights},
    domain::{Error, Pid, Result},
    markdown::Note,
    vault::{self, TextFile},
};

/// Somebody who saved this recently may be typing, and an editor that is open may save again.
const TYPING: Duration = Duration::from_secs(3);

/// Changes of a note in which the text of an etag is looked for.
const SEARCHED_CHANGES: usize = 50;

/// Characters of the current text that a refusal shows.
const MAX_SHOWN: usize = 6000;

impl App {
    /// The etag of a note for somebody who may edit it. The text is kept, so that an edit can be
    /// merged when another part of the note has changed until then.
    pub fn etag_for_editing(&self, opened: &Opened, rights: &Rights) -> Option<String> {
        if !opened.page.as_ref().is_some_and(|row| rights.writes(&row.facts.page)) {
            return None;
        }
        let etag = vault::etag(&vault::read::hash(opened.text.as_bytes()));
        self.bases.remember(&etag, &opened.text);
        Some(etag)
    }

    /// The text that had this etag: as somebody read it, or as the journal has it.
    pub(super) fn base_of(&self, etag: &str, pid: Option<Pid>) -> Result<Option<Arc<str>>> {
        if let Some(text) = self.bases.get(etag) {
            return Ok(Some(text));
        }
        let Some(pid) = pid else { return Ok(None) };
        let mut before = None;
        // One at a time: notes may be large.
        for _ in 0..SEARCHED_CHANGES {
            let found = self.sources.store.revisions.of_item(pid, before, 1)?.pop();
            let Some((change, revision)) = found else { break };
            before = Some(change.id);
            for bytes in [revision.after, revision.before].into_iter().flatten() {
                if vault::etag(&vault::read::hash(&bytes)) == etag {
                    return Ok(String::from_utf8(bytes).ok().map(Into::into));
                }
            }
        }
        Ok(None)
    }

    /// Whether somebody else saved the note a moment ago.
    pub(super) fn is_being_typed(&self, spot: &Spot, current: &TextFile) -> Result<bool> {
        let modified = self.sources.modified(&spot.vault, &spot.path)?;
        let recent = modified.is_some_and(|modified| {
            SystemTime::now().duration_since(modified).is_ok_and(|age| age < TYPING)
        });
        let Some(pid) = spot.pid.filter(|_| recent) else { return Ok(recent) };
        let newest = self.sources.store.revisions.of_item(pid, None, 1)?;
        let ours = newest.first().and_then(|(_, revision)| revision.after.as_deref());
        Ok(ours != Some(current.text.as_bytes()))
    }
}

/// The refusal of an edit whose etag is old: what the target says now, and its etag.
pub(super) fn stale(
    spot: &Spot,
    current: &TextFile,
    request: &EditRequest<'_>,
    typing: bool,
) -> Error {
    let note = Note::parse(&current.text, spot.path.stem());
    let etag = current.etag();
    let section = find_section(&note, &request.place);
    let why = match typing {
        true => "somebody saved it a moment ago and may still be typing",
        false => "it was changed since you read it",
    };
    let path = &spot.path;
    let head = format!(
        "conflict: `{path}` is not what the etag stands for: {why}. Nothing was changed. Its etag now is {etag}; decide by what it says now, and send the edit again with that etag."
    );
    let (toc_path, content) = match section {
        Ok(section) => (note.outline.path_of(&section), note.section(&current.text, &section)),
        Err(error) => {
            return Error::conflict(format!("{head}\n\n{}", error.plain()))
                .with_data(json!({ "path": path, "etag": etag }));
        }
    };
    let mut shown: String = content.chars().take(MAX_SHOWN).collect();
    if shown.len() < content.len() {
        shown.push_str("\n… (read the rest with note_html)");
    }
    let place = match toc_path.is_empty() {
        true => "The note".to_owned(),
        false => format!("The section `{}`", toc_path.join(" > ")),
    };
    Error::conflict(format!("{head}\n\n{place} says now:\n\n{shown}"))
        .with_data(json!({ "path": path, "etag": etag, "toc_path": toc_path, "content": shown }))
}
