//! Proof keys (RFC 7636), by S256 alone.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use sha2::{Digest, Sha256};

/// Whether a text can be a challenge: 32 bytes in base64url.
pub fn is_challenge(text: &str) -> bool {
    text.len() == 43 && URL_SAFE_NO_PAD.decode(text).is_ok_and(|bytes| bytes.len() == 32)
}

/// Whether a verifier is the one that a challenge was made of.
pub fn proves(verifier: &str, challenge: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._~".contains(c);
    let is_verifier = (43..=128).contains(&verifier.len()) && verifier.chars().all(is_plain);
    // Both are hashes of secrets: how long a comparison takes tells nothing of use.
    is_verifier && URL_SAFE_NO_PAD.encode(Sha256::digest(verifier.as_bytes())) == challenge
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_the_standard() {
        let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
        let challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
        assert!(is_challenge(challenge) && proves(verifier, challenge));
        assert!(!proves(challenge, challenge), "plain is not taken");
        assert!(!proves(&verifier[..42], challenge));
        assert!(!is_challenge("") && !is_challenge(&"=".repeat(43)));
    }
}
