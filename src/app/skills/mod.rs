//! Skills: folders of a vault with a `SKILL.md`, as they are, with their files; and every page that
//! is a method, as a skill that is generated from it.
//!
//! Digests are of what is on disk at this moment. Stamps of files and folders tell which of them
//! have to be read for that.

pub mod address;
mod folder;
mod generated;
mod guard;
mod hosted;
mod media;
pub mod names;
pub mod sync;

use std::{
    borrow::Cow,
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use base64::Engine as _;
use serde_json::{Map, Value};

use self::{
    address::{Address, SKILL},
    folder::Folder,
    generated::Generated,
    hosted::{Fronts, HostedFolder, Looked},
};
use super::{
    App,
    library::{PagesSince, pages_since},
    methods::Method,
    page::Cursor,
    resources::Content,
    rights::{Right, Rights},
};
use crate::{
    domain::{Error, Kind, Pid, Result, Toolset},
    store::pages::PageRow,
};

/// The most files of a skill, `SKILL.md` included, that every host loads.
pub const MAX_FILES: usize = 512;

/// The most bytes of a skill's files together that every host loads.
pub const MAX_BYTES: u64 = 16 << 20;

/// The media type of a folder.
pub const DIRECTORY: &str = "inode/directory";

/// A skill as one caller may read it.
#[derive(Debug, Clone)]
pub struct Skill {
    /// The address of its `SKILL.md`.
    pub uri: String,
    /// The frontmatter of its `SKILL.md`, every field as it is written.
    pub frontmatter: Arc<Map<String, Value>>,
    /// Its files by path, `SKILL.md` included.
    pub files: Vec<SkillFile>,
    /// Symbolic links in its folder, which are not followed.
    pub links: Vec<String>,
    content: SkillContent,
}

/// A file of a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillFile {
    /// Relative to the skill's folder.
    pub path: String,
    /// Its address.
    pub uri: String,
    /// SHA-256 of its bytes.
    pub digest: [u8; 32],
    /// Bytes.
    pub size: u64,
    /// Whether it is to be run.
    pub is_executable: bool,
}

/// Where the bytes of a skill are.
#[derive(Debug, Clone)]
enum SkillContent {
    Folder(Arc<Folder>),
    Generated(Arc<Generated>),
    Hosted(HostedFolder),
}

/// A `SKILL.md` that makes no skill, or a folder that cannot be served as one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// The address that it would have.
    pub uri: String,
    /// The vault and path of the `SKILL.md`, as people read it.
    pub path: String,
    /// Why, and what to do.
    pub reason: String,
}

/// One page of a list of skills.
#[derive(Debug, Default)]
pub struct SkillPage {
    /// The skills.
    pub skills: Vec<Skill>,
    /// The cursor of the next page.
    pub next: Option<String>,
    /// What was passed over on this page.
    pub left_out: Vec<LeftOut>,
}

/// A child of a folder of a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Child {
    /// Its address.
    pub uri: String,
    /// Its name in the folder.
    pub name: String,
    /// Its media type; [`DIRECTORY`] for a folder.
    pub mime_type: &'static str,
    /// Bytes of a file.
    pub size: Option<u64>,
}

impl Skill {
    /// Its name.
    pub fn name(&self) -> &str {
        self.frontmatter.get("name").and_then(Value::as_str).unwrap_or_default()
    }

    /// When to use it.
    pub fn description(&self) -> &str {
        self.frontmatter.get("description").and_then(Value::as_str).unwrap_or_default()
    }

    /// Whether it was generated from a method.
    pub fn is_generated(&self) -> bool {
        matches!(self.content, SkillContent::Generated(_))
    }

    /// The `SKILL.md` in the list of files.
    pub fn manifest(&self) -> Option<&SkillFile> {
        self.files.iter().find(|file| file.path == SKILL)
    }

    /// The bytes of a file. A file that changed since the skill was read is an error.
    pub fn bytes(&self, path: &str) -> Result<Vec<u8>> {
        match &self.content {
            SkillContent::Generated(generated) => Ok(generated.text.clone().into_bytes()),
            SkillContent::Folder(folder) => folder.bytes(path),
            SkillContent::Hosted(folder) => {
                let file = self.files.iter().find(|file| file.path == path);
                folder.bytes(file.ok_or_else(|| changed(path))?)
            }
        }
    }

