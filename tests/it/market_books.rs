//! The books under any sequence of top-ups, calls, failures, refunds, payouts and replays, beside a
//! model of a few lines; then statements and payouts at the shell.

use std::{
    collections::{HashMap, HashSet},
    path::Path,
    sync::Arc,
};

use notewell::{
    app::market::{Charge, Market, PaidCall, Receipt},
    config::Config,
    domain::{
        Caller, Code, Money, Pid, Price, Result, Scopes, UserId,
        user::{Role, User},
    },
    store::{
        self, Store, StoreLimits,
        ledger::{Account, EntryFilter, EntryId, EntryKind, NewEntry, Outside, Posted},
        usage::Outcome,
    },
};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::support::{self, Home};

const LIMITS: StoreLimits = StoreLimits { text_bytes: 1 << 20, readers: 2, ..StoreLimits::DEFAULT };
const CAP: i64 = 100_000;

pub fn open(data: &Path, change: impl FnOnce(&mut Config)) -> (Store, Market) {
    let store = store::open(&support::store(data), LIMITS).unwrap();
    let mut config = Config::default();
    change(&mut config);
    let market = Market::open(Arc::new(config), &store).unwrap();
    (store, market)
}

pub fn caller(user: UserId) -> Caller {
    Caller::User(User {
        id: Some(user),
        name: "ann".into(),
        role: Role::Reader,
        grants: [].into(),
        scopes: Scopes::ALL,
    })
}

struct Method {
    page: Pid,
    price: Money,
    author: Option<UserId>,
    trial_calls: u32,
}

const METHODS: [Method; 3] = [
    Method { page: Pid(1), price: Money(10_000), author: Some(UserId(10)), trial_calls: 0 },
    Method { page: Pid(2), price: Money(1), author: Some(UserId(11)), trial_calls: 1 },
    Method { page: Pid(3), price: Money(33_333), author: None, trial_calls: 0 },
];

fn begin(market: &Market, user: UserId, method: usize, argument: u8) -> Result<Charge> {
    let method = &METHODS[method];
    let arguments = Map::from_iter([("code".to_owned(), json!(argument))]);
    market.begin(&PaidCall {
        caller: &caller(user),
        token: None,
        method: "review",
        page: method.page,
        version: "v1",
        author: method.author,
        price: Price::new(method.price).unwrap(),
        trial_calls: method.trial_calls,
        arguments: &arguments,
        key: None,
        payment: None,
        request: "1",
    })
}

#[derive(Debug, Clone, Copy)]
enum End {
    Succeeds,
    Fails,
    Dropped,
    Stays,
}

#[derive(Debug, Clone)]
enum Op {
    TopUp { user: i64, amount: i64, key: u8 },
    Call { user: i64, method: usize, argument: u8, end: End },
    EndOldest { succeeds: bool },
    Refund { at: usize },
    Payout { author: i64, key: u8 },
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let end = prop_oneof![
        4 => Just(End::Succeeds), 1 => Just(End::Fails), 1 => Just(End::Dropped),
        2 => Just(End::Stays),
    ];
    let op = prop_oneof![
        2 => (0i64..3, 1i64..60_000, 0u8..8)
            .prop_map(|(user, amount, key)| Op::TopUp { user, amount, key }),
        6 => (0i64..3, 0usize..3, 0u8..3, end)
            .prop_map(|(user, method, argument, end)| Op::Call { user, method, argument, end }),
        2 => any::<bool>().prop_map(|succeeds| Op::EndOldest { succeeds }),
        2 => any::<usize>().prop_map(|at| Op::Refund { at }),
        1 => (10i64..12, 0u8..3).prop_map(|(author, key)| Op::Payout { author, key }),
    ];
    proptest::collection::vec(op, 1..40)
}

type CallKey = (i64, usize, u8);

