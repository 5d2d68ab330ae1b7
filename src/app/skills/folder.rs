//! A folder of a vault with a `SKILL.md`.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, PoisonError},
};

use serde_json::{Map, Value};

use super::{
    LeftOut, MAX_BYTES, MAX_FILES, Skill, SkillContent, SkillFile,
    address::{self, SKILL, is_name},
    changed, names,
};
use crate::{
    app::{App, rights::Rights},
    domain::{Error, Result},
    markdown::frontmatter,
    store::pages::{PageRow, VaultRow},
    vault::{
        self,
        bundle::{Bundle, Limits, Marks},
    },
};

/// A folder as it was read last.
#[derive(Debug)]
pub struct Folder {
    bundle: Bundle,
    frontmatter: Arc<Map<String, Value>>,
    /// Where the vault's files were when it was read.
    root: PathBuf,
}

impl Folder {
    pub(super) fn bytes(&self, path: &str) -> Result<Vec<u8>> {
        let member = self.bundle.file(path).ok_or_else(|| changed(path))?;
        // A folder above it may have become a link since.
        let real = member.file.canonicalize().ok();
        if !real.is_some_and(|real| real.starts_with(&self.root)) {
            return Err(changed(path));
        }
        match member.bytes() {
            Ok(Some(bytes)) => Ok(bytes),
            Ok(None) => Err(changed(path)),
            Err(error) => Err(Error::outside(format!("`{path}` cannot be read: {error}"))),
        }
    }
}

impl App {
    /// The skill of a `SKILL.md` that the caller sees.
    pub(super) fn folder_skill(
        &self,
        uri: &str,
        row: &PageRow,
        rights: &Rights,
        vaults: &[VaultRow],
        marks: &mut Marks,
    ) -> Result<std::result::Result<Skill, LeftOut>> {
        let uri = uri.to_owned();
        let folder = match self.current_folder(row, vaults, marks) {
            Ok(folder) => folder,
            Err(reason) => {
                let path = format!("{}/{}", row.vault, row.path);
                return Ok(Err(LeftOut { uri, path, reason }));
            }
        };
        let inside = row.facts.page.path.folder();
        let mut files = Vec::with_capacity(folder.bundle.files.len());
        for member in &folder.bundle.files {
            let path = format!("{inside}/{}", member.path);
            if !self.sees_file(row, &member.path, &path, rights)? {
                continue;
            }
            files.push(SkillFile {
                uri: address::of_vault(&row.vault, &path),
                path: member.path.clone(),
                digest: member.digest,
                size: member.size,
                is_executable: member.is_executable,
            });
        }
        Ok(Ok(Skill {
            uri,
            frontmatter: folder.frontmatter.clone(),
            files,
            links: folder.bundle.links.clone(),
            content: SkillContent::Folder(folder),
        }))
    }

    /// Whether a caller who sees the `SKILL.md` may read a file beside it. Notes have their own
    /// readers; other files have those of the `SKILL.md`.
    pub(super) fn sees_file(
        &self,
        row: &PageRow,
        file: &str,
        path: &str,
        rights: &Rights,
    ) -> Result<bool> {
        if file == SKILL
            || rights.visible().is_everything()
            || !vault::walk::is_note(Path::new(file))
        {
            return Ok(true);
        }
        let page = self.store.pages.find(&row.vault, path)?;
        Ok(page.is_some_and(|page| rights.sees(&page.facts.page)))
    }

