//! The login itself, as far as it goes without a person: from the challenge to the token endpoint.

use serde_json::{Value, json};
use url::Url;

use super::{Checked, Finding, Site};
use crate::post::probe::Answer;

const JSON: &str = "application/json";
const HTML: &str = "text/html";
/// Where the client that is registered here would be called back. Nobody listens there.
const REDIRECT: &str = "http://127.0.0.1:9/callback";
/// A challenge as clients send it, of no verifier.
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

/// Asks without a token. Gives the address of the resource metadata.
pub(super) fn challenge(site: &Site) -> Checked<String> {
    let url = site.target.as_str();
    let answer = site.get(url, "application/json, text/event-stream")?;
    if answer.status != 401 && post(site, url, JSON, &[], PING)?.status == 200 {
        return Err(Finding::wrong(
            format!("`{url}` answers callers without a token, so that clients never log in"),
            format!("use `{}/mcp`, which always asks for one", site.origin),
        ));
    }
    if answer.status != 401 {
        return Err(site.unexpected(url, &answer, "401 with a challenge"));
    }
    let Some(challenge) = answer.header("www-authenticate") else {
        return Err(Finding::wrong(
            format!("`{url}` answers 401 without the header `WWW-Authenticate`"),
            "the proxy strips it, and clients do not learn where to log in; let it pass the headers of the answer unchanged",
        ));
    };
    if !challenge.to_ascii_lowercase().starts_with("bearer") {
        return Err(Finding::wrong(
            format!("`{url}` asks for another login: `{}`", short(challenge)),
            "the proxy has a login of its own in front of Notewell; switch it off for this host name",
        ));
    }
    match parameter(challenge, "resource_metadata") {
        Some(metadata) => Ok((metadata.clone(), format!("401, and the way to `{metadata}`"))),
        None => Err(Finding::wrong(
            "the server does not offer a login yet: its challenge names no `resource_metadata`",
            format!(
                "set the owner's password: open `{}/setup` and enter the code that `notewell serve` shows on its console",
                site.origin
            ),
        )),
    }
}

/// Reads what the server says of the resource. Gives the issuer.
pub(super) fn resource(site: &Site, metadata: &str) -> Checked<String> {
    let target = site.target.as_str();
    let public = origin_of(metadata);
    if public.as_deref() != Some(&site.origin) {
        let believed = public.unwrap_or_else(|| metadata.to_owned());
        return Err(Finding::wrong(
            format!(
                "Notewell takes itself for `{believed}`, and clients call it `{}`",
                site.origin
            ),
            format!("set `public_url = \"{}\"` in [server] and restart it", site.origin),
        ));
    }
    let document = document(site, metadata)?;
    let own = text(&document, "resource");
    if own != target {
        let remedy = match origin_of(&own).as_deref() == Some(&site.origin) {
            true => format!(
                "type `{own}` into the client; where the proxy adds a path before it, give Notewell a host name of its own instead"
            ),
            false => format!("set `public_url = \"{}\"` in [server] and restart it", site.origin),
        };
        return Err(Finding::wrong(
            format!(
                "the server calls itself `{own}`, which is not `{target}` to the letter, and clients compare"
            ),
            remedy,
        ));
    }
    // Some clients do not look at the challenge and go where the document has to be.
    let place = format!(
        "{}/.well-known/oauth-protected-resource{}",
        site.origin,
        site.target.path().trim_end_matches('/')
    );
    if place != metadata {
        self::document(site, &place)?;
    }
    let issuer = document.get("authorization_servers").and_then(|list| list.get(0)?.as_str());
    match issuer {
        Some(issuer) => Ok((issuer.to_owned(), format!("`resource` is `{own}`"))),
        None => Err(Finding::wrong(
            format!("`{metadata}` names no authorization server"),
            "check that the proxy passes this path to Notewell, and update Notewell",
        )),
    }
}

