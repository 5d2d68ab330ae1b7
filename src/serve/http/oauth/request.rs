//! What a client asks at `/authorize`, checked in the order that keeps its user safe: first who
//! asks and where the answer goes, and only then whatever may be answered there.

use std::collections::HashSet;

use super::{
    clients::{self, Client, Fetched},
    pkce, redirect, resource,
};
use crate::{
    domain::{Error, Result, Scopes},
    serve::web::Visit,
};

/// A request for consent.
#[derive(Debug)]
pub struct Asked {
    /// Who asks.
    pub client: Client,
    /// Where the answer goes.
    pub answer_to: AnswerTo,
    /// The S256 challenge.
    pub challenge: String,
    /// What the token is for.
    pub resource: String,
    /// What it may be used for, if the user agrees.
    pub scopes: Scopes,
    /// `prompt=none`: the user is not to be asked.
    pub is_silent: bool,
}

/// Where the answer to a request goes, and what the client recognises it by.
#[derive(Debug, Clone)]
pub struct AnswerTo {
    /// The address, which the client registered.
    pub redirect_uri: String,
    state: Option<String>,
    issuer: String,
}

impl AnswerTo {
    /// The address with an answer.
    pub fn with(&self, pairs: &[(&str, &str)]) -> String {
        let mut all = pairs.to_vec();
        all.extend(self.state.as_deref().map(|state| ("state", state)));
        all.push(("iss", &self.issuer));
        redirect::with_query(&self.redirect_uri, &all)
    }

    /// The address with an error.
    pub fn error(&self, error: &str, description: &str) -> String {
        self.with(&[("error", error), ("error_description", description)])
    }
}

/// Why there is nothing to consent to.
#[derive(Debug)]
pub enum Refusal {
    /// Shown to the person: the request names no place that could be trusted with the answer.
    Shown(Error),
    /// Told to the client, at this address, once the person has signed in.
    Returned(String),
    /// The person has to sign in before the client can be looked up.
    SignInFirst,
}

/// The parameters of a request. Each may occur once.
pub struct Params<'a>(pub &'a [(String, String)]);

impl<'a> Params<'a> {
    /// A parameter, unless it is missing or empty.
    pub fn get(&self, name: &str) -> Option<&'a str> {
        let found = self.0.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
    }

    /// The first parameter that occurs more than once.
    pub fn repeated(&self) -> Option<&'a str> {
        let mut seen = HashSet::new();
        self.0.iter().map(|(name, _)| name.as_str()).find(|name| !seen.insert(*name))
    }
}

/// Checks a request. Blocks, and may fetch the document of a client, for a person who signed in.
pub fn check(
    visit: &Visit,
    fetched: &Fetched,
    pairs: &[(String, String)],
    is_signed_in: bool,
) -> Result<Asked, Refusal> {
    let params = Params(pairs);
    let shown = |message: String| Refusal::Shown(Error::invalid_request(message));
    if let Some(name) = params.repeated() {
        return Err(shown(format!("the request has `{}` more than once", short(name))));
    }
    let Some(id) = params.get("client_id") else {
        return Err(shown("the request does not say which client asks (`client_id`)".to_owned()));
    };
    let client = find(visit, fetched, id, is_signed_in)?;
    let redirect_uri = match (params.get("redirect_uri"), &client.redirect_uris[..]) {
        (None, [only]) => only.clone(),
        (None, _) => {
            return Err(shown(
                "the request does not say where to go back to (`redirect_uri`)".into(),
            ));
        }
        (Some(given), registered) => {
            if !registered.iter().any(|own| redirect::matches(own, given)) {
                return Err(shown(format!(
                    "`{}` is not a redirect address of {}; nothing was sent there",
                    short(given),
                    client.name
                )));
            }
            given.to_owned()
        }
    };
    let state = params.get("state").map(str::to_owned);
    let answer_to = AnswerTo { redirect_uri, state, issuer: visit.base.clone() };
    let returned = |error: &str, description: &str| {
        Err(Refusal::Returned(answer_to.error(error, description)))
    };
    match params.get("response_type") {
        Some("code") => {}
        Some(_) => return returned("unsupported_response_type", "response_type must be code"),
        None => return returned("invalid_request", "response_type is missing"),
    }
    if params.get("request").is_some() {
        return returned("request_not_supported", "send the parameters as they are");
    }
    if params.get("request_uri").is_some() {
        return returned("request_uri_not_supported", "send the parameters as they are");
    }
    if params.get("response_mode").is_some_and(|mode| mode != "query") {
        return returned("invalid_request", "response_mode must be query");
    }
    let Some(challenge) = params.get("code_challenge") else {
        return returned("invalid_request", "code_challenge is missing: PKCE is required");
    };
    if params.get("code_challenge_method") != Some("S256") {
        return returned("invalid_request", "code_challenge_method must be S256");
    }
    if !pkce::is_challenge(challenge) {
        return returned("invalid_request", "code_challenge is not a SHA-256 in base64url");
    }
    let resource = match params.get("resource") {
        None => resource::of_path(&visit.base, resource::DEFAULT),
        Some(text) => match resource::named(&visit.site, &visit.base, text) {
            Some(resource) => resource,
            None => return returned("invalid_target", "resource is not an address of this server"),
        },
    };
    Ok(Asked {
        client,
        challenge: challenge.to_owned(),
        resource,
        scopes: scopes(params.get("scope").unwrap_or_default()),
        is_silent: params
            .get("prompt")
            .is_some_and(|words| words.split(' ').any(|one| one == "none")),
        answer_to,
    })
}

