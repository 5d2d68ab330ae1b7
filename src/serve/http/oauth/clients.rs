//! Who a client is: by a metadata document that is pinned here, by one that is fetched, or by its
//! registration.

use std::{
    sync::{LazyLock, Mutex, PoisonError},
    time::{Duration, Instant},
};

use serde::{Deserialize, Serialize};
use url::Url;

use super::redirect;
use crate::{
    app::App,
    domain::{Error, Result},
    post::public,
};

/// The documents of clients that many people use, as their makers publish them.
static PINNED: LazyLock<Vec<Metadata>> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../../../../assets/oauth/clients.json")).unwrap_or_default()
});

/// The longest document that is read, and how long fetching one may take.
const MAX_BYTES: u64 = 64 << 10;
const FETCH_TIME: Duration = Duration::from_secs(5);
/// How long, and how many, fetched documents are used again.
const KEEP: Duration = Duration::from_secs(15 * 60);
const MAX_KEPT: usize = 64;

/// What a client says of itself, in its document or when it registers.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Metadata {
    /// Its name to the protocol: for a document, the address of the document.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub client_id: String,
    /// Its name to people.
    #[serde(default)]
    pub client_name: String,
    /// Where its user may be sent back to.
    #[serde(default)]
    pub redirect_uris: Vec<String>,
    /// How it proves who it is at `/token`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_endpoint_auth_method: Option<String>,
    /// The ways it could.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub token_endpoint_auth_methods_supported: Vec<String>,
}

/// A client.
#[derive(Debug, Clone)]
pub struct Client {
    /// Its `client_id`.
    pub id: String,
    /// What its user reads.
    pub name: String,
    /// Where its user may be sent back to.
    pub redirect_uris: Vec<String>,
    /// Whether its maker is known here. Anybody can register under any name.
    pub is_pinned: bool,
}

/// Documents that were fetched lately.
#[derive(Default)]
pub struct Fetched(Mutex<Vec<(Instant, Metadata)>>);

/// Whether a `client_id` is the address of a document.
pub fn is_document(id: &str) -> bool {
    id.starts_with("https://")
}

/// Whether the document of a client is known beforehand.
pub fn is_pinned(id: &str) -> bool {
    PINNED.iter().any(|metadata| metadata.client_id == id)
}

/// The client of this `client_id`, unless it is unknown. Blocks, and may fetch.
pub fn find(app: &App, fetched: &Fetched, id: &str) -> Result<Option<Client>> {
    if let Some(metadata) = PINNED.iter().find(|metadata| metadata.client_id == id) {
        return Ok(Some(Client { is_pinned: true, ..of_document(metadata.clone()) }));
    }
    if is_document(id) {
        return match app.config.oauth.fetch_clients {
            true => fetched.get(id).map(of_document).map(Some),
            false => Ok(None),
        };
    }
    let Some(registered) = app.store.oauth.client(id)? else { return Ok(None) };
    let metadata: Metadata = serde_json::from_str(&registered.metadata).map_err(|error| {
        Error::internal(format!("the metadata of the client `{id}` is damaged")).with_source(error)
    })?;
    Ok(Some(Client {
        id: registered.id,
        name: metadata.client_name,
        redirect_uris: metadata.redirect_uris,
        is_pinned: false,
    }))
}

fn of_document(metadata: Metadata) -> Client {
    let host = Url::parse(&metadata.client_id).ok();
    let host = host.and_then(|url| url.host_str().map(String::from)).unwrap_or_default();
    let name = display_name(&metadata.client_name);
    Client {
        name: if name.is_empty() { host } else { name },
        id: metadata.client_id,
        redirect_uris: metadata.redirect_uris,
        is_pinned: false,
    }
}

/// A client's own name for itself, made fit to be read: one line, no tricks with direction.
pub fn display_name(text: &str) -> String {
    let is_hidden = |c: char| matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}');
    let words = text.split(|c: char| c.is_whitespace() || c.is_control());
    let plain = words.map(|word| word.chars().filter(|c| !is_hidden(*c)).collect::<String>());
    let line = plain.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    line.chars().take(100).collect()
}