/// What should be in the books.
#[derive(Default)]
struct Model {
    credit: HashMap<i64, i64>,
    author: HashMap<i64, i64>,
    platform: i64,
    spent: HashMap<i64, i64>,
    trials: HashMap<(i64, usize), u32>,
    /// Calls that succeeded, with the entry that charged them.
    done: HashMap<CallKey, Option<EntryId>>,
    top_ups: HashMap<u8, (i64, i64)>,
    payouts: HashSet<(i64, u8)>,
    captured: i64,
    refunded: i64,
    paid_out: i64,
}

struct Open {
    key: CallKey,
    is_trial: bool,
    charge: Charge,
}

struct World {
    store: Store,
    market: Market,
    model: Model,
    open: Vec<Open>,
}

impl World {
    fn run(&mut self, op: &Op) {
        match *op {
            Op::TopUp { user, amount, key } => self.top_up(user, amount, key),
            Op::Call { user, method, argument, end } => self.call((user, method, argument), end),
            Op::EndOldest { succeeds } => {
                if !self.open.is_empty() {
                    let open = self.open.remove(0);
                    self.end(open, if succeeds { End::Succeeds } else { End::Fails });
                }
            }
            Op::Refund { at } => self.refund(at),
            Op::Payout { author, key } => self.payout(author, key),
        }
        self.check();
    }

    fn top_up(&mut self, user: i64, amount: i64, key: u8) {
        let posted = self.market.top_up(
            UserId(user),
            Money(amount),
            Outside::Manual,
            &format!("t{key}"),
            "",
        );
        match self.model.top_ups.get(&key) {
            None => {
                assert!(matches!(posted.unwrap(), Posted::New(_)));
                self.model.top_ups.insert(key, (user, amount));
                *self.model.credit.entry(user).or_default() += amount;
            }
            Some(known) if *known == (user, amount) => {
                assert!(matches!(posted.unwrap(), Posted::Known(_)));
            }
            Some(_) => assert_eq!(posted.unwrap_err().code, Code::Conflict),
        }
    }

    fn call(&mut self, key: CallKey, end: End) {
        let (user, number, argument) = key;
        let method = &METHODS[number];
        let price = method.price.0;
        let of_user = |open: &&Open| open.key.0 == user && !open.is_trial;
        let held: i64 =
            self.open.iter().filter(of_user).map(|open| METHODS[open.key.1].price.0).sum();
        let trials_open = self
            .open
            .iter()
            .filter(|open| open.is_trial && (open.key.0, open.key.1) == (user, number))
            .count() as u32;
        let trials = self.model.trials.get(&(user, number)).copied().unwrap_or(0) + trials_open;
        let spent = self.model.spent.get(&user).copied().unwrap_or(0);
        let credit = self.model.credit.get(&user).copied().unwrap_or(0);
        let begun = begin(&self.market, UserId(user), number, argument);
        if let Some(entry) = self.model.done.get(&key) {
            let Ok(Charge::NotCharged(call)) = begun else { panic!("charged twice") };
            assert_eq!(call.reason, Outcome::Repeat);
            let receipt = Charge::NotCharged(call).capture().unwrap();
            assert_eq!((receipt.entry, receipt.amount), (*entry, Money::ZERO));
            return;
        }
        let is_trial = trials < method.trial_calls;
        if !is_trial && spent + held + price > CAP {
            assert_eq!(begun.err().expect("above the cap").code, Code::Limit);
            return;
        }
        if !is_trial && credit < price {
            let is_running = self.open.iter().any(|open| open.key == key);
            let code = if is_running { Code::Conflict } else { Code::Payment };
            assert_eq!(begun.err().expect("too little credit").code, code);
            return;
        }
        let charge = begun.unwrap();
        if !is_trial {
            *self.model.credit.entry(user).or_default() -= price;
        }
        self.end(Open { key, is_trial, charge }, end);
    }

