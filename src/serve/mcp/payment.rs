//! How the protocol shows prices, receipts and what is to be paid.

use std::{collections::BTreeMap, sync::OnceLock};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD as BASE64};
use hmac::{Hmac, KeyInit as _, Mac as _};
use rmcp::{
    RoleServer,
    model::{
        CallToolResponse, CallToolResult, ContentBlock, ElicitRequest, ElicitRequestParams,
        InputRequest, InputRequiredResult, InputResponses, MetaObject,
    },
    service::RequestContext,
};
use serde_json::{Value, json};
use sha2::Sha256;

use super::link::{Identity, Link};
use crate::{
    app::App,
    domain::{Error, Money, Result, Timestamp},
    store::usage,
    tools::{ListedPrice, Payment, ShownPrices},
};

/// Where a request names its idempotency key.
const KEY: &str = "notewell/idempotency-key";
/// Where a request carries an x402 payment.
const X402: &str = "x402/payment";
/// Where an answer says what is to be paid.
const PAYMENT: &str = "notewell/payment";
/// The name of the question for a top-up.
const TOP_UP: &str = "topup";
/// How long a client has to come back from a top-up.
const STATE_MS: i64 = 3_600_000;

/// `_meta` of a tool that costs something.
pub fn price_meta(listed: &ListedPrice) -> MetaObject {
    let mut price = json!({ "amount": listed.price.to_string(), "currency": listed.currency });
    if let (Value::Object(price), true) = (&mut price, listed.free_calls > 0) {
        price.insert("freeCalls".into(), listed.free_calls.into());
    }
    MetaObject([("notewell/price".to_owned(), price)].into_iter().collect())
}

/// What one request pays with.
pub struct Purse {
    token: Option<i64>,
    request: String,
    key: Option<String>,
    x402: Option<Value>,
}

impl Purse {
    /// Reads it from a request.
    pub fn read(context: &RequestContext<RoleServer>, link: &Link) -> Result<Self> {
        let key = match context.meta.0.0.get(KEY) {
            None | Some(Value::Null) => None,
            Some(Value::String(key)) => Some(key.clone()),
            Some(_) => {
                return Err(Error::invalid_params(format!("`{KEY}` in `_meta` must be text")));
            }
        };
        let x402 = context.meta.0.0.get(X402).filter(|payment| !payment.is_null()).cloned();
        let token = match link.identity {
            Identity::Token(token) => Some(token),
            // Its tokens change every hour; the cap is for all of them together.
            Identity::Connection(connection) => Some(usage::of_connection(connection)),
            Identity::User(_) | Identity::Network(_) | Identity::Process => None,
        };
        let request = context.id.to_string().chars().take(64).collect();
        Ok(Self { token, request, key, x402 })
    }

    /// Whether a payment came with the request.
    pub fn is_full(&self) -> bool {
        self.x402.is_some()
    }

    /// As a tool's call takes it.
    pub fn payment<'a>(&'a self, shown: &'a ShownPrices) -> Payment<'a> {
        Payment {
            token: self.token,
            request: &self.request,
            key: self.key.as_deref(),
            x402: self.x402.as_ref(),
            shown: Some(shown),
        }
    }
}

/// Signs what a client brings back from a top-up or a question. The key lives as long as the process: after a
/// restart the client is simply asked again.
#[derive(Default)]
pub struct StateKey(OnceLock<Option<[u8; 32]>>);

impl StateKey {
    /// The key; `None` where the system gives no random numbers.
    fn key(&self) -> Option<&[u8; 32]> {
        let made = self.0.get_or_init(|| {
            let mut key = [0; 32];
            getrandom::fill(&mut key).ok().map(|()| key)
        });
        made.as_ref()
    }

    fn mac(&self, subject: &str, until: i64) -> Option<Hmac<Sha256>> {
        let mut mac = Hmac::<Sha256>::new_from_slice(self.key()?).ok()?;
        mac.update(&until.to_be_bytes());
        mac.update(subject.as_bytes());
        Some(mac)
    }

    /// A state that says for `ms` milliseconds that a client was asked about this.
    pub fn seal(&self, subject: &str, ms: i64) -> Option<String> {
        let until = Timestamp::now().0 + ms;
        let mac = self.mac(subject, until)?.finalize().into_bytes();
        Some(format!("{until}.{}", BASE64.encode(mac)))
    }

