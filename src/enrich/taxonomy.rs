//! The categories, from a small file that a person may change.

use std::{collections::HashMap, path::Path};

use serde::Deserialize;

use super::reading::{fold, is_japanese, keys};
use crate::domain::{Error, Result};

const BUILT_IN: &str = include_str!("../../assets/taxonomy.toml");

const STRONG: f32 = 2.0;
const WEAK: f32 = 1.0;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    category: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: String,
    description: String,
    #[serde(default)]
    strong: Vec<String>,
    #[serde(default)]
    keywords: Vec<String>,
    #[serde(default)]
    hosts: Vec<String>,
}

/// A word or phrase that speaks for a category.
pub(super) struct Phrase {
    /// The keys behind the first.
    pub(super) rest: Vec<String>,
    pub(super) category: usize,
    pub(super) weight: f32,
}

/// The categories with what they are known by.
pub struct Taxonomy {
    names: Vec<String>,
    /// Descriptions and strong words, for the model.
    described: Vec<(usize, String)>,
    /// Where the rest goes.
    other: usize,
    /// By the key of the first word.
    pub(super) phrases: HashMap<String, Vec<Phrase>>,
    /// Looked for anywhere in a text: folded, category, weight.
    pub(super) japanese: Vec<(String, usize, f32)>,
    hosts: HashMap<String, usize>,
}

impl Taxonomy {
    /// Our own.
    pub fn built_in() -> Result<Self> {
        Self::parse(BUILT_IN).map_err(Error::internal)
    }

    /// A person's.
    pub fn open(path: &Path) -> Result<Self> {
        let refuse = |why: String| {
            Error::invalid_params(format!(
                "the taxonomy `{}` (bookmarks.taxonomy): {why}",
                path.display()
            ))
        };
        let text = std::fs::read_to_string(path).map_err(|error| refuse(error.to_string()))?;
        Self::parse(&text).map_err(refuse)
    }

    /// Parses a taxonomy file.
    pub fn parse(text: &str) -> std::result::Result<Self, String> {
        let file: File = toml::from_str(text).map_err(|error| error.to_string())?;
        let mut taxonomy = Self {
            names: Vec::new(),
            described: Vec::new(),
            other: usize::MAX,
            phrases: HashMap::new(),
            japanese: Vec::new(),
            hosts: HashMap::new(),
        };
        for entry in file.category {
            taxonomy.add(entry)?;
        }
        if taxonomy.names.is_empty() {
            return Err("it has no `[[category]]`".to_owned());
        }
        if taxonomy.other == usize::MAX {
            taxonomy.other = taxonomy.names.len();
            taxonomy.names.push("Other".to_owned());
        }
        Ok(taxonomy)
    }

    fn add(&mut self, entry: Entry) -> std::result::Result<(), String> {
        let name = entry.name.trim();
        if name.is_empty() || self.names.iter().any(|known| known == name) {
            return Err(format!("a category is called `{name}`; every name must be there once"));
        }
        let category = self.names.len();
        if entry.strong.is_empty() && entry.keywords.is_empty() && entry.hosts.is_empty() {
            self.other = category;
        }
        if category != self.other {
            self.described.push((category, entry.description.clone()));
            self.described.extend(entry.strong.iter().map(|word| (category, word.clone())));
        }
        let strong = entry.strong.iter().map(|word| (word, STRONG));
        let weak = entry.keywords.iter().map(|word| (word, WEAK));
        for (word, weight) in strong.chain(weak) {
            if is_japanese(word) {
                self.japanese.push((fold(word), category, weight));
                continue;
            }
            let mut words = keys(word).into_iter();
            let Some(first) = words.next() else {
                return Err(format!("the keyword `{word}` of `{name}` has no letters"));
            };
            let phrase = Phrase { rest: words.collect(), category, weight };
            self.phrases.entry(first).or_default().push(phrase);
        }
        for host in entry.hosts {
            self.hosts.insert(host.trim().trim_start_matches("www.").to_lowercase(), category);
        }
        self.names.push(name.to_owned());
        Ok(())
    }

    /// The names of the categories.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    pub(super) fn described(&self) -> &[(usize, String)] {
        &self.described
    }

    pub(super) fn other(&self) -> usize {
        self.other
    }

    /// The category of a site: its own name, or that of the site it belongs to.
    pub(super) fn of_host(&self, host: &str) -> Option<usize> {
        let mut rest = host;
        loop {
            if let Some(category) = self.hosts.get(rest) {
                return Some(*category);
            }
            rest = rest.split_once('.')?.1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ours_is_whole() {
        let taxonomy = Taxonomy::built_in().unwrap();
        assert!(taxonomy.names().iter().any(|name| name == "AI-Tools"));
        assert_eq!(taxonomy.names()[taxonomy.other()], "Other");
        assert!((13..20).contains(&taxonomy.names().len()));
        let host = |host: &str| taxonomy.of_host(host).map(|at| taxonomy.names()[at].as_str());
        assert_eq!(host("blog.openai.com"), Some("AI-Tools"));
        assert_eq!(host("notopenai.com"), None);
        // A Japanese word of one character would be found inside of others.
        assert!(taxonomy.japanese.iter().all(|(word, ..)| word.chars().count() > 1));
    }

    #[test]
    fn a_persons_own_or_what_is_wrong_with_it() {
        let mine = "[[category]]\nname = \"Сад\"\ndescription = \"огород\"\nkeywords = [\"томат\"]";
        let taxonomy = Taxonomy::parse(mine).unwrap();
        assert_eq!(taxonomy.names(), ["Сад", "Other"]);
        for wrong in [
            "",
            "category = 1",
            "[[category]]\nname = \"A\"",
            "[[category]]\nname = \"A\"\ndescription = \"\"\nkeywords = [\"--\"]",
            "[[category]]\nname = \"A\"\ndescription = \"\"\n[[category]]\nname = \"A\"\ndescription = \"\"",
        ] {
            assert!(Taxonomy::parse(wrong).is_err(), "{wrong}");
        }
    }
}