    /// What is directly in a folder of the skill; `None` if there is no such folder.
    fn children(&self, folder: &str) -> Option<Vec<Child>> {
        let prefix = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        let mut children: Vec<Child> = Vec::new();
        for file in &self.files {
            let Some(rest) = file.path.strip_prefix(&prefix) else { continue };
            match rest.split_once('/') {
                None => children.push(Child {
                    uri: file.uri.clone(),
                    name: rest.to_owned(),
                    mime_type: media::of_name(rest),
                    size: Some(file.size),
                }),
                Some((name, below)) => {
                    let end = file.uri.len().saturating_sub(encoded_len(below) + 1);
                    let uri = file.uri.get(..end).unwrap_or(&file.uri).to_owned();
                    if children.last().is_none_or(|last| last.uri != uri) {
                        let (name, mime_type) = (name.to_owned(), DIRECTORY);
                        children.push(Child { uri, name, mime_type, size: None });
                    }
                }
            }
        }
        children.sort_by(|a, b| a.name.cmp(&b.name));
        children.dedup();
        (!children.is_empty() || folder.is_empty()).then_some(children)
    }
}

/// How long a path is in an address.
fn encoded_len(path: &str) -> usize {
    address::of_vault("", path).len() - address::of_vault("", "").len()
}

/// Pages called `SKILL.md`, with the address of each.
type Pages = Arc<Vec<(String, PageRow)>>;

/// Skills that were read, until their files change.
#[derive(Default)]
pub struct SkillCache {
    /// The pages called `SKILL.md` as of a position of the change log, by address.
    pages: Mutex<Option<(i64, Pages)>>,
    folders: Mutex<HashMap<Pid, Arc<Folder>>>,
    generated: Mutex<HashMap<(Pid, String), Arc<Generated>>>,
    fronts: Mutex<Fronts>,
}

/// A skill that is there by its name, before any of its files was looked at.
struct Candidate<'a> {
    uri: Cow<'a, str>,
    origin: Origin<'a>,
}

enum Origin<'a> {
    Page(&'a PageRow),
    Method(Box<Method>, String),
}

impl Candidate<'_> {
    /// Folders come before methods, each by address.
    fn place(&self) -> (bool, &str) {
        (matches!(self.origin, Origin::Method(..)), &self.uri)
    }
}

impl App {
    /// A page of the skills that this caller may read.
    pub fn skills(
        &self,
        cursor: Option<String>,
        most: usize,
        rights: &Rights,
    ) -> Result<SkillPage> {
        self.await_first_look();
        let after = Cursor::read(cursor)?.0;
        let pages = self.skill_pages()?;
        let candidates = self.candidates(&pages, rights)?;
        let start = match &after {
            None => 0,
            Some(after) => {
                let after = (Address::parse(after).is_some_and(|a| a.is_method()), after.as_str());
                candidates.partition_point(|candidate| candidate.place() <= after)
            }
        };
        let mut page = SkillPage::default();
        let mut looked = Looked::default();
        let vaults = self.store.pages.vaults()?;
        for candidate in candidates.get(start..).unwrap_or_default() {
            if page.skills.len() == most {
                page.next = page.skills.last().map(|last| Cursor::write(&last.uri));
                break;
            }
            match self.read_skill(candidate, rights, &vaults, &mut looked)? {
                Ok(skill) => page.skills.push(skill),
                Err(left_out) => page.left_out.push(left_out),
            }
        }
        Ok(page)
    }

    /// Every skill that this caller may read, with what makes none.
    pub fn all_skills(&self, rights: &Rights) -> Result<SkillPage> {
        self.skills(None, usize::MAX, rights)
    }

