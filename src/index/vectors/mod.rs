//! Vectors of passages, kept under the hash of what was embedded: a passage that moves, or comes
//! back, finds its vector again. Rows know nothing of items; a row that no living passage asks for
//! is never shown, and goes when there are too many of them.

use std::{
    collections::HashMap,
    fs,
    hash::BuildHasherDefault,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

pub(super) use notewell_vectors::Keys;
use notewell_vectors::{
    Files, KeyHasher, QueryVector, Rows, encode,
    rows::{FILES, RECORD, RECORDS},
    scan,
};

use super::{
    directory::{boot_id, replace},
    generation::Stamp,
    lease::Lease,
    repair::{Cause, Repairs},
    seal::Seal,
};
use crate::domain::{Error, Result, error::Doing};

/// Fewer dead rows than this are left alone.
const MIN_DEAD_ROWS: usize = 1_000;

/// How many passages have their vector.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Progress {
    /// Passages with a vector.
    pub done: u64,
    /// Passages.
    pub total: u64,
}

impl Progress {
    /// Whether every passage has a vector.
    pub fn is_complete(&self) -> bool {
        self.done >= self.total
    }
}

/// The vectors of one model.
pub(super) struct Vectors {
    folder: PathBuf,
    dims: usize,
    mapped: Mutex<Mapped>,
}

struct Mapped {
    pointer: Stamp,
    set: String,
    rows: Arc<Rows>,
    places: Arc<Places>,
}

/// Where the row of a key is: made when it is first asked for, about 20 bytes a row.
#[derive(Default)]
struct Places(Mutex<(RowOf, usize)>);

type RowOf = HashMap<u64, u32, BuildHasherDefault<KeyHasher>>;

impl Places {
    /// The rows of `keys`, as far as `rows` has them.
    #[allow(clippy::cast_possible_truncation, reason = "a row number fits 32 bits")]
    fn find(&self, rows: &Rows, keys: impl Iterator<Item = u64>) -> Vec<(u64, u32)> {
        let mut places = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (map, known) = &mut *places;
        for row in *known..rows.count {
            map.insert(rows.key(row), row as u32);
        }
        *known = rows.count.max(*known);
        let place = |key| map.get(&key).map(|row| (key, *row));
        keys.filter_map(place).filter(|(_, row)| (*row as usize) < rows.count).collect()
    }
}

/// The rows at one moment.
#[derive(Clone)]
pub(super) struct Snapshot {
    rows: Arc<Rows>,
    places: Arc<Places>,
}

impl Snapshot {
    pub(super) fn len(&self) -> usize {
        self.rows.count
    }

    pub(super) fn dims(&self) -> usize {
        self.rows.dims
    }

    /// (cosine, key) of the nearest rows, best first.
    pub(super) fn nearest(
        &self,
        vector: &[f32],
        limit: usize,
        only: Option<&Keys>,
    ) -> Vec<(f32, u64)> {
        let asked = QueryVector::new(vector);
        let found = match only {
            Some(keys) => {
                let places = self.places.find(&self.rows, keys.iter().copied());
                let mut rows: Vec<u32> = places.into_iter().map(|(_, row)| row).collect();
                rows.sort_unstable();
                scan::among(&self.rows, &asked, limit, &rows)
            }
            None => scan::nearest(&self.rows, &asked, limit),
        };
        found.into_iter().map(|(cosine, row)| (cosine, self.rows.key(row as usize))).collect()
    }

    /// The cosines with the rows of these keys, as far as there are any.
    pub(super) fn cosines(&self, vector: &[f32], keys: &[u64]) -> HashMap<u64, f32> {
        let asked = QueryVector::new(vector);
        let places = self.places.find(&self.rows, keys.iter().copied());
        let cosine = |(key, row): (u64, u32)| {
            let row = row as usize;
            (key, asked.cosine(self.rows.long(row), self.rows.record(row).long_scale))
        };
        places.into_iter().map(cosine).collect()
    }

    /// The vectors of these keys, as far as there are any, in the order of the keys.
    pub(super) fn find(&self, keys: &[u64]) -> Vec<(u64, Vec<f32>)> {
        let places = self.places.find(&self.rows, keys.iter().copied());
        places.into_iter().map(|(key, row)| (key, self.rows.vector(row as usize))).collect()
    }

    /// Those of `passages` whose key has no row.
    pub(super) fn without_row<P>(&self, passages: Vec<(P, u64)>) -> Vec<(P, u64)> {
        let keys = passages.iter().map(|(_, key)| *key);
        let known: Keys =
            self.places.find(&self.rows, keys).into_iter().map(|(key, _)| key).collect();
        passages.into_iter().filter(|(_, key)| !known.contains(key)).collect()
    }

    /// Tells a later state of these rows from other rows.
    pub(super) fn lineage(&self) -> Lineage {
        Lineage { places: Arc::clone(&self.places), count: self.rows.count }
    }

    pub(super) fn keys(&self) -> Keys {
        (0..self.rows.count).map(|row| self.rows.key(row)).collect()
    }
}

