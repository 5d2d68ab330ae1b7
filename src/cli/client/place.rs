//! Where each client keeps its servers, in which format, and how it writes one.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use serde_json::{Value, json};

use super::{
    file::{self, Format},
    json,
    launch::Launch,
};
use crate::{
    config,
    domain::{Error, Result},
};

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Name {
    ClaudeDesktop,
    ClaudeCode,
    Cursor,
    Vscode,
    N8n,
    Codex,
    Gemini,
    Zed,
    Windsurf,
    Opencode,
    Goose,
}

/// The file of a client, and where in it the servers are.
pub struct Place {
    pub format: Format,
    pub file: PathBuf,
    pub keys: Vec<&'static str>,
}

impl Name {
    /// Where this client keeps its servers, or where they are in the file that is named. n8n has
    /// no file.
    pub fn place(self, named: Option<PathBuf>) -> Result<Option<Place>> {
        let (format, file, key) = match self {
            Name::ClaudeDesktop => (Format::Json, claude_desktop_file(), "mcpServers"),
            Name::ClaudeCode => (Format::Json, Some(PathBuf::from(".mcp.json")), "mcpServers"),
            Name::Cursor => (Format::Json, in_home(".cursor/mcp.json"), "mcpServers"),
            Name::Vscode => (Format::Json, Some(PathBuf::from(".vscode/mcp.json")), "servers"),
            Name::N8n => return Ok(None),
            Name::Codex => (Format::Toml, in_home(".codex/config.toml"), "mcp_servers"),
            Name::Gemini => (Format::Json, in_home(".gemini/settings.json"), "mcpServers"),
            Name::Zed => {
                (Format::Json, in_config("zed", "Zed", "settings.json"), "context_servers")
            }
            Name::Windsurf => {
                (Format::Json, in_home(".codeium/windsurf/mcp_config.json"), "mcpServers")
            }
            Name::Opencode => (Format::Json, opencode_file(), "mcp"),
            Name::Goose => (
                Format::Yaml,
                in_config("goose", "Block/goose/config", "config.yaml"),
                "extensions",
            ),
        };
        let file = named.or(file).ok_or_else(|| {
            Error::invalid_params("this account has no home directory; name the file with `--file`")
        })?;
        let mut keys = vec![key];
        // Its second version has the servers one level deeper, and still reads the first's.
        let nested = ["mcp", "servers"];
        if self == Name::Opencode
            && file::read(&file)?.is_some_and(|text| json::has_object(&text, &nested))
        {
            keys = nested.to_vec();
        }
        Ok(Some(Place { format, file, keys }))
    }

    /// Our entry, as this client writes one.
    pub fn entry(self, launch: &Launch) -> Value {
        let Launch { command, arguments, environment } = launch;
        let plain = json!({ "command": command, "args": arguments });
        let (mut entry, variables) = match self {
            Name::ClaudeDesktop | Name::ClaudeCode | Name::Cursor | Name::Vscode | Name::N8n => {
                (json!({ "type": "stdio", "command": command, "args": arguments }), "env")
            }
            Name::Codex | Name::Gemini | Name::Windsurf => (plain, "env"),
            Name::Zed => {
                (json!({ "source": "custom", "command": command, "args": arguments }), "env")
            }
            Name::Opencode => {
                let line: Vec<&String> = std::iter::once(command).chain(arguments).collect();
                (json!({ "type": "local", "command": line, "enabled": true }), "environment")
            }
            Name::Goose => (
                json!({
                    "enabled": true,
                    "type": "stdio",
                    "name": "notewell",
                    "description": "Your notes, cards, bookmarks and prompts",
                    "cmd": command,
                    "args": arguments,
                    "timeout": 300,
                }),
                "envs",
            ),
        };
        if !environment.is_empty() {
            entry[variables] = Value::Object(environment.clone());
        }
        entry
    }

    /// Whether this client has been used by this account.
    pub fn is_installed(self) -> bool {
        let home = |path: &str| in_home(path).is_some_and(|path| path.exists());
        let beside = |file: Option<PathBuf>| {
            file.and_then(|file| file.parent().map(Path::exists)) == Some(true)
        };
        match self {
            Name::ClaudeDesktop => beside(claude_desktop_file()),
            Name::ClaudeCode => home(".claude.json") || home(".claude"),
            Name::Cursor => home(".cursor"),
            Name::Vscode => home(".vscode"),
            Name::N8n => false,
            Name::Codex => home(".codex"),
            Name::Gemini => home(".gemini"),
            Name::Zed => beside(in_config("zed", "Zed", "settings.json")),
            Name::Windsurf => home(".codeium/windsurf"),
            Name::Opencode => beside(opencode_file()),
            Name::Goose => beside(in_config("goose", "Block/goose/config", "config.yaml")),
        }
    }
}

fn in_home(path: &str) -> Option<PathBuf> {
    config::home().map(|home| home.join(path))
}

/// A file in `~/.config`, also on a Mac; on Windows below the folder of that name in `%APPDATA%`.
fn in_config(folder: &str, windows: &str, name: &str) -> Option<PathBuf> {
    let dirs = directories::BaseDirs::new()?;
    Some(match () {
        () if cfg!(windows) => dirs.config_dir().join(windows).join(name),
        () if cfg!(target_os = "macos") => dirs.home_dir().join(".config").join(folder).join(name),
        () => dirs.config_dir().join(folder).join(name),
    })
}

/// The one of the two names that is there; the plain one where none is.
fn opencode_file() -> Option<PathBuf> {
    let commented = in_config("opencode", "opencode", "opencode.jsonc");
    let plain = in_config("opencode", "opencode", "opencode.json");
    match plain.as_ref().is_some_and(|file| file.exists()) {
        true => plain,
        false => commented.filter(|file| file.exists()).or(plain),
    }
}

fn claude_desktop_file() -> Option<PathBuf> {
    let dirs = directories::BaseDirs::new()?;
    Some(dirs.config_dir().join("Claude").join("claude_desktop_config.json"))
}
