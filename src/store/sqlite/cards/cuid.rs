//! Ids in the form Prisma gives them: `c`, then time, counter, machine and chance in base 36.

use std::sync::{
    OnceLock,
    atomic::{AtomicU32, Ordering},
};

use crate::domain::{Error, Result, Timestamp};

const BLOCK: u64 = 36 * 36 * 36 * 36;
static COUNTER: AtomicU32 = AtomicU32::new(0);

/// A new id. Two processes cannot make the same one: 40 bits of it are chance, drawn each time.
pub fn new_id() -> Result<String> {
    static FINGERPRINT: OnceLock<u64> = OnceLock::new();
    let fingerprint = match FINGERPRINT.get() {
        Some(value) => *value,
        None => *FINGERPRINT.get_or_init({
            let value = chance()?;
            move || value
        }),
    };
    let count = u64::from(COUNTER.fetch_add(1, Ordering::Relaxed));
    let time = u64::try_from(Timestamp::now().0).unwrap_or(0);
    Ok(format!(
        "c{}{}{}{}",
        base36(time, 8),
        base36(count % BLOCK, 4),
        base36(fingerprint % BLOCK, 4),
        base36(chance()? % (BLOCK * BLOCK), 8)
    ))
}

/// An id that the same source always gets, for cards that come without one.
pub fn id_of(source: &[&str]) -> String {
    use sha2::{Digest, Sha256};
    let mut hash = Sha256::new();
    for part in source {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part.as_bytes());
    }
    let hash = hash.finalize();
    let word = |n: usize| {
        hash[n * 8..n * 8 + 8].iter().fold(0_u64, |word, byte| word << 8 | u64::from(*byte))
    };
    let part = BLOCK * BLOCK;
    format!(
        "c{}{}{}",
        base36(word(0) % part, 8),
        base36(word(1) % part, 8),
        base36(word(2) % part, 8)
    )
}

fn chance() -> Result<u64> {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes)
        .map_err(|error| Error::internal(format!("could not draw a random number: {error}")))?;
    Ok(u64::from_le_bytes(bytes))
}

fn base36(mut value: u64, width: usize) -> String {
    let mut digits = vec![b'0'; width];
    for digit in digits.iter_mut().rev() {
        *digit = b"0123456789abcdefghijklmnopqrstuvwxyz"[(value % 36) as usize];
        value /= 36;
    }
    digits.into_iter().map(char::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_have_the_form_and_differ() {
        let ids: std::collections::HashSet<String> =
            (0..10_000).map(|_| new_id().unwrap()).collect();
        assert_eq!(ids.len(), 10_000);
        let form = |id: &str| {
            id.len() == 25
                && id.starts_with('c')
                && id.bytes().all(|b| b.is_ascii_digit() || b.is_ascii_lowercase())
        };
        assert!(ids.iter().all(|id| form(id)));
        assert!(form(&id_of(&["a", "b"])));
        assert_eq!(id_of(&["a", "b"]), id_of(&["a", "b"]));
        assert_ne!(id_of(&["a", "b"]), id_of(&["ab", ""]));
    }
}