    fn end(&mut self, open: Open, end: End) {
        let (user, number, _) = open.key;
        let price = METHODS[number].price.0;
        let give_back = if open.is_trial { 0 } else { price };
        match end {
            End::Stays => self.open.push(open),
            End::Fails | End::Dropped => {
                match end {
                    End::Fails => open.charge.release(),
                    _ => drop(open.charge),
                }
                *self.model.credit.entry(user).or_default() += give_back;
            }
            End::Succeeds => {
                let receipt = open.charge.capture().unwrap();
                if self.model.done.contains_key(&open.key) {
                    assert_eq!(receipt.outcome, Outcome::Repeat);
                    assert_eq!(receipt.amount, Money::ZERO);
                    *self.model.credit.entry(user).or_default() += give_back;
                } else {
                    self.charged(open.key, open.is_trial, &receipt);
                }
                let credit = self.model.credit.get(&user).copied().unwrap_or(0);
                assert_eq!(receipt.balance, Money(credit));
            }
        }
    }

    fn charged(&mut self, key: CallKey, is_trial: bool, receipt: &Receipt) {
        let (user, number, _) = key;
        self.model.done.insert(key, receipt.entry);
        if is_trial {
            assert_eq!((receipt.outcome, receipt.amount), (Outcome::Trial, Money::ZERO));
            *self.model.trials.entry((user, number)).or_default() += 1;
            return;
        }
        let (price, author) = (METHODS[number].price.0, METHODS[number].author);
        assert_eq!((receipt.outcome, receipt.amount), (Outcome::Charged, Money(price)));
        let share = author.map_or(0, |_| (price * 80 + 99) / 100);
        if let Some(author) = author {
            *self.model.author.entry(author.0).or_default() += share;
        }
        self.model.platform += price - share;
        self.model.captured += price;
        *self.model.spent.entry(user).or_default() += price;
    }

    fn refund(&mut self, at: usize) {
        let entries = self.store.ledger.entries(&EntryFilter::default(), 1_000).unwrap();
        if entries.is_empty() {
            return;
        }
        let entry = &entries[at % entries.len()];
        let refund = self.market.refund(entry.id, "возврат 返金");
        let can = matches!(entry.kind, EntryKind::TopUp | EntryKind::Capture | EntryKind::Payout);
        if !can {
            assert_eq!(refund.unwrap_err().code, Code::InvalidParams);
            return;
        }
        if entry.ended_by.is_some() {
            assert_eq!(refund.unwrap_err().code, Code::Conflict, "a second refund");
            return;
        }
        let model = &mut self.model;
        for posting in &entry.postings {
            let amount = posting.amount.0;
            match posting.account {
                Account::User(user) => {
                    let credit = model.credit.entry(user.0).or_default();
                    if *credit < amount {
                        assert_eq!(refund.unwrap_err().code, Code::Conflict, "it was spent");
                        return;
                    }
                    *credit -= amount;
                }
                Account::Held(user) => *model.credit.entry(user.0).or_default() -= amount,
                Account::Author(user) => *model.author.entry(user.0).or_default() -= amount,
                Account::Platform => model.platform -= amount,
                Account::Outside(_) => {}
            }
        }
        match entry.kind {
            EntryKind::Capture => {
                model.refunded +=
                    -entry.postings.iter().map(|one| one.amount.0.min(0)).sum::<i64>();
                model.done.retain(|_, charged| *charged != Some(entry.id));
            }
            EntryKind::Payout => {
                model.paid_out -= entry.amount_of(Account::Outside(Outside::Manual)).0;
            }
            _ => {}
        }
        assert_eq!(refund.unwrap().ends, Some(entry.id));
    }

    fn payout(&mut self, author: i64, key: u8) {
        let balance = self.model.author.get(&author).copied().unwrap_or(0);
        if balance <= 0 {
            return;
        }
        let entry = NewEntry::new(EntryKind::Payout, format!("payout:{author}:{key}"))
            .add(Account::Author(UserId(author)), Money(-balance))
            .add(Account::Outside(Outside::Manual), Money(balance));
        let posted = self.store.ledger.post(&entry);
        if self.model.payouts.insert((author, key)) {
            assert!(matches!(posted.unwrap(), Posted::New(_)));
            *self.model.author.entry(author).or_default() -= balance;
            self.model.paid_out += balance;
        } else {
            assert!(!matches!(posted, Ok(Posted::New(_))), "paid twice");
        }
    }

