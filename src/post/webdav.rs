//! A vault on another server, over WebDAV: its files with their etags, and changes that name the
//! etag they were made from.

use std::time::Duration;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use ureq::http::{self, Request, Response, request::Builder};
use url::Url;
use xmltree::Element;

use super::xml;
use crate::{
    config,
    domain::{Code, Error, Result, VaultPath},
};

/// What every address of a vault contains.
const ROOT: &str = "/_system/dav/";
/// The longest listing of one folder.
const MAX_LISTING: u64 = 256 << 20;
/// Bytes of an error that are read.
const MAX_ERROR: u64 = 64 << 10;
/// What stays as it is in the address of a file.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A file or a folder of the vault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteFile {
    /// Its path in the vault.
    pub path: VaultPath,
    /// Its etag; `None` for a folder.
    pub etag: Option<String>,
}

/// What a change expects to find.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Condition<'a> {
    /// Nothing is there.
    Absent,
    /// A file with this etag.
    Etag(&'a str),
}

/// A vault on another server.
pub struct WebDav {
    agent: ureq::Agent,
    /// Ends with a slash.
    base: Url,
    token: String,
}

impl WebDav {
    /// The vault at an address such as `https://notes.example.org/_system/dav/team/`.
    pub fn new(address: &str, token: &str, time: Duration) -> Result<Self> {
        let refuse = |why: &str| {
            Error::invalid_params(format!(
                "`{address}` {why}; the address of a hosted vault is `https://HOST{ROOT}VAULT/`"
            ))
        };
        let mut base = Url::parse(address).map_err(|_| refuse("is not an address"))?;
        if !matches!(base.scheme(), "http" | "https") {
            return Err(refuse("is neither http nor https"));
        }
        let vault = base.path().split_once(ROOT).map(|(_, rest)| rest.trim_end_matches('/'));
        if vault.is_none_or(str::is_empty) {
            return Err(refuse("names no vault"));
        }
        if !base.path().ends_with('/') {
            base.set_path(&format!("{}/", base.path()));
        }
        base.set_query(None);
        base.set_fragment(None);
        let config = ureq::Agent::config_builder()
            .timeout_global(Some(time))
            .http_status_as_error(false)
            .max_redirects(0)
            .allow_non_standard_methods(true)
            .user_agent(concat!("notewell-push/", env!("CARGO_PKG_VERSION")))
            .build();
        Ok(Self { agent: config.into(), base, token: token.to_owned() })
    }

    /// Whether the token and the files travel in the clear to another machine.
    pub fn is_exposed(&self) -> bool {
        self.base.scheme() == "http" && !config::is_local(&self.base)
    }

    /// The address, for people.
    pub fn address(&self) -> &str {
        self.base.as_str()
    }

    /// Every file and folder of the vault, folders before what is in them.
    pub fn list(&self) -> Result<Vec<RemoteFile>> {
        let mut found = Vec::new();
        let mut folders = vec![String::new()];
        while let Some(folder) = folders.pop() {
            for file in self.list_folder(&folder)? {
                if file.etag.is_none() {
                    folders.push(file.path.as_str().to_owned());
                }
                found.push(file);
            }
        }
        found.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(found)
    }

    fn list_folder(&self, folder: &str) -> Result<Vec<RemoteFile>> {
        let address = self.url(folder, true);
        let request = self.request("PROPFIND", &address).header("depth", "1").body(());
        let mut response = self.send(request)?;
        if response.status().as_u16() != 207 {
            return Err(self.refused(response, "list the vault"));
        }
        let body = response.body_mut().with_config().limit(MAX_LISTING).read_to_vec();
        let body = body.map_err(|error| self.unreachable(&error))?;
        if !xml::is_shallow(&body) {
            return Err(Error::outside(format!(
                "the listing of `{address}` is not WebDAV: its elements are nested too deep"
            )));
        }
        let listing = Element::parse(body.as_slice()).map_err(|error| {
            Error::outside(format!("the listing of `{address}` is not WebDAV: {error}"))
        })?;
        let own = self.base.path();
        let mut files = Vec::new();
        let responses = listing.children.iter().filter_map(|node| node.as_element());
        for entry in responses.filter(|element| element.name == "response") {
            let Some(href) = entry.get_child("href").and_then(Element::get_text) else { continue };
            let path = match Url::parse(&href) {
                Ok(url) => url.path().to_owned(),
                Err(_) => href.into_owned(),
            };
            let Some(inside) = decoded(&path).strip_prefix(&decoded(own)).map(str::to_owned) else {
                continue;
            };
            let inside = inside.trim_matches('/');
            if inside.is_empty() || inside == folder {
                continue;
            }
            let Ok(path) = VaultPath::parse(inside) else { continue };
            let is_folder = value(entry, "resourcetype")
                .is_some_and(|kind| kind.get_child("collection").is_some());
            let etag = value(entry, "getetag").and_then(Element::get_text);
            let etag = etag.map(|etag| etag.trim_matches('"').to_owned());
            files.push(RemoteFile { path, etag: etag.filter(|_| !is_folder) });
        }
        Ok(files)
    }

    /// Makes a folder; one that is there already is fine.
    pub fn make_folder(&self, path: &VaultPath) -> Result<()> {
        let address = self.url(path.as_str(), true);
        let response = self.send(self.request("MKCOL", &address).body(()))?;
        match response.status().as_u16() {
            201 | 405 => Ok(()),
            _ => Err(self.refused(response, &format!("make the folder `{path}`"))),
        }
    }

