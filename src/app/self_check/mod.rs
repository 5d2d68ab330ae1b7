//! Whether this program fits its library: versions, places, permissions, room. Nothing is migrated,
//! repaired or fetched, so it can be run before the first start of a new version.

mod config_file;
mod disk;
mod path;

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::{
    App,
    doctor::{Finding, Level, files, permissions},
    store_url,
};
use crate::{
    config::{Config, EmbedProvider},
    domain::{Result, query::words},
    store::{
        RESTORE_UNFINISHED, StoreUrl,
        sqlite::{self, SchemaVersion},
    },
};

/// The commit that this program was built from, where the build named it.
pub const COMMIT: Option<&str> = option_env!("NOTEWELL_COMMIT");

words!(
    /// How the schema of a database compares with the newest one that this program knows.
    Fit, "fit", { None = "none", Older = "older", Current = "current", Newer = "newer", Unnumbered = "unnumbered", NotAsked = "not asked" }
);

/// What this program is, and what it would open.
#[derive(Debug, Serialize)]
pub struct SelfCheck {
    /// The version of this program.
    pub version: &'static str,
    /// The commit that it was built from.
    pub commit: Option<&'static str>,
    /// Its file.
    pub program: Option<PathBuf>,
    /// The config file.
    pub config: Option<PathBuf>,
    /// Whether the config file exists; without it every setting has its default.
    pub config_exists: bool,
    /// The data directory.
    pub data: PathBuf,
    /// Bytes that are free on its disk.
    pub free_bytes: Option<u64>,
    /// Every database.
    pub databases: Vec<Database>,
    /// The state of the index; absent where it could not be read without changing something.
    pub index: Option<IndexState>,
    /// The embedding model.
    pub model: String,
    /// Every program of this name in `PATH`, in the order in which a shell looks.
    pub in_path: Vec<PathBuf>,
    /// What is wrong or good to know.
    #[serde(skip)]
    pub findings: Vec<Finding>,
}

/// A database and its schema.
#[derive(Debug, Serialize)]
pub struct Database {
    /// Its file, or its address without a password.
    pub place: String,
    /// Its schema; absent where it was not asked or has no number.
    pub schema: Option<u32>,
    /// The newest schema that this program knows.
    pub known: Option<u32>,
    /// The version of the program that brought it to this schema.
    pub written_by: Option<String>,
    /// How the two compare.
    pub fit: Fit,
}

impl Database {
    fn unknown(place: String, fit: Fit) -> Self {
        Self { place, schema: None, known: None, written_by: None, fit }
    }
}

/// How far the index is.
#[derive(Debug, Serialize)]
pub struct IndexState {
    /// Passages that can be found.
    pub passages: u64,
    /// Changes that are not in it yet.
    pub behind: u64,
    /// Whether this version makes it anew.
    pub outdated: bool,
    /// Passages that can be found by meaning, and passages in all.
    pub vectors: Option<(u64, u64)>,
}

/// Looks at the program, its settings and its library.
pub fn self_check(config: &Config, file: Option<&Path>) -> Result<SelfCheck> {
    let mut findings = Vec::new();
    let program = std::env::current_exe().ok();
    let in_path = path::programs(program.as_deref(), &mut findings);
    findings.extend(config_file::open_to_changes(file));
    findings.extend(permissions::open_secret(config));
    let data = &config.data;
    let free_bytes = disk::free(data);
    if data.is_dir() {
        findings.extend(files::room(data));
        findings.extend(permissions::open_to_others(config)?);
        if let Some(few) = free_bytes.and_then(|free| disk::few(free, data)) {
            findings.push(few);
        }
        if data.join(RESTORE_UNFINISHED).exists() {
            findings.push(Finding::wrong(
                format!("a restore into `{}` did not finish", data.display()),
                "run `notewell restore BACKUP --force` again",
            ));
        }
    } else {
        findings.push(Finding::note(
            format!("there is no data directory `{}` yet", data.display()),
            "`notewell init` makes it",
        ));
        findings.extend(files::closed(data));
    }
    let database = library(config, &mut findings)?;
    // Only a library that needs no migration can be opened without changing it.
    let index = match (database.fit, data.join(RESTORE_UNFINISHED).exists()) {
        (Fit::Current, false) => index(config, &mut findings)?,
        _ => None,
    };
    let mut databases = vec![database];
    // Its layout is Memento's, which has no number.
    let cards = config.cards_database();
    if cards.exists() {
        databases.push(Database::unknown(cards.display().to_string(), Fit::Unnumbered));
    }
    findings.sort_by_key(|finding| finding.level == Level::Note);
    Ok(SelfCheck {
        version: env!("CARGO_PKG_VERSION"),
        commit: COMMIT,
        program,
        config: file.map(Path::to_path_buf),
        config_exists: file.is_some_and(Path::exists),
        data: data.clone(),
        free_bytes,
        databases,
        index,
        model: model(config),
        in_path,
        findings,
    })
}