/// A set of rows and how many it had.
pub(super) struct Lineage {
    places: Arc<Places>,
    count: usize,
}

impl Lineage {
    /// Whether `later` has every row that this one has.
    pub(super) fn leads_to(&self, later: &Self) -> bool {
        Arc::ptr_eq(&self.places, &later.places) && self.count <= later.count
    }
}

impl Vectors {
    /// Opens the vectors of a model. Files that changed since they were verified are verified now,
    /// and rows that fail their checksum are dropped, unless another process is writing.
    pub(super) fn open(root: &Path, model: &str, dims: usize, repairs: &Repairs) -> Result<Self> {
        if dims == 0 || dims > 65_536 {
            return Err(Error::invalid_params(format!(
                "vectors of `{dims}` dimensions do not exist"
            )));
        }
        let plain: String =
            model.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
        let folder = root.join(format!("vectors-{plain}-{dims}"));
        fs::create_dir_all(&folder).doing(format!("create `{}`", folder.display()))?;
        let set = Self::set_in(&folder);
        let rows = Files { folder: folder.join(&set), dims }.map().doing("read the vectors")?;
        let pointer = Stamp::of(&folder.join("current"));
        let mapped = Mapped { pointer, set, rows, places: Arc::default() };
        let vectors = Self { folder, dims, mapped: Mutex::new(mapped) };
        vectors.verify(repairs)?;
        Ok(vectors)
    }

    /// The set of rows that `current` names. Where it names none, the newest there is.
    fn set_in(folder: &Path) -> String {
        let named = fs::read_to_string(folder.join("current")).unwrap_or_default();
        let number = |name: &str| name.strip_prefix("rows-")?.parse::<u64>().ok();
        if number(&named).is_some() && folder.join(&named).is_dir() {
            return named;
        }
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let newest = entries.filter_map(|entry| number(entry.file_name().to_str()?)).max();
        format!("rows-{}", newest.unwrap_or(0))
    }

    /// Verifies rows whose files differ from their seal and drops those that are damaged.
    fn verify(&self, repairs: &Repairs) -> Result<bool> {
        let set = self.mapped.lock().unwrap_or_else(PoisonError::into_inner).set.clone();
        let files = self.files(&set);
        if !files.folder.is_dir() || self.is_sealed(&files) {
            return Ok(false);
        }
        let Some(writer) = self.writer()? else { return Ok(false) };
        let damaged = writer.damaged;
        writer.close()?;
        if damaged > 0 {
            let what = match damaged {
                1 => "1 vector was damaged and is computed again".to_owned(),
                _ => format!("{damaged} vectors were damaged and are computed again"),
            };
            repairs.record(Cause::Damaged, what);
        }
        Ok(damaged > 0)
    }

    /// Whether the rows are as they were verified, with no power cut since they were written.
    fn is_sealed(&self, files: &Files) -> bool {
        let flushed = match fs::read_to_string(self.folder.join("boot")) {
            Ok(boot) => Some(boot.as_str()) == boot_id(),
            Err(_) => true,
        };
        flushed && is_sealed(files)
    }

    /// Verifies every row, whatever its seal says, and returns whether one was damaged.
    pub(super) fn examine(&self, repairs: &Repairs) -> Result<bool> {
        let set = self.mapped.lock().unwrap_or_else(PoisonError::into_inner).set.clone();
        Seal::forget(&self.files(&set).folder);
        self.verify(repairs)
    }

    fn files(&self, set: &str) -> Files {
        Files { folder: self.folder.join(set), dims: self.dims }
    }

    /// The rows there are now.
    pub(super) fn rows(&self) -> Result<Snapshot> {
        let mut mapped = self.mapped.lock().unwrap_or_else(PoisonError::into_inner);
        let pointer = Stamp::of(&self.folder.join("current"));
        if pointer != mapped.pointer {
            let name = Self::set_in(&self.folder);
            if name != mapped.set {
                mapped.rows = self.files(&name).map().doing("read the vectors")?;
                mapped.set = name;
                mapped.places = Arc::default();
            }
            mapped.pointer = pointer;
        }
        let files = self.files(&mapped.set);
        let count = files.count().doing("read the vectors")?;
        if count != mapped.rows.count {
            if count < mapped.rows.count {
                // Somebody cut the files: what stands where is not known any more.
                mapped.places = Arc::default();
            }
            mapped.rows = files.map().doing("read the vectors")?;
        }
        Ok(Snapshot { rows: Arc::clone(&mapped.rows), places: Arc::clone(&mapped.places) })
    }