/// Reads what the authorization server says of itself.
pub(super) fn server(site: &Site, issuer: &str) -> Checked<Value> {
    let place = format!("{}/.well-known/oauth-authorization-server", issuer.trim_end_matches('/'));
    let document = document(site, &place)?;
    let own = text(&document, "issuer");
    if own != issuer {
        return Err(Finding::wrong(
            format!("the issuer calls itself `{own}`, and the resource names `{issuer}`"),
            format!("set `public_url = \"{}\"` in [server] and restart it", site.origin),
        ));
    }
    for endpoint in ["authorization_endpoint", "token_endpoint", "registration_endpoint"] {
        let address = text(&document, endpoint);
        if origin_of(&address).as_deref() != Some(&site.origin) {
            return Err(Finding::wrong(
                format!("`{endpoint}` is `{address}`, which is not at `{}`", site.origin),
                format!("set `public_url = \"{}\"` in [server] and restart it", site.origin),
            ));
        }
    }
    let methods = document.get("code_challenge_methods_supported");
    let has_s256 =
        methods.and_then(Value::as_array).is_some_and(|all| all.contains(&json!("S256")));
    match has_s256 {
        true => Ok((document, format!("`issuer` is `{own}`, with PKCE"))),
        false => Err(Finding::wrong(
            format!("`{place}` does not offer PKCE with S256, which clients demand"),
            "check that the proxy passes this path to Notewell, and update Notewell",
        )),
    }
}

/// Registers a client, which the server forgets when nobody logs in with it. Gives its id.
pub(super) fn register(site: &Site, server: &Value) -> Checked<String> {
    let url = text(server, "registration_endpoint");
    let client = json!({
        "client_name": "notewell doctor",
        "redirect_uris": [REDIRECT],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
    });
    let answer = post(site, &url, JSON, &[], &client.to_string())?;
    let id = answer.json().and_then(|body| Some(body.get("client_id")?.as_str()?.to_owned()));
    match (answer.status, id) {
        (200 | 201, Some(id)) => Ok((id, "a client registers itself".to_owned())),
        _ => Err(site.unexpected(&url, &answer, "201 with a `client_id`")),
    }
}

/// Opens the page on which a person signs in.
pub(super) fn authorize(site: &Site, server: &Value, client: &str) -> Checked<()> {
    let mut url = Url::parse(&text(server, "authorization_endpoint")).map_err(|error| {
        Finding::wrong(format!("the sign-in page has no address: {error}"), "update Notewell")
    })?;
    url.query_pairs_mut()
        .append_pair("response_type", "code")
        .append_pair("client_id", client)
        .append_pair("redirect_uri", REDIRECT)
        .append_pair("code_challenge", CHALLENGE)
        .append_pair("code_challenge_method", "S256")
        .append_pair("resource", site.target.as_str())
        .append_pair("scope", "read")
        .append_pair("state", "doctor");
    let mut answer = site.get(url.as_str(), HTML)?;
    // Somebody who is not signed in is led to the page for that first.
    for _ in 0..3 {
        let next = answer.header("location").and_then(|place| url.join(place).ok());
        match next {
            Some(next) if (300..400).contains(&answer.status) => {
                if next.origin().ascii_serialization() != site.origin {
                    return Err(Finding::wrong(
                        format!(
                            "the sign-in page leads away, to `{}`",
                            next.origin().ascii_serialization()
                        ),
                        format!(
                            "set `public_url = \"{}\"` in [server] and restart it",
                            site.origin
                        ),
                    ));
                }
                url = next;
                answer = site.get(url.as_str(), HTML)?;
            }
            _ => break,
        }
    }
    let place = url.path().to_owned();
    if answer.status != 200 || !answer.is_html() {
        return Err(site.unexpected(
            &format!("{}{place}", site.origin),
            &answer,
            "the sign-in page",
        ));
    }
    let policy = answer.header("content-security-policy").unwrap_or_default();
    if !policy.contains("frame-ancestors") {
        return Err(Finding::wrong(
            "the sign-in page comes without its `Content-Security-Policy`: other sites could frame it",
            "the proxy strips or replaces the header; let it pass the headers of the answer unchanged",
        ));
    }
    Ok(((), format!("`{place}` is a page that nobody can frame")))
}

