//! Light, dark, or as the system has it: kept in a cookie, so that it works without the script.

use axum::{
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
};

use super::{Form, visit::Reply};

/// `POST /theme`.
pub async fn set(form: Form) -> Response {
    let cookie = match form.field("theme") {
        "light" => "theme=light; Path=/; Max-Age=31536000; SameSite=Lax; HttpOnly",
        "dark" => "theme=dark; Path=/; Max-Age=31536000; SameSite=Lax; HttpOnly",
        _ => "theme=; Path=/; Max-Age=0; SameSite=Lax; HttpOnly",
    };
    let mut response = Reply::see(form.back()).into_response();
    response.headers_mut().insert(header::SET_COOKIE, HeaderValue::from_static(cookie));
    response
}
