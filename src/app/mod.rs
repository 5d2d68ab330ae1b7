//! The composition root, and the use cases that touch two rooms or more: one file per noun.

pub mod tokens;

use crate::{
    config::Config,
    domain::Result,
    store::{self, Store},
};

/// The library, open.
pub struct App {
    pub config: Config,
    pub store: Store,
}

impl App {
    /// Opens the library. Cheap: nothing here grows with the size of the library.
    pub fn open(config: Config) -> Result<Self> {
        let store = store::sqlite::open(&config.data)?;
        Ok(Self { config, store })
    }
}
