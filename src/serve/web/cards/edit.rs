//! One card: shown, made and changed. Whoever changes a card that somebody else has changed since
//! sees both, and nothing is overwritten unseen.

use askama::Template;
use axum::{extract::Path, http::StatusCode, response::Response};

use super::{access::CardAccess, draft::Draft, view::CardView};
use crate::{
    domain::{
        Code, Error, Result, Timestamp,
        card::{Color, Recurrence},
    },
    serve::web::{Audience, Form, Html, Reply, Shell, Visit, errors},
};

#[derive(Template)]
#[template(path = "card.html")]
struct CardPage {
    shell: Shell,
    card: CardView,
    draft: Draft,
    colors: &'static [Color],
    recurrences: &'static [Recurrence],
    may_write: bool,
    /// The number of the card, for its history.
    pid: Option<String>,
    /// Somebody changed the card since the form was opened.
    is_stale: bool,
    saved: bool,
}

/// `GET /cards/{id}`.
pub async fn show(Path(id): Path<String>, visit: Visit) -> Response {
    visit
        .run(move |visit| match CardAccess::to_read(visit) {
            None => Ok(Reply::from(errors::forbidden(visit))),
            Some(access) => {
                let card = access.get(&id).map_err(missing)?;
                let draft = Draft::of(&card);
                page(visit, &access, &card, draft, false).map(Reply::from)
            }
        })
        .await
}

/// `POST /cards`.
pub async fn create(form: Form) -> Response {
    let visit = form.visit.clone();
    visit
        .run(move |visit| match CardAccess::to_write(visit) {
            None => Ok(Reply::from(errors::forbidden(visit))),
            Some(access) => {
                access.create(Draft::read(&form).new_card()?)?;
                Ok(Reply::see(form.back()))
            }
        })
        .await
}

/// `POST /cards/{id}/edit`.
pub async fn save(Path(id): Path<String>, form: Form) -> Response {
    let visit = form.visit.clone();
    visit
        .run(move |visit| match CardAccess::to_write(visit) {
            None => Ok(Reply::from(errors::forbidden(visit))),
            Some(access) => change(visit, &access, &id, &form),
        })
        .await
}

fn change(visit: &Visit, access: &CardAccess<'_>, id: &str, form: &Form) -> Result<Reply> {
    let draft = Draft::read(form);
    let card = access.get(id).map_err(missing)?;
    let address = CardView::of(&card, visit.app(), visit.rights())?.href;
    let seen = form.value("updated").map(str::parse::<Timestamp>).transpose()?;
    let is_stale = seen.is_some() && seen != card.updated_at;
    let mut change = draft.change(&card)?;
    if change.is_empty() {
        return Ok(Reply::see(&format!("{address}?saved=1")));
    }
    if is_stale {
        return conflict(visit, access, id, draft);
    }
    change.if_updated_at = seen;
    match access.update(id, change) {
        Ok(_) => Ok(Reply::see(&format!("{address}?saved=1"))),
        // Somebody was quicker by less than the time between the two lines above.
        Err(error) if error.data.as_ref().is_some_and(|data| data.get("updatedAt").is_some()) => {
            conflict(visit, access, id, draft)
        }
        Err(error) => Err(error),
    }
}

/// The card as it is now beside the form as it was sent.
fn conflict(visit: &Visit, access: &CardAccess<'_>, id: &str, draft: Draft) -> Result<Reply> {
    let card = access.get(id).map_err(missing)?;
    let html = page(visit, access, &card, draft, true)?;
    Ok(html.with_status(StatusCode::CONFLICT).into())
}

fn page(
    visit: &Visit,
    access: &CardAccess<'_>,
    card: &crate::domain::Card,
    draft: Draft,
    is_stale: bool,
) -> Result<Html> {
    let view = CardView::of(card, visit.app(), visit.rights())?;
    let page = CardPage {
        shell: visit.shell(),
        may_write: access.may_write() && view.may_write,
        card: view,
        draft,
        colors: Color::ALL,
        recurrences: Recurrence::ALL,
        pid: access.pid(&card.id)?.map(|pid| pid.to_string()),
        is_stale,
        saved: visit.value("saved").is_some(),
    };
    Html::of(&page, Audience::Caller)
}

/// A card that is not there is a page that is not there.
pub fn missing(error: Error) -> Error {
    match error.code {
        Code::InvalidRequest => {
            Error::not_found("there is no such card; it was deleted, or it is not shared with you")
        }
        _ => error,
    }
}
