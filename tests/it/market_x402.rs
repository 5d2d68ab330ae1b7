//! Calls that bring their own payment: a facilitator of the test's own checks every field, well and
//! badly behaved.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread::{scope, spawn},
};

use serde_json::{Value, json};

use crate::{
    sold::{Shop, ask},
    support::{Server, only_sqlite, sql},
};

const PAY_TO: &str = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C";
const METHOD: &str =
    "---\ntitle: Review\nmcp_method: review\nprice: 0.01\n---\nThe quokka list for {{code}}.\n";

/// What a facilitator answers to a settlement.
#[derive(Clone)]
enum Settles {
    Well,
    Refuses,
    /// It goes on, and the facilitator has a name of its own for it.
    Pends,
    /// It failed as far as the facilitator saw, after a transaction was sent.
    FailsOnChain,
    /// It failed, and the facilitator does not know how far it came.
    Stumbles,
    Breaks,
    Babbles,
}

#[derive(Default)]
struct State {
    /// Paths in the order in which they were asked.
    asked: Vec<String>,
    faults: Vec<String>,
    invalid: Option<String>,
    settles: Vec<Settles>,
    /// The transaction of every settlement; else each nonce has one of its own.
    transaction: Option<String>,
    /// So many requests are answered together, once all of them are there.
    together: usize,
}

struct Facilitator {
    url: String,
    state: Arc<Mutex<State>>,
}

impl Facilitator {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let state: Arc<Mutex<State>> = Arc::default();
        let own = state.clone();
        spawn(move || {
            let mut waiting = Vec::new();
            for stream in listener.incoming().map_while(Result::ok) {
                waiting.push(stream);
                if waiting.len() >= own.lock().unwrap().together {
                    own.lock().unwrap().together = 0;
                    waiting.drain(..).for_each(|stream| answer(stream, &own));
                }
            }
        });
        Self { url, state }
    }

    fn asked(&self) -> Vec<String> {
        std::mem::take(&mut self.state.lock().unwrap().asked)
    }

    fn settle(&self, how: Settles) {
        self.state.lock().unwrap().settles.push(how);
    }

    fn is_content(&self) {
        assert_eq!(self.state.lock().unwrap().faults, [""; 0]);
    }
}

fn requirements() -> Value {
    json!({
        "scheme": "exact", "network": "eip155:8453", "amount": "10000",
        "asset": "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913", "payTo": PAY_TO,
        "maxTimeoutSeconds": 60, "extra": { "name": "USDC", "version": "2" },
    })
}

/// A payment as a wallet signs it.
fn payment(nonce: &str) -> Value {
    json!({
        "x402Version": 2,
        "resource": { "url": "http://127.0.0.1/_system/mcp" },
        "accepted": requirements(),
        "payload": {
            "signature": "0x2d6a7588d6acca505cbf0d9a4a227e0c52c6c34008c8e8986a1283259764173608a2",
            "authorization": {
                "from": "0x857b06519E91e3A54538791bDbb0E22373e36b66", "to": PAY_TO,
                "value": "10000", "validAfter": "0", "validBefore": "9999999999", "nonce": nonce,
            },
        },
    })
}

