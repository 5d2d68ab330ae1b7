//! The clients: mixed ones that ask and write, those that only connect, and those that read slowly.

use std::{
    io,
    net::TcpStream,
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use super::{
    http::{Answer, Http},
    tally::{Outcome, Tally},
};
use crate::bench::corpus::{Corpus, Random};

/// What every client knows.
pub struct Site<'a> {
    pub address: &'a str,
    pub tokens: &'a [String],
    pub corpus: &'a Corpus,
    pub notes: i64,
    pub tally: &'a Tally,
    pub over: &'a AtomicBool,
}

impl Site<'_> {
    fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    fn token(&self, number: usize) -> &str {
        &self.tokens[number % self.tokens.len()]
    }

    /// Waits, but not beyond the end.
    fn pause(&self, time: Duration) {
        let until = Instant::now() + time;
        while !self.is_over() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            std::thread::sleep(left.min(Duration::from_millis(100)));
        }
    }
}

/// A client with a session: it searches, reads, lists, changes its own card and its own note, and
/// thinks for about a second in between.
pub struct Mixed<'a> {
    site: &'a Site<'a>,
    number: usize,
    random: Random,
    connection: Option<(Http, String)>,
    card: Option<String>,
}

impl<'a> Mixed<'a> {
    pub fn new(site: &'a Site<'a>, number: usize) -> Self {
        let random = Random::new(number as u64 + 1);
        Self { site, number, random, connection: None, card: None }
    }

    pub fn run(mut self) {
        // They do not come all at once.
        self.site.pause(Duration::from_millis(self.random.below(1000) as u64));
        while !self.site.is_over() {
            let (call, arguments) = self.next();
            if let Outcome::Limit(_, seconds) = self.call(call, arguments) {
                self.site.pause(Duration::from_secs(seconds));
            }
            self.site.pause(Duration::from_millis(500 + self.random.below(1000) as u64));
        }
        self.end();
    }

    fn end(&mut self) {
        if let Some((mut http, session)) = self.connection.take() {
            // A session that is left behind ends by itself, later.
            drop(http.end(&session));
        }
    }

    /// Makes each call once, in turn, as a server that has just been started gets them.
    pub fn warm(mut self, rounds: usize) -> Result<(), String> {
        for round in 0..rounds {
            self.random = Random::new((self.number * rounds + round) as u64 + 1);
            let (call, arguments) = self.next();
            if let Outcome::Error(kind) = self.call(call, arguments) {
                return Err(format!("`{call}`: {kind}"));
            }
        }
        self.end();
        Ok(())
    }

    fn next(&mut self) -> (&'static str, Value) {
        let question = self.site.corpus.question(self.random.below(1000) as u64);
        let stamp = self.random.below(1_000_000);
        match self.random.below(100) {
            0..50 => ("search", json!({ "query": question })),
            50..70 => {
                let note = 1 + self.random.below(self.site.notes as usize);
                ("note_html", json!({ "path": format!("{note}.md"), "max_tokens": 800 }))
            }
            70..75 => ("expand", json!({})),
            75..85 => ("get_notes", json!({ "limit": 20 })),
            85..95 => match &self.card {
                Some(id) => {
                    ("update_note", json!({ "id": id, "content": format!("{question} {stamp}") }))
                }
                None => ("create_note", json!({ "content": question })),
            },
            _ => {
                let fields = json!({ "seen": stamp });
                let path = format!("own/{}.md", self.number);
                ("edit_page", json!({ "path": path, "op": "set", "fields": fields }))
            }
        }
    }

    fn call(&mut self, call: &'static str, arguments: Value) -> Outcome {
        let started = Instant::now();
        let outcome = self.try_call(call, arguments);
        let outcome = outcome.unwrap_or_else(|error| {
            self.connection = None;
            Outcome::broken(&error)
        });
        self.site.tally.add(call, started.elapsed(), &outcome);
        outcome
    }

    fn try_call(&mut self, call: &'static str, arguments: Value) -> io::Result<Outcome> {
        let (mut http, session) = match self.connection.take() {
            Some(connection) => connection,
            None => {
                let mut http = Http::open(self.site.address, self.site.token(self.number))?;
                let answer = http.begin()?;
                match answer.session.clone() {
                    Some(session) => (http, session),
                    None => return Ok(Outcome::of(&answer)),
                }
            }
        };
        let params = json!({ "name": call, "arguments": arguments });
        let request =
            json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
        let answer = http.post(&request, Some(&session))?;
        let outcome = Outcome::of(&answer);
        if call == "create_note" && outcome == Outcome::Done {
            self.card = card_id(&answer.message().unwrap_or_default());
        }
        // A session that the server ended is begun anew, as the protocol says.
        if answer.status != 404 {
            self.connection = Some((http, session));
        }
        Ok(outcome)
    }
}

