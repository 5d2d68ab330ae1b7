use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    app::history::{ChangeEntry, Conflict, Undone, Version},
    domain::{Error, Result},
    store::revisions::ChangeId,
    tools::{Answer, Cx, Effect, Right, Tool, Toolset},
};

/// Changes in an answer when the caller does not say.
const DEFAULT_LIMIT: usize = 20;
const MAX_LIMIT: usize = 200;

/// Versions of an item, also a deleted one, or the last changes of all. Undo a change or restore a version; both can be undone.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct History {
    pid: Option<i64>,
    /// Or card id, prompt name
    path: Option<String>,
    /// Show the item after this change; 0: the oldest
    version: Option<i64>,
    /// Bring `version` back
    restore: Option<bool>,
    undo: Option<i64>,
    limit: Option<usize>,
    cursor: Option<i64>,
}

#[derive(Serialize, JsonSchema)]
pub struct HistoryAnswer {
    #[serde(skip_serializing_if = "Option::is_none")]
    changes: Option<Vec<ChangeLine>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<VersionText>,
    /// The change that undid or restored.
    #[serde(skip_serializing_if = "Option::is_none")]
    change: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    undone: Option<UndoneItems>,
    #[serde(skip)]
    message: String,
}

#[derive(Serialize, JsonSchema)]
struct ChangeLine {
    change: i64,
    at: String,
    who: String,
    tool: String,
    summary: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    undoes: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    undone_by: Option<i64>,
    /// How many items it changed.
    items: usize,
    /// The first of them.
    first: Vec<ItemLine>,
}

#[derive(Serialize, JsonSchema)]
struct ItemLine {
    pid: Option<i64>,
    kind: &'static str,
    name: String,
    diff: String,
}

#[derive(Serialize, JsonSchema)]
struct VersionText {
    pid: i64,
    version: i64,
    kind: &'static str,
    name: String,
    /// Absent where the item does not exist in this version.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    /// From this version to what the item is now.
    diff: String,
}

/// What an undo did.
#[derive(Serialize, JsonSchema)]
pub struct UndoneItems {
    change: i64,
    items: usize,
    /// Items with a later change of somebody's that was kept.
    merged: Vec<String>,
    /// Items that were left as they are.
    kept: Vec<String>,
}

impl Tool for History {
    const NAME: &'static str = "history";
    const TITLE: &'static str = "History and undo";
    const TOOLSET: Toolset = Toolset::Vault;
    const RIGHT: Right = Right::History;
    const EFFECT: Effect = Effect::Toggles;
    type Answer = HistoryAnswer;

    fn call(self, cx: &Cx<'_>) -> Result<HistoryAnswer> {
        let actor = cx.rights.actor(Self::NAME);
        let names_item = self.pid.is_some() || self.path.is_some();
        if let Some(undo) = self.undo {
            if names_item || self.version.is_some() || self.restore == Some(true) {
                return Err(Error::invalid_params(
                    "`undo` takes back a whole change and goes alone; to bring one item back, give it with `version` and `restore`",
                ));
            }
            return Ok(undone(cx.app.undo(Some(ChangeId(undo)), false, &actor)?));
        }
        if let Some(version) = self.version.map(ChangeId) {
            let pid = cx.app.item_with_history(self.pid, self.path.as_deref())?;
            return Ok(match self.restore {
                Some(true) => restored(cx.app.restore(pid, version, &actor)?, version),
                _ => shown(cx.app.version(pid, version)?),
            });
        }
        if self.restore == Some(true) {
            return Err(Error::invalid_params("`restore` needs the `version` to bring back"));
        }
        let limit = self.limit.unwrap_or(DEFAULT_LIMIT);
        if !(1..=MAX_LIMIT).contains(&limit) {
            return Err(Error::invalid_params(format!(
                "limit `{limit}` is not between 1 and {MAX_LIMIT}"
            )));
        }
        let before = self.cursor.map(ChangeId);
        let found = match names_item {
            true => {
                let pid = cx.app.item_with_history(self.pid, self.path.as_deref())?;
                cx.app.versions(pid, before, limit)?
            }
            false => cx.app.changes(before, limit)?,
        };
        Ok(listed(found, limit))
    }
}

