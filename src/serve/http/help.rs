//! What a person sees who opens the endpoint in a browser.

use axum::{
    http::header,
    response::{IntoResponse, Response},
};

pub fn page(endpoint: &str) -> Response {
    let endpoint = endpoint.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;");
    let body = include_str!("../../../assets/help.html").replace("{{endpoint}}", &endpoint);
    let headers = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (
            header::CONTENT_SECURITY_POLICY,
            "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        ),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-store"),
    ];
    (headers, body).into_response()
}
