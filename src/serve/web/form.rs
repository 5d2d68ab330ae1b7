//! Forms that change something. Only our own pages may post them.

use axum::{
    body::{Body, Bytes},
    extract::{FromRequest, FromRequestParts, Request},
    http::{HeaderMap, StatusCode, header},
    response::Response,
};

use super::{Visit, errors};
use crate::{
    domain::{Error, Result},
    serve::http::{
        Site,
        body::{Read, SMALL, Share},
        cookie, origin, read_form,
    },
};

/// The most fields of a form. Ours have a dozen, each a box, a list or a text.
const MAX_FIELDS: usize = 2_000;

/// A posted form and the request that carried it.
pub struct Form {
    /// The request.
    pub visit: Visit,
    fields: Vec<(String, String)>,
    /// The memory that the fields take.
    _share: Share,
}

impl Form {
    /// A field as it was sent; empty when there is none.
    pub fn field(&self, name: &str) -> &str {
        self.fields.iter().find(|(key, _)| key == name).map_or("", |(_, value)| value)
    }

    /// A field without spaces around it, unless it is blank.
    pub fn value(&self, name: &str) -> Option<&str> {
        Some(self.field(name).trim()).filter(|value| !value.is_empty())
    }

    /// A field that holds a number.
    pub fn number(&self, name: &str) -> Result<i64> {
        let text = self.field(name);
        text.trim().parse().map_err(|_| {
            Error::invalid_params(format!(
                "the form has no number in `{name}`; open its page again"
            ))
        })
    }

    /// Every value of a field that may be sent several times.
    pub fn values<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> + 'a {
        self.fields.iter().filter(move |(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Where the form asks to go afterwards, if that is an address of this site.
    pub fn back(&self) -> &str {
        let back = self.field("back");
        if is_local(back) { back } else { "/" }
    }
}

/// Whether an address is a path of this site: one slash at its start, and nothing that a browser
/// could read as another host.
pub fn is_local(address: &str) -> bool {
    let plain = !address.contains('\\') && !address.chars().any(char::is_control);
    plain && address.starts_with('/') && !address.starts_with("//")
}

impl FromRequest<Site> for Form {
    type Rejection = Response;

    async fn from_request(request: Request<Body>, site: &Site) -> Result<Self, Response> {
        let (mut parts, body) = request.into_parts();
        let visit = match Visit::from_request_parts(&mut parts, site).await {
            Ok(visit) => visit,
            Err(never) => match never {},
        };
        check_origin(site, &visit, &parts.headers).map_err(|refused| *refused)?;
        let kind = parts.headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        if !kind.is_some_and(|kind| kind.starts_with("application/x-www-form-urlencoded")) {
            let error = Error::invalid_request("this address takes a form; open its page first");
            return Err(errors::page(&visit, error));
        }
        let Read { bytes, share } = read_form(site, &visit.link, body).await?;
        match fields(bytes).await {
            Ok(fields) => Ok(Self { visit, fields, _share: share }),
            Err(error) => Err(errors::page(&visit, error)),
        }
    }
}

/// The fields of a form, counted before any of them is built.
async fn fields(bytes: Bytes) -> Result<Vec<(String, String)>> {
    let is_small = bytes.len() <= SMALL;
    let count = memchr::memchr_iter(b'&', &bytes).count() + 1;
    if count > MAX_FIELDS {
        return Err(Error::invalid_request(format!(
            "the form has {count} fields, and a form has at most {MAX_FIELDS}; nothing was changed"
        )));
    }
    let parse = move || url::form_urlencoded::parse(&bytes).into_owned().collect();
    match is_small {
        true => Ok(parse()),
        false => tokio::task::spawn_blocking(parse)
            .await
            .map_err(|error| Error::internal("the form could not be read").with_source(error)),
    }
}

/// Refuses a form that was not sent from a page of ours.
pub fn check_origin(site: &Site, visit: &Visit, headers: &HeaderMap) -> Result<(), Box<Response>> {
    if cookie::is_same_origin(headers, &origin::base(site, headers)) {
        return Ok(());
    }
    let error = Error::invalid_request(
        "this form was not sent from a page of this site; open the page here and send it again",
    );
    let mut response = errors::page(visit, error);
    *response.status_mut() = StatusCode::FORBIDDEN;
    Err(Box::new(response))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_paths_of_this_site_are_local() {
        for good in ["/", "/n/3#c2", "/?q=a//b"] {
            assert!(is_local(good), "{good}");
        }
        for bad in ["", "//evil.example", "/\\evil.example", "https://evil.example", "a", "/\t/a"] {
            assert!(!is_local(bad), "{bad}");
        }
    }
}
