//! `kill -9` between hold, run and capture: nothing paid is lost, nothing is charged twice, and
//! nothing stays held.

use std::{thread, time::Duration};

use serde_json::{Value, json};

use crate::{
    market_race::{balance, balances, shop},
    sold::ask,
    support::{Server, over_server, until},
};

/// Calls at once in a round.
const CALLERS: usize = 8;

/// A small generator of numbers (xorshift), so that a failure can be repeated.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }
}

/// Calls the method; `None` when the server died before it answered.
fn buy(server: &Server, token: &str, code: &str) -> Option<Value> {
    let params = json!({ "name": "review", "arguments": { "code": code } });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    let bearer = format!("Bearer {token}");
    let headers = [("Authorization", bearer.as_str())];
    server.try_send("POST", "/_system/mcp", &headers, body.to_string().as_bytes())
}

/// What the rounds did.
struct Tally {
    calls: usize,
    /// Calls whose answer came before the kill.
    answered: usize,
    /// Calls that were cut while they held credit.
    abandoned: usize,
}

/// Runs rounds of calls that a kill cuts short.
fn kill_rounds(rounds: u64) -> Tally {
    let (shop, token) = shop("1000");
    let mut dice = Dice(0x005e_ed0b_00c5);
    let mut all: Vec<String> = Vec::new();
    // Calls that were answered, with the entry of their receipt.
    let mut receipts: Vec<(String, String)> = Vec::new();
    for round in 0..rounds {
        let mut server = shop.serve();
        until("the method is there", || {
            let listed = ask(&server, "/_system/mcp", Some(&token), "tools/list", json!({}));
            listed.to_string().contains("\"review\"")
        });
        let longest = if over_server() { 400_000 } else { 40_000 };
        let delay = Duration::from_micros(dice.roll(longest));
        let codes: Vec<Vec<String>> = (0..CALLERS)
            .map(|caller| (0..20).map(|number| format!("{round}-{caller}-{number}")).collect())
            .collect();
        let child = server.child.id();
        let mut answered = thread::scope(|scope| {
            let (server, token) = (&server, &token);
            let callers: Vec<_> = codes
                .iter()
                .map(|codes| {
                    scope.spawn(move || {
                        let mut tried = Vec::new();
                        for code in codes {
                            let answer = buy(server, token, code);
                            let dead = answer.is_none();
                            tried.push((code.clone(), answer));
                            if dead {
                                break;
                            }
                        }
                        tried
                    })
                })
                .collect();
            thread::sleep(delay);
            kill(child);
            callers.into_iter().flat_map(|caller| caller.join().unwrap()).collect::<Vec<_>>()
        });
        server.child.wait().unwrap();
        for (code, answer) in answered.drain(..) {
            if let Some(answer) = answer {
                let receipt = &answer["result"]["_meta"]["notewell/receipt"];
                assert_eq!(receipt["amount"], "0.01", "{answer}");
                receipts.push((code.clone(), receipt["id"].as_str().unwrap().to_owned()));
            }
            all.push(code);
        }
    }
    // Whoever lost an answer asks again: what was charged is not charged again.
    let server = shop.serve();
    for code in &all {
        let answer = buy(&server, &token, code).expect("an answer");
        let receipt = &answer["result"]["_meta"]["notewell/receipt"];
        assert!(receipt.is_object(), "{answer}");
        if let Some((_, entry)) = receipts.iter().find(|(known, _)| known == code) {
            assert_eq!((&receipt["amount"], &receipt["id"]), (&json!("0.00"), &json!(entry)));
        }
    }
    let now = balances(&shop);
    assert_eq!(balance(&now, "held:"), "0.00");
    let micros = |account: &str| {
        let text = balance(&now, account);
        notewell::domain::Money::parse(&text).unwrap().0
    };
    let spent = 10_000 * all.len() as i64;
    assert_eq!(micros("user:"), 1_000_000_000 - spent, "every call was paid once");
    assert_eq!(micros("author:") + micros("platform"), spent);
    shop.say(&["doctor"]);
    let usage: Value = serde_json::from_str(&shop.say(&["market", "usage", "--json"])).unwrap();
    let usage = usage.as_array().unwrap();
    let of = |outcome: &str| usage.iter().filter(|row| row["outcome"] == outcome).count();
    assert_eq!(of("charged"), all.len());
    Tally { calls: all.len(), answered: receipts.len(), abandoned: of("abandoned") }
}

fn kill(process: u32) {
    let process = rustix::process::Pid::from_raw(process as i32).unwrap();
    rustix::process::kill_process(process, rustix::process::Signal::KILL).unwrap();
}

/// Rounds by default; `NOTEWELL_ROUNDS` asks for more.
fn rounds() -> u64 {
    std::env::var("NOTEWELL_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(20)
}

/// Few kills hit a call while it holds credit, so rounds are added until one does.
#[test]
fn kills_lose_nothing_and_charge_nothing_twice() {
    for _ in 0..10 {
        let Tally { calls, answered, abandoned } = kill_rounds(rounds());
        println!(
            "{} kills; {calls} calls, {answered} answered before the kill, {abandoned} cut while they held credit",
            rounds()
        );
        if abandoned > 0 {
            return;
        }
    }
    panic!("no kill hit a call that held credit");
}
