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

pub use notewell_model::Role;
use notewell_model::normalise;

use crate::domain::Result;

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

    /// Whether the model knows any piece of the text longer than a letter. The vector of a text it
    /// can only spell says nothing, so a search then goes by words alone.
    fn knows(&self, _text: &str) -> bool {
        true
    }
}
