//! A page: one Markdown file of a vault, and the path that names it there.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

use super::{
    Timestamp,
    error::{Error, Result},
    money::Price,
};

/// Where a page stands in its vault: relative, `/` between its parts, NFC. A value of this type
/// cannot point outside the vault by its spelling; symbolic links are checked when a file is
/// opened for writing.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct VaultPath(String);

impl VaultPath {
    /// Checks a path that a caller, a link or a file system gave.
    pub fn parse(text: &str) -> Result<Self> {
        let refuse = |why: &str| {
            Err(Error::invalid_params(format!(
                "path `{}` {why}; write it relative to the vault, as `folder/note.md`",
                text.escape_debug()
            )))
        };
        let text_nfc = match is_nfc_quick(text.chars()) {
            IsNormalized::Yes => text.to_owned(),
            _ => text.nfc().collect(),
        };
        if text_nfc.is_empty() {
            return refuse("is empty");
        }
        if text_nfc.chars().any(|c| c.is_control()) {
            return refuse("has a control character");
        }
        if text_nfc.contains('\\') {
            return refuse("has a backslash");
        }
        if text_nfc.starts_with('/') {
            return refuse("is absolute");
        }
        let bytes = text_nfc.as_bytes();
        if bytes.len() >= 2 && bytes[0].is_ascii_alphabetic() && bytes[1] == b':' {
            return refuse("starts with a drive letter");
        }
        for part in text_nfc.split('/') {
            match part {
                "" => return refuse("has an empty part"),
                "." | ".." => return refuse("has a `.` or `..` part"),
                _ => {}
            }
        }
        Ok(Self(text_nfc))
    }

    /// The path as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// `note.md` of `folder/note.md`.
    pub fn file_name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or(&self.0)
    }

    /// `note` of `folder/note.md`: what the page is called when it has no other title.
    pub fn stem(&self) -> &str {
        let name = self.file_name();
        match name.len().checked_sub(3).and_then(|at| name.split_at_checked(at)) {
            Some((stem, ext)) if ext.eq_ignore_ascii_case(".md") && !stem.is_empty() => stem,
            _ => name,
        }
    }

    /// `folder` of `folder/note.md`; empty at the top.
    pub fn folder(&self) -> &str {
        self.0.rsplit_once('/').map_or("", |(folder, _)| folder)
    }

    /// Whether it is below a folder; a path is not inside itself.
    pub fn is_inside(&self, folder: &Self) -> bool {
        self.0.strip_prefix(&folder.0).is_some_and(|rest| rest.starts_with('/'))
    }

    /// A part that starts with `_` keeps the page out of search; links to it still work.
    pub fn is_private(&self) -> bool {
        self.0.split('/').any(|part| part.starts_with('_'))
    }
}

impl fmt::Display for VaultPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl AsRef<str> for VaultPath {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl FromStr for VaultPath {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::parse(text)
    }
}

impl<'de> Deserialize<'de> for VaultPath {
    fn deserialize<D: serde::Deserializer<'de>>(
        deserializer: D,
    ) -> std::result::Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}

/// What a page says of itself: its frontmatter, its title and its tags, read and checked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Page {
    /// The vault's name in the configuration.
    pub vault: String,
    /// The path in the vault.
    pub path: VaultPath,
    /// `title`, or the leading first-level heading, or the file's name.
    pub title: String,
    /// Everybody may read it.
    pub free: bool,
    /// `access: members`: every user with an account may read it.
    #[serde(default)]
    pub members: bool,
    /// `tags` and `labels` of the frontmatter, then `#tags` of the text; no `#`, no repeats.
    pub labels: Vec<String>,
    /// Other names of the page.
    pub aliases: Vec<String>,
    /// `date` of the frontmatter.
    pub date: Option<Timestamp>,
    /// `lang` of the frontmatter.
    pub lang: Option<String>,
    /// `author` of the frontmatter.
    pub author: Option<String>,
    /// `price` of the frontmatter as it is written; empty when it cannot be read.
    #[serde(default, deserialize_with = "price_text")]
    pub price: Option<String>,
    /// Trial calls of the method that each buyer has (`price_free`).
    #[serde(default)]
    pub price_free: u32,
    /// What buyers read of the method (`market_description`).
    #[serde(default)]
    pub market_description: Option<String>,
    /// An example that buyers read (`market_example`).
    #[serde(default)]
    pub market_example: Option<String>,
    /// The tool this page is (`mcp_method`).
    pub method: Option<String>,
    /// What that tool says of itself (`mcp_description`).
    pub description: Option<String>,
    /// Descriptions of the method's `{{variables}}`, by name.
    pub arguments: Map<String, Value>,
    /// False for `search: false` and for paths with a part that starts with `_`.
    pub searchable: bool,
    /// Every other field of the frontmatter, as written.
    pub extra: Map<String, Value>,
    /// What is wrong with the frontmatter, one sentence each.
    pub problems: Vec<String>,
}

