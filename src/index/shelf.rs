//! A source in memory, for the tests of this room and of the rooms that use it.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::{Embed, Source};
use crate::domain::{Chunk, Document, Kind, Pid, Result};

#[derive(Default)]
struct Inner {
    documents: BTreeMap<Pid, Document>,
    log: Vec<Pid>,
}

/// Items and the log of their changes.
#[derive(Default, Clone)]
pub(crate) struct Shelf(Arc<Mutex<Inner>>);

impl Shelf {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn put(&self, document: Document) {
        let mut inner = self.lock();
        inner.log.push(document.pid);
        inner.documents.insert(document.pid, document);
    }

    pub(crate) fn remove(&self, pid: i64) {
        let mut inner = self.lock();
        inner.log.push(Pid(pid));
        inner.documents.remove(&Pid(pid));
    }

    /// As if the library were restored from an older backup.
    pub(crate) fn forget_log(&self, keep: usize) {
        self.lock().log.truncate(keep);
    }

    pub(crate) fn source(&self) -> Arc<dyn Source> {
        Arc::new(self.clone())
    }
}

impl Source for Shelf {
    fn changes(&self, after: i64, limit: usize) -> Result<Vec<(i64, Pid)>> {
        let inner = self.lock();
        let log = (1i64..).zip(inner.log.iter().copied());
        Ok(log.filter(|(seq, _)| *seq > after).take(limit).collect())
    }

    fn head(&self) -> Result<i64> {
        Ok(self.lock().log.len() as i64)
    }

    fn document(&self, pid: Pid) -> Result<Option<Document>> {
        Ok(self.lock().documents.get(&pid).cloned())
    }

    fn library(&self) -> Result<i64> {
        Ok(7)
    }

    fn all(&self) -> Result<Vec<Pid>> {
        Ok(self.lock().documents.keys().copied().collect())
    }
}

/// A page whose passages are the given texts, under the headings `Part 0`, `Part 1`…
pub(crate) fn page(pid: i64, title: &str, texts: &[&str]) -> Document {
    let mut document = Document::new(Pid(pid), Kind::Page, title, format!("notes/{pid}.md"));
    for (ordinal, text) in (0u32..).zip(texts) {
        document.chunks.push(Chunk {
            ordinal,
            toc_path: vec![format!("Part {ordinal}")],
            text: (*text).to_owned(),
            range: 0..text.len(),
        });
    }
    document
}

pub(crate) const DIMS: usize = 64;

/// A model for tests: letters and their neighbours, so that like texts are near each other.
pub(crate) fn embed_one(text: &str) -> Vec<f32> {
    let mut vector = vec![0.0f32; DIMS];
    let letters: Vec<char> = text.to_lowercase().chars().filter(|c| c.is_alphanumeric()).collect();
    for pair in letters.windows(3) {
        let hash = pair.iter().fold(17u64, |hash, c| hash.wrapping_mul(31).wrapping_add(*c as u64));
        vector[(hash % DIMS as u64) as usize] += 1.0;
    }
    if letters.len() < 3 {
        vector[0] = 1.0;
    }
    vector
}

pub(crate) fn embed() -> Embed {
    Arc::new(|texts| Ok(texts.iter().map(|text| embed_one(text)).collect()))
}
