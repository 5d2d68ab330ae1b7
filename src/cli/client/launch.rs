//! How a client or a supervisor starts this very binary on this very library.

use std::path::Path;

use serde_json::{Map, Value};

use super::{Common, out};
use crate::{
    config,
    domain::{Error, Result, error::Doing},
};

/// A command line and its environment.
pub struct Launch {
    pub command: String,
    pub arguments: Vec<String>,
    pub environment: Map<String, Value>,
}

impl Launch {
    /// A subcommand of this binary with the flags and the environment of this command.
    pub fn new(subcommand: &str, common: &Common) -> Result<Self> {
        let program = std::env::current_exe().doing("find this program's own path")?;
        let mut arguments = vec![subcommand.to_owned()];
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
                    "there is no folder `{}`; it would not start with this vault",
                    path.display()
                )));
            }
        }
        let command = program.to_string_lossy().into_owned();
        Ok(Self { command, arguments, environment })
    }

    /// Names the settings of this environment that `who` does not see. Their values may be secrets.
    pub fn note_unseen(&self, who: &str) {
        for unseen in config::unseen_settings() {
            let key = unseen.key;
            // The flag says it instead.
            if unseen.name == "NOTEWELL_LISTEN" && self.arguments.iter().any(|a| a == "--listen") {
                continue;
            }
            let instead = match unseen.is_secret() {
                true => format!("name a file that only you can read as `{key}` of the config"),
                false => format!("put it into the config as `{key}`"),
            };
            out::note(format_args!("The {who} does not see {}: {instead}.", unseen.name));
        }
    }
}
