//! Pages that are tools: `mcp_method` in the frontmatter makes a page callable, its text is the
//! answer, its `{{variables}}` are the arguments.

mod names;
mod problems;
mod run;

pub use run::Ready;

use std::sync::{Arc, PoisonError};

use serde_json::{Map, Value, json};

use super::{
    App,
    library::{PagesSince, pages_since},
    notes::Opened,
    rights::Rights,
};
use crate::{
    domain::{Author, Error, Page, Pid, Price, Result},
    markdown::template,
    store::pages::{Authorship, PageRow},
    telemetry::metric,
};

/// A page that is a method, as it was when last read.
#[derive(Debug, Clone)]
pub struct Method {
    /// What this caller calls it.
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
    /// The method of a page, with its text where that could be read.
    fn new(row: PageRow, text: Option<&str>) -> Self {
        let page = &row.facts.page;
        let text_of_page = text.unwrap_or_default();
        let body = crate::markdown::frontmatter::split(text_of_page).body;
        let variables = template::variables(text_of_page.get(body..).unwrap_or_default());
        let arguments = variables.into_iter().map(|(variable, optional)| Argument {
            name: variable.to_owned(),
            description: described(page, variable),
            required: !optional,
        });
        let sold = page.market_description.as_ref().filter(|_| page.is_priced());
        let description = sold.or(page.description.as_ref()).cloned();
        Self {
            name: page.method.clone().unwrap_or_default(),
            title: page.title.clone(),
            description: description
                .unwrap_or_else(|| format!("The text of the note `{}`", page.title)),
            arguments: arguments.collect(),
            is_read: text.is_some(),
            row,
        }
    }

    /// The name that its page gives it.
    pub fn own_name(&self) -> &str {
        self.row.facts.page.method.as_deref().unwrap_or_default()
    }

    /// The page.
    pub fn pid(&self) -> Pid {
        self.row.pid
    }

    /// SHA-256 of the page's text as it was last read.
    pub(super) fn version(&self) -> [u8; 32] {
        self.row.hash
    }

    /// What the page says of itself.
    pub fn page(&self) -> &Page {
        &self.row.facts.page
    }

    /// Who wrote it.
    pub fn author(&self) -> Option<Author> {
        self.row.facts.page.author.as_deref().and_then(Author::new)
    }

    /// What a call costs. `None` where it costs nothing, and where the price cannot be read.
    pub fn price(&self) -> Option<Price> {
        self.row.facts.page.price()
    }

    /// Whether its text is the server's instructions rather than a tool.
    pub fn is_initialize(&self) -> bool {
        self.own_name() == INITIALIZE
    }

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
    /// Every method that this caller may call, by name; see `names` for two of the same name. A
    /// method whose price cannot be read is there for its author and the owner only.
    pub fn methods(&self, rights: &Rights) -> Result<Vec<Method>> {
        let callable = |method: &&Method| {
            let page = method.page();
            rights.sees(page) || (page.price().is_some() && rights.calls(page))
        };
        Ok(names::assign(self.all_methods()?.iter().filter(callable).cloned().collect()))
    }

    /// The method of this name that the caller may call.
    pub fn method(&self, name: &str, rights: &Rights) -> Result<Option<Method>> {
        Ok(self.methods(rights)?.into_iter().find(|method| method.name == name))
    }

    /// The instructions for a client's model: a page of that name that the caller may read, or
    /// our own words.
    pub fn instructions(&self, rights: &Rights, name: Option<&str>) -> Option<String> {
        let page = match name {
            Some(name) => self.method(name, rights).ok()??,
            None => self.initialize_page(rights).ok()??,
        };
        self.run_method(&page, &Map::new(), rights).ok()
    }

    /// The page whose text is the server's instructions: the first by path. On the common address, a
    /// vault that belongs to an author does not speak for the server.
    fn initialize_page(&self, rights: &Rights) -> Result<Option<Method>> {
        let speaks = |method: &&Method| {
            let has_own_address = matches!(method.row.authorship, Authorship::Vault(_));
            method.is_initialize()
                && rights.sees(method.page())
                && (rights.author().is_some() || !has_own_address)
        };
        Ok(self.all_methods()?.iter().find(speaks).cloned())
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
            if problems::complaint(&name, false, self.is_built_in(&name)).is_some() {
                continue;
            }
            // The text of a page that did not change is not read again.
            let known = before.iter().find(|method| method.is_read && method.row == row);
            methods.push(match known {
                Some(method) => method.clone(),
                None => self.read_method(row),
            });
        }
        methods.sort_by(|a, b| a.name.cmp(&b.name));
        let methods = Arc::new(methods);
        *kept = Some((head, methods.clone()));
        Ok(methods)
    }

    fn read_method(&self, row: PageRow) -> Method {
        metrics::counter!(metric::METHODS_READ).increment(1);
        let text = self.sources.page_text(&row).map(|file| file.text);
        Method::new(row, text.ok().as_deref())
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
        section_of(&opened, heading)
    }

    /// The same, of a page of this vault.
    fn section_text_of(
        &self,
        vault: &str,
        path: &str,
        heading: Option<&str>,
        rights: &Rights,
    ) -> Result<Option<String>> {
        for path in [format!("{vault}/{path}"), path.to_owned()] {
            let Ok(Some(pid)) = self.find_path(&path, rights) else { continue };
            let opened = self.open_pid(pid, rights)?;
            let in_vault =
                |opened: &Opened| opened.page.as_ref().is_some_and(|row| row.vault == vault);
            if let Some(opened) = opened.filter(in_vault) {
                return section_of(&opened, heading).map(Some);
            }
        }
        Ok(None)
    }
}

fn section_of(opened: &Opened, heading: Option<&str>) -> Result<String> {
    let heading: Vec<&str> = heading.into_iter().flat_map(|text| text.split('#')).collect();
    let section = opened.note.outline.find(&heading)?;
    Ok(opened.note.section(&opened.text, section).trim().to_owned())
}

fn described(page: &Page, variable: &str) -> Option<String> {
    let value = page.arguments.get(variable)?;
    let text = value.as_str().or_else(|| value.get("description").and_then(Value::as_str))?;
    Some(text.to_owned())
}