fn find(visit: &Visit, fetched: &Fetched, id: &str, is_signed_in: bool) -> Result<Client, Refusal> {
    let app = visit.app();
    // Strangers must not make this server fetch anything.
    let fetches = clients::is_document(id) && app.config.oauth.fetch_clients;
    if fetches && !is_signed_in && !clients::is_pinned(id) {
        return Err(Refusal::SignInFirst);
    }
    let found = clients::find(app, fetched, id).map_err(Refusal::Shown)?;
    found.ok_or_else(|| {
        let hint = match clients::is_document(id) {
            true => "; `fetch_clients = true` in [oauth] allows its document to be fetched",
            false => {
                "; remove the connection in the client and add it again, so that it registers anew"
            }
        };
        Refusal::Shown(Error::invalid_request(format!(
            "the client `{}` is not known here{hint}",
            short(id)
        )))
    })
}

/// The scopes that a request asks for. Words that are not known are left out; without any, it asks
/// for what an ordinary client needs, and the user decides. Reading is part of everything.
fn scopes(text: &str) -> Scopes {
    let mut scopes = lenient(text);
    if scopes == Scopes::NONE {
        scopes.write = true;
    }
    Scopes { read: true, ..scopes }
}

/// The scopes among these words.
pub fn lenient(text: &str) -> Scopes {
    let has = |name: &str| text.split(' ').any(|word| word == name);
    Scopes { read: has("read"), write: has("write"), market: has("market") }
}

/// Enough of a stranger's text to recognise it.
pub fn short(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(200).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_are_read_leniently() {
        let text = |asked: &str| scopes(asked).to_string();
        assert_eq!(text(" offline_access"), "read write");
        assert_eq!(text("read offline_access"), "read");
        assert_eq!(text("openid write"), "read write");
        assert_eq!(text("market"), "read market");
        assert_eq!(text(""), "read write");
    }

    #[test]
    fn a_parameter_occurs_once() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let pairs = [pair("a", "1"), pair("b", ""), pair("a", "2")];
        let params = Params(&pairs);
        assert_eq!((params.get("a"), params.get("b")), (Some("1"), None));
        assert_eq!(params.repeated(), Some("a"));
        assert_eq!(Params(&pairs[..2]).repeated(), None);
    }

    /// Compared with each other, so many names would keep a core busy for an hour.
    #[test]
    fn many_parameters_are_looked_at_once() {
        let name = |number: u32| (number.to_string(), String::new());
        let mut pairs: Vec<(String, String)> = (0..1_000_000).map(name).collect();
        assert_eq!(Params(&pairs).repeated(), None);
        pairs.push(name(999_999));
        assert_eq!(Params(&pairs).repeated(), Some("999999"));
    }
}
