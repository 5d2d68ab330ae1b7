//! Views of results for hosts that speak MCP Apps (`io.modelcontextprotocol/ui`, 2026-01-26): static
//! pages that draw what a tool answered. They fetch nothing; the answer's text stands alone.

mod plots;

use std::sync::LazyLock;

use base64::Engine as _;
use rmcp::{
    model::{ClientCapabilities, MetaObject, ReadResourceResult, ResourceContents},
    service::RequestContext,
};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::tools::Output;

/// What a client declares.
const EXTENSION: &str = "io.modelcontextprotocol/ui";
/// The kind of document that a view is.
const MIME: &str = "text/html;profile=mcp-app";

struct View {
    /// What it draws, as its script knows it.
    name: &'static str,
    uri: &'static str,
    title: &'static str,
    tools: &'static [&'static str],
}

const VIEWS: [View; 4] = [
    View {
        name: "search",
        uri: "ui://notewell/search.html",
        title: "Results",
        tools: &["search", "similar"],
    },
    View { name: "trends", uri: "ui://notewell/trends.html", title: "Trends", tools: &["trends"] },
    View { name: "diff", uri: "ui://notewell/diff.html", title: "Edit", tools: &["edit_page"] },
    View {
        name: "report",
        uri: "ui://notewell/report.html",
        title: "Report on a repository",
        tools: &["oss_report"],
    },
];

const FRAME: &str = include_str!("../../../../assets/views/view.html");
const SCRIPT: &str = include_str!("../../../../assets/views/view.js");
const STYLES: [&str; 2] = [
    include_str!("../../../../assets/web/style.css"),
    include_str!("../../../../assets/views/view.css"),
];

/// The documents, in the order of [`VIEWS`].
static DOCUMENTS: LazyLock<[String; 4]> = LazyLock::new(|| VIEWS.each_ref().map(document));

fn document(view: &View) -> String {
    let style = STYLES.concat();
    // Only this script and this style run, whatever a host allows and whatever a text holds.
    let policy = format!(
        "default-src 'none'; script-src '{}'; style-src '{}'; base-uri 'none'; form-action 'none'",
        hash(SCRIPT),
        hash(&style)
    );
    FRAME
        .replace("{view}", view.name)
        .replace("{title}", view.title)
        .replace("{policy}", &policy)
        .replace("{style}", &style)
        .replace("{script}", SCRIPT)
}

fn hash(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    format!("sha256-{}", base64::engine::general_purpose::STANDARD.encode(digest))
}

/// Whether the client shows views.
pub fn are_shown(context: &RequestContext<rmcp::RoleServer>) -> bool {
    context.client_capabilities().is_some_and(|capabilities| declares(&capabilities))
}

fn declares(capabilities: &ClientCapabilities) -> bool {
    let settings = capabilities.extensions.as_ref().and_then(|all| all.get(EXTENSION));
    settings.is_some_and(|settings| match settings.get("mimeTypes") {
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == MIME),
        _ => true,
    })
}

/// Where a tool's results are drawn, added to what else is known of the tool.
pub fn tool_meta(tool: &str, meta: Option<MetaObject>) -> Option<MetaObject> {
    let Some(view) = VIEWS.iter().find(|view| view.tools.contains(&tool)) else { return meta };
    let mut meta = meta.unwrap_or_default();
    meta.0.insert("ui".into(), json!({ "resourceUri": view.uri }));
    // Hosts of the drafts look here.
    meta.0.insert("ui/resourceUri".into(), view.uri.into());
    Some(meta)
}

/// The view at an address.
pub fn read(uri: &str) -> Option<ReadResourceResult> {
    let at = VIEWS.iter().position(|view| view.uri == uri)?;
    let csp = json!({ "connectDomains": [], "resourceDomains": [] });
    let meta = json!({ "ui": { "csp": csp, "prefersBorder": true } });
    let content = ResourceContents::TextResourceContents {
        uri: uri.to_owned(),
        mime_type: Some(MIME.into()),
        text: DOCUMENTS[at].clone(),
        meta: serde_json::from_value(meta).ok(),
    };
    Some(ReadResourceResult::new(vec![content]))
}

/// Adds to a result what only its view needs.
pub fn complete(tool: &str, mut output: Output) -> Output {
    if tool == "trends"
        && let Some(plots) = output.structured.as_ref().and_then(plots::of_trends)
    {
        output.meta.insert("notewell/plots".into(), plots);
    }
    output
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_runs_its_own_script_only() {
        for (view, document) in VIEWS.iter().zip(DOCUMENTS.iter()) {
            assert!(document.contains(&format!("data-view=\"{}\"", view.name)));
            assert!(
                document.contains(&hash(SCRIPT)) && !document.contains("unsafe"),
                "{}",
                view.name
            );
            assert_eq!(document.matches("<script>").count(), 1);
            assert!(document.contains(&format!("<script>{SCRIPT}</script>")));
            assert!(!document.contains("{style}") && !document.contains("{policy}"));
            assert!(document.len() < 64_000, "{} bytes", document.len());
        }
        assert!(!SCRIPT.contains("innerHTML") && !SCRIPT.contains("</script"));
        assert!(!STYLES.concat().contains("</style"));
    }

    #[test]
    fn a_client_declares_the_kind_of_document() {
        let client = |settings: Value| -> ClientCapabilities {
            serde_json::from_value(json!({ "extensions": settings })).unwrap()
        };
        assert!(declares(&client(json!({ EXTENSION: { "mimeTypes": [MIME] } }))));
        assert!(declares(&client(json!({ EXTENSION: {} }))));
        assert!(!declares(&client(json!({ EXTENSION: { "mimeTypes": ["text/uri-list"] } }))));
        assert!(!declares(&client(json!({}))));
        assert!(!declares(&ClientCapabilities::default()));
    }
}
