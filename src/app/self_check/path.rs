//! Which program a shell starts.

use std::path::{Path, PathBuf};

use crate::{app::doctor::Finding, config};

const NAME: &str = if cfg!(windows) { "notewell.exe" } else { "notewell" };

/// Every program of this name in `PATH`, and findings where it is not this one alone.
pub(super) fn programs(own: Option<&Path>, findings: &mut Vec<Finding>) -> Vec<PathBuf> {
    let found = in_folders(&config::search_path());
    let resolve = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    let own = own.map(resolve);
    let Some(first) = found.first() else {
        findings.push(Finding::note(
            "there is no `notewell` in PATH, so a shell does not find it by its name",
            own.as_deref().and_then(Path::parent).map_or_else(String::new, |folder| {
                let file = if cfg!(target_os = "macos") { "~/.zprofile" } else { "~/.profile" };
                format!("add `{}` to PATH in {file}", folder.display())
            }),
        ));
        return found;
    };
    if own.as_ref().is_some_and(|own| resolve(first) != *own) {
        findings.push(Finding::note(
            format!("a shell starts `{}`, and this is another program", first.display()),
            "remove the one that you do not want, or change the order of PATH",
        ));
    }
    let mut distinct: Vec<PathBuf> = found.iter().map(|path| resolve(path)).collect();
    distinct.sort();
    distinct.dedup();
    if distinct.len() > 1 {
        let names: Vec<String> = found.iter().map(|path| format!("`{}`", path.display())).collect();
        findings.push(Finding::note(
            format!("PATH has {} programs of this name: {}", distinct.len(), names.join(", ")),
            "the first one is started; remove the others, so that clients and shells use one version",
        ));
    }
    found
}

/// The files of this name in the folders of a search path, each once.
fn in_folders(search_path: &str) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = Vec::new();
    for folder in std::env::split_paths(search_path) {
        let file = folder.join(NAME);
        if file.is_file() && !found.contains(&file) {
            found.push(file);
        }
    }
    found
}