    /// Writes a file that is as expected. `Code::Conflict` when it is not. Gives the new etag.
    pub fn put(
        &self,
        path: &VaultPath,
        bytes: &[u8],
        modified_ns: i64,
        condition: Condition<'_>,
    ) -> Result<Option<String>> {
        let address = self.url(path.as_str(), false);
        let seconds = format!("{}.{:09}", modified_ns / 1_000_000_000, modified_ns % 1_000_000_000);
        let request = expecting(self.request("PUT", &address), condition)
            .header("content-type", "application/octet-stream")
            .header("x-oc-mtime", seconds)
            .body(bytes);
        let response = self.send(request)?;
        let etag = response.headers().get("etag").and_then(|etag| etag.to_str().ok());
        let etag = etag.map(|etag| etag.trim_matches('"').to_owned());
        match response.status().as_u16() {
            200 | 201 | 204 => Ok(etag),
            _ => Err(self.refused(response, &format!("write `{path}`"))),
        }
    }

    /// Deletes a file that is as expected: the server moves it to its trash.
    pub fn delete(&self, path: &VaultPath, etag: &str) -> Result<()> {
        let address = self.url(path.as_str(), false);
        let request = expecting(self.request("DELETE", &address), Condition::Etag(etag)).body(());
        let response = self.send(request)?;
        match response.status().as_u16() {
            200 | 204 | 404 => Ok(()),
            _ => Err(self.refused(response, &format!("delete `{path}`"))),
        }
    }

    fn url(&self, path: &str, is_folder: bool) -> String {
        let parts: Vec<String> = path
            .split('/')
            .filter(|part| !part.is_empty())
            .map(|part| utf8_percent_encode(part, PLAIN).to_string())
            .collect();
        let slash = if is_folder && !parts.is_empty() { "/" } else { "" };
        format!("{}{}{slash}", self.base, parts.join("/"))
    }

    fn request(&self, method: &str, address: &str) -> Builder {
        Request::builder()
            .method(method)
            .uri(address)
            .header("authorization", format!("Bearer {}", self.token))
    }

    fn send<B: ureq::AsSendBody>(
        &self,
        request: http::Result<Request<B>>,
    ) -> Result<Response<ureq::Body>> {
        let request = request
            .map_err(|error| Error::invalid_params(format!("the address or the token: {error}")))?;
        self.agent.run(request).map_err(|error| self.unreachable(&error))
    }

    fn unreachable(&self, error: &ureq::Error) -> Error {
        Error::outside(format!(
            "could not reach `{}`: {error}; what was pushed so far is kept, and the same command again goes on",
            self.base
        ))
    }

    fn refused(&self, mut response: Response<ureq::Body>, what: &str) -> Error {
        let status = response.status();
        if status.as_u16() == 401 {
            return Error::invalid_request(format!(
                "could not {what}: the token is wrong, expired or revoked; make one with `notewell token create`"
            ));
        }
        let said = response.body_mut().with_config().limit(MAX_ERROR).read_to_string();
        let said = said.unwrap_or_default();
        let quote: String = said.trim().chars().filter(|c| !c.is_control()).take(300).collect();
        let quote = quote.replace(&self.token, "…");
        let (code, help) = match status.as_u16() {
            301 | 302 | 307 | 308 => (Code::InvalidRequest, "; use the address it leads to"),
            // The right to this file: the others may be written.
            403 => (Code::InvalidParams, ""),
            404 => (Code::NotFound, "; check the address and what the token's user may use"),
            409 | 412 | 423 => (Code::Conflict, ""),
            413 | 507 => (Code::Limit, ""),
            503 | 429 => (Code::Storage, "; try again"),
            _ => (Code::Outside, ""),
        };
        let quote = if quote.is_empty() { String::new() } else { format!(": {quote}") };
        Error::new(code, format!("could not {what}: the server answered {status}{quote}{help}"))
    }
}

fn expecting(request: Builder, condition: Condition<'_>) -> Builder {
    match condition {
        Condition::Absent => request.header("if-none-match", "*"),
        Condition::Etag(etag) => request.header("if-match", format!("\"{etag}\"")),
    }
}

fn decoded(path: &str) -> String {
    percent_decode_str(path).decode_utf8_lossy().into_owned()
}

/// A property that the listing has for an entry.
fn value<'a>(entry: &'a Element, name: &str) -> Option<&'a Element> {
    let found = entry.children.iter().filter_map(|node| node.as_element());
    found
        .filter(|element| element.name == "propstat")
        .filter_map(|propstat| propstat.get_child("prop")?.get_child(name))
        .next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_in_the_clear_is_noticed() {
        let at = |host: &str| {
            let address = format!("{host}/_system/dav/team/");
            WebDav::new(&address, "t", Duration::from_secs(1)).unwrap().is_exposed()
        };
        assert!(at("http://notes.example.org") && at("http://192.168.1.5:7717"));
        assert!(!at("https://notes.example.org") && !at("http://127.0.0.1:7717"));
        assert!(!at("http://localhost:7717"));
    }

    #[test]
    fn an_address_names_a_vault() {
        let open = |address: &str| WebDav::new(address, "t", Duration::from_secs(1));
        let vault = open("https://h.example/x/_system/dav/команда").unwrap();
        assert_eq!(vault.url("a b/日.md", false), format!("{}a%20b/%E6%97%A5.md", vault.base));
        assert!(vault.address().ends_with('/'));
        for wrong in ["h.example", "ftp://h/_system/dav/v", "https://h/", "https://h/_system/dav/"]
        {
            let error = open(wrong).err().unwrap();
            assert!(error.message.contains("/_system/dav/VAULT/"), "{error}");
        }
    }
}
