//! `[market]`: methods for sale.

use serde::{Deserialize, Serialize};

/// `[market]`: what methods are sold for, and who may sell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Market {
    /// The currency of every price, as ISO 4217 writes it.
    pub currency: String,
    /// Whether `author` in the frontmatter names the author of a page, where its vault names none.
    pub frontmatter_authors: bool,
}

impl Default for Market {
    fn default() -> Self {
        Self { currency: "USD".into(), frontmatter_authors: true }
    }
}
