//! The files of the folder, with their etags.

use std::{collections::BTreeMap, path::Path};

use ignore::WalkBuilder;

use super::state::{Known, State};
use crate::{
    cli::bar::Bar,
    domain::{Error, Progress, Result, VaultPath, error::Doing},
    vault::{self, Stamp, read::hash, walk::TEMPORARY},
};

/// Folders of other programs, which stay here.
const NOT_PUSHED: [&str; 2] = [".git", ".trash"];

/// A file here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalFile {
    pub path: VaultPath,
    /// Its name on the disk, which may differ from `path` in normal form.
    pub name: String,
    pub etag: String,
    pub size: u64,
    pub mtime_ns: i64,
}

impl LocalFile {
    pub fn known(&self) -> Known {
        Known { etag: self.etag.clone(), size: self.size, mtime_ns: self.mtime_ns }
    }
}

pub fn etag_of(bytes: &[u8]) -> String {
    vault::etag(&hash(bytes))
}

/// Every file by its path. A file whose size and time are those of the last push is not read.
pub fn list(
    root: &Path,
    state: &State,
    bar: &Bar,
    left: &mut Vec<(String, String)>,
) -> Result<BTreeMap<VaultPath, LocalFile>> {
    let mut files = BTreeMap::new();
    let walk = WalkBuilder::new(root)
        .standard_filters(false)
        .hidden(false)
        .follow_links(false)
        .filter_entry(|entry| {
            entry.depth() != 1 || !NOT_PUSHED.iter().any(|name| entry.file_name() == *name)
        })
        .build();
    for entry in walk {
        let entry = entry.map_err(|error| unlisted(root, &error))?;
        let Some(kind) = entry.file_type().filter(|kind| !kind.is_dir()) else { continue };
        if entry.file_name().to_string_lossy().starts_with(TEMPORARY) {
            continue;
        }
        let relative = entry.path().strip_prefix(root).unwrap_or(entry.path());
        let shown = relative.to_string_lossy().into_owned();
        if !kind.is_file() {
            left.push((shown, "is not a regular file".into()));
            continue;
        }
        let path =
            relative.to_str().and_then(|name| VaultPath::parse(&name.replace('\\', "/")).ok());
        let Some(path) = path else {
            left.push((shown, "has a name that a vault cannot keep".into()));
            continue;
        };
        let metadata = entry.metadata().map_err(|error| unlisted(entry.path(), &error))?;
        let Stamp { size, mtime_ns } = Stamp::of(&metadata);
        let known = state.files.get(path.as_str());
        let etag = match known.filter(|known| known.size == size && known.mtime_ns == mtime_ns) {
            Some(known) => known.etag.clone(),
            None => etag_of(&std::fs::read(entry.path()).doing(format_args!("read `{shown}`"))?),
        };
        files.insert(path.clone(), LocalFile { path, name: shown, etag, size, mtime_ns });
        if files.len() % 256 == 0 {
            bar.report(files.len() as u64, None, "reading files");
        }
    }
    Ok(files)
}

fn unlisted(place: &Path, error: &ignore::Error) -> Error {
    Error::outside(format!("could not list `{}`: {error}", place.display()))
}
