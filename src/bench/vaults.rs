//! A vault: the first index, a restart, one changed note. The person's folder is copied and the copy
//! is edited; vectors are left out, as they come later and in the background.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use serde_json::json;
use tempfile::TempDir;

use super::{
    config,
    corpus::new_word,
    open, process,
    report::{Goal, Report, Times},
};
use crate::{
    app::App,
    config::{Config, EmbedProvider, Vault},
    domain::{Error, Progress, Result, Silent, Visible, error::Doing},
    store::pages::VaultRow,
    tools, vault,
};

const EDITS: usize = 20;
const WATCHED: usize = 5;
const RESTARTS: usize = 5;
const SEARCHES: usize = 200;

pub fn run(original: &Path, bar: &dyn Progress, folder: &TempDir) -> Result<Report> {
    let notes = folder.path().join("vault");
    let data = folder.path().join("data");
    let (files, bytes) = copy(original, &notes, bar)?;
    let megabytes = bytes as f64 / 1e6;
    let mut report = Report::new(format!("A vault of {} notes, {megabytes:.1} MB", files.len()));

    bar.report(0, None, "indexing");
    process::configure(&data, "[embed]\nprovider = \"none\"\n")?;
    let arguments = ["--vault".as_ref(), notes.as_os_str(), "index".as_ref(), "--words".as_ref()];
    let run = process::run(&data, &arguments)?;
    let seconds = run.took.as_secs_f64();
    report.add("first index of structure and text", seconds, "s", Goal::Below(20.0));
    if let Some(used) = run.processor {
        report.add("first index, processor time", used.as_secs_f64(), "s", Goal::None);
    }
    report.add("notes a second", files.len() as f64 / seconds, "a second", Goal::None);
    report.add("megabytes a second", megabytes / seconds, "MB/s", Goal::None);
    report.megabytes("memory, peak", run.peak, Goal::Below(300.0));
    report.megabytes("database and index on disk", Some(process::size(&data)), Goal::None);

    let mut config = config(&data, EmbedProvider::None);
    config.vault =
        vec![Vault { name: String::new(), path: notes.clone(), poll: false, author: None }];
    let mut restarts = Vec::new();
    for number in 0..RESTARTS {
        bar.report(number as u64, Some(RESTARTS as u64), "restarting");
        let started = Instant::now();
        restart(&config)?;
        restarts.push(started.elapsed());
    }
    let restarts = Times::new(restarts);
    report.add(
        format!("restart with nothing changed, p50 of {RESTARTS}"),
        restarts.at(0.5) / 1e3,
        "s",
        Goal::Below(1.0),
    );

    let app = Arc::new(restart(&config)?);
    report.add("passages", app.status()?.passages as f64, "", Goal::None);
    searches(&app, bar, &mut report)?;
    // A note that is kept out of search cannot be found by its new words.
    let rows = app.store.pages.list(None, usize::MAX, &Visible::everything())?;
    let searched = rows.into_iter().filter(|row| row.facts.page.searchable);
    let files: Vec<PathBuf> = searched.map(|row| PathBuf::from(row.path)).collect();
    if !files.is_empty() {
        super::editing::run(&app, &files, &search, bar, &mut report)?;
        edits(&app, &files, bar, &mut report)?;
    }
    Ok(report)
}

fn restart(config: &Config) -> Result<App> {
    let app = open(config.clone())?;
    app.refresh(&Silent)?;
    app.catch_up(&Silent)?;
    Ok(app)
}

/// The notes of a vault, copied: their paths and their bytes.
fn copy(original: &Path, to: &Path, bar: &dyn Progress) -> Result<(Vec<PathBuf>, u64)> {
    let walk = vault::walk(original, &vault::Scope::whole(Config::default().limits.note_bytes))?;
    let (mut paths, mut bytes) = (Vec::new(), 0);
    for (number, found) in walk.files.iter().enumerate() {
        let path = PathBuf::from(found.path.as_str());
        let target = to.join(&path);
        if let Some(folder) = target.parent() {
            std::fs::create_dir_all(folder).doing("copy the vault")?;
        }
        bytes += std::fs::copy(&found.file, &target).doing("copy the vault")?;
        paths.push(path);
        if number % 256 == 0 {
            bar.report(number as u64, Some(walk.files.len() as u64), "copying the vault");
        }
    }
    match paths.is_empty() {
        true => {
            Err(Error::invalid_params(format!("the vault `{}` has no notes", original.display())))
        }
        false => Ok((paths, bytes)),
    }
}

