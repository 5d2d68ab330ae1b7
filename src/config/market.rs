//! `[market]`: paid methods and the money for them.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::domain::{Error, Money, Result};

/// `[market]`: paid methods.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Market {
    /// The one currency of prices and credit, as ISO 4217 writes it.
    pub currency: String,
    /// Whether `author` in the frontmatter names the author of a page, where its vault names none.
    pub frontmatter_authors: bool,
    /// The author's share of a price in percent. The operator has the rest.
    pub author_share: u8,
    /// What a user may spend in a day (UTC).
    pub daily_cap: Money,
    /// What may be spent with one token, or by one connected client, in a day (UTC).
    pub daily_cap_per_token: Money,
    /// The price of one call above which a person is asked, where the client can ask.
    pub confirm_above: Money,
    /// The smallest top-up.
    pub min_top_up: Money,
    /// The largest top-up.
    pub max_top_up: Money,
    /// `[market.stripe]`.
    pub stripe: Stripe,
    /// `[market.x402]`.
    pub x402: X402,
}

/// `[market.stripe]`: top-ups by card. Off without a key.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Stripe {
    /// The base address; empty: Stripe's own.
    pub url: String,
    /// A file with the secret key, readable by its owner only. `NOTEWELL_STRIPE_KEY` wins over it.
    pub key_file: PathBuf,
    /// A file with the webhook's signing secret. `NOTEWELL_STRIPE_WEBHOOK_SECRET` wins over it.
    pub webhook_secret_file: PathBuf,
    /// The time limit of one request.
    pub timeout_seconds: u64,
}

/// `[market.x402]`: payment with each call, through a facilitator. Off without a facilitator.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct X402 {
    /// The facilitator's address.
    pub facilitator: String,
    /// The network, as CAIP-2 writes it.
    pub network: String,
    /// The token's contract.
    pub asset: String,
    /// The token's name and version, which payers sign.
    pub asset_name: String,
    /// The token's version.
    pub asset_version: String,
    /// The address that is paid.
    pub pay_to: String,
    /// The time limit of one request to the facilitator.
    pub timeout_seconds: u64,
}

impl Default for Market {
    fn default() -> Self {
        Self {
            currency: "USD".into(),
            frontmatter_authors: true,
            author_share: 80,
            daily_cap: Money(1_000_000),
            daily_cap_per_token: Money(1_000_000),
            confirm_above: Money(250_000),
            min_top_up: Money(5_000_000),
            max_top_up: Money(500_000_000),
            stripe: Stripe::default(),
            x402: X402::default(),
        }
    }
}

impl Default for Stripe {
    fn default() -> Self {
        Self {
            url: String::new(),
            key_file: PathBuf::new(),
            webhook_secret_file: PathBuf::new(),
            timeout_seconds: 20,
        }
    }
}

impl Default for X402 {
    fn default() -> Self {
        Self {
            facilitator: String::new(),
            network: "eip155:8453".into(),
            asset: "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913".into(),
            asset_name: "USDC".into(),
            asset_version: "2".into(),
            pay_to: String::new(),
            timeout_seconds: 20,
        }
    }
}

impl Market {
    /// Checks what involves more than one key.
    pub(super) fn check(&self) -> Result<()> {
        let wrong = |message: String| Err(Error::invalid_params(message));
        let is_code =
            self.currency.len() == 3 && self.currency.bytes().all(|byte| byte.is_ascii_uppercase());
        if !is_code {
            return wrong(format!(
                "`market.currency` is `{}`; write three capital letters, such as `USD`",
                self.currency
            ));
        }
        if self.author_share > 100 {
            return wrong(format!(
                "`market.author_share` is {}; it is a percentage, 0 to 100",
                self.author_share
            ));
        }
        if !self.min_top_up.is_positive() || self.min_top_up > self.max_top_up {
            return wrong(format!(
                "`market.min_top_up` ({}) must be more than zero and at most `market.max_top_up` ({})",
                self.min_top_up, self.max_top_up
            ));
        }
        if !self.x402.facilitator.is_empty() && self.x402.pay_to.is_empty() {
            return wrong(
                "`[market.x402]` names a `facilitator` and needs `pay_to`, the address that is paid"
                    .into(),
            );
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contradictions_are_named() {
        assert!(Market::default().check().is_ok());
        let wrong = |change: fn(&mut Market)| {
            let mut market = Market::default();
            change(&mut market);
            market.check().unwrap_err().message
        };
        assert!(wrong(|market| market.currency = "dollar".into()).contains("currency"));
        assert!(wrong(|market| market.author_share = 101).contains("author_share"));
        assert!(wrong(|market| market.min_top_up = Money(i64::MAX)).contains("max_top_up"));
        assert!(wrong(|market| market.x402.facilitator = "http://f".into()).contains("pay_to"));
    }
}
