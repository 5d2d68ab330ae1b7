//! Paying for a call: who is charged, how often, and what a caller who cannot pay gets.

use notewell::{
    app::market::Market,
    config::Config,
    domain::{Money, UserName, user::Role},
    store::{self, Store, StoreLimits, ledger::Outside},
};
use serde_json::{Value, json};

use crate::{
    browser::{Asking, Browser, Tokens, people},
    sold::{Shop, ask, call, tool},
    support::{self, Server, until},
};

const COMMON: &str = "/_system/mcp";

const REVIEW: &str = "---\ntitle: Code review\nmcp_method: code-review\nprice: 0.10\n---\nThe quokka checklist for {{code}}.\n";

/// The shop's books, as another process sees them.
pub struct Books(Store);

impl Books {
    pub fn of(shop: &Shop) -> Self {
        let limits = StoreLimits { text_bytes: 1 << 20, readers: 1, ..StoreLimits::DEFAULT };
        Self(store::open(&support::store(&shop.home.data()), limits).unwrap())
    }

    fn market(&self) -> Market {
        Market::open(Config::default().into(), &self.0).unwrap()
    }

    pub fn credit(&self, user: &str, amount: &str) {
        let id = self.0.users.find(&UserName::new(user).unwrap()).unwrap().unwrap().id;
        let amount = Money::parse(amount).unwrap();
        self.market().top_up(id, amount, Outside::Manual, &format!("{user}{amount}"), "").unwrap();
    }

    pub fn balance(&self, user: &str) -> String {
        let id = self.0.users.find(&UserName::new(user).unwrap()).unwrap().unwrap().id;
        self.market().balance(id).unwrap().to_string()
    }
}

/// A shop that sells one method, with a buyer who has one dollar.
fn open(review: &str, more: &str) -> (Shop, Books, String) {
    let shop = Shop::with(more);
    shop.of_mira("review.md", review);
    shop.say(&["user", "add", "mira", "--role", "author"]);
    let ann = shop.user("ann", "reader", "read,market");
    let books = Books::of(&shop);
    books.credit("ann", "1.00");
    (shop, books, ann)
}

fn receipt(answer: &Value) -> &Value {
    let receipt = &answer["result"]["_meta"]["notewell/receipt"];
    assert!(receipt.is_object(), "{answer}");
    receipt
}

#[test]
fn a_call_is_charged_once_and_a_repeat_is_free() {
    let (shop, books, ann) = open(REVIEW, "");
    let mira = shop.token_of("mira", "read,write,market");
    let owner = shop.home.token("owner");
    let server = shop.serve();
    let bought = call(&server, Some(&ann), "code-review", json!({ "code": "Rust" }));
    assert_eq!(bought["result"]["content"][0]["text"], "The quokka checklist for Rust.");
    let paid = receipt(&bought);
    assert_eq!((&paid["amount"], &paid["balance"]), (&json!("0.10"), &json!("0.90")), "{bought}");
    assert!(paid["id"].is_string(), "{paid}");
    // The same call within a day.
    let again = call(&server, Some(&ann), "code-review", json!({ "code": "Rust" }));
    assert_eq!(receipt(&again)["amount"], "0.00", "{again}");
    assert_eq!(receipt(&again)["id"], paid["id"], "{again}");
    let other = call(&server, Some(&ann), "code-review", json!({ "code": "чай" }));
    assert_eq!(receipt(&other)["balance"], "0.80", "{other}");
    // Who owns it and who wrote it never pays.
    for token in [&owner, &mira] {
        let own = call(&server, Some(token), "code-review", json!({ "code": "お茶" }));
        assert_eq!(receipt(&own)["amount"], "0.00", "{own}");
    }
    assert_eq!((books.balance("ann"), books.balance("mira")), ("0.80".into(), "0.00".into()));
}

