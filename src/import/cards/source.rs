//! The files of an import, wherever they are: one file, a folder, or a zip. Symbolic links are not
//! followed, and nothing outside of what was named is read.

use std::{
    fs::File,
    io::{BufReader, Read},
    path::{Component, Path, PathBuf},
};

use crate::{
    domain::{Error, Result, Timestamp, error::Doing},
    import::{Bounded, Remarks, check_expansion, failed},
};

/// Bytes of one file. An export of cards with pictures may be large; it is read card by card.
const MAX_FILE_BYTES: u64 = 4 << 30;
/// Bytes that one zip may unpack to.
const MAX_ZIP_BYTES: u64 = 16 << 30;
/// Bytes of a file that is read as a whole: a page, one note with its pictures.
pub const MAX_NOTE_BYTES: u64 = 160 << 20;
/// Files of one folder or zip.
const MAX_FILES: usize = 500_000;

/// An export of cards: a folder (of one file, or many), or a zip.
pub enum Source {
    /// Files below `root`, by relative name.
    #[allow(missing_docs, reason = "described above")]
    Folder { root: PathBuf, names: Vec<String> },
    /// Files of a zip, with the bytes read from it so far, packed and unpacked.
    #[allow(missing_docs, reason = "described above")]
    Zip { archive: zip::ZipArchive<File>, names: Vec<String>, packed: u64, unpacked: u64 },
}

impl Source {
    /// Opens a file, folder or zip. Links in it are named in `skipped`.
    pub fn open(path: &Path, skipped: &mut Remarks) -> Result<Self> {
        if path.is_dir() {
            let mut names = Vec::new();
            walk(path, "", &mut names, skipped)?;
            names.sort();
            return Ok(Self::Folder { root: path.to_path_buf(), names });
        }
        let file = File::open(path).map_err(|error| {
            Error::invalid_params(format!("could not open `{}`: {error}", path.display()))
        })?;
        if !path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("zip")) {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let root = path.parent().unwrap_or(Path::new("")).to_path_buf();
            return Ok(Self::Folder { root, names: vec![name] });
        }
        let packed = file.metadata().map_or(0, |metadata| metadata.len());
        let refuse = |error: &dyn std::fmt::Display| {
            Error::invalid_params(format!("`{}` is not a zip: {error}", path.display()))
        };
        let mut archive = zip::ZipArchive::new(file).map_err(|error| refuse(&error))?;
        if archive.len() > MAX_FILES {
            return Err(too_many_files());
        }
        let mut names = Vec::new();
        for index in 0..archive.len() {
            let entry = archive.by_index_raw(index).map_err(|error| refuse(&error))?;
            let name = entry.name().map_err(|error| refuse(&error))?.into_owned();
            if entry.is_symlink() {
                skipped.push(name, LINK);
            } else if !entry.is_dir() {
                names.push(name);
            }
        }
        names.sort();
        Ok(Self::Zip { archive, names, packed, unpacked: 0 })
    }

    fn names(&self) -> &[String] {
        match self {
            Self::Folder { names, .. } | Self::Zip { names, .. } => names,
        }
    }

    /// Files in the source.
    pub fn count(&self) -> usize {
        self.names().len()
    }

    /// The path of a file, relative to the source.
    pub fn name(&self, index: usize) -> String {
        self.names()[index].clone()
    }

    /// When the file was changed, where that is known.
    pub fn modified(&self, index: usize) -> Option<Timestamp> {
        let Self::Folder { root, names } = self else { return None };
        let modified = std::fs::metadata(root.join(&names[index])).ok()?.modified().ok()?;
        let since = modified.duration_since(std::time::UNIX_EPOCH).ok()?;
        Some(Timestamp(i64::try_from(since.as_millis()).ok()?))
    }

    /// Reads a file from its beginning. `use_it` gets a reader that ends with an error where the
    /// file holds too much.
    pub fn with_reader<T>(
        &mut self,
        name: &str,
        use_it: impl FnOnce(&mut dyn std::io::BufRead) -> Result<T>,
    ) -> Result<T> {
        match self {
            Self::Folder { root, .. } => {
                let file = File::open(root.join(name)).doing(format_args!("read `{name}`"))?;
                use_it(&mut BufReader::new(Bounded::new(file, MAX_FILE_BYTES)))
            }
            Self::Zip { archive, packed, unpacked, .. } => {
                let entry = archive.by_name(name).map_err(|error| {
                    Error::invalid_params(format!("could not read `{name}`: {error}"))
                })?;
                let left = MAX_ZIP_BYTES.saturating_sub(*unpacked).min(MAX_FILE_BYTES);
                let counted = Unpacking { inner: entry, packed: *packed, unpacked };
                use_it(&mut BufReader::new(Bounded::new(counted, left)))
            }
        }
    }

    /// The whole of a file of at most `limit` bytes; `None` when it is larger.
    pub fn bytes(&mut self, name: &str, limit: u64) -> Result<Option<Vec<u8>>> {
        self.with_reader(name, |reader| {
            let mut bytes = Vec::new();
            reader.take(limit + 1).read_to_end(&mut bytes).map_err(|error| failed(&error))?;
            Ok((bytes.len() as u64 <= limit).then_some(bytes))
        })
    }

    /// A file that another one names, looked for beside it; `None` when it is not in the export or
    /// is larger than `limit`. Takeout writes `.jpeg` in a note and `.jpg` on the disk.
    pub fn beside(&mut self, name: &str, other: &str, limit: u64) -> Result<Option<Vec<u8>>> {
        let folder = name.rfind('/').map_or("", |at| &name[..=at]);
        let stem =
            |path: &str| path.rsplit_once('.').map_or(path.to_owned(), |(stem, _)| stem.to_owned());
        let wanted = format!("{folder}{other}");
        let single = matches!(self, Self::Folder { names, .. } if names.len() == 1);
        let found = match self.names().iter().find(|name| **name == wanted) {
            Some(found) => found.clone(),
            // One file was named: its neighbours are on the disk though not in the list.
            None if single && is_below(other) => wanted,
            None => {
                let near = |name: &&String| {
                    stem(name) == stem(&wanted)
                        && !name.ends_with(".json")
                        && !name.ends_with(".html")
                };
                match self.names().iter().find(near) {
                    Some(found) => found.clone(),
                    None => return Ok(None),
                }
            }
        };
        if let Self::Folder { root, .. } = self
            && !is_plain_file(root, &found)
        {
            return Ok(None);
        }
        self.bytes(&found, limit)
    }
}

