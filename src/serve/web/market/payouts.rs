//! Payouts of a month to authors, for the owner.

use askama::Template;
use axum::{http::StatusCode, response::Response};

use super::{check, month_of, neighbours, tabs};
use crate::{
    app::market::month,
    domain::{Code, Error, Money, Result, Timestamp},
    serve::web::{
        Audience, Form, Html, Reply, Shell, Visit, account::Person, asked::Chip, encode,
        errors::sentence,
    },
};

#[derive(Template)]
#[template(path = "market_payouts.html")]
struct PayoutsPage {
    shell: Shell,
    tabs: Vec<Chip>,
    currency: String,
    month: String,
    is_over: bool,
    earlier: String,
    later: Option<String>,
    lines: Vec<PayoutLine>,
    message: Option<String>,
    problem: Option<String>,
}

struct PayoutLine {
    name: String,
    display_name: String,
    href: String,
    earned: Money,
    refunded: Money,
    closing: Money,
    payable: Money,
    /// The entry that paid this month.
    paid: Option<i64>,
}

/// `GET /market/payouts?month=`: the month before the current one, unless another is named.
pub async fn show(visit: Visit) -> Response {
    visit
        .run(|visit| {
            check(visit)?;
            let owner = Person::owner(visit)?;
            let current: String = Timestamp::now().date().chars().take(7).collect();
            let (last, _) = month(&neighbours(&current)?.0)?;
            page(visit, &owner, &month_of(visit, last)?, None)
        })
        .await
}

fn page(visit: &Visit, owner: &Person, name: &str, problem: Option<String>) -> Result<Html> {
    let app = visit.app();
    let market = app.market();
    let (earlier, later) = neighbours(name)?;
    let address = |month: &str| format!("/market/payouts?month={month}");
    let mut lines = Vec::new();
    for author in market.authors()? {
        let statement = market.statement(author, name)?;
        let account = app.store.users.get(author)?;
        let own = account.as_ref().map_or_else(String::new, |account| account.name.to_string());
        lines.push(PayoutLine {
            href: format!("/market/earnings?author={}&month={name}", encode(&own)),
            display_name: account.map_or_else(String::new, |account| account.display_name),
            name: own,
            earned: statement.earned,
            refunded: statement.refunded,
            closing: statement.closing,
            payable: statement.payable,
            paid: statement.payout.map(|entry| entry.0),
        });
    }
    let page = PayoutsPage {
        tabs: tabs(visit, Some(owner)),
        shell: visit.shell(),
        currency: market.currency().to_owned(),
        is_over: month(name)?.1 <= Timestamp::now(),
        month: name.to_owned(),
        earlier: address(&earlier),
        later: later.as_deref().map(address),
        lines,
        message: visit.value("paid").map(|entry| format!("Entry {entry} books the payout.")),
        problem,
    };
    Html::of(&page, Audience::Caller)
}

/// `POST /market/payouts`: books that an author was paid.
pub async fn pay(form: Form) -> Response {
    let visit = form.visit.clone();
    visit
        .run(move |visit| {
            check(visit)?;
            let owner = Person::owner(visit)?;
            let name = form.field("month").trim();
            match book(visit, &owner, &form, name) {
                Ok(entry) => Ok(Reply::see(&format!("/market/payouts?month={name}&paid={entry}"))),
                Err(error)
                    if matches!(
                        error.code,
                        Code::InvalidParams | Code::InvalidRequest | Code::Conflict
                    ) && month(name).is_ok() =>
                {
                    let html = page(visit, &owner, name, Some(sentence(error.plain())))?;
                    Ok(html.with_status(StatusCode::UNPROCESSABLE_ENTITY).into())
                }
                Err(error) => Err(error),
            }
        })
        .await
}

fn book(visit: &Visit, owner: &Person, form: &Form, month: &str) -> Result<i64> {
    let app = visit.app();
    let author = app.user(form.field("author").trim())?;
    if form.value("confirm").is_none() {
        return Err(Error::invalid_params(
            "tick the box to confirm that the author was paid; nothing was booked",
        ));
    }
    // What the owner saw and paid is what is booked.
    let amount = Money::parse(form.field("amount"))?;
    let through = form.field("through").parse()?;
    let paid = app.audited(&owner.actor(visit), "market_payout", &author.name, || {
        app.market().payout(author.id, month, through, form.field("memo"), Some(amount))
    })?;
    Ok(paid.entry.0)
}