/// The id of a card that was made: the answer's structure, or its text.
fn card_id(message: &Value) -> Option<String> {
    let result = &message["result"];
    if let Some(id) = result["structuredContent"]["id"].as_str() {
        return Some(id.to_owned());
    }
    let text = result["content"][0]["text"].as_str()?;
    serde_json::from_str::<Value>(text).ok()?["id"].as_str().map(str::to_owned)
}

/// Connections that come and go; every fifth goes in the middle of its request.
pub fn churn(site: &Site<'_>, number: usize) {
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    let mut turn = 0_u64;
    while !site.is_over() {
        turn += 1;
        let started = Instant::now();
        let once = || -> io::Result<Option<Outcome>> {
            let mut http = Http::open(site.address, site.token(number))?;
            if turn.is_multiple_of(5) {
                http.send(&ping, None)?;
                return Ok(None);
            }
            http.post(&ping, None).map(|answer| Some(Outcome::of(&answer)))
        };
        match once() {
            Ok(Some(outcome)) => site.tally.add("connect and ping", started.elapsed(), &outcome),
            Ok(None) => {}
            Err(error) => {
                site.tally.add("connect and ping", started.elapsed(), &Outcome::broken(&error));
            }
        }
        site.pause(Duration::from_millis(50));
    }
}

/// Asks for a long note and takes it a few bytes at a time; leaves before the end and begins anew.
pub fn slow_reader(site: &Site<'_>, number: usize) {
    const SIPS: usize = 40;
    let params = json!({ "name": "note_html", "arguments": { "path": "long.md" } });
    let request = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    while !site.is_over() {
        let started = Instant::now();
        let sips = || -> io::Result<Outcome> {
            let mut http = Http::open(site.address, site.token(number))?;
            http.send(&request, None)?;
            if let Some(refused) = refused(&http.begin_answer()?) {
                return Ok(refused);
            }
            let mut buffer = [0; 512];
            for _ in 0..SIPS {
                if http.sip(&mut buffer)? == 0 {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
                site.pause(Duration::from_millis(250));
            }
            Ok(Outcome::Done)
        };
        let outcome = sips().unwrap_or_else(|error| Outcome::broken(&error));
        site.tally.add("read slowly", started.elapsed(), &outcome);
        if let Outcome::Limit(_, seconds) = outcome {
            site.pause(Duration::from_secs(seconds));
        }
    }
}

/// How an answer whose body was not read refuses; `None` where it does not.
fn refused(answer: &Answer) -> Option<Outcome> {
    match (answer.status, answer.retry_after) {
        (200..300, _) => None,
        (status @ (429 | 503), Some(seconds)) => {
            Some(Outcome::Limit(format!("status {status} with Retry-After"), seconds))
        }
        (status, _) => Some(Outcome::Error(format!("status {status}"))),
    }
}

/// Streams that are opened and stay open. Nothing is said on them.
pub struct Idle(Vec<Stream>);

/// An open stream, its session, and the number of its client.
type Stream = (TcpStream, String, usize);

impl Idle {
    pub fn open(site: &Site<'_>, count: usize) -> Self {
        let mut streams = Vec::with_capacity(count);
        for number in 0..count {
            let started = Instant::now();
            let open = || -> io::Result<(Outcome, Option<Stream>)> {
                let mut http = Http::open(site.address, site.token(number))?;
                let begun = http.begin()?;
                let Some(session) = begun.session.clone() else {
                    return Ok((Outcome::of(&begun), None));
                };
                let (answer, stream) = http.listen(&session)?;
                Ok(match refused(&answer) {
                    Some(refused) => (refused, None),
                    None => (Outcome::Done, Some((stream, session, number))),
                })
            };
            let (outcome, stream) = open().unwrap_or_else(|error| (Outcome::broken(&error), None));
            site.tally.add("open an idle stream", started.elapsed(), &outcome);
            streams.extend(stream);
        }
        Self(streams)
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Closes every stream and ends its session.
    pub fn end(self, site: &Site<'_>) {
        for (stream, session, number) in self.0 {
            drop(stream);
            // What cannot be ended now ends by itself, later.
            let ended = Http::open(site.address, site.token(number))
                .and_then(|mut http| http.end(&session));
            drop(ended);
        }
    }

    /// How many are still open, after taking what came on them.
    pub fn still_open(&self) -> usize {
        use std::io::Read;
        let is_open = |mut stream: &TcpStream| {
            let mut buffer = [0; 4096];
            if stream.set_nonblocking(true).is_err() {
                return false;
            }
            loop {
                match stream.read(&mut buffer) {
                    Ok(0) => return false,
                    Ok(_) => {}
                    Err(error) => return error.kind() == io::ErrorKind::WouldBlock,
                }
            }
        };
        self.0.iter().filter(|(stream, ..)| is_open(stream)).count()
    }
}
