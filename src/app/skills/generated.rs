//! The skill of a method: how to call it, its arguments, and, where nothing has to be paid for it,
//! its text.

use std::sync::{Arc, PoisonError};

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::{
    LeftOut, Skill, SkillContent, SkillFile,
    address::{self, SKILL},
};
use crate::{
    app::{
        App,
        methods::{Argument, Method},
        rights::Rights,
    },
    domain::Result,
};

/// The longest description that a skill may have, in characters.
const MAX_DESCRIPTION: usize = 1024;

/// A generated `SKILL.md`, as of one version of the page.
#[derive(Debug)]
pub struct Generated {
    pub text: String,
    version: [u8; 32],
    digest: [u8; 32],
    frontmatter: Arc<Map<String, Value>>,
}

impl App {
    /// The skill of a method that the caller may call.
    pub(super) fn generated_skill(
        &self,
        method: &Method,
        name: &str,
        rights: &Rights,
    ) -> Result<std::result::Result<Skill, LeftOut>> {
        let uri = address::of_method(name);
        let generated = match self.generated(method, name, rights) {
            Ok(generated) => generated,
            Err(error) => {
                let page = method.page();
                let path = format!("{}/{}", page.vault, page.path);
                return Ok(Err(LeftOut { uri, path, reason: error.message }));
            }
        };
        let file = SkillFile {
            path: SKILL.to_owned(),
            uri: uri.clone(),
            digest: generated.digest,
            size: generated.text.len() as u64,
            is_executable: false,
        };
        Ok(Ok(Skill {
            uri,
            frontmatter: generated.frontmatter.clone(),
            files: vec![file],
            links: Vec::new(),
            content: SkillContent::Generated(generated),
        }))
    }

    fn generated(&self, method: &Method, name: &str, rights: &Rights) -> Result<Arc<Generated>> {
        let key = (method.pid(), format!("{name} {}", method.name));
        let version = method.version();
        let known = {
            let generated =
                self.skill_cache.generated.lock().unwrap_or_else(PoisonError::into_inner);
            generated.get(&key).filter(|known| known.version == version).cloned()
        };
        if let Some(known) = known {
            return Ok(known);
        }
        // What costs something is read by calling it, also for who could read the page: a skill is
        // written to disk and shared.
        let template = match method.page().is_priced() {
            true => None,
            false => Some(self.open_method(method, rights)?.into_template()),
        };
        let price = method
            .price()
            .map(|price| format!("A call costs {price} {}.", self.config.market.currency));
        let (text, frontmatter) = write(name, method, price.as_deref(), template.as_deref());
        let generated = Arc::new(Generated {
            digest: Sha256::digest(text.as_bytes()).into(),
            text,
            version,
            frontmatter: Arc::new(frontmatter),
        });
        let mut kept = self.skill_cache.generated.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|(pid, _), known| *pid != key.0 || known.version == version);
        kept.insert(key, generated.clone());
        Ok(generated)
    }
}

/// The text of a `SKILL.md` and its frontmatter.
fn write(
    name: &str,
    method: &Method,
    price: Option<&str>,
    template: Option<&str>,
) -> (String, Map<String, Value>) {
    let stated =
        [&method.description, &method.title].into_iter().find(|text| !text.trim().is_empty());
    let description = one_line(stated.map_or(name, |text| text), MAX_DESCRIPTION);
    let title = one_line(&method.title, MAX_DESCRIPTION);
    // A JSON string is a YAML string, whatever it contains.
    let quoted = Value::String(description.clone());
    let mut text = format!("---\nname: {name}\ndescription: {quoted}\n---\n\n# {title}\n\n");
    text += &format!(
        "Call the tool `{}` of the Notewell server{} and follow its answer.",
        method.name,
        if method.arguments.is_empty() { "" } else { " with these arguments" }
    );
    if let Some(price) = price {
        text += &format!(" {price}");
    }
    text += "\n";
    if !method.arguments.is_empty() {
        text += "\n";
        for argument in &method.arguments {
            text += &line(argument);
        }
    }
    if let Some(template) = template.filter(|template| !template.is_empty()) {
        text += "\n## Without the tool\n\nFollow this text";
        if template.contains("{{") {
            text += ". `{{name}}` stands for an argument, `{{name|text}}` for one with a default, `{{note:PATH#Heading}}` for a section of a note";
        }
        text += &format!(".\n\n{template}\n");
    }
    let frontmatter = [("name", name.to_owned()), ("description", description)];
    let frontmatter =
        frontmatter.into_iter().map(|(key, text)| (key.to_owned(), Value::String(text)));
    (text, frontmatter.collect())
}

fn line(argument: &Argument) -> String {
    let need = if argument.required { "required" } else { "optional" };
    match &argument.description {
        Some(text) => {
            format!("- `{}` ({need}): {}\n", argument.name, one_line(text, MAX_DESCRIPTION))
        }
        None => format!("- `{}` ({need})\n", argument.name),
    }
}

/// A text without line breaks and control characters, of at most so many characters.
fn one_line(text: &str, most: usize) -> String {
    let words: Vec<&str> = text
        .split(|c: char| {
            c.is_whitespace() || c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}')
        })
        .filter(|word| !word.is_empty())
        .collect();
    words.join(" ").chars().take(most).collect()
}

#[cfg(test)]
mod tests {
    use super::one_line;

    #[test]
    fn descriptions_are_one_line() {
        assert_eq!(one_line(" a\r\n b\u{7}\u{2028}c\t", 100), "a b c");
        assert_eq!(one_line("план недели", 4), "план");
    }
}