/// The library's database, and a finding unless it is as this program writes it.
fn library(config: &Config, findings: &mut Vec<Finding>) -> Result<Database> {
    let known = sqlite::newest_schema();
    let directory = match store_url(config)? {
        StoreUrl::Sqlite(directory) => directory,
        StoreUrl::Postgres(address) => {
            findings.push(Finding::note(
                format!("the library is on the server `{address}`, which was not asked"),
                "`notewell doctor` connects to it, and refuses a schema that is newer than this program",
            ));
            return Ok(Database::unknown(address.to_string(), Fit::NotAsked));
        }
    };
    let path = directory.join("notewell.db");
    let version = match sqlite::schema_version(&path) {
        Ok(version) => version,
        Err(error) => {
            findings.push(Finding::wrong(
                format!("`{}` cannot be read: {error}", path.display()),
                "put the file back from a backup, or make it readable for this account",
            ));
            None
        }
    };
    let fit = fit(version.as_ref());
    let shown = path.display();
    let found = version.as_ref().map_or(0, |version| version.found);
    let written_by = version.as_ref().and_then(|version| version.written_by.clone());
    let writer = written_by.as_deref().map_or(String::new(), |version| format!(" {version}"));
    match fit {
        Fit::Older => findings.push(Finding::note(
            format!("`{shown}` has schema {found} and this program writes {known}"),
            "the next command that opens the library brings it up to date; `notewell backup DIR` with the earlier version keeps a way back",
        )),
        Fit::Newer => findings.push(Finding::wrong(
            format!("`{shown}` was written by a newer Notewell{writer} (schema {found}, this one knows {known})"),
            "update Notewell, or point `--data` at another directory; this program opens none of it and changes nothing",
        )),
        Fit::None | Fit::Current | Fit::Unnumbered | Fit::NotAsked => {}
    }
    let schema = version.map(|version| version.found);
    Ok(Database { place: path.display().to_string(), schema, known: Some(known), written_by, fit })
}

fn fit(version: Option<&SchemaVersion>) -> Fit {
    match version {
        None => Fit::None,
        Some(version) => match version.found.cmp(&version.known) {
            std::cmp::Ordering::Less => Fit::Older,
            std::cmp::Ordering::Equal => Fit::Current,
            std::cmp::Ordering::Greater => Fit::Newer,
        },
    }
}

fn index(config: &Config, findings: &mut Vec<Finding>) -> Result<Option<IndexState>> {
    if !config.data.join("index").is_dir() {
        findings.push(Finding::note("there is no index yet", "`notewell index` makes it"));
        return Ok(None);
    }
    let app = App::open(config.clone(), Vec::new())?;
    let status = app.index.status()?;
    if status.outdated {
        findings.push(Finding::note(
            "the index is of an earlier version",
            "a running server makes it anew and searches the old one meanwhile; `notewell index` does it now",
        ));
    }
    Ok(Some(IndexState {
        passages: status.passages,
        behind: status.freshness.behind,
        outdated: status.outdated,
        vectors: status.vectors.map(|vectors| (vectors.done, vectors.total)),
    }))
}

/// The model that passages are embedded with, as the settings name it.
fn model(config: &Config) -> String {
    match config.embed.provider {
        EmbedProvider::None => "none: search by words only".to_owned(),
        EmbedProvider::Embedded => format!("{}, in this program", notewell_model::ID),
        EmbedProvider::Http => format!("{}, at {}", config.embed.model, config.embed.url),
    }
}
