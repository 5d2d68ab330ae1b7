//! The sentence encoder that is part of the binary. It is tested in English, Russian and Japanese;
//! other languages of Latin, Cyrillic and Han script work, with less evidence. `models/README.md`
//! names its origin.
//!
//! Nothing is read before the first use. The first use packs the linear layers (about 11 MB); the
//! embedding table and the vocabulary stay in the binary, and only the pages that are touched come
//! into memory.

mod encoder;
mod kernel;
mod math;
mod tokenizer;
mod vocabulary;
mod weights;

use std::sync::LazyLock;

pub use encoder::DIMS;
use encoder::{Buffers, Encoder, LIMIT};
use kernel::Kernel;
use tokenizer::Tokenizer;
use vocabulary::Vocabulary;
use weights::Tensors;

/// What a text is to the search. The model encodes questions and stored passages differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// A question.
    Query,
    /// A stored passage.
    Passage,
}

/// The embedded weights or vocabulary do not parse: the binary is damaged.
#[derive(Debug, Clone)]
pub struct Damaged(String);

impl std::fmt::Display for Damaged {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Damaged {}

/// The result of everything that reads the embedded files.
pub type Result<T> = std::result::Result<T, Damaged>;

static WEIGHTS: &[u8] = include_bytes!("../../../models/model.safetensors");
static VOCABULARY: &[u8] = include_bytes!("../../../models/vocabulary.bin");

/// The name, the version, and the beginning of the SHA-256 of the two files; a test compares.
pub const ID: &str = "notewell-embed-1-3fceee1f7e60";

const QUERY: &str = "query: ";
const PASSAGE: &str = "passage: ";

/// Tokens that go through the encoder together: enough to keep it busy, few enough that its
/// memory (about 10 KB a token) stays small however large the batch is.
const TOGETHER: usize = LIMIT;

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
    MODEL.as_ref().map_err(Clone::clone)
}

/// The share of the text's characters, spaces aside, that the model has words for, 0 to 1. Scripts
/// outside Latin, Cyrillic, Han and kana are not among them: such texts are found by words only.
pub fn covered(text: &str) -> f32 {
    Vocabulary::parse(VOCABULARY).map_or(0.0, |known| Tokenizer::new(known).covered(text))
}

/// Whether the vocabulary has no piece of `text` longer than a letter, as of `zzzzqqq`. The vector of
/// such a text says nothing. Han characters are words of their own, so a text with one is never
/// spelled, and neither is one of fewer than four letters.
pub fn is_spelled(text: &str) -> bool {
    const SHORTEST: usize = 4;
    /// The start, the end and the mark of the first word.
    const BESIDE_LETTERS: usize = 3;
    let letters = text.chars().filter(|c| !c.is_whitespace()).count();
    let han = |c: char| matches!(u32::from(c), 0x3400..=0x9FFF | 0x2_0000..=0x3_FFFF);
    if !(SHORTEST..=LIMIT).contains(&letters) || text.chars().any(han) {
        return false;
    }
    let Ok(vocabulary) = Vocabulary::parse(VOCABULARY) else { return false };
    let pieces = Tokenizer::new(vocabulary).encode("", text, LIMIT).len();
    pieces + 1 >= letters + BESIDE_LETTERS
}

/// What the model knows texts as, the likeliest first: most are words, behind a `▁` where a space
/// stands before them.
pub fn pieces() -> Vec<String> {
    let Ok(vocabulary) = Vocabulary::parse(VOCABULARY) else { return Vec::new() };
    let mut found = Vec::new();
    vocabulary.each(|bytes, piece| {
        if let Ok(text) = str::from_utf8(bytes) {
            found.push((vocabulary.score(piece), text.to_owned()));
        }
    });
    found.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    found.into_iter().map(|(_, text)| text).collect()
}

impl Embedded {
    /// The model with the fastest kernel of this processor.
    pub fn new() -> Self {
        Self { kernel: None }
    }

    /// With a named instruction set, for comparing them; `None` where the processor lacks it.
    pub fn with_instructions(name: &str) -> Option<Self> {
        let kernel = Kernel::available().into_iter().find(|kernel| kernel.name() == name)?;
        Some(Self { kernel: Some(kernel) })
    }

    /// How many tokens the encoder sees of a passage: what its cost and its limit of 512 count.
    pub fn tokens(&self, text: &str) -> usize {
        model().map_or(0, |model| model.tokenizer.encode(PASSAGE, text, LIMIT).len())
    }

    /// One unit vector per text, in order. Adds the prefix that the model expects for `role`.
    pub fn encode(&self, texts: &[&str], role: Role) -> Result<Vec<Vec<f32>>> {
        let model = model()?;
        let kernel = self.kernel.unwrap_or(model.kernel);
        let prefix = match role {
            Role::Query => QUERY,
            Role::Passage => PASSAGE,
        };
        let mut vectors = Vec::with_capacity(texts.len());
        let mut sequences = Vec::new();
        let mut buffers = Buffers::default();
        let mut encode = |sequences: &mut Vec<Vec<u32>>| {
            let encoded = model.encoder.encode(kernel, sequences, &mut buffers);
            vectors.extend(encoded.chunks_exact(DIMS).map(<[f32]>::to_vec));
            sequences.clear();
        };
        let mut tokens = 0;
        for text in texts {
            let ids = model.tokenizer.encode(prefix, text, LIMIT);
            if tokens + ids.len() > TOGETHER {
                encode(&mut sequences);
                tokens = 0;
            }
            tokens += ids.len();
            sequences.push(ids);
        }
        encode(&mut sequences);
        vectors.iter_mut().for_each(|vector| normalise(vector));
        Ok(vectors)
    }