fn answer(mut stream: TcpStream, state: &Mutex<State>) {
    let Some((head, body)) = receive(&stream) else { return };
    let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
    let mut state = state.lock().unwrap();
    state.asked.push(path.clone());
    if let Some(fault) = fault(&head, &body) {
        state.faults.push(fault);
    }
    let signed = &body["paymentPayload"]["payload"]["authorization"];
    let payer = &signed["from"];
    let nonce = signed["nonce"].as_str().unwrap_or_default().to_lowercase();
    let transaction = state.transaction.clone().unwrap_or_else(|| nonce.replacen("0x", "0xabc", 1));
    let (status, text) = match path.as_str() {
        "/verify" => match &state.invalid {
            None => ("200 OK", json!({ "isValid": true, "payer": payer }).to_string()),
            Some(why) => {
                ("400 Bad Request", json!({ "isValid": false, "invalidReason": why }).to_string())
            }
        },
        "/settle" => match state.settles.pop().unwrap_or(Settles::Well) {
            Settles::Well => (
                "200 OK",
                json!({ "success": true, "transaction": transaction, "network": "eip155:8453",
                    "payer": payer })
                .to_string(),
            ),
            // Some facilitators say no with a status of its own.
            Settles::Refuses => (
                "402 Payment Required",
                json!({ "success": false, "errorReason": "insufficient_funds", "transaction": "",
                    "network": "eip155:8453" })
                .to_string(),
            ),
            Settles::Pends => (
                "500 Internal Server Error",
                json!({ "success": false, "errorReason": "settlement_pending", "paymentId": "pay_7",
                    "transaction": "", "network": "eip155:8453" })
                .to_string(),
            ),
            Settles::FailsOnChain => (
                "200 OK",
                json!({ "success": false, "errorReason": "invalid_transaction_state",
                    "transaction": "0xdead", "network": "eip155:8453" })
                .to_string(),
            ),
            Settles::Stumbles => (
                "200 OK",
                json!({ "success": false, "errorReason": "unexpected_settle_error",
                    "transaction": "", "network": "eip155:8453" })
                .to_string(),
            ),
            Settles::Breaks => ("500 Oops", "{}".to_owned()),
            Settles::Babbles => ("200 OK", "hello".to_owned()),
        },
        _ => ("404 Not Found", String::new()),
    };
    let _ = write!(
        stream,
        "HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{text}",
        text.len()
    );
}

/// What is wrong with a request.
fn fault(head: &str, body: &Value) -> Option<String> {
    let lower = head.to_lowercase();
    if !head.starts_with("POST /verify HTTP/1.1") && !head.starts_with("POST /settle HTTP/1.1") {
        return Some(format!("unknown request: {head}"));
    }
    if !lower.contains("content-type: application/json") {
        return Some("not JSON".into());
    }
    let names: Vec<&String> = body.as_object()?.keys().collect();
    if names != ["x402Version", "paymentPayload", "paymentRequirements"] {
        return Some(format!("fields: {names:?}"));
    }
    let wrong = body["x402Version"] != 2
        || body["paymentRequirements"] != requirements()
        || body["paymentPayload"]["payload"]["signature"].as_str().is_none();
    wrong.then(|| format!("wrong: {body}"))
}

fn receive(stream: &TcpStream) -> Option<(String, Value)> {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let lower = head.to_lowercase();
    let length = lower.split("content-length: ").nth(1)?.split("\r\n").next()?.parse().ok()?;
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some((head, serde_json::from_slice(&body).ok()?))
}

fn open() -> (Shop, Facilitator, Server) {
    let facilitator = Facilitator::start();
    let shop = Shop::with(&format!(
        "[market.x402]\nfacilitator = \"{}/\"\npay_to = \"{PAY_TO}\"\n",
        facilitator.url
    ));
    shop.of_mira("review.md", METHOD);
    shop.say(&["user", "add", "mira", "--role", "author"]);
    shop.say(&["index", "--words"]);
    let server = shop.serve();
    (shop, facilitator, server)
}

fn call(server: &Server, arguments: Value, payment: Option<Value>) -> Value {
    let mut params = json!({ "name": "review", "arguments": arguments });
    if let Some(payment) = payment {
        params["_meta"] = json!({ "x402/payment": payment });
    }
    ask(server, "/_system/mcp", None, "tools/call", params)
}

/// A call with a payment and an idempotency key.
fn keyed(server: &Server, key: &str, arguments: Value, payment: Value) -> Value {
    let meta = json!({ "x402/payment": payment, "notewell/idempotency-key": key });
    let params = json!({ "name": "review", "arguments": arguments, "_meta": meta });
    ask(server, "/_system/mcp", None, "tools/call", params)
}

fn withheld(answer: &Value) {
    let text = answer.to_string();
    let is_error = answer.get("error").is_some() || answer["result"]["isError"] == true;
    assert!(is_error && !text.contains("quokka"), "{answer}");
}

fn balances(shop: &Shop) -> String {
    shop.say(&["market", "balance"])
}

