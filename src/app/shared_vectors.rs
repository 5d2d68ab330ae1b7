//! Vectors that all processes of a library share: one of them computes each, the others take it
//! from the store.

use std::{
    collections::HashMap,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use sha2::{Digest, Sha256};

use crate::{
    domain::{Error, Patience, Result},
    index::Embed,
    store::{
        postgres,
        vectors::{TextHash, Vectors},
    },
};

/// The pause before the store is asked again for what another process computes.
const AGAIN: Duration = Duration::from_millis(25);
/// How long another process is waited for before its share is computed here too.
const WAIT: Duration = Duration::from_secs(30);

/// Embeds with `embed` only what no other process has embedded. While the store is away everything
/// is computed here.
pub(super) fn sharing(embed: Embed, model: String, store: Arc<dyn Vectors>) -> Embed {
    Arc::new(move |texts: &[&str]| match share(&embed, &model, store.as_ref(), texts) {
        Err(error) if postgres::is_away(&error) => embed(texts),
        vectors => vectors,
    })
}

fn share(embed: &Embed, model: &str, store: &dyn Vectors, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
    let hashes: Vec<TextHash> =
        texts.iter().map(|text| Sha256::digest(text.as_bytes()).into()).collect();
    let by_hash: HashMap<TextHash, &str> =
        hashes.iter().copied().zip(texts.iter().copied()).collect();
    let mut made: HashMap<TextHash, Vec<f32>> = HashMap::new();
    let deadline = Instant::now() + WAIT;
    loop {
        let missing = |made: &HashMap<TextHash, Vec<f32>>| -> Vec<TextHash> {
            by_hash.keys().filter(|hash| !made.contains_key(*hash)).copied().collect()
        };
        for (hash, bytes) in store.get_many(model, &missing(&made))? {
            made.insert(hash, decode(&bytes)?);
        }
        let left = missing(&made);
        if left.is_empty() {
            break;
        }
        let late = Instant::now() >= deadline;
        let mine = if late { left } else { store.claim(model, &left)? };
        if mine.is_empty() {
            Patience::current().check()?;
            thread::sleep(AGAIN);
            continue;
        }
        let mine_texts: Vec<&str> =
            mine.iter().filter_map(|hash| by_hash.get(hash).copied()).collect();
        let vectors = embed(&mine_texts).inspect_err(|_| {
            // Best effort: a claim that stays is taken over after a while.
            drop(store.release(model, &mine));
        })?;
        let rows: Vec<(TextHash, Vec<u8>)> =
            mine.iter().copied().zip(vectors.iter().map(|vector| encode(vector))).collect();
        store.put(model, &rows)?;
        for (hash, bytes) in rows {
            // As the others read it, so that every process has the same vector.
            made.insert(hash, decode(&bytes)?);
        }
    }
    let vector = |hash| made.get(hash).cloned();
    hashes
        .iter()
        .map(|hash| vector(hash).ok_or_else(|| Error::internal("the embedder gave no vector")))
        .collect()
}

/// The scale, and one signed byte a value: as precise as the index keeps it.
fn encode(vector: &[f32]) -> Vec<u8> {
    let largest = vector.iter().fold(0f32, |largest, value| largest.max(value.abs()));
    let scale = if largest > 0.0 { largest / 127.0 } else { 1.0 };
    let mut bytes = Vec::with_capacity(4 + vector.len());
    bytes.extend(scale.to_le_bytes());
    bytes.extend(vector.iter().map(|value| ((value / scale).round() as i8) as u8));
    bytes
}

fn decode(bytes: &[u8]) -> Result<Vec<f32>> {
    let Some((scale, codes)) = bytes.split_first_chunk::<4>() else {
        return Err(Error::damaged(
            "a vector in the store is too short; `notewell index --rebuild` computes it again",
        ));
    };
    let scale = f32::from_le_bytes(*scale);
    Ok(codes.iter().map(|code| f32::from(*code as i8) * scale).collect())
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    };

    use super::*;

    /// Vectors that were put, and hashes that were claimed.
    type Contents = (HashMap<TextHash, Vec<u8>>, Vec<TextHash>);

    #[derive(Default)]
    struct Shelf(Mutex<Contents>);

    impl Vectors for Shelf {
        fn get_many(&self, _: &str, hashes: &[TextHash]) -> Result<Vec<(TextHash, Vec<u8>)>> {
            let shelf = self.0.lock().unwrap();
            Ok(hashes.iter().filter_map(|hash| Some((*hash, shelf.0.get(hash)?.clone()))).collect())
        }

        fn claim(&self, _: &str, hashes: &[TextHash]) -> Result<Vec<TextHash>> {
            let mut shelf = self.0.lock().unwrap();
            let free: Vec<TextHash> = hashes
                .iter()
                .filter(|hash| !shelf.1.contains(hash) && !shelf.0.contains_key(*hash))
                .copied()
                .collect();
            shelf.1.extend(&free);
            Ok(free)
        }

        fn put(&self, _: &str, vectors: &[(TextHash, Vec<u8>)]) -> Result<()> {
            let mut shelf = self.0.lock().unwrap();
            shelf.0.extend(vectors.iter().cloned());
            shelf.1.retain(|hash| !vectors.iter().any(|(done, _)| done == hash));
            Ok(())
        }

        fn release(&self, _: &str, hashes: &[TextHash]) -> Result<()> {
            self.0.lock().unwrap().1.retain(|hash| !hashes.contains(hash));
            Ok(())
        }
    }

    #[test]
    fn each_text_is_embedded_once_by_all() {
        let store: Arc<dyn Vectors> = Arc::new(Shelf::default());
        let computed = Arc::new(AtomicUsize::new(0));
        let counted = computed.clone();
        let embed: Embed = Arc::new(move |texts: &[&str]| {
            counted.fetch_add(texts.len(), Ordering::Relaxed);
            thread::sleep(Duration::from_millis(2));
            Ok(texts.iter().map(|text| vec![text.len() as f32, -1.5, 0.25]).collect())
        });
        let all: Vec<String> = (0..64).map(|number| format!("чай お茶 tea {number}")).collect();
        let run = || {
            let embed = sharing(embed.clone(), "m".into(), store.clone());
            let batches = all.chunks(16);
            let embedded = batches.flat_map(|batch| {
                let texts: Vec<&str> = batch.iter().map(String::as_str).collect();
                embed(&texts).unwrap()
            });
            embedded.collect::<Vec<_>>()
        };
        let (one, other) = thread::scope(|scope| {
            let other = scope.spawn(run);
            (run(), other.join().unwrap())
        });
        assert_eq!(one, other);
        assert_eq!(computed.load(Ordering::Relaxed), 64);
        assert_eq!(run(), one, "a third one downloads");
        assert_eq!(computed.load(Ordering::Relaxed), 64);
    }

    #[test]
    fn a_failed_batch_is_for_another_process() {
        let store: Arc<dyn Vectors> = Arc::new(Shelf::default());
        let failing: Embed = Arc::new(|_: &[&str]| Err(Error::outside("no model")));
        assert!(sharing(failing, "m".into(), store.clone())(&["a"]).is_err());
        let embed: Embed = Arc::new(|texts: &[&str]| Ok(vec![vec![1.0]; texts.len()]));
        let vectors = sharing(embed, "m".into(), store)(&["a", "a"]).unwrap();
        assert!((vectors[0][0] - 1.0).abs() < 0.01 && vectors[0] == vectors[1]);
    }

    #[test]
    fn a_vector_survives_its_encoding_and_a_second_one_changes_nothing() {
        let vector = [0.5f32, -0.125, 0.0, 0.499];
        let once = decode(&encode(&vector)).unwrap();
        for (value, kept) in vector.iter().zip(&once) {
            assert!((value - kept).abs() <= 0.5 / 127.0, "{value} {kept}");
        }
        assert_eq!(encode(&once)[4..], encode(&vector)[4..]);
        assert!(decode(&[1, 2]).is_err());
    }
}
