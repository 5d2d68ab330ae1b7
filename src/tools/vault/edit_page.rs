use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::toc_path::TocPath;
use crate::{
    app::{
        edit::{EditAnswer, EditOp, EditRequest, Place, section_finder},
        notes::NoteRef,
    },
    domain::{Error, Kind, MatchId, Result, query::words},
    markdown::edit::Edit,
    store::revisions::Actor,
    tools::{Answer, Cx, Effect, Right, Tool, Toolset, arguments::Blank},
};

/// Edit a vault note, or its section by toc_path or match_id. replace keeps the heading unless text starts with one; find must occur count times; set: frontmatter fields, null removes; path @today: the daily note.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EditPage {
    pid: Option<i64>,
    path: Option<String>,
    match_id: Option<String>,
    toc_path: Option<TocPath>,
    op: Op,
    text: Option<String>,
    find: Option<String>,
    count: Option<usize>,
    fields: Option<Map<String, Value>>,
    /// Required for replace, delete
    etag: Option<String>,
    dry_run: Option<bool>,
}

words!(
    /// What to do with the target.
    Op, "op", {
        Create = "create",
        Replace = "replace",
        Append = "append",
        Prepend = "prepend",
        Before = "before",
        After = "after",
        Find = "find",
        Delete = "delete",
        Set = "set",
    }
);

#[derive(Serialize, JsonSchema)]
pub struct Edited {
    #[serde(skip_serializing_if = "Option::is_none")]
    pid: Option<i64>,
    path: String,
    /// The note's etag now
    etag: String,
    toc_path: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    match_id: Option<String>,
    /// The number to undo it by; absent when nothing was written
    #[serde(skip_serializing_if = "Option::is_none")]
    change: Option<i64>,
    diff: String,
    /// The note had changed elsewhere since the etag
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    merged: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    created: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    dry_run: bool,
}

impl Answer for Edited {
    fn text(&self) -> String {
        let place = match self.toc_path.is_empty() {
            true => self.path.clone(),
            false => format!("{} > {}", self.path, self.toc_path.join(" > ")),
        };
        let verb = if self.created { "created" } else { "edited" };
        let head = match (self.dry_run, self.change) {
            (true, _) => format!("dry run, nothing was written: {place}"),
            (false, Some(change)) => format!("{verb} {place} (change {change})"),
            (false, None) => format!("nothing to change in {place}"),
        };
        let mut text = format!("{head}\netag {}", self.etag);
        if let Some(id) = &self.match_id {
            text += &format!(" match_id {id}");
        }
        if self.merged {
            text += "\nmerged: other parts of the note had changed since your etag, and are kept";
        }
        if !self.diff.is_empty() {
            text += &format!("\n{}", self.diff);
        }
        text
    }
}

impl Tool for EditPage {
    const NAME: &'static str = "edit_page";
    const TITLE: &'static str = "Edit a note";
    const TOOLSET: Toolset = Toolset::Vault;
    const RIGHT: Right = Right::Write(Kind::Page);
    const EFFECT: Effect = Effect::Toggles;
    const BLANK: Blank = Blank::Clears;
    type Answer = Edited;

    fn call(self, cx: &Cx<'_>) -> Result<Edited> {
        let op = self.op()?;
        let match_id = self.match_id.as_deref().map(str::trim).filter(|id| !id.is_empty());
        let match_id: Option<MatchId> = match_id.map(str::parse).transpose()?;
        let mut note = NoteRef { pid: self.pid, path: self.path.clone(), ..NoteRef::default() };
        if let Some(id) = match_id {
            if note.is_empty() {
                note.pid = Some(id.pid.0);
            } else if self.pid.is_some_and(|pid| pid != id.pid.0) {
                return Err(Error::invalid_params(format!(
                    "match_id `{id}` is of another note than the pid; give one of them"
                )));
            }
        }
        let toc_path = self.toc_path.as_ref().filter(|path| !path.is_empty());
        let find = section_finder(|outline| match toc_path {
            Some(path) => path.find(outline),
            None => Ok(outline.root()),
        });
        let place = match (toc_path, match_id) {
            (Some(_), _) => Place::Section(&find),
            (None, Some(id)) => Place::Match(id),
            (None, None) => Place::Note,
        };
        if matches!(op, EditOp::Create { .. } | EditOp::Set(_)) && !matches!(place, Place::Note) {
            return Err(Error::invalid_params(format!(
                "{} is about the whole note; leave toc_path and match_id out",
                self.op.as_str()
            )));
        }
        let etag = self.etag.as_deref().map(str::trim).filter(|etag| !etag.is_empty());
        let dry_run = self.dry_run.unwrap_or(false);
        let actor = Actor::new(cx.rights.role().as_str(), Self::NAME);
        let request = EditRequest { note, place, op, etag, dry_run, actor, fenced: true };
        cx.app.edit_page(&request, cx.rights).map(|answer| Edited::new(answer, dry_run))
    }
}

impl EditPage {
    /// The operation with what it needs. What it does not take is refused.
    fn op(&self) -> Result<EditOp<'_>> {
        let name = self.op.as_str();
        let refuse = |given: bool, argument: &str, ops: &str| match given {
            true => Err(Error::invalid_params(format!("{argument} is for op {ops}, not {name}"))),
            false => Ok(()),
        };
        let is = |ops: &[Op]| ops.contains(&self.op);
        refuse(self.find.is_some() && !is(&[Op::Find]), "find", "find")?;
        refuse(self.count.is_some() && !is(&[Op::Find]), "count", "find")?;
        refuse(self.fields.is_some() && !is(&[Op::Set, Op::Create]), "fields", "set and create")?;
        refuse(
            self.text.as_ref().is_some_and(|text| !text.is_empty()) && is(&[Op::Delete, Op::Set]),
            "text",
            "create, replace, append, prepend, before, after and find",
        )?;
        let text = || {
            self.text.as_deref().ok_or_else(|| {
                Error::invalid_params(match self.op {
                    Op::Find => "text is required: what takes the place of find, \"\" to remove it",
                    _ => "text is required: what to write",
                })
            })
        };
        Ok(EditOp::Change(match self.op {
            Op::Create => {
                let text = self.text.as_deref().unwrap_or_default();
                return Ok(EditOp::Create { text, fields: self.fields.as_ref() });
            }
            Op::Set => {
                let fields = self.fields.as_ref();
                return Ok(EditOp::Set(fields.ok_or_else(|| {
                    Error::invalid_params(
                        "fields is required for set: names and values, null removes one",
                    )
                })?));
            }
            Op::Replace => Edit::Replace(text()?),
            Op::Append => Edit::Append(text()?),
            Op::Prepend => Edit::Prepend(text()?),
            Op::Before => Edit::Before(text()?),
            Op::After => Edit::After(text()?),
            Op::Delete => Edit::Delete,
            Op::Find => Edit::Find {
                find: self.find.as_deref().ok_or_else(|| {
                    Error::invalid_params("find is required: the text to look for")
                })?,
                text: text()?,
                count: self.count.unwrap_or(1),
            },
        }))
    }
}

impl Edited {
    fn new(answer: EditAnswer, dry_run: bool) -> Self {
        Self {
            pid: answer.pid.map(|pid| pid.0),
            path: answer.path,
            etag: answer.etag,
            toc_path: answer.toc_path,
            match_id: answer.match_id.map(|id| id.to_string()),
            change: answer.change.map(|change| change.0),
            diff: answer.diff,
            merged: answer.merged,
            created: answer.created,
            dry_run,
        }
    }
}
