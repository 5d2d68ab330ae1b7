//! Forms with files (`multipart/form-data`), within the limit on bodies.

use axum::{
    body::{Body, Bytes},
    extract::{FromRequest, FromRequestParts, Request},
    http::{HeaderMap, header},
    response::Response,
};

use super::{Visit, errors, form};
use crate::{
    domain::{Error, Result},
    serve::http::{
        Site,
        body::{Read, Share},
        read_form,
    },
};

/// Parts of a form that are read.
const MAX_PARTS: usize = 64;

/// A posted form with files.
pub struct Upload {
    /// The request.
    pub visit: Visit,
    /// The files, in the order of the form.
    pub files: Vec<File>,
    /// The memory that the files take.
    _share: Share,
}

/// An uploaded file.
#[derive(Debug, Clone, PartialEq)]
pub struct File {
    /// What the person's system calls it.
    pub name: String,
    /// Its content.
    pub bytes: Bytes,
}

impl FromRequest<Site> for Upload {
    type Rejection = Response;

    async fn from_request(request: Request<Body>, site: &Site) -> Result<Self, Response> {
        let (mut parts, body) = request.into_parts();
        let visit = match Visit::from_request_parts(&mut parts, site).await {
            Ok(visit) => visit,
            Err(never) => match never {},
        };
        form::check_origin(site, &visit, &parts.headers).map_err(|refused| *refused)?;
        let boundary = match boundary(&parts.headers) {
            Ok(boundary) => boundary,
            Err(error) => return Err(errors::page(&visit, error)),
        };
        let Read { bytes, share } = read_form(site, &visit.link, body).await?;
        match files(&bytes, &boundary) {
            Ok(files) => Ok(Self { visit, files, _share: share }),
            Err(error) => Err(errors::page(&visit, error)),
        }
    }
}

/// What stands between the parts of a multipart body.
pub fn boundary(headers: &HeaderMap) -> Result<String> {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let parameters = kind.and_then(|kind| kind.strip_prefix("multipart/form-data"));
    let boundary = parameters.and_then(|parameters| {
        let one = |parameter: &str| {
            let value = parameter.trim().strip_prefix("boundary=")?.trim_matches('"');
            Some(value.to_owned())
        };
        parameters.split(';').find_map(one)
    });
    boundary.filter(|boundary| (1..=200).contains(&boundary.len())).ok_or_else(|| {
        Error::invalid_request("this address takes a form with a file; open its page first")
    })
}

/// The files of a multipart body. Other fields are passed over.
fn files(body: &Bytes, boundary: &str) -> Result<Vec<File>> {
    let broken = || Error::invalid_request("the form did not arrive whole; send it again");
    let fence = format!("--{boundary}");
    let mut at = find(body, 0, fence.as_bytes()).ok_or_else(broken)? + fence.len();
    let divider = format!("\r\n{fence}");
    let mut files = Vec::new();
    for _ in 0..MAX_PARTS {
        if body.get(at..at + 2) == Some(b"--") {
            return Ok(files);
        }
        let head = find(body, at, b"\r\n\r\n").ok_or_else(broken)?;
        let start = head + 4;
        // An empty part ends with the line break that also ends its head.
        let end = find(body, start - 2, divider.as_bytes()).ok_or_else(broken)?;
        if let Some(name) = file_name(&String::from_utf8_lossy(&body[at..head])) {
            files.push(File { name, bytes: body.slice(start.min(end)..end) });
        }
        at = end + divider.len();
    }
    Err(Error::limit(format!("the form has more than {MAX_PARTS} fields")))
}

/// The file name in the head of a part; `None` for a field that is no file.
pub fn file_name(head: &str) -> Option<String> {
    let line =
        head.lines().find(|line| line.to_ascii_lowercase().starts_with("content-disposition"))?;
    let (_, value) = line.split_once("filename=\"")?;
    let name = value.split_once('"').map_or(value, |(name, _)| name);
    // Browsers write a quote in a name like this.
    let name = name.replace("%22", "\"");
    // Some send a path.
    let name = name.rsplit(['/', '\\']).next().unwrap_or(&name);
    Some(name.chars().filter(|c| !c.is_control()).take(200).collect())
}

/// Where a pattern occurs, from a position on.
pub fn find(bytes: &[u8], from: usize, pattern: &[u8]) -> Option<usize> {
    let rest = bytes.get(from..)?;
    memchr::memmem::find(rest, pattern).map(|at| from + at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(text: &str) -> Bytes {
        Bytes::copy_from_slice(text.replace('\n', "\r\n").as_bytes())
    }

    #[test]
    fn files_are_taken_out_of_a_form() {
        let form = body(
            "--b\nContent-Disposition: form-data; name=\"x\"\n\nvalue\n--b\n\
             Content-Disposition: form-data; name=\"f\"; filename=\"C:\\dir\\фото.png\"\n\
             Content-Type: image/png\n\none\n-b\ntwo\n--b\n\
             content-disposition: form-data; name=\"g\"; filename=\"\"\n\n\n--b--\n",
        );
        let files = files(&form, "b").unwrap();
        let parts: Vec<(&str, &[u8])> =
            files.iter().map(|file| (file.name.as_str(), &file.bytes[..])).collect();
        assert_eq!(parts, [("фото.png", &b"one\r\n-b\r\ntwo"[..]), ("", &b""[..])]);
    }

    #[test]
    fn what_is_cut_off_is_refused() {
        for text in ["", "--b", "--b\nA: b", "--b\nContent-Disposition: x; filename=\"a\"\n\nabc"] {
            assert!(files(&body(text), "b").is_err(), "{text}");
        }
        let many = "--b\n\n\n\n".repeat(MAX_PARTS + 2);
        assert!(files(&body(&many), "b").is_err());
    }

    #[test]
    fn a_boundary_is_read_from_its_header() {
        let of = |kind: &'static str| {
            boundary(&HeaderMap::from_iter([(header::CONTENT_TYPE, kind.parse().unwrap())]))
        };
        assert_eq!(of("multipart/form-data; boundary=\"a b\"").unwrap(), "a b");
        assert_eq!(of("multipart/form-data; charset=x; boundary=--x").unwrap(), "--x");
        for bad in
            ["multipart/form-data", "multipart/form-data; boundary=", "text/plain; boundary=x"]
        {
            assert!(of(bad).is_err(), "{bad}");
        }
    }
}
