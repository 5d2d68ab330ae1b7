//! Every note of a vault, by name, size and time; and every file that is left out, with the reason.

use std::path::{Path, PathBuf};

use ignore::WalkBuilder;

use super::read::{Reason, Stamp};
use crate::domain::{Error, Result, VaultPath, error::Doing};

/// Folders of tools, not of the author.
pub const IGNORED: [&str; 3] = [".obsidian", ".trash", ".git"];

/// What the names of files in the making start with.
pub const TEMPORARY: &str = ".notewell-";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    pub path: VaultPath,
    /// Where it is on disk; its spelling there may differ from `path` in normal form.
    pub file: PathBuf,
    pub stamp: Stamp,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    pub path: String,
    pub reason: Reason,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Walk {
    /// By path.
    pub files: Vec<Found>,
    /// By path.
    pub skipped: Vec<Skipped>,
}

/// Lists a vault. `.gitignore` is honoured whether or not there is a repository; symbolic links are
/// not followed; files over `limit` bytes are left out. A folder that is not there is an error, so
/// that an unmounted drive is never taken for a vault whose notes are all gone.
pub fn walk(root: &Path, limit: u64) -> Result<Walk> {
    let root = root.canonicalize().doing(format_args!("open the vault `{}`", root.display()))?;
    if !root.is_dir() {
        return Err(Error::internal(format!("the vault `{}` is not a folder", root.display())));
    }
    let mut walk = Walk::default();
    let tools = |name: &std::ffi::OsStr| IGNORED.iter().any(|ignored| name == *ignored);
    let entries = WalkBuilder::new(&root)
        .hidden(false)
        .ignore(false)
        .git_global(false)
        .require_git(false)
        .parents(false)
        .follow_links(false)
        .filter_entry(move |entry| entry.depth() == 0 || !tools(entry.file_name()))
        .build();
    for entry in entries {
        match entry {
            Ok(entry) => walk.take(&root, &entry, limit),
            Err(error) => walk.refuse(&root, &error)?,
        }
    }
    walk.files.sort_by(|a, b| a.path.cmp(&b.path));
    walk.drop_twins();
    walk.skipped.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(walk)
}

/// Whether a file by this name is a note.
pub fn is_note(path: &Path) -> bool {
    path.extension().is_some_and(|ext| ext.eq_ignore_ascii_case("md"))
        && !path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(TEMPORARY))
}

impl Walk {
    fn take(&mut self, root: &Path, entry: &ignore::DirEntry, limit: u64) {
        let Some(kind) = entry.file_type() else { return };
        let path = entry.path();
        let relative = path.strip_prefix(root).unwrap_or(path);
        let mut skip = |reason| {
            self.skipped.push(Skipped { path: relative.to_string_lossy().into_owned(), reason });
        };
        if kind.is_symlink() {
            // A link to a folder hides notes as surely as a link to one.
            if is_note(path) || path.is_dir() {
                skip(Reason::SymbolicLink);
            }
            return;
        }
        if !kind.is_file() || !is_note(path) {
            return;
        }
        let Some(name) = relative.to_str() else { return skip(Reason::Name("is not UTF-8")) };
        let parsed = if cfg!(windows) {
            VaultPath::parse(&name.replace('\\', "/"))
        } else {
            VaultPath::parse(name)
        };
        let Ok(name) = parsed else {
            return skip(Reason::Name("has a backslash or a control character"));
        };
        match entry.metadata() {
            Ok(metadata) if metadata.len() > limit => {
                skip(Reason::TooLarge { size: metadata.len(), limit });
            }
            Ok(metadata) => {
                let stamp = Stamp::of(&metadata);
                self.files.push(Found { path: name, file: path.to_owned(), stamp });
            }
            Err(error) => skip(Reason::Unreadable(error.to_string())),
        }
    }