/// Offers a code that was never issued.
pub(super) fn token(site: &Site, server: &Value, client: &str) -> Checked<()> {
    let url = text(server, "token_endpoint");
    let form = url::form_urlencoded::Serializer::new(String::new())
        .append_pair("grant_type", "authorization_code")
        .append_pair("code", "doctor")
        .append_pair("client_id", client)
        .append_pair("redirect_uri", REDIRECT)
        .append_pair("code_verifier", "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk")
        .append_pair("resource", site.target.as_str())
        .finish();
    let answer = post(site, &url, "application/x-www-form-urlencoded", &[], &form)?;
    let error = answer.json().map(|body| text(&body, "error"));
    match (answer.status, error.as_deref()) {
        (400, Some("invalid_grant")) => {
            Ok(((), "a code that was never issued is refused".to_owned()))
        }
        _ => Err(site.unexpected(&url, &answer, "400 with `invalid_grant`")),
    }
}

/// Calls with a token that was never issued.
pub(super) fn wrong_token(site: &Site) -> Checked<()> {
    let url = site.target.as_str();
    let answer = post(site, url, JSON, &[("authorization", "Bearer nw_doctor")], PING)?;
    let challenge = answer.header("www-authenticate").unwrap_or_default();
    let error = parameter(challenge, "error");
    match (answer.status, error.as_deref()) {
        (401, Some("invalid_token")) => Ok(((), "a token reaches the server".to_owned())),
        (401, _) => Err(Finding::wrong(
            "a wrong token is answered as if none had been sent",
            "the proxy strips the header `Authorization` of the request; let it pass it on",
        )),
        _ => Err(site.unexpected(url, &answer, "401 with `invalid_token`")),
    }
}

/// Calls as a page of this very site does.
pub(super) fn own_origin(site: &Site) -> Checked<()> {
    let url = site.target.as_str();
    let answer = post(site, url, JSON, &[("origin", &site.origin)], PING)?;
    match answer.status {
        401 => Ok(((), "Host and Origin arrive as they were sent".to_owned())),
        _ => Err(site.unexpected(url, &answer, "401")),
    }
}

fn post(
    site: &Site,
    url: &str,
    kind: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Result<Answer, Finding> {
    let mut all = vec![("content-type", kind), ("accept", "application/json, text/event-stream")];
    all.extend(headers);
    site.probe.post(url, &all, body).map_err(|fault| site.no_answer(url, &fault))
}

/// A metadata document.
fn document(site: &Site, url: &str) -> Result<Value, Finding> {
    let answer = site.get(url, JSON)?;
    match (answer.status, answer.json()) {
        (200, Some(document)) => Ok(document),
        _ => Err(site.unexpected(url, &answer, "a JSON document")),
    }
}

fn text(document: &Value, field: &str) -> String {
    document.get(field).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn origin_of(url: &str) -> Option<String> {
    Some(Url::parse(url).ok()?.origin().ascii_serialization())
}

fn short(text: &str) -> String {
    text.chars().take(100).collect()
}

/// A parameter of a challenge: `Bearer error="invalid_token", resource_metadata="…"`.
pub(super) fn parameter(challenge: &str, name: &str) -> Option<String> {
    let (_, parameters) = challenge.split_once(' ')?;
    let pairs = parameters.split(',').filter_map(|pair| pair.trim().split_once('='));
    let mut named = pairs.filter(|(own, _)| own.trim().eq_ignore_ascii_case(name));
    named.next().map(|(_, value)| value.trim().trim_matches('"').to_owned())
}
