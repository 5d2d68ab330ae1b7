//! x402: a payment that comes with a call, verified and settled by a facilitator. The token has six
//! decimals, so that a millionth of the currency is one of its smallest units.

use std::time::Duration;

use serde_json::{Value, json};

use super::{Provider, Settlement};
use crate::{
    app::market::identity::{canonical, hash},
    config,
    domain::{Error, Money, Result},
    post::{Endpoint, Tries},
    store::ledger::Outside,
};

/// The version of the protocol that is spoken.
pub(super) const VERSION: u64 = 2;
/// How the `errorReason` of a settlement begins that goes on, or of which the facilitator does not
/// know how far it came: neither is a failure.
const OPEN: [&str; 2] = ["settlement_pending", "unexpected_"];
/// How long a payer's authorisation must stay valid.
const MAX_TIMEOUT_SECONDS: u64 = 60;

pub(super) struct X402 {
    config: config::X402,
    verify: Endpoint,
    settle: Endpoint,
}

impl X402 {
    /// `None` without a facilitator.
    pub(super) fn open(config: &config::X402) -> Option<Self> {
        let base = config.facilitator.trim_end_matches('/');
        let endpoint = |path: &str, answers_with_error| {
            let mut endpoint = Endpoint::new(format!("{base}{path}"), "market.x402");
            endpoint.answers_with_error = answers_with_error;
            endpoint
        };
        (!base.is_empty()).then(|| Self {
            config: config.clone(),
            verify: endpoint("/verify", |body: &str| is_refusal(body, "isValid")),
            settle: endpoint("/settle", |body: &str| is_refusal(body, "success")),
        })
    }

    fn requirements(&self, price: Money) -> Value {
        let X402 { config, .. } = self;
        json!({
            "scheme": "exact",
            "network": config.network,
            "amount": price.0.to_string(),
            "asset": config.asset,
            "payTo": config.pay_to,
            "maxTimeoutSeconds": MAX_TIMEOUT_SECONDS,
            "extra": { "name": config.asset_name, "version": config.asset_version },
        })
    }

    /// What makes a payment on an EVM chain unique, in small letters: the token, or Permit2, takes
    /// each nonce of a payer once. The rest of what was sent may be written in many ways, and so
    /// may the signature itself.
    fn nonce(&self, payment: &Value) -> Option<[String; 4]> {
        let X402 { config, .. } = self;
        let signed = payment.get("payload").filter(|_| config.network.starts_with("eip155:"))?;
        let authorization =
            ["permit2Authorization", "authorization"].iter().find_map(|name| signed.get(name))?;
        let text = |name| authorization.get(name).and_then(Value::as_str);
        let parts = [config.network.as_str(), &config.asset, text("from")?, text("nonce")?];
        Some(parts.map(|part| part.trim().to_ascii_lowercase()))
    }

    fn ask(&self, endpoint: &Endpoint, payment: &Value, price: Money, most: u32) -> Result<Value> {
        let each = Duration::from_secs(self.config.timeout_seconds);
        let tries = Tries { most, longest_pause: Duration::from_secs(1), each, all: Some(each) };
        let body = json!({
            "x402Version": VERSION,
            "paymentPayload": payment,
            "paymentRequirements": self.requirements(price),
        });
        let answer = endpoint.post(&body, &tries).0?;
        serde_json::from_str(&answer).map_err(|error| {
            Error::outside(format!("`{}` did not answer with JSON", endpoint.url))
                .with_source(error)
        })
    }
}

impl Provider for X402 {
    fn outside(&self) -> Outside {
        Outside::X402
    }

    fn accepts(&self, price: Money) -> Option<Value> {
        Some(self.requirements(price))
    }

    fn reference(&self, payment: &Value) -> Result<String> {
        let hash = match self.nonce(payment) {
            Some([network, asset, from, nonce]) => {
                hash(&["authorization", &network, &asset, &from, &nonce])
            }
            None => hash(&["payload", &canonical(payment.get("payload").unwrap_or(payment))]),
        };
        Ok(hash.iter().map(|byte| format!("{byte:02x}")).collect())
    }

    fn verify(&self, payment: &Value, price: Money) -> Result<()> {
        let wanted = self.requirements(price);
        if payment.get("x402Version").and_then(Value::as_u64) != Some(VERSION) {
            return Err(refused("it is not of x402 version 2"));
        }
        let accepted = payment.get("accepted").cloned().unwrap_or_default();
        for field in ["scheme", "network", "amount", "asset", "payTo"] {
            let (is, want) = (accepted.get(field), wanted.get(field));
            let text = |value: Option<&Value>| {
                value.and_then(Value::as_str).unwrap_or("nothing").to_owned()
            };
            if !text(is).eq_ignore_ascii_case(&text(want)) {
                return Err(refused(&format!(
                    "its `{field}` is `{}`, and `{}` is asked for",
                    short(&text(is)),
                    text(want)
                )));
            }
        }
        let answer = self.ask(&self.verify, payment, price, 2)?;
        match answer.get("isValid").and_then(Value::as_bool) {
            Some(true) => Ok(()),
            Some(false) => Err(refused(&reason(&answer, "invalidReason"))),
            None => Err(Error::outside(format!(
                "`{}` answered, but not as a facilitator does",
                self.verify.url
            ))),
        }
    }