    /// Becomes the writer of vectors if nobody else is.
    pub(super) fn writer(&self) -> Result<Option<VectorWriter<'_>>> {
        let Some(lease) = Lease::try_take(&self.folder.join("lease"))? else { return Ok(None) };
        let snapshot = self.rows()?;
        let set = self.mapped.lock().unwrap_or_else(PoisonError::into_inner).set.clone();
        let files = self.files(&set);
        fs::create_dir_all(&files.folder).doing("create the vectors' folder")?;
        let count = snapshot.len();
        let sealed = self.is_sealed(&files);
        let lost = sealed_count(&files).saturating_sub(count);
        let damaged: Vec<usize> = match sealed {
            true => Vec::new(),
            false => (0..count).filter(|row| !snapshot.rows.is_whole(*row)).collect(),
        };
        files.trim(count).doing("write the vectors")?;
        if files.sketch(&snapshot.rows, !sealed).doing("write the vectors")? {
            self.mapped.lock().unwrap_or_else(PoisonError::into_inner).rows =
                files.map().doing("read the vectors")?;
        }
        replace(&self.folder, Path::new("boot"), boot_id().unwrap_or_default().as_bytes())
            .doing("mark the vectors as being written")?;
        let known = snapshot.keys();
        let found = damaged.len() + lost;
        let mut writer =
            VectorWriter { vectors: self, _lease: lease, files, set, count, known, damaged: found };
        if !damaged.is_empty() {
            tracing::warn!(damaged = damaged.len(), "vectors fail their checksums");
            writer.rewrite(|row, _| damaged.binary_search(&row).is_err())?;
        }
        seal(&writer.files);
        Ok(Some(writer))
    }
}

/// Appends rows while it is held.
pub(super) struct VectorWriter<'a> {
    vectors: &'a Vectors,
    _lease: Lease,
    files: Files,
    set: String,
    count: usize,
    known: Keys,
    /// Rows that were damaged or missing when it began.
    damaged: usize,
}

impl VectorWriter<'_> {
    pub(super) fn has(&self, key: u64) -> bool {
        self.known.contains(&key)
    }

    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// Appends the vectors whose keys are new.
    pub(super) fn append(&mut self, vectors: Vec<(u64, Vec<f32>)>) -> Result<()> {
        let mut rows = Vec::with_capacity(vectors.len());
        for (key, vector) in vectors {
            if vector.len() != self.vectors.dims {
                return Err(Error::internal(format!(
                    "the embedder gave `{}` numbers where `{}` were due; check `[embed]`",
                    vector.len(),
                    self.vectors.dims
                )));
            }
            if self.known.insert(key) {
                rows.push((key, encode(&vector)));
            }
        }
        self.files.append(self.count, &rows).doing("write the vectors")?;
        seal(&self.files);
        self.count += rows.len();
        Ok(())
    }

    /// Drops rows that no living passage asks for, when they are many.
    pub(super) fn compact(&mut self, live: &Keys) -> Result<bool> {
        let dead = self.known.iter().filter(|key| !live.contains(key)).count();
        if dead < MIN_DEAD_ROWS || dead * 3 < self.count {
            return Ok(false);
        }
        self.rewrite(|row, rows| live.contains(&rows.key(row)))?;
        Ok(true)
    }

    /// Writes the rows to keep into new files and changes over to them.
    fn rewrite(&mut self, keep: impl Fn(usize, &Rows) -> bool) -> Result<()> {
        let number = self.set.rsplit('-').next().and_then(|n| n.parse::<u64>().ok()).unwrap_or(0);
        let name = format!("rows-{}", number + 1);
        let target = self.vectors.files(&name);
        Files::remove(&target.folder);
        fs::create_dir_all(&target.folder).doing("create the vectors' folder")?;
        let rows = self.files.map().doing("read the vectors")?;
        let (mut count, mut known) = (0, Keys::default());
        let mut batch = Vec::new();
        for row in 0..rows.count {
            if keep(row, &rows) && known.insert(rows.key(row)) {
                batch.push((rows.key(row), encode(&rows.vector(row))));
            }
            if batch.len() == 1_024 || (row + 1 == rows.count && !batch.is_empty()) {
                target.append(count, &batch).doing("write the vectors")?;
                count += batch.len();
                batch.clear();
            }
        }
        target.flush().doing("write the vectors")?;
        seal(&target);
        replace(&self.vectors.folder, Path::new("current"), name.as_bytes())
            .doing("change over to the compacted vectors")?;
        Files::remove(&self.files.folder);
        (self.files, self.set, self.count, self.known) = (target, name, count, known);
        Ok(())
    }

    /// Flushes to the disk and lets the lease go.
    pub(super) fn close(self) -> Result<()> {
        self.files.flush().doing("write the vectors")?;
        seal(&self.files);
        let _ = fs::remove_file(self.vectors.folder.join("boot"));
        Ok(())
    }
}

/// Whether nobody but a writer of rows changed the files since they were verified.
fn is_sealed(files: &Files) -> bool {
    let seal = Seal::read(&files.folder);
    FILES.iter().all(|name| seal.matches(&files.folder, name))
}

/// How many rows there were when they were last verified or written.
fn sealed_count(files: &Files) -> usize {
    let length = Seal::read(&files.folder).length(RECORDS).unwrap_or(0);
    usize::try_from(length).unwrap_or(0) / RECORD
}

/// Seals the files as they are now. The caller holds the lease.
fn seal(files: &Files) {
    Seal::of(&files.folder, FILES).keep(&files.folder);
}

#[cfg(test)]
mod tests;