    /// The skill whose `SKILL.md` has this address.
    pub fn skill(&self, uri: &str, rights: &Rights) -> Result<Option<Skill>> {
        let Some(address) = Address::parse(uri) else { return Ok(None) };
        let is_manifest = match &address {
            Address::Vault { path, .. } => path.file_name() == SKILL,
            Address::Method { file, .. } => file.as_deref() == Some(SKILL),
        };
        if !is_manifest {
            return Ok(None);
        }
        let found = self.skills_above(&address, rights)?;
        Ok(found.into_iter().find(|skill| skill.uri == uri || is_same(&skill.uri, &address)))
    }

    /// A file of a skill; `None` when this caller may read none of that address.
    pub(super) fn read_skill_file(&self, uri: &str, rights: &Rights) -> Result<Option<Content>> {
        let Some(address) = Address::parse(uri) else { return Ok(None) };
        for skill in self.skills_above(&address, rights)? {
            let Some(file) = skill.files.iter().find(|file| is_same(&file.uri, &address)) else {
                continue;
            };
            let mime_type = media::of_name(&file.path);
            let meta = Value::Object(Map::new());
            return Ok(Some(match String::from_utf8(skill.bytes(&file.path)?) {
                Ok(text) => Content::Text { mime_type, text, meta },
                Err(bytes) => Content::Bytes {
                    mime_type: mime_type.to_owned(),
                    base64: base64::engine::general_purpose::STANDARD.encode(bytes.into_bytes()),
                },
            }));
        }
        Ok(None)
    }

    /// What is directly in a folder of a skill; `None` when the address is that of no such folder.
    pub fn skill_folder(
        &self,
        uri: &str,
        cursor: Option<String>,
        most: usize,
        rights: &Rights,
    ) -> Result<Option<(Vec<Child>, Option<String>)>> {
        let Some(address) = Address::parse(uri) else { return Ok(None) };
        for skill in self.skills_above(&address, rights)? {
            let root = Address::parse(address::folder(&skill.uri));
            let below = match (&root, &address) {
                (Some(Address::Vault { path: root, .. }), Address::Vault { path, .. }) => {
                    match path.as_str().strip_prefix(root.as_str()) {
                        Some("") => Some(String::new()),
                        Some(below) => below.strip_prefix('/').map(str::to_owned),
                        None => None,
                    }
                }
                (_, Address::Method { file: None, .. }) => Some(String::new()),
                _ => None,
            };
            if let Some(children) = below.and_then(|below| skill.children(&below)) {
                let page = Cursor::read(cursor)?.page(children, most, |child| &child.name)?;
                return Ok(Some(page));
            }
        }
        Ok(None)
    }

