use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    domain::{Kind, Result},
    tools::{Answer, Cx, Effect, Right, Tool, Toolset},
};

/// Delete a card (only the owner can bring it back, with history); toggle_archive only hides it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeleteNote {
    id: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Deleted {
    success: bool,
    message: String,
}

impl Answer for Deleted {
    fn text(&self) -> String {
        serde_json::json!({"success": self.success, "message": self.message}).to_string()
    }
}

impl Tool for DeleteNote {
    const NAME: &'static str = "delete_note";
    const TITLE: &'static str = "Delete card";
    const TOOLSET: Toolset = Toolset::Cards;
    const RIGHT: Right = Right::Write(Kind::Card);
    const EFFECT: Effect = Effect::Destroys;
    type Answer = Deleted;

    fn call(self, cx: &Cx<'_>) -> Result<Deleted> {
        cx.app.cards.delete(&self.id, cx.rights, &cx.rights.actor(Self::NAME))?;
        Ok(Deleted { success: true, message: "Note deleted".into() })
    }
}
