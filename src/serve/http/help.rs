//! What a person sees who opens the endpoint in a browser.

use axum::response::Response;

use super::html;

pub fn page(endpoint: &str) -> Response {
    let page = include_str!("../../../assets/help.html");
    html::answer(page.replace("{{endpoint}}", &html::escape(endpoint)))
}
