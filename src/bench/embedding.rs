//! The embedded model: tokens a second on one core and on all, and one question.

use std::time::{Duration, Instant};

use super::{
    corpus::Corpus,
    report::{Goal, Report, Times},
};
use crate::{
    domain::{Error, Progress, Result},
    embed::{Embedder, Role, embedded::Embedded},
};

/// How long each measurement runs.
const RUN: Duration = Duration::from_secs(5);
/// Passages given to the model at once, as the index does.
const BATCH: usize = 16;
const QUESTIONS: u64 = 300;

pub fn run(seed: u64, bar: &dyn Progress) -> Result<Report> {
    let model = Embedded::new();
    let mut report = Report::new(format!("The embedded model, `{}`", model.instructions()));
    let corpus = Corpus::new(seed, 1);
    let mut passages: Vec<String> =
        (1..=256).map(|pid| corpus.document(pid).chunks.swap_remove(0).text).collect();
    passages.sort_by_key(String::len);
    let started = Instant::now();
    model.embed(&["warm"], Role::Query)?;
    report.add("the first use", started.elapsed().as_secs_f64() * 1_000.0, "ms", Goal::None);

    let mut times = Vec::new();
    for number in 0..QUESTIONS {
        bar.report(number, Some(QUESTIONS), "asking");
        let question = corpus.question(number);
        let started = Instant::now();
        model.embed(&[&question], Role::Query)?;
        times.push(started.elapsed());
    }
    report.times("one short question", &Times::new(times), Goal::None, Goal::None);

    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    for threads in if cores > 1 { vec![1, cores] } else { vec![1] } {
        bar.report(0, None, "embedding");
        let (tokens, count) = throughput(&model, &passages, threads)?;
        let on = if threads == 1 { "one core".to_owned() } else { format!("{threads} cores") };
        report.add(format!("tokens a second on {on}"), tokens, "tokens/s", Goal::None);
        report.add(format!("passages a second on {on}"), count, "a second", Goal::None);
    }
    Ok(report)
}

/// Tokens and passages a second with this many threads.
fn throughput(model: &Embedded, passages: &[String], threads: usize) -> Result<(f64, f64)> {
    let batches: Vec<&[String]> = passages.chunks(BATCH).collect();
    let lengths: Vec<usize> =
        batches.iter().map(|batch| batch.iter().map(|text| model.tokens(text)).sum()).collect();
    let started = Instant::now();
    let one = |offset: usize| -> Result<(usize, usize)> {
        let (mut tokens, mut count, mut at) = (0, 0, offset);
        while started.elapsed() < RUN {
            let batch = batches[at % batches.len()];
            let texts: Vec<&str> = batch.iter().map(String::as_str).collect();
            model.embed(&texts, Role::Passage)?;
            tokens += lengths[at % batches.len()];
            count += texts.len();
            at += 1;
        }
        Ok((tokens, count))
    };
    let done: Result<Vec<(usize, usize)>> = std::thread::scope(|scope| {
        let threads: Vec<_> =
            (0..threads).map(|thread| scope.spawn(move || one(thread * 7))).collect();
        threads
            .into_iter()
            .map(|thread| {
                thread.join().unwrap_or_else(|_| Err(Error::internal("a thread stopped")))
            })
            .collect()
    });
    let seconds = started.elapsed().as_secs_f64();
    let (tokens, count) = done?.into_iter().fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    Ok((tokens as f64 / seconds, count as f64 / seconds))
}
