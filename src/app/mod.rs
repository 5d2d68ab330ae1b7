//! The composition root, and the use cases that touch two rooms or more: one file per noun.

pub mod cards;
pub mod demo;
pub mod doctor;
mod events;
pub mod page;
pub mod tokens;

pub use events::{Event, Events};

use crate::{
    config::Config,
    domain::{Caller, Result},
    store::{self, Store},
};

/// The library, open.
pub struct App {
    pub config: Config,
    pub store: Store,
    pub cards: cards::CardRoom,
    pub events: Events,
}

impl App {
    /// Opens the library. Cheap: nothing here grows with the size of the library.
    pub fn open(config: Config) -> Result<Self> {
        let store = store::sqlite::open(&config.data)?;
        let cards = cards::CardRoom::new(&config, store.items.clone());
        Ok(Self { config, store, cards, events: Events::default() })
    }

    /// Starts what follows the library while the process runs.
    pub fn start(&self) -> Result<()> {
        Ok(())
    }

    /// Looks for changes once, for a command that runs and ends.
    pub fn refresh(&self) -> Result<()> {
        Ok(())
    }

    /// What a client's model is told about this server at the start.
    pub fn instructions(&self, _caller: &Caller, _method: Option<&str>) -> String {
        INSTRUCTIONS.to_owned()
    }
}

const INSTRUCTIONS: &str = "The person's own notes, cards, bookmarks and prompts. Call `search` first; \
open a hit with `note_html` and its `match_id` (a focused window) or `toc_path` (one section) before you \
read a whole note. `expand` walks a long note's outline.";
