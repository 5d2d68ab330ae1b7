//! `notewell client NAME`: the exact set-up of a client, printed or merged into its file.

mod merge;

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use serde_json::{Map, Value, json};

use self::merge::{Merged, merge};
use super::{Common, out};
use crate::{
    config,
    domain::{Error, Result, error::Doing},
};

#[derive(Args)]
#[command(after_help = "\
Examples:
  notewell client claude-desktop --vault ~/notes --write
  notewell client vscode")]
pub struct Client {
    name: Name,
    /// Merge it into the client's own file; the file as it was is kept beside it
    #[arg(long)]
    write: bool,
    /// The client's file, when it is not where that client usually keeps it
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Name {
    ClaudeDesktop,
    ClaudeCode,
    Cursor,
    Vscode,
    N8n,
}

impl Name {
    /// Where this client keeps its servers: the key, and the file. n8n has no file.
    fn settings(self) -> Option<(&'static str, Option<PathBuf>)> {
        Some(match self {
            Name::ClaudeDesktop => ("mcpServers", claude_desktop_file()),
            Name::ClaudeCode => ("mcpServers", Some(PathBuf::from(".mcp.json"))),
            Name::Cursor => {
                ("mcpServers", config::home().map(|home| home.join(".cursor/mcp.json")))
            }
            Name::Vscode => ("servers", Some(PathBuf::from(".vscode/mcp.json"))),
            Name::N8n => return None,
        })
    }

    /// Whether this client has been used by this account.
    pub fn is_installed(self) -> bool {
        let home = |path: &str| config::home().is_some_and(|home| home.join(path).exists());
        match self {
            Name::ClaudeDesktop => {
                claude_desktop_file().and_then(|file| file.parent().map(Path::exists)) == Some(true)
            }
            Name::ClaudeCode => home(".claude.json") || home(".claude"),
            Name::Cursor => home(".cursor"),
            Name::Vscode => home(".vscode"),
            Name::N8n => false,
        }
    }
}

impl Client {
    pub fn new(name: Name) -> Self {
        Self { name, write: true, file: None }
    }

    pub fn run(self, common: &Common) -> Result<()> {
        let Some((key, place)) = self.name.settings() else { return self.n8n(common) };
        let server = stdio_server(common)?;
        let named = self.file.as_deref().map(config::expand_home);
        let file = named.or(place).ok_or_else(|| {
            Error::invalid_params("this account has no home directory; name the file with `--file`")
        })?;
        if self.write {
            match merge(&file, key, &server)? {
                Merged::Unchanged => {
                    out::say(format_args!("`notewell` was set up in {} already", file.display()));
                }
                Merged::Written { kept } => {
                    out::say(format_args!("`notewell` is set up in {}", file.display()));
                    if let Some(kept) = kept {
                        out::say(format_args!("The file as it was: {}", kept.display()));
                    }
                    out::say("Restart the client to see it.");
                }
            }
            return Ok(());
        }
        out::note(format_args!("For {}:", file.display()));
        out::json(&json!({ key: { "notewell": server } }))?;
        if self.name == Name::ClaudeCode {
            out::note("or: claude mcp add notewell -- notewell mcp");
        }
        Ok(())
    }

    /// n8n keeps its credentials in its own database: there is no file to write.
    fn n8n(&self, common: &Common) -> Result<()> {
        if self.write {
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

/// The command line for Claude Code over HTTP.
pub fn claude_code_http(endpoint: &str, secret: &str) -> String {
    format!(
        "claude mcp add --transport http notewell {endpoint} --header \"Authorization: Bearer {secret}\""
    )
}

/// How a client starts this very binary on this very library.
fn stdio_server(common: &Common) -> Result<Value> {
    let program = std::env::current_exe().doing("find this program's own path")?;
    let mut arguments = vec!["mcp".to_owned()];
    let mut environment = Map::new();
    for (name, path) in config::library_environment() {
        let replaced = match name {
            "NOTEWELL_CONFIG" => common.config.is_some(),
            "NOTEWELL_DATA" => common.data.is_some(),
            _ => false,
        };
        if !replaced {
            environment.insert(name.to_owned(), path.to_string_lossy().into());
        }
    }
    let mut add = |flag: &str, path: &Path| {
        let path = config::expand_home(path);
        let path = std::path::absolute(&path).unwrap_or(path);
        arguments.extend([flag.to_owned(), path.to_string_lossy().into_owned()]);
        path
    };
    if let Some(path) = &common.config {
        add("--config", path);
    }
    if let Some(path) = &common.data {
        add("--data", path);
    }
    for path in &common.vaults {
        let path = add("--vault", path);
        if !path.is_dir() {
            return Err(Error::invalid_params(format!(
                "there is no folder `{}`; the client could not start with this vault",
                path.display()
            )));
        }
    }
    let mut server =
        json!({ "type": "stdio", "command": program.to_string_lossy(), "args": arguments });
    if !environment.is_empty() {
        server["env"] = environment.into();
    }
    Ok(server)
}

fn claude_desktop_file() -> Option<PathBuf> {
    let dirs = directories::BaseDirs::new()?;
    Some(dirs.config_dir().join("Claude").join("claude_desktop_config.json"))
}
