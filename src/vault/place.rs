//! Where a note may be written: inside the vault, through no symbolic link, under a name that every
//! system can keep and a link can name.

use std::{
    fs,
    path::{Path, PathBuf},
};

use ignore::gitignore::GitignoreBuilder;

use super::{read, walk};
use crate::domain::{Error, Result, VaultPath};

/// Bytes that a file's name may have; some of them are needed for the file that is written beside.
const MAX_NAME_BYTES: usize = 240;

/// Characters that some system or a link cannot have in a name.
const NOT_IN_NAMES: [char; 12] = ['*', '"', '<', '>', ':', '|', '?', '#', '^', '[', ']', '\u{7f}'];

/// The file of a path, which need not exist. Refuses symbolic links, the folders of other tools and
/// what is no note.
pub fn file_for_writing(root: &Path, path: &VaultPath) -> Result<PathBuf> {
    let refuse = |why: &str| {
        Err(Error::invalid_params(format!("path `{path}` {why}; name a note as `folder/note.md`")))
    };
    if !walk::is_note(Path::new(path.as_str())) {
        return refuse("is not a Markdown note");
    }
    let first = path.as_str().split('/').next().unwrap_or_default();
    if walk::IGNORED.contains(&first) && first != ".trash" {
        return refuse("is in a folder of another program");
    }
    let file = read::locate(root, path);
    let mut at = file.clone();
    while at != root {
        if fs::symlink_metadata(&at).is_ok_and(|metadata| metadata.is_symlink()) {
            return refuse("leads through a symbolic link, which is not written through");
        }
        if !at.pop() {
            return refuse("is outside the vault");
        }
    }
    match fs::symlink_metadata(&file) {
        Ok(metadata) if metadata.is_dir() => refuse("is a folder"),
        Ok(metadata) if !metadata.is_file() => refuse("is not a regular file"),
        Ok(metadata) if metadata.permissions().readonly() => Err(Error::invalid_params(format!(
            "`{path}` is read-only; make it writable first. Nothing was changed"
        ))),
        _ => Ok(file),
    }
}

/// Checks the name of a note that is about to be made.
pub fn check_new_name(path: &VaultPath) -> Result<()> {
    let refuse = |part: &str, why: &str| {
        Err(Error::invalid_params(format!(
            "`{part}` cannot be a file's name: {why}; choose another"
        )))
    };
    for part in path.as_str().split('/') {
        if part.len() > MAX_NAME_BYTES {
            return refuse(&part.chars().take(40).collect::<String>(), "it is too long");
        }
        if part.contains(NOT_IN_NAMES) {
            return refuse(part, "it has one of * \" < > : | ? # ^ [ ]");
        }
        if part.ends_with(['.', ' ']) || part.starts_with(' ') {
            return refuse(part, "it begins with a space, or ends with a space or a dot");
        }
        let stem = part.split('.').next().unwrap_or_default().trim().to_ascii_uppercase();
        let numbered = |prefix: &str| {
            stem.strip_prefix(prefix)
                .is_some_and(|rest| rest.len() == 1 && rest.chars().all(|c| c.is_ascii_digit()))
        };
        if matches!(stem.as_str(), "CON" | "PRN" | "AUX" | "NUL")
            || numbered("COM")
            || numbered("LPT")
        {
            return refuse(part, "it is reserved on Windows");
        }
    }
    Ok(())
}