    /// A folder that cannot be listed is named; the vault itself must be listed.
    fn refuse(&mut self, root: &Path, error: &ignore::Error) -> Result<()> {
        let path = path_of(error).unwrap_or(root);
        if path == root && error.io_error().is_some() {
            return Err(Error::internal(format!(
                "could not list the vault `{}`: {error}",
                root.display()
            )));
        }
        // A file that went away between the listing and the look is simply gone.
        if error.io_error().is_some_and(|error| error.kind() == std::io::ErrorKind::NotFound) {
            return Ok(());
        }
        let relative = path.strip_prefix(root).unwrap_or(path);
        let why = error.io_error().map_or_else(|| error.to_string(), ToString::to_string);
        let path = relative.to_string_lossy().into_owned();
        self.skipped.push(Skipped { path, reason: Reason::Unreadable(why) });
        Ok(())
    }

    /// Two files whose names differ only in normal form would be one page.
    fn drop_twins(&mut self) {
        let skipped = &mut self.skipped;
        self.files.dedup_by(|file, kept| {
            let twin = file.path == kept.path;
            if twin {
                let reason = Reason::Name("differs from another only in its Unicode form");
                skipped.push(Skipped { path: file.path.to_string(), reason });
            }
            twin
        });
    }
}

fn path_of(error: &ignore::Error) -> Option<&Path> {
    match error {
        ignore::Error::WithPath { path, .. } => Some(path),
        ignore::Error::WithDepth { err, .. } | ignore::Error::WithLineNumber { err, .. } => {
            path_of(err)
        }
        ignore::Error::Partial(errors) => errors.iter().find_map(path_of),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::{
        fs::{self, File},
        io::Write,
    };

    use super::*;

    fn vault(files: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for file in files {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            File::create(path).unwrap();
        }
        folder
    }

    fn names(walk: &Walk) -> Vec<&str> {
        walk.files.iter().map(|found| found.path.as_str()).collect()
    }

    #[test]
    fn notes_are_found_and_tools_are_not() {
        let vault = vault(&[
            "b.md",
            "A.MD",
            "Дневник/май.md",
            "日記/五月.md",
            "_private/c.md",
            ".obsidian/d.md",
            ".trash/e.md",
            ".git/f.md",
            "sub/.trash/g.md",
            "drafts/h.md",
            "sub/i.tmp.md",
            "pic.png",
            ".notewell-x.md",
        ]);
        let mut rules = File::create(vault.path().join(".gitignore")).unwrap();
        rules.write_all(b"drafts/\n*.tmp.md\n").unwrap();
        let walk = walk(vault.path(), 1000).unwrap();
        assert_eq!(
            names(&walk),
            ["A.MD", "_private/c.md", "b.md", "Дневник/май.md", "日記/五月.md"]
        );
        assert!(walk.skipped.is_empty());
        assert!(walk.files[1].path.is_private());
    }

    #[test]
    fn a_missing_vault_is_an_error_and_not_an_empty_one() {
        let vault = vault(&["a.md"]);
        assert!(walk(&vault.path().join("nowhere"), 1000).is_err());
        assert!(walk(&vault.path().join("a.md"), 1000).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn links_large_files_and_odd_names_are_named() {
        let outside = vault(&["secret.md"]);
        let vault = vault(&["a.md", "b\\c.md", "が.md", "か\u{3099}.md", "big/d.md"]);
        let at = vault.path();
        File::create(at.join("big/d.md")).unwrap().set_len(2000).unwrap();
        std::os::unix::fs::symlink(outside.path(), at.join("out")).unwrap();
        std::os::unix::fs::symlink(outside.path().join("secret.md"), at.join("s.md")).unwrap();
        let walk = walk(at, 1000).unwrap();
        assert_eq!(names(&walk), ["a.md", "が.md"]);
        let reasons: Vec<String> = walk
            .skipped
            .iter()
            .map(|skipped| format!("{}: {}", skipped.path, skipped.reason))
            .collect();
        assert_eq!(reasons.len(), 5, "{reasons:?}");
        for part in [
            "big/d.md: too large",
            "b\\c.md: its name",
            "out: a symbolic link",
            "s.md: a symbolic link",
            "Unicode form",
        ] {
            assert!(reasons.iter().any(|reason| reason.contains(part)), "{part}: {reasons:?}");
        }
    }
}
