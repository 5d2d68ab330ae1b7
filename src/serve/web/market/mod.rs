//! The market: what is offered, a buyer's credit and receipts, an author's earnings, and the books
//! for the owner.

mod account;
mod books;
mod earnings;
mod entry;
mod offers;
mod payouts;
mod view;

use axum::{
    Router,
    http::header,
    response::{IntoResponse, Response},
    routing::get,
};

use super::{Visit, account::Person, asked::Chip, top_up, visit::Reply};
use crate::{
    domain::{Error, Result, Timestamp, Toolset, user::Role},
    serve::http::Site,
};

/// The pages of the market.
pub fn pages() -> Router<Site> {
    Router::new()
        .route("/market", get(offers::list))
        .route("/market/{pid}", get(offers::one))
        .route("/market/topup", get(top_up::show).post(top_up::begin))
        .route("/market/credit", get(account::show))
        .route("/market/usage.csv", get(account::usage))
        .route("/market/earnings", get(earnings::show))
        .route("/market/earnings.csv", get(earnings::statement))
        .route("/market/books", get(books::show).post(books::credit))
        .route("/market/books/entries.csv", get(books::entries))
        .route("/market/books/{entry}", get(entry::show).post(entry::refund))
        .route("/market/payouts", get(payouts::show).post(payouts::pay))
}

/// An error where the market is switched off.
fn check(visit: &Visit) -> Result<()> {
    match visit.rights().may(crate::app::rights::Right::Use(Toolset::Market)) {
        true => Ok(()),
        false => Err(Error::not_found("there is no market here")),
    }
}

/// The pages of the market that a visitor may open.
fn tabs(visit: &Visit, person: Option<&Person>) -> Vec<Chip> {
    let tab = |href: &str, text: &str| Chip {
        href: href.to_owned(),
        text: text.to_owned(),
        on: visit.path == href,
    };
    let mut tabs = vec![tab("/market", "Methods")];
    let Some(person) = person else { return tabs };
    if person.account.is_some() {
        tabs.push(tab("/market/credit", "My credit"));
    }
    if matches!(person.role, Role::Author | Role::Owner) {
        tabs.push(tab("/market/earnings", "Earnings"));
    }
    if person.role == Role::Owner {
        tabs.extend([tab("/market/books", "Books"), tab("/market/payouts", "Payouts")]);
    }
    tabs
}

/// The month of the address, or else the one that a moment is in.
fn month_of(visit: &Visit, otherwise: Timestamp) -> Result<String> {
    match visit.value("month") {
        Some(month) => crate::app::market::month(month).map(|_| month.to_owned()),
        None => Ok(otherwise.date().chars().take(7).collect()),
    }
}

/// The months before and after one; none after the current one.
fn neighbours(month: &str) -> Result<(String, Option<String>)> {
    let (from, until) = crate::app::market::month(month)?;
    let name = |moment: Timestamp| -> String { moment.date().chars().take(7).collect() };
    Ok((name(from.plus_days(-1)), (until <= Timestamp::now()).then(|| name(until))))
}

/// A list to download.
fn download(name: &str, text: String) -> Reply {
    let response: Response = (
        [
            (header::CONTENT_TYPE, "text/csv; charset=utf-8".to_owned()),
            (header::CONTENT_DISPOSITION, format!("attachment; filename=\"{name}\"")),
            (header::CACHE_CONTROL, "no-store".to_owned()),
            (header::X_CONTENT_TYPE_OPTIONS, "nosniff".to_owned()),
        ],
        text,
    )
        .into_response();
    response.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn months_have_neighbours() {
        let past = ("2025-12".to_owned(), Some("2026-02".to_owned()));
        assert_eq!(neighbours("2026-01").unwrap(), past);
        let current: String = Timestamp::now().date().chars().take(7).collect();
        assert_eq!(neighbours(&current).unwrap().1, None);
        assert!(neighbours("2026-13").is_err());
    }
}
