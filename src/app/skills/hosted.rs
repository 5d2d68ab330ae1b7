//! A folder of a hosted vault with a `SKILL.md`: its files are rows, with their digests.

use std::{
    collections::HashMap,
    sync::{Arc, PoisonError},
};

use serde_json::{Map, Value};

use super::{
    LeftOut, MAX_BYTES, MAX_FILES, Skill, SkillContent, SkillFile,
    address::{self, SKILL},
    changed,
    folder::check,
};
use crate::{
    app::{App, rights::Rights},
    domain::Result,
    store::{Hosted, hosted::HostedFile, pages::PageRow},
    vault::bundle::{Marks, Obstacle},
};

/// What one request has looked up already, for all skills of its list.
#[derive(Default)]
pub struct Looked {
    /// Stamps of files.
    pub marks: Marks,
    /// The files of hosted vaults, by path.
    hosted: HashMap<String, Arc<Vec<HostedFile>>>,
}

impl Looked {
    fn files(&mut self, store: &dyn Hosted, vault: &str) -> Result<Arc<Vec<HostedFile>>> {
        if let Some(files) = self.hosted.get(vault) {
            return Ok(files.clone());
        }
        let mut files = store.below(vault, "")?;
        files.retain(|file| !file.is_folder());
        files.sort_by(|a, b| a.path.cmp(&b.path));
        let files = Arc::new(files);
        self.hosted.insert(vault.to_owned(), files.clone());
        Ok(files)
    }
}

/// Where the files of a hosted skill are.
#[derive(Clone)]
pub struct HostedFolder {
    store: Arc<dyn Hosted>,
    vault: String,
    folder: String,
}

impl std::fmt::Debug for HostedFolder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HostedFolder").field("folder", &self.folder).finish_non_exhaustive()
    }
}

impl HostedFolder {
    /// The bytes of a file, if they are still those of the digest.
    pub(super) fn bytes(&self, file: &SkillFile) -> Result<Vec<u8>> {
        let path = format!("{}/{}", self.folder, file.path);
        match self.store.read(&self.vault, &path)? {
            Some((now, bytes)) if now.hash == Some(file.digest) => Ok(bytes),
            _ => Err(changed(&file.path)),
        }
    }
}

/// The frontmatter of a `SKILL.md`, as of one digest.
pub type Fronts = HashMap<crate::domain::Pid, ([u8; 32], Arc<Map<String, Value>>)>;

impl App {
    /// The skill of a `SKILL.md` of a hosted vault that the caller sees.
    pub(super) fn hosted_skill(
        &self,
        uri: &str,
        row: &PageRow,
        rights: &Rights,
        looked: &mut Looked,
    ) -> Result<std::result::Result<Skill, LeftOut>> {
        let all = looked.files(&*self.store.hosted, &row.vault)?;
        let folder = row.facts.page.path.folder();
        let content = HostedFolder {
            store: self.store.hosted.clone(),
            vault: row.vault.clone(),
            folder: folder.to_owned(),
        };
        let read = self.hosted_files(row, folder, &all, rights)?;
        let found = match read {
            Ok(files) => {
                self.hosted_front(row, folder, &files, &content)?.map(|front| (files, front))
            }
            Err(obstacle) => Err(format!(
                "{obstacle}; make it smaller, or move what is not part of the skill out of its folder"
            )),
        };
        Ok(match found {
            Ok((files, frontmatter)) => Ok(Skill {
                uri: uri.to_owned(),
                frontmatter,
                files,
                links: Vec::new(),
                content: SkillContent::Hosted(content),
            }),
            Err(reason) => {
                let path = format!("{}/{}", row.vault, row.path);
                Err(LeftOut { uri: uri.to_owned(), path, reason })
            }
        })
    }

    fn hosted_files(
        &self,
        row: &PageRow,
        folder: &str,
        all: &[HostedFile],
        rights: &Rights,
    ) -> Result<std::result::Result<Vec<SkillFile>, Obstacle>> {
        let prefix = format!("{folder}/");
        let start = all.partition_point(|file| file.path.as_str() < prefix.as_str());
        let below = all.get(start..).unwrap_or_default().iter();
        let limit = (self.config.limits.result_bytes as u64).min(MAX_BYTES);
        let (mut files, mut count, mut bytes) = (Vec::new(), 0, 0);
        for file in below.take_while(|file| file.path.starts_with(&prefix)) {
            let Some((path, digest)) = file.path.strip_prefix(&prefix).zip(file.hash) else {
                continue;
            };
            if path.split('/').any(|part| part.starts_with('.')) {
                continue;
            }
            (count, bytes) = (count + 1, bytes + file.size);
            if count > MAX_FILES {
                return Ok(Err(Obstacle::Files(MAX_FILES)));
            }
            if bytes > MAX_BYTES {
                return Ok(Err(Obstacle::Bytes(MAX_BYTES)));
            }
            if file.size > limit {
                let path = path.to_owned();
                return Ok(Err(Obstacle::File { path, size: file.size, limit }));
            }
            if !self.sees_file(row, path, &file.path, rights)? {
                continue;
            }
            files.push(SkillFile {
                uri: address::of_vault(&row.vault, &file.path),
                path: path.to_owned(),
                digest,
                size: file.size,
                is_executable: false,
            });
        }
        Ok(Ok(files))
    }

    fn hosted_front(
        &self,
        row: &PageRow,
        folder: &str,
        files: &[SkillFile],
        content: &HostedFolder,
    ) -> Result<std::result::Result<Arc<Map<String, Value>>, String>> {
        let Some(manifest) = files.iter().find(|file| file.path == SKILL) else {
            return Ok(Err("its `SKILL.md` is not there any more".to_owned()));
        };
        let known = {
            let fronts = self.skill_cache.fronts.lock().unwrap_or_else(PoisonError::into_inner);
            fronts.get(&row.pid).filter(|(digest, _)| *digest == manifest.digest).cloned()
        };
        if let Some((_, front)) = known {
            return Ok(Ok(front));
        }
        let text = match content.bytes(manifest).map(String::from_utf8) {
            Ok(Ok(text)) => text,
            Ok(Err(_)) => return Ok(Err("its `SKILL.md` is not UTF-8".to_owned())),
            Err(error) => return Ok(Err(error.message)),
        };
        Ok(check(&text, folder).map(|front| {
            let front = Arc::new(front);
            let mut fronts = self.skill_cache.fronts.lock().unwrap_or_else(PoisonError::into_inner);
            fronts.insert(row.pid, (manifest.digest, front.clone()));
            front
        }))
    }
}
