//! A call that costs something: the price is held, the method runs, and the answer leaves only
//! after the price was captured. Whatever fails before costs nothing.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use serde_json::{Map, Value, json};

use super::{Cx, Output, door::within_size};
use crate::{
    app::{
        market::{Charge, PaidCall},
        methods::{Method, Ready},
    },
    domain::{Code, Error, Pid, Price, Result},
    store::usage::Outcome,
    vault,
};

/// The name under which a result carries its receipt.
pub const RECEIPT: &str = "notewell/receipt";
/// The name under which a result carries the facilitator's answer.
pub const SETTLEMENT: &str = "x402/payment-response";

/// What a call pays with, and what its connection was shown before.
#[derive(Debug, Clone, Copy, Default)]
pub struct Payment<'a> {
    /// The token of the request.
    pub token: Option<i64>,
    /// The id of the request, for usage.
    pub request: &'a str,
    /// An explicit idempotency key.
    pub key: Option<&'a str>,
    /// An x402 payment that came with the call.
    pub x402: Option<&'a Value>,
    /// The prices that this connection was shown.
    pub shown: Option<&'a ShownPrices>,
}

/// The prices that a connection was shown, by page. A call is never charged more than that.
#[derive(Debug, Default)]
pub struct ShownPrices(Mutex<HashMap<Pid, Price>>);

/// How many prices are remembered for one connection.
const MAX_SHOWN: usize = 10_000;

impl ShownPrices {
    /// Remembers a price.
    pub fn show(&self, pid: Pid, price: Price) {
        let mut shown = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if shown.len() < MAX_SHOWN || shown.contains_key(&pid) {
            shown.insert(pid, price);
        }
    }

    /// The price that was shown last.
    pub fn of(&self, pid: Pid) -> Option<Price> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&pid).copied()
    }
}

/// Runs a method that costs `price`.
pub(super) fn run(
    cx: &Cx<'_>,
    method: &Method,
    ready: &Ready,
    price: Price,
    arguments: &Map<String, Value>,
) -> Result<Output> {
    if !ready.is_readable {
        refuse_higher_price(cx, method, price)?;
    }
    let charge = cx.app.market().begin(&PaidCall {
        caller: cx.rights.caller(),
        token: cx.payment.token,
        method: &method.name,
        page: method.pid(),
        version: &vault::etag(&ready.version),
        author: cx.app.seller(&ready.page)?,
        price,
        trial_calls: ready.page.price_free,
        arguments,
        key: cx.payment.key,
        payment: cx.payment.x402,
        request: cx.payment.request,
    });
    let charge = charge.map_err(|error| with_price(error, method, price, cx))?;
    let rendered = cx.app.render_method(method, ready, arguments, cx.rights).and_then(|text| {
        // A caller who went away, or whose call timed out, is not charged.
        cx.patience.check()?;
        within_size(cx.app, Output::of_text(text))
    });
    let mut output = match rendered {
        Ok(output) => output,
        Err(error) => {
            charge.release();
            return Err(error);
        }
    };
    let is_own = matches!(
        &charge,
        Charge::NotCharged(call) if matches!(call.reason, Outcome::Owner | Outcome::Author)
    );
    match charge.capture() {
        Ok(receipt) => {
            output.meta.insert(RECEIPT.into(), receipt.to_json());
            if let Some(settlement) = receipt.settlement {
                output.meta.insert(SETTLEMENT.into(), settlement);
            }
        }
        // Who owns it reads it, whether or not that can be counted.
        Err(error) if is_own => tracing::warn!(?error, "could not record a call"),
        Err(error) => return Err(with_price(error, method, price, cx)),
    }
    Ok(output)
}

/// A payment that was refused, with what there is to pay.
fn with_price(error: Error, method: &Method, price: Price, cx: &Cx<'_>) -> Error {
    if error.code != Code::Payment || error.data.is_some() {
        return error;
    }
    let currency = cx.app.market().currency();
    error.with_data(json!({ "method": method.name, "price": price, "currency": currency }))
}

/// A call is charged at most what its connection was shown.
fn refuse_higher_price(cx: &Cx<'_>, method: &Method, price: Price) -> Result<()> {
    let shown = cx.payment.shown.and_then(|shown| shown.of(method.pid()));
    let Some(shown) = shown.filter(|shown| price > *shown) else { return Ok(()) };
    let currency = cx.app.market().currency();
    Err(Error::conflict(format!(
        "`{}` costs {price} {currency} a call now, and {shown} {currency} when it was listed to you; nothing was charged. To buy it at the new price, list the tools again and repeat the call",
        method.name
    ))
    .with_data(json!({ "price": price, "listed": shown, "currency": currency })))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_price_shown_last_counts() {
        let shown = ShownPrices::default();
        let price = |text: &str| Price::parse(text).unwrap();
        assert_eq!(shown.of(Pid(1)), None);
        shown.show(Pid(1), price("0.01"));
        shown.show(Pid(1), price("0.02"));
        assert_eq!(shown.of(Pid(1)), Some(price("0.02")));
        assert_eq!(shown.of(Pid(2)), None);
    }
}
