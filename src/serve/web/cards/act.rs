//! What one button of a card does: `POST /cards/{id}` with the field `do`.

use axum::{extract::Path, response::Response};

use super::access::CardAccess;
use crate::{
    app::cards::Place,
    domain::{
        Error, Result,
        card::{CardChange, Tick},
    },
    serve::web::{Form, Reply, errors},
    store::cards::Flag,
};

/// What a button of a card does.
#[derive(Debug, PartialEq)]
enum CardAction {
    Pin,
    Archive,
    Delete,
    /// Dismisses the reminder.
    Done,
    Color(String),
    Tick(Tick),
    Move(Place),
    /// Removes the picture of this number.
    RemovePicture(usize),
}

impl CardAction {
    /// Reads the value of a button: a word, and for some what it is about.
    fn read(text: &str) -> Result<Self> {
        let (word, about) = text.split_once(' ').unwrap_or((text, ""));
        let about = about.to_owned();
        Ok(match word {
            "pin" => CardAction::Pin,
            "archive" => CardAction::Archive,
            "delete" => CardAction::Delete,
            "done" => CardAction::Done,
            "color" => CardAction::Color(about),
            "tick" => CardAction::Tick(Tick { id: about, checked: true }),
            "untick" => CardAction::Tick(Tick { id: about, checked: false }),
            "before" => CardAction::Move(Place::Before(about)),
            "after" => CardAction::Move(Place::After(about)),
            "unpicture" if about.parse::<usize>().is_ok() => {
                CardAction::RemovePicture(about.parse().unwrap_or_default())
            }
            _ => {
                return Err(Error::invalid_params(format!(
                    "`{}` is not something that can be done with a card; reload the page",
                    text.chars().take(40).collect::<String>()
                )));
            }
        })
    }
}

/// `POST /cards/{id}`.
pub async fn act(Path(id): Path<String>, form: Form) -> Response {
    let visit = form.visit.clone();
    visit
        .run(move |visit| match CardAccess::to_write(visit) {
            None => Ok(Reply::from(errors::forbidden(visit))),
            Some(access) => {
                let action = CardAction::read(form.field("do"))?;
                let back = form.back();
                let deleted = run(&access, &id, action)?;
                let sign = if back.contains('?') { '&' } else { '?' };
                Ok(match deleted {
                    Some(change) => Reply::see(&format!("{back}{sign}deleted={change}")),
                    None => Reply::see(back),
                })
            }
        })
        .await
}

/// Does it. A deletion returns the change that can be taken back.
fn run(access: &CardAccess<'_>, id: &str, action: CardAction) -> Result<Option<String>> {
    let update = |change: CardChange| access.update(id, change).map(|_| None);
    match action {
        CardAction::Pin => access.toggle(id, Flag::Pinned).map(|_| None),
        CardAction::Archive => access.toggle(id, Flag::Archived).map(|_| None),
        CardAction::Delete => Ok(access.delete(id)?.map(|change| change.to_string())),
        CardAction::Done => {
            update(CardChange { is_reminder_done: Some(true), ..CardChange::default() })
        }
        CardAction::Color(color) => {
            update(CardChange { color: Some(color.parse()?), ..CardChange::default() })
        }
        CardAction::Tick(tick) => update(CardChange { tick: Some(tick), ..CardChange::default() }),
        CardAction::Move(place) => access.arrange(id, &place).map(|()| None),
        CardAction::RemovePicture(n) => {
            let mut images = access.get(id)?.images.unwrap_or_default();
            if n >= images.len() {
                return Err(Error::invalid_params(
                    "this picture is not there any more; reload the page",
                ));
            }
            images.remove(n);
            let images = Some((!images.is_empty()).then_some(images));
            update(CardChange { images, ..CardChange::default() })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_button_says_what_it_does() {
        assert_eq!(CardAction::read("pin").unwrap(), CardAction::Pin);
        let tick = Tick { id: "a b".into(), checked: true };
        assert_eq!(CardAction::read("tick a b").unwrap(), CardAction::Tick(tick));
        assert_eq!(
            CardAction::read("before x").unwrap(),
            CardAction::Move(Place::Before("x".into()))
        );
        for bad in ["", "explode", "unpicture -1", "unpicture"] {
            assert!(CardAction::read(bad).is_err(), "{bad}");
        }
    }
}
