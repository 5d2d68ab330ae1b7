//! Every card, archived ones too, as one JSON file in Memento's shape or as a folder of Markdown.
//! Importing either gives back the same cards.

use std::{
    collections::HashSet,
    io::Write,
    path::{Path, PathBuf},
};

use serde_json::{Map, Value, json};

use super::CardRoom;
use crate::{
    domain::{
        Card, Error, Progress, Result,
        card::{Image, View},
        error::Doing,
        query::words,
    },
    import::cards::markdown::INLINE,
    store::cards::{Cards, Images},
    vault,
};

/// The folder of images beside the cards.
const IMAGES: &str = "images";

words!(
    /// How cards are written out.
    Format, "format", { Json = "json", Markdown = "markdown" }
);

/// What an export wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exported {
    /// Cards written.
    pub cards: usize,
    /// The file or folder.
    pub path: PathBuf,
}

impl CardRoom {
    /// Writes all cards to a JSON file or into an empty folder.
    pub fn export(&self, path: &Path, format: Format, progress: &dyn Progress) -> Result<Exported> {
        // An export of a file that lost its cards would look like a good backup.
        self.refuse_suspect()?;
        let cards = self.store()?;
        let mut ids: Vec<String> = cards.stamps()?.into_iter().map(|(id, _)| id).collect();
        ids.sort();
        let cards = match format {
            Format::Json => to_json(&*cards, &ids, path, progress)?,
            Format::Markdown => to_markdown(&*cards, &ids, path, progress)?,
        };
        Ok(Exported { cards, path: path.to_path_buf() })
    }
}

fn to_json(
    cards: &dyn Cards,
    ids: &[String],
    path: &Path,
    progress: &dyn Progress,
) -> Result<usize> {
    vault::check_folder_of(path)?;
    let written = write_file(path, |file| {
        let mut written = 0;
        file.write_all(b"[").doing("write the export")?;
        for (n, id) in ids.iter().enumerate() {
            // Deleted since the list was made: it is not a card any more.
            let Some(card) = cards.get(id, Images::Bytes)? else { continue };
            let gap = if written == 0 { "\n" } else { ",\n" };
            write!(file, "{gap}{}", card.to_json(View::Whole)).doing("write the export")?;
            written += 1;
            progress.report(n as u64 + 1, Some(ids.len() as u64), "exporting cards");
        }
        file.write_all(b"\n]\n").doing("write the export")?;
        Ok(written)
    })?;
    vault::sync_folder(vault::folder_of(path))?;
    Ok(written)
}

fn to_markdown(
    cards: &dyn Cards,
    ids: &[String],
    folder: &Path,
    progress: &dyn Progress,
) -> Result<usize> {
    vault::make_folders(folder)?;
    let mut there = folder.read_dir().doing(format_args!("read `{}`", folder.display()))?;
    if there.next().is_some() {
        return Err(Error::invalid_params(format!(
            "the folder `{}` is not empty; name a new one",
            folder.display()
        )));
    }
    let (mut names, mut written) = (HashSet::new(), 0);
    for (n, id) in ids.iter().enumerate() {
        let Some(card) = cards.get(id, Images::Bytes)? else { continue };
        let name = file_name(&card, &mut names);
        let text = to_text(&card, &name, folder)?;
        write_file(&folder.join(format!("{name}.md")), |file| {
            file.write_all(text.as_bytes()).doing("write the export")
        })?;
        written += 1;
        progress.report(n as u64 + 1, Some(ids.len() as u64), "exporting cards");
    }
    let images = folder.join(IMAGES);
    if images.is_dir() {
        vault::sync_folder(&images)?;
    }
    vault::sync_folder(folder)?;
    Ok(written)
}