    fn settle(&self, payment: &Value, price: Money) -> Result<Settlement> {
        // Asked once: a second try of a payment that moved would fail and hide the first.
        let answer = self.ask(&self.settle, payment, price, 1)?;
        let text = |field| answer.get(field).and_then(Value::as_str).unwrap_or_default().trim();
        let transaction = text("transaction").to_owned();
        match answer.get("success").and_then(Value::as_bool) {
            Some(true) => Ok(Settlement::Made { transaction, response: answer }),
            // What was sent to the network may arrive, whatever the facilitator saw of it.
            Some(false) if !transaction.is_empty() => {
                Ok(Settlement::Pending { outside: short(&transaction) })
            }
            Some(false) if is_open(text("errorReason")) => {
                Ok(Settlement::Pending { outside: short(text("paymentId")) })
            }
            Some(false) => Err(refused(&reason(&answer, "errorReason"))),
            None => Err(Error::outside(format!(
                "`{}` answered, but not as a facilitator does",
                self.settle.url
            ))),
        }
    }
}

fn is_open(reason: &str) -> bool {
    let reason = reason.to_ascii_lowercase();
    OPEN.iter().any(|start| reason.starts_with(start))
}

/// Whether an answer says no, in JSON. Facilitators send that with a status of 4xx or 5xx, too.
fn is_refusal(body: &str, field: &str) -> bool {
    serde_json::from_str::<Value>(body).is_ok_and(|answer| answer[field] == false)
}

fn refused(why: &str) -> Error {
    Error::payment(format!("the x402 payment was refused: {why}; nothing was charged"))
}

fn reason(answer: &Value, field: &str) -> String {
    let reason = answer.get(field).and_then(Value::as_str).unwrap_or("no reason was given");
    short(reason)
}

fn short(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(100).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reference(network: &str, payment: &Value) -> String {
        let config = config::X402 {
            facilitator: "http://127.0.0.1:9".into(),
            network: network.into(),
            ..config::X402::default()
        };
        X402::open(&config).unwrap().reference(payment).unwrap()
    }

    #[test]
    fn a_payment_is_the_same_however_it_is_written() {
        let base = |payment: &Value| reference("eip155:8453", payment);
        let signed = json!({ "payload": {
            "signature": "0xab", "authorization": { "from": "0xAB", "nonce": "0xCD", "value": "1" },
        } });
        for same in [
            json!({ "payload": {
                "authorization": { "value": "1", "nonce": "0xCD", "from": "0xAB" },
                "signature": "0xab",
            } }),
            json!({ "x": 1, "payload": {
                "signature": "0xAB", "x": 1,
                "authorization": { "from": "0xab", "nonce": " 0xcd", "value": "1", "x": [] },
            } }),
        ] {
            assert_eq!(base(&same), base(&signed), "{same}");
        }
        for (from, nonce) in [("0xac", "0xcd"), ("0xab", "0xce"), ("0xabc", "0xd")] {
            let mut other = signed.clone();
            other["payload"]["authorization"]["from"] = from.into();
            other["payload"]["authorization"]["nonce"] = nonce.into();
            assert_ne!(base(&other), base(&signed), "{other}");
        }
        let permit = |nonce: &str| {
            json!({ "payload": { "signature": "0xab",
                "permit2Authorization": { "from": "0xAB", "nonce": nonce } } })
        };
        assert_eq!(base(&permit("7")), base(&permit("7 ")));
        assert_ne!(base(&permit("7")), base(&permit("8")));
    }

    #[test]
    fn what_another_chain_signs_is_compared_as_it_is_in_any_order() {
        let solana =
            |payment: &Value| reference("solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp", payment);
        let signed = json!({ "payload": { "transaction": "AQAB", "memo": "a" } });
        let turned = json!({ "payload": { "memo": "a", "transaction": "AQAB" } });
        assert_eq!(solana(&signed), solana(&turned));
        assert_ne!(
            solana(&signed),
            solana(&json!({ "payload": { "transaction": "aqab", "memo": "a" } }))
        );
        for odd in [json!("text"), json!([]), json!({}), json!({ "payload": null })] {
            assert_ne!(solana(&odd), solana(&signed));
        }
    }
}
