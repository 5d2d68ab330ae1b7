//! What one caller sees of the library.

use crate::domain::{Caller, Filters, Page};

/// A caller, and the author they asked for (`/_system/mcp/{username}`).
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    pub caller: &'a Caller,
    pub author: Option<&'a str>,
}

impl<'a> View<'a> {
    pub fn of(caller: &'a Caller) -> Self {
        Self { caller, author: None }
    }

    /// The owner sees everything; everybody else what is free.
    pub fn sees(&self, page: &Page) -> bool {
        let author = self.author.is_none_or(|author| page.author.as_deref() == Some(author));
        author && (self.caller.is_owner() || page.free)
    }

    /// The same rule for a search.
    pub fn narrow(&self, filters: &mut Filters) {
        filters.only_free |= !self.caller.is_owner();
        filters.only_author = self.author.map(str::to_owned);
    }
}
