//! The market in a browser without scripts: offers, a buyer's credit, an author's earnings, and the
//! owner's books.

use std::{io::Write as _, process::Stdio};

use serde_json::json;

use crate::{
    market_stripe::{post, sign_in},
    sold::{Shop, call},
    support::{Answer, Server, until},
    web_cards::{PROBE, check, is_escaped},
};

const PASSWORD: &[u8] = b"correct horse battery";

/// A shop with Mira's methods in three languages, a buyer and an owner who can sign in.
struct Fair {
    shop: Shop,
    server: Server,
    ann: String,
}

impl Fair {
    fn new() -> Self {
        let shop = Shop::new();
        let page = |name: &str, title: &str, about: &str, more: &str| {
            let text = format!(
                "---\ntitle: {title}\nmcp_method: {name}\nmarket_description: {about}\n{more}---\nThe quokka answer for {{{{text}}}}.\n"
            );
            shop.of_mira(&format!("{name}.md"), &text);
        };
        page(
            "review",
            "Code review",
            "A strict review of Rust code",
            "price: 0.25\nprice_free: 1\nmarket_example: Three remarks\n",
        );
        page("obzor", "Обзор текста", "Строгая вычитка русского текста", "price: 0.10\n");
        page("kousei", "日本語の校正", "日本語の文章を校正する", "price: 2\n");
        page("gift", "A free gift", "Says something nice", "free: true\n");
        for (name, role) in [("mira", "author"), ("ann", "reader"), ("olga", "owner")] {
            add_person(&shop, name, role);
        }
        let ann = shop.token_of("ann", "read,market");
        shop.say(&["market", "credit", "ann", "5", "--memo", PROBE]);
        let server = shop.serve();
        let fair = Self { shop, server, ann };
        let visitor = fair.visitor();
        until("the methods are offered", || visitor.page("/market").contains("4 methods"));
        fair
    }

    fn visitor(&self) -> Person<'_> {
        Person { server: &self.server, cookie: String::new() }
    }

    fn person(&self, name: &str) -> Person<'_> {
        Person { server: &self.server, cookie: sign_in(&self.server, name) }
    }

    /// Ann's agent calls a method of Mira's.
    fn buy(&self, method: &str, text: &str) {
        let answer = call(&self.server, Some(&self.ann), method, json!({ "text": text }));
        assert!(answer.to_string().contains("quokka"), "{answer}");
    }
}

fn add_person(shop: &Shop, name: &str, role: &str) {
    let mut command = shop.command(&["user", "add", name, "--role", role, "--password-stdin"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(PASSWORD).unwrap();
    assert!(child.wait().unwrap().success());
}

/// Somebody with a browser, signed in or not.
struct Person<'a> {
    server: &'a Server,
    cookie: String,
}

impl Person<'_> {
    fn get(&self, path: &str) -> Answer {
        let headers = [("Accept", "text/html"), ("Cookie", self.cookie.as_str())];
        let answer = self.server.get(path, &headers);
        if !self.cookie.is_empty() {
            check(&answer, path);
        }
        answer
    }

    fn page(&self, path: &str) -> String {
        let answer = self.get(path);
        assert_eq!(answer.status, 200, "{path}: {}", answer.body);
        assert!(answer.body.len() < 40_000, "{path}: {} bytes", answer.body.len());
        answer.body
    }

    fn post(&self, path: &str, fields: &[(&str, &str)]) -> Answer {
        let body =
            url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
        post(self.server, path, &self.cookie, &body)
    }
}

/// The address of the offer with this title.
fn offer(page: &str, title: &str) -> String {
    let (before, _) = page.split_once(&format!("\" dir=\"auto\">{title}</a>")).expect(title);
    before.rsplit_once("href=\"").unwrap().1.to_owned()
}

fn month(shift: i64) -> String {
    notewell::domain::Timestamp::now().plus_days(shift).date()[..7].to_owned()
}

