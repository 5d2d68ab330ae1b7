//! The daily note: where Obsidian's own settings put it, and the template it is made from.

use jiff::Zoned;
use serde::Deserialize;

use super::{
    moment,
    read::{Reason, TextFile},
};
use crate::domain::{Error, Result, VaultPath};

const SETTINGS: &str = ".obsidian/daily-notes.json";
const DEFAULT_FORMAT: &str = "YYYY-MM-DD";
const DEFAULT_TIME: &str = "HH:mm";

/// Obsidian's settings of daily notes. Whatever else the file says is not ours.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Settings {
    folder: Option<String>,
    format: Option<String>,
    template: Option<String>,
}

/// A day's note: its path, and what it starts with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Daily {
    /// Where the daily note lives.
    pub path: VaultPath,
    /// Its template, filled in.
    pub text: String,
}

/// Reads a file of a vault.
pub type ReadText<'a> = dyn Fn(&VaultPath) -> Result<TextFile, Reason> + 'a;

/// The daily note of a day, in a vault whose files `read` gives.
pub fn daily_with(read: &ReadText<'_>, at: &Zoned) -> Result<Daily> {
    let settings = settings(read)?;
    let given = |text: &Option<String>| {
        text.as_deref().map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned)
    };
    let name = moment::format(&given(&settings.format).unwrap_or(DEFAULT_FORMAT.into()), at);
    let path = match given(&settings.folder).map(|folder| folder.trim_matches('/').to_owned()) {
        Some(folder) if !folder.is_empty() => format!("{folder}/{name}.md"),
        _ => format!("{name}.md"),
    };
    let path = VaultPath::parse(&path)?;
    let text = match given(&settings.template) {
        Some(template) => fill(&template_text(read, &template)?, path.stem(), at),
        None => String::new(),
    };
    Ok(Daily { path, text })
}

fn settings(read: &ReadText<'_>) -> Result<Settings> {
    match read(&VaultPath::parse(SETTINGS)?) {
        Ok(file) => serde_json::from_str(file.text.trim_start_matches('\u{feff}')).map_err(|error| {
            Error::outside(format!(
                "Obsidian's settings of daily notes, `{SETTINGS}`, cannot be read ({error}); name the note by its path"
            ))
        }),
        Err(Reason::Absent) => Ok(Settings::default()),
        Err(reason) => Err(Error::outside(format!(
            "Obsidian's settings of daily notes, `{SETTINGS}`: {reason}; name the note by its path"
        ))),
    }
}

fn template_text(read: &ReadText<'_>, template: &str) -> Result<String> {
    let name = template.trim_matches('/');
    let name = if name.ends_with(".md") { name.to_owned() } else { format!("{name}.md") };
    let path = VaultPath::parse(&name)?;
    let file = read(&path).map_err(|reason| {
        Error::outside(format!(
            "the template of daily notes, `{path}`, {}; change it in Obsidian's settings, or create the note by its path",
            reason.after_name()
        ))
    })?;
    Ok(file.text)
}

/// Fills in `{{title}}`, `{{date}}`, `{{time}}`, and `{{date:FORMAT}}`. Any other braces stay.
fn fill(template: &str, title: &str, at: &Zoned) -> String {
    let mut text = String::new();
    let mut rest = template;
    while let Some(start) = rest.find("{{") {
        let (before, from) = rest.split_at(start);
        text.push_str(before);
        let Some(end) = from.find("}}") else {
            rest = from;
            break;
        };
        let inner = from[2..end].trim();
        let (name, format) = inner
            .split_once(':')
            .map_or((inner, None), |(name, format)| (name.trim(), Some(format.trim())));
        let value = match name.to_ascii_lowercase().as_str() {
            "title" => Some(title.to_owned()),
            "date" => Some(moment::format(format.unwrap_or(DEFAULT_FORMAT), at)),
            "time" => Some(moment::format(format.unwrap_or(DEFAULT_TIME), at)),
            _ => None,
        };
        match value {
            Some(value) => text.push_str(&value),
            None => text.push_str(&from[..end + 2]),
        }
        rest = &from[end + 2..];
    }
    text + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vault::{locate, read};

    fn daily(root: &std::path::Path, at: &Zoned, limit: u64) -> Result<Daily> {
        daily_with(&|path: &VaultPath| read(&locate(root, path), limit), at)
    }

    #[test]
    fn the_settings_decide_place_and_text() {
        let vault = tempfile::tempdir().unwrap();
        let root = vault.path();
        let at: Zoned = "2026-03-01T09:05:07[UTC]".parse().unwrap();
        let plain = daily(root, &at, 1000).unwrap();
        assert_eq!((plain.path.as_str(), plain.text.as_str()), ("2026-03-01.md", ""));
        std::fs::create_dir(root.join(".obsidian")).unwrap();
        let settings = r#"{"folder":"Дневник/","format":"YYYY/MM-DD dddd","template":"Шаблоны/День","autorun":true}"#;
        super::super::replace(&root.join(SETTINGS), settings.as_bytes()).unwrap();
        let error = daily(root, &at, 1000).unwrap_err();
        assert!(error.message.contains("template"), "{error}");
        let template = "# {{title}}\n{{date}} {{time}} {{date:D.M.YY}} {{ other }} {{ open";
        std::fs::create_dir(root.join("Шаблоны")).unwrap();
        super::super::replace(&root.join("Шаблоны/День.md"), template.as_bytes()).unwrap();
        let made = daily(root, &at, 1000).unwrap();
        assert_eq!(made.path.as_str(), "Дневник/2026/03-01 Sunday.md");
        assert_eq!(made.text, "# 03-01 Sunday\n2026-03-01 09:05 1.3.26 {{ other }} {{ open");
        super::super::replace(&root.join(SETTINGS), b"{").unwrap();
        assert!(daily(root, &at, 1000).unwrap_err().message.contains("cannot be read"));
    }
}
