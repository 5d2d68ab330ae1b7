//! The books, for the owner: accounts, entries, the proof that they are sound, and credit by hand.

use askama::Template;
use axum::{http::StatusCode, response::Response};

use super::{
    check, download, tabs,
    view::{EntryLine, account_words},
};
use crate::{
    app::market::{month, tables, unique},
    domain::{Code, Money, Result},
    serve::web::{
        Audience, Form, Html, Reply, Shell, Visit, account::Person, asked::Chip, errors::sentence,
    },
    store::ledger::{EntryFilter, EntryId, Outside, Posted},
};

/// Entries on a page.
const SHOWN: usize = 50;
/// Entries that a download reads at once.
const READ: usize = 1_000;

#[derive(Template)]
#[template(path = "market_books.html")]
struct BooksPage {
    shell: Shell,
    tabs: Vec<Chip>,
    currency: String,
    accounts: Vec<AccountLine>,
    /// The sum of all balances.
    sum: Money,
    /// What is wrong; `None` where it was not checked.
    damage: Option<Vec<String>>,
    entries: Vec<EntryLine>,
    kinds: Vec<&'static str>,
    kind: String,
    account: String,
    month: String,
    older: Option<String>,
    csv: String,
    is_filtered: bool,
    holds: usize,
    /// Makes the form for credit book once.
    key: String,
    message: Option<String>,
    problem: Option<String>,
    user: String,
    amount: String,
    memo: String,
}

struct AccountLine {
    words: String,
    name: String,
    href: String,
    balance: Money,
}

/// What a form held when it was refused.
#[derive(Default)]
struct Refused {
    problem: Option<String>,
    user: String,
    amount: String,
    memo: String,
}

/// `GET /market/books`.
pub async fn show(visit: Visit) -> Response {
    visit
        .run(|visit| {
            check(visit)?;
            let owner = Person::owner(visit)?;
            page(visit, &owner, Refused::default())
        })
        .await
}

/// The entries that the address names.
fn filter(visit: &Visit) -> Result<EntryFilter> {
    let period = visit.value("month").map(month).transpose()?;
    Ok(EntryFilter {
        account: visit.value("account").map(str::parse).transpose()?,
        kind: visit.value("kind").map(|kind| kind.replace('-', "_").parse()).transpose()?,
        from: period.map(|(from, _)| from),
        until: period.map(|(_, until)| until),
        before: visit.value("before").and_then(|id| id.parse().ok()).map(EntryId),
    })
}

/// The address of the books with the filters of a visit.
fn address(visit: &Visit, path: &str, more: Option<(&str, &str)>) -> String {
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    for name in ["kind", "account", "month"] {
        if let Some(value) = visit.value(name) {
            query.append_pair(name, value);
        }
    }
    query.extend_pairs(more);
    match query.finish() {
        query if query.is_empty() => path.to_owned(),
        query => format!("{path}?{query}"),
    }
}

fn page(visit: &Visit, owner: &Person, refused: Refused) -> Result<Html> {
    let app = visit.app();
    let ledger = &app.store.ledger;
    let filter = filter(visit)?;
    let mut names = tables::Names::new(app);
    let found = ledger.entries(&filter, SHOWN)?;
    let older = found.last().filter(|_| found.len() == SHOWN);
    let older = older
        .map(|oldest| address(visit, "/market/books", Some(("before", &oldest.id.to_string()))));
    let entries = found.iter().map(|entry| EntryLine::new(entry, &mut names));
    let entries = entries.collect::<Result<_>>()?;
    let balances = ledger.balances()?;
    let mut accounts = Vec::new();
    for (account, balance) in &balances {
        let name = account.to_string();
        accounts.push(AccountLine {
            words: account_words(*account, &mut names)?,
            href: format!("/market/books?account={name}"),
            name,
            balance: *balance,
        });
    }
    let text = |name: &str| visit.value(name).unwrap_or_default().to_owned();
    let page = BooksPage {
        tabs: tabs(visit, Some(owner)),
        shell: visit.shell(),
        currency: app.market().currency().to_owned(),
        sum: balances.into_iter().map(|(_, balance)| balance).sum(),
        accounts,
        damage: visit.value("check").map(|_| ledger.damage()).transpose()?,
        entries,
        kinds: vec!["top-up", "hold", "capture", "release", "sale", "refund", "payout"],
        kind: text("kind").replace('_', "-"),
        account: text("account"),
        month: text("month"),
        older,
        csv: address(visit, "/market/books/entries.csv", None),
        is_filtered: ["kind", "account", "month"].iter().any(|name| visit.value(name).is_some()),
        holds: ledger.open_holds()?.len(),
        key: unique()?,
        message: visit.value("booked").map(|entry| match entry {
            "again" => "This was booked before; nothing was booked twice.".to_owned(),
            entry => format!("Entry {entry} is booked."),
        }),
        problem: refused.problem,
        user: refused.user,
        amount: refused.amount,
        memo: refused.memo,
    };
    Html::of(&page, Audience::Caller)
}

/// `POST /market/books`: books money that the owner received as a user's credit.
pub async fn credit(form: Form) -> Response {
    let visit = form.visit.clone();
    visit
        .run(move |visit| {
            check(visit)?;
            let owner = Person::owner(visit)?;
            match book(visit, &owner, &form) {
                Ok(Posted::New(entry)) => {
                    Ok(Reply::see(&format!("/market/books?booked={}", entry.id)))
                }
                Ok(Posted::Known(_)) => Ok(Reply::see("/market/books?booked=again")),
                Err(error)
                    if matches!(
                        error.code,
                        Code::InvalidParams
                            | Code::InvalidRequest
                            | Code::NotFound
                            | Code::Conflict
                    ) =>
                {
                    let refused = Refused {
                        problem: Some(sentence(error.plain())),
                        user: form.field("user").to_owned(),
                        amount: form.field("amount").to_owned(),
                        memo: form.field("memo").to_owned(),
                    };
                    let html = page(visit, &owner, refused)?;
                    Ok(html.with_status(StatusCode::UNPROCESSABLE_ENTITY).into())
                }
                Err(error) => Err(error),
            }
        })
        .await
}

fn book(visit: &Visit, owner: &Person, form: &Form) -> Result<Posted> {
    let app = visit.app();
    let account = app.user(form.field("user").trim())?;
    let amount = Money::parse(form.field("amount"))?;
    let key = match form.value("key") {
        Some(key) => format!("manual:{}", key.chars().take(64).collect::<String>()),
        None => format!("manual:{}", unique()?),
    };
    app.audited(&owner.actor(visit), "market_credit", &account.name, || {
        app.market().top_up(account.id, amount, Outside::Manual, &key, form.field("memo"))
    })
}

/// `GET /market/books/entries.csv`.
pub async fn entries(visit: Visit) -> Response {
    visit
        .run(|visit| {
            check(visit)?;
            Person::owner(visit)?;
            let app = visit.app();
            let mut filter = filter(visit)?;
            let mut lines = Vec::new();
            loop {
                let found = app.store.ledger.entries(&filter, READ)?;
                let Some(oldest) = found.last() else { break };
                filter.before = Some(oldest.id);
                lines.extend(app.entry_table(&found)?);
            }
            Ok(download("entries.csv", tables::csv(tables::ENTRY_COLUMNS, &lines)?))
        })
        .await
}