impl Page {
    /// Whether calls of this page cost money. Others than the owner and the author may call such a
    /// page and not read it. Also true where the price cannot be read: then nobody else can call it.
    pub fn is_priced(&self) -> bool {
        self.method.is_some() && self.price.is_some()
    }

    /// Whether agents follow what the page says: a method, or the `SKILL.md` of a folder.
    pub fn instructs(&self) -> bool {
        self.method.is_some() || self.path.as_str().ends_with("/SKILL.md")
    }

    /// What a call of this page costs. `None` where it costs nothing, and where the price cannot be
    /// read.
    pub fn price(&self) -> Option<Price> {
        self.is_priced().then(|| Price::parse(self.price.as_deref()?).ok()).flatten()
    }

    /// What the frontmatter says, beside the title and who may read it: the properties that people
    /// give their notes.
    pub fn properties(&self) -> Map<String, Value> {
        let list = |words: &[String]| (!words.is_empty()).then(|| words.to_vec().into());
        let text = |text: &Option<String>| text.clone().map(Value::from);
        let known = [
            ("date", self.date.map(shown_date)),
            ("tags", list(&self.labels)),
            ("aliases", list(&self.aliases)),
            ("author", text(&self.author)),
            ("lang", text(&self.lang)),
            // A number, so that it can be compared in a search; nothing is charged from it.
            (
                "price",
                self.price.as_deref().and_then(|text| text.parse::<f64>().ok()).map(Value::from),
            ),
        ];
        let known = known.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
        let others = self.extra.iter().filter(|(_, value)| !value.is_null());
        known.chain(others.map(|(name, value)| (name.clone(), value.clone()))).collect()
    }
}

/// Earlier versions kept the price as a number.
fn price_text<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> std::result::Result<Option<String>, D::Error> {
    Ok(match Option::<Value>::deserialize(deserializer)? {
        None | Some(Value::Null) => None,
        Some(Value::String(text)) => Some(text),
        Some(other) => Some(other.to_string()),
    })
}

/// A day without its midnight.
fn shown_date(date: Timestamp) -> Value {
    let text = date.to_string();
    text.strip_suffix("T00:00:00.000Z").map_or_else(|| text.clone(), str::to_owned).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_relative_and_normal() {
        for good in [
            "a.md",
            "a/b c.md",
            "Исследование/18 - Инструкция.md",
            "メモ/日記.md",
            "..a/b..md",
            "ab:c.md",
        ] {
            assert_eq!(VaultPath::parse(good).unwrap().as_str(), good);
        }
        for bad in [
            "",
            "/etc/passwd",
            "../a.md",
            "a/../b.md",
            "a/..",
            "./a.md",
            "a//b.md",
            "a/",
            "a\\b.md",
            "..\\a.md",
            "C:/a.md",
            "c:a.md",
            "a\0.md",
            "a\n.md",
        ] {
            assert!(VaultPath::parse(bad).is_err(), "{bad:?}");
        }
        let decomposed = "か\u{3099}.md";
        assert_eq!(VaultPath::parse(decomposed).unwrap().as_str(), "が.md");
    }

    #[test]
    fn a_path_knows_its_parts() {
        let path = VaultPath::parse("a/_b/Note.MD").unwrap();
        assert_eq!((path.folder(), path.file_name(), path.stem()), ("a/_b", "Note.MD", "Note"));
        assert!(path.is_private());
        assert_eq!(VaultPath::parse(".md").unwrap().stem(), ".md");
        assert!(!VaultPath::parse("a_b/c_.md").unwrap().is_private());
    }
}