    fn check(&self) {
        let ledger = &self.store.ledger;
        let balance = |account| ledger.balance(account).unwrap().0;
        let (mut authors, model) = (0, &self.model);
        for user in 0..3 {
            let credit = balance(Account::User(UserId(user)));
            assert_eq!(credit, model.credit.get(&user).copied().unwrap_or(0));
            assert!(credit >= 0 && balance(Account::Held(UserId(user))) >= 0);
        }
        for author in 10..12 {
            let earned = balance(Account::Author(UserId(author)));
            assert_eq!(earned, model.author.get(&author).copied().unwrap_or(0));
            authors += earned;
        }
        assert_eq!(balance(Account::Platform), model.platform);
        assert_eq!(authors + model.platform, model.captured - model.refunded - model.paid_out);
        for entry in ledger.entries(&EntryFilter::default(), 3).unwrap() {
            assert_eq!(entry.postings.iter().map(|posting| posting.amount.0).sum::<i64>(), 0);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, max_shrink_iters: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn any_sequence_keeps_the_books(ops in ops()) {
        let folder = tempfile::tempdir().unwrap();
        let (store, market) = open(&folder.path().join("data"), |config| {
            config.market.daily_cap = Money(CAP);
        });
        let mut world = World { store, market, model: Model::default(), open: Vec::new() };
        for op in &ops {
            world.run(op);
        }
        prop_assert_eq!(world.store.ledger.damage().unwrap(), Vec::<String>::new());
        // What is left open is given back.
        for open in std::mem::take(&mut world.open) {
            world.end(open, End::Dropped);
        }
        world.check();
        prop_assert!(world.store.ledger.open_holds().unwrap().is_empty());
        prop_assert_eq!(world.store.ledger.damage().unwrap(), Vec::<String>::new());
        let all = world.store.ledger.balances().unwrap();
        prop_assert_eq!(all.iter().map(|(_, money)| money.0).sum::<i64>(), 0);
    }
}

fn user(store: &Store, name: &str) -> UserId {
    let name = notewell::domain::UserName::new(name).unwrap();
    store.users.find(&name).unwrap().unwrap().id
}

/// A library in which ann bought three calls of mira's method, one of which was refunded.
fn sold() -> (Home, Store, Market) {
    let home = Home::new();
    home.say(&["user", "add", "mira", "--role", "author"]);
    home.say(&["user", "add", "ann"]);
    home.say(&["market", "credit", "ann", "1.00", "--memo", "перевод 送金"]);
    let (store, market) = open(&home.data(), |_| {});
    let (ann, mira) = (user(&store, "ann"), user(&store, "mira"));
    for argument in ["Rust", "чай", "お茶"] {
        let arguments = Map::from_iter([("code".to_owned(), json!(argument))]);
        let call = PaidCall {
            caller: &caller(ann),
            token: None,
            method: "code-review",
            page: Pid(7),
            version: "0123456789abcdef",
            author: Some(mira),
            price: Price::parse("0.033333").unwrap(),
            trial_calls: 0,
            arguments: &arguments,
            key: None,
            payment: None,
            request: "42",
        };
        market.begin(&call).unwrap().capture().unwrap();
        // The same call again costs nothing, and is on record.
        market.begin(&call).unwrap().capture().unwrap();
    }
    (home, store, market)
}

/// Moves the books into a month that is over.
fn age(home: &Home) {
    let db = rusqlite::Connection::open(home.data().join("notewell.db")).unwrap();
    db.execute_batch(
        "DROP TRIGGER entries_are_fixed; DROP TRIGGER usage_is_fixed;
         UPDATE entries SET at = unixepoch('2026-10-15') * 1000 + id;
         UPDATE usage SET at = unixepoch('2026-10-15') * 1000 + id;",
    )
    .unwrap();
}

fn json_of(home: &Home, arguments: &[&str]) -> Value {
    serde_json::from_str(&home.say(arguments)).unwrap()
}

#[test]
fn credit_and_refunds_at_the_shell() {
    let (home, _store, _market) = sold();
    let balance = json_of(&home, &["market", "balance", "ann", "--json"]);
    assert_eq!(balance["credit"], "0.900001");
    let again = home.say(&["market", "credit", "ann", "5", "--key", "invoice-7"]);
    assert!(again.contains("5.00 USD credited to `ann`, who has 5.900001 USD"), "{again}");
    let again = home.say(&["market", "credit", "ann", "5", "--key", "invoice-7"]);
    assert!(again.contains("nothing was booked"), "{again}");
    let captures = json_of(&home, &["market", "entries", "--kind", "capture", "--json"]);
    assert_eq!(captures.as_array().unwrap().len(), 3);
    let entry = captures[0]["id"].to_string();
    let refund = home.say(&["market", "refund", &entry, "--memo", "сломано"]);
    assert!(refund.contains(&format!("takes back entry {entry}")), "{refund}");
    assert!(refund.contains("(ann)\t0.033333"), "{refund}");
    let (ok, _, err) = home.run(&["market", "refund", &entry]);
    assert!(!ok && err.contains("was refunded with entry"), "{err}");
    let holds = json_of(&home, &["market", "entries", "--kind", "hold", "--json"]);
    let (ok, _, err) = home.run(&["market", "refund", &holds[0]["id"].to_string()]);
    assert!(!ok && err.contains("is a hold"), "{err}");
    let (ok, _, err) = home.run(&["market", "refund", "999"]);
    assert!(!ok && err.contains("no entry 999"), "{err}");
    assert_eq!(json_of(&home, &["market", "balance", "ann", "--json"])["credit"], "5.933334");
    for (arguments, why) in [
        (["market", "credit", "nobody", "1"], "nobody"),
        (["market", "credit", "ann", "1e3"], "not an amount"),
        (["market", "credit", "ann", "0"], "more than zero"),
        (["market", "credit", "ann", "0.0000001"], "6 decimals"),
        (["market", "credit", "ann", "9999999999999"], "too large"),
    ] {
        let (ok, _, err) = home.run(&arguments);
        assert!(!ok && err.contains(why), "{arguments:?}: {err}");
    }
    let audit = home.say(&["audit"]);
    assert!(audit.contains("market_credit") && audit.contains("market_refund"), "{audit}");
    let (ok, out, _) = home.run(&["doctor"]);
    assert!(ok && out.contains("the books balance over"), "{out}");
}

#[test]
fn usage_is_listed_without_arguments() {
    let (home, _store, _market) = sold();
    let usage = json_of(&home, &["market", "usage", "--json"]);
    let outcomes: Vec<&str> =
        usage.as_array().unwrap().iter().map(|row| row["outcome"].as_str().unwrap()).collect();
    assert_eq!(outcomes, ["charged", "repeat"].repeat(3));
    assert_eq!(usage[0]["user"], "ann");
    assert_eq!((&usage[0]["author"], &usage[0]["price"]), (&json!("mira"), &json!("0.033333")));
    assert_eq!(usage[0]["version"], "0123456789abcdef");
    let text = usage.to_string();
    assert!(!text.contains("чай") && !text.contains("Rust"), "{text}");
    assert_eq!(json_of(&home, &["market", "usage", "--user", "mira", "--json"]), json!([]));
    assert_eq!(json_of(&home, &["market", "usage", "--month", "2020-01", "--json"]), json!([]));
    let csv = home.say(&["market", "usage", "--author", "mira", "--csv"]);
    assert_eq!(csv.lines().count(), 7, "{csv}");
    assert!(csv.starts_with("id,at,user,token,method,author,version,price,charged,currency"));
    let meter = home.say(&["market", "usage", "--meter"]);
    let events: Vec<Value> =
        meter.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(events.len(), 3, "only what was charged");
    assert_eq!(events[0]["event_name"], "notewell_call");
    assert_eq!(events[0]["identifier"], "notewell-usage-1");
    assert!(events[0]["timestamp"].as_i64().unwrap() > 1_700_000_000);
    assert_eq!(events[0]["payload"]["value"], "33333");
    assert_eq!(events[0]["payload"]["customer"], "ann");
    let (ok, _, err) = home.run(&["market", "usage", "--month", "October"]);
    assert!(!ok && err.contains("write it as `2026-10`"), "{err}");
}

#[test]
fn a_month_is_stated_and_paid_once() {
    if support::only_sqlite("it drops triggers, which all libraries of a server share") {
        return;
    }
    let (home, store, market) = sold();
    age(&home);
    let mira = user(&store, "mira");
    // 80 % of 0.033333, rounded to the author, three times.
    let statement =
        json_of(&home, &["market", "statement", "mira", "--month", "2026-10", "--json"]);
    let statement = &statement[0];
    assert_eq!((&statement["opening"], &statement["earned"]), (&json!("0.00"), &json!("0.080001")));
    assert_eq!(
        (&statement["closing"], &statement["payable"]),
        (&json!("0.080001"), &json!("0.080001"))
    );
    let line = &statement["methods"][0];
    assert_eq!((&line["method"], &line["calls"]), (&json!("code-review"), &json!(6)));
    assert_eq!((&line["charged_calls"], &line["gross"]), (&json!(3), &json!("0.099999")));
    let csv = home.say(&["market", "statement", "--month", "2026-10", "--csv"]);
    let amount = |name: &str| -> i64 {
        let rows = csv.lines().filter(|row| row.split(',').nth(2) == Some(name));
        let micros = |text: &str| match text.strip_prefix('-') {
            Some(text) => -Money::parse(text).unwrap().0,
            None => Money::parse(text).unwrap().0,
        };
        rows.map(|row| micros(row.split(',').nth(9).unwrap())).sum()
    };
    assert_eq!(amount("opening") + amount("method") + amount("paid_out"), amount("closing"));
    let (ok, _, err) = home.run(&["market", "payout", "ann", "--month", "2026-10"]);
    assert!(!ok && err.contains("nothing is to be paid"), "{err}");
    let paid = home.say(&["market", "payout", "mira", "--month", "2026-10", "--memo", "SEPA 7"]);
    assert!(paid.contains("0.080001 USD paid to `mira` for 2026-10"), "{paid}");
    let (ok, _, err) = home.run(&["market", "payout", "mira", "--month", "2026-10"]);
    assert!(!ok && err.contains("was paid out with entry"), "{err}");
    let (ok, _, err) = home.run(&["market", "payout", "mira", "--month", "2099-01"]);
    assert!(!ok && err.contains("is not over"), "{err}");
    assert_eq!(market.balance(mira).unwrap(), Money::ZERO);
    assert_eq!(store.ledger.balance(Account::Author(mira)).unwrap(), Money::ZERO);
    // A refund afterwards: the author owes, and the next month says so.
    let captures = json_of(&home, &["market", "entries", "--kind", "capture", "--json"]);
    home.say(&["market", "refund", &captures[0]["id"].to_string()]);
    assert_eq!(store.ledger.balance(Account::Author(mira)).unwrap(), Money(-26_667));
    let now = notewell::domain::Timestamp::now().date();
    let this = json_of(&home, &["market", "statement", "mira", "--month", &now[..7], "--json"]);
    let this = &this[0];
    assert_eq!((&this["opening"], &this["refunded"]), (&json!("0.080001"), &json!("0.026667")));
    assert_eq!((&this["paid_out"], &this["closing"]), (&json!("0.080001"), &json!("-0.026667")));
    let (ok, out, err) = home.run(&["doctor"]);
    assert!(ok, "{out}{err}");
}

/// Books in which mira earned 10 in September, 20 in October and 50 since, with these entries.
fn three_months() -> (Home, Store, Market, UserId, [EntryId; 3]) {
    let home = Home::new();
    home.say(&["user", "add", "mira", "--role", "author"]);
    let (store, market) = open(&home.data(), |_| {});
    let mira = user(&store, "mira");
    let earned = [10, 20, 50].map(|amount| {
        let entry = NewEntry::new(EntryKind::Sale, format!("sale:{amount}"))
            .add(Account::Outside(Outside::X402), Money(-amount))
            .add(Account::Author(mira), Money(amount));
        store.ledger.post(&entry).unwrap().entry().id
    });
    let db = rusqlite::Connection::open(home.data().join("notewell.db")).unwrap();
    db.execute_batch(
        "DROP TRIGGER entries_are_fixed;
         UPDATE entries SET at = unixepoch('2025-09-15') * 1000 WHERE key = 'sale:10';
         UPDATE entries SET at = unixepoch('2025-10-15') * 1000 WHERE key = 'sale:20';",
    )
    .unwrap();
    (home, store, market, mira, earned)
}

#[test]
fn months_that_are_settled_late_are_not_paid_twice() {
    if support::only_sqlite("it drops triggers, which all libraries of a server share") {
        return;
    }
    let (september, october) = ("2025-09", "2025-10");
    let pay = |market: &Market, mira, month| market.payout(mira, month, Outside::Manual, "", None);
    {
        let (_home, _store, market, mira, _) = three_months();
        assert_eq!(pay(&market, mira, september).unwrap().amount, Money(10));
        assert_eq!(market.statement(mira, october).unwrap().payable, Money(20));
        assert_eq!(pay(&market, mira, october).unwrap().amount, Money(20));
    }
    {
        let (_home, store, market, mira, _) = three_months();
        assert_eq!(pay(&market, mira, october).unwrap().amount, Money(30), "and all before it");
        assert_eq!(market.statement(mira, september).unwrap().payable, Money::ZERO);
        let error = pay(&market, mira, september).unwrap_err();
        assert!(error.message.contains("nothing is to be paid for 2025-09"), "{error}");
        assert_eq!(store.ledger.balance(Account::Author(mira)).unwrap(), Money(50));
    }
    {
        let (_home, _store, market, mira, [sold_in_september, _, sold_since]) = three_months();
        let payable = |month| market.payable(mira, month).unwrap();
        market.refund(sold_since, "").unwrap();
        assert_eq!((payable(september), payable(october)), (Money(10), Money(30)));
        let paid = pay(&market, mira, september).unwrap();
        market.refund(paid.entry, "it came back").unwrap();
        assert_eq!((payable(september), payable(october)), (Money(10), Money(30)));
        market.refund(sold_in_september, "").unwrap();
        assert_eq!((payable(september), payable(october)), (Money::ZERO, Money(20)));
    }
}

#[test]
fn doctor_names_what_is_wrong_with_the_books() {
    if support::only_sqlite("it drops triggers, which all libraries of a server share") {
        return;
    }
    let (home, store, _market) = sold();
    let db = rusqlite::Connection::open(home.data().join("notewell.db")).unwrap();
    db.execute_batch(
        "DROP TRIGGER balance_above_floor; UPDATE balances SET amount = amount + 7
         WHERE account = (SELECT id FROM accounts WHERE name = 'platform')",
    )
    .unwrap();
    let (ok, out, _) = home.run(&["doctor"]);
    assert!(!ok && out.contains("the balance of `platform` is"), "{out}");
    assert!(!out.contains("the books balance"), "{out}");
    let counted = home.say(&["market", "recount"]);
    assert!(counted.contains("1 balance was wrong"), "{counted}");
    assert!(home.run(&["doctor"]).0);
    db.execute_batch(
        "DROP TRIGGER postings_are_fixed;
         UPDATE postings SET amount = amount + 1 WHERE entry = 1 AND amount > 0",
    )
    .unwrap();
    assert!(
        store.ledger.damage().unwrap().iter().any(|line| line.contains("entry 1 does not sum"))
    );
}
