//! Files of a vault that are no notes, as notes name them: pictures, documents.

use std::path::{Path, PathBuf};

use ignore::WalkBuilder;

use super::{resolve::join_path, walk};
use crate::domain::VaultPath;

/// Files that are looked at for a name that says no folder.
const MAX_LOOKED_AT: usize = 200_000;

/// The file that a note means by a path: beside the note, from the top of the vault, or, for a name
/// alone, anywhere in it. Notes, hidden files, anything outside the vault and what is in the folder
/// of an inner vault are no attachments.
pub fn attachment(
    root: &Path,
    from: &VaultPath,
    target: &str,
    inner: &[PathBuf],
) -> Option<PathBuf> {
    let target = target.trim().trim_start_matches('/');
    let root = root.canonicalize().ok()?;
    let inner: Vec<PathBuf> = inner.iter().filter_map(|inner| inner.canonicalize().ok()).collect();
    let inside = |file: &Path| {
        inside(&root, file).filter(|file| !inner.iter().any(|inner| file.starts_with(inner)))
    };
    let beside = join_path(from.folder(), target);
    let places = [beside, Some(target.to_owned())].into_iter().flatten();
    let known = places.filter_map(|place| inside(&root.join(place))).next();
    match known {
        None if !target.is_empty() && !target.contains('/') => anywhere(&root, target, &inside),
        known => known,
    }
}

/// Whether a path that a note names is that of a file which is no note: its name has an ending.
pub fn names_file(target: &str) -> bool {
    let ending = target.rsplit('/').next().and_then(|name| name.rsplit_once('.'));
    ending.is_some_and(|(_, ending)| {
        let is_plain = |c: char| c.is_ascii_alphanumeric();
        (1..=8).contains(&ending.len())
            && ending.chars().all(is_plain)
            && ending.chars().any(|c| c.is_ascii_alphabetic())
            && !ending.eq_ignore_ascii_case("md")
    })
}

/// The file, if it is a plain one below the root and no link leads out.
fn inside(root: &Path, file: &Path) -> Option<PathBuf> {
    let file = file.canonicalize().ok()?;
    let below = file.strip_prefix(root).ok()?;
    let hidden = below.components().any(|part| {
        let name = part.as_os_str().to_string_lossy();
        name.starts_with('.') || walk::IGNORED.contains(&name.as_ref())
    });
    let is_plain = file.metadata().is_ok_and(|metadata| metadata.is_file());
    (is_plain && !hidden && !walk::is_note(&file)).then_some(file)
}

/// The first file of this name, by path.
fn anywhere(root: &Path, name: &str, inside: &dyn Fn(&Path) -> Option<PathBuf>) -> Option<PathBuf> {
    let mut walk = WalkBuilder::new(root);
    walk.require_git(false).follow_links(false);
    let files = walk.build().take(MAX_LOOKED_AT).filter_map(Result::ok);
    let named = files.filter(|entry| entry.file_name().to_string_lossy() == name);
    named.filter_map(|entry| inside(entry.path())).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test's own files")]
    fn only_files_of_the_vault_are_attachments() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("vault");
        std::fs::create_dir_all(root.join("notes/img")).unwrap();
        std::fs::create_dir_all(root.join(".obsidian")).unwrap();
        for file in ["notes/a.md", "notes/img/図.png", "top.png", ".obsidian/x.png"] {
            std::fs::write(root.join(file), "x").unwrap();
        }
        std::fs::write(dir.path().join("secret.png"), "x").unwrap();
        let from = VaultPath::parse("notes/a.md").unwrap();
        let find = |target: &str| attachment(&root, &from, target, &[]);
        for (target, expected) in [
            ("img/図.png", "notes/img/図.png"),
            ("図.png", "notes/img/図.png"),
            ("../top.png", "top.png"),
            ("/top.png", "top.png"),
        ] {
            assert_eq!(find(target), Some(root.canonicalize().unwrap().join(expected)), "{target}");
        }
        for target in
            ["", "../../secret.png", "a.md", "/.obsidian/x.png", "/etc/passwd", "img", "none.png"]
        {
            assert_eq!(find(target), None, "{target}");
        }
        let inner = [root.join("notes/img")];
        for target in ["img/図.png", "図.png", "/notes/img/図.png"] {
            assert_eq!(attachment(&root, &from, target, &inner), None, "{target}");
        }
        assert!(attachment(&root, &from, "top.png", &inner).is_some());
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(dir.path().join("secret.png"), root.join("link.png"))
                .unwrap();
            assert_eq!(find("link.png"), None);
        }
    }
}