#[test]
fn a_wallet_pays_for_one_call() {
    let (shop, facilitator, server) = open();
    let unpaid = call(&server, json!({ "code": "чай" }), None);
    withheld(&unpaid);
    let required = &unpaid["result"]["structuredContent"];
    assert_eq!((&required["x402Version"], &required["accepts"][0]), (&json!(2), &requirements()));
    let paid = call(&server, json!({ "code": "чай" }), Some(payment("0x1")));
    assert_eq!(paid["result"]["content"][0]["text"], "The quokka list for чай.", "{paid}");
    let meta = &paid["result"]["_meta"];
    assert_eq!(meta["notewell/receipt"]["amount"], "0.01", "{paid}");
    assert_eq!(meta["x402/payment-response"]["transaction"], "0xabc1", "{paid}");
    assert_eq!(facilitator.asked(), ["/verify", "/settle"]);
    let all = balances(&shop);
    for line in ["(mira)\t0.008", "platform\t0.002", "outside:x402\t-0.01"] {
        assert!(all.contains(line), "{all}");
    }
    // It buys nothing else, and not the same again: whoever watches the chain can send it.
    let again = call(&server, json!({ "code": "чай" }), Some(payment("0x1")));
    withheld(&again);
    assert!(again.to_string().contains("idempotency key"), "{again}");
    withheld(&call(&server, json!({ "code": "お茶" }), Some(payment("0x1"))));
    assert_eq!(facilitator.asked(), [""; 0]);
    assert_eq!(balances(&shop), all);
    let usage: Value = serde_json::from_str(&shop.say(&["market", "usage", "--json"])).unwrap();
    assert_eq!((&usage[0]["user"], &usage[0]["charged"]), (&Value::Null, &json!("0.01")));
    facilitator.is_content();
    shop.say(&["doctor"]);
}

#[test]
fn a_key_makes_no_payment_go_further() {
    let (shop, facilitator, server) = open();
    let paid = keyed(&server, "k", json!({ "code": "a" }), payment("0x1"));
    assert_eq!(paid["result"]["content"][0]["text"], "The quokka list for a.", "{paid}");
    let all = balances(&shop);
    facilitator.asked();
    for (key, code) in [("k", "b"), ("k2", "a"), ("k2", "b")] {
        let answer = keyed(&server, key, json!({ "code": code }), payment("0x1"));
        withheld(&answer);
        assert!(answer.to_string().contains("sign a new one"), "{answer}");
    }
    withheld(&call(&server, json!({ "code": "a" }), Some(payment("0x1"))));
    // The key names the call, also after the author changed the page.
    shop.of_mira("review.md", &METHOD.replace("list", "list of 2027"));
    shop.say(&["index", "--words"]);
    let again = keyed(&server, "k", json!({ "code": "a" }), payment("0x1"));
    assert_eq!(again["result"]["_meta"]["notewell/receipt"]["amount"], "0.00", "{again}");
    assert_eq!((facilitator.asked(), balances(&shop)), (Vec::new(), all));
    // Another payment buys another call, whatever its key.
    let paid = keyed(&server, "k", json!({ "code": "b" }), payment("0x2"));
    assert_eq!(paid["result"]["_meta"]["notewell/receipt"]["amount"], "0.01", "{paid}");
}

#[test]
fn a_payment_for_two_calls_at_once_buys_one() {
    let (shop, facilitator, server) = open();
    facilitator.state.lock().unwrap().together = 2;
    let pay = |code: &str| call(&server, json!({ "code": code }), Some(payment("0x1")));
    let answers = scope(|scope| {
        let both = ["a", "b"].map(|code| scope.spawn(move || pay(code)));
        both.map(|one| one.join().unwrap())
    });
    let (paid, refused): (Vec<&Value>, Vec<&Value>) =
        answers.iter().partition(|answer| answer.to_string().contains("quokka"));
    assert_eq!((paid.len(), refused.len()), (1, 1), "{answers:?}");
    withheld(refused[0]);
    assert!(refused[0].to_string().contains("sign a new one"), "{}", refused[0]);
    // It buys nothing more.
    for code in ["a", "b"] {
        withheld(&pay(code));
    }
    assert_eq!(facilitator.asked(), ["/verify", "/verify", "/settle"]);
    assert!(balances(&shop).contains("outside:x402\t-0.01"), "{}", balances(&shop));
}

