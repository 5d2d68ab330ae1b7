//! A model behind HTTP, whatever protocol it speaks: time limit, retries, counters.

use std::{
    marker::PhantomData,
    time::{Duration, Instant},
};

use serde_json::Value;

use super::{Completion, Provider, Request};
use crate::{
    config::Llm,
    domain::{Error, Result},
    post::{Endpoint, Tries},
    telemetry::metric,
};

/// A protocol: how a request is written and an answer read.
pub(super) trait Protocol: Send + Sync {
    /// The provider's name in metrics.
    const NAME: &'static str;
    /// The provider's own base address.
    const HOME: &'static str;

    /// The address to post to.
    fn endpoint(base: &str) -> String;
    fn headers(key: Option<&str>) -> Vec<(&'static str, String)>;
    fn body(config: &Llm, endpoint: &str, request: &Request) -> Value;
    /// `None` when it is not an answer of this protocol.
    fn read(answer: &Value) -> Option<Completion>;
}

pub(super) struct Hosted<P> {
    config: Llm,
    endpoint: Endpoint,
    protocol: PhantomData<P>,
}

impl<P: Protocol> Hosted<P> {
    pub(super) fn new(config: &Llm, key: Option<String>) -> Self {
        let base = if config.url.is_empty() { P::HOME } else { &config.url };
        let mut endpoint = Endpoint::new(P::endpoint(base.trim_end_matches('/')), "llm");
        endpoint.headers = P::headers(key.as_deref());
        endpoint.key = key;
        Self { config: config.clone(), endpoint, protocol: PhantomData }
    }

    fn ask(&self, request: &Request) -> Result<Completion> {
        let all = Duration::from_secs(self.config.timeout_seconds);
        let tries = Tries {
            most: self.config.retries.saturating_add(1),
            longest_pause: all,
            each: all,
            all: Some(all),
        };
        let url = &self.endpoint.url;
        let body = P::body(&self.config, url, request);
        let (answer, made) = self.endpoint.post(&body, &tries);
        metrics::counter!(metric::LLM_RETRIES, "provider" => P::NAME)
            .increment(u64::from(made.saturating_sub(1)));
        let answer: Value = serde_json::from_str(&answer?).map_err(|error| {
            Error::outside(format!("`{url}` did not answer with JSON")).with_source(error)
        })?;
        P::read(&answer).ok_or_else(|| {
            Error::outside(format!("`{url}` answered, but not as a {} server does", P::NAME))
        })
    }

    fn count(&self, completion: &Completion) {
        let Completion { input_tokens, output_tokens, .. } = *completion;
        for (direction, tokens) in [("input", input_tokens), ("output", output_tokens)] {
            metrics::counter!(metric::LLM_TOKENS, "provider" => P::NAME, "direction" => direction)
                .increment(tokens);
        }
        // The price of a million tokens is that of one token in millionths.
        let micros = input_tokens as f64 * self.config.input_cost
            + output_tokens as f64 * self.config.output_cost;
        metrics::counter!(metric::LLM_COST, "provider" => P::NAME).increment(micros.round() as u64);
    }
}

impl<P: Protocol> Provider for Hosted<P> {
    fn complete(&self, request: &Request) -> Result<Completion> {
        let started = Instant::now();
        let result = self.ask(request);
        let outcome = if result.is_ok() { "ok" } else { "failed" };
        let seconds = started.elapsed().as_secs_f64();
        metrics::counter!(metric::LLM_CALLS, "provider" => P::NAME, "outcome" => outcome)
            .increment(1);
        metrics::histogram!(metric::LLM_SECONDS, "provider" => P::NAME).record(seconds);
        match &result {
            Ok(completion) => {
                self.count(completion);
                let Completion { input_tokens, output_tokens, cut, .. } = completion;
                tracing::info!(provider = P::NAME, input_tokens, output_tokens, cut, seconds);
            }
            Err(error) => tracing::warn!(provider = P::NAME, ?error, seconds, "no answer"),
        }
        result
    }
}
