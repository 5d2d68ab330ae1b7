//! Stripe as far as Notewell uses it: Checkout sessions and signed webhooks. It checks every field
//! of a request, and remembers what was wrong.

use std::{
    collections::HashMap,
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    process::Command,
    sync::{Arc, Mutex},
    thread::spawn,
    time::{SystemTime, UNIX_EPOCH},
};

use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use sha2::Sha256;

use crate::support::{Answer, Home, Server, put};

pub const KEY: &str = "sk_test_0123456789abcdef";
pub const WEBHOOK_SECRET: &str = "whsec_0123456789abcdef";

/// A checkout session.
#[derive(Debug, Clone, PartialEq)]
pub struct Session {
    pub id: String,
    pub reference: String,
    /// In the smallest unit of the currency.
    pub amount: i64,
    pub currency: String,
    pub success_url: String,
}

#[derive(Default)]
struct State {
    /// Sessions by idempotency key, in order.
    sessions: Vec<(String, Session)>,
    requests: usize,
    faults: Vec<String>,
    /// Statuses that the next requests get instead of an answer.
    outages: Vec<u16>,
}

pub struct FakeStripe {
    pub url: String,
    state: Arc<Mutex<State>>,
}

impl FakeStripe {
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let state: Arc<Mutex<State>> = Arc::default();
        let (own, base) = (state.clone(), url.clone());
        spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                answer(stream, &own, &base);
            }
        });
        Self { url, state }
    }

    /// Makes this the payment provider of a library.
    pub fn configure(&self, home: &Home, market: &str) {
        let text = format!("{market}\n[market.stripe]\nurl = \"{}\"\n", self.url);
        put(&home.dir.path().join("notewell.toml"), text);
    }

    /// The program with this provider's settings and keys.
    pub fn command(&self, home: &Home, arguments: &[&str]) -> Command {
        let mut command = home.command(arguments);
        command.arg("--config").arg(home.dir.path().join("notewell.toml"));
        command.env("NOTEWELL_STRIPE_KEY", KEY);
        command.env("NOTEWELL_STRIPE_WEBHOOK_SECRET", WEBHOOK_SECRET);
        command
    }

    pub fn serve(&self, home: &Home) -> Server {
        Server::start(self.command(home, &["serve", "--listen", "127.0.0.1:0"]))
    }

    pub fn sessions(&self) -> Vec<Session> {
        self.state.lock().unwrap().sessions.iter().map(|(_, session)| session.clone()).collect()
    }

    pub fn requests(&self) -> usize {
        self.state.lock().unwrap().requests
    }

    /// What was wrong with the requests so far.
    pub fn faults(&self) -> Vec<String> {
        self.state.lock().unwrap().faults.clone()
    }

    /// The next requests fail with these statuses.
    pub fn fail(&self, statuses: &[u16]) {
        self.state.lock().unwrap().outages = statuses.iter().rev().copied().collect();
    }

    /// Reports a session as paid, as Stripe does.
    pub fn pay(&self, server: &Server, session: &Session) -> Answer {
        self.send(server, &completed(session, "evt_paid"))
    }

    /// Sends a signed event.
    pub fn send(&self, server: &Server, event: &Value) -> Answer {
        let body = event.to_string();
        deliver(server, &signature(&body, now(), WEBHOOK_SECRET), &body)
    }
}

/// Sends an event with any signature.
pub fn deliver(server: &Server, signature: &str, body: &str) -> Answer {
    let headers = [("Stripe-Signature", signature), ("Content-Type", "application/json")];
    server.send("POST", "/webhooks/stripe", &headers, body.as_bytes())
}

/// `checkout.session.completed` of a session. The event's id is of the session.
pub fn completed(session: &Session, event: &str) -> Value {
    json!({
        "id": format!("{event}_{}", session.id), "object": "event", "api_version": "2025-09-30",
        "type": "checkout.session.completed", "created": now(), "livemode": false,
        "data": { "object": {
            "id": session.id, "object": "checkout.session", "mode": "payment",
            "status": "complete", "payment_status": "paid",
            "client_reference_id": session.reference,
            "amount_subtotal": session.amount, "amount_total": session.amount,
            "currency": session.currency,
        } },
    })
}

pub fn signature(body: &str, time: i64, secret: &str) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
    mac.update(format!("{time}.{body}").as_bytes());
    let hex: String =
        mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    format!("t={time},v1={hex},v0=0000")
}