#[test]
fn an_explicit_key_names_the_call() {
    let (shop, books, ann) = open(REVIEW, "");
    let server = shop.serve();
    let keyed = |code: &str, key: Value| {
        let params = json!({
            "name": "code-review",
            "arguments": { "code": code },
            "_meta": { "notewell/idempotency-key": key },
        });
        ask(&server, COMMON, Some(&ann), "tools/call", params)
    };
    assert_eq!(receipt(&keyed("a", json!("one")))["amount"], "0.10");
    assert_eq!(receipt(&keyed("a", json!("one")))["amount"], "0.00");
    assert_eq!(receipt(&keyed("a", json!("two")))["amount"], "0.10", "a new key is a new call");
    let reused = keyed("b", json!("one"));
    assert_eq!(reused["result"]["isError"], true, "{reused}");
    assert_eq!(keyed("a", json!(1))["error"]["code"], -32602);
    assert_eq!(books.balance("ann"), "0.80");
}

#[test]
fn calls_for_trying_are_free() {
    let (shop, books, ann) = open(&REVIEW.replace("price:", "price_free: 2\nprice:"), "");
    let server = shop.serve();
    for (code, amount) in [("a", "0.00"), ("b", "0.00"), ("c", "0.10")] {
        let answer = call(&server, Some(&ann), "code-review", json!({ "code": code }));
        assert_eq!(receipt(&answer)["amount"], amount, "{answer}");
    }
    assert_eq!(books.balance("ann"), "0.90");
}

#[test]
fn whatever_fails_costs_nothing() {
    let includes =
        "---\nmcp_method: includes\nprice: 0.10\n---\nquokka {{note:nowhere.md#Wombat}}\n";
    let large = format!("---\nmcp_method: large\nprice: 0.10\n---\nquokka {}\n", "x".repeat(3_000));
    let (shop, books, ann) = open(REVIEW, "[limits]\nresult_bytes = 2000\n");
    shop.of_mira("includes.md", includes).of_mira("large.md", &large);
    let server = shop.serve();
    for (method, arguments) in [
        ("code-review", json!({})),
        ("code-review", json!({ "code": 1, "kode": "x" })),
        ("code-review", json!({ "code": "x".repeat(3_000) })),
        ("includes", json!({})),
        ("large", json!({})),
        ("nothing", json!({})),
    ] {
        let failed = call(&server, Some(&ann), method, arguments);
        let is_error = failed.get("error").is_some() || failed["result"]["isError"] == true;
        assert!(is_error, "{method}: {failed}");
        let text = failed.to_string().to_lowercase();
        assert!(!text.contains("quokka") && !text.contains("wombat"), "{failed}");
        assert_eq!(books.balance("ann"), "1.00", "{method}: {failed}");
    }
    assert_eq!(
        receipt(&call(&server, Some(&ann), "code-review", json!({ "code": "x" })))["amount"],
        "0.10"
    );
}

#[test]
fn a_call_that_took_too_long_costs_nothing() {
    let (shop, books, ann) = open(REVIEW, "[limits]\nrequest_seconds = 0\n");
    let server = shop.serve();
    let late = call(&server, Some(&ann), "code-review", json!({ "code": "x" }));
    assert!(late.get("error").is_some(), "{late}");
    assert_eq!(books.balance("ann"), "1.00");
}

