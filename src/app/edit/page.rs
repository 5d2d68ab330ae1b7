//! Edits of one note: a section or the whole, or its frontmatter; and new notes.

use serde_json::{Map, Value};

use super::{
    diff::{compact_diff, line_counts},
    spot::Spot,
    stale::stale,
};
use crate::{
    app::{App, notes::NoteRef, rights::Rights},
    domain::{Error, Kind, MatchId, Pid, Result},
    markdown::{
        Note, Section,
        edit::{self, Edit, Edited},
        outline::Outline,
    },
    store::revisions::{Actor, ChangeId, NewChange, Revision},
    vault::{self, TextFile},
};

/// Finds a section in an outline.
pub type FindSection<'a> = dyn for<'o> Fn(&'o Outline) -> Result<&'o Section> + 'a;

/// Which part of a note is meant.
pub enum Place<'a> {
    /// The whole note.
    Note,
    /// The section that a passage is in.
    Match(MatchId),
    /// One section.
    Section(&'a FindSection<'a>),
}

/// What to do.
pub enum EditOp<'a> {
    /// A new note.
    Create {
        /// The text of the new note.
        text: &'a str,
        /// Frontmatter of the new note.
        fields: Option<&'a Map<String, Value>>,
    },
    /// Frontmatter fields; `null` removes one.
    Set(&'a Map<String, Value>),
    /// An edit of a note that exists.
    Change(Edit<'a>),
    /// A new text for the whole file, frontmatter included.
    Rewrite(&'a str),
}

/// Names the lifetimes of a closure that finds a section.
pub fn section_finder<F: for<'o> Fn(&'o Outline) -> Result<&'o Section>>(find: F) -> F {
    find
}

impl EditOp<'_> {
    /// Whether the caller must show that they know what they take away.
    fn needs_etag(&self) -> bool {
        matches!(self, EditOp::Change(Edit::Replace(_) | Edit::Delete) | EditOp::Rewrite(_))
    }

    /// What the journal says was done, before the place.
    fn verb(&self) -> &'static str {
        match self {
            EditOp::Create { .. } => "create",
            EditOp::Set(_) => "set fields of",
            EditOp::Change(Edit::Replace(_)) | EditOp::Rewrite(_) => "replace",
            EditOp::Change(Edit::Append(_)) => "append to",
            EditOp::Change(Edit::Prepend(_)) => "prepend to",
            EditOp::Change(Edit::Before(_)) => "insert before",
            EditOp::Change(Edit::After(_)) => "insert after",
            EditOp::Change(Edit::Find { .. }) => "replace text in",
            EditOp::Change(Edit::Delete) => "delete",
        }
    }
}

/// An edit of a note.
pub struct EditRequest<'a> {
    /// The note.
    pub note: NoteRef,
    /// The target within it.
    pub place: Place<'a>,
    /// What to do.
    pub op: EditOp<'a>,
    /// What the caller read; an edit of something else is refused.
    pub etag: Option<&'a str>,
    /// Shows the difference without writing.
    pub dry_run: bool,
    /// Who edits.
    pub actor: Actor,
    /// Whether `[write]` fences the caller in.
    pub fenced: bool,
}

/// What an edit did, or would do.
#[derive(Debug)]
pub struct EditAnswer {
    /// The note.
    pub pid: Option<Pid>,
    /// Its path.
    pub path: String,
    /// The note's etag now.
    pub etag: String,
    /// The section that was edited, under its new heading.
    pub toc_path: Vec<String>,
    /// The passage that the edit is in.
    pub match_id: Option<MatchId>,
    /// A compact diff.
    pub diff: String,
    /// `None` when nothing was written.
    pub change: Option<ChangeId>,
    /// The note had changed elsewhere since it was read.
    pub merged: bool,
    /// Whether the note is new.
    pub created: bool,
}

/// A text that is about to be written.
struct Draft {
    before: Option<TextFile>,
    edited: Edited,
    merged: bool,
    /// The section that the edit was made in, for the journal.
    section: Vec<String>,
}

