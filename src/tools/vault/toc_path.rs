//! The `toc_path` argument: headings from the top, in each form in which our own texts print it.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;

use crate::{
    domain::Result,
    markdown::outline::{Outline, Section},
};

/// What search results print between the headings of a section, and what people type.
const BETWEEN: [&str; 2] = [" > ", ">"];

/// `["Methods", "search"]`, `["Methods > search"]` or `"Methods > search"`.
#[derive(Debug, Deserialize)]
#[serde(from = "Given")]
pub struct TocPath(Vec<String>);

#[derive(Deserialize)]
#[serde(untagged)]
enum Given {
    List(Vec<String>),
    Text(String),
}

impl From<Given> for TocPath {
    fn from(given: Given) -> Self {
        let mut headings = match given {
            Given::List(headings) => headings,
            Given::Text(text) => vec![text],
        };
        headings.retain(|heading| !heading.trim().is_empty());
        Self(headings)
    }
}

impl JsonSchema for TocPath {
    fn schema_name() -> Cow<'static, str> {
        "TocPath".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["array", "string"], "items": { "type": "string" } })
    }
}

impl TocPath {
    /// Nothing was named: the whole note is meant.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The section that is named. A heading may itself have ` > ` in it, so the path is first tried
    /// as it was given.
    pub fn find<'a>(&self, outline: &'a Outline) -> Result<&'a Section> {
        let mut found = outline.find(&self.0);
        for between in BETWEEN {
            if found.is_err() && self.0.iter().any(|heading| heading.contains(between)) {
                let parts = self.0.iter().flat_map(|heading| heading.split(between));
                found = outline.find(&parts.map(str::trim).collect::<Vec<_>>());
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::markdown::Note;

    fn found(path: Value) -> Option<String> {
        let text = "## Методы\n### поиск\n### a > b\n## 方法\n### 検索\n";
        let note = Note::parse(text, "t");
        let path: TocPath = serde_json::from_value(path).unwrap();
        path.find(&note.outline).ok().map(|section| section.title.clone())
    }

    #[test]
    fn every_form_names_the_section() {
        for path in [json!(["Методы", "поиск"]), json!(["Методы > поиск"]), json!("Методы > поиск")]
        {
            assert_eq!(found(path).as_deref(), Some("поиск"));
        }
        assert_eq!(found(json!("方法>検索")).as_deref(), Some("検索"));
        assert_eq!(found(json!("方法 > 検索")).as_deref(), Some("検索"));
        assert_eq!(found(json!(["Методы", "a > b"])).as_deref(), Some("a > b"));
        assert_eq!(found(json!("")).as_deref(), Some("t"), "the note itself");
        assert_eq!(found(json!("Методы > нет")), None);
    }
}
