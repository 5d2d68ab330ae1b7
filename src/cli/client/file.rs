//! A client's settings file: read, edited in its own format, and replaced whole. The file as it was
//! is kept beside it.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{json, toml, yaml};
use crate::{
    domain::{Error, Result, Timestamp, error::Doing},
    vault,
};

/// The name of our entry.
pub const NAME: &str = "notewell";
const BOM: char = '\u{feff}';

/// How a client writes its settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Json,
    Toml,
    Yaml,
}

/// What became of the file.
pub enum Edited {
    /// It is as it should be already.
    Unchanged,
    Written {
        /// The file as it was, if there was one.
        kept: Option<PathBuf>,
    },
}

/// Sets our entry below these keys.
pub fn set(file: &Path, format: Format, keys: &[&str], server: &Value) -> Result<Edited> {
    edit(file, |text| {
        match format {
            Format::Json => json::set(text, keys, server),
            Format::Toml => toml::set(text, keys, server),
            Format::Yaml => yaml::set(text, keys, server),
        }
        .map(Some)
    })
}

/// Removes our entry.
pub fn remove(file: &Path, format: Format, keys: &[&str]) -> Result<Edited> {
    edit(file, |text| match format {
        Format::Json => json::remove(text, keys),
        Format::Toml => toml::remove(text, keys),
        Format::Yaml => yaml::remove(text, keys),
    })
}

/// What to paste by hand.
pub fn snippet(format: Format, keys: &[&str], server: &Value) -> Result<String> {
    let nested = || {
        let entry = serde_json::json!({ NAME: server });
        keys.iter().rev().fold(entry, |inner, key| serde_json::json!({ *key: inner }))
    };
    match format {
        Format::Json => serde_json::to_string_pretty(&nested()).doing("write JSON"),
        Format::Toml => toml::set("", keys, server).map_err(Error::internal),
        Format::Yaml => yaml::set("", keys, server).map_err(Error::internal),
    }
}

fn edit(
    file: &Path,
    change: impl FnOnce(&str) -> std::result::Result<Option<String>, String>,
) -> Result<Edited> {
    // A link is followed: people keep their settings in a folder of dotfiles.
    let file = match file.symlink_metadata() {
        Ok(_) => file.canonicalize().doing(format_args!("open `{}`", file.display()))?,
        Err(_) => file.to_path_buf(),
    };
    let before = read(&file)?;
    let text = before.as_deref().unwrap_or_default();
    let (bom, text) = match text.strip_prefix(BOM) {
        Some(text) => (BOM.to_string(), text),
        None => (String::new(), text),
    };
    let after = change(text).map_err(|why| not_settings(&file, &why))?;
    let after = after.map(|after| format!("{bom}{after}"));
    let Some(after) = after.filter(|after| before.as_ref() != Some(after)) else {
        return Ok(Edited::Unchanged);
    };
    let folder = vault::folder_of(&file);
    std::fs::create_dir_all(folder).doing(format_args!("make `{}`", folder.display()))?;
    let kept = before.map(|text| keep(&file, &text)).transpose()?;
    vault::replace(&file, after.as_bytes())?;
    Ok(Edited::Written { kept })
}

/// The text of a file; `None` where there is no file.
pub fn read(file: &Path) -> Result<Option<String>> {
    match std::fs::read(file) {
        Ok(bytes) => {
            String::from_utf8(bytes).map(Some).map_err(|_| not_settings(file, "not UTF-8"))
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).doing(format_args!("read `{}`", file.display())),
    }
}

fn not_settings(file: &Path, why: &str) -> Error {
    Error::invalid_params(format!(
        "`{}` is {why}, so nothing was written; edit it by hand: `notewell client NAME` prints the entry",
        file.display()
    ))
}

/// Writes the old text beside the file, under a name with the time.
fn keep(file: &Path, text: &str) -> Result<PathBuf> {
    let now = Timestamp::now().to_string();
    let stamp: String = now.chars().filter(char::is_ascii_digit).take(14).collect();
    let kept = (1..).map(|number| {
        let mut name = file.as_os_str().to_owned();
        match number {
            1 => name.push(format!(".{stamp}.bak")),
            more => name.push(format!(".{stamp}-{more}.bak")),
        }
        PathBuf::from(name)
    });
    let kept = kept.into_iter().find(|kept| !kept.exists()).unwrap_or_default();
    vault::replace(&kept, text.as_bytes())?;
    if let Ok(metadata) = std::fs::metadata(file) {
        // Settings hold keys: a copy is no more readable than the file.
        std::fs::set_permissions(&kept, metadata.permissions())
            .doing(format_args!("keep the permissions of `{}`", file.display()))?;
    }
    Ok(kept)
}

/// How lines of a text end.
pub fn line_end(text: &str) -> &'static str {
    match text.find('\n') {
        Some(at) if text[..at].ends_with('\r') => "\r\n",
        _ => "\n",
    }
}

/// A value at a key path, and the rest without our entry: an edit may change the one and never the
/// other.
pub fn apart(mut settings: Value, keys: &[&str]) -> (Option<Value>, Value) {
    fn take(value: &mut Value, keys: &[&str]) -> Option<Value> {
        let Some((key, rest)) = keys.split_first() else {
            return value.as_object_mut()?.shift_remove(NAME);
        };
        let inner = value.as_object_mut()?.get_mut(*key)?;
        let entry = take(inner, rest);
        // A section that only held our entry comes and goes with it.
        let is_empty = inner.is_null() || inner.as_object().is_some_and(serde_json::Map::is_empty);
        if is_empty {
            value.as_object_mut()?.shift_remove(*key);
        }
        entry
    }
    let entry = take(&mut settings, keys);
    let rest = if settings.is_null() { Value::Object(serde_json::Map::new()) } else { settings };
    (entry, rest)
}