#[test]
fn a_payment_that_is_written_differently_is_the_same_payment() {
    let (shop, facilitator, server) = open();
    let signed = payment("0xab1");
    let buy =
        |code: &str, payment: Value| keyed(&server, "6b1f0e", json!({ "code": code }), payment);
    let paid = buy("a", signed.clone());
    assert_eq!(paid["result"]["_meta"]["notewell/receipt"]["amount"], "0.01", "{paid}");
    let all = balances(&shop);
    facilitator.asked();
    let with = |change: &dyn Fn(&mut Value)| {
        let mut other = signed.clone();
        change(&mut other["payload"]);
        other
    };
    let turned = with(&|payload| {
        let own = payload.as_object().unwrap().clone();
        *payload = Value::Object(own.into_iter().rev().collect());
    });
    assert_ne!(turned.to_string(), signed.to_string());
    for other in [
        turned,
        with(&|payload| payload["ignored"] = json!(1)),
        with(&|payload| payload["authorization"]["ignored"] = json!(1)),
        with(&|payload| payload["authorization"]["nonce"] = json!("0xAB1")),
        with(&|payload| {
            let from = payload["authorization"]["from"].as_str().unwrap().to_lowercase();
            payload["authorization"]["from"] = from.into();
        }),
        with(&|payload| {
            let signature = payload["signature"].as_str().unwrap().replace("2d6a", "2D6A");
            payload["signature"] = signature.into();
        }),
    ] {
        let answer = buy("b", other.clone());
        withheld(&answer);
        assert!(answer.to_string().contains("sign a new one"), "{answer}");
        let again = buy("a", other);
        assert_eq!(again["result"]["_meta"]["notewell/receipt"]["amount"], "0.00", "{again}");
    }
    assert_eq!((facilitator.asked(), balances(&shop)), (Vec::new(), all));
    shop.say(&["doctor"]);
}

#[test]
fn a_transaction_pays_for_one_call() {
    let (shop, facilitator, server) = open();
    facilitator.state.lock().unwrap().transaction = Some("0xabc".into());
    let paid = call(&server, json!({ "code": "a" }), Some(payment("0x1")));
    assert_eq!(paid["result"]["_meta"]["notewell/receipt"]["amount"], "0.01", "{paid}");
    let all = balances(&shop);
    let second = call(&server, json!({ "code": "b" }), Some(payment("0x2")));
    withheld(&second);
    assert!(second.to_string().contains("for another payment"), "{second}");
    assert!(second.to_string().contains("ask the operator"), "{second}");
    assert_eq!(balances(&shop), all);
    let output = shop.command(&["doctor"]).output().unwrap();
    let out = String::from_utf8(output.stdout).unwrap();
    assert!(!output.status.success() && out.contains("payment 2 (`0xabc`)"), "{out}");
    // Without the name of a transaction, a payment is known by what was signed.
    facilitator.state.lock().unwrap().transaction = Some(String::new());
    for nonce in ["0x3", "0x4"] {
        let paid = call(&server, json!({ "code": nonce }), Some(payment(nonce)));
        assert_eq!(paid["result"]["_meta"]["notewell/receipt"]["amount"], "0.01", "{paid}");
    }
    facilitator.is_content();
}

#[test]
fn a_payment_that_was_refunded_buys_nothing_more() {
    let (shop, facilitator, server) = open();
    let buy = |nonce: &str| keyed(&server, "6b1f0e", json!({ "code": "a" }), payment(nonce));
    let paid = buy("0x1");
    let entry = paid["result"]["_meta"]["notewell/receipt"]["id"].as_str().unwrap().to_owned();
    facilitator.asked();
    shop.say(&["market", "refund", &entry, "--memo", "sent back"]);
    let again = buy("0x1");
    withheld(&again);
    assert!(again.to_string().contains("was refunded; sign a new one"), "{again}");
    assert_eq!(facilitator.asked(), [""; 0]);
    let paid = call(&server, json!({ "code": "a" }), Some(payment("0x2")));
    assert!(paid.to_string().contains("quokka"), "{paid}");
}

