//! A buyer's own page: credit, calls with their receipts, and what was paid in.

use askama::Template;
use axum::response::Response;

use super::{check, download, tabs, view::CallLine};
use crate::{
    app::market::{month, tables},
    domain::{Error, Money, Result},
    serve::web::{Audience, Html, Reply, Shell, Visit, account::Person, age::Age, asked::Chip},
    store::{
        ledger::{Account, EntryFilter, EntryKind},
        payments::PaymentState,
        usage::UsageFilter,
        users,
    },
};

/// Calls on a page.
const SHOWN: usize = 50;
/// Top-ups and refunds on the page.
const SHOWN_PAYMENTS: usize = 50;

#[derive(Template)]
#[template(path = "market_credit.html")]
struct CreditPage {
    shell: Shell,
    tabs: Vec<Chip>,
    balance: Money,
    held: Money,
    currency: String,
    daily_cap: Money,
    calls: Vec<CallLine>,
    older: Option<String>,
    is_first: bool,
    month: String,
    paid_in: Vec<PaidIn>,
    pending: Vec<Pending>,
}

/// Money that came into the credit.
struct PaidIn {
    at: Age,
    moment: i64,
    amount: Money,
    what: &'static str,
    entry: i64,
}

/// A payment that is not booked.
struct Pending {
    at: Age,
    amount: Money,
    state: &'static str,
}

/// The account of the visitor; the owner of a server that asks nobody to sign in has none.
fn own_account(visit: &Visit) -> Result<Option<users::Account>> {
    Ok(Person::of(visit)?.and_then(|person| person.account))
}

/// `GET /market/credit`.
pub async fn show(visit: Visit) -> Response {
    visit
        .run(|visit| {
            check(visit)?;
            match Person::of(visit)? {
                None => Ok(Reply::sign_in(visit)),
                Some(person) => page(visit, &person).map(Reply::from),
            }
        })
        .await
}

fn page(visit: &Visit, person: &Person) -> Result<Html> {
    let app = visit.app();
    let account = person.account.as_ref().ok_or_else(|| {
        Error::not_found("credit belongs to an account; the owner calls every method for nothing")
    })?;
    let before = visit.value("before").and_then(|id| id.parse().ok());
    let filter = UsageFilter { user: Some(account.id), ..UsageFilter::default() };
    let rows = app.store.usage.latest(&filter, before, SHOWN)?;
    let older = rows.last().filter(|_| rows.len() == SHOWN);
    let older = older.map(|oldest| format!("/market/credit?before={}", oldest.id));
    let mut names = tables::Names::new(app);
    let calls = rows.into_iter().map(|row| CallLine::new(row, &mut names));
    let pending = app.store.payments.of_user(account.id, SHOWN_PAYMENTS)?;
    let page = CreditPage {
        tabs: tabs(visit, Some(person)),
        shell: visit.shell(),
        balance: app.market().balance(account.id)?,
        held: app.store.ledger.balance(Account::Held(account.id))?,
        currency: app.market().currency().to_owned(),
        daily_cap: app.config.market.daily_cap,
        calls: calls.collect::<Result<_>>()?,
        older,
        is_first: before.is_none(),
        month: super::month_of(visit, crate::domain::Timestamp::now())?,
        paid_in: paid_in(visit, account)?,
        pending: pending
            .into_iter()
            .filter_map(|payment| {
                let state = match payment.state {
                    PaymentState::Booked => return None,
                    PaymentState::Begun => "not paid yet",
                    PaymentState::Settling => "being settled",
                    PaymentState::Failed => "failed; nothing was paid",
                    PaymentState::Mismatch => "paid with another amount; ask the operator",
                };
                Some(Pending { at: Age::of(payment.at), amount: payment.amount, state })
            })
            .collect(),
    };
    Html::of(&page, Audience::Caller)
}

/// Top-ups and refunds of a user's credit, newest first.
fn paid_in(visit: &Visit, account: &users::Account) -> Result<Vec<PaidIn>> {
    let own = Account::User(account.id);
    let mut found = Vec::new();
    for (kind, what) in [(EntryKind::TopUp, "top-up"), (EntryKind::Refund, "refund")] {
        let filter = EntryFilter { account: Some(own), kind: Some(kind), ..EntryFilter::default() };
        for entry in visit.app().store.ledger.entries(&filter, SHOWN_PAYMENTS)? {
            found.push(PaidIn {
                at: Age::of(entry.at),
                moment: entry.at.0,
                amount: entry.amount_of(own),
                what,
                entry: entry.id.0,
            });
        }
    }
    found.sort_by_key(|line| std::cmp::Reverse((line.moment, line.entry)));
    found.truncate(SHOWN_PAYMENTS);
    Ok(found)
}

/// `GET /market/usage.csv?month=`: the visitor's own calls of a month.
pub async fn usage(visit: Visit) -> Response {
    visit
        .run(|visit| {
            check(visit)?;
            let Some(account) = own_account(visit)? else { return Ok(Reply::sign_in(visit)) };
            let name = super::month_of(visit, crate::domain::Timestamp::now())?;
            let (from, until) = month(&name)?;
            let rows = visit.app().every_usage(UsageFilter {
                user: Some(account.id),
                from: Some(from),
                until: Some(until),
                ..UsageFilter::default()
            })?;
            let lines = visit.app().usage_table(&rows)?;
            Ok(download(&format!("usage-{name}.csv"), tables::csv(tables::USAGE_COLUMNS, &lines)?))
        })
        .await
}
