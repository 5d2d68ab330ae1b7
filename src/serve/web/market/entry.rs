//! One entry of the books, and its refund.

use askama::Template;
use axum::{extract::Path, http::StatusCode, response::Response};

use super::{check, tabs, view::EntryLine};
use crate::{
    app::market::tables::Names,
    domain::{Code, Error, Money, Result},
    serve::web::{
        Audience, Form, Html, Reply, Shell, Visit, account::Person, asked::Chip, errors::sentence,
    },
    store::ledger::{EntryId, EntryKind},
};

#[derive(Template)]
#[template(path = "market_entry.html")]
struct EntryPage {
    shell: Shell,
    tabs: Vec<Chip>,
    currency: String,
    entry: EntryLine,
    /// The sum of its sides.
    sum: Money,
    /// Whether the money itself is outside and has to be returned there.
    is_outside: bool,
    message: Option<String>,
    problem: Option<String>,
    memo: String,
}

/// `GET /market/books/{entry}`.
pub async fn show(Path(entry): Path<String>, visit: Visit) -> Response {
    visit
        .run(move |visit| {
            check(visit)?;
            let owner = Person::owner(visit)?;
            page(visit, &owner, &entry, None, String::new())
        })
        .await
}

fn number(text: &str) -> Result<EntryId> {
    text.parse().map(EntryId).map_err(|_| no_entry(text))
}

fn no_entry(text: &str) -> Error {
    Error::not_found(format!("the books have no entry `{text}`"))
}

fn page(
    visit: &Visit,
    owner: &Person,
    id: &str,
    problem: Option<String>,
    memo: String,
) -> Result<Html> {
    let app = visit.app();
    let entry = app.store.ledger.entry(number(id)?)?.ok_or_else(|| no_entry(id))?;
    let page = EntryPage {
        tabs: tabs(visit, Some(owner)),
        shell: visit.shell(),
        currency: app.market().currency().to_owned(),
        sum: entry.postings.iter().map(|posting| posting.amount).sum(),
        is_outside: entry.kind != EntryKind::Capture,
        entry: EntryLine::new(&entry, &mut Names::new(app))?,
        message: visit.value("refunded").map(|_| "The refund is booked.".to_owned()),
        problem,
        memo,
    };
    Html::of(&page, Audience::Caller)
}

/// `POST /market/books/{entry}`: books the refund of an entry.
pub async fn refund(Path(entry): Path<String>, form: Form) -> Response {
    let visit = form.visit.clone();
    visit
        .run(move |visit| {
            check(visit)?;
            let owner = Person::owner(visit)?;
            let id = number(&entry)?;
            let app = visit.app();
            let booked = match form.value("confirm") {
                None => Err(Error::invalid_params(
                    "tick the box to confirm the refund; nothing was booked",
                )),
                Some(_) => app.audited(&owner.actor(visit), "market_refund", id, || {
                    app.market().refund(id, form.field("memo"))
                }),
            };
            match booked {
                Ok(refund) => Ok(Reply::see(&format!("/market/books/{}?refunded=1", refund.id))),
                Err(error)
                    if matches!(
                        error.code,
                        Code::InvalidParams | Code::InvalidRequest | Code::Conflict
                    ) =>
                {
                    let memo = form.field("memo").to_owned();
                    let problem = Some(sentence(error.plain()));
                    let html = page(visit, &owner, &entry, problem, memo)?;
                    Ok(html.with_status(StatusCode::UNPROCESSABLE_ENTITY).into())
                }
                Err(error) => Err(error),
            }
        })
        .await
}
