//! One balance, many callers: two server processes on one store never let it be overspent.

use std::{
    sync::{
        Barrier,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use serde_json::{Value, json};

use crate::{
    sold::{Shop, call},
    support::Server,
};

const METHOD: &str =
    "---\ntitle: Review\nmcp_method: review\nprice: 0.01\n---\nThe checklist for {{code}}.\n";
pub const CAPS: &str = "[market]\ndaily_cap = \"1000\"\ndaily_cap_per_token = \"1000\"\n[limits]\ncalls_per_minute = 1000000\nconcurrent_per_caller = 64\n";

/// A shop that sells a method for a cent, and the token of a buyer with this credit.
pub fn shop(credit: &str) -> (Shop, String) {
    let shop = Shop::with(CAPS);
    shop.of_mira("review.md", METHOD);
    shop.say(&["user", "add", "mira", "--role", "author"]);
    let token = shop.user("ann", "reader", "read,market");
    shop.say(&["market", "credit", "ann", credit]);
    shop.say(&["index", "--words"]);
    (shop, token)
}

pub fn balances(shop: &Shop) -> Value {
    let out = shop.say(&["market", "balance", "--json"]);
    serde_json::from_str(&out).unwrap()
}

pub fn balance(balances: &Value, account: &str) -> String {
    let rows = balances.as_array().unwrap();
    let row = rows.iter().find(|row| row["account"].as_str().unwrap().starts_with(account));
    row.map_or("0.00", |row| row["balance"].as_str().unwrap()).to_owned()
}

#[test]
fn sixteen_callers_in_two_processes_never_overspend() {
    // Credit for 40 calls, and 16 callers who try 5 different ones each.
    let (shop, token) = shop("0.40");
    let servers: [Server; 2] = [shop.serve(), shop.serve()];
    let (bought, refused) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let start = Barrier::new(16);
    thread::scope(|scope| {
        for caller in 0..16 {
            let (servers, token, start) = (&servers, &token, &start);
            let (bought, refused) = (&bought, &refused);
            scope.spawn(move || {
                start.wait();
                for number in 0..5 {
                    let arguments = json!({ "code": format!("{caller}-{number}") });
                    let answer = call(&servers[caller % 2], Some(token), "review", arguments);
                    let receipt = &answer["result"]["_meta"]["notewell/receipt"];
                    if receipt["amount"] == "0.01" {
                        bought.fetch_add(1, Ordering::Relaxed);
                        let balance = receipt["balance"].as_str().unwrap();
                        assert!(!balance.starts_with('-'), "{receipt}");
                    } else {
                        let text = answer.to_string();
                        assert!(text.contains("your credit is"), "{answer}");
                        assert!(!text.contains("checklist"), "{answer}");
                        refused.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    let (bought, refused) = (bought.into_inner(), refused.into_inner());
    assert_eq!(bought + refused, 80);
    // A call under way holds credit that it may give back, so a few more may be refused than had
    // to be; never is one too many sold.
    assert!(bought <= 40, "{bought}");
    let all = balances(&shop);
    let cents = |amount: usize| format!("0.{amount:02}");
    assert_eq!(balance(&all, "user:"), cents(40 - bought));
    assert_eq!(balance(&all, "held:"), "0.00");
    assert_eq!(bought, 40, "whoever could pay did");
    assert_eq!(
        (balance(&all, "author:"), balance(&all, "platform")),
        ("0.32".into(), "0.08".into())
    );
    shop.say(&["doctor"]);
}

#[test]
fn the_same_call_from_everywhere_is_charged_once() {
    let (shop, token) = shop("0.40");
    let servers: [Server; 2] = [shop.serve(), shop.serve()];
    let start = Barrier::new(16);
    let charged = AtomicUsize::new(0);
    thread::scope(|scope| {
        for caller in 0..16 {
            let (servers, token, start, charged) = (&servers, &token, &start, &charged);
            scope.spawn(move || {
                start.wait();
                let answer =
                    call(&servers[caller % 2], Some(token), "review", json!({ "code": "чай" }));
                let receipt = &answer["result"]["_meta"]["notewell/receipt"];
                assert!(receipt.is_object(), "{answer}");
                charged.fetch_add(usize::from(receipt["amount"] == "0.01"), Ordering::Relaxed);
            });
        }
    });
    assert_eq!(charged.into_inner(), 1);
    assert_eq!(balance(&balances(&shop), "user:"), "0.39");
    // The counters say how calls ended, and nothing of who made them.
    let bearer = format!("Bearer {}", shop.home.token("owner"));
    let metrics: String = servers
        .iter()
        .map(|server| server.get("/metrics", &[("Authorization", &bearer)]).body)
        .collect();
    let counted = |line: &str| -> u64 {
        let lines = metrics.lines().filter_map(|text| text.strip_prefix(line));
        lines.map(|count| count.trim().parse::<u64>().unwrap()).sum()
    };
    let calls =
        |outcome: &str| counted(&format!("notewell_market_calls_total{{outcome=\"{outcome}\"}}"));
    assert_eq!((calls("charged"), calls("repeat")), (1, 15), "{metrics}");
    assert_eq!(counted("notewell_market_charged_micros_total"), 10_000);
    assert!(!metrics.contains("ann") && !metrics.contains("review"), "{metrics}");
    shop.say(&["doctor"]);
}
