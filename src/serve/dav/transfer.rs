//! What a COPY or MOVE takes where, looked at before `dav-server` does: that compares bytes, so that a
//! name in another spelling is another place to it, and it deletes the destination first, with the
//! source in it.

use axum::http::{HeaderMap, request::Parts};

use super::place::{self, Place};
use crate::domain::VaultPath;

/// What a COPY or MOVE takes where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transfer {
    /// What is copied or moved; `None` is the vault itself.
    pub from: Option<VaultPath>,
    /// Where it goes.
    pub to: VaultPath,
    /// A copy of a folder without what is in it.
    pub is_shallow: bool,
    /// What is at the destination stays.
    pub keeps_destination: bool,
}

impl Transfer {
    /// That of a request. Nothing for other methods, and where one end names no file: such a request
    /// is refused without a change.
    pub fn of(request: &Parts, root: &str) -> Option<Self> {
        let is_copy = match request.method.as_str() {
            "COPY" => true,
            "MOVE" => false,
            _ => return None,
        };
        let from = match place::of_request(&request.uri, root)? {
            Place::Vault => None,
            Place::Inside | Place::Outside => Some(place::in_vault(&request.uri, root)?),
        };
        Some(Self {
            from,
            to: place::destination_in_vault(&request.headers, root)?,
            is_shallow: is_copy && is_alone(&request.headers, "depth", "0"),
            // What cannot be read allows nothing.
            keeps_destination: request.headers.contains_key("overwrite")
                && !is_alone(&request.headers, "overwrite", "T"),
        })
    }

    /// The folder that a file in it is copied with, and where that goes.
    pub fn around(&self, file: &VaultPath) -> Option<(&VaultPath, &VaultPath)> {
        let from = self.from.as_ref().filter(|from| file.is_inside(from))?;
        Some((from, &self.to))
    }

    /// Why it cannot be, whatever is in the vault.
    pub fn refusal(&self) -> Option<&'static str> {
        let Self { from, to, is_shallow, .. } = self;
        let is_below = from.as_ref().is_none_or(|from| to.is_inside(from));
        match from {
            Some(from) if from == to => Some(
                "the destination is what is copied or moved; nothing was changed. Name another place",
            ),
            Some(from) if from.is_inside(to) => Some(
                "the destination would be replaced with what is copied or moved in it; nothing was changed. Name a place beside it",
            ),
            _ if is_below && !is_shallow => Some(
                "the destination is inside of what is copied or moved; nothing was changed. Name a place outside of it",
            ),
            _ => None,
        }
    }
}

/// Whether a header has this value and no other.
fn is_alone(headers: &HeaderMap, name: &str, value: &str) -> bool {
    let mut values = headers.get_all(name).iter();
    values.next().is_some_and(|found| found == value) && values.next().is_none()
}
