use clap::{Args, CommandFactory};
use clap_complete::Shell;

use super::{Cli, out};
use crate::domain::Result;

#[derive(Args)]
pub struct Completions {
    shell: Shell,
}

impl Completions {
    pub fn run(self) -> Result<()> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), "notewell", &mut script);
        out::say(String::from_utf8_lossy(&script).trim_end());
        Ok(())
    }
}
