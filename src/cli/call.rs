use clap::Args;

use super::{Common, out, read_json, search::ready};
use crate::{domain::Result, tools};

#[derive(Args)]
#[command(after_help = "\
Examples:
  notewell call expand '{\"path\": \"guides/Home backup guide.md\"}'
  notewell call search '{\"query\": \"coffee\", \"limit\": 3}' --structured")]
pub struct Call {
    /// The tool's name
    name: String,
    /// Its arguments as a JSON object
    #[arg(default_value = "{}")]
    json: String,
    /// Print the structured answer instead of the text
    #[arg(long, alias = "json")]
    structured: bool,
}

impl Call {
    pub fn run(self, common: &Common) -> Result<()> {
        let arguments = read_json(&self.json)?;
        let app = ready(common)?;
        let around = tools::Call::default();
        let output = tools::call(&app, &app.owner(), &self.name, arguments, &around)?;
        match output.structured.filter(|_| self.structured) {
            Some(value) => out::json(&value)?,
            None => {
                out::say(output.text);
                output.aside.into_iter().for_each(out::note);
            }
        }
        Ok(())
    }
}
