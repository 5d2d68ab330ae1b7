//! The market: methods of all authors.

pub mod search_marketplace;
