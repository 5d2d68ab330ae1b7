use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    app::{
        edit::{MoveAnswer, MoveRequest},
        notes::NoteRef,
    },
    domain::{Error, Kind, Result, count},
    store::revisions::Actor,
    tools::{Answer, Cx, Effect, Right, Tool, Toolset},
};

/// Notes that an answer names, and links of each.
const MAX_NOTES_NAMED: usize = 20;
const MAX_LINKS_NAMED: usize = 3;

/// Rename or move a vault note and the links to it. to: path, folder/ or @trash.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MovePage {
    pid: Option<i64>,
    path: Option<String>,
    to: String,
    etag: Option<String>,
    dry_run: Option<bool>,
}

#[derive(Serialize, JsonSchema)]
pub struct Moved {
    #[serde(skip_serializing_if = "Option::is_none")]
    pid: Option<i64>,
    from: String,
    path: String,
    etag: String,
    /// The number to undo it by
    #[serde(skip_serializing_if = "Option::is_none")]
    change: Option<i64>,
    /// How many links were rewritten
    links: usize,
    /// The notes they are in
    rewritten: Vec<Rewritten>,
    /// Notes that link to what is now in the trash
    #[serde(skip_serializing_if = "Vec::is_empty")]
    broken: Vec<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    dry_run: bool,
}

#[derive(Serialize, JsonSchema)]
struct Rewritten {
    path: String,
    links: Vec<String>,
}

impl Answer for Moved {
    fn text(&self) -> String {
        let head = match self.change {
            Some(change) => format!("moved {} to {} (change {change})", self.from, self.path),
            None => format!("dry run, nothing was moved: {} to {}", self.from, self.path),
        };
        let mut text = format!("{head}\netag {}", self.etag);
        if self.links > 0 {
            text += &format!(
                "\n{} in {} rewritten:",
                count(self.links, "link"),
                count(self.rewritten.len(), "note")
            );
        }
        for note in self.rewritten.iter().take(MAX_NOTES_NAMED) {
            let shown: Vec<&str> =
                note.links.iter().take(MAX_LINKS_NAMED).map(String::as_str).collect();
            let more = if note.links.len() > MAX_LINKS_NAMED { ", …" } else { "" };
            text += &format!("\n- {}: {}{more}", note.path, shown.join(", "));
        }
        if self.rewritten.len() > MAX_NOTES_NAMED {
            text += &format!("\n- … and {} more", self.rewritten.len() - MAX_NOTES_NAMED);
        }
        if !self.broken.is_empty() {
            let shown: Vec<&str> =
                self.broken.iter().take(MAX_NOTES_NAMED).map(String::as_str).collect();
            text += &format!(
                "\n{} still to it: {}",
                match self.broken.len() {
                    1 => "1 note links".to_owned(),
                    many => format!("{many} notes link"),
                },
                shown.join(", ")
            );
        }
        text
    }
}

impl Tool for MovePage {
    const NAME: &'static str = "move_page";
    const TITLE: &'static str = "Move a note";
    const TOOLSET: Toolset = Toolset::Vault;
    const RIGHT: Right = Right::Write(Kind::Page);
    const EFFECT: Effect = Effect::Destroys;
    type Answer = Moved;

    fn call(self, cx: &Cx<'_>) -> Result<Moved> {
        let note = NoteRef { pid: self.pid, path: self.path, ..NoteRef::default() };
        if note.is_empty() {
            return Err(Error::invalid_params("name the note by pid or path"));
        }
        if self.to.trim().is_empty() {
            return Err(Error::invalid_params("to is required: a path, a folder/ or @trash"));
        }
        let dry_run = self.dry_run.unwrap_or(false);
        let request = MoveRequest {
            note,
            to: &self.to,
            etag: self.etag.as_deref().map(str::trim).filter(|etag| !etag.is_empty()),
            dry_run,
            actor: Actor::new(cx.rights.role().as_str(), Self::NAME),
            fenced: true,
        };
        cx.app.move_page(&request, cx.rights).map(|answer| Moved::new(answer, dry_run))
    }
}

impl Moved {
    fn new(answer: MoveAnswer, dry_run: bool) -> Self {
        let rewritten: Vec<Rewritten> = answer
            .rewritten
            .into_iter()
            .map(|note| Rewritten {
                path: note.path,
                links: note.links.iter().map(|(old, new)| format!("{old} → {new}")).collect(),
            })
            .collect();
        Self {
            pid: answer.pid.map(|pid| pid.0),
            from: answer.from,
            path: answer.path,
            etag: answer.etag,
            change: answer.change.map(|change| change.0),
            links: rewritten.iter().map(|note| note.links.len()).sum(),
            rewritten,
            broken: answer.broken,
            dry_run,
        }
    }
}