impl Answer for HistoryAnswer {
    fn text(&self) -> String {
        self.message.clone()
    }
}

fn empty(message: String) -> HistoryAnswer {
    HistoryAnswer {
        changes: None,
        next_cursor: None,
        version: None,
        change: None,
        undone: None,
        message,
    }
}

fn listed(found: Vec<ChangeEntry>, limit: usize) -> HistoryAnswer {
    let next_cursor = found.last().filter(|_| found.len() == limit).map(|entry| entry.change.id.0);
    let lines: Vec<ChangeLine> = found.into_iter().map(line).collect();
    let mut message: String = lines.iter().map(|line| format!("{}\n", line.text())).collect();
    if lines.is_empty() {
        message = "No changes are recorded.".to_owned();
    }
    if let Some(cursor) = next_cursor {
        message += &format!("There may be older ones: call again with `cursor`: {cursor}");
    }
    HistoryAnswer { changes: Some(lines), next_cursor, ..empty(message) }
}

fn line(entry: ChangeEntry) -> ChangeLine {
    let first = entry.items.into_iter().map(|item| ItemLine {
        pid: item.pid.map(|pid| pid.0),
        kind: item.kind.as_str(),
        name: item.name,
        diff: item.diff,
    });
    ChangeLine {
        change: entry.change.id.0,
        at: entry.change.at.to_string(),
        who: entry.change.actor.who,
        tool: entry.change.actor.tool,
        summary: entry.change.summary,
        undoes: entry.change.undoes.map(|id| id.0),
        undone_by: entry.undone_by.map(|id| id.0),
        items: entry.change.revisions,
        first: first.collect(),
    }
}

impl ChangeLine {
    /// `12  2026-01-31 10:00  owner  update_note  card "Shopping" (pid 5): milk → bread`.
    fn text(&self) -> String {
        let at: String = self.at.chars().take(16).map(|c| if c == 'T' { ' ' } else { c }).collect();
        let mut text = format!("{}  {at}  {}  {}  ", self.change, self.who, self.tool);
        let item = |item: &ItemLine| {
            let pid = item.pid.map_or(String::new(), |pid| format!(" (pid {pid})"));
            format!("{} \"{}\"{pid}: {}", item.kind, item.name, item.diff)
        };
        match (self.items, self.first.first()) {
            (_, None) => text += &self.summary,
            (0 | 1, Some(first)) => text += &item(first),
            (items, Some(first)) => {
                text += &format!("{}: {items} items, first {}", self.summary, item(first));
            }
        }
        if let Some(undoes) = self.undoes {
            text += &format!(" [undoes {undoes}]");
        }
        if let Some(by) = self.undone_by {
            text += &format!(" [undone by {by}]");
        }
        text
    }
}

fn shown(version: Version) -> HistoryAnswer {
    let kind = version.kind.as_str();
    let head = format!("{kind} \"{}\" (pid {})", version.name, version.pid);
    let mut message = match &version.text {
        Some(text) => format!("{head} in version {}:\n{text}", version.version),
        None => format!("{head} does not exist in version {}.", version.version),
    };
    if version.diff.is_empty() {
        message += "\n[It is the same now.]";
    } else {
        message += &format!("\n[Changed since:]\n{}", version.diff);
    }
    HistoryAnswer {
        version: Some(VersionText {
            pid: version.pid.0,
            version: version.version.0,
            kind,
            name: version.name,
            text: version.text,
            diff: version.diff,
        }),
        ..empty(message)
    }
}

fn restored(change: ChangeId, version: ChangeId) -> HistoryAnswer {
    let message = format!("Version {version} is back (change {change}).");
    HistoryAnswer { change: Some(change.0), ..empty(message) }
}

fn undone(undone: Undone) -> HistoryAnswer {
    HistoryAnswer {
        change: Some(undone.change.0),
        message: undone.to_string(),
        undone: Some(UndoneItems {
            change: undone.undone.0,
            items: undone.items,
            merged: undone.merged,
            kept: undone.kept.into_iter().map(|Conflict { name, .. }| name).collect(),
        }),
        ..empty(String::new())
    }
}