#[test]
fn a_payment_is_good_for_a_day() {
    if only_sqlite("the time of an entry is moved, which takes the rights of the books' owner") {
        return;
    }
    let (shop, facilitator, server) = open();
    let buy = || keyed(&server, "6b1f0e", json!({ "code": "a" }), payment("0x1"));
    let paid = buy();
    assert!(paid.to_string().contains("quokka"), "{paid}");
    facilitator.asked();
    let age = |hours: i64| {
        let ms = hours * 3_600_000;
        sql(&shop.home.data(), &format!("UPDATE entries SET at = at - {ms}"));
    };
    sql(&shop.home.data(), "DROP TRIGGER entries_are_fixed");
    age(23);
    let again = buy();
    assert!(again.to_string().contains("quokka"), "{again}");
    age(2);
    let late = buy();
    withheld(&late);
    assert!(late.to_string().contains("more than a day ago; sign a new one"), "{late}");
    assert_eq!(facilitator.asked(), [""; 0]);
}

#[test]
fn a_payment_that_is_not_what_was_asked_for_is_refused_unasked() {
    let (shop, facilitator, server) = open();
    for (field, value) in [
        ("amount", json!("9999")),
        ("amount", json!(10_000)),
        ("network", json!("eip155:1")),
        ("asset", json!("0x0000000000000000000000000000000000000000")),
        ("payTo", json!("0x0000000000000000000000000000000000000001")),
        ("scheme", json!("upto")),
        ("scheme", json!(null)),
    ] {
        let mut wrong = payment("0x2");
        wrong["accepted"][field] = value;
        let answer = call(&server, json!({ "code": "a" }), Some(wrong));
        withheld(&answer);
        assert!(answer.to_string().contains(field), "{answer}");
    }
    let mut old = payment("0x2");
    old["x402Version"] = json!(1);
    withheld(&call(&server, json!({ "code": "a" }), Some(old)));
    for odd in [json!("text"), json!([]), json!({})] {
        withheld(&call(&server, json!({ "code": "a" }), Some(odd)));
    }
    assert_eq!(facilitator.asked(), [""; 0]);
    facilitator.state.lock().unwrap().invalid = Some("expired".into());
    let answer = call(&server, json!({ "code": "a" }), Some(payment("0x2")));
    withheld(&answer);
    assert!(answer.to_string().contains("expired"), "{answer}");
    assert_eq!(facilitator.asked(), ["/verify"]);
    assert_eq!(balances(&shop), "");
}

#[test]
fn nothing_is_settled_for_a_call_that_fails() {
    let (shop, facilitator, server) = open();
    withheld(&call(&server, json!({}), Some(payment("0x3"))));
    assert!(!facilitator.asked().contains(&"/settle".to_owned()));
    assert_eq!(balances(&shop), "");
}

#[test]
fn without_settlement_the_answer_is_withheld() {
    let (shop, facilitator, server) = open();
    facilitator.settle(Settles::Refuses);
    let answer = call(&server, json!({ "code": "a" }), Some(payment("0x4")));
    withheld(&answer);
    assert!(answer.to_string().contains("insufficient_funds"), "{answer}");
    assert_eq!(balances(&shop), "");
    // The wallet was filled meanwhile: the same payment is good now.
    let paid = call(&server, json!({ "code": "a" }), Some(payment("0x4")));
    assert!(paid.to_string().contains("quokka"), "{paid}");
    shop.say(&["doctor"]);
    facilitator.is_content();
}

