//! `history` and `undo`: what was changed, and the way back.

use clap::Args;
use serde_json::{Value, json};

use super::{
    Common, out,
    tool::{given, print_answer},
};
use crate::{
    domain::{Error, Result, Silent},
    store::revisions::{Actor, ChangeId},
};

#[derive(Args)]
#[command(after_help = "\
Examples:
  notewell history                              the last changes
  notewell history \"coffee/Coffee brewing.md\"   those of one note
  notewell history p29:c32 --at 12              the note as it was after change 12
  notewell history p29:c32 --at 12 --restore")]
pub struct History {
    /// A path, a number, a card's or bookmark's id, a prompt's name; also of a deleted item
    #[arg(value_name = "REF")]
    item: Option<String>,
    /// Show the item as it was after this change; 0 is before the oldest
    #[arg(long, value_name = "CHANGE", requires = "item")]
    at: Option<i64>,
    /// Bring that version back
    #[arg(long, requires = "at")]
    restore: bool,
    /// How many changes
    #[arg(long)]
    limit: Option<usize>,
    /// Only changes before this one
    #[arg(long, value_name = "CHANGE")]
    before: Option<i64>,
    /// Print the structured answer
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
#[command(after_help = "\
What you changed since stays: where both changes touch the same place, nothing is undone and the
difference is shown. An undo is a change itself and can be undone.

Examples:
  notewell undo          the last change
  notewell undo 12       change 12, as `notewell history` numbers it")]
pub struct Undo {
    /// The change's number [default: the newest that is not undone]
    #[arg(value_name = "CHANGE")]
    change: Option<i64>,
    /// Leave items that were changed since as they are, and take back the others
    #[arg(long)]
    keep_changed: bool,
    /// Print what was done as JSON
    #[arg(long)]
    json: bool,
}

impl History {
    pub fn run(self, common: &Common) -> Result<()> {
        let app = common.open()?;
        app.refresh(&Silent)?;
        // A number is a pid; a note that is called by a number is found by its path.
        let pid = self.item.as_deref().and_then(|item| item.parse::<i64>().ok());
        let arguments = given([
            ("pid", pid.map(Value::from)),
            ("path", self.item.map(Value::from)),
            ("version", self.at.map(Value::from)),
            ("restore", self.restore.then_some(Value::Bool(true))),
            ("limit", self.limit.map(Value::from)),
            ("cursor", self.before.map(Value::from)),
        ]);
        print_answer(&app, "history", arguments, self.json)
    }
}

impl Undo {
    pub fn run(self, common: &Common) -> Result<()> {
        let app = common.open()?;
        app.refresh(&Silent)?;
        if self.change.is_some_and(|change| change < 1) {
            return Err(Error::invalid_params("changes are numbered from 1"));
        }
        let actor = Actor::shell("undo");
        let undone = app.undo(self.change.map(ChangeId), self.keep_changed, &actor)?;
        if self.json {
            let kept: Vec<Value> = undone
                .kept
                .iter()
                .map(|kept| {
                    json!({"name": kept.name, "pid": kept.pid.map(|pid| pid.0), "diff": kept.diff})
                })
                .collect();
            return out::json(&json!({
                "undone": undone.undone.0, "change": undone.change.0, "items": undone.items,
                "merged": undone.merged, "kept": kept,
            }));
        }
        out::say(undone.to_string());
        Ok(())
    }
}
