//! OpenAI's chat completions, as Ollama, llama.cpp, vLLM and LM Studio speak them too.

use serde_json::{Value, json};

use super::{Completion, Request, hosted::Protocol};
use crate::config::Llm;

pub(super) struct Chat;

impl Protocol for Chat {
    const NAME: &'static str = "openai";
    const HOME: &'static str = "https://api.openai.com/v1";

    fn endpoint(base: &str) -> String {
        format!("{}/chat/completions", base.trim_end_matches("/chat/completions"))
    }

    fn headers(key: Option<&str>) -> Vec<(&'static str, String)> {
        key.map(|key| ("authorization", format!("Bearer {key}"))).into_iter().collect()
    }

    fn body(config: &Llm, endpoint: &str, request: &Request) -> Value {
        // The newer models of OpenAI itself refuse the name that every other server knows.
        let limit = match endpoint.starts_with(Self::HOME) {
            true => "max_completion_tokens",
            false => "max_tokens",
        };
        let mut body = json!({
            "model": config.model,
            "messages": [
                { "role": "system", "content": request.system },
                { "role": "user", "content": request.user },
            ],
        });
        body[limit] = config.max_tokens.into();
        body
    }

    fn read(answer: &Value) -> Option<Completion> {
        let choice = answer["choices"].get(0)?;
        Some(Completion {
            text: choice["message"]["content"].as_str()?.to_owned(),
            cut: choice["finish_reason"] == "length",
            input_tokens: answer["usage"]["prompt_tokens"].as_u64().unwrap_or(0),
            output_tokens: answer["usage"]["completion_tokens"].as_u64().unwrap_or(0),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_form_of_the_base_address_leads_to_completions() {
        for base in ["http://h/v1", "http://h/v1/chat/completions"] {
            assert_eq!(Chat::endpoint(base), "http://h/v1/chat/completions", "{base}");
        }
    }

    #[test]
    fn an_answer_without_a_message_is_none() {
        let answer = json!({
            "choices": [{ "message": { "content": "a" }, "finish_reason": "length" }],
            "usage": { "prompt_tokens": 3, "completion_tokens": 5 },
        });
        let expected =
            Completion { text: "a".into(), cut: true, input_tokens: 3, output_tokens: 5 };
        assert_eq!(Chat::read(&answer), Some(expected));
        for answer in [json!({}), json!([]), json!({ "choices": [] }), json!({ "choices": [{}] })] {
            assert_eq!(Chat::read(&answer), None, "{answer}");
        }
    }
}