/// The card as a Markdown file. Its images go into files beside it.
fn to_text(card: &Card, name: &str, folder: &Path) -> Result<String> {
    let Value::Object(mut fields) = card.to_json(View::Whole) else {
        return Err(Error::internal("a card is not a JSON object"));
    };
    fields.remove("content");
    for (n, text) in card.images.iter().flatten().enumerate() {
        let entry = match split_image(text) {
            None => json!({ INLINE: text }),
            Some((prefix, image)) => {
                let file = format!("{IMAGES}/{name}-{n}.{}", image.extension());
                vault::make_folders(&folder.join(IMAGES))?;
                write_file(&folder.join(&file), |out| {
                    out.write_all(&image.bytes).doing("write an image")
                })?;
                json!({ "file": file, "prefix": prefix })
            }
        };
        fields["images"][n] = entry;
    }
    Ok(format!("---\n{}---\n{}\n", front(&fields), card.content))
}

/// What stands before the base64 text, and the image; `None` where they would not give back the
/// same text.
fn split_image(text: &str) -> Option<(&str, Image)> {
    let image = Image::parse(text)?;
    let prefix = text.strip_suffix(Image::base64(&image.bytes).as_str())?;
    Some((prefix, image))
}

/// YAML that every reader understands: one field a line, values as JSON, lists one entry a line.
fn front(fields: &Map<String, Value>) -> String {
    let mut yaml = String::new();
    for (name, value) in fields {
        match value {
            Value::Null => {}
            Value::Array(list) if !list.is_empty() => {
                yaml.push_str(&format!("{name}:\n"));
                list.iter().for_each(|entry| yaml.push_str(&format!("  - {}\n", flow(entry))));
            }
            value => yaml.push_str(&format!("{name}: {}\n", flow(value))),
        }
    }
    yaml
}

/// JSON in which every character is one that YAML allows in a quoted text, with a space after a
/// colon, which YAML wants.
fn flow(value: &Value) -> String {
    match value {
        Value::Object(map) => {
            let fields: Vec<String> = map
                .iter()
                .map(|(name, value)| format!("{}: {}", flow(&json!(name)), flow(value)))
                .collect();
            format!("{{{}}}", fields.join(", "))
        }
        Value::Array(list) => {
            format!("[{}]", list.iter().map(flow).collect::<Vec<_>>().join(", "))
        }
        Value::String(_) => {
            let mut text = String::new();
            for c in value.to_string().chars() {
                match c {
                    '\u{7f}'..='\u{9f}'
                    | '\u{2028}'
                    | '\u{2029}'
                    | '\u{feff}'
                    | '\u{fffe}'
                    | '\u{ffff}' => {
                        text.push_str(&format!("\\u{:04x}", c as u32));
                    }
                    c => text.push(c),
                }
            }
            text
        }
        other => other.to_string(),
    }
}

/// A name for the card's file that every file system takes, and that no other card has.
fn file_name(card: &Card, taken: &mut HashSet<String>) -> String {
    let plain = |c: char| !c.is_control() && !r#"/\:*?"<>|#^[]"#.contains(c);
    let name: String = card
        .name()
        .lines()
        .next()
        .unwrap_or_default()
        .chars()
        .filter(|c| plain(*c))
        .take(60)
        .collect();
    let name = name.trim_matches(|c: char| c.is_whitespace() || c == '.');
    let reserved = ["con", "prn", "aux", "nul"].contains(&name.to_lowercase().as_str());
    let name = if name.is_empty() || reserved { "card" } else { name };
    let mut unique = name.to_owned();
    let mut n = 1;
    while !taken.insert(unique.to_lowercase()) {
        n += 1;
        unique = format!("{name} {n}");
    }
    unique
}

/// Writes a file whole or not at all. Its name is durable when its folder is synced.
fn write_file<T>(
    path: &Path,
    write: impl FnOnce(&mut std::io::BufWriter<&mut tempfile::NamedTempFile>) -> Result<T>,
) -> Result<T> {
    let folder = vault::folder_of(path);
    let what = format!("write `{}`", path.display());
    let mut file = tempfile::NamedTempFile::new_in(folder).doing(&what)?;
    let mut buffer = std::io::BufWriter::new(&mut file);
    let value = write(&mut buffer)?;
    buffer.flush().doing(&what)?;
    drop(buffer);
    file.as_file().sync_all().doing(&what)?;
    file.persist(path).doing(&what)?;
    Ok(value)
}