#[test]
fn a_visitor_finds_methods_in_three_languages() {
    let fair = Fair::new();
    let visitor = fair.visitor();
    let page = visitor.page("/market");
    for part in ["0.25 USD", "the first free", "by <a href=\"/@mira\">", "<code>review</code>"] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert!(!page.contains("quokka"), "what is sold is not shown");
    for (query, title, other) in [
        ("reviewing rust", "Code review", "Обзор"),
        ("вычитать текст", "Обзор текста", "Code review"),
        ("文章の校正", "日本語の校正", "Code review"),
    ] {
        let query: String = url::form_urlencoded::byte_serialize(query.as_bytes()).collect();
        let page = visitor.page(&format!("/market?q={query}"));
        assert!(page.contains(title) && !page.contains(other), "{query}: {page}");
    }
    let cheap = visitor.page("/market?max_price=0.2");
    assert!(cheap.contains("2 methods") && !cheap.contains("Code review"), "{cheap}");
    assert!(visitor.page("/market?max_price=cheap").contains("is not an amount of money"));
    assert!(visitor.page("/market?author=nobody").contains("No method fits"));

    let one = visitor.page(&offer(&page, "Code review"));
    for part in ["0.25 USD", "Three remarks", "/_system/mcp/mira", "<code>text</code>", "sign in"] {
        assert!(one.contains(part), "{part}: {one}");
    }
    assert!(!one.contains("quokka") && !one.contains("Read the note"), "{one}");
    for nothing in ["/market/999999", "/market/x", "/market/-1"] {
        assert_eq!(visitor.get(nothing).status, 404, "{nothing}");
    }
    for mine in ["/market/credit", "/market/earnings", "/market/usage.csv"] {
        let answer = visitor.get(mine);
        assert_eq!(answer.status, 303, "{mine}");
        assert!(answer.headers["location"].starts_with("/sign-in?next="), "{mine}");
    }
    for owners in ["/market/books", "/market/books/1", "/market/payouts"] {
        assert_eq!(visitor.get(owners).status, 404, "{owners}");
    }
}

