//! Prompts over stdin and stdout, in a library of many: what a client waits for.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::{
    config,
    corpus::Corpus,
    open,
    process::{self, Client},
    report::{Goal, Report, Times},
};
use crate::{
    config::EmbedProvider,
    domain::{
        Progress, Result, Timestamp,
        prompt::{Draft, Message, Prompt},
    },
};

const CALLS: u64 = 200;

pub fn run(count: u64, seed: u64, bar: &dyn Progress, folder: &TempDir) -> Result<Report> {
    let mut report = Report::new(format!("Prompts over stdin and stdout, {count} of them"));
    let data = folder.path().join("library");
    let corpus = Corpus::new(seed, 1);
    bar.report(0, None, "making prompts");
    {
        let app = open(config(&data, EmbedProvider::None))?;
        let started = Instant::now();
        let made: Vec<Prompt> =
            (0..count).map(|number| prompt(&corpus, number)).collect::<Result<_>>()?;
        app.prompts.add(made)?;
        report.add("putting them in, one change", started.elapsed().as_secs_f64(), "s", Goal::None);
        app.refresh(bar)?;
        app.catch_up(bar)?;
    }
    process::configure(&data, "[embed]\nprovider = \"none\"\n")?;
    let mut client = Client::start(&data)?;
    client.initialize()?;
    let first = time(&mut client, "prompts/list", 1, |_| json!({}))?;
    report.add("prompts/list, the very first call", first.at(0.5), "ms", Goal::None);
    // The first look at the library is over by then.
    std::thread::sleep(Duration::from_secs(1));
    let listed = time(&mut client, "prompts/list", CALLS, |_| json!({}))?;
    report.times("prompts/list, first page", &listed, Goal::Below(5.0), Goal::None);
    let rendered = time(
        &mut client,
        "prompts/get",
        CALLS,
        |number| json!({ "name": name(number * 7 % count.max(1)), "arguments": { "topic": "x" } }),
    )?;
    report.times("prompts/get", &rendered, Goal::None, Goal::None);
    let made = time(&mut client, "prompts/create", CALLS, |number| {
        let text = &corpus.document(number as i64).chunks[0].text;
        let message = json!({ "role": "user", "content": { "type": "text", "text": text } });
        json!({ "name": format!("made_{number}"), "title": "Made", "messages": [message] })
    })?;
    report.times("prompts/create, durable", &made, Goal::Below(20.0), Goal::None);
    client.end()?;
    Ok(report)
}

fn name(number: u64) -> String {
    format!("bench_{number:06}")
}

fn prompt(corpus: &Corpus, number: u64) -> Result<Prompt> {
    let document = corpus.document(number as i64);
    let text = document.chunks.into_iter().next().map_or(String::new(), |chunk| chunk.text);
    let arguments = json!([{ "name": "topic", "required": false }]);
    Draft {
        name: Some(name(number)),
        title: Some(document.title),
        messages: Some(vec![Message::user(format!("{text} {{{{topic}}}}"))]),
        arguments: serde_json::from_value(arguments).ok(),
        ..Draft::default()
    }
    .into_prompt(Timestamp::now())
}

fn time(
    client: &mut Client,
    method: &str,
    calls: u64,
    params: impl Fn(u64) -> Value,
) -> Result<Times> {
    Times::of(client.id(), 0, calls, |number| {
        let params = params(number);
        let started = Instant::now();
        client.ask(method, params)?;
        Ok(started.elapsed())
    })
}
