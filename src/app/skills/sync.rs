//! Writes skills where clients look for them on disk, and follows changes.
//!
//! A file beside the skills names every file that was written, with its digest. Only those are ever
//! changed or removed, and only while they hold what was written.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{Skill, SkillPage};
use crate::{
    app::{App, rights::Rights},
    domain::{Error, Result, error::Doing},
    vault,
};

/// The file that names what was written.
pub const MANIFEST: &str = ".notewell-skills.json";

/// What one run did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// Skills that were new or had changed.
    pub written: Vec<String>,
    /// Skills that are not in the library any more.
    pub removed: Vec<String>,
    /// How many skills were as they should be.
    pub unchanged: usize,
    /// What was left alone, with the reason.
    pub left_alone: Vec<LeftAlone>,
}

/// A skill or a file that was not written or removed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct LeftAlone {
    /// The skill or the file.
    pub name: String,
    /// Why, and what to do.
    pub reason: String,
}

impl Report {
    /// Whether anything was written or removed.
    pub fn has_changes(&self) -> bool {
        !self.written.is_empty() || !self.removed.is_empty()
    }

    fn leave(&mut self, name: impl Into<String>, reason: impl Into<String>) {
        self.left_alone.push(LeftAlone { name: name.into(), reason: reason.into() });
    }
}

/// What was written, by skill.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct Manifest {
    skills: BTreeMap<String, Written>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct Written {
    /// The library that the skill is of: several may share a folder.
    library: String,
    uri: String,
    /// Digests by path.
    files: BTreeMap<String, String>,
}

impl App {
    /// Brings a folder of skills up to the library. What Notewell did not write stays as it is.
    pub fn sync_skills(&self, folder: &Path, rights: &Rights) -> Result<Report> {
        let page = self.all_skills(rights)?;
        let library = self.store.items.library()?.to_string();
        fs::create_dir_all(folder).doing(format_args!("make the folder `{}`", folder.display()))?;
        Run { folder, library, manifest: read_manifest(folder)?, report: Report::default() }
            .all(&page)
    }
}

fn read_manifest(folder: &Path) -> Result<Manifest> {
    let file = folder.join(MANIFEST);
    match fs::read(&file) {
        Ok(bytes) => serde_json::from_slice(&bytes).map_err(|error| {
            Error::invalid_params(format!(
                "`{}` cannot be read ({error}), so it is not known which files Notewell wrote; nothing was changed. Delete it to take up the skills whose files are still as they were written",
                file.display()
            ))
        }),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Manifest::default()),
        Err(error) => Err(error).doing(format_args!("read `{}`", file.display())),
    }
}

struct Run<'a> {
    folder: &'a Path,
    library: String,
    manifest: Manifest,
    report: Report,
}

impl Run<'_> {
    fn all(mut self, page: &SkillPage) -> Result<Report> {
        let mut names: BTreeMap<&str, &str> = BTreeMap::new();
        for skill in &page.skills {
            if let Some(other) = names.get(skill.name()) {
                let reason =
                    format!("has the name of `{other}`, which was written; rename one of them");
                self.report.leave(skill.uri.clone(), reason);
                continue;
            }
            names.insert(skill.name(), &skill.uri);
            self.one(skill)?;
        }
        let unread: BTreeSet<&str> = page.left_out.iter().map(|one| one.uri.as_str()).collect();
        let gone: Vec<String> = self
            .manifest
            .skills
            .iter()
            .filter(|(name, written)| {
                written.library == self.library && !names.contains_key(name.as_str())
            })
            .map(|(name, _)| name.clone())
            .collect();
        for name in gone {
            let uri = self.manifest.skills.get(&name).map_or("", |written| written.uri.as_str());
            if unread.contains(uri) {
                // What cannot be read now is not gone.
                let reason = "cannot be read now; it stays as it was written";
                self.report.leave(name, reason);
                continue;
            }
            self.remove(&name)?;
        }
        self.report.left_alone.sort();
        Ok(self.report)
    }

    fn one(&mut self, skill: &Skill) -> Result<()> {
        let name = skill.name();
        let place = self.folder.join(name);
        let known = self.manifest.skills.get(name).cloned();
        if known.as_ref().is_some_and(|known| known.library != self.library) {
            self.report.leave(name, "was written from another library; rename one of them");
            return Ok(());
        }
        if known.is_none() && !is_ours(&place, skill)? {
            let reason = format!(
                "`{}` is there and was not written by Notewell; move it away to have the skill",
                place.display()
            );
            self.report.leave(name, reason);
            return Ok(());
        }
        let before = known.clone().unwrap_or_default();
        let mut now = Written {
            library: self.library.clone(),
            uri: skill.uri.clone(),
            files: BTreeMap::new(),
        };
        let mut has_changed = known.is_none();
        for file in &skill.files {
            let target = place.join(&file.path);
            let wanted = hex(&file.digest);
            let recorded = before.files.get(&file.path);
            match state(self.folder, &target)? {
                State::Plain(digest) if digest == wanted => {}
                State::Plain(digest) if recorded != Some(&digest) => {
                    self.keep(name, &file.path, recorded, &mut now);
                    continue;
                }
                State::Other => {
                    self.keep(name, &file.path, recorded, &mut now);
                    continue;
                }
                State::Plain(_) | State::Absent => {
                    write(&target, &skill.bytes(&file.path)?, file.is_executable)?;
                    has_changed = true;
                }
            }
            now.files.insert(file.path.clone(), wanted);
        }
        for (path, digest) in &before.files {
            if !skill.files.iter().any(|file| file.path == *path) {
                has_changed |= self.remove_file(name, path, digest)?;
            }
        }
        match has_changed {
            true => self.report.written.push(name.to_owned()),
            false => self.report.unchanged += 1,
        }
        if known.as_ref() != Some(&now) {
            self.manifest.skills.insert(name.to_owned(), now);
            self.save()?;
        }
        Ok(())
    }

    /// Leaves a file alone that somebody else changed.
    fn keep(&mut self, name: &str, path: &str, recorded: Option<&String>, now: &mut Written) {
        let reason = "was changed there and stays; delete it to have the library's again";
        self.report.leave(format!("{name}/{path}"), reason);
        if let Some(recorded) = recorded {
            now.files.insert(path.to_owned(), recorded.clone());
        }
    }

    fn remove(&mut self, name: &str) -> Result<()> {
        let Some(written) = self.manifest.skills.get(name).cloned() else { return Ok(()) };
        for (path, digest) in &written.files {
            self.remove_file(name, path, digest)?;
        }
        self.manifest.skills.remove(name);
        self.report.removed.push(name.to_owned());
        self.save()
    }

    /// Removes a file that still holds what was written, and the folders that it leaves empty.
    fn remove_file(&mut self, name: &str, path: &str, digest: &str) -> Result<bool> {
        let target = self.folder.join(name).join(path);
        match state(self.folder, &target)? {
            State::Absent => return Ok(false),
            State::Plain(now) if now == digest => {}
            State::Plain(_) | State::Other => {
                let reason = "was changed there and stays, though the library has it no more";
                self.report.leave(format!("{name}/{path}"), reason);
                return Ok(false);
            }
        }
        fs::remove_file(&target).doing(format_args!("remove `{}`", target.display()))?;
        let above = target.ancestors().skip(1).take_while(|above| *above != self.folder);
        for folder in above {
            if fs::remove_dir(folder).is_err() {
                break;
            }
        }
        Ok(true)
    }

    fn save(&self) -> Result<()> {
        let json = serde_json::to_vec_pretty(&self.manifest).doing("write the list of skills")?;
        vault::replace(&self.folder.join(MANIFEST), &json)
    }
}

