//! Pages that are tools: `mcp_method` in the frontmatter makes a page callable, its text is the
//! answer, its `{{variables}}` are the arguments.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, PoisonError},
};

use serde_json::{Map, Value, json};

use super::{
    App,
    library::{PagesSince, pages_since},
    rights::Rights,
};
use crate::{
    domain::{Error, Page, Result},
    markdown::template::{self, Part},
    store::pages::PageRow,
    telemetry::metric,
};

/// A page that is a method, as it was when last read.
#[derive(Debug, Clone)]
pub struct Method {
    /// The tool's name.
    pub name: String,
    /// The page's title.
    pub title: String,
    /// The instruction to models.
    pub description: String,
    /// The template variables.
    pub arguments: Vec<Argument>,
    row: PageRow,
    /// Whether its text could be read. Otherwise it is tried again when a page changes.
    is_read: bool,
}

/// A template variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Argument {
    /// Its name.
    pub name: String,
    /// What to fill in.
    pub description: Option<String>,
    /// Whether it has no default.
    pub required: bool,
}

impl Method {
    /// The schema of its arguments: text, each of them.
    pub fn schema(&self) -> Map<String, Value> {
        let mut properties = Map::new();
        for argument in &self.arguments {
            let mut property = json!({ "type": "string" });
            if let (Some(text), Value::Object(map)) = (&argument.description, &mut property) {
                map.insert("description".into(), Value::String(text.clone()));
            }
            properties.insert(argument.name.clone(), property);
        }
        let required: Vec<&str> = self
            .arguments
            .iter()
            .filter(|argument| argument.required)
            .map(|argument| argument.name.as_str())
            .collect();
        let mut schema = Map::new();
        schema.insert("type".into(), "object".into());
        schema.insert("properties".into(), Value::Object(properties));
        if !required.is_empty() {
            schema.insert("required".into(), json!(required));
        }
        schema.insert("additionalProperties".into(), Value::Bool(false));
        schema
    }
}

/// The page whose text is the server's instructions.
pub const INITIALIZE: &str = "initialize";

impl App {
    /// Every method that this caller may use, by name. Of the pages that the caller may see, the
    /// first by path has the name.
    pub fn methods(&self, rights: &Rights) -> Result<Vec<Method>> {
        let all = self.all_methods()?;
        let mut methods: Vec<Method> = Vec::new();
        for method in all.iter().filter(|method| rights.sees(&method.row.facts.page)) {
            if methods.last().is_none_or(|last| last.name != method.name) {
                methods.push(method.clone());
            }
        }
        Ok(methods)
    }

    /// The method of this name that the caller may call.
    pub fn method(&self, name: &str, rights: &Rights) -> Result<Option<Method>> {
        Ok(self.methods(rights)?.into_iter().find(|method| method.name == name))
    }

    /// Renders a method with its arguments.
    pub fn run_method(
        &self,
        method: &Method,
        arguments: &Map<String, Value>,
        rights: &Rights,
    ) -> Result<String> {
        let opened = self.open_pid(method.row.pid, rights)?.ok_or_else(|| {
            Error::not_found(format!("the method `{}` is not there any more", method.name))
        })?;
        let body = opened.text.get(opened.note.body..).unwrap_or_default();
        // A section is read once, however often the template includes it.
        let mut sections: HashMap<(&str, Option<&str>), Result<String>> = HashMap::new();
        let limit = self.config.limits.result_bytes;
        template::render_within(body.trim(), limit, |part| match part {
            Part::Variable { name, default, .. } => {
                let given = arguments.get(name).filter(|value| !value.is_null());
                let given = given.map(|value| match value {
                    Value::String(text) => text.clone(),
                    other => other.to_string(),
                });
                // What is left empty takes the default.
                let given = given.filter(|text| default.is_none() || !text.is_empty());
                given
                    .map(Into::into)
                    .or(default.map(Into::into))
                    .ok_or_else(|| Error::invalid_params(format!("{name} is required")))
            }
            Part::Note { path, heading, default, .. } => {
                let section = sections
                    .entry((path, heading))
                    .or_insert_with(|| self.section_text(path, heading, rights));
                match (section, default) {
                    (Ok(section), _) => Ok(section.clone().into()),
                    (Err(_), Some(default)) => Ok(default.into()),
                    (Err(error), None) => Err(Error::new(error.code, error.message.clone())),
                }
            }
            Part::Text(text) => Ok(text.into()),
        })
    }

