//! Whether the cards' file can be trusted.
//!
//! The registry knows how many cards there were. A file that had cards and now has none, is gone,
//! or fails the check of its structure is suspect: its cards keep their passages, and nothing is
//! written to it until the file is put back or the loss is accepted.

use std::sync::Arc;

use super::CardRoom;
use crate::{
    domain::{Code, Error, Kind, Result, count},
    store::cards::{Cards, Occupancy},
};

/// The structure of a file up to this size is checked when it is first used; a larger one takes
/// too long and is left to `doctor`.
const CHECKED_BYTES: u64 = 64 << 20;

impl CardRoom {
    /// How many cards the registry knows.
    pub(super) fn known(&self) -> Result<u64> {
        self.items.count(Some(Kind::Card))
    }

    /// The database, for a write: refused while the file is suspect.
    pub(super) fn writable(&self) -> Result<Arc<dyn Cards>> {
        self.refuse_suspect()?;
        self.store()
    }

    /// Refuses a write to a file that is suspect, or a copy of it.
    pub(in crate::app) fn refuse_suspect(&self) -> Result<()> {
        match self.suspicion()? {
            None => Ok(()),
            Some(why) => Err(Error::damaged(format!(
                "nothing was written: {why}. Put the file back from a backup, or, if the cards \
                 were removed on purpose, run `notewell doctor --accept-empty cards`"
            ))),
        }
    }

    /// Whether the file is suspect. Each reason is logged once.
    pub(super) fn is_suspect(&self) -> Result<bool> {
        let found = self.suspicion()?;
        let mut state = self.state();
        if state.logged_fault != found {
            if let Some(why) = &found {
                tracing::warn!(
                    "{why}; its cards stay as they were, and `notewell doctor` says more"
                );
            }
            state.logged_fault.clone_from(&found);
        }
        Ok(found.is_some())
    }

    /// Why the file cannot be trusted; `None` when it can.
    pub fn suspicion(&self) -> Result<Option<String>> {
        // Looking does not make a database.
        if self.server.is_some() || self.has_no_file_yet()? {
            return Ok(None);
        }
        let path = self.file.path.display();
        let cards = match self.store() {
            Ok(cards) => cards,
            Err(error) if error.code == Code::Damaged => return self.lost(&error),
            Err(error) => return Err(error),
        };
        let occupancy = match cards.occupancy() {
            Ok(occupancy) => occupancy,
            Err(error) if error.code == Code::Damaged => return self.lost(&error),
            Err(error) => return Err(error),
        };
        // Cards that were seen and then deleted were deleted by somebody.
        if occupancy == Occupancy::Empty {
            return Ok(match self.known()? {
                0 => None,
                1 => Some(format!("`{path}` has no cards, but the library knows of one")),
                known => Some(format!("`{path}` has no cards, but the library knows of {known}")),
            });
        }
        self.structure(&*cards)
    }

    /// A file that cannot be read is a loss only where there was something to lose; the error
    /// itself says enough otherwise.
    fn lost(&self, error: &Error) -> Result<Option<String>> {
        let known = self.known()?;
        let cards = count(known, "card");
        Ok((known > 0).then(|| format!("{error}, and the library knows of {cards} in it")))
    }

    /// The outcome of the check of the file's structure, made once for each file.
    fn structure(&self, cards: &dyn Cards) -> Result<Option<String>> {
        let file = cards.version()?.place;
        if let Some((checked, found)) = &self.state().checked
            && *checked == file
        {
            return Ok(found.clone());
        }
        let size = std::fs::metadata(&self.file.path).map_or(0, |metadata| metadata.len());
        let damage = if size <= CHECKED_BYTES { cards.damage()? } else { Vec::new() };
        let found = damage.first().map(|what| {
            format!("`{}` is damaged: {}", self.file.path.display(), what.replace('\n', " "))
        });
        self.state().checked = Some((file, found.clone()));
        Ok(found)
    }

    /// Where the cards are, in words.
    pub fn place(&self) -> String {
        match self.server {
            Some(_) => "the store".to_owned(),
            None => format!("`{}`", self.file.path.display()),
        }
    }

    /// Whether the cards are in a file.
    pub fn is_file(&self) -> bool {
        self.server.is_none()
    }

    /// Takes the loss of every card as meant: the registry forgets them, and their passages go.
    /// Returns how many there were.
    pub fn accept_empty(&self) -> Result<u64> {
        let known = self.known()?;
        let empty = match self.store() {
            Ok(cards) => cards.stamps()?.is_empty(),
            Err(error) if error.code == Code::Damaged => {
                let size = std::fs::metadata(&self.file.path).map_or(0, |metadata| metadata.len());
                if size > 0 {
                    return Err(Error::damaged(format!(
                        "{error}. It is not empty: move it away first if nothing in it can be saved"
                    )));
                }
                true
            }
            Err(error) => return Err(error),
        };
        if !empty {
            return Err(Error::invalid_request(format!(
                "{} has cards; there is no loss to accept",
                self.place()
            )));
        }
        self.items.sync(Kind::Card, &[])?;
        Ok(known)
    }
}
