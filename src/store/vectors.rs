//! Vectors of passages that all processes of a library share: each is computed once.

use crate::domain::Result;

/// The SHA-256 of what was embedded.
pub type TextHash = [u8; 32];

/// Vectors by model and by the hash of what was embedded.
pub trait Vectors: Send + Sync {
    /// Those of these hashes that there are, in any order.
    fn get_many(&self, model: &str, hashes: &[TextHash]) -> Result<Vec<(TextHash, Vec<u8>)>>;

    /// Claims hashes for this process: those returned are for it to compute. The others are there
    /// by now, or another process computes them.
    fn claim(&self, model: &str, hashes: &[TextHash]) -> Result<Vec<TextHash>>;

    /// Keeps vectors, and ends the claims on them.
    fn put(&self, model: &str, vectors: &[(TextHash, Vec<u8>)]) -> Result<()>;

    /// Gives claims back: another process computes them.
    fn release(&self, model: &str, hashes: &[TextHash]) -> Result<()>;
}