    /// Whether a state is one of ours about this.
    pub fn open(&self, subject: &str, state: &str) -> Opened {
        let until = state.split_once('.').and_then(|(until, mac)| {
            let until: i64 = until.parse().ok()?;
            let mac = BASE64.decode(mac).ok()?;
            self.mac(subject, until)?.verify_slice(&mac).ok()?;
            Some(until)
        });
        match until {
            Some(until) if until > Timestamp::now().0 => Opened::Until(until),
            _ => Opened::No,
        }
    }
}

/// What a state that a client brought back is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opened {
    /// It is ours, until this time.
    Until(i64),
    /// It is not ours, or too old.
    No,
}

/// What a state of a top-up is about.
fn top_up_of(tool: &str) -> String {
    format!("{TOP_UP} {tool}")
}

/// Whether a client comes back from a top-up for this tool, whose price its person saw.
pub fn is_topped_up(key: &StateKey, tool: &str, state: Option<&str>) -> bool {
    state.is_some_and(|state| key.open(&top_up_of(tool), state) != Opened::No)
}

/// What a client can do about a payment, and did before.
pub struct Payer<'a> {
    /// The tool.
    pub tool: &'a str,
    /// Whether the client opens addresses for a person and comes back.
    pub opens_urls: bool,
    /// What it brought back.
    pub state: Option<&'a str>,
    /// What the person answered.
    pub responses: Option<&'a InputResponses>,
}

/// The answer to a call that the caller's credit does not cover.
pub fn required(app: &App, key: &StateKey, payer: &Payer<'_>, error: Error) -> CallToolResponse {
    let url = error.data.as_ref().and_then(|data| data["top_up_url"].as_str()).map(str::to_owned);
    // A caller who returns without enough credit gets an error instead of another redirect.
    let subject = top_up_of(payer.tool);
    let came_back = is_topped_up(key, payer.tool, payer.state);
    if let (true, false, Some(url), Some(state)) =
        (payer.opens_urls, came_back, url, key.seal(&subject, STATE_MS))
    {
        let params = ElicitRequestParams::UrlElicitationParams {
            meta: None,
            message: error.message,
            url,
            elicitation_id: state.clone(),
        };
        let requests = BTreeMap::from([(
            TOP_UP.to_owned(),
            InputRequest::Elicitation(ElicitRequest::new(params)),
        )]);
        return InputRequiredResult::new(Some(requests), Some(state)).into();
    }
    let declined = payer
        .responses
        .and_then(|responses| responses.get(TOP_UP))
        .is_some_and(|response| matches!(response["action"].as_str(), Some("decline" | "cancel")));
    let sentence = match (came_back, declined) {
        (true, true) => format!("the top-up was declined: {}", error.message),
        (true, false) => format!("the top-up has not arrived yet: {}", error.message),
        _ => error.message,
    };
    let required = payment_required(app, &sentence, error.data.as_ref());
    let content = vec![ContentBlock::text(required.to_string()), ContentBlock::text(sentence)];
    let mut result = CallToolResult::error(content);
    result.structured_content = Some(required);
    let data = error.data.map(|data| (PAYMENT.to_owned(), data));
    result.meta = data.map(|data| MetaObject([data].into_iter().collect()));
    result.into()
}

/// What is to be paid, as x402 version 2 writes it.
fn payment_required(app: &App, sentence: &str, data: Option<&Value>) -> Value {
    let price =
        data.and_then(|data| data["price"].as_str()).and_then(|text| Money::parse(text).ok());
    let accepts = price.map(|price| app.market().accepts(price)).unwrap_or_default();
    json!({
        "x402Version": 2,
        "error": sentence,
        "resource": {
            "url": format!("{}/_system/mcp", app.config.public_url()),
            "description": data.map_or(&Value::Null, |data| &data["method"]),
            "mimeType": "text/markdown",
        },
        "accepts": accepts,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_opens_for_its_tool_and_its_key_only() {
        let key = StateKey::default();
        let opens =
            |key: &StateKey, subject: &str, state: &str| key.open(subject, state) != Opened::No;
        let state = key.seal("review", STATE_MS).unwrap();
        assert!(opens(&key, "review", &state));
        assert!(!opens(&key, "other", &state));
        assert!(!opens(&StateKey::default(), "review", &state));
        assert!(!opens(&key, "review", &key.seal("review", -1).unwrap()));
        let later = format!("9{state}");
        for bad in ["", ".", "1.", "x.y", later.as_str()] {
            assert!(!opens(&key, "review", bad), "{bad}");
        }
    }
}