impl App {
    /// Edits a note, or makes one. Nothing outside the target changes.
    pub fn edit_page(&self, request: &EditRequest<'_>, rights: &Rights) -> Result<EditAnswer> {
        let spot = match (&request.op, request.note.path.as_deref()) {
            (EditOp::Create { .. }, Some(path)) => self.new_spot(path, None, rights)?,
            (EditOp::Create { .. }, None) => {
                return Err(Error::invalid_params("create needs path: where the new note goes"));
            }
            (_, _) => {
                let spot = self.spot(&request.note, rights);
                spot.map_err(|error| self.or_create(error, request))?
            }
        };
        if let Place::Match(id) = request.place
            && spot.pid != Some(id.pid)
        {
            return Err(Error::invalid_params(format!(
                "match_id `{id}` belongs to another note than `{}`; give one of them",
                spot.path
            )));
        }
        if request.fenced {
            self.check_fence(&spot.vault.name, &spot.path)?;
        }
        if let (Place::Note, EditOp::Change(change)) = (&request.place, &request.op) {
            edit::check_place(*change)?;
        }
        if request.op.needs_etag() && request.etag.is_none() {
            return Err(Error::invalid_params(
                "etag is required for replace and delete; `note_html` shows it with the text",
            ));
        }
        let turn = self.sources.store.revisions.turn()?;
        self.recover_in(&turn)?;
        let draft = self.draft(&spot, request)?;
        let before = draft.before.as_ref().map(|file| file.text.as_str());
        // As the file is now, and as it will be: an edit neither takes a note away from others nor
        // gives one to them.
        for text in before.into_iter().chain([draft.edited.text.as_str()]) {
            rights.check_write(&spot.page(text))?;
        }
        let after = draft.edited.text.as_str();
        let known = before.map(|text| (&spot.path, text));
        self.check_files(&spot.vault, known, (&spot.path, after), None, rights)?;
        self.check_size(&spot, &draft.edited.text)?;
        let mut revisions = [Revision {
            pid: spot.pid,
            kind: Kind::Page,
            key: spot.key(),
            moved_to: None,
            before: before.map(|text| text.as_bytes().to_vec()),
            after: Some(draft.edited.text.as_bytes().to_vec()),
        }];
        let mut change = None;
        if !request.dry_run && before != Some(&draft.edited.text) {
            let summary = summary(&spot, request, &draft);
            let mut begun = NewChange::new(&request.actor, summary);
            change = Some(self.write_pages(&turn, &mut begun, &mut revisions)?);
        }
        let pid = revisions[0].pid;
        self.edit_answer(&spot, pid, &draft, change, request.dry_run)
    }

    /// A note that is not there can be made.
    fn or_create(&self, error: Error, request: &EditRequest<'_>) -> Error {
        let named_only_by_path = request.note.pid.is_none() && request.note.path.is_some();
        match named_only_by_path && self.sources.vault_reads.are_done() {
            true => Error::invalid_params(format!("{}; op create makes a new note", error.plain())),
            false => error,
        }
    }

    fn draft(&self, spot: &Spot, request: &EditRequest<'_>) -> Result<Draft> {
        if let EditOp::Create { text, fields } = &request.op {
            let exists = self.sources.has_file(&spot.vault, &spot.path)?;
            return create(spot, exists, text, *fields);
        }
        let current = match self.sources.note_file(&spot.vault, &spot.path)? {
            Ok(current) => current,
            Err(vault::Reason::Absent) if spot.template.is_some() => {
                // The daily note of a day that has none yet.
                let start = spot.template.clone().unwrap_or_default();
                let edited = self.apply(spot, request, &start)?.0;
                vault::check_new_name(&spot.path)?;
                return Ok(Draft { before: None, edited, merged: false, section: Vec::new() });
            }
            Err(reason) => {
                return Err(Error::outside(format!(
                    "the note `{}` {}; nothing was changed",
                    spot.path,
                    reason.after_name()
                )));
            }
        };
        let Some(etag) = request.etag.filter(|etag| *etag != current.etag()) else {
            let (edited, section) = self.apply(spot, request, &current.text)?;
            return Ok(Draft { before: Some(current), edited, merged: false, section });
        };
        let typing = self.is_being_typed(spot, &current)?;
        let base = match typing {
            true => None,
            false => self.base_of(etag, spot.pid)?,
        };
        let merged = base.map(|base| self.merge(spot, request, &base, &current)).transpose()?;
        match merged.flatten() {
            Some((edited, section)) => {
                Ok(Draft { before: Some(current), edited, merged: true, section })
            }
            None => Err(stale(spot, &current, request, typing)),
        }
    }

    /// Applies the edit to a text. Also gives the section that it was made in.
    fn apply(
        &self,
        spot: &Spot,
        request: &EditRequest<'_>,
        text: &str,
    ) -> Result<(Edited, Vec<String>)> {
        let note = Note::parse(text, spot.path.stem());
        let section = find_section(&note, &request.place)?;
        let edited = match &request.op {
            EditOp::Change(change) => edit::apply(text, &note, &section, *change)?,
            EditOp::Set(fields) => {
                let new = edit::set_fields(text, fields)?;
                let body = Note::parse(&new, "").body;
                Edited { text: new, changed: 0..body }
            }
            EditOp::Rewrite(new) => {
                let start = common_prefix(text, new);
                Edited { text: (*new).to_owned(), changed: start..start }
            }
            EditOp::Create { .. } => return Err(Error::internal("a new note has no section")),
        };
        Ok((edited, note.outline.path_of(&section)))
    }

