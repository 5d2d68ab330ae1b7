//! What the clients saw: times of each call, errors of each kind, and limits apart.

use std::{
    collections::BTreeMap,
    io,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use super::http::Answer;

/// How a call ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// With a result.
    Done,
    /// Refused with a sentence that names the limit; after so many seconds it may be tried again.
    Limit(String, u64),
    /// In any other way.
    Error(String),
}

impl Outcome {
    /// What an answer says.
    pub fn of(answer: &Answer) -> Self {
        let message = answer.message().unwrap_or_default();
        let error = &message["error"];
        let text = error["message"].as_str().unwrap_or_default();
        if let Some(key) = named_limit(text) {
            let seconds = answer.retry_after.unwrap_or(1);
            // Over HTTP a refusal says when to come back.
            return match answer.status {
                429 | 503 if answer.retry_after.is_none() => {
                    Self::Error(format!("status {} without Retry-After", answer.status))
                }
                _ => Self::Limit(key.to_owned(), seconds),
            };
        }
        if answer.status >= 300 {
            return Self::Error(format!("status {}", answer.status));
        }
        if !error.is_null() {
            return Self::Error(format!("JSON-RPC error {}", error["code"]));
        }
        match message["result"]["isError"] == true {
            true => Self::Error("a tool's own error".to_owned()),
            false if message["result"].is_null() => Self::Error("no result".to_owned()),
            false => Self::Done,
        }
    }

    /// A connection that failed.
    pub fn broken(error: &io::Error) -> Self {
        Self::Error(format!("connection: {}", error.kind()))
    }
}

/// The key of the config that a refusal names: `limits.concurrent`.
fn named_limit(text: &str) -> Option<&str> {
    let start = text.find("`limits.")? + 1;
    let length = text[start..].find('`')?;
    Some(&text[start..start + length])
}

/// Counts of all clients together.
#[derive(Default)]
pub struct Tally {
    times: Mutex<BTreeMap<&'static str, Vec<Duration>>>,
    counts: Mutex<Counts>,
}

/// How often each way of not getting a result happened.
#[derive(Default)]
pub struct Counts {
    pub limits: BTreeMap<String, u64>,
    pub errors: BTreeMap<String, u64>,
}

impl Tally {
    pub fn add(&self, call: &'static str, took: Duration, outcome: &Outcome) {
        match outcome {
            Outcome::Done => {
                let mut times = self.times.lock().unwrap_or_else(PoisonError::into_inner);
                times.entry(call).or_default().push(took);
            }
            Outcome::Limit(key, _) => *self.counts().limits.entry(key.clone()).or_default() += 1,
            Outcome::Error(kind) => {
                *self.counts().errors.entry(format!("{call}: {kind}")).or_default() += 1;
            }
        }
    }

    fn counts(&self) -> std::sync::MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The times of each call, and the counts.
    pub fn into_parts(self) -> (BTreeMap<&'static str, Vec<Duration>>, Counts) {
        let times = self.times.into_inner().unwrap_or_else(PoisonError::into_inner);
        (times, self.counts.into_inner().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_known_by_its_name() {
        let text = "the server has as many requests open as `limits.concurrent` allows; try again";
        assert_eq!(named_limit(text), Some("limits.concurrent"));
        assert_eq!(named_limit("the database is locked"), None);
    }
}
