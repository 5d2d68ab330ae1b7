//! Running a method: its text as it is now, with the arguments and the notes that it includes.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::Method;
use crate::{
    app::{App, rights::Rights},
    domain::{Author, Caller, Code, Error, Page, Pid, Result, UserId},
    markdown::{
        frontmatter,
        template::{self, Part},
    },
    vault,
};

/// A method that is about to run: its page as it is at this moment.
pub struct Ready {
    /// What the page says of itself now.
    pub page: Page,
    /// SHA-256 of its text.
    pub version: [u8; 32],
    /// Whether the caller may read the page. If not, the text is what the call buys.
    pub is_readable: bool,
    template: String,
}

impl Ready {
    /// The text with its placeholders, for who may read the page.
    pub(in crate::app) fn into_template(self) -> String {
        match self.is_readable {
            true => self.template,
            false => String::new(),
        }
    }
}

impl App {
    /// Reads the page of a method as it is now. Its rights and its price count as they are now, too.
    pub fn open_method(&self, method: &Method, rights: &Rights) -> Result<Ready> {
        let gone =
            || Error::not_found(format!("the method `{}` is not there any more", method.name));
        let row = self.store.pages.get(method.row.pid)?.ok_or_else(gone)?;
        let file = match self.sources.page_text(&row) {
            Ok(file) => file,
            Err(error) => return Err(self.as_seen(error, method, rights.sees(&row.facts.page))),
        };
        let (mut page, _) = vault::page(&row.vault, &row.facts.page.path, &file.text);
        page.author = row.authorship.author_of(page.author);
        let is_readable = rights.sees(&page);
        let is_sold = page.price().is_some() && rights.calls(&page);
        if page.method.as_deref() != Some(method.own_name()) || !(is_readable || is_sold) {
            return Err(gone());
        }
        let body = frontmatter::split(&file.text).body;
        let template = file.text.get(body..).unwrap_or_default().trim().to_owned();
        Ok(Ready { page, version: file.hash, is_readable, template })
    }

    /// Renders a method with its arguments.
    pub fn render_method(
        &self,
        method: &Method,
        ready: &Ready,
        arguments: &Map<String, Value>,
        rights: &Rights,
    ) -> Result<String> {
        // A section is read once, however often the template includes it.
        let mut sections: HashMap<(&str, Option<&str>), Result<String>> = HashMap::new();
        let limit = self.config.limits.result_bytes;
        template::render_within(&ready.template, limit, |part| match part {
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
                    .or_insert_with(|| self.included(ready, path, heading, rights));
                match (section, default) {
                    (Ok(section), _) => Ok(section.clone().into()),
                    (Err(_), Some(default)) => Ok(default.into()),
                    (Err(error), None) => {
                        let error = Error::new(error.code, error.message.clone());
                        Err(self.as_seen(error, method, ready.is_readable))
                    }
                }
            }
            Part::Text(text) => Ok(text.into()),
        })
    }

    /// Renders a method that the caller may read.
    pub fn run_method(
        &self,
        method: &Method,
        arguments: &Map<String, Value>,
        rights: &Rights,
    ) -> Result<String> {
        let ready = self.open_method(method, rights)?;
        if !ready.is_readable {
            return Err(self.only_sold(method));
        }
        self.render_method(method, &ready, arguments, rights)
    }

    /// An error of a method as its caller gets it. To who may not read the page, paths and headings
    /// of its text are part of what is sold.
    fn as_seen(&self, error: Error, method: &Method, is_readable: bool) -> Error {
        if is_readable {
            return error;
        }
        tracing::warn!(code = error.code.as_str(), "a paid method could not be rendered");
        Error::new(
            Code::Outside,
            format!(
                "the method `{}` cannot be rendered now, because its note or one that it includes cannot be read; its author has to repair it. Nothing was charged",
                method.name
            ),
        )
    }

    /// What `{{note:path#Heading}}` shows. A method that is sold may also include the notes of its own
    /// author in its own vault, which buyers do not see otherwise.
    fn included(
        &self,
        ready: &Ready,
        path: &str,
        heading: Option<&str>,
        rights: &Rights,
    ) -> Result<String> {
        let author = ready.page.author.as_deref().and_then(Author::new);
        if let (true, Some(author)) = (ready.page.is_priced(), author) {
            let seller = self.rights(Caller::Owner).confined_to(author);
            if let Some(own) = self.section_text_of(&ready.page.vault, path, heading, &seller)? {
                return Ok(own);
            }
        }
        self.section_text(path, heading, rights)
    }

    /// The account that earns what a page is sold for: the author's. `None` where its author has no
    /// account as an author; then the operator sells it.
    pub fn seller(&self, page: &Page) -> Result<Option<UserId>> {
        let Some(author) = page.author.as_deref().and_then(Author::new) else { return Ok(None) };
        Ok(self.author_account(&author)?.map(|account| account.id))
    }

    /// The method of a page that this caller may call and not read.
    pub fn sold_page(&self, pid: Pid, rights: &Rights) -> Result<Option<Method>> {
        let is_sold = |method: &Method| method.pid() == pid && !rights.sees(method.page());
        Ok(self.methods(rights)?.into_iter().find(is_sold))
    }

    /// The error of asking for the text of a method in a way that cannot be paid for.
    pub fn only_sold(&self, method: &Method) -> Error {
        let Some(price) = method.price() else {
            return Error::not_found(format!("the method `{}` cannot be called now", method.name));
        };
        let currency = &self.config.market.currency;
        Error::payment(format!(
            "`{}` costs {price} {currency} a call, and its text is not for reading; call the tool `{}` to buy it",
            method.name, method.name
        ))
        .with_data(serde_json::json!({
            "tool": method.name,
            "price": { "amount": price.to_string(), "currency": currency },
            "top_up_url": self.market().top_up_url(),
        }))
    }
}