    /// The skills that an address is in, the innermost first.
    fn skills_above(&self, address: &Address, rights: &Rights) -> Result<Vec<Skill>> {
        self.await_first_look();
        let vaults = self.store.pages.vaults()?;
        let mut looked = Looked::default();
        let pages = self.skill_pages()?;
        let mut found: Vec<Candidate<'_>> = match address {
            Address::Method { name, .. } => {
                let uri = address::of_method(name);
                let mut methods =
                    self.method_candidates(&page_candidates(&pages, rights), rights)?;
                methods.retain(|candidate| candidate.uri == uri);
                methods
            }
            Address::Vault { vault, path } => {
                let mut pages = page_candidates(&pages, rights);
                pages.retain(|candidate| match &candidate.origin {
                    Origin::Page(row) => {
                        let folder = row.facts.page.path.folder();
                        let below = path.as_str().strip_prefix(folder);
                        row.vault == *vault
                            && below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
                    }
                    Origin::Method(..) => false,
                });
                pages
            }
        };
        found.sort_by_key(|candidate| std::cmp::Reverse(candidate.uri.len()));
        let mut skills = Vec::new();
        for candidate in &found {
            skills.extend(self.read_skill(candidate, rights, &vaults, &mut looked)?.ok());
        }
        Ok(skills)
    }

    fn candidates<'a>(
        &self,
        pages: &'a [(String, PageRow)],
        rights: &Rights,
    ) -> Result<Vec<Candidate<'a>>> {
        // Both are by address, and folders come first.
        let mut all = page_candidates(pages, rights);
        let mut methods = self.method_candidates(&all, rights)?;
        methods.sort_by(|a, b| a.uri.cmp(&b.uri));
        all.extend(methods);
        Ok(all)
    }

    /// The skills of methods. A folder of the caller's keeps its name.
    fn method_candidates(
        &self,
        folders: &[Candidate<'_>],
        rights: &Rights,
    ) -> Result<Vec<Candidate<'static>>> {
        if !has_skills(rights) {
            return Ok(Vec::new());
        }
        let mut methods = self.methods(rights)?;
        methods.retain(|method| !method.is_initialize());
        let named: Vec<(Pid, &str)> =
            methods.iter().map(|method| (method.pid(), method.name.as_str())).collect();
        let taken =
            folders.iter().filter_map(|folder| address::folder(&folder.uri).rsplit('/').next());
        let names = names::of_methods(&named, taken);
        let candidates = methods.into_iter().zip(names).map(|(method, name)| Candidate {
            uri: address::of_method(&name).into(),
            origin: Origin::Method(Box::new(method), name),
        });
        Ok(candidates.collect())
    }

    /// Every page called `SKILL.md`, by address.
    fn skill_pages(&self) -> Result<Pages> {
        let mut kept = self.skill_cache.pages.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((at, pages)) = kept.as_mut()
            && let PagesSince::Same(head) = pages_since(self.store.items.as_ref(), *at)?
        {
            *at = head;
            return Ok(pages.clone());
        }
        let head = self.store.items.head()?;
        let addressed = |row: PageRow| (address::of_vault(&row.vault, &row.path), row);
        let mut pages: Vec<(String, PageRow)> =
            self.store.pages.named(SKILL)?.into_iter().map(addressed).collect();
        pages.sort_by(|a, b| a.0.cmp(&b.0));
        let pages = Arc::new(pages);
        *kept = Some((head, pages.clone()));
        Ok(pages)
    }

    /// What a caller's list of skills is made from: it changes when the list may have.
    pub fn skills_version(&self, rights: &Rights) -> Result<Vec<(Pid, [u8; 32])>> {
        let pages = self.skill_pages()?;
        let seen = pages.iter().filter(|(_, row)| rights.sees(&row.facts.page));
        Ok(seen.map(|(_, row)| (row.pid, row.hash)).collect())
    }

    fn read_skill(
        &self,
        candidate: &Candidate<'_>,
        rights: &Rights,
        vaults: &[crate::store::pages::VaultRow],
        looked: &mut Looked,
    ) -> Result<std::result::Result<Skill, LeftOut>> {
        let is_hosted =
            |row: &PageRow| vaults.iter().any(|vault| vault.name == row.vault && vault.is_hosted());
        match &candidate.origin {
            Origin::Page(row) if is_hosted(row) => {
                self.hosted_skill(&candidate.uri, row, rights, looked)
            }
            Origin::Page(row) => {
                self.folder_skill(&candidate.uri, row, rights, vaults, &mut looked.marks)
            }
            Origin::Method(method, name) => self.generated_skill(method, name, rights),
        }
    }
}

impl Address {
    fn is_method(&self) -> bool {
        matches!(self, Self::Method { .. })
    }
}

/// Whether two addresses are of the same file, whatever their spelling.
fn is_same(uri: &str, address: &Address) -> bool {
    Address::parse(uri).as_ref() == Some(address)
}

fn page_candidates<'a>(pages: &'a [(String, PageRow)], rights: &Rights) -> Vec<Candidate<'a>> {
    let has_skills = has_skills(rights);
    let seen = pages.iter().filter(|(_, row)| has_skills && rights.sees(&row.facts.page));
    seen.map(|(uri, row)| Candidate { uri: uri.as_str().into(), origin: Origin::Page(row) })
        .collect()
}

/// Whether a request has skills at all: they are pages of vaults.
pub fn has_skills(rights: &Rights) -> bool {
    rights.may(Right::Use(Toolset::Vault)) && rights.may(Right::Read(Kind::Page))
}

/// The error of a file that changed while it was asked for.
fn changed(path: &str) -> Error {
    Error::conflict(format!(
        "`{path}` changed while it was read; ask for the skill again and repeat the request"
    ))
}
