//! `remote`: the other bases of the config, and whether they answer.

use std::{process::ExitCode, sync::Arc, time::Instant};

use clap::{Args, Subcommand};
use serde_json::json;

use super::{Common, out};
use crate::{
    domain::{Error, Result},
    serve::remote::{Base, Remotes},
};

#[derive(Args)]
pub struct Remote {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Name the other bases that searches ask
    List {
        /// Print them as JSON
        #[arg(long)]
        json: bool,
    },
    /// Ask each base for its tools: what it speaks, and how it is searched (exit status 1: one fails)
    Check {
        /// The base [default: all]
        name: Option<String>,
        /// Print the answers as JSON
        #[arg(long)]
        json: bool,
    },
}

const NO_BASE: &str = "There are no other bases; name one with `[[remote]]` in the config file.";

impl Remote {
    pub fn run(self, common: &Common) -> Result<ExitCode> {
        let remotes = Remotes::new(&common.config()?);
        match self.command {
            Command::List { json } => list(remotes.all(), json)?,
            Command::Check { name, json } => {
                let named = |base: &&Arc<Base>| name.as_ref().is_none_or(|name| base.name == *name);
                let bases: Vec<_> = remotes.all().iter().filter(named).cloned().collect();
                if let (true, Some(name)) = (bases.is_empty(), &name) {
                    return Err(Error::invalid_params(format!(
                        "no `[[remote]]` is called `{name}`; `notewell remote list` names them"
                    )));
                }
                return check(&bases, json);
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn list(bases: &[Arc<Base>], as_json: bool) -> Result<()> {
    if as_json {
        let listed = bases.iter();
        let listed = listed
            .map(|base| json!({ "name": base.name, "url": base.url, "public": base.is_public }));
        return out::json(&listed.collect::<Vec<_>>());
    }
    if bases.is_empty() {
        out::note(NO_BASE);
    }
    for base in bases {
        let public = if base.is_public { "\tpublic" } else { "" };
        out::say(format_args!("{}\t{}{public}", base.name, base.url));
        warn(base);
    }
    Ok(())
}

fn check(bases: &[Arc<Base>], as_json: bool) -> Result<ExitCode> {
    if bases.is_empty() {
        out::note(NO_BASE);
    }
    let mut answers = Vec::new();
    let mut failed = false;
    for base in bases {
        let begun = Instant::now();
        let checked = base.check();
        base.end();
        let ms = begun.elapsed().as_millis() as u64;
        failed |= checked.is_err();
        match (&checked, as_json) {
            (Ok((revision, tools)), false) => {
                let read = tools
                    .read
                    .as_ref()
                    .map_or("none, so its notes are not opened", |tool| &tool.name);
                out::say(format_args!(
                    "{}\tok, {ms} ms, {revision}; searches with `{}`, reads with {read}",
                    base.name, tools.search.name
                ));
                warn(base);
            }
            (Err(error), false) => {
                out::say(format_args!("{}\tfailed: {}", base.name, error.plain()))
            }
            (Ok((revision, tools)), true) => answers.push(json!({
                "name": base.name,
                "ok": true,
                "ms": ms,
                "revision": revision,
                "search": tools.search.name,
                "read": tools.read.as_ref().map(|tool| &tool.name),
            })),
            (Err(error), true) => {
                answers.push(json!({ "name": base.name, "ok": false, "error": error.plain() }));
            }
        }
    }
    if as_json {
        out::json(&answers)?;
    }
    Ok(if failed { ExitCode::from(1) } else { ExitCode::SUCCESS })
}

fn warn(base: &Base) {
    if base.exposes_token {
        out::note(format_args!(
            "`{}` gets its token unencrypted; use an https address if it is outside your own network.",
            base.name
        ));
    }
}