#[test]
fn a_settlement_that_may_still_be_made_is_not_called_refused() {
    let (shop, facilitator, server) = open();
    for (nonce, how) in [
        ("0x5", Settles::Breaks),
        ("0x6", Settles::Babbles),
        ("0x7", Settles::Pends),
        ("0x8", Settles::FailsOnChain),
        ("0x9", Settles::Stumbles),
    ] {
        facilitator.asked();
        facilitator.settle(how);
        let answer = call(&server, json!({ "code": nonce }), Some(payment(nonce)));
        withheld(&answer);
        let text = answer.to_string();
        assert!(text.contains("may still be made") && text.contains("ask the operator"), "{text}");
        assert!(!text.contains("nothing was charged"), "{text}");
        assert_eq!(facilitator.asked(), ["/verify", "/settle"], "asked once");
        // Nobody knows whether the money moved: a person has to look.
        withheld(&call(&server, json!({ "code": nonce }), Some(payment(nonce))));
        assert_eq!(facilitator.asked(), [""; 0]);
    }
    assert_eq!(balances(&shop), "");
    let output = shop.command(&["doctor"]).output().unwrap();
    let out = String::from_utf8(output.stdout).unwrap();
    assert!(!output.status.success(), "{out}");
    assert_eq!(out.matches("ended is not known").count(), 5, "{out}");
    assert!(out.contains("(`pay_7`)") && out.contains("(`0xdead`)"), "what to look up: {out}");
    facilitator.is_content();
}

#[test]
fn a_person_says_how_a_payment_in_doubt_ended() {
    let (shop, facilitator, server) = open();
    let ann = shop.user("ann", "reader", "read,market");
    let doubtful = |nonce: &str, token: Option<&str>| {
        facilitator.settle(Settles::Pends);
        let meta = json!({ "x402/payment": payment(nonce) });
        let params = json!({ "name": "review", "arguments": { "code": nonce }, "_meta": meta });
        withheld(&ask(&server, "/_system/mcp", token, "tools/call", params));
    };
    doubtful("0x1", Some(&ann));
    doubtful("0x2", None);
    doubtful("0x3", None);
    let failing = |arguments: &[&str]| {
        let output = shop.command(arguments).output().unwrap();
        assert!(!output.status.success(), "{arguments:?}");
        String::from_utf8(output.stderr).unwrap() + &String::from_utf8(output.stdout).unwrap()
    };
    let out = failing(&["doctor"]);
    assert!(out.contains("`notewell market resolve 1 --arrived`"), "{out}");
    // One names a payment and says one of two things.
    for wrong in
        [&["1"][..], &["1", "--arrived", "--failed"], &["1", "--arrived", "0"], &["9", "--failed"]]
    {
        failing(&[&["market", "resolve"], wrong].concat());
    }
    assert_eq!(balances(&shop), "");
    let credited = shop.say(&["market", "resolve", "1", "--arrived"]);
    assert!(credited.contains("0.01 USD of payment 1 to the credit of `ann`"), "{credited}");
    assert!(shop.say(&["market", "balance", "ann"]).contains("0.01"));
    // Credit is not the call that it was sent with.
    let meta = json!({ "x402/payment": payment("0x1") });
    let params = json!({ "name": "review", "arguments": { "code": "0x1" }, "_meta": meta });
    let again = ask(&server, "/_system/mcp", Some(&ann), "tools/call", params);
    withheld(&again);
    assert!(again.to_string().contains("became credit"), "{again}");
    // The facilitator gave both the same name: what arrived once is booked once.
    let same = failing(&["market", "resolve", "2", "--arrived"]);
    assert!(same.contains("nothing was booked"), "{same}");
    shop.say(&["market", "resolve", "2", "--failed"]);
    shop.say(&["market", "resolve", "3", "--failed"]);
    for again in ["--arrived", "--failed"] {
        assert!(failing(&["market", "resolve", "1", again]).contains("not in doubt"));
    }
    shop.say(&["doctor"]);
    assert!(shop.say(&["audit"]).contains("market_resolve"));
    // What failed may be sent again.
    let paid = call(&server, json!({ "code": "0x3" }), Some(payment("0x3")));
    assert!(paid.to_string().contains("quokka"), "{paid}");
    // A payer without an account has no credit: what arrived is the platform's.
    facilitator.settle(Settles::FailsOnChain);
    withheld(&call(&server, json!({ "code": "d" }), Some(payment("0x4"))));
    let out = failing(&["doctor"]);
    let number = out.split("market resolve ").nth(1).unwrap().split(' ').next().unwrap();
    let kept = shop.say(&["market", "resolve", number, "--arrived", "0.02"]);
    assert!(kept.contains(&format!("0.02 USD of payment {number} to the platform")), "{kept}");
    assert!(balances(&shop).contains("platform\t0.022"), "{}", balances(&shop));
    shop.say(&["doctor"]);
}
