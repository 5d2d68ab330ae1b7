//! Top-ups through Stripe: the checkout page, and the webhooks that book it. A fake of the test's
//! own checks every field.

use serde_json::{Value, json};

use crate::{
    fake_stripe::{self, FakeStripe, WEBHOOK_SECRET, completed, deliver, now, signature},
    support::{Answer, Home, Server},
};

const PASSWORD: &str = "correct horse battery";

/// A library with the user ann, and the provider.
fn shop(market: &str) -> (Home, FakeStripe) {
    let (home, stripe) = (Home::new(), FakeStripe::start());
    stripe.configure(&home, market);
    add_user(&home, "ann");
    (home, stripe)
}

pub fn add_user(home: &Home, name: &str) {
    use std::io::Write;
    let mut child = home
        .command(&["user", "add", name, "--password-stdin"])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(PASSWORD.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
}

/// Signs in and gives the cookie.
pub fn sign_in(server: &Server, name: &str) -> String {
    let body = format!("name={name}&password={}", PASSWORD.replace(' ', "+"));
    let answer = post(server, "/sign-in", "", &body);
    let cookie = answer.headers.get("set-cookie").unwrap_or_else(|| panic!("{}", answer.body));
    cookie.split(';').next().unwrap().to_owned()
}

pub fn post(server: &Server, path: &str, cookie: &str, body: &str) -> Answer {
    let origin = format!("http://{}", server.address);
    let headers = [
        ("Origin", origin.as_str()),
        ("Content-Type", "application/x-www-form-urlencoded"),
        ("Cookie", cookie),
    ];
    server.send("POST", path, &headers, body.as_bytes())
}

fn balance(home: &Home) -> String {
    let out = home.say(&["market", "balance", "ann", "--json"]);
    let value: Value = serde_json::from_str(&out).unwrap();
    value["credit"].as_str().unwrap().to_owned()
}

fn is_sound(home: &Home) {
    let (ok, out, err) = home.run(&["doctor"]);
    assert!(ok, "{out}{err}");
}

#[test]
fn a_person_buys_credit_on_the_providers_page() {
    let (home, stripe) = shop("");
    let server = stripe.serve(&home);
    let page = server.get("/market/topup", &[("Accept", "text/html")]);
    assert_eq!(page.status, 303, "{}", page.body);
    assert!(page.headers["location"].starts_with("/sign-in?next="));
    let cookie = sign_in(&server, "ann");
    let page = server.get("/market/topup", &[("Cookie", &cookie)]);
    assert!(page.body.contains("0.00 USD") && page.body.contains("Go to payment"), "{}", page.body);
    let policy = &page.headers["content-security-policy"];
    assert!(policy.contains(&format!("form-action 'self' {}", stripe.url)), "{policy}");
    let answer = post(&server, "/market/topup", &cookie, "amount=10");
    assert_eq!(answer.status, 303, "{}", answer.body);
    assert_eq!(answer.headers["location"], format!("{}/c/pay/cs_test_1", stripe.url));
    assert_eq!(stripe.faults(), [""; 0]);
    let session = stripe.sessions().remove(0);
    assert_eq!((session.amount, session.currency.as_str()), (1_000, "usd"));
    assert_eq!(session.success_url, format!("http://{}/market/topup?state=paid", server.address));
    assert_eq!(balance(&home), "0.00", "nothing is booked before it is paid");
    assert_eq!(stripe.pay(&server, &session).status, 200);
    assert_eq!(balance(&home), "10.00");
    let back = server.get("/market/topup?state=paid", &[("Cookie", &cookie)]);
    assert!(back.body.contains("Thank you") && back.body.contains("10.00 USD"), "{}", back.body);
    let entries = home.say(&["market", "entries", "--json"]);
    let entries: Value = serde_json::from_str(&entries).unwrap();
    assert_eq!(entries[0]["kind"], "top_up");
    assert_eq!(entries[0]["memo"], "cs_test_1");
    assert!(entries[0]["postings"].to_string().contains("outside:stripe"), "{entries}");
    let audit = home.say(&["audit"]);
    assert!(audit.contains("stripe\tmarket_top_up\tann"), "{audit}");
    is_sound(&home);
}

#[test]
fn only_a_signed_in_page_of_ours_begins_a_payment() {
    let (home, stripe) = shop("");
    let server = stripe.serve(&home);
    assert_eq!(post(&server, "/market/topup", "", "amount=10").status, 303, "sign in first");
    let cookie = sign_in(&server, "ann");
    let headers = [
        ("Sec-Fetch-Site", "cross-site"),
        ("Content-Type", "application/x-www-form-urlencoded"),
        ("Cookie", cookie.as_str()),
    ];
    let foreign = server.send("POST", "/market/topup", &headers, b"amount=10");
    assert_eq!(foreign.status, 403, "{}", foreign.body);
    for bad in ["4.99", "500.01", "-10", "1e3", "ten", "", "10.001", "5.005"] {
        let answer = post(&server, "/market/topup", &cookie, &format!("amount={bad}"));
        assert_eq!(answer.status, 400, "{bad}");
        assert!(answer.body.contains("notice bad"), "{bad}: {}", answer.body);
    }
    assert_eq!(stripe.requests(), 0);
}

#[test]
fn a_provider_that_fails_for_a_moment_is_asked_again_for_the_same_session() {
    let (home, stripe) = shop("");
    let server = stripe.serve(&home);
    let cookie = sign_in(&server, "ann");
    stripe.fail(&[500, 503]);
    assert_eq!(post(&server, "/market/topup", &cookie, "amount=10").status, 303);
    assert_eq!((stripe.requests(), stripe.sessions().len()), (3, 1));
    stripe.fail(&[400]);
    let answer = post(&server, "/market/topup", &cookie, "amount=10");
    assert_eq!(answer.status, 502);
    assert!(answer.body.contains("Nothing was paid"), "{}", answer.body);
    assert!(!answer.body.contains("sk_test"), "{}", answer.body);
}

#[test]
fn a_payment_is_booked_once_however_often_it_is_reported() {
    let (home, stripe) = shop("");
    let url = home_top_up(&home, &stripe, "12.50");
    assert_eq!(url.trim(), format!("{}/c/pay/cs_test_1", stripe.url));
    let server = stripe.serve(&home);
    let session = stripe.sessions().remove(0);
    for _ in 0..3 {
        assert_eq!(stripe.pay(&server, &session).status, 200);
    }
    // Another event about the same session, with an id of its own.
    let mut slow = completed(&session, "evt_async");
    slow["type"] = json!("checkout.session.async_payment_succeeded");
    assert_eq!(stripe.send(&server, &slow).status, 200);
    assert_eq!(balance(&home), "12.50");
    // The same event to another process of the same library.
    let second = stripe.serve(&home);
    assert_eq!(stripe.pay(&second, &session).status, 200);
    assert_eq!(balance(&home), "12.50");
    is_sound(&home);
}

fn home_top_up(home: &Home, stripe: &FakeStripe, amount: &str) -> String {
    let output = stripe.command(home, &["market", "top-up", "ann", amount]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn what_stripe_did_not_sign_is_refused() {
    let (home, stripe) = shop("");
    home_top_up(&home, &stripe, "10");
    let server = stripe.serve(&home);
    let session = stripe.sessions().remove(0);
    let body = completed(&session, "evt").to_string();
    let good = signature(&body, now(), WEBHOOK_SECRET);
    for (signature, body, why) in [
        (signature(&body, now(), "whsec_other"), body.clone(), "signature"),
        (signature(&body, now() - 400, WEBHOOK_SECRET), body.clone(), "five minutes"),
        (signature(&body, now() + 400, WEBHOOK_SECRET), body.clone(), "five minutes"),
        (good.clone(), body.replace("paid", "PAID"), "signature"),
        (good.clone(), format!("{body} "), "signature"),
        (good.replace("v1=", "v2="), body.clone(), "signature"),
        ("t=,v1=".to_owned(), body.clone(), "Stripe-Signature"),
    ] {
        let answer = deliver(&server, &signature, &body);
        assert_eq!(answer.status, 400, "{}", answer.body);
        assert!(answer.body.contains(why), "{}", answer.body);
    }
    let bare = server.send("POST", "/webhooks/stripe", &[], body.as_bytes());
    assert_eq!(bare.status, 400);
    let large = "x".repeat(300 << 10);
    assert_eq!(deliver(&server, &good, &large).status, 413);
    assert_eq!(server.get("/webhooks/stripe", &[]).status, 405);
    assert_eq!(balance(&home), "0.00");
    assert_eq!(deliver(&server, &good, &body).status, 200, "and the good one still counts");
    assert_eq!(balance(&home), "10.00");
}

#[test]
fn another_amount_or_currency_is_named_and_not_booked() {
    let (home, stripe) = shop("");
    home_top_up(&home, &stripe, "10");
    let server = stripe.serve(&home);
    let session = stripe.sessions().remove(0);
    for (amount, currency) in [(900, "usd"), (1_000, "eur"), (1_001, "usd"), (-1_000, "usd")] {
        let wrong = fake_stripe::Session { amount, currency: currency.into(), ..session.clone() };
        let event = completed(&wrong, &format!("evt_{amount}_{currency}"));
        let answer = stripe.send(&server, &event);
        assert_eq!(answer.status, 400, "{}", answer.body);
        assert!(answer.body.contains("nothing was booked"), "{}", answer.body);
    }
    assert_eq!(balance(&home), "0.00");
    let (ok, out, _) = home.run(&["doctor"]);
    assert!(!ok && out.contains("cs_test_1") && out.contains("10.00 USD"), "{out}");
    // The money was returned. Stripe sends an event again that it has no answer to: that changes
    // nothing.
    let (ok, _, err) = home.run(&["market", "resolve", "1", "--arrived"]);
    assert!(!ok && err.contains("`--arrived 10.00`"), "{err}");
    home.say(&["market", "resolve", "1", "--failed"]);
    let late = completed(&fake_stripe::Session { amount: 900, ..session.clone() }, "evt_late");
    assert_eq!(stripe.send(&server, &late).status, 400);
    home.say(&["market", "resolve", "1", "--failed"]);
    assert_eq!(stripe.send(&server, &late).status, 200);
    is_sound(&home);
    // The right event still books it, and nothing is left to repair.
    assert_eq!(stripe.send(&server, &completed(&session, "evt_right")).status, 200);
    assert_eq!(balance(&home), "10.00");
    is_sound(&home);
}

#[test]
fn events_that_do_not_concern_us_are_acknowledged_and_change_nothing() {
    let (home, stripe) = shop("");
    home_top_up(&home, &stripe, "10");
    let server = stripe.serve(&home);
    let session = stripe.sessions().remove(0);
    let event = |name: &str, change: fn(&mut Value)| {
        let mut event = completed(&session, name);
        change(&mut event);
        event
    };
    for other in [
        event("evt_1", |event| event["type"] = json!("invoice.paid")),
        event("evt_2", |event| event["data"]["object"]["client_reference_id"] = json!(null)),
        event("evt_3", |event| event["data"]["object"]["client_reference_id"] = json!("shop-7")),
        event("evt_4", |event| event["data"]["object"]["payment_status"] = json!("unpaid")),
        event("evt_5", |event| event["type"] = json!("checkout.session.expired")),
    ] {
        assert_eq!(stripe.send(&server, &other).status, 200, "{other}");
    }
    assert_eq!(balance(&home), "0.00");
    let not_an_event = stripe.send(&server, &json!({ "id": "evt_6" }));
    assert_eq!(not_an_event.status, 400, "{}", not_an_event.body);
    is_sound(&home);
}

#[test]
fn without_a_key_the_page_says_how_to_pay() {
    let home = Home::new();
    add_user(&home, "ann");
    let server = home.serve();
    let cookie = sign_in(&server, "ann");
    let page = server.get("/market/topup", &[("Cookie", &cookie)]);
    assert!(page.body.contains("takes no card payments"), "{}", page.body);
    assert_eq!(post(&server, "/market/topup", &cookie, "amount=10").status, 400);
    let answer = deliver(&server, "t=1,v1=00", "{}");
    assert_eq!(answer.status, 400);
    let (ok, _, err) = home.run(&["market", "top-up", "ann", "10"]);
    assert!(!ok && err.contains("market credit"), "{err}");
}

#[test]
fn yen_have_no_hundredths() {
    let (home, stripe) =
        shop("[market]\ncurrency = \"JPY\"\nmin_top_up = \"500\"\nmax_top_up = \"50000\"");
    home_top_up(&home, &stripe, "1500");
    let server = stripe.serve(&home);
    let session = stripe.sessions().remove(0);
    assert_eq!((session.amount, session.currency.as_str()), (1_500, "jpy"));
    assert_eq!(stripe.pay(&server, &session).status, 200);
    assert_eq!(balance(&home), "1500.00");
    let output = stripe.command(&home, &["market", "top-up", "ann", "1500.50"]).output().unwrap();
    assert!(!output.status.success());
}
