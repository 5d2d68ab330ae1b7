//! `trends` and `recommend`: the tools of the same names, for a person at the shell.

use clap::Args;
use serde_json::json;

use super::{
    Common,
    search::ready,
    tool::{given, print_answer},
};
use crate::domain::Result;

#[derive(Args)]
#[command(after_help = "\
Examples:
  notewell trends --period 1m
  notewell trends --category AI-Tools --as-of 2025-06-30")]
pub struct Trends {
    /// 1d, 1w, 2w, 1m or 3m
    #[arg(long, default_value = "1w")]
    period: String,
    /// Only bookmarks of this category
    #[arg(long)]
    category: Option<String>,
    /// The end of the period [default: now]
    #[arg(long, value_name = "DATE")]
    as_of: Option<String>,
    /// Print the structured answer
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  notewell recommend a search engine for my notes --stack rust --need \"vector search\"")]
pub struct Recommend {
    /// What the project is about
    #[arg(required = true)]
    project: Vec<String>,
    /// A language or library it uses; repeat it for several
    #[arg(long, value_name = "NAME")]
    stack: Vec<String>,
    /// Something it needs; repeat it for several
    #[arg(long = "need", value_name = "TEXT")]
    needs: Vec<String>,
    /// Print the structured answer
    #[arg(long)]
    json: bool,
}

impl Trends {
    pub fn run(self, common: &Common) -> Result<()> {
        let arguments = given([
            ("period", Some(self.period.into())),
            ("category", self.category.map(Into::into)),
            ("asOf", self.as_of.map(Into::into)),
        ]);
        print_answer(&common.open()?, "trends", arguments, self.json)
    }
}

impl Recommend {
    pub fn run(self, common: &Common) -> Result<()> {
        let arguments = given([
            ("project_context", Some(self.project.join(" ").into())),
            ("tech_stack", Some(json!(self.stack))),
            ("needs", Some(json!(self.needs))),
        ]);
        print_answer(&ready(common)?, "recommend", arguments, self.json)
    }
}
