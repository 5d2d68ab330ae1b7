//! One note of Google Keep, as Takeout writes it.

use serde_json::{Value, json};

use super::{FileCards, source::Source};
use crate::domain::{
    Card, Timestamp,
    card::{CardType, Color, Image, MAX_IMAGE_BYTES, MAX_IMAGES},
};

/// Keep's colours that Memento does not have, and the nearest that it has.
const NEAREST: [(&str, Color); 2] = [("CERULEAN", Color::Blue), ("BROWN", Color::Orange)];

/// Whether this JSON is a note of Takeout.
pub fn is_note(value: &Value) -> bool {
    let has = |name: &str| value.get(name).is_some();
    value.is_object()
        && (has("textContent") || has("listContent") || has("attachments") || has("title"))
        && (has("isTrashed") || has("createdTimestampUsec") || has("userEditedTimestampUsec"))
}

pub fn read(name: &str, note: &Value, source: &mut Source) -> FileCards {
    if flag(note, "isTrashed") {
        return FileCards::skip(name, "was in Keep's bin");
    }
    let mut remarks = Vec::new();
    let mut remark = |what: String| remarks.push((name.to_owned(), what));
    let title = text(note, "title").filter(|title| !title.is_empty());
    let mut content = text(note, "textContent").unwrap_or_default();
    for link in list(note, "annotations") {
        if let Some(url) = text(link, "url").filter(|url| !content.contains(url.as_str())) {
            let gap = if content.is_empty() { "" } else { "\n\n" };
            content.push_str(&format!("{gap}{url}"));
        }
    }
    let items: Vec<Value> = list(note, "listContent")
        .iter()
        .filter_map(|item| Some((text(item, "text")?, flag(item, "isChecked"))))
        .filter(|(text, _)| !text.trim().is_empty())
        .enumerate()
        .map(|(n, (text, checked))| json!({"id": (n + 1).to_string(), "text": text, "checked": checked}))
        .collect();
    let images = read_images(name, note, source, &mut remark);
    if title.is_none() && content.trim().is_empty() && items.is_empty() && images.is_empty() {
        return FileCards::skip(name, "is empty");
    }
    let labels: Vec<String> =
        list(note, "labels").iter().filter_map(|label| text(label, "name")).collect();
    let (created, updated) =
        (date(note, "createdTimestampUsec"), date(note, "userEditedTimestampUsec"));
    let is_list = note.get("listContent").is_some();
    let card = Card {
        color: color(note, &mut remark).as_str().into(),
        kind: if is_list { CardType::Checklist } else { CardType::Text }.as_str().into(),
        check_items: is_list.then_some(items),
        labels: (!labels.is_empty()).then_some(labels),
        images: (!images.is_empty()).then_some(images),
        is_pinned: flag(note, "isPinned"),
        is_archived: flag(note, "isArchived"),
        created_at: created.or(updated),
        updated_at: updated.or(created),
        title,
        content,
        ..Card::default()
    };
    // Keep never changes the time of creation; the title distinguishes notes of one moment.
    let moment = note.get("createdTimestampUsec").map(Value::to_string).unwrap_or_default();
    let mut key = vec!["keep".to_owned(), moment.clone(), card.title.clone().unwrap_or_default()];
    if moment.is_empty() {
        key.push(card.content.clone());
    }
    FileCards { remarks, ..FileCards::one(name, card, key) }
}

fn color(note: &Value, remark: &mut dyn FnMut(String)) -> Color {
    let name = text(note, "color").unwrap_or_default();
    if let Ok(color) = name.to_lowercase().parse() {
        return color;
    }
    let nearest = NEAREST
        .into_iter()
        .find(|(keep, _)| *keep == name)
        .map_or(Color::Default, |(_, color)| color);
    if !name.is_empty() {
        remark(format!("its colour `{name}` became `{nearest}`"));
    }
    nearest
}

fn read_images(
    name: &str,
    note: &Value,
    source: &mut Source,
    remark: &mut dyn FnMut(String),
) -> Vec<String> {
    let mut images = Vec::new();
    for attachment in list(note, "attachments") {
        let Some(file) = text(attachment, "filePath") else { continue };
        let mime = text(attachment, "mimetype").unwrap_or_default();
        if !mime.starts_with("image/") {
            remark(format!("its attachment `{file}` ({mime}) is no image and was left out"));
            continue;
        }
        if images.len() >= MAX_IMAGES {
            remark(format!("its image `{file}` was left out: a card holds {MAX_IMAGES}"));
            continue;
        }
        match source.beside(name, &file, MAX_IMAGE_BYTES as u64) {
            Ok(Some(bytes)) if bytes.is_empty() => {
                remark(format!("its image `{file}` is empty and was left out"));
            }
            Ok(Some(bytes)) => images.push(Image::data_url(&mime, &bytes)),
            Ok(None) => remark(format!(
                "its image `{file}` was left out: it is not in the export, is a link, or has more \
                 than {MAX_IMAGE_BYTES} bytes"
            )),
            Err(error) => remark(format!("its image `{file}` was left out: {error}")),
        }
    }
    images
}

fn text(value: &Value, name: &str) -> Option<String> {
    value.get(name)?.as_str().map(str::to_owned)
}

fn flag(value: &Value, name: &str) -> bool {
    value.get(name).and_then(Value::as_bool).unwrap_or(false)
}

fn list<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Microseconds since 1970, as a number or as text.
fn date(note: &Value, name: &str) -> Option<Timestamp> {
    let value = note.get(name)?;
    let usec = value.as_i64().or_else(|| value.as_str()?.parse().ok())?;
    (usec > 0).then_some(Timestamp(usec / 1_000))
}