    /// What a client's model is told at the start: a page of that name, or our own words.
    pub fn instructions(&self, rights: &Rights, name: Option<&str>) -> Option<String> {
        let wanted = name.unwrap_or(INITIALIZE);
        let page = self.method(wanted, rights).ok()??;
        self.run_method(&page, &Map::new(), rights).ok()
    }

    /// The methods of all pages by name, those of the same name by path.
    fn all_methods(&self) -> Result<Arc<Vec<Method>>> {
        let mut kept = self.known_methods.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((at, methods)) = kept.as_mut()
            && let PagesSince::Same(head) = pages_since(self.store.items.as_ref(), *at)?
        {
            *at = head;
            return Ok(methods.clone());
        }
        let head = self.store.items.head()?;
        let before = kept.as_ref().map(|(_, methods)| methods.clone()).unwrap_or_default();
        let mut methods: Vec<Method> = Vec::new();
        for row in self.store.pages.methods()? {
            let Some(name) = row.facts.page.method.clone() else { continue };
            // Which of two pages has the name depends on who asks.
            if complaint(&name, false, self.is_built_in(&name)).is_some() {
                continue;
            }
            // The text of a page that did not change is not read again.
            let known = before.iter().find(|method| method.is_read && method.row == row);
            methods.push(match known {
                Some(method) => method.clone(),
                None => self.read_method(name, row)?,
            });
        }
        methods.sort_by(|a, b| a.name.cmp(&b.name));
        let methods = Arc::new(methods);
        *kept = Some((head, methods.clone()));
        Ok(methods)
    }

    fn read_method(&self, name: String, row: PageRow) -> Result<Method> {
        metrics::counter!(metric::METHODS_READ).increment(1);
        let text = self.sources.page_text(&row).map(|file| file.text);
        let is_read = text.is_ok();
        let text = text.unwrap_or_default();
        let body = crate::markdown::frontmatter::split(&text).body;
        let page = &row.facts.page;
        let mut arguments: Vec<Argument> = Vec::new();
        for (variable, optional) in template::variables(text.get(body..).unwrap_or_default()) {
            arguments.push(Argument {
                name: variable.to_owned(),
                description: described(page, variable),
                required: !optional,
            });
        }
        let description = page
            .description
            .clone()
            .unwrap_or_else(|| format!("The text of the note `{}`", page.title));
        Ok(Method { name, title: page.title.clone(), description, arguments, row, is_read })
    }

    /// What is wrong with the methods of the vaults, for `doctor`: page and sentence.
    pub fn method_problems(&self) -> Result<Vec<(String, String)>> {
        let mut names: HashSet<String> = HashSet::new();
        let mut problems = Vec::new();
        for row in self.store.pages.methods()? {
            let Some(name) = row.facts.page.method.clone() else { continue };
            let taken = names.contains(&name);
            match complaint(&name, taken, self.is_built_in(&name)) {
                Some(problem) => problems.push((row.path, problem)),
                None => {
                    names.insert(name);
                }
            }
        }
        Ok(problems)
    }

    fn is_built_in(&self, name: &str) -> bool {
        self.built_in_tools.contains(&name)
    }

    /// A page or one section of it, as Markdown: what `{{note:path#Heading}}` shows.
    pub fn section_text(
        &self,
        path: &str,
        heading: Option<&str>,
        rights: &Rights,
    ) -> Result<String> {
        let missing = || {
            Error::invalid_params(format!(
                "the template embeds `{path}`, and there is no such note"
            ))
        };
        let pid = self.find_path(path, rights)?.ok_or_else(missing)?;
        let opened = self.open_pid(pid, rights)?.ok_or_else(missing)?;
        let heading: Vec<&str> = heading.into_iter().flat_map(|text| text.split('#')).collect();
        let section = opened.note.outline.find(&heading)?;
        Ok(opened.note.section(&opened.text, section).trim().to_owned())
    }
}

fn described(page: &Page, variable: &str) -> Option<String> {
    let value = page.arguments.get(variable)?;
    let text = value.as_str().or_else(|| value.get("description").and_then(Value::as_str))?;
    Some(text.to_owned())
}

/// Why a page's `mcp_method` does not make it a tool.
fn complaint(name: &str, taken: bool, built_in: bool) -> Option<String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    if name.is_empty() || name.len() > 128 || !name.chars().all(plain) {
        return Some(format!(
            "mcp_method `{name}` is not a name that clients accept; use 1 to 128 of the letters A-Z, a-z, digits, `_`, `-` and `.`"
        ));
    }
    if built_in {
        return Some(format!(
            "mcp_method `{name}` is a tool that Notewell has; choose another name"
        ));
    }
    taken.then(|| format!("mcp_method `{name}` is another page's already; choose another name"))
}
