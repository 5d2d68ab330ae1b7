//! Items as MCP resources: every visible page as `notewell://item/{pid}`, one section of it as
//! `notewell://item/{pid}/{heading}`, the picture of a card as `notewell://card/{id}/image/{n}`, the
//! files of skills as `skill://…`.

use base64::Engine as _;
use percent_encoding::percent_decode_str;
use serde_json::{Value, json};

use super::{
    App,
    library::Library,
    page::Cursor,
    rights::{Right, Rights},
};
use crate::{
    domain::{Error, Kind, Pid, Result},
    store::pages::PageRow,
};

/// A form of address that resources have.
pub struct Template {
    /// The URI template.
    pub uri: &'static str,
    /// Its name.
    pub name: &'static str,
    /// What it addresses.
    pub description: &'static str,
    /// What a resource of this form is a part of.
    kind: Kind,
}

const TEMPLATES: &[Template] = &[
    Template {
        uri: "notewell://item/{pid}",
        name: "item",
        description: "An item of the library by its number, as Markdown",
        kind: Kind::Page,
    },
    Template {
        uri: "notewell://item/{pid}/{+toc_path}",
        name: "section",
        description: "One section of a note: its headings from the top, percent-encoded, with / between them",
        kind: Kind::Page,
    },
    Template {
        uri: "notewell://card/{id}/image/{n}",
        name: "card image",
        description: "A picture of a card, counted from 0",
        kind: Kind::Card,
    },
];

/// The forms of address that the request may read.
pub fn templates(rights: &Rights) -> impl Iterator<Item = &'static Template> {
    TEMPLATES.iter().filter(|template| rights.may(Right::Read(template.kind)))
}

/// How a cursor in the skills begins, which are listed after the pages.
const SKILLS: &str = "skill ";

/// A resource as a list shows it.
pub struct Listed {
    /// The URI.
    pub uri: String,
    /// The path or id.
    pub name: String,
    /// The title.
    pub title: String,
    /// What it is for.
    pub description: Option<String>,
    /// The media type.
    pub mime_type: &'static str,
    /// Bytes of the text.
    pub size: Option<u64>,
    /// Who links here, and where it links to, as far as the caller may see it.
    pub meta: Value,
}

/// What reading a resource gives.
pub enum Content {
    /// Text, with the item's facts in `meta`.
    #[allow(missing_docs, reason = "described above")]
    Text { mime_type: &'static str, text: String, meta: Value },
    /// A binary file, encoded.
    #[allow(missing_docs, reason = "described above")]
    Bytes { mime_type: String, base64: String },
}

/// The URI of an item.
pub fn uri(pid: Pid) -> String {
    format!("notewell://item/{pid}")
}

impl App {
    /// A page of the resources that this caller may read: pages by pid, then skills.
    pub fn resources(
        &self,
        cursor: Option<String>,
        most: usize,
        rights: &Rights,
    ) -> Result<(Vec<Listed>, Option<String>)> {
        self.await_first_look();
        let cursor = Cursor::read(cursor)?;
        if let Some(skill) = cursor.0.as_deref().and_then(|after| after.strip_prefix(SKILLS)) {
            let after = Some(skill).filter(|skill| !skill.is_empty()).map(Cursor::write);
            return self.listed_skills(after, most, rights);
        }
        let after = match cursor.0 {
            Some(pid) => Some(Pid(pid.parse().map_err(|_| {
                Error::invalid_params(
                    "cursor is not one that this server gave; start again without it",
                )
            })?)),
            None => None,
        };
        let library = self.library(rights)?;
        let mut rows = self.store.pages.list(after, most + 1, rights.visible())?;
        let more = rows.len() > most;
        rows.truncate(most);
        let next = rows.last().filter(|_| more).map(|row| Cursor::write(&row.pid.0.to_string()));
        let mut listed =
            rows.iter().map(|row| self.listed(row, &library)).collect::<Result<Vec<_>>>()?;
        if next.is_some() {
            return Ok((listed, next));
        }
        if listed.len() == most {
            return Ok((listed, Some(Cursor::write(SKILLS))));
        }
        let (skills, next) = self.listed_skills(None, most - listed.len(), rights)?;
        listed.extend(skills);
        Ok((listed, next))
    }

