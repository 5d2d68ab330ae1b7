//! Every note of a vault, by name, size and time; and every file that is left out, with the reason.

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
};

use ignore::WalkBuilder;

use super::read::{Reason, Stamp, special};
use crate::domain::{Error, Result, VaultPath, error::Doing};

/// Folders of tools, not of the author.
pub const IGNORED: [&str; 3] = [".obsidian", ".trash", ".git"];

/// What the names of files in the making start with.
pub const TEMPORARY: &str = ".notewell-";

/// A note of a vault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoteFile {
    /// Its path.
    pub path: VaultPath,
    /// Where it is on disk; its spelling there may differ from `path` in normal form.
    pub file: PathBuf,
    /// Size and time.
    pub stamp: Stamp,
}

/// A file that is not a note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// Its path.
    pub path: String,
    /// Why.
    pub reason: Reason,
}

/// A listing of a vault.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Walk {
    /// By path.
    pub files: Vec<NoteFile>,
    /// By path.
    pub skipped: Vec<Skipped>,
    /// Files in the making: of somebody who writes now, or who was killed.
    pub unfinished: Vec<PathBuf>,
}

/// What part of a vault to list.
#[derive(Debug, Clone, Default)]
pub struct Scope {
    /// Files over this many bytes are left out.
    pub limit: u64,
    /// Folders that belong to other vaults, absolute.
    pub without: Vec<PathBuf>,
    /// Only these paths, relative to the vault. The rules that hold for a whole walk hold for them.
    pub only: Option<Vec<PathBuf>>,
}

impl Scope {
    /// The whole vault.
    pub fn whole(limit: u64) -> Self {
        Self { limit, ..Self::default() }
    }

    /// Whether the walk has to look at a path: `only` names it, something above it or below it.
    fn filter(&self, root: &Path) -> impl Fn(&Path) -> bool + Send + Sync + 'static {
        let without: HashSet<PathBuf> = self.without.iter().cloned().collect();
        let only = self.only.as_ref().map(|paths| {
            let mut wanted = HashSet::new();
            for path in paths {
                let path = root.join(path);
                let above = path.ancestors().skip(1).take_while(|above| above.starts_with(root));
                wanted.extend(above.map(Path::to_owned));
                wanted.insert(path);
            }
            wanted
        });
        move |path| !without.contains(path) && only.as_ref().is_none_or(|only| only.contains(path))
    }
}

/// Lists a vault, or the part of it that `scope` names. `.gitignore` is honoured whether or not
/// there is a repository; symbolic links are not followed. A folder that is not there is an error,
/// so that an unmounted drive is never taken for a vault whose notes are all gone.
pub fn walk(root: &Path, scope: &Scope) -> Result<Walk> {
    let limit = scope.limit;
    let root = root.canonicalize().doing(format_args!("open the vault `{}`", root.display()))?;
    if !root.is_dir() {
        return Err(Error::internal(format!("the vault `{}` is not a folder", root.display())));
    }
    let mut walk = Walk::default();
    let tools = |name: &std::ffi::OsStr| IGNORED.iter().any(|ignored| name == *ignored);
    let wanted = scope.filter(&root);
    let entries = WalkBuilder::new(&root)
        .hidden(false)
        .ignore(false)
        .git_global(false)
        .require_git(false)
        .parents(false)
        .follow_links(false)
        .filter_entry(move |entry| {
            entry.depth() == 0 || (!tools(entry.file_name()) && wanted(entry.path()))
        })
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
        let name = entry.file_name().to_string_lossy();
        if kind.is_file() && name.starts_with(TEMPORARY) && name.ends_with(".tmp") {
            self.unfinished.push(path.to_owned());
        }
        if !is_note(path) || kind.is_dir() {
            return;
        }
        if !kind.is_file() {
            return skip(Reason::Special(special(kind)));
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
                if let Some(error) = refusal(path, &metadata) {
                    return skip(Reason::Unreadable(error.to_string()));
                }
                let stamp = Stamp::of(&metadata);
                self.files.push(NoteFile { path: name, file: path.to_owned(), stamp });
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

/// Why a file may not be read, found out before its content is needed. Only a file that not
/// everybody may read is opened for it.
#[cfg(unix)]
fn refusal(file: &Path, metadata: &std::fs::Metadata) -> Option<std::io::Error> {
    use std::os::unix::fs::PermissionsExt;
    if metadata.permissions().mode() & 0o444 == 0o444 {
        return None;
    }
    let error = std::fs::File::open(file).err()?;
    (error.kind() == std::io::ErrorKind::PermissionDenied).then_some(error)
}

#[cfg(not(unix))]
fn refusal(_file: &Path, _metadata: &std::fs::Metadata) -> Option<std::io::Error> {
    None
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
        let walk = walk(vault.path(), &Scope::whole(1000)).unwrap();
        assert_eq!(
            names(&walk),
            ["A.MD", "_private/c.md", "b.md", "Дневник/май.md", "日記/五月.md"]
        );
        assert!(walk.skipped.is_empty());
        assert!(walk.files[1].path.is_private());
    }

    #[test]
    fn a_part_is_listed_by_the_rules_of_the_whole() {
        let vault = vault(&["a.md", "drafts/b.md", "x/c.md", "x/d.md", ".trash/e.md", "in/f.md"]);
        File::create(vault.path().join(".gitignore")).unwrap().write_all(b"drafts/\n").unwrap();
        File::create(vault.path().join("x/.gitignore")).unwrap().write_all(b"d.md\n").unwrap();
        let all = ["a.md", "drafts/b.md", "x/c.md", "x/d.md", ".trash/e.md", "in/f.md", "no.md"];
        let root = vault.path().canonicalize().unwrap();
        let mut scope = Scope::whole(1000);
        scope.without = vec![root.join("in")];
        let whole = walk(vault.path(), &scope).unwrap();
        assert_eq!(names(&whole), ["a.md", "x/c.md"]);
        scope.only = Some(all.map(PathBuf::from).to_vec());
        assert_eq!(walk(vault.path(), &scope).unwrap(), whole);
        scope.only = Some(vec![PathBuf::from("x/c.md")]);
        assert_eq!(names(&walk(vault.path(), &scope).unwrap()), ["x/c.md"]);
    }

    #[test]
    fn a_missing_vault_is_an_error_and_not_an_empty_one() {
        let vault = vault(&["a.md"]);
        assert!(walk(&vault.path().join("nowhere"), &Scope::whole(1000)).is_err());
        assert!(walk(&vault.path().join("a.md"), &Scope::whole(1000)).is_err());
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
        let walk = walk(at, &Scope::whole(1000)).unwrap();
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
