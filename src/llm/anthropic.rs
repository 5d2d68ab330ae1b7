//! Anthropic's Messages API.

use serde_json::{Value, json};

use super::{Completion, Request, hosted::Protocol};
use crate::config::Llm;

const VERSION: &str = "2023-06-01";

pub(super) struct Messages;

impl Protocol for Messages {
    const NAME: &'static str = "anthropic";
    const HOME: &'static str = "https://api.anthropic.com/v1";

    fn endpoint(base: &str) -> String {
        let base = base.trim_end_matches("/messages").trim_end_matches("/v1");
        format!("{base}/v1/messages")
    }

    fn headers(key: Option<&str>) -> Vec<(&'static str, String)> {
        let version = ("anthropic-version", VERSION.to_owned());
        key.map(|key| ("x-api-key", key.to_owned())).into_iter().chain([version]).collect()
    }

    fn body(config: &Llm, _endpoint: &str, request: &Request) -> Value {
        json!({
            "model": config.model,
            "max_tokens": config.max_tokens,
            "system": request.system,
            "messages": [{ "role": "user", "content": request.user }],
        })
    }

    fn read(answer: &Value) -> Option<Completion> {
        let blocks = answer["content"].as_array()?;
        let text: String = blocks
            .iter()
            .filter(|block| block["type"] == "text")
            .filter_map(|block| block["text"].as_str())
            .collect();
        Some(Completion {
            text,
            cut: answer["stop_reason"] == "max_tokens",
            input_tokens: answer["usage"]["input_tokens"].as_u64().unwrap_or(0),
            output_tokens: answer["usage"]["output_tokens"].as_u64().unwrap_or(0),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_form_of_the_base_address_leads_to_messages() {
        for base in ["http://h", "http://h/v1", "http://h/v1/messages"] {
            assert_eq!(Messages::endpoint(base), "http://h/v1/messages", "{base}");
        }
    }

    #[test]
    fn text_blocks_are_joined_and_others_passed_over() {
        let answer = json!({
            "content": [{ "type": "thinking", "thinking": "x" }, { "type": "text", "text": "a" },
                { "type": "text", "text": "b" }],
            "stop_reason": "max_tokens", "usage": { "input_tokens": 3, "output_tokens": 5 },
        });
        let expected =
            Completion { text: "ab".into(), cut: true, input_tokens: 3, output_tokens: 5 };
        assert_eq!(Messages::read(&answer), Some(expected));
        assert_eq!(Messages::read(&json!({ "error": "no" })), None);
    }
}