    /// The `SKILL.md` of each skill.
    fn listed_skills(
        &self,
        after: Option<String>,
        most: usize,
        rights: &Rights,
    ) -> Result<(Vec<Listed>, Option<String>)> {
        let page = self.skills(after, most, rights)?;
        let next = page.next.is_some().then(|| page.skills.last()).flatten();
        let next = next.map(|last| Cursor::write(&format!("{SKILLS}{}", last.uri)));
        let listed = page.skills.into_iter().map(|skill| Listed {
            name: skill.name().to_owned(),
            title: skill.name().to_owned(),
            description: Some(skill.description().to_owned()),
            mime_type: "text/markdown",
            size: skill.manifest().map(|file| file.size),
            meta: Value::Null,
            uri: skill.uri,
        });
        Ok((listed.collect(), next))
    }

    fn listed(&self, row: &PageRow, library: &Library) -> Result<Listed> {
        Ok(Listed {
            uri: uri(row.pid),
            name: self.sources.shown_path(&row.vault, &row.path)?,
            title: row.facts.page.title.clone(),
            description: None,
            mime_type: "text/markdown",
            size: Some(row.size),
            meta: neighbours(library, row),
        })
    }

    /// Reads a resource; `None` when there is none of that address for this caller.
    pub fn read_resource(&self, uri: &str, rights: &Rights) -> Result<Option<Content>> {
        if uri.starts_with("notewell://card/") {
            if !rights.may(Right::Read(Kind::Card)) {
                return Ok(None);
            }
            let image = self.cards.image(uri, rights)?;
            let base64 = base64::engine::general_purpose::STANDARD.encode(&image.bytes);
            return Ok(Some(Content::Bytes { mime_type: image.mime.to_owned(), base64 }));
        }
        if uri.starts_with("skill://") {
            return self.read_skill_file(uri, rights);
        }
        let Some(rest) = uri.strip_prefix("notewell://item/") else { return Ok(None) };
        let (pid, toc) = rest.split_once('/').map_or((rest, None), |(pid, toc)| (pid, Some(toc)));
        let Ok(pid) = pid.parse() else { return Ok(None) };
        self.await_first_look();
        let Some(opened) = self.open_pid(Pid(pid), rights)? else {
            return match self.sold_page(Pid(pid), rights)? {
                Some(method) => Err(self.only_sold(&method)),
                None => Ok(None),
            };
        };
        let text = match toc {
            None | Some("") => opened.text.clone(),
            Some(toc) => {
                let path: Vec<String> = toc
                    .split('/')
                    .map(|part| percent_decode_str(part).decode_utf8_lossy().into_owned())
                    .collect();
                let section = opened.note.outline.find(&path)?;
                opened.note.section(&opened.text, section).to_owned()
            }
        };
        let meta = match &opened.page {
            Some(row) => neighbours(&*self.library(rights)?, row),
            None => json!({}),
        };
        let limit = self.config.limits.result_bytes;
        if text.len() > limit {
            return Err(Error::limit(format!(
                "the resource has {} bytes, more than `limits.result_bytes` ({limit}) allows; read one section: `{uri}/HEADING`",
                text.len()
            )));
        }
        let mime_type = "text/markdown";
        debug_assert!(opened.kind != Kind::Page || opened.page.is_some());
        Ok(Some(Content::Text { mime_type, text, meta }))
    }
}

fn neighbours(library: &Library, row: &PageRow) -> Value {
    let (incoming, outgoing) = library.neighbours(&row.vault, row.pid);
    let uris = |pids: Vec<Pid>| pids.into_iter().map(uri).collect::<Vec<_>>();
    json!({ "notewell/backlinks": uris(incoming), "notewell/links": uris(outgoing) })
}