#[test]
fn who_cannot_pay_is_told_how() {
    let (shop, books, ann) = open(
        &REVIEW.replace("0.10", "0.75"),
        "[market]\ndaily_cap = \"9\"\ndaily_cap_per_token = \"9\"\n",
    );
    let thrifty = shop.token_of("ann", "read");
    let server = shop.serve();
    // Without an account.
    let anonymous = call(&server, None, "code-review", json!({ "code": "x" }));
    let result = &anonymous["result"];
    assert_eq!(result["isError"], true, "{anonymous}");
    let required = &result["structuredContent"];
    assert_eq!((&required["x402Version"], &required["accepts"]), (&json!(2), &json!([])));
    let text = result["content"][0]["text"].as_str().unwrap();
    assert_eq!(&serde_json::from_str::<Value>(text).unwrap(), required);
    let sentence = result["content"][1]["text"].as_str().unwrap();
    assert!(sentence.contains("sign in") && sentence.contains("/market/topup"), "{sentence}");
    // With a credential that may not spend.
    let refused = call(&server, Some(&thrifty), "code-review", json!({ "code": "x" }));
    assert!(refused.to_string().contains("scope `market`"), "{refused}");
    // With too little credit.
    assert_eq!(
        receipt(&call(&server, Some(&ann), "code-review", json!({ "code": "x" })))["balance"],
        "0.25"
    );
    let short = call(&server, Some(&ann), "code-review", json!({ "code": "y" }));
    assert_eq!(short["result"]["isError"], true, "{short}");
    let data = &short["result"]["_meta"]["notewell/payment"];
    assert_eq!((&data["price"], &data["shortfall"]), (&json!("0.75"), &json!("0.50")), "{short}");
    assert_eq!(books.balance("ann"), "0.25");
}

/// The tokens of a connected client change; its cap is for all of them.
#[test]
fn a_connected_client_has_one_cap() {
    let (shop, books, _) =
        open(REVIEW, "[market]\ndaily_cap = \"0.90\"\ndaily_cap_per_token = \"0.10\"\n");
    people(&shop.home, &[("olga", Role::Owner), ("rita", Role::Reader)]);
    books.credit("rita", "1.00");
    let server = shop.serve();
    let connect = || {
        let mut asking = Asking::registered(&server);
        asking.scope = "read market".to_owned();
        let rita = Browser::signed_in(&server, "rita");
        let answer = asking.answer(&rita, &[("decision", "allow"), ("market", "market")]);
        let code = answer.iter().find(|(name, _)| name == "code").unwrap().1.clone();
        let tokens = Tokens::of(&asking.redeem(&server, &code));
        (asking, tokens)
    };
    let call = |token: &str, code: &str| {
        let params = json!({ "name": "code-review", "arguments": { "code": code } });
        ask(&server, "/mcp", Some(token), "tools/call", params)
    };
    let (asking, tokens) = connect();
    assert_eq!(receipt(&call(&tokens.access, "x"))["amount"], "0.10");
    let renewed = Tokens::of(&asking.refresh(&server, &tokens.refresh));
    for token in [&tokens.access, &renewed.access] {
        let refused = call(token, "y").to_string();
        assert!(refused.contains("this connected client may spend 0.10 USD a day"), "{refused}");
    }
    assert_eq!(receipt(&call(&connect().1.access, "y"))["amount"], "0.10", "another client");
    assert_eq!(books.balance("rita"), "0.80");
}

/// A client of the newest revision that opens addresses for its person.
pub fn modern(server: &Server, token: &str, mut params: Value, capabilities: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": capabilities,
        "io.modelcontextprotocol/clientInfo": { "name": "t", "version": "1" },
    });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    let bearer = format!("Bearer {token}");
    let name = params["name"].as_str().unwrap();
    let headers = [
        ("Authorization", bearer.as_str()),
        ("MCP-Protocol-Version", "2026-07-28"),
        ("Mcp-Method", "tools/call"),
        ("Mcp-Name", name),
        ("Accept", "application/json, text/event-stream"),
        ("Content-Type", "application/json"),
    ];
    let answer = server.send("POST", COMMON, &headers, body.to_string().as_bytes());
    let text = answer
        .body
        .lines()
        .find_map(|line| line.strip_prefix("data: ").filter(|data| data.contains("jsonrpc")));
    serde_json::from_str(text.unwrap_or(&answer.body))
        .unwrap_or_else(|error| panic!("{error}: {}", answer.body))
}