    /// The instruction set in use: `amx`, `avx512vnni`, `avx2`,
    /// `neon-dotprod`, `neon` or `portable`.
    pub fn instructions(&self) -> &'static str {
        self.kernel.unwrap_or_else(Kernel::best).name()
    }
}

/// Scales a vector to length 1. A vector of zeros stays as it is.
pub fn normalise(vector: &mut [f32]) {
    let length = vector.iter().map(|x| f64::from(*x) * f64::from(*x)).sum::<f64>().sqrt();
    if length > 0.0 {
        let scale = (1.0 / length) as f32;
        for x in vector {
            *x *= scale;
        }
    }
}

impl Default for Embedded {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;
    use sha2::{Digest, Sha256};

    use super::*;

    fn cosine(a: &[f32], b: &[f32]) -> f64 {
        let dot = |a: &[f32], b: &[f32]| -> f64 {
            a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
        };
        dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
    }

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
                let cosine = cosine(&embedder.encode(&[text], role).unwrap()[0], &vector);
                assert!(cosine > 0.9995, "{}: {cosine} for {text:.60}", kernel.name());
            }
        }
    }

    #[test]
    fn a_batch_is_what_its_texts_are_one_by_one() {
        let short = ["x", "Кошки спят до шестнадцати часов в сутки.", "東京駅は1914年に開業した。"];
        let long = "The quick brown fox jumps over the lazy dog. ".repeat(20);
        let mut texts = short.to_vec();
        texts.extend([long.as_str(); 4]);
        texts.extend(short);
        let embedder = Embedded::new();
        let batch = embedder.encode(&texts, Role::Passage).unwrap();
        for (text, vector) in texts.iter().zip(batch) {
            let alone = &embedder.encode(&[text], Role::Passage).unwrap()[0];
            assert!(cosine(alone, &vector) > 0.9999, "{text:.40}");
        }
    }

    #[test]
    fn a_long_text_is_read_up_to_the_limit() {
        let words = "word ".repeat(600);
        let embedder = Embedded::new();
        assert_eq!(embedder.tokens(&words), LIMIT);
        let other = format!("{words} and something else entirely");
        let vectors = embedder.encode(&[&words, &other], Role::Passage).unwrap();
        assert!(cosine(&vectors[0], &vectors[1]) > 0.999_999);
        let first = format!("something else entirely and {words}");
        let vectors = embedder.encode(&[&words, &first], Role::Passage).unwrap();
        assert!(cosine(&vectors[0], &vectors[1]) < 0.999);
    }

    #[test]
    fn meaning_is_near_across_languages_and_roles() {
        let embedder = Embedded::new();
        let questions = ["how long do cats sleep", "сколько спят кошки", "猫は何時間眠りますか"];
        let passages = [
            "Cats sleep up to sixteen hours a day.",
            "Кошки спят до шестнадцати часов в сутки.",
            "猫は一日に十六時間ほど眠ります。",
            "Tokyo Station opened in 1914.",
            "Токийский вокзал открылся в 1914 году.",
            "東京駅は1914年に開業した。",
        ];
        let passages = embedder.encode(&passages, Role::Passage).unwrap();
        for question in embedder.encode(&questions, Role::Query).unwrap() {
            let score = |i: usize| cosine(&question, &passages[i]);
            let worst = (0..3).map(score).fold(1.0, f64::min);
            let best = (3..6).map(score).fold(-1.0, f64::max);
            assert!(worst > best + 0.1, "{worst} {best}");
        }
    }

    #[test]
    fn coverage_tells_known_scripts_from_unknown() {
        for known in ["Hello, world", "Привет, мир", "こんにちは、世界。カタカナ", "", "  "]
        {
            assert!(covered(known) > 0.99, "{known}: {}", covered(known));
        }
        for unknown in ["안녕하세요 세계", "สวัสดีชาวโลก", "नमस्ते दुनिया"]
        {
            assert!(covered(unknown) < 0.5, "{unknown}: {}", covered(unknown));
        }
        let mixed = covered("Hello 안녕하세요");
        assert!((0.3..0.8).contains(&mixed), "{mixed}");
        // Still a vector, though it says little.
        let vectors = Embedded::new().encode(&["안녕하세요 세계"], Role::Passage).unwrap();
        assert!(vectors[0].iter().all(|x| x.is_finite()));
    }

    #[test]
    fn letters_that_mean_nothing_are_spelled() {
        for text in ["щщщъъъы", "ъъъъъ", "ヌヌヂヂヅ", "ぬぬぢぢづ"] {
            assert!(is_spelled(text), "{text}");
        }
        for text in ["coffee", "cappuccino", "кофе", "литератор", "コーヒー", "量子力学", "C++", ""]
        {
            assert!(!is_spelled(text), "{text}");
        }
    }

    #[test]
    fn the_id_changes_with_the_model() {
        let mut hash = Sha256::new();
        hash.update(WEIGHTS);
        hash.update(VOCABULARY);
        let hash: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        assert!(ID.ends_with(&hash[..12]), "the files changed: end ID with `{}`", &hash[..12]);
    }
}
