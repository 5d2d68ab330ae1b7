//! Resources in the protocol's types.

use rmcp::model::{MetaObject, ReadResourceResult, Resource, ResourceContents, ResourceTemplate};
use serde_json::Value;

use crate::app::{
    resources::{self, Content, Listed},
    rights::Rights,
};

pub fn listed(listed: Listed) -> Resource {
    let mut resource = Resource::new(listed.uri, listed.name);
    resource.title = Some(listed.title);
    resource.description = listed.description;
    resource.mime_type = Some(listed.mime_type.into());
    resource.size = listed.size;
    resource.meta = meta(listed.meta);
    resource
}

pub fn templates(rights: &Rights) -> Vec<ResourceTemplate> {
    let templates = resources::templates(rights).map(|form| {
        let mut template = ResourceTemplate::new(form.uri, form.name);
        template.description = Some(form.description.to_owned());
        template
    });
    templates.collect()
}

pub fn content(uri: &str, content: Content) -> ReadResourceResult {
    let uri = uri.to_owned();
    let content = match content {
        Content::Text { mime_type, text, meta: facts } => ResourceContents::TextResourceContents {
            uri,
            mime_type: Some(mime_type.into()),
            text,
            meta: meta(facts),
        },
        Content::Bytes { mime_type, base64 } => ResourceContents::BlobResourceContents {
            uri,
            mime_type: Some(mime_type),
            blob: base64,
            meta: None,
        },
    };
    ReadResourceResult::new(vec![content])
}

fn meta(facts: Value) -> Option<MetaObject> {
    match facts {
        Value::Object(map) if !map.is_empty() => serde_json::from_value(Value::Object(map)).ok(),
        _ => None,
    }
}
