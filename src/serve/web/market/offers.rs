//! What is offered: the list with its search, and one method.

use askama::Template;
use axum::{extract::Path, response::Response};

use super::{check, tabs, view::OfferView};
use crate::{
    app::offers::OfferQuery,
    domain::{Author, Error, Money, Pid, Result, count},
    serve::web::{Audience, Html, Shell, Visit, account::Person, asked::Chip, errors::sentence},
};

/// Offers on a page.
const SHOWN: usize = 20;

#[derive(Template)]
#[template(path = "market.html")]
struct MarketPage {
    shell: Shell,
    tabs: Vec<Chip>,
    query: String,
    author: String,
    max_price: String,
    count: String,
    offers: Vec<OfferView>,
    credit: Option<String>,
    notes: Vec<String>,
    problem: Option<String>,
    newer: Option<String>,
    older: Option<String>,
    is_open: bool,
    may_write: bool,
}

#[derive(Template)]
#[template(path = "offer.html")]
struct OfferPage {
    shell: Shell,
    tabs: Vec<Chip>,
    offer: OfferView,
    credit: Option<String>,
    /// The note whose text is sold, for those who may read it.
    note: Option<String>,
    /// Whether a call costs the visitor more than their credit.
    is_short: bool,
    has_account: bool,
}

fn audience(visit: &Visit) -> Audience {
    if visit.is_known() { Audience::Caller } else { Audience::Everybody }
}

/// `GET /market`.
pub async fn list(visit: Visit) -> Response {
    visit.run(page).await
}

fn page(visit: &Visit) -> Result<Html> {
    check(visit)?;
    let app = visit.app();
    let (query, author) = (visit.value("q"), visit.value("author"));
    let limit = app.config.limits.query_chars;
    let price = visit.value("max_price").map(Money::parse).transpose();
    let (max_price, problem) = match price {
        Ok(price) => (price, None),
        Err(error) => (None, Some(sentence(error.plain()))),
    };
    if query.is_some_and(|query| query.chars().count() > limit) {
        return Err(Error::invalid_params(format!(
            "the question has more than {limit} characters; say in fewer words what the method should do"
        )));
    }
    let start = visit.value("start").and_then(|start| start.parse().ok()).unwrap_or(0);
    let name = author.and_then(Author::new);
    let asked = OfferQuery {
        text: query.unwrap_or_default(),
        max_price,
        author: name.as_ref(),
        offset: start,
        limit: SHOWN,
    };
    let found = app.find_offers(&asked, visit.rights())?;
    let address = |start: usize| {
        let mut text = url::form_urlencoded::Serializer::new(String::new());
        for name in ["q", "author", "max_price"] {
            if let Some(value) = visit.value(name) {
                text.append_pair(name, value);
            }
        }
        if start > 0 {
            text.append_pair("start", &start.to_string());
        }
        match text.finish() {
            query if query.is_empty() => "/market".to_owned(),
            query => format!("/market?{query}"),
        }
    };
    let person = Person::of(visit)?;
    let currency = app.market().currency();
    let shown = start + found.offers.len();
    let page = MarketPage {
        tabs: tabs(visit, person.as_ref()),
        shell: visit.shell(),
        query: query.unwrap_or_default().to_owned(),
        author: author.unwrap_or_default().to_owned(),
        max_price: visit.value("max_price").unwrap_or_default().to_owned(),
        count: count(found.total, "method"),
        credit: found.balance.map(|balance| format!("{balance} {currency}")),
        notes: match found.by_words_only {
            0 => Vec::new(),
            1 => vec!["1 method was compared by its words only; look again in a moment.".into()],
            count => vec![format!(
                "{count} methods were compared by their words only; look again in a moment."
            )],
        },
        problem,
        newer: (start > 0).then(|| address(start.saturating_sub(SHOWN))),
        older: (shown < found.total).then(|| address(shown)),
        is_open: query.is_none() && author.is_none() && max_price.is_none(),
        may_write: visit.rights().may(crate::app::rights::Right::Write(crate::domain::Kind::Page)),
        offers: found.offers.into_iter().map(|offer| OfferView::new(offer, currency)).collect(),
    };
    Html::of(&page, audience(visit))
}

/// `GET /market/{pid}`.
pub async fn one(Path(pid): Path<String>, visit: Visit) -> Response {
    visit
        .run(move |visit| {
            check(visit)?;
            let app = visit.app();
            let pid = pid.parse().ok().map(Pid);
            let found = pid.map(|pid| app.offer(pid, visit.rights())).transpose()?.flatten();
            let (offer, balance) = found.ok_or_else(|| {
                Error::not_found("this method is not offered here, or not any more")
            })?;
            let person = Person::of(visit)?;
            let currency = app.market().currency();
            let is_readable = visit.rights().sees(offer.method.page());
            let page = OfferPage {
                tabs: tabs(visit, person.as_ref()),
                shell: visit.shell(),
                note: is_readable.then(|| format!("/n/{}", offer.method.pid())),
                is_short: balance.is_some() && !offer.is_affordable,
                has_account: balance.is_some(),
                credit: balance.map(|balance| format!("{balance} {currency}")),
                offer: OfferView::new(offer, currency),
            };
            Html::of(&page, audience(visit))
        })
        .await
}