    /// The folder as it is on disk now, or why it is no skill.
    fn current_folder(
        &self,
        row: &PageRow,
        vaults: &[VaultRow],
        marks: &mut Marks,
    ) -> std::result::Result<Arc<Folder>, String> {
        let known = {
            let folders = self.skill_cache.folders.lock().unwrap_or_else(PoisonError::into_inner);
            folders.get(&row.pid).cloned()
        };
        if let Some(folder) = &known
            && folder.bundle.is_current(marks)
        {
            return Ok(folder.clone());
        }
        let vault = vaults.iter().find(|vault| vault.name == row.vault);
        let vault = vault.ok_or("its vault is not in the library any more")?;
        let without: Vec<PathBuf> = vaults.iter().map(|vault| vault.folder().to_owned()).collect();
        let root = vault.folder().canonicalize().map_err(|error| {
            format!("the folder of the vault `{}` cannot be read now: {error}", vault.name)
        })?;
        let file = vault::locate(&root, &row.facts.page.path);
        let place = file.parent().unwrap_or(&root);
        let limits = Limits {
            files: MAX_FILES,
            bytes: MAX_BYTES,
            file_bytes: (self.config.limits.result_bytes as u64).min(MAX_BYTES),
        };
        let before = known.as_ref().map(|folder| &folder.bundle);
        let bundle = Bundle::read(&root, place, &without, limits, before)
            .map_err(|obstacle| format!("{obstacle}; make it smaller, or move what is not part of the skill out of its folder"))?;
        let manifest = bundle.file(SKILL).ok_or("its `SKILL.md` is not there any more")?;
        let text = match manifest.bytes() {
            Ok(Some(bytes)) => {
                String::from_utf8(bytes).map_err(|_| "its `SKILL.md` is not UTF-8")?
            }
            Ok(None) => return Err("its `SKILL.md` changed while it was read".to_owned()),
            Err(error) => return Err(format!("its `SKILL.md` cannot be read: {error}")),
        };
        let frontmatter = Arc::new(check(&text, row.facts.page.path.folder())?);
        let folder = Arc::new(Folder { bundle, frontmatter, root });
        let mut folders = self.skill_cache.folders.lock().unwrap_or_else(PoisonError::into_inner);
        folders.insert(row.pid, folder.clone());
        Ok(folder)
    }
}

/// The frontmatter of a `SKILL.md`, or why it makes no skill.
pub(super) fn check(text: &str, folder: &str) -> std::result::Result<Map<String, Value>, String> {
    let split = frontmatter::split(text);
    let yaml = split.yaml.and_then(|range| text.get(range)).ok_or(
        "its `SKILL.md` does not begin with frontmatter; begin it with `---`, `name`, `description` and `---`",
    )?;
    let fields = frontmatter::values(yaml)
        .ok_or("the frontmatter of its `SKILL.md` is not valid YAML; fix it")?;
    let own = folder.rsplit('/').next().unwrap_or(folder);
    let name = match fields.get("name") {
        Some(Value::String(name)) if !name.is_empty() => name,
        Some(Value::Null) | None => {
            return Err(format!(
                "its `SKILL.md` has no `name`; add `name: {}`",
                if is_name(own) { own.to_owned() } else { names::plain(own) }
            ));
        }
        Some(_) => return Err("the `name` in its `SKILL.md` is not text; put it in quotes".into()),
    };
    if !is_name(name) {
        return Err(format!(
            "`name: {name}` in its `SKILL.md` is not a name that clients accept: it has a-z, 0-9 and single hyphens, at most 64; for example `{}`, for the folder too",
            names::plain(name)
        ));
    }
    if name != own {
        return Err(format!(
            "its `SKILL.md` has the name `{name}` and its folder is called `{own}`; clients want the same: rename the folder to `{name}`"
        ));
    }
    match fields.get("description") {
        Some(Value::String(text)) if !text.trim().is_empty() => Ok(fields),
        _ => Err("its `SKILL.md` has no `description`; say in a sentence what the skill does and when to use it".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn what_is_wrong_is_said_with_what_to_do() {
        let front = |fields: &str| format!("---\n{fields}\n---\n\nText.\n");
        let fine = check(&front("name: plan\ndescription: 週次計画\nmetadata: {v: '1'}"), "a/plan");
        let fine = fine.unwrap();
        assert_eq!(fine["description"], "週次計画");
        assert_eq!(fine["metadata"]["v"], "1");
        for (text, folder, part) in [
            ("No frontmatter.", "plan", "does not begin"),
            (&front("name: [plan"), "plan", "not valid YAML"),
            (&front("description: x"), "plan", "add `name: plan`"),
            (&front("description: x"), "Недельный план", "add `name: nedelnyy-plan`"),
            (&front("name: 3\ndescription: x"), "3", "in quotes"),
            (&front("name: Обзор кода\ndescription: x"), "x", "`obzor-koda`"),
            (&front("name: 計画\ndescription: x"), "x", "`skill-"),
            (&front("name: plan\ndescription: x"), "other", "rename the folder to `plan`"),
            (&front("name: plan"), "plan", "no `description`"),
            (&front("name: plan\ndescription: ''"), "plan", "no `description`"),
        ] {
            let error = check(text, folder).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
    }
}
