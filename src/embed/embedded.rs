//! The model that is part of the binary, as an [`Embedder`].

pub use notewell_model::{Embedded, pieces};

use super::{Embedder, Role};
use crate::domain::{Result, error::Doing};

impl Embedder for Embedded {
    fn id(&self) -> &str {
        notewell_model::ID
    }

    fn dims(&self) -> usize {
        notewell_model::DIMS
    }

    fn embed(&self, texts: &[&str], role: Role) -> Result<Vec<Vec<f32>>> {
        self.encode(texts, role).doing("use the embedded model")
    }

    fn covered(&self, text: &str) -> f32 {
        notewell_model::covered(text)
    }

    fn knows(&self, text: &str) -> bool {
        !notewell_model::is_spelled(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embed::suite;

    #[test]
    fn keeps_the_promises_of_an_embedder() {
        suite::check(&Embedded::new());
    }
}
