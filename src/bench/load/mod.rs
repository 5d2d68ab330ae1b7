//! Many clients at once for some minutes, and what is left of the memory when they are gone.

mod clients;
mod http;
mod tally;

use std::{
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use tempfile::TempDir;

use self::{
    clients::{Idle, Mixed, Site},
    tally::Tally,
};
use super::{
    corpus::Corpus,
    process::{self, Served},
    report::{Goal, Report, Times},
};
use crate::{
    domain::{Error, Progress, Result, error::Doing},
    vault,
};

const NOTES: i64 = 1000;
/// Tokens that the clients share.
const TOKENS: usize = 20;
const CHURNING: usize = 4;
const SLOW: usize = 8;
/// Clients before the memory is measured for the first time, and the calls of each: enough to fill the
/// caches, which are bounded, and some at once, for those that work side by side needs.
const FIRST: usize = 8;
const WARM: usize = 1000;
/// How long the server may take to give memory back: the last time that it does is after 30 seconds
/// without a request.
const REST: Duration = Duration::from_secs(45);

/// What to put on the server.
#[derive(Debug, Clone, Copy)]
pub struct Load {
    /// For how long.
    pub minutes: f64,
    /// Clients that ask and write.
    pub clients: usize,
    /// Event streams that stay open.
    pub idle: usize,
}

pub fn run(load: Load, seed: u64, bar: &dyn Progress, folder: &TempDir) -> Result<Report> {
    let corpus = Corpus::new(seed, 1);
    let data = indexed(&corpus, folder.path(), load)?;
    let mut tokens = Vec::new();
    for number in 0..TOKENS {
        let name = format!("bench-{number}");
        let printed =
            process::output(&data, &["token", "create", "--scope", "owner", "--name", &name])?;
        tokens.push(printed.split_whitespace().last().unwrap_or_default().to_owned());
    }
    let server = Served::start(&data)?;
    let resident = || process::memory(server.id(), "VmRSS");
    let (tally, warm) = (Tally::default(), Tally::default());
    let over = AtomicBool::new(false);
    let (address, tokens) = (server.address.as_str(), tokens.as_slice());
    let site = |tally| Site { address, tokens, corpus: &corpus, notes: NOTES, tally, over: &over };
    // The first calls load the model and open the index.
    let first = site(&warm);
    let warm_up = |number| Mixed::new(&first, number).warm(WARM);
    std::thread::scope(|scope| {
        let clients: Vec<_> = (0..FIRST).map(|n| scope.spawn(move || warm_up(n))).collect();
        clients.into_iter().try_for_each(|client| {
            client.join().unwrap_or_else(|_| Err("a client panicked".to_owned()))
        })
    })
    .map_err(|why| Error::internal(format!("the server does not answer before the load: {why}")))?;
    std::thread::sleep(REST);
    let before = resident();
    let site = site(&tally);
    let idle = Idle::open(&site, load.idle);
    let total = Duration::from_secs_f64(load.minutes * 60.0);
    let mut quarters = Vec::new();
    std::thread::scope(|scope| {
        for number in 0..load.clients {
            let client = Mixed::new(&site, number);
            scope.spawn(move || client.run());
        }
        for number in 0..CHURNING {
            let site = &site;
            scope.spawn(move || clients::churn(site, number));
        }
        for number in 0..SLOW {
            let site = &site;
            scope.spawn(move || clients::slow_reader(site, number));
        }
        let started = Instant::now();
        while started.elapsed() < total {
            bar.report(started.elapsed().as_secs(), Some(total.as_secs()), "asking");
            std::thread::sleep(Duration::from_millis(250).min(total));
            if started.elapsed() >= total.mul_f64((quarters.len() + 1) as f64 / 4.0) {
                quarters.push(resident());
            }
        }
        over.store(true, Ordering::Relaxed);
    });
    let open = idle.still_open();
    let opened = idle.len();
    idle.end(&site);
    let peak = process::memory(server.id(), "VmHWM");
    std::thread::sleep(REST);
    let after = resident();
    over.store(false, Ordering::Relaxed);
    Mixed::new(&first, 0).warm(1).map_err(|why| {
        Error::internal(format!("the server does not answer after the load: {why}"))
    })?;
    server.end()?;

    let mut report = Report::new(format!(
        "{} mixed clients, each a call about every second, {} idle streams, {CHURNING} that connect anew 20 times a second, {SLOW} slow readers, for {} minutes",
        load.clients, load.idle, load.minutes
    ));
    let (times, counts) = tally.into_parts();
    for (call, times) in times {
        let goal = if call == "search" { Goal::Below(100.0) } else { Goal::None };
        report.times(&format!("`{call}`"), &Times::new(times), Goal::None, goal);
    }
    for (key, count) in &counts.limits {
        report.add(format!("refused by `{key}`"), *count as f64, "calls", Goal::None);
    }
    for (kind, count) in &counts.errors {
        report.error(kind.as_str(), *count);
    }
    let lost = opened.saturating_sub(open);
    report.add(
        "idle streams open until the end",
        open as f64,
        "streams",
        Goal::AtLeast(opened as f64),
    );
    if lost > 0 {
        report.error("idle stream closed by the server", lost as u64);
    }
    report.add("errors", report.errors() as f64, "calls", Goal::Below(1.0));
    report.megabytes("memory before", before, Goal::None);
    for (quarter, memory) in quarters.into_iter().enumerate() {
        report.megabytes(format!("memory after {} of 4 quarters", quarter + 1), memory, Goal::None);
    }
    report.megabytes("memory at most", peak, Goal::None);
    report.megabytes("memory at rest afterwards", after, Goal::None);
    if let (Some(before), Some(after)) = (before, after) {
        let share = after as f64 / before.max(1) as f64;
        report.add("memory afterwards to before", share, "times", Goal::Below(1.1));
    }
    Ok(report)
}

/// A data directory with notes, one long note, and a note for each client to change; indexed.
fn indexed(corpus: &Corpus, folder: &Path, load: Load) -> Result<PathBuf> {
    let notes = folder.join("notes");
    std::fs::create_dir_all(notes.join("own")).doing("make a vault")?;
    for note in 1..=NOTES {
        vault::replace(&notes.join(format!("{note}.md")), corpus.markdown(note).as_bytes())?;
    }
    for number in 0..load.clients.max(1) {
        let text = format!("---\nseen: 0\n---\n# Note of client {number}\n\nA note.\n");
        vault::replace(&notes.join(format!("own/{number}.md")), text.as_bytes())?;
    }
    let long =
        "A line of a long note, which is longer than any buffer on its way.\n\n".repeat(12_000);
    vault::replace(&notes.join("long.md"), long.as_bytes())?;
    let data = folder.join("load");
    // As many streams, sessions and connections as are wanted; everything else as it comes.
    let many = load.idle * 2 + load.clients * 2 + 1024;
    let limits = format!(
        "[limits]\nstreams = {many}\nstreams_per_caller = {many}\nsessions = {many}\nsessions_per_caller = {many}\nconnections = {many}\n"
    );
    process::configure(&data, &limits)?;
    process::run(&data, &["--vault".as_ref(), notes.as_os_str(), "index".as_ref()])?;
    Ok(data)
}
