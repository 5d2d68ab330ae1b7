//! `notewell client NAME`: the exact set-up of a client, printed, written into its file, or removed.

mod file;
mod json;
mod launch;
mod place;
mod toml;
mod yaml;

use std::path::PathBuf;

use clap::Args;

use self::{
    file::{Edited, Format},
    place::Place,
};
pub use self::{launch::Launch, place::Name};
use super::{Common, out};
use crate::{
    config,
    domain::{Error, Result},
};

#[derive(Args)]
#[command(after_help = "\
Examples:
  notewell client claude-desktop --vault ~/notes --write
  notewell client codex --write
  notewell client zed --remove
  notewell client vscode")]
pub struct Client {
    name: Name,
    /// Write it into the client's own file; the file as it was is kept beside it
    #[arg(long)]
    write: bool,
    /// Take it out of the client's file again
    #[arg(long, conflicts_with = "write")]
    remove: bool,
    /// The client's file, when it is not where that client usually keeps it
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
}

impl Client {
    pub fn new(name: Name) -> Self {
        Self { name, write: true, remove: false, file: None }
    }

    pub fn run(self, common: &Common) -> Result<()> {
        let named = self.file.as_deref().map(config::expand_home);
        let Some(place) = self.name.place(named)? else { return self.n8n(common) };
        let Place { format, file, keys } = &place;
        if self.remove {
            let edited = file::remove(file, *format, keys)?;
            report(&place, &edited, "is not set up in", "was not set up in");
            return Ok(());
        }
        let launch = Launch::new("mcp", common)?;
        let server = self.name.entry(&launch);
        if config::store_is_from_environment() {
            out::note(
                "The client does not see NOTEWELL_STORE_URL, and would start another library: put the address into `[store] url` of the config, and unset the variable.",
            );
        }
        launch.note_unseen("client");
        if self.write {
            let edited = file::set(file, *format, keys, &server)?;
            report(&place, &edited, "is set up in", "was set up already in");
            return Ok(());
        }
        out::note(format_args!("For {}:", file.display()));
        out::say(file::snippet(*format, keys, &server)?.trim_end());
        match self.name {
            Name::ClaudeCode => out::note("or: claude mcp add notewell -- notewell mcp"),
            Name::Codex => out::note("or: codex mcp add notewell -- notewell mcp"),
            Name::Gemini => out::note("or: gemini mcp add -s user notewell notewell mcp"),
            _ => {}
        }
        Ok(())
    }

    /// n8n keeps its credentials in its own database: there is no file to write.
    fn n8n(&self, common: &Common) -> Result<()> {
        if self.write || self.remove {
            return Err(Error::invalid_params(
                "n8n has no settings file; enter what `notewell client n8n` prints in its MCP Client node",
            ));
        }
        let config = common.config()?;
        out::say(format_args!(
            "MCP Client Tool node:\n  \
             SSE Endpoint     {0}/_system/sse\n  \
             (or HTTP         {0}/_system/mcp)\n  \
             Authentication   Bearer Auth\n  \
             Token            notewell token create --scope owner --name n8n",
            config.public_url()
        ));
        Ok(())
    }
}

fn report(place: &Place, edited: &Edited, done: &str, already: &str) {
    match edited {
        Edited::Unchanged => {
            out::say(format_args!("`notewell` {already} {}", place.file.display()));
        }
        Edited::Written { kept } => {
            out::say(format_args!("`notewell` {done} {}", place.file.display()));
            if let Some(kept) = kept {
                out::say(format_args!("The file as it was: {}", kept.display()));
            }
            let how = match place.format {
                Format::Yaml => "Start a new session of the client to see it.",
                _ => "Restart the client to see it.",
            };
            out::say(how);
        }
    }
}

/// The command line for Claude Code over HTTP.
pub fn claude_code_http(endpoint: &str, secret: &str) -> String {
    format!(
        "claude mcp add --transport http notewell {endpoint} --header \"Authorization: Bearer {secret}\""
    )
}
