//! One build of the term index in a folder of its own, and the pointer that says which build is
//! searched. A rebuild fills a folder beside the old one and moves the pointer when it is whole.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant, SystemTime},
};

use serde::{Deserialize, Serialize};
use tantivy::{
    Directory as _, IndexReader, IndexSettings, IndexWriter, ReloadPolicy, directory::META_LOCK,
    indexer::IndexWriterOptions, tokenizer::TokenizerManager,
};

use super::{
    build::merge_policy,
    directory::{LazyDirectory, META, boot_id, replace},
    guard,
    schema::{self, Fields},
    seal::Seal,
    tokens,
};
use crate::domain::{Error, Result, error::Doing};

const POINTER: &str = "current";
/// Tantivy's arena: a larger one makes fewer, larger segments of a first index; this keeps the
/// process below 300 MB.
const ARENA_BYTES: usize = 48_000_000;
/// Between two seals of a build that changes all the time.
const SEAL_EVERY: Duration = Duration::from_secs(1);

/// How far a build has come. It travels in the payload of tantivy's commit, so terms and position
/// can never disagree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Position {
    /// The last change of the log that is in.
    pub(super) seq: i64,
    /// While the first fill is under way: the last item that is in, by number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) filled: Option<i64>,
    /// The library that the build was made from.
    pub(super) library: i64,
}

/// One build: opened for reading; a writer is made of it by whoever holds the lease.
pub(super) struct Generation {
    pub(super) name: String,
    pub(super) path: PathBuf,
    pub(super) index: tantivy::Index,
    pub(super) fields: Fields,
    pub(super) directory: LazyDirectory,
    pub(super) reader: IndexReader,
    /// The stamp before the reader was made: another process may have committed meanwhile.
    pub(super) opened: Stamp,
    /// When its files were last sealed here.
    sealed: Mutex<Option<Instant>>,
}

impl Generation {
    /// Opens the build, or makes an empty one. A damaged build is an error, whatever it makes of
    /// its reader: files that differ from their seal are verified, all of them after a power cut.
    pub(super) fn open(root: &Path, name: &str) -> Result<Arc<Self>> {
        guard::caught(|| Self::try_open(root, name))
    }

    fn try_open(root: &Path, name: &str) -> Result<Arc<Self>> {
        let path = root.join(name);
        fs::create_dir_all(&path).doing(format!("create `{}`", path.display()))?;
        let what = || format!("open the index `{}`", path.display());
        let directory = LazyDirectory::open(&path).doing(what())?;
        let (schema, fields) = schema::schema();
        let tokenizers = TokenizerManager::default();
        tokenizers.register(tokens::FED, tokens::Fed::default());
        let index = tantivy::Index::builder()
            .schema(schema)
            .settings(IndexSettings {
                docstore_compress_dedicated_thread: false,
                ..IndexSettings::default()
            })
            .tokenizers(tokenizers)
            .open_or_create(directory.clone())
            .doing(what())?;
        if let Some(damage) = damage(&index, &path, LazyDirectory::is_doubtful(&path))? {
            return Err(Error::internal(damage));
        }
        let opened = Stamp::of(&path.join(META));
        let reader = index
            .reader_builder()
            .reload_policy(ReloadPolicy::Manual)
            .doc_store_cache_num_blocks(64)
            .try_into()
            .doing(what())?;
        let (name, sealed) = (name.to_owned(), Mutex::default());
        Ok(Arc::new(Self { name, path, index, fields, directory, reader, opened, sealed }))
    }

    /// What the last commit says of itself; `None` for a build that has not begun. A payload that
    /// does not read is an error: such a build is not to be trusted.
    pub(super) fn position(&self) -> Result<Option<Position>> {
        let meta = self.index.load_metas().doing("read the index's state")?;
        meta.payload
            .map(|payload| serde_json::from_str(&payload).doing("read the index's position"))
            .transpose()
    }

    /// A writer. The caller holds the lease.
    pub(super) fn writer(&self) -> Result<IndexWriter> {
        self.sweep()?;
        self.directory.mark().doing("mark the index as being written")?;
        let options = IndexWriterOptions::builder()
            .num_worker_threads(1)
            .memory_budget_per_thread(ARENA_BYTES)
            .num_merge_threads(1)
            .build();
        let writer = self.index.writer_with_options(options).doing("open the index for writing")?;
        writer.set_merge_policy(Box::new(merge_policy()));
        Ok(writer)
    }

    /// Removes what killed writers left. Under the lock that readers hold while they open segments.
    fn sweep(&self) -> Result<()> {
        let what = "tidy the index up";
        let _lock = self.directory.acquire_lock(&META_LOCK).doing(what)?;
        let living = self.index.load_metas().doing(what)?.list_segment_files();
        self.directory.sweep(&living);
        Ok(())
    }

    /// Makes the writer's changes visible, with the position they bring the build to.
    pub(super) fn commit(&self, writer: &mut IndexWriter, position: Position) -> Result<()> {
        let what = "commit to the index";
        let mut commit = writer.prepare_commit().doing(what)?;
        commit.set_payload(&serde_json::to_string(&position).doing(what)?);
        commit.commit().doing(what)?;
        if boot_id().is_none() {
            self.directory.flush().doing(what)?;
            self.directory.mark().doing(what)?;
        }
        self.seal_at_times();
        self.reader.reload().doing("read the index anew")
    }

    /// What changes on disk with every commit, whoever made it.
    pub(super) fn stamp(&self) -> Stamp {
        Stamp::of(&self.path.join(META))
    }

