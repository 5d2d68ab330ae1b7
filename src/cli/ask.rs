//! `ask`: the tool of the same name, for a person at the shell.

use super::{
    Common,
    search::ready,
    tool::{given, print_answer},
};
use crate::domain::Result;
use clap::Args;

#[derive(Args)]
#[command(after_help = "\
Examples:
  notewell ask how long do I bloom the coffee?
  notewell ask \"сколько варить свёклу?\" --json")]
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
        let arguments = given([
            ("question", Some(self.question.join(" ").into())),
            ("include_sources", Some((!self.no_sources).into())),
        ]);
        print_answer(&ready(common)?, "ask", arguments, self.json)
    }
}