const LINK: &str = "is a symbolic link, and links are not followed; copy the file itself";

/// Counts what a zip unpacks to, over all its files.
struct Unpacking<'a, R> {
    inner: R,
    packed: u64,
    unpacked: &'a mut u64,
}

impl<R: Read> Read for Unpacking<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.inner.read(buffer)?;
        *self.unpacked += read as u64;
        check_expansion(self.packed, *self.unpacked)?;
        Ok(read)
    }
}

/// A note may name only what lies in its own folder or below it.
fn is_below(path: &str) -> bool {
    Path::new(path).components().all(|part| matches!(part, Component::Normal(_)))
}

/// Whether a path below `root` is a file of its own, reached through no link.
fn is_plain_file(root: &Path, path: &str) -> bool {
    let mut at = root.to_path_buf();
    let mut parts = Path::new(path).components().peekable();
    while let Some(part) = parts.next() {
        at.push(part);
        let Ok(metadata) = at.symlink_metadata() else { return false };
        let expected = if parts.peek().is_some() { metadata.is_dir() } else { metadata.is_file() };
        if !expected {
            return false;
        }
    }
    true
}

fn too_many_files() -> Error {
    Error::invalid_params(format!("it holds more than {MAX_FILES} files; import parts of it"))
}

/// Every file below a folder, without what is hidden.
fn walk(root: &Path, prefix: &str, names: &mut Vec<String>, skipped: &mut Remarks) -> Result<()> {
    let folder = root.join(prefix);
    let doing = || format!("read the folder `{}`", folder.display());
    for entry in std::fs::read_dir(&folder).doing(doing())? {
        let entry = entry.doing(doing())?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with('.') {
            continue;
        }
        let path = format!("{prefix}{name}");
        let kind = entry.file_type().doing(doing())?;
        if kind.is_dir() {
            walk(root, &format!("{path}/"), names, skipped)?;
        } else if kind.is_file() {
            names.push(path);
        } else if kind.is_symlink() {
            skipped.push(path, LINK);
        }
        if names.len() > MAX_FILES {
            return Err(too_many_files());
        }
    }
    Ok(())
}
