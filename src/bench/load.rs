//! Many clients at once, some within the limits and some far beyond them, and what is left of the
//! memory when they are gone.

use std::{
    path::Path,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use serde_json::json;
use tempfile::TempDir;

use super::{
    connection::Connection,
    corpus::{Corpus, Random},
    process::{self, Served},
    report::{Goal, Report, Times},
};
use crate::{
    domain::{Error, Progress, Result, error::Doing},
    vault,
};

const CLIENTS: usize = 200;
/// Of those, the ones that hold a token and ask one question after another.
const WITHIN_LIMITS: usize = 10;
const NOTES: i64 = 1000;
/// How long a client pauses between questions, and after it was refused.
const PAUSE: Duration = Duration::from_millis(50);
/// How long the server may take to give memory back.
const REST: Duration = Duration::from_secs(15);

/// What the clients saw.
#[derive(Default)]
struct Tally {
    times: Mutex<Vec<Duration>>,
    answered: AtomicU64,
    refused: AtomicU64,
    failed: AtomicU64,
}

pub fn run(seconds: u64, seed: u64, bar: &dyn Progress, folder: &TempDir) -> Result<Report> {
    let corpus = Corpus::new(seed, 1);
    let data = indexed(&corpus, folder.path())?;
    let token =
        process::output(&data, &["token", "create", "--scope", "owner", "--name", "bench"])?;
    let token = token.split_whitespace().last().unwrap_or_default().to_owned();
    let server = Served::start(&data)?;
    let address = server.address.clone();
    // The first questions load the model and open the index.
    let mut warm = Connection::open(&address, Some(&token))?;
    for number in 0..100 {
        search(&mut warm, &corpus.question(number))?;
    }
    drop(warm);
    std::thread::sleep(REST);
    let before = process::memory(server.id(), "VmRSS");
    let (inside, outside) = (Tally::default(), Tally::default());
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for number in 0..CLIENTS {
            let (token, tally) = match number < WITHIN_LIMITS {
                true => (Some(token.as_str()), &inside),
                false => (None, &outside),
            };
            let (address, corpus, over) = (address.as_str(), &corpus, &over);
            scope.spawn(move || client(address, token, corpus, number as u64, tally, over));
        }
        for second in 0..seconds {
            bar.report(second, Some(seconds), "asking");
            std::thread::sleep(Duration::from_secs(1));
        }
        over.store(true, Ordering::Relaxed);
    });
    let peak = process::memory(server.id(), "VmHWM");
    std::thread::sleep(REST);
    let after = process::memory(server.id(), "VmRSS");
    let mut last = Connection::open(&address, Some(&token))?;
    let alive = search(&mut last, &corpus.question(1)).is_ok();
    server.end()?;
    if !alive {
        return Err(Error::internal("the server did not answer after the load"));
    }
    let mut report = Report::new(format!(
        "{CLIENTS} clients for {seconds} s over HTTP, {WITHIN_LIMITS} of them within the limits"
    ));
    let times = Times::new(inside.times.into_inner().unwrap_or_else(PoisonError::into_inner));
    report.times("search within the limits", &times, Goal::None, Goal::None);
    let ratio = times.at(0.99) / times.at(0.5).max(0.001);
    report.add("search within the limits, p99 to p50", ratio, "times", Goal::Below(10.0));
    for (who, tally) in [("within the limits", &inside.answered), ("beyond", &outside.answered)] {
        report.add(format!("answered {who}"), count(tally), "requests", Goal::None);
    }
    report.add("refused within the limits", count(&inside.refused), "requests", Goal::Below(1.0));
    report.add("refused beyond", count(&outside.refused), "requests", Goal::None);
    let failed = count(&inside.failed) + count(&outside.failed);
    report.add("broken off", failed, "requests", Goal::Below(1.0));
    report.megabytes("memory before", before, Goal::None);
    report.megabytes("memory at most", peak, Goal::None);
    report.megabytes("memory afterwards", after, Goal::None);
    if let (Some(before), Some(after)) = (before, after) {
        let share = after as f64 / before.max(1) as f64;
        report.add("memory afterwards to before", share, "times", Goal::Below(1.3));
    }
    Ok(report)
}

fn count(counter: &AtomicU64) -> f64 {
    counter.load(Ordering::Relaxed) as f64
}

/// Asks until the time is over.
fn client(
    address: &str,
    token: Option<&str>,
    corpus: &Corpus,
    seed: u64,
    tally: &Tally,
    over: &AtomicBool,
) {
    let mut random = Random::new(seed);
    let mut connection = None;
    while !over.load(Ordering::Relaxed) {
        let mut open = match connection.take().map_or_else(|| Connection::open(address, token), Ok)
        {
            Ok(open) => open,
            Err(_) => {
                tally.failed.fetch_add(1, Ordering::Relaxed);
                std::thread::sleep(PAUSE);
                continue;
            }
        };
        let question = corpus.question(random.below(1000) as u64);
        let started = Instant::now();
        match search(&mut open, &question) {
            Ok(true) => {
                tally.answered.fetch_add(1, Ordering::Relaxed);
                let mut times = tally.times.lock().unwrap_or_else(PoisonError::into_inner);
                times.push(started.elapsed());
                drop(times);
                connection = Some(open);
            }
            Ok(false) => {
                tally.refused.fetch_add(1, Ordering::Relaxed);
                connection = Some(open);
            }
            Err(_) => {
                tally.failed.fetch_add(1, Ordering::Relaxed);
            }
        }
        std::thread::sleep(PAUSE);
    }
}

/// Searches; false when the server refused because it is busy.
fn search(connection: &mut Connection, question: &str) -> Result<bool> {
    let params = json!({ "name": "search", "arguments": { "query": question } });
    Ok(connection.ask("tools/call", params)?.get("result").is_some())
}

/// A data directory with notes that everybody may read, indexed.
fn indexed(corpus: &Corpus, folder: &Path) -> Result<std::path::PathBuf> {
    let notes = folder.join("notes");
    std::fs::create_dir_all(&notes).doing("make a vault")?;
    for note in 1..=NOTES {
        let text = format!("---\nfree: true\n---\n{}", corpus.markdown(note));
        vault::replace(&notes.join(format!("{note}.md")), text.as_bytes())?;
    }
    let data = folder.join("load");
    process::configure(&data, "")?;
    process::run(&data, &["--vault".as_ref(), notes.as_os_str(), "index".as_ref()])?;
    Ok(data)
}