impl Fetched {
    fn get(&self, id: &str) -> Result<Metadata> {
        let kept = {
            let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            kept.retain(|(at, _)| at.elapsed() < KEEP);
            kept.iter().find(|(_, one)| one.client_id == id).map(|(_, one)| one.clone())
        };
        if let Some(metadata) = kept {
            return Ok(metadata);
        }
        let metadata = read(id, &public::fetch(&address(id)?, MAX_BYTES, FETCH_TIME)?)?;
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= MAX_KEPT {
            kept.remove(0);
        }
        kept.push((Instant::now(), metadata.clone()));
        Ok(metadata)
    }
}

/// The address of a document, if it can be one: https, a path, nothing else.
fn address(id: &str) -> Result<Url> {
    let url = Url::parse(id).ok().filter(|url| {
        url.scheme() == "https"
            && url.path() != "/"
            && url.fragment().is_none()
            && url.username().is_empty()
            && url.password().is_none()
            && url.as_str() == id
    });
    url.ok_or_else(|| {
        Error::outside(format!(
            "`{}` cannot be the address of a client's metadata document",
            id.chars().take(200).collect::<String>()
        ))
    })
}

/// Reads a document that was fetched from `id`.
fn read(id: &str, text: &str) -> Result<Metadata> {
    let wrong = |what: &str| Error::outside(format!("the metadata document `{id}` {what}"));
    let metadata: Metadata =
        serde_json::from_str(text).map_err(|_| wrong("is not a client's metadata in JSON"))?;
    if metadata.client_id != id {
        return Err(wrong("names another `client_id`"));
    }
    let none = "none".to_owned();
    let method = metadata.token_endpoint_auth_method.as_ref().unwrap_or(&none);
    if *method != none && !metadata.token_endpoint_auth_methods_supported.contains(&none) {
        return Err(wrong("asks for an authentication that is not offered; `none` is"));
    }
    match metadata.redirect_uris.iter().find_map(|uri| redirect::problem(uri)) {
        Some(problem) => Err(wrong(&format!("has a redirect address that {problem}"))),
        None if metadata.redirect_uris.is_empty() => Err(wrong("names no redirect address")),
        None => Ok(metadata),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pinned_documents_are_whole() {
        assert_eq!(PINNED.len(), 7);
        for metadata in PINNED.iter() {
            let text = serde_json::to_string(metadata).unwrap();
            assert!(!metadata.client_name.is_empty());
            address(&metadata.client_id).unwrap();
            read(&metadata.client_id, &text).unwrap();
        }
    }

    #[test]
    fn a_document_speaks_for_its_own_address() {
        let id = "https://app.example/client.json";
        let document = |id: &str, uri: &str, method: &str| {
            format!(
                r#"{{"client_id":"{id}","redirect_uris":["{uri}"],"token_endpoint_auth_method":"{method}"}}"#
            )
        };
        let good = "https://app.example/cb";
        assert!(read(id, &document(id, good, "none")).is_ok());
        for (text, why) in [
            (document("https://evil.example/c.json", good, "none"), "another `client_id`"),
            (document(id, "javascript:alert(1)", "none"), "redirect address"),
            (document(id, good, "private_key_jwt"), "not offered"),
            ("<html>".to_owned(), "not a client's metadata"),
            (format!(r#"{{"client_id":"{id}"}}"#), "no redirect address"),
        ] {
            let error = read(id, &text).unwrap_err();
            assert!(error.message.contains(why), "{error}");
        }
        for bad in [
            "https://app.example",
            "https://app.example/",
            "http://a.example/c",
            "https://a.example/c#d",
            "https://u@a.example/c",
            "https://a.example/../c",
        ] {
            assert!(address(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_name_is_one_honest_line() {
        assert_eq!(display_name(" Claude\n\u{202e}Code "), "Claude Code");
        assert_eq!(display_name("Заметки ノート"), "Заметки ノート");
    }
}