/// What is at a place where a file is to be.
enum State {
    Absent,
    /// A file with this digest.
    Plain(String),
    /// A folder, a link, or something below a link.
    Other,
}

fn state(folder: &Path, target: &Path) -> Result<State> {
    let above: Vec<&Path> =
        target.ancestors().skip(1).take_while(|above| *above != folder).collect();
    for part in above.into_iter().rev() {
        match fs::symlink_metadata(part) {
            Ok(metadata) if metadata.is_dir() => {}
            Ok(_) => return Ok(State::Other),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(State::Absent),
            Err(error) => return Err(error).doing(format_args!("look at `{}`", part.display())),
        }
    }
    match fs::symlink_metadata(target) {
        Ok(metadata) if metadata.is_file() => {
            let bytes = fs::read(target).doing(format_args!("read `{}`", target.display()))?;
            Ok(State::Plain(hex(&Sha256::digest(&bytes).into())))
        }
        Ok(_) => Ok(State::Other),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(State::Absent),
        Err(error) => Err(error).doing(format_args!("look at `{}`", target.display())),
    }
}

/// Whether a folder may be written to: it is not there, or holds nothing but files of the skill, as
/// a run that was interrupted leaves it.
fn is_ours(place: &Path, skill: &Skill) -> Result<bool> {
    match fs::symlink_metadata(place) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(true),
        Err(error) => return Err(error).doing(format_args!("look at `{}`", place.display())),
        Ok(metadata) if !metadata.is_dir() => return Ok(false),
        Ok(_) => {}
    }
    let mut open: Vec<PathBuf> = vec![place.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).doing(format_args!("list `{}`", folder.display()))? {
            let path = entry.doing(format_args!("list `{}`", folder.display()))?.path();
            let metadata = fs::symlink_metadata(&path);
            let metadata = metadata.doing(format_args!("look at `{}`", path.display()))?;
            if metadata.is_dir() {
                open.push(path);
                continue;
            }
            let relative = path.strip_prefix(place).ok().and_then(Path::to_str);
            let same = |file: &&super::SkillFile| Some(file.path.as_str()) == relative;
            let Some(file) = skill.files.iter().find(same).filter(|_| metadata.is_file()) else {
                return Ok(false);
            };
            let bytes = fs::read(&path).doing(format_args!("read `{}`", path.display()))?;
            if Sha256::digest(&bytes)[..] != file.digest[..] {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

fn write(target: &Path, bytes: &[u8], is_executable: bool) -> Result<()> {
    let folder = target.parent().unwrap_or(target);
    fs::create_dir_all(folder).doing(format_args!("make the folder `{}`", folder.display()))?;
    vault::replace(target, bytes)?;
    #[cfg(unix)]
    if is_executable {
        use std::os::unix::fs::PermissionsExt;
        let metadata =
            fs::metadata(target).doing(format_args!("look at `{}`", target.display()))?;
        // Who may read it may run it.
        let mode = metadata.permissions().mode();
        let permissions = fs::Permissions::from_mode(mode | ((mode & 0o444) >> 2));
        fs::set_permissions(target, permissions)
            .doing(format_args!("make `{}` executable", target.display()))?;
    }
    #[cfg(not(unix))]
    let _ = is_executable;
    Ok(())
}

/// A digest as text.
pub fn hex(digest: &[u8; 32]) -> String {
    const DIGITS: [char; 16] =
        ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'];
    let digits = digest.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.map(|digit| DIGITS[usize::from(digit)]).collect()
}
