//! Stripe: a Checkout page for a top-up, and the signed webhook that reports its payment.

use std::time::Duration;

use hmac::{Hmac, KeyInit, Mac};
use serde::Deserialize;
use sha2::Sha256;

use super::{Checkout, Event, PaymentEvent, Provider};
use crate::{
    config,
    domain::{Error, Money, Result, Timestamp},
    post::{Endpoint, Tries},
    store::{ledger::Outside, payments::Payment},
};

const HOME: &str = "https://api.stripe.com";
/// How far the clock of a signature may be from ours.
const TOLERANCE_SECONDS: i64 = 300;
/// Currencies whose smallest unit is the whole, and a thousandth, as Stripe counts them.
const WITHOUT_DECIMALS: &[&str] = &[
    "BIF", "CLP", "DJF", "GNF", "JPY", "KMF", "KRW", "MGA", "PYG", "RWF", "VND", "VUV", "XAF",
    "XOF", "XPF",
];
const WITH_THREE_DECIMALS: &[&str] = &["BHD", "JOD", "KWD", "OMR", "TND"];

pub(super) struct Stripe {
    endpoint: Endpoint,
    webhook_secret: Option<String>,
    timeout: Duration,
}

#[derive(Deserialize)]
struct Session {
    id: String,
    url: String,
}

#[derive(Deserialize)]
struct Notice {
    id: String,
    #[serde(rename = "type")]
    kind: String,
    data: NoticeData,
}

#[derive(Deserialize)]
struct NoticeData {
    object: serde_json::Value,
}

#[derive(Deserialize)]
struct PaidSession {
    id: String,
    client_reference_id: Option<String>,
    amount_total: Option<i64>,
    currency: Option<String>,
    payment_status: String,
}

impl Stripe {
    /// `None` without a key.
    pub(super) fn open(config: &config::Stripe) -> Result<Option<Self>> {
        let Some(key) = config::stripe_key(config)? else { return Ok(None) };
        let base = if config.url.is_empty() { HOME } else { config.url.trim_end_matches('/') };
        let url = format!("{base}/v1/checkout/sessions");
        let mut endpoint = Endpoint::new(url, "market.stripe");
        endpoint.headers = vec![("authorization", format!("Bearer {key}"))];
        endpoint.key = Some(key);
        endpoint.longest_answer = 1 << 20;
        Ok(Some(Self {
            endpoint,
            webhook_secret: config::stripe_webhook_secret(config)?,
            timeout: Duration::from_secs(config.timeout_seconds),
        }))
    }
}

impl Provider for Stripe {
    fn outside(&self) -> Outside {
        Outside::Stripe
    }

    fn checkout(&self, payment: &Payment, back: &str) -> Result<Checkout> {
        let amount = to_minor(payment.amount, &payment.currency)?;
        let fields = [
            ("mode", "payment".to_owned()),
            ("client_reference_id", payment.reference.clone()),
            ("success_url", format!("{back}?state=paid")),
            ("cancel_url", format!("{back}?state=cancelled")),
            ("line_items[0][quantity]", "1".to_owned()),
            ("line_items[0][price_data][currency]", payment.currency.to_ascii_lowercase()),
            ("line_items[0][price_data][unit_amount]", amount.to_string()),
            ("line_items[0][price_data][product_data][name]", "Notewell credit".to_owned()),
            ("payment_intent_data[metadata][reference]", payment.reference.clone()),
        ];
        // The same key makes every try the same session.
        let headers = [("idempotency-key", payment.reference.as_str())];
        let tries = Tries {
            most: 3,
            longest_pause: Duration::from_secs(2),
            each: self.timeout,
            all: Some(self.timeout),
        };
        let answer = self.endpoint.post_form(&fields, &headers, &tries)?;
        let session: Session = serde_json::from_str(&answer).map_err(|error| {
            Error::outside("Stripe did not answer with a checkout session; try again")
                .with_source(error)
        })?;
        let is_page =
            url::Url::parse(&session.url).is_ok_and(|url| matches!(url.scheme(), "https" | "http"));
        if !is_page {
            return Err(Error::outside("Stripe answered without the address of a page to pay at"));
        }
        Ok(Checkout { url: session.url, outside: session.id })
    }

    fn event(&self, signature: &str, body: &[u8], now: Timestamp) -> Result<Event> {
        let secret = self.webhook_secret.as_deref().ok_or_else(|| {
            Error::invalid_request(
                "no secret for Stripe's webhooks is configured; set NOTEWELL_STRIPE_WEBHOOK_SECRET or `webhook_secret_file` in `[market.stripe]`",
            )
        })?;
        check_signature(signature, body, secret, now)?;
        let notice: Notice = serde_json::from_slice(body).map_err(|error| {
            Error::invalid_request("the event is not one of Stripe's").with_source(error)
        })?;
        let is_paid = notice.kind == "checkout.session.completed"
            || notice.kind == "checkout.session.async_payment_succeeded";
        let is_over = notice.kind == "checkout.session.expired"
            || notice.kind == "checkout.session.async_payment_failed";
        if !is_paid && !is_over {
            return Ok(Event { id: notice.id, what: PaymentEvent::Other });
        }
        let session: PaidSession = serde_json::from_value(notice.data.object).map_err(|error| {
            Error::invalid_request("the event names no checkout session").with_source(error)
        })?;
        let what = match session.client_reference_id {
            None => PaymentEvent::Other,
            Some(reference) if is_over => PaymentEvent::Failed { reference },
            // A slow way to pay: another event follows when the money is there.
            Some(_) if session.payment_status != "paid" => PaymentEvent::Other,
            Some(reference) => {
                let currency = session.currency.unwrap_or_default().to_ascii_uppercase();
                let amount = session.amount_total.and_then(|minor| from_minor(minor, &currency));
                PaymentEvent::Paid { reference, outside: session.id, amount, currency }
            }
        };
        Ok(Event { id: notice.id, what })
    }
}

