//! Text to vectors. One trait, [`Embedder`], and two who do it: [`embedded`], the model that is
//! part of the binary, and [`http`], any server that speaks the OpenAI embeddings protocol.
//!
//! This room keeps no queue, no cache and no threads: a call embeds one batch on the thread that
//! makes it. Who calls, at which priority and what is remembered is the index's business. It never
//! downloads anything; `provider = "none"` is simply no `Embedder`.

pub mod embedded;
pub mod http;

#[cfg(test)]
mod suite;

use crate::domain::Result;

/// What a text is to the search. A model may see questions and stored passages differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    Query,
    Passage,
}

/// Turns texts into vectors of length one, so that a dot product is a cosine.
pub trait Embedder: Send + Sync {
    /// Names the model and its version. Vectors with different ids must never be compared.
    fn id(&self) -> &str;

    /// The length of every vector.
    fn dims(&self) -> usize;

    /// One vector for each text, in order. Any prefix that the model wants is added here.
    fn embed(&self, texts: &[&str], role: Role) -> Result<Vec<Vec<f32>>>;

    /// The share of the text's characters that the model knows, 0 to 1. Where it is low, the text
    /// is found by its words only, and `status` has to say so. Full where nobody can tell.
    fn covered(&self, _text: &str) -> f32 {
        1.0
    }
}

/// Makes the vector one unit long. A vector of zeros stays as it is.
fn normalise(vector: &mut [f32]) {
    let length = vector.iter().map(|x| f64::from(*x) * f64::from(*x)).sum::<f64>().sqrt();
    if length > 0.0 {
        let scale = (1.0 / length) as f32;
        for x in vector {
            *x *= scale;
        }
    }
}