pub fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() as i64
}

fn answer(mut stream: TcpStream, state: &Mutex<State>, base: &str) {
    let Some((head, body)) = receive(&stream) else { return };
    let mut state = state.lock().unwrap();
    state.requests += 1;
    let (status, text) = match state.outages.pop() {
        Some(status) => (status, json!({ "error": { "type": "api_error" } })),
        None => match checked(&head, &body) {
            Ok((key, session)) => (200, session_of(&mut state, key, session, base)),
            Err(fault) => {
                state.faults.push(fault.clone());
                (400, json!({ "error": { "type": "invalid_request_error", "message": fault } }))
            }
        },
    };
    let text = text.to_string();
    let _ = write!(
        stream,
        "HTTP/1.1 {status} X\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{text}",
        text.len()
    );
}

/// The session of an idempotency key: the same key is the same session.
fn session_of(state: &mut State, key: String, mut session: Session, base: &str) -> Value {
    let known = state.sessions.iter().find(|(known, _)| *known == key);
    let session = match known {
        Some((_, session)) => session.clone(),
        None => {
            session.id = format!("cs_test_{}", state.sessions.len() + 1);
            state.sessions.push((key, session.clone()));
            session
        }
    };
    json!({
        "id": session.id, "object": "checkout.session", "mode": "payment", "status": "open",
        "payment_status": "unpaid", "client_reference_id": session.reference,
        "amount_total": session.amount, "currency": session.currency,
        "url": format!("{base}/c/pay/{}", session.id),
    })
}

/// Checks a request as strictly as it can be: nothing is missing, nothing is unknown.
fn checked(head: &str, body: &str) -> Result<(String, Session), String> {
    let mut lines = head.lines();
    let request = lines.next().unwrap_or_default();
    if request != "POST /v1/checkout/sessions HTTP/1.1" {
        return Err(format!("unknown request: {request}"));
    }
    let headers: HashMap<String, String> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
        .collect();
    let header = |name: &str| headers.get(name).cloned().unwrap_or_default();
    if header("authorization") != format!("Bearer {KEY}") {
        return Err("no valid API key".into());
    }
    if header("content-type") != "application/x-www-form-urlencoded" {
        return Err(format!("content type {}", header("content-type")));
    }
    let pairs: Vec<(String, String)> =
        url::form_urlencoded::parse(body.as_bytes()).into_owned().collect();
    let mut fields: HashMap<String, String> = pairs.iter().cloned().collect();
    if fields.len() != pairs.len() {
        return Err("a field is sent twice".into());
    }
    let mut take =
        |name: &str| fields.remove(name).ok_or(format!("missing required param: {name}"));
    let item = "line_items[0]";
    let price = format!("{item}[price_data]");
    let session = Session {
        id: String::new(),
        reference: take("client_reference_id")?,
        amount: take(&format!("{price}[unit_amount]"))?.parse().map_err(|_| "invalid integer")?,
        currency: take(&format!("{price}[currency]"))?,
        success_url: take("success_url")?,
    };
    let expected = [
        (take("mode")?, "payment".to_owned()),
        (take(&format!("{item}[quantity]"))?, "1".to_owned()),
        (take("payment_intent_data[metadata][reference]")?, session.reference.clone()),
    ];
    if let Some((is, want)) = expected.iter().find(|(is, want)| is != want) {
        return Err(format!("`{is}` where `{want}` belongs"));
    }
    let (name, cancel) = (take(&format!("{price}[product_data][name]"))?, take("cancel_url")?);
    if name.is_empty() || session.reference.len() > 200 || session.amount < 1 {
        return Err("a name, a short reference and a positive amount are needed".into());
    }
    if session.currency.len() != 3 || session.currency != session.currency.to_lowercase() {
        return Err(format!("invalid currency: {}", session.currency));
    }
    for url in [&session.success_url, &cancel] {
        url::Url::parse(url).map_err(|_| format!("not a valid URL: {url}"))?;
    }
    if let Some(unknown) = fields.keys().next() {
        return Err(format!("received unknown parameter: {unknown}"));
    }
    match header("idempotency-key") {
        key if key.is_empty() || key.len() > 255 => Err("no idempotency key".into()),
        key => Ok((key, session)),
    }
}

fn receive(stream: &TcpStream) -> Option<(String, String)> {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(": ")?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
    });
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).ok()?;
    Some((head, String::from_utf8(body).ok()?))
}
