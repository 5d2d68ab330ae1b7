//! Buying credit: a form for the amount, the provider's page, and the way back.

use askama::Template;
use axum::{
    http::StatusCode,
    response::{IntoResponse, Response},
};

use super::{Audience, Form, Html, Reply, Shell, Visit, errors};
use crate::{
    app::market::TOP_UP_PATH,
    domain::{Code, Error, Money, Result, UserId},
    serve::http::cookie,
};

/// Amounts that the form proposes.
const PROPOSED: [i64; 3] = [10_000_000, 20_000_000, 50_000_000];

#[derive(Template)]
#[template(path = "top_up.html")]
struct TopUp {
    shell: Shell,
    balance: Money,
    currency: String,
    takes_cards: bool,
    least: Money,
    most: Money,
    proposed: Vec<Money>,
    amount: String,
    /// `paid` or `cancelled` on the way back from the provider.
    state: String,
    problem: String,
}

/// `GET /market/topup`.
pub async fn show(visit: Visit) -> Response {
    let Some(user) = user(&visit) else { return sign_in() };
    visit
        .run(move |visit| {
            let state = visit.value("state").unwrap_or_default().to_owned();
            page(visit, user, String::new(), state, String::new())
        })
        .await
}

/// `POST /market/topup`: sends the browser to the provider's page.
pub async fn begin(form: Form) -> Response {
    let Some(user) = user(&form.visit) else { return sign_in() };
    let amount = form.field("amount").to_owned();
    form.visit
        .run(move |visit| {
            let market = visit.app().market();
            let begun = Money::parse(&amount)
                .and_then(|money| market.begin_top_up(user, money, &visit.base));
            match begun {
                Ok(checkout) => Ok(Reply::see(&checkout.url)),
                Err(error) => refused(visit, user, amount, error),
            }
        })
        .await
}

/// The account that buys. A token in a header is a program's, which tops up nothing here.
fn user(visit: &Visit) -> Option<UserId> {
    visit.signed_in.as_ref().map(|signed_in| signed_in.holder.id)
}

fn sign_in() -> Response {
    Reply::see(&cookie::sign_in_address(TOP_UP_PATH)).into_response()
}

fn page(
    visit: &Visit,
    user: UserId,
    amount: String,
    state: String,
    problem: String,
) -> Result<Reply> {
    let market = visit.app().market();
    let settings = &visit.app().config.market;
    let fits = |money: &Money| (settings.min_top_up..=settings.max_top_up).contains(money);
    let template = TopUp {
        shell: visit.shell(),
        balance: market.balance(user)?,
        currency: market.currency().to_owned(),
        takes_cards: market.takes_cards(),
        least: settings.min_top_up,
        most: settings.max_top_up,
        proposed: PROPOSED.map(Money).into_iter().filter(fits).collect(),
        amount,
        state,
        problem,
    };
    Ok(Html::of(&template, Audience::Caller)?.posting_to(&checkout_origin(visit)).into())
}

/// Where the form ends, through a redirect: at the provider's page. Stripe's may be at a domain of
/// the operator's own.
fn checkout_origin(visit: &Visit) -> String {
    let url = &visit.app().config.market.stripe.url;
    url::Url::parse(url)
        .map_or_else(|_| "https:".to_owned(), |url| url.origin().ascii_serialization())
}

/// The form again, with what was wrong.
fn refused(visit: &Visit, user: UserId, amount: String, error: Error) -> Result<Reply> {
    let status = match error.code {
        Code::InvalidParams | Code::InvalidRequest => StatusCode::BAD_REQUEST,
        Code::Outside => StatusCode::BAD_GATEWAY,
        _ => return Err(error),
    };
    let problem = match error.code {
        // What the provider answered is for the log.
        Code::Outside => {
            "The payment page could not be opened. Nothing was paid; try again in a moment."
                .to_owned()
        }
        _ => errors::sentence(error.plain()),
    };
    match page(visit, user, amount, String::new(), problem)? {
        Reply::Page(html) => Ok(html.with_status(status).into()),
        other => Ok(other),
    }
}
