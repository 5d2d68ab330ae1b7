//! `notewell init`: from nothing to a first search.
//!
//! Finds vaults, writes the config, sets up a client and indexes. It asks on a terminal; elsewhere
//! it takes flags and says which it needs.

mod ask;
mod found;

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use super::{
    Common,
    bar::Bar,
    client::{Client, Name},
    interrupt, out, results,
    tool::{given, structured},
};
use crate::{
    app::App,
    config,
    domain::{Error, Result, count, error::Doing},
    vault,
};

#[derive(Args)]
#[command(after_help = "\
Examples:
  notewell init                                        asks
  notewell init --yes --vault ~/notes                  asks nothing
  notewell init --yes --vault ~/notes --client cursor

An existing config file is never changed.")]
pub struct Init {
    /// Set up this client too
    #[arg(long, value_name = "NAME")]
    client: Option<Name>,
    /// Ask nothing: take the vaults that are named or found, and no client but the one named
    #[arg(long)]
    yes: bool,
}

impl Init {
    pub fn run(self, common: &Common) -> Result<()> {
        let asks = !self.yes && ask::can();
        let folders = self.vaults(common, asks)?;
        let client = match self.client {
            None if asks => which_client()?,
            named => named,
        };
        let place = common.config.as_deref().map(config::expand_home);
        let place = place.or_else(config::named_file).or_else(config::default_file);
        let place = place.ok_or_else(|| {
            Error::invalid_params(
                "this account has no home directory; say where to write the config with `--config FILE`",
            )
        })?;
        // The vaults are passed on for an existing config, which stays as it is.
        let data = common.data.as_deref().map(absolute).transpose()?;
        let mut library =
            Common { config: common.config.clone(), data: data.clone(), vaults: folders.clone() };
        if place.exists() {
            out::say(format_args!("Config:  {} was there and stays as it is", place.display()));
        } else {
            write_config(&place, data.as_deref(), &folders)?;
            out::say(format_args!("Config:  {}", place.display()));
            library.vaults.clear();
        }
        let app = index(&library)?;
        library.vaults.clear();
        match client {
            Some(name) => Client::new(name).run(&library)?,
            None => out::say(
                "Client:  none yet; `notewell client claude-desktop --write` sets one up, `notewell client --help` names the others",
            ),
        }
        embed(&app)
    }

    /// The folders of notes: those named with `--vault`, else those that are found.
    fn vaults(&self, common: &Common, asks: bool) -> Result<Vec<PathBuf>> {
        if !common.vaults.is_empty() {
            return common.vaults.iter().map(|folder| existing(folder)).collect();
        }
        let found = found::obsidian_vaults();
        if !asks && !self.yes {
            let found = found.iter().map(|folder| format!("\n  --vault {}", folder.display()));
            let found: String = found.collect();
            return Err(Error::invalid_params(match found.is_empty() {
                true => "there is no terminal to ask on; name your notes: `notewell init --yes --vault DIR`".to_owned(),
                false => format!(
                    "there is no terminal to ask on; `notewell init --yes` takes these vaults, or name some of them:{found}"
                ),
            }));
        }
        if !found.is_empty() && !asks {
            return Ok(found);
        }
        match found.is_empty() {
            true if !asks => Err(Error::invalid_params(
                "no Obsidian vault was found; name the folder of your notes with `--vault DIR`",
            )),
            true => ask::text("No Obsidian vault was found. The folder of your Markdown notes: ")
                .and_then(|folder| existing(Path::new(&folder)))
                .map(|folder| vec![folder]),
            false => ask::several("These vaults were found:", found),
        }
    }
}

/// The clients that this account has, to choose one from.
fn which_client() -> Result<Option<Name>> {
    let names = Name::value_variants().iter().copied().filter(|name| name.is_installed());
    let names: Vec<Name> = names.collect();
    if names.is_empty() {
        return Ok(None);
    }
    let shown = names.iter().filter_map(ValueEnum::to_possible_value);
    let shown: Vec<String> = shown.map(|value| value.get_name().to_owned()).collect();
    Ok(ask::one("Set up a client?", &shown)?.map(|at| names[at]))
}

fn absolute(path: &Path) -> Result<PathBuf> {
    let path = config::expand_home(path);
    std::path::absolute(&path).doing(format_args!("find `{}`", path.display()))
}

fn existing(folder: &Path) -> Result<PathBuf> {
    let folder = absolute(folder)?;
    match folder.is_dir() {
        true => Ok(folder),
        false => Err(Error::invalid_params(format!(
            "there is no folder `{}`; name the folder of your notes",
            folder.display()
        ))),
    }
}

fn write_config(place: &Path, data: Option<&Path>, vaults: &[PathBuf]) -> Result<()> {
    let quoted = |path: &Path| toml::Value::String(path.to_string_lossy().into_owned()).to_string();
    let mut text = String::from(
        "# Written by `notewell init`. Every other key and its default: config.example.toml\n",
    );
    if let Some(data) = data {
        text += &format!("\ndata = {}\n", quoted(data));
    }
    for folder in vaults {
        text += &format!("\n[[vault]]\npath = {}\n", quoted(folder));
    }
    if let Some(folder) = place.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder).doing(format_args!("make `{}`", folder.display()))?;
    }
    vault::replace(place, text.as_bytes())
}

/// Reads and indexes everything, and shows that it can be found.
fn index(library: &Common) -> Result<App> {
    interrupt::explain(super::index::INTERRUPTED)?;
    let app = library.open()?;
    let bar = Bar::new();
    app.refresh(&bar)?;
    app.prepare(&bar)?;
    bar.finish();
    let status = app.status()?;
    for vault in &status.vaults {
        let notes = count(vault.pages, "note");
        out::say(format_args!("Vault:   {} with {notes}", vault.root));
    }
    first_search(&app)?;
    Ok(app)
}

/// Computes the vectors that are missing, which takes minutes for a large library.
fn embed(app: &App) -> Result<()> {
    let Some((done, total)) = app.status()?.vectors.filter(|(done, total)| done < total) else {
        return Ok(());
    };
    out::note(format_args!(
        "Embedding {} for search by meaning. Search works already; Ctrl-C keeps what is done.",
        count(total - done, "passage")
    ));
    let bar = Bar::new();
    app.embed_all(&bar)?;
    bar.finish();
    Ok(())
}

/// Searches for the title of the note that was changed last.
fn first_search(app: &App) -> Result<()> {
    let newest = structured(
        app,
        "search",
        given([("query", Some("kind:page".into())), ("limit", Some(1.into()))]),
    )?;
    let Some(title) = newest["results"][0]["title"].as_str() else {
        out::say(
            "No note can be searched yet. Notewell follows the folder: write one, then `notewell search WORDS`.",
        );
        return Ok(());
    };
    let arguments = [("query", Some(title.into())), ("limit", Some(3.into()))];
    let answer = structured(app, "search", given(arguments))?;
    out::say(format_args!("\nA first search: notewell search {title}\n"));
    results::print_few(&answer, title);
    out::say("");
    Ok(())
}
