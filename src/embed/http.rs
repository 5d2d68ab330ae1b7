//! Vectors from any server that speaks the OpenAI embeddings protocol (`POST {url}/embeddings`):
//! a hosted one, or a local Ollama, llama.cpp or text-embeddings-inference.
//!
//! The texts are sent as they are: such servers add what their model wants. Vectors of another
//! length than configured are an error, never cut or filled up.

use std::time::Duration;

use serde::Deserialize;
use serde_json::json;
use unicode_normalization::UnicodeNormalization;

use super::{Embedder, Role, normalise};
use crate::domain::{Error, Result};
use crate::post::{Endpoint, Tries};

/// Texts of one request; servers refuse larger ones.
const BATCH: usize = 64;
/// The most of one text that is sent, in bytes: no such model reads further.
const MAX_TEXT_BYTES: usize = 32 * 1024;
/// The longest answer that is read: 64 vectors of 8,192 numbers with room to spare.
const ANSWER: u64 = 32 * 1024 * 1024;

/// Where the vectors come from.
#[derive(Clone)]
pub struct Provider {
    /// The base address, such as `http://127.0.0.1:11434/v1`.
    pub url: String,
    /// The name of the model.
    pub model: String,
    /// The length of the model's vectors.
    pub dims: usize,
    /// Sent as a bearer token.
    pub key: Option<String>,
    /// The time limit of one request.
    pub timeout: Duration,
}

/// Embeds through an OpenAI-compatible server.
pub struct Http {
    provider: Provider,
    id: String,
    endpoint: Endpoint,
}

/// How long to go on trying: somebody waits for a question, nobody for a passage.
fn patience(role: Role) -> (u32, Duration) {
    match role {
        Role::Query => (2, Duration::from_secs(1)),
        Role::Passage => (5, Duration::from_secs(30)),
    }
}

#[derive(Deserialize)]
struct Answer {
    data: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    index: Option<usize>,
    embedding: Vec<f32>,
}

impl Http {
    /// Checks the settings; connects on first use.
    pub fn new(provider: Provider) -> Result<Self> {
        let Provider { url, model, dims, .. } = &provider;
        if model.is_empty() || *dims == 0 {
            return Err(Error::invalid_params(
                "`[embed] provider = \"http\"` needs `model` and `dims`, the length of its vectors",
            ));
        }
        let base = url.trim_end_matches('/').trim_end_matches("/embeddings");
        let mut endpoint = Endpoint::new(format!("{base}/embeddings"), "embed");
        endpoint.longest_answer = ANSWER;
        endpoint.key.clone_from(&provider.key);
        if let Some(key) = &provider.key {
            endpoint.headers.push(("authorization", format!("Bearer {key}")));
        }
        Ok(Self { id: format!("http-{model}-{dims}"), endpoint, provider })
    }

    fn request(&self, texts: &[String], role: Role) -> Result<Vec<Vec<f32>>> {
        let (most, longest_pause) = patience(role);
        let tries = Tries { most, longest_pause, each: self.provider.timeout, all: None };
        let body = json!({
            "model": self.provider.model,
            "input": texts,
            "encoding_format": "float",
        });
        let (answer, _) = self.endpoint.post(&body, &tries);
        self.read(&answer?, texts.len())
    }

    fn read(&self, body: &str, count: usize) -> Result<Vec<Vec<f32>>> {
        let Provider { model, dims, .. } = &self.provider;
        let endpoint = &self.endpoint.url;
        let mut answer: Answer = serde_json::from_str(body).map_err(|error| {
            outside(format!("`{endpoint}` did not answer with embeddings: {error}"), error)
        })?;
        if answer.data.iter().all(|entry| entry.index.is_some()) {
            answer.data.sort_by_key(|entry| entry.index);
        }
        if answer.data.len() != count {
            return Err(Error::outside(format!(
                "`{endpoint}` answered with {} vectors for {count} texts",
                answer.data.len()
            )));
        }
        let mut vectors = Vec::with_capacity(count);
        for Entry { embedding: mut vector, .. } in answer.data {
            if vector.len() != *dims {
                return Err(Error::outside(format!(
                    "`{model}` gives vectors of length {}, not {dims}: set `dims` in `[embed]`",
                    vector.len()
                )));
            }
            if vector.iter().any(|x| !x.is_finite()) {
                return Err(Error::outside(format!("`{model}` gave a vector that is not finite")));
            }
            normalise(&mut vector);
            vectors.push(vector);
        }
        Ok(vectors)
    }
}