/// Asks in the words of the notes themselves: the first words of their titles.
fn searches(app: &App, bar: &dyn Progress, report: &mut Report) -> Result<()> {
    let rows = app.store.pages.list(None, usize::MAX, &Visible::everything())?;
    let step = (rows.len() / SEARCHES).max(1);
    let titles = rows.iter().step_by(step).take(SEARCHES).map(|row| {
        let words: Vec<&str> = row.facts.page.title.split_whitespace().take(6).collect();
        words.join(" ").replace(['"', ':', '-'], " ")
    });
    let questions: Vec<String> = titles.filter(|title| !title.trim().is_empty()).collect();
    let count = questions.len() as u64;
    let times = Times::of(std::process::id(), 0, count, |number| {
        bar.report(number, Some(count), "searching");
        let started = Instant::now();
        search(app, &questions[number as usize])?;
        Ok(started.elapsed())
    })?;
    report.times("search by words, through the tool door", &times, Goal::None, Goal::None);
    Ok(())
}

fn search(app: &App, question: &str) -> Result<tools::Output> {
    let arguments = json!({ "query": question });
    tools::call(app, &app.owner(), "search", arguments, &tools::Call::default())
}

/// Whether the best result shows the word.
fn has(found: &tools::Output, word: &str) -> bool {
    let snippet =
        found.structured.as_ref().map(|answer| &answer["results"][0]["matches"][0]["snippet"]);
    snippet.and_then(serde_json::Value::as_str).is_some_and(|snippet| snippet.contains(word))
}

/// Writes a new word into notes of the copy: how long until a search finds it.
fn edits(app: &Arc<App>, files: &[PathBuf], bar: &dyn Progress, report: &mut Report) -> Result<()> {
    let vaults = app.sources.register_vaults()?;
    let [row] = vaults.as_slice() else {
        return Err(Error::internal("the bench has one vault"));
    };
    let (mut read, mut seen) = (Vec::new(), Vec::new());
    for number in 0..EDITS {
        bar.report(number as u64, Some(EDITS as u64), "editing");
        let word = edit(row, pick(files, number, EDITS), number)?;
        let started = Instant::now();
        app.sources.sync_paths(row, &[pick(files, number, EDITS).to_path_buf()])?;
        read.push(started.elapsed());
        let found = search(app, &word)?;
        seen.push(started.elapsed());
        if !has(&found, &word) {
            return Err(Error::internal(format!(
                "an edit was not found at once: `{}`",
                found.text
            )));
        }
    }
    report.times("one changed note, read", &Times::new(read), Goal::None, Goal::None);
    report.times(
        "one changed note, read, indexed and found by the next search",
        &Times::new(seen),
        Goal::Below(50.0),
        Goal::None,
    );

    app.start()?;
    // The watcher's first look is over by then.
    std::thread::sleep(Duration::from_secs(3));
    let mut watched = Vec::new();
    for number in EDITS..EDITS + WATCHED {
        bar.report((number - EDITS) as u64, Some(WATCHED as u64), "editing");
        let word = edit(row, pick(files, number, EDITS + WATCHED), number)?;
        let started = Instant::now();
        while !has(&search(app, &word)?, &word) {
            if started.elapsed() > Duration::from_secs(30) {
                return Err(Error::internal("the watcher did not see an edit within 30 s"));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        watched.push(started.elapsed());
    }
    app.stop();
    report.times(
        "one changed note, seen by the watcher and found",
        &Times::new(watched),
        Goal::Below(1_000.0),
        Goal::None,
    );
    Ok(())
}

fn pick(files: &[PathBuf], number: usize, of: usize) -> &Path {
    &files[(number * files.len() / of).min(files.len() - 1)]
}

/// Adds a paragraph with a word that is nowhere else, and gives the word.
fn edit(row: &VaultRow, path: &Path, number: usize) -> Result<String> {
    let file = row.folder().join(path);
    let mut text = std::fs::read_to_string(&file).doing("read a note of the copy")?;
    let word = new_word(number as u64);
    text += &format!("\n\nHere is a new paragraph about {word}.\n");
    vault::replace(&file, text.as_bytes())?;
    Ok(word)
}