#[test]
fn a_client_that_opens_addresses_is_sent_to_the_top_up() {
    let (shop, books, ann) = open(
        &REVIEW.replace("0.10", "2.00"),
        "[market]\ndaily_cap = \"9\"\ndaily_cap_per_token = \"9\"\n",
    );
    let server = shop.serve();
    let asked = json!({ "name": "code-review", "arguments": { "code": "x" } });
    let opens = json!({ "elicitation": { "form": {}, "url": {} } });
    let answer = modern(&server, &ann, asked.clone(), opens.clone());
    let result = &answer["result"];
    assert_eq!(result["resultType"], "input_required", "{answer}");
    let request = &result["inputRequests"]["topup"];
    assert_eq!(request["method"], "elicitation/create", "{answer}");
    assert_eq!(request["params"]["mode"], "url", "{answer}");
    assert!(request["params"]["url"].as_str().unwrap().ends_with("/market/topup"), "{answer}");
    // Back without money: no second question.
    let mut back = asked.clone();
    back["requestState"] = result["requestState"].clone();
    back["inputResponses"] = json!({ "topup": { "action": "accept" } });
    let still = modern(&server, &ann, back.clone(), opens.clone());
    assert_eq!(still["result"]["isError"], true, "{still}");
    assert!(still.to_string().contains("has not arrived yet"), "{still}");
    // Back with money.
    books.credit("ann", "5.00");
    let done = modern(&server, &ann, back, opens);
    assert_eq!(receipt(&done)["balance"], "4.00", "{done}");
    assert_eq!(done["result"]["resultType"], "complete", "{done}");
    // Another client, without addresses.
    let mut plain = asked;
    plain["arguments"]["code"] = json!("y");
    let other = shop.user("bob", "reader", "read,market");
    let answer = modern(&server, &other, plain, json!({}));
    assert_eq!(answer["result"]["isError"], true, "{answer}");
}

#[test]
fn a_price_that_rose_since_the_list_is_named_and_not_charged() {
    let (shop, books, ann) = open(REVIEW, "");
    let server = shop.serve();
    let listed = tool(&server, COMMON, Some(&ann), "code-review").unwrap();
    assert_eq!(listed["_meta"]["notewell/price"]["amount"], "0.10");
    shop.of_mira("review.md", &REVIEW.replace("0.10", "0.20"));
    let risen = call(&server, Some(&ann), "code-review", json!({ "code": "x" }));
    assert_eq!(risen["result"]["isError"], true, "{risen}");
    let text = risen["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("0.20 USD") && text.contains("0.10 USD"), "{text}");
    assert_eq!(books.balance("ann"), "1.00");
    // Listed again, it is bought at the new price.
    until("the new price is listed", || {
        let listed = tool(&server, COMMON, Some(&ann), "code-review");
        listed.is_some_and(|tool| tool["_meta"]["notewell/price"]["amount"] == "0.20")
    });
    let bought = call(&server, Some(&ann), "code-review", json!({ "code": "x" }));
    assert_eq!(receipt(&bought)["amount"], "0.20", "{bought}");
    // A price that fell is simply less.
    shop.of_mira("review.md", &REVIEW.replace("0.10", "0.05"));
    let fallen = call(&server, Some(&ann), "code-review", json!({ "code": "y" }));
    assert_eq!(receipt(&fallen)["amount"], "0.05", "{fallen}");
}

#[test]
fn a_method_may_include_its_authors_own_notes() {
    let (shop, _, ann) = open(
        "---\nmcp_method: code-review\nprice: 0.10\n---\n{{note:private.md}} {{note:other.md|nothing}}\n",
        "",
    );
    shop.of_mira("private.md", "A private quokka.\n");
    shop.home.note("other.md", "A wombat of the owner's.\n");
    let server = shop.serve();
    let bought = call(&server, Some(&ann), "code-review", json!({}));
    assert_eq!(bought["result"]["content"][0]["text"], "A private quokka. nothing", "{bought}");
}
