//! What a person sees who opens the endpoint in a browser.

use axum::response::Response;

use super::html;

/// `base`: the start of this server's addresses; `path`: the one that was opened.
pub fn page(base: &str, path: &str) -> Response {
    let page = include_str!("../../../assets/help.html");
    let page = page.replace("{{door}}", &html::escape(&format!("{base}/mcp")));
    html::answer(page.replace("{{endpoint}}", &html::escape(&format!("{base}{path}"))))
}