fn outside(message: String, cause: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::outside(message).with_source(cause)
}

/// The text as it is sent: composed, not longer than any model reads, and never empty, which some
/// servers refuse.
fn prepare(text: &str) -> String {
    let end = (0..=MAX_TEXT_BYTES.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    let text: String = text[..end.unwrap_or(0)].nfc().collect();
    if text.is_empty() { " ".to_owned() } else { text }
}

impl Embedder for Http {
    fn id(&self) -> &str {
        &self.id
    }

    fn dims(&self) -> usize {
        self.provider.dims
    }

    fn embed(&self, texts: &[&str], role: Role) -> Result<Vec<Vec<f32>>> {
        let mut vectors = Vec::with_capacity(texts.len());
        for batch in texts.chunks(BATCH) {
            let batch: Vec<String> = batch.iter().map(|text| prepare(text)).collect();
            vectors.extend(self.request(&batch, role)?);
        }
        Ok(vectors)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::sync::mpsc::{Receiver, channel};
    use std::thread::spawn;

    use serde_json::Value;

    use super::*;
    use crate::domain::Code;
    use crate::embed::suite;

    /// A request as the server saw it: its head in lower case, and its body.
    type Seen = (String, Value);

    /// Makes an answer from a request.
    type Body = fn(&Value) -> String;

    fn receive(stream: &TcpStream) -> Option<Seen> {
        let mut reader = BufReader::new(stream);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if reader.read_line(&mut head).ok()? == 0 {
                return None;
            }
        }
        let head = head.to_lowercase();
        let length = head.split("content-length: ").nth(1)?.split("\r\n").next()?.parse().ok()?;
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        Some((head, serde_json::from_slice(&body).ok()?))
    }

    /// Answers each request with the next of `answers`: a head line with headers, and a body made
    /// from the request. The last one is repeated.
    fn server(answers: Vec<(&'static str, Body)>) -> (String, Receiver<Seen>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/v1/", listener.local_addr().unwrap());
        let (sender, seen) = channel();
        spawn(move || {
            for (at, stream) in listener.incoming().enumerate() {
                let mut stream = stream.unwrap();
                let Some((head, body)) = receive(&stream) else { continue };
                let (status, answer) = answers[at.min(answers.len() - 1)];
                let answer = answer(&body);
                let _ = sender.send((head, body));
                let _ = write!(
                    stream,
                    "HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{answer}",
                    answer.len()
                );
            }
        });
        (url, seen)
    }

    /// Vectors of length 3 that depend on the text, listed backwards.
    fn vectors(request: &Value) -> String {
        let texts = request["input"].as_array().unwrap();
        let entry = |(index, text): (usize, &Value)| {
            let text = text.as_str().unwrap();
            let sum: u32 = text.chars().map(u32::from).fold(0, u32::wrapping_add);
            json!({ "index": index, "embedding": [text.len() + 1, sum % 1009, 7] })
        };
        let data: Vec<Value> = texts.iter().enumerate().map(entry).rev().collect();
        json!({ "object": "list", "data": data }).to_string()
    }

    fn refuse(_: &Value) -> String {
        r#"{"error": {"message": "not now"}}"#.to_owned()
    }

    fn client(url: &str) -> Http {
        let mut http = Http::new(Provider {
            url: url.to_owned(),
            model: "tiny".into(),
            dims: 3,
            key: Some("secret".into()),
            timeout: Duration::from_secs(5),
        })
        .unwrap();
        http.endpoint.pause = Duration::from_millis(1);
        http
    }

    #[test]
    fn keeps_the_promises_of_an_embedder() {
        let (url, _seen) = server(vec![("200 OK", vectors)]);
        suite::check(&client(&url));
    }

    #[test]
    fn sends_model_key_and_texts() {
        let (url, seen) = server(vec![("200 OK", vectors)]);
        let http = client(&url);
        let vectors = http.embed(&["ab", ""], Role::Passage).unwrap();
        let sum = (9.0_f32 + 195.0 * 195.0 + 49.0).sqrt();
        assert!((vectors[0][1] - 195.0 / sum).abs() < 1e-6, "{vectors:?}");
        let (head, body) = seen.recv().unwrap();
        assert!(head.starts_with("post /v1/embeddings http/1.1"), "{head}");
        assert!(head.contains("authorization: bearer secret"), "{head}");
        assert_eq!(body["model"], "tiny");
        assert_eq!(body["input"], json!(["ab", " "]));
        assert_eq!(http.id(), "http-tiny-3");
    }

    #[test]
    fn tries_again_when_the_server_is_busy_or_broken() {
        let (url, seen) = server(vec![
            ("429 Too Many Requests\r\nretry-after: 0", refuse),
            ("503 Service Unavailable", refuse),
            ("200 OK", vectors),
        ]);
        assert_eq!(client(&url).embed(&["x"], Role::Passage).unwrap().len(), 1);
        assert_eq!(seen.try_iter().count(), 3);
    }

    #[test]
    fn a_question_does_not_wait_for_long() {
        let (url, seen) = server(vec![("500 Internal Server Error", refuse)]);
        let error = client(&url).embed(&["x"], Role::Query).unwrap_err();
        assert_eq!(error.code, Code::Outside);
        assert!(error.message.contains("500") && error.message.contains("not now"), "{error}");
        assert_eq!(seen.try_iter().count(), 2);
    }

    #[test]
    fn a_refusal_is_final_and_clear() {
        let (url, seen) = server(vec![("401 Unauthorized", refuse)]);
        let error = client(&url).embed(&["x"], Role::Passage).unwrap_err();
        assert_eq!(error.code, Code::Outside);
        assert!(error.message.contains("401") && !error.message.contains("secret"), "{error}");
        assert_eq!(seen.try_iter().count(), 1);
    }

    #[test]
    fn answers_that_do_not_fit_are_errors() {
        let cases: [(Body, &str); 4] = [
            (|_| "<html>".into(), "did not answer with embeddings"),
            (|_| r#"{"data": []}"#.into(), "0 vectors for 1 texts"),
            (|_| r#"{"data": [{"embedding": [1, 2]}]}"#.into(), "length 2, not 3"),
            (|_| r#"{"data": [{"embedding": [1e39, 2, 3]}]}"#.into(), "not finite"),
        ];
        for (answer, message) in cases {
            let (url, _seen) = server(vec![("200 OK", answer)]);
            let error = client(&url).embed(&["x"], Role::Passage).unwrap_err();
            assert_eq!(error.code, Code::Outside);
            assert!(error.message.contains(message), "{error}");
        }
    }

    #[test]
    fn silence_ends_at_the_time_limit() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut http = client(&format!("http://{}", listener.local_addr().unwrap()));
        http.provider.timeout = Duration::from_millis(50);
        let error = http.embed(&["x"], Role::Query).unwrap_err();
        assert_eq!(error.code, Code::Outside);
        assert!(error.message.contains("did not answer within"), "{error}");
    }

    #[test]
    fn nobody_there_is_told_with_the_address() {
        let url = {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            format!("http://{}", listener.local_addr().unwrap())
        };
        let error = client(&url).embed(&["x"], Role::Query).unwrap_err();
        assert_eq!(error.code, Code::Outside);
        assert!(error.message.contains(&url), "{error}");
    }

    #[test]
    fn large_batches_go_in_parts() {
        let (url, seen) = server(vec![("200 OK", vectors)]);
        let texts: Vec<String> = (0..BATCH + 1).map(|i| "x".repeat(i)).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        assert_eq!(client(&url).embed(&texts, Role::Passage).unwrap().len(), BATCH + 1);
        assert_eq!(seen.try_iter().count(), 2);
    }

    #[test]
    fn model_and_length_are_needed() {
        let provider = client("http://127.0.0.1:1").provider;
        assert!(Http::new(Provider { dims: 0, ..provider.clone() }).is_err());
        assert!(Http::new(Provider { model: String::new(), ..provider }).is_err());
    }
}