#[test]
fn a_buyer_sees_credit_calls_and_receipts() {
    let fair = Fair::new();
    let ann = fair.person("ann");
    let page = ann.page("/market");
    assert!(page.contains("5.00 USD") && page.contains("1 trial call left"), "{page}");
    fair.buy("review", "a");
    fair.buy("review", "b");
    fair.buy("review", "b");
    let page = ann.page("/market/credit");
    for part in
        ["4.75 USD", "trial call, free", ">charged<", "the same again, free", "top-up", ">mira<"]
    {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert!(is_escaped(&page));
    let market = ann.page("/market");
    assert!(market.contains("you called it before"), "{market}");
    let dear = ann.page(&offer(&market, "日本語の校正"));
    assert!(dear.contains("Your credit is 4.75 USD"), "{dear}");
    let csv = ann.get(&format!("/market/usage.csv?month={}", month(0)));
    assert_eq!(csv.headers["content-type"], "text/csv; charset=utf-8");
    assert_eq!(csv.body.lines().count(), 4, "{}", csv.body);
    assert!(csv.body.contains(",ann,") && csv.body.contains(",charged,"), "{}", csv.body);
    assert_eq!(ann.get("/market/usage.csv?month=soon").status, 400);
    // What belongs to others is not there.
    for others in ["/market/earnings", "/market/books", "/market/payouts", "/market/books/1"] {
        assert_eq!(ann.get(others).status, 404, "{others}");
    }
    assert_eq!(ann.get("/market/earnings.csv?author=mira").status, 404);
}

#[test]
fn calls_are_paged() {
    let fair = Fair::new();
    for number in 0..53 {
        let answer = call(&fair.server, Some(&fair.ann), "review", json!({ "text": "x" }));
        assert!(answer.get("result").is_some(), "{number}: {answer}");
    }
    let ann = fair.person("ann");
    let first = ann.page("/market/credit");
    assert_eq!(first.matches("<code>review</code>").count(), 50, "{first}");
    let (_, rest) = first.split_once("href=\"/market/credit?before=").expect("older calls");
    let older = ann.page(&format!("/market/credit?before={}", rest.split('"').next().unwrap()));
    assert_eq!(older.matches("<code>review</code>").count(), 3, "{older}");
}

#[test]
fn an_author_sees_methods_statement_and_plot() {
    let fair = Fair::new();
    fair.buy("review", "a");
    fair.buy("review", "b");
    fair.buy("obzor", "в");
    let mira = fair.person("mira");
    let page = mira.page("/market/earnings");
    for part in
        ["Обзор текста", "日本語の校正", "0.25 USD", "0.28", "<svg", "Answered calls by day"]
    {
        assert!(page.contains(part), "{part}: {page}");
    }
    let csv = mira.get("/market/earnings.csv");
    assert!(csv.body.contains("mira") && csv.body.contains("0.28"), "{}", csv.body);
    let before = mira.page(&format!("/market/earnings?month={}", month(-40)));
    assert!(before.contains("No method was called"), "{before}");
    assert_eq!(mira.get("/market/earnings?month=never").status, 400);
    assert_eq!(mira.get("/market/earnings?author=ann").status, 404);
    // The owner sees it too.
    let olga = fair.person("olga");
    let page = olga.page("/market/earnings?author=mira");
    assert!(page.contains("Earnings of") && page.contains("0.28"), "{page}");
}

#[test]
fn the_owner_keeps_the_books() {
    let fair = Fair::new();
    fair.buy("obzor", "в");
    let olga = fair.person("olga");
    let page = olga.page("/market/books");
    for part in ["credit of ann", "earnings of mira", "The sum is zero", "capture"] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert!(is_escaped(&page), "a memo is text");
    assert!(olga.page("/market/books?check=1").contains("Every entry sums to zero"));
    let captures = olga.page("/market/books?kind=capture");
    assert!(!captures.contains("<td>top-up"), "{captures}");
    for bad in ["kind=dance", "account=bank", "month=2026-13"] {
        assert_eq!(olga.get(&format!("/market/books?{bad}")).status, 400, "{bad}");
    }
    let csv = olga.get("/market/books/entries.csv?kind=capture");
    assert_eq!(csv.body.lines().count(), 4, "three sides: {}", csv.body);

    // Credit by hand; the same form twice books once.
    let fields = [("user", "ann"), ("amount", "2.50"), ("memo", "чек 領収書"), ("key", "form-1")];
    assert_eq!(olga.post("/market/books", &fields).status, 303);
    let again = olga.post("/market/books", &fields);
    assert_eq!(again.headers["location"], "/market/books?booked=again");
    assert!(fair.person("ann").page("/market/credit").contains("7.40 USD"));
    for (user, amount, why) in [
        ("nobody", "1", "nobody"),
        ("ann", "much", "is not an amount"),
        ("ann", "0", "more than zero"),
    ] {
        let answer = olga.post("/market/books", &[("user", user), ("amount", amount)]);
        assert_eq!(answer.status, 422, "{}", answer.body);
        assert!(answer.body.contains(why), "{why}: {}", answer.body);
    }

    // A refund needs a confirmation and is booked once.
    let (_, rest) = captures.split_once("href=\"/market/books/").unwrap();
    let rest = rest.split_once("<td class=\"number\"><a href=\"/market/books/").unwrap().1;
    let entry = format!("/market/books/{}", rest.split('"').next().unwrap());
    let page = olga.page(&entry);
    assert!(page.contains("capture") && page.contains("Book the refund"), "{page}");
    let careless = olga.post(&entry, &[("memo", "oops")]);
    assert_eq!(careless.status, 422, "{}", careless.body);
    assert!(careless.body.contains("tick the box") || careless.body.contains("Tick the box"));
    let refund = olga.post(&entry, &[("memo", "broken"), ("confirm", "yes")]);
    assert_eq!(refund.status, 303, "{}", refund.body);
    assert!(olga.page(&refund.headers["location"]).contains("The refund is booked"));
    let twice = olga.post(&entry, &[("confirm", "yes")]);
    assert_eq!(twice.status, 422, "{}", twice.body);
    let ann = fair.person("ann").page("/market/credit");
    assert!(ann.contains("7.50 USD") && ann.contains("charged, refunded"), "{ann}");
    assert_eq!(olga.get("/market/books/999").status, 404);
    let audit = fair.shop.say(&["audit"]);
    for action in ["market_credit", "market_refund"] {
        assert!(audit.contains(&format!("olga\t{action}")), "{action}: {audit}");
    }
}

#[test]
fn payouts_are_booked_for_months_that_are_over() {
    let fair = Fair::new();
    fair.buy("obzor", "в");
    let olga = fair.person("olga");
    let page = olga.page(&format!("/market/payouts?month={}", month(0)));
    assert!(page.contains("This month is not over") && !page.contains("Book the payout"), "{page}");
    let fields = |month: &'static str, amount: &'static str| {
        vec![
            ("author", "mira"),
            ("month", month),
            ("amount", amount),
            ("through", "manual"),
            ("confirm", "yes"),
        ]
    };
    let now: &'static str = month(0).leak();
    let early = olga.post("/market/payouts", &fields(now, "0.08"));
    assert_eq!(early.status, 422, "{}", early.body);
    assert!(early.body.contains("is not over"), "{}", early.body);
    let before: &'static str = month(-40).leak();
    let nothing = olga.post("/market/payouts", &fields(before, "0"));
    assert_eq!(nothing.status, 422, "{}", nothing.body);
    let changed = olga.post("/market/payouts", &fields(before, "7"));
    assert!(changed.body.contains("changed from 7.00 to 0.00 USD"), "{}", changed.body);
    let careless = olga.post("/market/payouts", &[("author", "mira"), ("month", before)]);
    assert_eq!(careless.status, 422, "{}", careless.body);
    assert_eq!(olga.post("/market/payouts", &fields("never", "1")).status, 400);
}

#[test]
fn forms_of_the_market_count_from_our_own_pages_only() {
    let fair = Fair::new();
    let olga = fair.person("olga");
    for path in ["/market/books", "/market/books/1", "/market/payouts", "/market/topup"] {
        let headers = [
            ("Origin", "http://evil.example"),
            ("Content-Type", "application/x-www-form-urlencoded"),
            ("Cookie", olga.cookie.as_str()),
        ];
        let body = b"user=ann&amount=1&confirm=yes&author=mira&month=2026-01";
        let answer = fair.server.send("POST", path, &headers, body);
        assert_eq!(answer.status, 403, "{path}");
    }
    // A token is a program's: it books nothing.
    let owner = fair.shop.home.token("owner");
    let bearer = format!("Bearer {owner}");
    let headers = [
        ("Sec-Fetch-Site", "same-origin"),
        ("Content-Type", "application/x-www-form-urlencoded"),
        ("Authorization", bearer.as_str()),
    ];
    let answer = fair.server.send("POST", "/market/books", &headers, b"user=ann&amount=1");
    assert_eq!(answer.status, 404, "{}", answer.body);
    assert!(fair.person("ann").page("/market/credit").contains("5.00 USD"));
}

#[test]
fn without_the_toolset_there_is_no_market() {
    let shop = Shop::with("[toolsets]\nmarket = false\n");
    let server = shop.serve();
    let visitor = Person { server: &server, cookie: String::new() };
    assert_eq!(visitor.get("/market").status, 404);
    assert!(!visitor.page("/").contains("href=\"/market\""));
}
