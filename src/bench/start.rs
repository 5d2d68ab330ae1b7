//! How soon a client gets its first answer, and what the process costs while nobody asks.

use std::{path::Path, time::Duration};

use serde_json::json;
use tempfile::TempDir;

use super::{
    connection::Connection,
    corpus::Corpus,
    process::{self, Client, Served},
    report::{Goal, Report, Times},
};
use crate::{
    domain::{Progress, Result, error::Doing},
    vault,
};

const RUNS: u64 = 20;
/// Notes in the library that is indexed already.
const NOTES: i64 = 200;
/// Requests over which the processor time is averaged.
const PINGS: u32 = 5_000;

pub fn run(seed: u64, bar: &dyn Progress, folder: &TempDir) -> Result<Report> {
    let mut report = Report::new(format!("Start over stdin and stdout, {RUNS} runs each"));
    let folder = folder.path();
    let empty = |run: u64| folder.join(format!("empty-{run}"));
    let mut first = Vec::new();
    for run in 0..RUNS {
        bar.report(run, Some(RUNS * 2), "starting");
        first.push(start(&empty(run))?);
    }
    add_rows(&mut report, "empty library", &first);
    report.megabytes("empty library: memory at rest", at_rest(&empty(0))?, Goal::Below(30.0));

    let data = indexed(seed, folder)?;
    let mut first = Vec::new();
    for run in 0..RUNS {
        bar.report(RUNS + run, Some(RUNS * 2), "starting");
        first.push(start(&data)?);
    }
    add_rows(&mut report, &format!("{NOTES} notes indexed"), &first);
    let memory = at_rest(&data)?;
    report.megabytes(format!("{NOTES} notes indexed: memory at rest"), memory, Goal::Below(30.0));
    if let Some(each) = ping(&data)? {
        report.add("`ping` over bare POST: processor time each", each, "ms", Goal::None);
    }
    Ok(report)
}

fn add_rows(report: &mut Report, which: &str, first: &[(Duration, Duration)]) {
    let answer = Times::new(first.iter().map(|(answer, _)| *answer));
    let tools = Times::new(first.iter().map(|(_, tools)| *tools));
    report.add(format!("{which}: first answer, fastest"), answer.at(0.0), "ms", Goal::None);
    report.add(format!("{which}: first answer, p50"), answer.at(0.5), "ms", Goal::Below(50.0));
    report.add(format!("{which}: first answer, p95"), answer.at(0.95), "ms", Goal::None);
    report.add(format!("{which}: list of tools, p50"), tools.at(0.5), "ms", Goal::None);
}

/// From exec to the answer of `initialize`, and to the list of tools.
fn start(data: &Path) -> Result<(Duration, Duration)> {
    if !data.with_extension("toml").exists() {
        process::configure(data, "")?;
    }
    let mut client = Client::start(data)?;
    client.initialize()?;
    let answer = client.age();
    client.ask("tools/list", json!({}))?;
    let tools = client.age();
    client.end()?;
    Ok((answer, tools))
}

fn at_rest(data: &Path) -> Result<Option<u64>> {
    let mut client = Client::start(data)?;
    client.initialize()?;
    client.ask("tools/list", json!({}))?;
    std::thread::sleep(Duration::from_secs(1));
    let memory = process::memory(client.id(), "VmRSS");
    client.end()?;
    Ok(memory)
}

/// The processor time that the server spends on one `ping`, in milliseconds.
fn ping(data: &Path) -> Result<Option<f64>> {
    let server = Served::start(data)?;
    let mut connection = Connection::open(&server.address, None)?;
    let mut ask = |times: u32| -> Result<Option<Duration>> {
        for _ in 0..times {
            connection.ask("ping", json!({}))?;
        }
        Ok(process::processor(server.id()))
    };
    // The first requests wait for the vault to be read, and warm up.
    std::thread::sleep(Duration::from_secs(2));
    let (before, after) = (ask(PINGS / 10)?, ask(PINGS)?);
    server.end()?;
    let used = before.zip(after).map(|(before, after)| after.saturating_sub(before));
    Ok(used.map(|used| used.as_secs_f64() * 1000.0 / f64::from(PINGS)))
}

/// A data directory with notes, their words and their vectors.
fn indexed(seed: u64, folder: &Path) -> Result<std::path::PathBuf> {
    let notes = folder.join("notes");
    std::fs::create_dir_all(&notes).doing("make a vault")?;
    let corpus = Corpus::new(seed, 1);
    for note in 1..=NOTES {
        vault::replace(&notes.join(format!("{note}.md")), corpus.markdown(note).as_bytes())?;
    }
    // Instructions of the person's own, which a request that does not need them must not pay for.
    let text = "---\nfree: true\nmcp_method: initialize\n---\nSearch first. {{note:1}}\n";
    vault::replace(&notes.join("initialize.md"), text.as_bytes())?;
    let data = folder.join("indexed");
    process::configure(&data, "")?;
    process::run(&data, &["--vault".as_ref(), notes.as_os_str(), "index".as_ref()])?;
    Ok(data)
}
