//! `notewell client NAME`: the exact set-up of a client, printed or merged into its file.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use serde_json::{Map, Value, json};

use super::{Common, out};
use crate::{
    config,
    domain::{Error, Result, error::Doing},
};

#[derive(Args)]
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
enum Name {
    ClaudeDesktop,
    ClaudeCode,
    Cursor,
    Vscode,
    N8n,
}

impl Client {
    pub fn run(self, common: &Common) -> Result<()> {
        let server = stdio_server(common)?;
        let (key, place) = match self.name {
            Name::ClaudeDesktop => ("mcpServers", claude_desktop_file()),
            Name::ClaudeCode => ("mcpServers", Some(PathBuf::from(".mcp.json"))),
            Name::Cursor => {
                ("mcpServers", config::home().map(|home| home.join(".cursor/mcp.json")))
            }
            Name::Vscode => ("servers", Some(PathBuf::from(".vscode/mcp.json"))),
            Name::N8n => return self.n8n(common),
        };
        let file = self.file.clone().or(place).ok_or_else(|| {
            Error::invalid_params("this account has no home directory; name the file with `--file`")
        })?;
        if self.write {
            let kept = merge(&file, key, server)?;
            out::say(format_args!("`notewell` is set up in {}", file.display()));
            if let Some(kept) = kept {
                out::say(format_args!("The file as it was: {}", kept.display()));
            }
            out::say("Restart the client to see it.");
            return Ok(());
        }
        out::note(format_args!("For {}:", file.display()));
        out::say(format_args!("{:#}", json!({ key: { "notewell": server } })));
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
        let config = common.config(None)?;
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

/// How a client starts this very binary with these very flags.
fn stdio_server(common: &Common) -> Result<Value> {
    let program = std::env::current_exe().doing("find this program's own path")?;
    let mut arguments = vec!["mcp".to_owned()];
    let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    let mut add = |flag: &str, path: &Path| {
        arguments.push(flag.to_owned());
        arguments.push(absolute(path).to_string_lossy().into_owned());
    };
    if let Some(path) = &common.config {
        add("--config", path);
    }
    if let Some(path) = &common.data {
        add("--data", path);
    }
    for path in &common.vaults {
        add("--vault", path);
    }
    Ok(json!({ "type": "stdio", "command": program.to_string_lossy(), "args": arguments }))
}

fn claude_desktop_file() -> Option<PathBuf> {
    let dirs = directories::BaseDirs::new()?;
    Some(dirs.config_dir().join("Claude").join("claude_desktop_config.json"))
}

/// Sets our entry in a client's JSON file, leaving everything else, and keeps the file as it was.
fn merge(file: &Path, key: &str, server: Value) -> Result<Option<PathBuf>> {
    let before = match std::fs::read_to_string(file) {
        Ok(text) => Some(text),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => return Err(error).doing(format_args!("read `{}`", file.display())),
    };
    let mut settings: Value = match before.as_deref().map(str::trim) {
        None | Some("") => json!({}),
        Some(text) => serde_json::from_str(text).map_err(|error| {
            Error::invalid_params(format!(
                "`{}` is not plain JSON ({error}), so nothing was written; add by hand what `notewell client` prints without `--write`",
                file.display()
            ))
        })?,
    };
    let wrong_shape = || {
        Error::invalid_params(format!(
            "`{}` does not have the shape of this client's settings, so nothing was written",
            file.display()
        ))
    };
    let servers = settings
        .as_object_mut()
        .ok_or_else(wrong_shape)?
        .entry(key)
        .or_insert_with(|| Value::Object(Map::new()));
    servers.as_object_mut().ok_or_else(wrong_shape)?.insert("notewell".into(), server);
    let kept = match &before {
        None => None,
        Some(text) => {
            let stamp: String = crate::domain::Timestamp::now()
                .to_string()
                .chars()
                .filter(char::is_ascii_digit)
                .take(14)
                .collect();
            let mut name = file.as_os_str().to_owned();
            name.push(format!(".{stamp}.bak"));
            let kept = PathBuf::from(name);
            replace(&kept, text)?;
            Some(kept)
        }
    };
    replace(file, &format!("{settings:#}\n"))?;
    Ok(kept)
}

fn replace(file: &Path, text: &str) -> Result<()> {
    use std::io::Write;
    let folder = match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    std::fs::create_dir_all(folder).doing(format_args!("make `{}`", folder.display()))?;
    let write = || {
        let mut new = tempfile::NamedTempFile::new_in(folder)?;
        new.write_all(text.as_bytes())?;
        new.as_file().sync_all()?;
        new.persist(file)?;
        Ok(())
    };
    write().map_err(|error: std::io::Error| error).doing(format_args!("write `{}`", file.display()))
}
