//! A Markdown file as a card: one that `export` wrote comes back as it was, any other becomes a
//! card of its text.

use serde_json::{Map, Value};

use super::{FileCards, source::Source};
use crate::{
    domain::{
        Card, Timestamp,
        card::{Image, MAX_IMAGE_BYTES},
    },
    markdown::frontmatter,
};

/// The frontmatter field of an image that is inlined as text.
pub const INLINE: &str = "text";

pub(super) fn read(
    name: &str,
    text: &str,
    modified: Option<Timestamp>,
    source: &mut Source,
) -> FileCards {
    let split = frontmatter::split(text);
    let yaml = split.yaml.map(|range| &text[range]);
    let options = serde_saphyr::options! { with_snippet: false };
    let parse = |yaml| serde_saphyr::from_str_with_options::<Map<String, Value>>(yaml, options);
    let fields = match yaml.map(parse) {
        Some(Ok(fields)) => fields,
        None => Map::new(),
        Some(Err(error)) => {
            let why = frontmatter::syntax_error(&error);
            return FileCards::skip(name, format!("its frontmatter cannot be read: {why}"));
        }
    };
    let body = &text[split.body..];
    if fields.contains_key("id") && fields.contains_key("isPinned") {
        exported(name, fields, body, source)
    } else {
        foreign(name, &fields, body, modified)
    }
}

fn exported(
    name: &str,
    mut fields: Map<String, Value>,
    body: &str,
    source: &mut Source,
) -> FileCards {
    let content = body.strip_suffix('\n').unwrap_or(body);
    fields.insert("content".into(), Value::String(content.to_owned()));
    if let Some(Value::Array(images)) = fields.get_mut("images") {
        for image in images {
            match read_image(name, image, source) {
                Ok(text) => *image = Value::String(text),
                Err(why) => return FileCards::skip(name, why),
            }
        }
    }
    match Card::from_json(&Value::Object(fields)) {
        Ok(card) => FileCards::one(name, card, Vec::new()),
        Err(why) => FileCards::skip(name, why),
    }
}

/// An image stands in a file beside the card, or as it is where it is no base64.
fn read_image(name: &str, image: &Value, source: &mut Source) -> Result<String, String> {
    let field = |name: &str| image.get(name).and_then(Value::as_str);
    if let Some(text) = field(INLINE) {
        return Ok(text.to_owned());
    }
    let file = field("file").ok_or("an image names no file")?;
    let bytes = source
        .beside(name, file, MAX_IMAGE_BYTES as u64)
        .map_err(|error| error.plain().to_owned())?
        .ok_or_else(|| {
            format!(
                "its image `{file}` is not in the export, is a link, or has more than \
                 {MAX_IMAGE_BYTES} bytes"
            )
        })?;
    Ok(format!("{}{}", field("prefix").unwrap_or_default(), Image::base64(&bytes)))
}

fn foreign(
    name: &str,
    fields: &Map<String, Value>,
    body: &str,
    modified: Option<Timestamp>,
) -> FileCards {
    let content = body.trim_start_matches(['\r', '\n']).trim_end().to_owned();
    let file = name.rsplit('/').next().unwrap_or(name);
    let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
    let text = |name: &str| fields.get(name).and_then(Value::as_str).map(str::to_owned);
    let date = |names: [&str; 3]| names.iter().find_map(|name| Timestamp::parse(&text(name)?));
    let mut labels = Vec::new();
    for field in ["labels", "tags"] {
        match fields.get(field) {
            Some(Value::Array(list)) => {
                frontmatter::add_labels(&mut labels, list.iter().filter_map(Value::as_str));
            }
            Some(Value::String(list)) => {
                frontmatter::add_labels(&mut labels, list.split(',').map(str::trim));
            }
            _ => {}
        }
    }
    let updated = date(["updatedAt", "updated", "modified"]).or(modified);
    let card = Card {
        title: Some(text("title").unwrap_or_else(|| stem.to_owned())),
        labels: (!labels.is_empty()).then_some(labels),
        is_markdown: true,
        created_at: date(["createdAt", "created", "date"]).or(updated),
        updated_at: updated,
        content,
        ..Card::default()
    };
    // Not the date: a copy of the folder is the same folder.
    let key = ["markdown", name, card.title.as_deref().unwrap_or_default(), &card.content];
    let key = key.map(str::to_owned).to_vec();
    FileCards::one(name, card, key)
}
