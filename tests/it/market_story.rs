//! The whole story of a sale: an author publishes, a buyer finds the method, is asked to top up, pays
//! through the payment provider, calls, is charged once, the books show it, and a refund returns it.

use std::io::Write as _;

use serde_json::{Value, json};

use crate::{
    fake_stripe::FakeStripe,
    market_stripe::{post, sign_in},
    paying::{Books, modern},
    sold::{Shop, call},
    support::{Home, until},
};

const PAGE: &str = "---\ntitle: Code review\nmcp_method: code-review\nmarket_description: A strict review of Rust code\nprice: 0.25\n---\nThe quokka checklist for {{code}}.\n";

fn printed(stripe: &FakeStripe, home: &Home, arguments: &[&str]) -> Value {
    let output = stripe.command(home, arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn an_author_sells_and_a_buyer_buys() {
    let stripe = FakeStripe::start();
    let shop = Shop::with(&format!("[market.stripe]\nurl = \"{}\"\n", stripe.url));
    let home = &shop.home;
    let mira = shop.user("mira", "author", "read,write,market");
    // Ann has a password, for the page where she pays, and a token for her agent.
    let mut add = shop.command(&["user", "add", "ann", "--password-stdin"]);
    let mut add = add
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    add.stdin.take().unwrap().write_all(b"correct horse battery").unwrap();
    assert!(add.wait().unwrap().success());
    let ann = shop.token_of("ann", "read,market");
    let server = stripe.serve(home);

    // The author publishes, with her own agent.
    let made = call(
        &server,
        Some(&mira),
        "edit_page",
        json!({ "path": "mira/review.md", "op": "create", "text": PAGE }),
    );
    assert!(made.get("result").is_some() && made["result"]["isError"] != true, "{made}");

    // The buyer finds it.
    let mut found = Value::Null;
    until("the method is found", || {
        found =
            call(&server, Some(&ann), "search_marketplace", json!({ "query": "reviewing rust" }));
        found["result"]["structuredContent"]["totalMatches"] == 1
    });
    let offer = &found["result"]["structuredContent"]["results"][0];
    assert_eq!((&offer["price"], &offer["affordable"]), (&json!("0.25"), &json!(false)), "{offer}");
    let name = offer["name"].as_str().unwrap();

    // She calls it, and her client is sent to the top-up.
    let asked = json!({ "name": name, "arguments": { "code": "Rust" } });
    let opens = json!({ "elicitation": { "form": {}, "url": {} } });
    let answer = modern(&server, &ann, asked.clone(), opens.clone());
    assert_eq!(answer["result"]["resultType"], "input_required", "{answer}");
    let url = answer["result"]["inputRequests"]["topup"]["params"]["url"].as_str().unwrap();
    let path = url.split_once("://").unwrap().1.split_once('/').unwrap().1;

    // She pays there.
    let cookie = sign_in(&server, "ann");
    let page = server.get(&format!("/{path}"), &[("Cookie", &cookie)]);
    assert!(page.body.contains("0.00 USD"), "{}", page.body);
    let checkout = post(&server, &format!("/{path}"), &cookie, "amount=5");
    assert_eq!(checkout.status, 303, "{}", checkout.body);
    let session = stripe.sessions().remove(0);
    for _ in 0..2 {
        assert_eq!(stripe.pay(&server, &session).status, 200, "also when it is reported twice");
    }
    assert_eq!(stripe.faults(), [""; 0]);

    // Her client repeats the call, and once more after a lost answer.
    let mut back = asked;
    back["requestState"] = answer["result"]["requestState"].clone();
    back["inputResponses"] = json!({ "topup": { "action": "accept" } });
    let bought = modern(&server, &ann, back.clone(), opens.clone());
    assert_eq!(
        bought["result"]["content"][0]["text"], "The quokka checklist for Rust.",
        "{bought}"
    );
    let receipt = bought["result"]["_meta"]["notewell/receipt"].clone();
    assert_eq!(
        (&receipt["amount"], &receipt["balance"]),
        (&json!("0.25"), &json!("4.75")),
        "{receipt}"
    );
    let again = modern(&server, &ann, back, opens);
    assert_eq!(again["result"]["_meta"]["notewell/receipt"]["amount"], "0.00", "{again}");
    let books = Books::of(&shop);
    assert_eq!(books.balance("ann"), "4.75");

    // Usage and statement show it.
    let usage = printed(&stripe, home, &["market", "usage", "--user", "ann", "--json"]);
    let outcomes: Vec<&str> =
        usage.as_array().unwrap().iter().filter_map(|row| row["outcome"].as_str()).collect();
    assert_eq!(outcomes, ["charged", "repeat"], "{usage}");
    let day = notewell::domain::Timestamp::now().date();
    let statement =
        printed(&stripe, home, &["market", "statement", "mira", "--month", &day[..7], "--json"]);
    assert!(statement.to_string().contains("\"earned\":\"0.20\""), "{statement}");
    let used = call(&server, Some(&ann), "search_marketplace", json!({ "query": "review" }));
    let used = &used["result"]["structuredContent"]["results"][0];
    assert_eq!((&used["calls30Days"], &used["bought"]), (&json!(2), &json!(true)), "{used}");

    // A refund returns it, once.
    let entry = receipt["id"].as_str().unwrap();
    let refund =
        |arguments: &[&str]| stripe.command(home, arguments).output().unwrap().status.success();
    assert!(refund(&["market", "refund", entry]));
    assert!(!refund(&["market", "refund", entry]), "an entry is refunded once");
    assert_eq!(books.balance("ann"), "5.00");
    let statement =
        printed(&stripe, home, &["market", "statement", "mira", "--month", &day[..7], "--json"]);
    assert!(statement.to_string().contains("\"refunded\":\"0.20\""), "{statement}");
    let doctor = stripe.command(home, &["doctor"]).output().unwrap();
    assert!(doctor.status.success(), "{}", String::from_utf8_lossy(&doctor.stdout));
}
