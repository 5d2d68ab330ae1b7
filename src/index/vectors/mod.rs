//! Vectors of passages, kept under the hash of what was embedded: a passage that moves, or comes
//! back, finds its vector again. Rows know nothing of items; a row that no living passage asks for
//! is never shown, and goes when there are too many of them.

use std::{
    collections::HashMap,
    fs,
    hash::BuildHasherDefault,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

pub(super) use notewell_vectors::Keys;
use notewell_vectors::{Files, KeyHasher, QueryVector, Rows, encode, scan};

use super::{
    directory::{boot_id, replace},
    generation::Stamp,
    lease::Lease,
};
use crate::domain::{Error, Result, error::Doing};

const UNKNOWN: u64 = u64::MAX;
/// Rows looked at when a writer begins in the same boot: only the last ones can be unfinished.
const TAIL: usize = 64;
/// Fewer dead rows than this are left alone.
const FEW: usize = 1_000;

/// How many passages have their vector.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Progress {
    pub done: u64,
    pub total: u64,
}

impl Progress {
    pub fn is_complete(&self) -> bool {
        self.done >= self.total
    }
}

/// The vectors of one model.
pub(super) struct Vectors {
    folder: PathBuf,
    dims: usize,
    mapped: Mutex<Mapped>,
    /// What this process knows of passages without a vector.
    pending: AtomicU64,
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
    #[allow(clippy::cast_possible_truncation)]
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

    pub(super) fn keys(&self) -> Keys {
        (0..self.rows.count).map(|row| self.rows.key(row)).collect()
    }
}

impl Vectors {
    pub(super) fn open(root: &Path, model: &str, dims: usize) -> Result<Self> {
        if dims == 0 || dims > 65_536 {
            return Err(Error::invalid_params(format!(
                "vectors of `{dims}` dimensions do not exist"
            )));
        }
        let plain: String =
            model.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
        let folder = root.join(format!("vectors-{plain}-{dims}"));
        fs::create_dir_all(&folder).doing(format!("create `{}`", folder.display()))?;
        let rows = Files { folder: folder.join("rows-0"), dims }.map().doing("read the vectors")?;
        let mapped = Mapped {
            pointer: Stamp::default(),
            set: "rows-0".to_owned(),
            rows,
            places: Arc::default(),
        };
        let vectors =
            Self { folder, dims, mapped: Mutex::new(mapped), pending: AtomicU64::new(UNKNOWN) };
        vectors.rows()?;
        Ok(vectors)
    }

    fn files(&self, set: &str) -> Files {
        Files { folder: self.folder.join(set), dims: self.dims }
    }

    /// The rows there are now.
    pub(super) fn rows(&self) -> Result<Snapshot> {
        let mut mapped = self.mapped.lock().unwrap_or_else(PoisonError::into_inner);
        let pointer = Stamp::of(&self.folder.join("current"));
        if pointer != mapped.pointer {
            let name = fs::read_to_string(self.folder.join("current")).unwrap_or_default();
            if name.starts_with("rows-") && !name.contains(['/', '\\', '.']) {
                mapped.rows = self.files(&name).map().doing("read the vectors")?;
                mapped.set = name;
                mapped.places = Arc::default();
            }
            mapped.pointer = pointer;
        }
        let files = self.files(&mapped.set);
        if files.count().doing("read the vectors")? != mapped.rows.count {
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
        let mark = self.folder.join("boot");
        let same_boot = match fs::read_to_string(&mark) {
            Ok(boot) => Some(boot) == boot_id(),
            Err(_) => true,
        };
        let count = snapshot.len();
        let whole = snapshot.rows.whole(if same_boot { count.saturating_sub(TAIL) } else { 0 });
        files.trim(files.count().doing("read the vectors")?).doing("write the vectors")?;
        if files.sketch(&snapshot.rows, !same_boot).doing("write the vectors")? {
            self.mapped.lock().unwrap_or_else(PoisonError::into_inner).rows =
                files.map().doing("read the vectors")?;
        }
        replace(&self.folder, Path::new("boot"), boot_id().unwrap_or_default().as_bytes())
            .doing("mark the vectors as being written")?;
        let known = snapshot.keys();
        let mut writer = VectorWriter { vectors: self, _lease: lease, files, set, count, known };
        if whole < count {
            tracing::warn!(torn = count - whole, "vectors were torn and are computed again");
            writer.rewrite(|row, rows| row < whole || rows.is_whole(row))?;
        }
        Ok(Some(writer))
    }

    pub(super) fn set_pending(&self, pending: u64) {
        if self.pending.swap(pending, Ordering::Relaxed) != pending {
            // For other processes; a stale figure is all a failure can do.
            let _ = replace(&self.folder, Path::new("pending"), pending.to_string().as_bytes());
        }
    }

    /// How many of `total` passages have their vector, as far as is known here.
    pub(super) fn progress(&self, total: u64) -> Progress {
        let pending = match self.pending.load(Ordering::Relaxed) {
            UNKNOWN => fs::read_to_string(self.folder.join("pending"))
                .ok()
                .and_then(|text| text.trim().parse().ok())
                .unwrap_or(total),
            pending => pending,
        };
        Progress { done: total.saturating_sub(pending), total }
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
        self.count += rows.len();
        Ok(())
    }

    /// Drops rows that no living passage asks for, when they are many.
    pub(super) fn compact(&mut self, live: &Keys) -> Result<bool> {
        let dead = self.known.iter().filter(|key| !live.contains(key)).count();
        if dead < FEW || dead * 3 < self.count {
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
        replace(&self.vectors.folder, Path::new("current"), name.as_bytes())
            .doing("change over to the compacted vectors")?;
        Files::remove(&self.files.folder);
        (self.files, self.set, self.count, self.known) = (target, name, count, known);
        Ok(())
    }

    /// Flushes to the disk and lets the lease go.
    pub(super) fn close(self) -> Result<()> {
        self.files.flush().doing("write the vectors")?;
        let _ = fs::remove_file(self.vectors.folder.join("boot"));
        Ok(())
    }
}

#[cfg(test)]
mod tests;
