//! What makes two calls the same call.

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::{
    domain::{Error, Pid, Result},
    store::ledger::CallIdentity,
};

/// The longest explicit key.
const MAX_KEY: usize = 255;

/// The identity of a call: by its explicit key, else by method, version and arguments.
pub(super) fn identify(
    page: Pid,
    version: &str,
    arguments: &Map<String, Value>,
    key: Option<&str>,
) -> Result<CallIdentity> {
    let written = canonical(&Value::Object(arguments.clone()));
    let page = page.0.to_string();
    let call = match key {
        None => hash(&["call", &page, version, &written]),
        Some(key) if key.is_empty() || key.len() > MAX_KEY => {
            return Err(Error::invalid_params(format!(
                "an idempotency key has 1 to {MAX_KEY} bytes, and this one has {}",
                key.len()
            )));
        }
        Some(key) => hash(&["key", &page, key]),
    };
    Ok(CallIdentity { call, arguments: hash(&["arguments", &page, &written]) })
}

impl CallIdentity {
    /// What a payment that came with the call is for: this call with these arguments. Nobody keeps
    /// the arguments of a key that has no account.
    pub(super) fn paid(&self, key: Option<&str>) -> [u8; 32] {
        match key {
            None => self.call,
            Some(_) => {
                let mut hasher = Sha256::new();
                hasher.update(self.call);
                hasher.update(self.arguments);
                hasher.finalize().into()
            }
        }
    }
}

/// JSON with sorted names: two orders of the same arguments are the same call.
pub(super) fn canonical(value: &Value) -> String {
    fn sorted(value: &Value) -> Value {
        match value {
            Value::Object(map) => {
                let mut names: Vec<&String> = map.keys().collect();
                names.sort();
                let pairs = names
                    .into_iter()
                    .filter_map(|name| map.get(name).map(|value| (name.clone(), sorted(value))));
                Value::Object(pairs.collect())
            }
            Value::Array(values) => Value::Array(values.iter().map(sorted).collect()),
            other => other.clone(),
        }
    }
    sorted(value).to_string()
}

pub(super) fn hash(parts: &[&str]) -> [u8; 32] {
    let mut hasher = Sha256::new();
    for part in parts {
        // With its length, so that no two lists of parts are the same bytes.
        hasher.update((part.len() as u64).to_be_bytes());
        hasher.update(part.as_bytes());
    }
    hasher.finalize().into()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn id(page: i64, version: &str, arguments: Value, key: Option<&str>) -> CallIdentity {
        identify(Pid(page), version, arguments.as_object().unwrap(), key).unwrap()
    }

    #[test]
    fn the_order_of_arguments_does_not_matter_and_everything_else_does() {
        let one = id(1, "v", json!({ "a": "1", "b": { "x": 1, "y": [2, 3] } }), None);
        assert_eq!(one, id(1, "v", json!({ "b": { "y": [2, 3], "x": 1 }, "a": "1" }), None));
        for other in [
            id(2, "v", json!({ "a": "1", "b": { "x": 1, "y": [2, 3] } }), None),
            id(1, "w", json!({ "a": "1", "b": { "x": 1, "y": [2, 3] } }), None),
            id(1, "v", json!({ "a": "1", "b": { "x": 1, "y": [3, 2] } }), None),
        ] {
            assert_ne!(one.call, other.call);
        }
    }

    #[test]
    fn a_key_names_the_call_whatever_the_version() {
        let first = id(1, "v", json!({ "a": "чай" }), Some("k"));
        assert_eq!(first, id(1, "w", json!({ "a": "чай" }), Some("k")));
        let other = id(1, "v", json!({ "a": "お茶" }), Some("k"));
        assert_eq!(first.call, other.call);
        assert_ne!(first.arguments, other.arguments);
        assert_ne!(first.paid(Some("k")), other.paid(Some("k")), "a payment is for its arguments");
        assert!(identify(Pid(1), "v", &Map::new(), Some("")).is_err());
        assert!(identify(Pid(1), "v", &Map::new(), Some(&"k".repeat(256))).is_err());
    }
}
