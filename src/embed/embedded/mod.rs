//! The model that is part of the binary: English, Russian and Japanese, less tested the other
//! languages of Latin, Cyrillic and Han script. See `models/README.md` for where it comes from.
//!
//! Nothing of it is read before the first use, so a process that embeds nothing pays nothing. The
//! first use packs the linear layers (about 11 MB); the word table and the vocabulary stay where
//! they are in the binary and only the pages that are touched come into memory.

mod encoder;
mod kernel;
mod math;
mod tokenizer;
mod vocabulary;
mod weights;

use std::sync::LazyLock;

use encoder::{DIMS, Encoder, LIMIT};
use kernel::Kernel;
use tokenizer::Tokenizer;
use vocabulary::Vocabulary;
use weights::Tensors;

use super::{Embedder, Role, normalise};
use crate::domain::{Error, Result};

static WEIGHTS: &[u8] = include_bytes!("../../../models/model.safetensors");
static VOCABULARY: &[u8] = include_bytes!("../../../models/vocabulary.bin");

/// The name, the version, and the beginning of the SHA-256 of the two files; a test compares.
const ID: &str = "notewell-embed-1-3fceee1f7e60";

/// Tokens that go through the encoder together: enough to keep it busy, few enough that its
/// memory (about 10 KB a token) stays small however large the batch is.
const TOGETHER: usize = 1024;

/// The embedded model. Making one costs nothing.
#[derive(Clone, Copy)]
pub struct Embedded {
    kernel: Option<Kernel>,
}

/// What the first use makes, once for the process.
struct Model {
    tokenizer: Tokenizer,
    encoder: Encoder,
    kernel: Kernel,
}

static MODEL: LazyLock<Result<Model>> = LazyLock::new(|| {
    let vocabulary = Vocabulary::parse(VOCABULARY)?;
    let encoder = Encoder::load(&Tensors::parse(WEIGHTS)?, vocabulary.len())?;
    Ok(Model { tokenizer: Tokenizer::new(vocabulary), encoder, kernel: Kernel::best() })
});

fn model() -> Result<&'static Model> {
    MODEL.as_ref().map_err(|error| Error::new(error.code, error.message.clone()))
}

/// The share of the text's characters, spaces aside, that the model knows, 0 to 1. Scripts outside
/// Latin, Cyrillic, Han and kana are mostly unknown to it: such texts are found by words only.
pub fn covered(text: &str) -> f32 {
    Vocabulary::parse(VOCABULARY).map_or(0.0, |known| Tokenizer::new(known).covered(text))
}

impl Embedded {
    pub fn new() -> Self {
        Self { kernel: None }
    }

    /// The instruction set in use: `avx512vnni`, `avx2` or `portable`.
    pub fn instructions(&self) -> &'static str {
        self.kernel.unwrap_or_else(Kernel::best).name()
    }

    /// The tokens of a passage that the model reads, what it leaves out of a long one aside.
    pub fn tokens(&self, passage: &str) -> Result<usize> {
        Ok(model()?.tokenizer.encode("passage: ", passage, LIMIT).len())
    }
}

impl Default for Embedded {
    fn default() -> Self {
        Self::new()
    }
}

impl Embedder for Embedded {
    fn id(&self) -> &str {
        ID
    }

    fn dims(&self) -> usize {
        DIMS
    }

    fn embed(&self, texts: &[&str], role: Role) -> Result<Vec<Vec<f32>>> {
        let model = model()?;
        let kernel = self.kernel.unwrap_or(model.kernel);
        let prefix = match role {
            Role::Query => "query: ",
            Role::Passage => "passage: ",
        };
        let mut vectors = Vec::with_capacity(texts.len());
        let mut sequences = Vec::new();
        let mut tokens = 0;
        for (at, text) in texts.iter().enumerate() {
            let ids = model.tokenizer.encode(prefix, text, LIMIT);
            tokens += ids.len();
            sequences.push(ids);
            if tokens + LIMIT > TOGETHER || at + 1 == texts.len() {
                let encoded = model.encoder.encode(kernel, &sequences);
                vectors.extend(encoded.chunks_exact(DIMS).map(<[f32]>::to_vec));
                sequences.clear();
                tokens = 0;
            }
        }
        vectors.iter_mut().for_each(|vector| normalise(vector));
        Ok(vectors)
    }

    fn covered(&self, text: &str) -> f32 {
        covered(text)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::embed::suite::cosine;

    struct Reference {
        text: String,
        ids: Vec<u32>,
        tokens: usize,
        vector: Vec<f32>,
    }

    fn reference() -> Vec<Reference> {
        let file = include_str!("../../../models/reference.json");
        let all: Vec<Value> = serde_json::from_str(file).unwrap();
        all.iter()
            .map(|entry| Reference {
                text: entry["text"].as_str().unwrap().to_owned(),
                ids: serde_json::from_value(entry["ids"].clone()).unwrap(),
                tokens: serde_json::from_value(entry["tokens"].clone()).unwrap(),
                vector: serde_json::from_value(entry["vector"].clone()).unwrap(),
            })
            .collect()
    }

    fn split(text: &str) -> (Role, &str) {
        match text.strip_prefix("query: ") {
            Some(text) => (Role::Query, text),
            None => (Role::Passage, text.strip_prefix("passage: ").unwrap()),
        }
    }

    #[test]
    fn token_ids_equal_the_reference() {
        for Reference { text, ids, tokens, .. } in reference() {
            let ours = model().unwrap().tokenizer.encode("", &text, LIMIT);
            assert_eq!(ours.len(), tokens, "{text:.60}");
            assert_eq!(ours[..ids.len()], ids, "{text:.60}");
        }
    }

    #[test]
    fn every_kernel_agrees_with_the_reference() {
        for kernel in Kernel::available() {
            let embedder = Embedded { kernel: Some(kernel) };
            for Reference { text, tokens, vector, .. } in reference() {
                if kernel.name() == "portable" && tokens > 100 {
                    continue;
                }
                let (role, text) = split(&text);
                let ours = &embedder.embed(&[text], role).unwrap()[0];
                let cosine = cosine(ours, &vector);
                eprintln!("{} {cosine:.6} {text:.40}", kernel.name());
                assert!(cosine > 0.999, "{}: {cosine} for {text:.60}", kernel.name());
            }
        }
    }
}