/// Whether `.gitignore` keeps a path out of the library.
pub fn is_ignored(root: &Path, path: &VaultPath) -> bool {
    let file = root.join(path.as_str());
    let folders: Vec<&Path> =
        file.ancestors().skip(1).take_while(|at| at.starts_with(root)).collect();
    // The nearest file that has a rule for it decides.
    let rules = folders.iter().map(|folder| (*folder, folder.join(".gitignore")));
    for (folder, rules) in rules.chain([(root, root.join(".git/info/exclude"))]) {
        if !rules.is_file() {
            continue;
        }
        let mut builder = GitignoreBuilder::new(folder);
        if builder.add(&rules).is_some() {
            continue;
        }
        let Ok(rules) = builder.build() else { continue };
        let matched = rules.matched_path_or_any_parents(&file, false);
        if !matched.is_none() {
            return matched.is_ignore();
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> VaultPath {
        VaultPath::parse(text).unwrap()
    }

    fn put(root: &Path, name: &str) {
        let file = root.join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        super::super::replace(&file, b"x").unwrap();
    }

    #[test]
    fn names_that_some_system_cannot_keep_are_refused() {
        for good in
            ["a.md", "Дневник/2026-01-01.md", "日記/五月.md", "com.md", "COM10.md", "v1.2 (x).md"]
        {
            check_new_name(&path(good)).unwrap();
        }
        for bad in [
            "CON.md",
            "a/nul.txt.md",
            "lpt1.md",
            "a?.md",
            "ab:c.md",
            "a#b.md",
            "x /a.md",
            "x./a.md",
            " a.md",
        ] {
            assert!(check_new_name(&path(bad)).is_err(), "{bad}");
        }
        assert!(check_new_name(&path(&format!("{}.md", "ж".repeat(121)))).is_err());
    }

    #[test]
    fn only_regular_notes_inside_the_vault_are_written() {
        let vault = tempfile::tempdir().unwrap();
        let root = vault.path();
        put(root, "a/b.md");
        assert!(file_for_writing(root, &path("a/b.md")).is_ok());
        assert!(file_for_writing(root, &path("new/c.md")).is_ok());
        for bad in ["a", "a/b.txt", ".obsidian/x.md", ".git/x.md"] {
            assert!(file_for_writing(root, &path(bad)).is_err(), "{bad}");
        }
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(root.join("a"), root.join("link")).unwrap();
            std::os::unix::fs::symlink(root.join("a/b.md"), root.join("s.md")).unwrap();
            for bad in ["link/b.md", "s.md"] {
                let error = file_for_writing(root, &path(bad)).unwrap_err();
                assert!(error.message.contains("symbolic link"), "{error}");
            }
            let mut permissions = fs::metadata(root.join("a/b.md")).unwrap().permissions();
            permissions.set_readonly(true);
            fs::set_permissions(root.join("a/b.md"), permissions).unwrap();
            let error = file_for_writing(root, &path("a/b.md")).unwrap_err();
            assert!(error.message.contains("read-only"), "{error}");
        }
    }

    /// Neither a file nor a folder outside is written through a link, whatever it is called here.
    #[cfg(unix)]
    #[test]
    fn no_symbolic_link_leads_out() {
        use std::os::unix::fs::symlink;
        let (outside, vault) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        put(outside.path(), "secret.md");
        symlink(outside.path(), vault.path().join("out")).unwrap();
        symlink(outside.path().join("secret.md"), vault.path().join("s.md")).unwrap();
        symlink(outside.path().join("new.md"), vault.path().join("dangling.md")).unwrap();
        for name in ["out/secret.md", "out/new.md", "out/deep/new.md", "s.md", "dangling.md"] {
            let error = file_for_writing(vault.path(), &path(name)).unwrap_err();
            assert!(error.message.contains("symbolic link"), "{name}: {error}");
        }
        assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1);
    }

    #[test]
    fn ignored_paths_are_known_as_a_walk_knows_them() {
        let vault = tempfile::tempdir().unwrap();
        let root = vault.path().canonicalize().unwrap();
        let names =
            ["a.md", "drafts/b.md", "keep/drafts/c.md", "keep/x.md", "deep/no.md", "deep/yes.md"];
        for name in names {
            put(&root, name);
        }
        super::super::replace(&root.join(".gitignore"), b"/drafts/\nx.md\nno.md\n").unwrap();
        super::super::replace(&root.join("keep/.gitignore"), b"!x.md\n").unwrap();
        let walked = walk(&root, &walk::Scope::whole(100)).unwrap();
        for name in names {
            let found = walked.files.iter().any(|file| file.path == path(name));
            assert_eq!(is_ignored(&root, &path(name)), !found, "{name}");
        }
    }
}