/// Checks `Stripe-Signature`: `t=SECONDS,v1=HEX[,v1=HEX]`, an HMAC of `t.body`.
fn check_signature(header: &str, body: &[u8], secret: &str, now: Timestamp) -> Result<()> {
    let refused = |why: &str| Err(Error::invalid_request(format!("the event was refused: {why}")));
    let pairs = || header.split(',').filter_map(|pair| pair.trim().split_once('='));
    let time = pairs().find(|(name, _)| *name == "t").map(|(_, value)| value);
    let Some((time, seconds)) = time.and_then(|text| Some((text, text.parse::<i64>().ok()?)))
    else {
        return refused("it has no `Stripe-Signature` with a time");
    };
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(secret.as_bytes()) else {
        return refused("the configured secret cannot be used");
    };
    mac.update(time.as_bytes());
    mac.update(b".");
    mac.update(body);
    let is_signed = pairs()
        .filter(|(name, _)| *name == "v1")
        .filter_map(|(_, hex)| bytes(hex))
        .any(|signature| mac.clone().verify_slice(&signature).is_ok());
    if !is_signed {
        return refused("its signature is not that of the configured secret");
    }
    // After the signature: who cannot sign learns nothing of our clock.
    if seconds.abs_diff(now.0.div_euclid(1_000)) > TOLERANCE_SECONDS.unsigned_abs() {
        return refused("it was signed more than five minutes ago or ahead; check the clock");
    }
    Ok(())
}

fn bytes(hex: &str) -> Option<Vec<u8>> {
    if hex.len() != 64 || !hex.is_ascii() {
        return None;
    }
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(hex.get(at..at + 2)?, 16).ok()).collect()
}

/// Millionths in the smallest unit of a currency.
fn minor_unit(currency: &str) -> i64 {
    match currency {
        code if WITHOUT_DECIMALS.contains(&code) => 1_000_000,
        code if WITH_THREE_DECIMALS.contains(&code) => 1_000,
        _ => 10_000,
    }
}

/// Whether an amount is a whole number of the currency's smallest units.
pub(in crate::app::market) fn is_exact(amount: Money, currency: &str) -> bool {
    amount.0 % minor_unit(currency) == 0
}

fn to_minor(amount: Money, currency: &str) -> Result<i64> {
    match is_exact(amount, currency) {
        true => Ok(amount.0 / minor_unit(currency)),
        false => Err(Error::invalid_params(format!(
            "{amount} {currency} is not a whole number of the currency's smallest unit; choose another amount"
        ))),
    }
}

fn from_minor(minor: i64, currency: &str) -> Option<Money> {
    minor.checked_mul(minor_unit(currency)).map(Money)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "whsec_test";

    fn sign(time: i64, body: &[u8], secret: &str) -> String {
        let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
        mac.update(format!("{time}.").as_bytes());
        mac.update(body);
        mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn only_what_stripe_signed_lately_is_believed() {
        let (now, body) = (Timestamp(1_000_000_000_000), b"{\"id\":\"evt_1\"}".as_slice());
        let seconds = now.0 / 1_000;
        let good = sign(seconds, body, SECRET);
        let check = |header: &str, body: &[u8]| check_signature(header, body, SECRET, now);
        assert!(check(&format!("t={seconds},v1={good}"), body).is_ok());
        let rolled = sign(seconds, body, "whsec_old");
        assert!(check(&format!("t={seconds},v1={rolled},v1={good},v0=x"), body).is_ok());
        let old = seconds - 301;
        let late = format!("t={old},v1={}", sign(old, body, SECRET));
        assert!(check(&late, body).unwrap_err().message.contains("five minutes"));
        let ahead = seconds + 301;
        assert!(check(&format!("t={ahead},v1={}", sign(ahead, body, SECRET)), body).is_err());
        for bad in [
            String::new(),
            format!("v1={good}"),
            format!("t={seconds}"),
            format!("t={seconds},v1={rolled}"),
            format!("t={},v1={good}", seconds + 1),
            format!("t={seconds},v0={good}"),
            format!("t={seconds},v1={}", &good[..62]),
            format!("t=x,v1={good}"),
            format!("t={seconds},v1={}", "я".repeat(32)),
        ] {
            assert!(check(&bad, body).is_err(), "{bad}");
        }
        assert!(check(&format!("t={seconds},v1={good}"), b"{\"id\":\"evt_2\"}").is_err());
    }

    #[test]
    fn amounts_are_in_the_smallest_unit_of_the_currency() {
        assert_eq!(to_minor(Money(10_500_000), "USD").unwrap(), 1_050);
        assert_eq!(to_minor(Money(500_000_000), "JPY").unwrap(), 500);
        assert_eq!(to_minor(Money(1_500_000), "KWD").unwrap(), 1_500);
        assert!(to_minor(Money(10_005_000), "USD").is_err());
        assert!(to_minor(Money(500_000), "JPY").is_err());
        assert_eq!(from_minor(500, "JPY"), Some(Money(500_000_000)));
        assert_eq!(from_minor(i64::MAX, "USD"), None);
    }
}
