//! The skills extension: `skills/list`, `skills/get` and `resources/directory/read`. Files of skills
//! are ordinary resources.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::{
    app::{
        App,
        rights::{Right, Rights},
        skills::{LeftOut, Skill, sync::hex},
    },
    domain::{Error, Result, from_json},
};

/// The name of the extension.
pub const EXTENSION: &str = "io.modelcontextprotocol/skills";

/// Where the owner reads which skills are not listed, and why.
const LEFT_OUT: &str = "notewell/leftOut";

/// What is declared of the extension.
pub fn settings() -> Map<String, Value> {
    [("directoryRead".to_owned(), Value::Bool(true))].into_iter().collect()
}

/// A method of the extension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Question {
    List,
    Get,
    Directory,
}

#[derive(Deserialize)]
struct Paged {
    cursor: Option<String>,
}

#[derive(Deserialize)]
struct Addressed {
    uri: String,
    cursor: Option<String>,
}

impl Question {
    pub fn of(method: &str) -> Option<Self> {
        match method {
            "skills/list" => Some(Self::List),
            "skills/get" => Some(Self::Get),
            "resources/directory/read" => Some(Self::Directory),
            _ => None,
        }
    }

    /// The result. `modern` is whether the client knows what revision 2026-07-28 added.
    pub fn answer(self, app: &App, params: Value, rights: &Rights, modern: bool) -> Result<Value> {
        let most = app.config.limits.page;
        let mut result = match self {
            Self::List => {
                let params: Paged = from_json(params)?;
                let page = app.skills(params.cursor, most, rights)?;
                let skills: Vec<Value> = page.skills.iter().map(entry).collect();
                let mut result = json!({ "skills": skills });
                put(&mut result, "nextCursor", page.next.map(Value::String));
                let tells = rights.may(Right::LibraryState) && !page.left_out.is_empty();
                put(&mut result, "_meta", tells.then(|| left_out(&page.left_out)));
                result
            }
            Self::Get => {
                let params: Addressed = from_json(params)?;
                let skill =
                    app.skill(&params.uri, rights)?.ok_or_else(|| none("skill", &params.uri))?;
                json!({ "skill": entry(&skill) })
            }
            Self::Directory => {
                let params: Addressed = from_json(params)?;
                let found = app.skill_folder(&params.uri, params.cursor, most, rights)?;
                let (children, next) =
                    found.ok_or_else(|| none("folder of a skill", &params.uri))?;
                let resources = children.into_iter().map(|child| {
                    let mut resource =
                        json!({ "uri": child.uri, "name": child.name, "mimeType": child.mime_type });
                    put(&mut resource, "size", child.size.map(Value::from));
                    resource
                });
                let mut result = json!({ "resources": resources.collect::<Vec<_>>() });
                put(&mut result, "nextCursor", next.map(Value::String));
                result
            }
        };
        if modern {
            put(&mut result, "resultType", Some("complete".into()));
            // Digests are those of this moment, and what there is depends on who asks.
            put(&mut result, "ttlMs", Some(0.into()));
            put(&mut result, "cacheScope", Some("private".into()));
        }
        Ok(result)
    }
}

fn entry(skill: &Skill) -> Value {
    let files = skill.files.iter().map(|file| {
        let digest = format!("sha256:{}", hex(&file.digest));
        json!({ "uri": file.uri, "digest": digest, "size": file.size })
    });
    let files: Vec<Value> = files.collect();
    json!({ "uri": skill.uri, "frontmatter": *skill.frontmatter, "resources": files })
}

fn left_out(skills: &[LeftOut]) -> Value {
    let skills = skills.iter().map(|one| json!({ "path": one.path, "reason": one.reason }));
    json!({ LEFT_OUT: skills.collect::<Vec<_>>() })
}

fn put(object: &mut Value, key: &str, value: Option<Value>) {
    if let (Value::Object(map), Some(value)) = (object, value) {
        map.insert(key.to_owned(), value);
    }
}

/// There is none, or none for this caller: the same answer.
fn none(what: &str, uri: &str) -> Error {
    let short: String = uri.chars().take(200).collect();
    Error::invalid_params(format!(
        "there is no {what} at `{short}`; `skills/list` names the skills there are"
    ))
    .with_data(json!({ "uri": short }))
}
