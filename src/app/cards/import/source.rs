//! The files of an import, wherever they are: one file, a folder, or a zip.

use std::{
    io::Read,
    path::{Path, PathBuf},
};

use crate::domain::{Error, Result, Timestamp, error::Doing};

/// The largest file that is read; a zip may claim less than it unpacks to.
const MAX_FILE_BYTES: u64 = 64 << 20;

pub enum Source {
    Folder { root: PathBuf, names: Vec<String> },
    Zip { archive: zip::ZipArchive<std::fs::File>, names: Vec<String> },
}

pub enum File {
    Text(String),
    Refused(&'static str),
}

impl Source {
    pub fn open(path: &Path) -> Result<Self> {
        if path.is_dir() {
            let mut names = Vec::new();
            walk(path, "", &mut names)
                .doing(format_args!("read the folder `{}`", path.display()))?;
            names.sort();
            return Ok(Self::Folder { root: path.to_path_buf(), names });
        }
        let file = std::fs::File::open(path).map_err(|error| {
            Error::invalid_params(format!("could not open `{}`: {error}", path.display()))
        })?;
        if !path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("zip")) {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let root = path.parent().unwrap_or(Path::new("")).to_path_buf();
            return Ok(Self::Folder { root, names: vec![name] });
        }
        let archive = zip::ZipArchive::new(file).map_err(|error| {
            Error::invalid_params(format!("`{}` is not a zip: {error}", path.display()))
        })?;
        let mut names = archive
            .file_names()
            .map(|name| name.map(|name| name.into_owned()))
            .collect::<Result<Vec<String>, _>>()
            .map_err(|error| {
                Error::invalid_params(format!("`{}` names a file badly: {error}", path.display()))
            })?;
        names.retain(|name| !name.ends_with('/'));
        names.sort();
        Ok(Self::Zip { archive, names })
    }

    fn names(&self) -> &[String] {
        match self {
            Self::Folder { names, .. } | Self::Zip { names, .. } => names,
        }
    }

    pub fn len(&self) -> usize {
        self.names().len()
    }

    pub fn name(&self, index: usize) -> String {
        self.names()[index].clone()
    }

    pub fn read(&mut self, index: usize) -> Result<File> {
        let name = self.name(index);
        let Some(bytes) = self.bytes(&name)? else {
            return Ok(File::Refused("is larger than 64 MiB"));
        };
        Ok(match String::from_utf8(bytes) {
            Ok(text) => File::Text(text),
            Err(_) => File::Refused("is not UTF-8 text"),
        })
    }

    /// When the file was changed, where that is known.
    pub fn modified(&self, index: usize) -> Option<Timestamp> {
        let Self::Folder { root, names } = self else { return None };
        let modified = std::fs::metadata(root.join(&names[index])).ok()?.modified().ok()?;
        let since = modified.duration_since(std::time::UNIX_EPOCH).ok()?;
        Some(Timestamp(i64::try_from(since.as_millis()).ok()?))
    }

    /// A file that another one names, looked for beside it. Takeout writes `.jpeg` in a note and
    /// `.jpg` on the disk.
    pub fn beside(&mut self, name: &str, other: &str) -> Result<Option<Vec<u8>>> {
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
            && !root.join(&found).is_file()
        {
            return Ok(None);
        }
        self.bytes(&found)
    }

    /// The whole file; `None` when it is too large.
    fn bytes(&mut self, name: &str) -> Result<Option<Vec<u8>>> {
        let mut bytes = Vec::new();
        match self {
            Self::Folder { root, .. } => std::fs::File::open(root.join(name))
                .and_then(|file| file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes)),
            Self::Zip { archive, .. } => archive
                .by_name(name)
                .map_err(std::io::Error::other)
                .and_then(|file| file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes)),
        }
        .doing(format_args!("read `{name}`"))?;
        Ok((bytes.len() as u64 <= MAX_FILE_BYTES).then_some(bytes))
    }
}

/// A note may name only what lies in its own folder or below it.
fn is_below(path: &str) -> bool {
    Path::new(path).components().all(|part| matches!(part, std::path::Component::Normal(_)))
}

/// Every file below a folder, without following links and without what is hidden.
fn walk(root: &Path, prefix: &str, names: &mut Vec<String>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(root.join(prefix))? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with('.') {
            continue;
        }
        let path = format!("{prefix}{name}");
        let kind = entry.file_type()?;
        if kind.is_dir() {
            walk(root, &format!("{path}/"), names)?;
        } else if kind.is_file() {
            names.push(path);
        }
    }
    Ok(())
}
