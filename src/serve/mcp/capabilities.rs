//! What a caller may use, and what its client can do.

use rmcp::{RoleServer, model::*, service::RequestContext};

use super::{link::Link, message, skills};
use crate::{
    app::{rights::Right, skills::has_skills},
    domain::{Kind, Toolset},
};

/// Whether prompts may be changed over this link.
pub(super) fn may_change(link: &Link) -> bool {
    link.rights.may(Right::Write(Kind::Prompt)) && link.rights.may(Right::Use(Toolset::Prompts))
}

/// Values are completed from those used before, by whoever may read the prompts.
pub(super) fn may_complete(link: &Link) -> bool {
    link.rights.may(Right::Read(Kind::Prompt))
}

pub(super) fn is_modern(context: &RequestContext<RoleServer>) -> bool {
    context
        .protocol_version()
        .is_some_and(|version| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str())
}

/// Whether a client can send its person to an address and repeat the request afterwards.
pub(super) fn opens_urls(context: &RequestContext<RoleServer>) -> bool {
    let capabilities = context.client_capabilities();
    is_modern(context)
        && capabilities
            .and_then(|capabilities| capabilities.elicitation)
            .is_some_and(|elicitation| elicitation.url.is_some())
}

/// Where typed clients look for what the standard capabilities cannot express. `prompts.mutable`
/// is added on the way out wherever this is there (`message::say_mutable`).
pub(super) fn extensions() -> ExtensionCapabilities {
    let prompts = serde_json::json!({ "mutable": true });
    let prompts = prompts.as_object().cloned().unwrap_or_default();
    ExtensionCapabilities::from([
        (message::MUTABLE.to_owned(), prompts),
        (skills::EXTENSION.to_owned(), skills::settings()),
        (TASKS_EXTENSION_ID.to_owned(), serde_json::Map::new()),
    ])
}

/// The capabilities of one caller: only what this caller may use is declared.
pub(super) fn for_caller(mut capabilities: ServerCapabilities, link: &Link) -> ServerCapabilities {
    if let Some(extensions) = &mut capabilities.extensions {
        if !may_change(link) {
            extensions.remove(message::MUTABLE);
        }
        if !has_skills(&link.rights) {
            extensions.remove(skills::EXTENSION);
        }
    }
    capabilities.extensions = capabilities.extensions.filter(|extensions| !extensions.is_empty());
    capabilities
}
