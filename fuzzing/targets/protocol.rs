//! What agents and their owners send: messages, queries, settings, drafts.

use notewell::{
    config::Config,
    domain::{
        Timestamp,
        card::{Card, View},
        prompt::{Draft, Patch, Prompt},
        property::PropertyFilter,
    },
    search,
    serve::mcp::{
        message::{self, Incoming},
        stdio::framing::{self, Framing},
    },
};
use serde_json::Value;

use super::{parts, text};

/// The longest message that is taken here.
const MAX_MESSAGE: usize = 256;

/// Bytes of a pipe are messages in one of two framings, or a reason.
pub fn frames(data: &[u8]) {
    let mut frames = Vec::new();
    framing::read(data, MAX_MESSAGE, |frame| {
        frames.push(frame);
        true
    });
    assert!(frames.len() <= data.len());
    for frame in frames {
        let Ok(bytes) = frame.bytes else { continue };
        assert!(bytes.len() <= MAX_MESSAGE + 1);
        let messages = match message::parse(&bytes, 4) {
            Ok(Incoming::One(message)) => vec![message],
            Ok(Incoming::Batch(messages)) => messages,
            Err(error) => {
                assert!(!error.message.is_empty());
                continue;
            }
        };
        assert!(messages.len() <= 4);
        for value in messages {
            let text = value.to_string();
            for framing in [Framing::Line, Framing::ContentLength] {
                let mut written = Vec::new();
                framing::write(&mut written, &text, framing).expect("memory takes it");
                let mut back = Vec::new();
                framing::read(&written[..], 1 << 20, |frame| {
                    back.push(frame.bytes.expect("it is short"));
                    true
                });
                assert_eq!(back.len(), 1, "{text}");
                assert_eq!(back[0].trim_ascii_end(), text.as_bytes());
            }
            if let Err(answer) = message::decode(value) {
                assert_eq!(answer["jsonrpc"], "2.0");
                assert!(answer["error"]["code"].is_i64(), "{answer}");
            }
        }
    }
}

/// A query is taken apart, or refused with a sentence.
pub fn query(data: &[u8]) {
    let [one, other] = parts(data);
    let (one, other) = (text(one), text(other));
    let first = search::parse(&one);
    match &first {
        Ok(query) => {
            query.is_listing();
            query.quotes_a_sentence();
            let without = query.clone().without_phrases();
            assert!(without.phrases.is_empty());
            assert_eq!(search::parse(&one).expect("the same again"), *query);
        }
        Err(error) => assert!(!error.message.is_empty()),
    }
    if let (Ok(first), Ok(second)) = (first, search::parse(&other)) {
        let _ = search::combine(&first.filters, &second.filters);
    }
    let _ = search::end_of(&one);
}

/// A config file is read, or refused with the place of its fault.
pub fn config(data: &[u8]) {
    match Config::parse(&text(data)) {
        Ok(config) => {
            config.exposure();
            config.public_url();
            config.cards_database();
            config.prompts_directory();
        }
        Err(error) => assert!(!error.is_empty()),
    }
}

/// Cards and prompts of a caller's JSON keep to their rules.
pub fn rules(data: &[u8]) {
    let Ok(value) = serde_json::from_slice::<Value>(data) else { return };
    let now = Timestamp(1_700_000_000_000);
    if let Ok(card) = Card::from_json(&value) {
        let json = card.to_json(View::Whole);
        let again = Card::from_json(&json).expect("what was written");
        assert_eq!(again.to_json(View::Whole), json);
        card.name();
        card.is_due(now);
        card.items().count();
    }
    let _ = PropertyFilter::from_json("name", &value);
    if let Value::Object(map) = &value
        && let Ok(mut prompt) = Prompt::read(map.clone())
    {
        let again = Prompt::read(prompt.to_map()).expect("what was written");
        assert_eq!(again.to_map(), prompt.to_map());
        if let Ok(patch) = Patch::parse(value.clone()) {
            patch.is_empty();
            let _ = patch.apply(&mut prompt, now);
        }
    }
    if let Ok(draft) = Draft::parse(value)
        && let Ok(prompt) = draft.into_prompt(now)
    {
        prompt.check().expect("a prompt that was made is valid");
    }
}