    /// Makes an edit that was meant for `base` in a text that changed since: by section where the
    /// target is one and is unchanged, by lines where the target is the note. `None` when the two
    /// changes touch.
    fn merge(
        &self,
        spot: &Spot,
        request: &EditRequest<'_>,
        base: &str,
        current: &TextFile,
    ) -> Result<Option<(Edited, Vec<String>)>> {
        let before = Note::parse(base, spot.path.stem());
        let Ok(section) = find_section(&before, &request.place) else { return Ok(None) };
        if section.level == 0 {
            let (edited, path) = self.apply(spot, request, base)?;
            return Ok(diffy::merge(base, &edited.text, &current.text).ok().map(|text| {
                let start = common_prefix(&current.text, &text);
                (Edited { changed: start..start, text }, path)
            }));
        }
        let path = before.outline.path_of(&section);
        let now = Note::parse(&current.text, spot.path.stem());
        let Ok(same) = now.outline.find(&path) else { return Ok(None) };
        if now.section(&current.text, same) != before.section(base, &section) {
            return Ok(None);
        }
        let EditOp::Change(change) = &request.op else {
            return Ok(Some(self.apply(spot, request, &current.text)?));
        };
        Ok(Some((edit::apply(&current.text, &now, same, *change)?, path)))
    }

    fn check_size(&self, spot: &Spot, text: &str) -> Result<()> {
        let limit = self.sources.config.limits.note_bytes;
        if text.len() as u64 > limit {
            return Err(Error::limit(format!(
                "`{}` would have {} bytes, more than `limits.note_bytes` ({limit}) allows; nothing was changed. Split it into several notes",
                spot.path,
                text.len()
            )));
        }
        match text.contains('\0') {
            true => Err(Error::invalid_params("text has a NUL character; nothing was changed")),
            false => Ok(()),
        }
    }

    fn edit_answer(
        &self,
        spot: &Spot,
        pid: Option<Pid>,
        draft: &Draft,
        change: Option<ChangeId>,
        dry_run: bool,
    ) -> Result<EditAnswer> {
        let text = &draft.edited.text;
        let before = draft.before.as_ref();
        let etag = match (dry_run, before) {
            (true, Some(before)) => before.etag(),
            _ => vault::etag(&vault::read::hash(text.as_bytes())),
        };
        if !dry_run {
            self.bases.remember(&etag, text);
        }
        let note = Note::parse(text, spot.path.stem());
        let at = draft.edited.changed.start;
        let chunk = note.chunks().into_iter().find(|chunk| chunk.range.end > at);
        let toc_path = match &chunk {
            Some(chunk) => chunk.toc_path.clone(),
            None => note.outline.path(note.outline.section_at(at.min(text.len()))),
        };
        let match_id = pid.zip(chunk).map(|(pid, chunk)| MatchId { pid, chunk: chunk.ordinal });
        Ok(EditAnswer {
            pid,
            path: self.sources.shown_path(&spot.vault.name, spot.path.as_str())?,
            etag,
            toc_path,
            match_id: match_id.filter(|_| !dry_run),
            diff: compact_diff(before.map_or("", |file| file.text.as_str()), text),
            change,
            merged: draft.merged,
            created: before.is_none(),
        })
    }
}

fn create(
    spot: &Spot,
    exists: bool,
    text: &str,
    fields: Option<&Map<String, Value>>,
) -> Result<Draft> {
    if exists {
        return Err(Error::invalid_params(format!(
            "`{}` exists already; op append, prepend or replace changes it",
            spot.path
        )));
    }
    vault::check_new_name(&spot.path)?;
    let start = spot.template.as_deref().unwrap_or_default();
    let mut text = match start.is_empty() || text.trim().is_empty() {
        true => format!("{start}{text}"),
        false => {
            let note = Note::parse(start, spot.path.stem());
            edit::apply(start, &note, note.outline.root(), Edit::Append(text))?.text
        }
    };
    if let Some(fields) = fields.filter(|fields| !fields.is_empty()) {
        text = edit::set_fields(&text, fields)?;
    }
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    let edited = Edited { changed: 0..text.len(), text };
    Ok(Draft { before: None, edited, merged: false, section: Vec::new() })
}

/// The target. A passage above the first heading means what stands there, not the whole note.
pub(super) fn find_section(note: &Note, place: &Place<'_>) -> Result<Section> {
    match place {
        Place::Note => Ok(note.outline.root().clone()),
        Place::Section(find) => find(&note.outline).cloned(),
        Place::Match(id) => {
            let chunks = note.chunks();
            let chunk = chunks.iter().find(|chunk| chunk.ordinal == id.chunk).ok_or_else(|| {
                Error::invalid_params(format!(
                    "match_id `{id}` is not in this note any more; search again, or give toc_path"
                ))
            })?;
            let section = note.outline.find(&chunk.toc_path)?.clone();
            Ok(match section.level {
                0 => Section { range: section.own.clone(), ..section },
                _ => section,
            })
        }
    }
}

/// One line for the journal.
fn summary(spot: &Spot, request: &EditRequest<'_>, draft: &Draft) -> String {
    let before = draft.before.as_ref().map_or("", |file| file.text.as_str());
    let counts = line_counts(before, &draft.edited.text);
    let place = match draft.section.is_empty() {
        true => format!("`{}`", spot.path),
        false => format!("`{}` of `{}`", draft.section.join(" > "), spot.path),
    };
    let verb = match draft.before.is_none() {
        true => "create",
        false => request.op.verb(),
    };
    format!("{verb} {place} ({counts} lines)")
}

fn common_prefix(a: &str, b: &str) -> usize {
    let mut at = a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
    while !b.is_char_boundary(at) {
        at -= 1;
    }
    at
}