    /// Reads every file and returns what is wrong with one of them.
    pub(super) fn damage(&self) -> Option<String> {
        guard::caught(|| damage(&self.index, &self.path, true))
            .unwrap_or_else(|error| Some(error.message))
    }

    /// Seals the files of the last commit unless that was done a moment ago: a file without a
    /// seal costs one verification.
    fn seal_at_times(&self) {
        let mut sealed = self.sealed.lock().unwrap_or_else(PoisonError::into_inner);
        if sealed.is_none_or(|at| at.elapsed() >= SEAL_EVERY) {
            self.seal();
            *sealed = Some(Instant::now());
        }
    }

    /// Seals the files of the last commit, which this process wrote.
    pub(super) fn seal(&self) {
        if let Ok(names) = segment_files(&self.index) {
            Seal::of(&self.path, names.iter().map(String::as_str)).keep(&self.path);
        }
    }
}

/// Verifies the checksums of a build's segments: of all its files, or of those that differ from
/// their seal. Returns what is wrong with the first damaged file.
fn damage(index: &tantivy::Index, path: &Path, all: bool) -> Result<Option<String>> {
    let names = segment_files(index)?;
    let seal = if all { Seal::default() } else { Seal::read(path) };
    let doubtful: Vec<&String> = names.iter().filter(|name| !seal.matches(path, name)).collect();
    for name in &doubtful {
        let intact = index.directory().validate_checksum(Path::new(name.as_str()));
        match intact {
            Ok(true) => {}
            Ok(false) => return Ok(Some(format!("`{name}` fails its checksum"))),
            Err(error) => return Ok(Some(format!("`{name}` cannot be read: {error}"))),
        }
    }
    if !doubtful.is_empty() {
        Seal::of(path, names.iter().map(String::as_str)).keep(path);
    }
    Ok(None)
}

/// The names of the files that the last commit is made of. Those that a commit before it was made of
/// may be gone.
fn segment_files(index: &tantivy::Index) -> Result<Vec<String>> {
    let living = index.load_metas().doing("read the index's state")?.list_segment_files();
    let managed = index.directory().list_managed_files();
    let mut names: Vec<String> = managed
        .intersection(&living)
        .filter_map(|path| path.to_str())
        .filter(|name| !name.ends_with(".temp"))
        .map(str::to_owned)
        .collect();
    names.sort_unstable();
    Ok(names)
}

/// A file's identity and age, to notice that another process replaced it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Stamp {
    modified: Option<SystemTime>,
    length: u64,
    inode: u64,
}

impl Stamp {
    pub(super) fn of(path: &Path) -> Self {
        let Ok(meta) = fs::metadata(path) else { return Self::default() };
        #[cfg(unix)]
        let inode = std::os::unix::fs::MetadataExt::ino(&meta);
        #[cfg(not(unix))]
        let inode = 0;
        Self { modified: meta.modified().ok(), length: meta.len(), inode }
    }
}

/// The beginning of the name of every build that this program can search.
fn readable() -> String {
    format!("terms-{}-", schema::VERSION)
}

/// The beginning of the name of every build that needs no rebuild.
fn wanted() -> String {
    format!("{}{}-", readable(), tokens::VERSION)
}

/// The names of builds, and which one is searched.
pub(super) struct Builds<'a>(pub(super) &'a Path);

impl Builds<'_> {
    /// Whether the pointer names no build although there are some: it was damaged.
    pub(super) fn is_lost(&self) -> bool {
        let named = fs::read_to_string(self.0.join(POINTER)).unwrap_or_default();
        let is_build = |name: &str| name.starts_with("terms-") && self.0.join(name).is_dir();
        let Ok(entries) = fs::read_dir(self.0) else { return false };
        let mut builds = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
        !is_build(named.trim()) && builds.any(|name| is_build(&name))
    }

    /// The build that the pointer names, when this program can search it.
    pub(super) fn current(&self) -> Option<String> {
        let name = fs::read_to_string(self.0.join(POINTER)).ok()?;
        let name = name.trim();
        let plain = name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
        (plain && name.starts_with(&readable()) && self.0.join(name).join(META).exists())
            .then(|| name.to_owned())
    }

    pub(super) fn pointer(&self) -> Stamp {
        Stamp::of(&self.0.join(POINTER))
    }

    pub(super) fn is_wanted(name: &str) -> bool {
        name.starts_with(&wanted())
    }

    /// A name that no build has had.
    pub(super) fn fresh(&self) -> Result<String> {
        let mut number = 0;
        for entry in fs::read_dir(self.0).doing("list the index")? {
            let entry = entry.doing("list the index")?;
            let name = entry.file_name();
            let build = name.to_str().and_then(|name| name.strip_prefix("terms-"));
            let last = build.and_then(|name| name.rsplit('-').next());
            if let Some(found) = last.and_then(|last| last.parse::<u64>().ok()) {
                number = number.max(found);
            }
        }
        Ok(format!("{}{}", wanted(), number + 1))
    }

    /// Moves the pointer.
    pub(super) fn choose(&self, name: &str) -> Result<()> {
        replace(self.0, Path::new(POINTER), name.as_bytes())
            .doing(format!("make `{name}` the index that is searched"))
    }

    /// Removes every build but the one that is searched. The caller holds the lease. Readers that
    /// still have an old build open keep their files until they let go.
    pub(super) fn sweep(&self, keep: &str) {
        let Ok(entries) = fs::read_dir(self.0) else { return };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let Some(name) = name.to_str() else { continue };
            if name.starts_with("terms-") && name != keep {
                // A build that cannot be removed now is removed the next time.
                let _ = fs::remove_dir_all(entry.path());
            }
        }
    }
}
