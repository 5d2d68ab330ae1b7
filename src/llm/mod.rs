//! Language models: one small trait, and two protocols that speak it ([`anthropic`], and [`openai`],
//! which most local servers speak too). `provider = "none"` is simply no [`Provider`].
//!
//! A call has one time limit for all its tries, and counts its tokens and what they cost. The room
//! does not know what is asked: callers write the prompt, put what others wrote through [`quote`],
//! and check what comes back. It refuses to trust an answer: [`read_json`] gives data or an error,
//! and a caller must have a way to go on without.

mod anthropic;
mod hosted;
mod openai;
mod quote;

pub use quote::quote;

use std::sync::Arc;

use serde::de::DeserializeOwned;

use self::hosted::Hosted;
use crate::{
    config::{self, Llm, LlmProvider},
    domain::{Error, Result},
};

/// What a model is asked.
#[derive(Debug, Clone)]
pub struct Request {
    /// Who it is and what it must do: our own words only.
    pub system: String,
    /// The question and its material; what others wrote is quoted.
    pub user: String,
}

/// A model's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Completion {
    /// The answer.
    pub text: String,
    /// It ran into `max_tokens`.
    pub cut: bool,
    /// Tokens of the request, as the provider counts them.
    pub input_tokens: u64,
    /// Tokens of the answer.
    pub output_tokens: u64,
}

/// Answers a request in its own words. May fail at any time.
pub trait Provider: Send + Sync {
    /// Asks the model once, with the provider's retries and time limit.
    fn complete(&self, request: &Request) -> Result<Completion>;
}

/// The provider that the config names, if any. Nothing is sent yet.
pub fn open(config: &Llm) -> Result<Option<Arc<dyn Provider>>> {
    let key = match config.provider {
        LlmProvider::None => return Ok(None),
        _ => config::llm_key(config)?,
    };
    Ok(Some(match config.provider {
        LlmProvider::Anthropic => Arc::new(Hosted::<anthropic::Messages>::new(config, key)),
        _ => Arc::new(Hosted::<openai::Chat>::new(config, key)),
    }))
}

/// Reads an answer that was asked for as one JSON object; words and code fences around it are
/// passed over.
pub fn read_json<T: DeserializeOwned>(text: &str) -> Result<T> {
    let object = text.find('{').zip(text.rfind('}')).and_then(|(from, to)| text.get(from..=to));
    let object =
        object.ok_or_else(|| Error::outside("the language model did not answer with JSON"))?;
    serde_json::from_str(object).map_err(|error| {
        Error::outside("the language model did not answer in the form it was asked for")
            .with_source(error)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn json_is_found_within_words_and_fences() {
        for text in ["{\"a\": 1}", "```json\n{\"a\": 1}\n```", "Here you are: {\"a\": 1}. Bye"] {
            assert_eq!(read_json::<Value>(text).unwrap(), json!({ "a": 1 }), "{text}");
        }
        for text in ["", "no", "}{", "{\"a\": ", "{a}"] {
            assert!(read_json::<Value>(text).is_err(), "{text}");
        }
    }

    #[test]
    fn none_is_no_provider_and_needs_no_key() {
        assert!(open(&Llm::default()).unwrap().is_none());
    }
}
