//! Cards through the tool door, in a library of many.

use std::time::Instant;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::{
    config,
    corpus::Corpus,
    open,
    report::{Goal, Report, Times},
};
use crate::{
    app::App,
    config::EmbedProvider,
    domain::{Card, Progress, Result, Timestamp},
    tools,
};

const CALLS: u64 = 200;
/// Cards that are put in at once.
const BATCH: u64 = 5_000;

pub fn run(count: u64, seed: u64, bar: &dyn Progress, folder: &TempDir) -> Result<Report> {
    let mut report = Report::new(format!("Cards through the tool door, {count} of them"));
    let app = open(config(folder.path(), EmbedProvider::None))?;
    let corpus = Corpus::new(seed, 1);
    let started = Instant::now();
    let cards = app.cards.store()?;
    let now = Timestamp::now();
    for batch in (0..count).step_by(BATCH as usize) {
        bar.report(batch, Some(count), "making cards");
        let made: Vec<Card> =
            (batch..count.min(batch + BATCH)).map(|number| card(&corpus, number, now)).collect();
        cards.import(&made)?;
    }
    app.cards.sync()?;
    report.add("putting them in", started.elapsed().as_secs_f64(), "s", Goal::None);

    let first = time(&app, "get_notes", 1, |_| json!({}))?;
    report.add("get_notes, the very first call", first.at(0.5), "ms", Goal::None);
    let listed = time(&app, "get_notes", CALLS, |_| json!({}))?;
    report.times("get_notes, first page", &listed, Goal::Below(20.0), Goal::None);
    let found =
        time(&app, "search_notes", CALLS, |number| json!({ "query": asked(&corpus, number) }))?;
    report.times("search_notes", &found, Goal::Below(20.0), Goal::None);
    let made = time(
        &app,
        "create_note",
        CALLS,
        |number| json!({ "title": corpus.question(number), "content": corpus.document(number as i64).chunks[0].text }),
    )?;
    report.times("create_note, durable", &made, Goal::Below(10.0), Goal::None);
    // What an agent does: make one, then look.
    let mut after = Vec::new();
    for number in 0..20 {
        bar.report(number, Some(20), "making and listing");
        time(&app, "create_note", 1, |_| json!({ "content": corpus.question(number) }))?;
        let started = Instant::now();
        call(&app, "get_notes", json!({}))?;
        after.push(started.elapsed());
    }
    report.times(
        "get_notes after a create_note",
        &Times::new(after),
        Goal::Below(20.0),
        Goal::None,
    );
    Ok(report)
}

fn card(corpus: &Corpus, number: u64, now: Timestamp) -> Card {
    let document = corpus.document(number as i64);
    Card {
        id: format!("bench{number:020}"),
        title: Some(document.title),
        content: document.chunks.into_iter().next().map_or(String::new(), |chunk| chunk.text),
        labels: number.is_multiple_of(5).then(|| vec![format!("label{}", number % 50)]),
        is_pinned: number.is_multiple_of(1_000),
        created_at: Some(now),
        updated_at: Some(now),
        ..Card::default()
    }
}

/// A word that some cards have and most have not.
fn asked(corpus: &Corpus, number: u64) -> String {
    let title = corpus.document(number as i64).title;
    title.split(' ').max_by_key(|word| word.chars().count()).unwrap_or(&title).to_owned()
}

fn call(app: &App, tool: &str, arguments: Value) -> Result<()> {
    tools::call(app, &app.owner(), tool, arguments, &tools::Call::default()).map(drop)
}

fn time(app: &App, tool: &str, calls: u64, arguments: impl Fn(u64) -> Value) -> Result<Times> {
    Times::of(std::process::id(), 0, calls, |number| {
        let arguments = arguments(number);
        let started = Instant::now();
        call(app, tool, arguments)?;
        Ok(started.elapsed())
    })
}
