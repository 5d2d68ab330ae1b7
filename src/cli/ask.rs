//! `ask`: the tool of the same name, for a person at the shell.

use clap::Args;
use serde_json::{Map, Value};

use super::{
    Common,
    search::{ready, tell},
};
use crate::domain::Result;

#[derive(Args)]
pub struct Ask {
    /// The question, in any language
    #[arg(required = true)]
    question: Vec<String>,
    /// Leave the sources out
    #[arg(long)]
    no_sources: bool,
    /// Print the structured answer
    #[arg(long)]
    json: bool,
}

impl Ask {
    pub fn run(self, common: &Common) -> Result<()> {
        let mut arguments = Map::new();
        arguments.insert("question".into(), self.question.join(" ").into());
        arguments.insert("include_sources".into(), Value::Bool(!self.no_sources));
        tell(&ready(common)?, "ask", arguments, self.json)
    }
}
