//! `/authorize`: a person signs in, reads who asks for what, and agrees or does not.

use askama::Template;
use axum::{
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use super::{
    CODE_MS, is_open, redirect,
    request::{self, Asked, Refusal},
};
use crate::{
    app::{accounts::Actor, tokens},
    domain::{Error, Result, Scopes, Timestamp},
    serve::{
        http::cookie::{self, SignedIn},
        web::{Audience, Form, Html, Reply, Shell, Visit, errors},
    },
    store::oauth::Code,
};

#[derive(Template)]
#[template(path = "consent.html")]
struct Consent {
    shell: Shell,
    client: String,
    /// Whether the client's maker is known, so that its name is.
    is_pinned: bool,
    /// Where the answer goes, as people know it, and to the letter.
    place: String,
    redirect_uri: String,
    account: String,
    /// The author whose pages the token is for; empty: everything the user may see.
    author: String,
    asks_write: bool,
    asks_market: bool,
    /// The request as it came, and the proof that this page was made for it and this session.
    request: String,
    token: String,
    /// The address of this page, to come back to.
    next: String,
}

/// `GET /authorize`.
pub async fn show(visit: Visit) -> Response {
    let signed_in = match prepared(&visit).await {
        Ok(signed_in) => signed_in,
        Err(refused) => return *refused,
    };
    visit
        .run(move |visit| {
            let pairs = &visit.query;
            let asked = match check(visit, pairs, signed_in.as_ref()) {
                Ok((asked, signed_in)) => (asked, signed_in),
                Err(reply) => return reply,
            };
            let (asked, signed_in) = asked;
            if asked.is_silent {
                let why = "the user has to be asked";
                return Ok(Reply::see(&asked.answer_to.error("consent_required", why)));
            }
            consent(visit, &asked, signed_in, &encoded(pairs)).map(Reply::from)
        })
        .await
}

/// `POST /authorize`: the form of the consent page.
pub async fn decide(form: Form) -> Response {
    let signed_in = match prepared(&form.visit).await {
        Ok(signed_in) => signed_in,
        Err(refused) => return *refused,
    };
    let field = |name: &str| form.field(name).to_owned();
    let (request, token, decision) = (field("request"), field("token"), field("decision"));
    let (write, market) = (!field("write").is_empty(), !field("market").is_empty());
    form.visit
        .run(move |visit| {
            let pairs: Vec<(String, String)> =
                url::form_urlencoded::parse(request.as_bytes()).into_owned().collect();
            let (asked, signed_in) = match check(visit, &pairs, signed_in.as_ref()) {
                Ok(checked) => checked,
                Err(reply) => return reply,
            };
            if !is_token(visit, &request, &token) {
                // The page is of another session, or of none of ours: it is shown again.
                let page = consent(visit, &asked, signed_in, &encoded(&pairs))?;
                return Ok(page.with_status(StatusCode::FORBIDDEN).into());
            }
            let scopes = Scopes {
                read: true,
                write: asked.scopes.write && write,
                market: asked.scopes.market && market,
            };
            let address = match decision.as_str() {
                "allow" => allow(visit, &asked, signed_in, scopes)?,
                "deny" => deny(visit, &asked, signed_in),
                _ => return Err(Error::invalid_request("the form has no decision; choose again")),
            };
            let mut response = Reply::see(&address).into_response();
            let headers = response.headers_mut();
            headers.insert(header::CACHE_CONTROL, header::HeaderValue::from_static("no-store"));
            headers
                .insert(header::REFERRER_POLICY, header::HeaderValue::from_static("no-referrer"));
            Ok(response.into())
        })
        .await
}

/// The session of a request, once there is somebody who could consent. The error is the answer.
async fn prepared(visit: &Visit) -> Result<Option<SignedIn>, Box<Response>> {
    if !is_open(&visit.site).await {
        let error = Error::not_found(
            "nobody can sign in here yet; the console of the running server shows how to set it up",
        );
        return Err(Box::new(errors::page(visit, error)));
    }
    let session = cookie::session(&visit.site, &visit.headers).await;
    session.map_err(|error| Box::new(errors::page(visit, error)))
}

/// The request and who is to consent. The error is what happens instead.
fn check<'a>(
    visit: &Visit,
    pairs: &[(String, String)],
    signed_in: Option<&'a SignedIn>,
) -> Result<(Asked, &'a SignedIn), Result<Reply>> {
    let fetched = &visit.site.oauth.fetched;
    let sign_in = || {
        let here = format!("/authorize?{}", encoded(pairs));
        Err(Ok(Reply::see(&cookie::sign_in_address(&here))))
    };
    let asked = match request::check(visit, fetched, pairs, signed_in.is_some()) {
        Ok(asked) => asked,
        Err(Refusal::Shown(error)) => return Err(Err(error)),
        // Anybody may register an address: nobody is sent there before they signed in (RFC 9700,
        // 4.11.2).
        Err(Refusal::Returned(address)) if signed_in.is_some() => {
            return Err(Ok(Reply::see(&address)));
        }
        Err(Refusal::Returned(_) | Refusal::SignInFirst) => return sign_in(),
    };
    match signed_in {
        Some(signed_in) => Ok((asked, signed_in)),
        None if asked.is_silent && !asked.client.is_pinned => {
            Err(Err(Error::invalid_request(format!(
                "`{}` asks for an answer without a page, and nobody is signed in here; sign in, then connect the client again",
                request::short(&asked.client.name)
            ))))
        }
        None if asked.is_silent => {
            let address = asked.answer_to.error("login_required", "the user is not signed in");
            Err(Ok(Reply::see(&address)))
        }
        None => sign_in(),
    }
}

fn consent(visit: &Visit, asked: &Asked, signed_in: &SignedIn, request: &str) -> Result<Html> {
    let redirect_uri = asked.answer_to.redirect_uri.clone();
    let path = asked.resource.strip_prefix(&visit.base).unwrap_or_default();
    let author = path.trim_start_matches("/_system").strip_prefix("/mcp/").unwrap_or_default();
    let page = Consent {
        shell: Shell { search: false, ..visit.shell() },
        client: asked.client.name.clone(),
        is_pinned: asked.client.is_pinned,
        place: redirect::place(&redirect_uri),
        account: signed_in.holder.name.to_string(),
        author: percent_encoding::percent_decode_str(author).decode_utf8_lossy().into_owned(),
        asks_write: asked.scopes.write,
        asks_market: asked.scopes.market,
        token: form_token(visit, request).unwrap_or_default(),
        next: format!("/authorize?{request}"),
        request: request.to_owned(),
        redirect_uri,
    };
    let html = Html::of(&page, Audience::Caller)?.into_entrance();
    Ok(match redirect::policy_sources(&asked.answer_to.redirect_uri) {
        Some(sources) => html.posting_to(&sources),
        None => html,
    })
}

/// Keeps a code, and gives the address that hands it to the client.
fn allow(visit: &Visit, asked: &Asked, signed_in: &SignedIn, scopes: Scopes) -> Result<String> {
    let app = visit.app();
    let secret = tokens::new_secret("nwc_")?;
    let code = Code {
        client: asked.client.id.clone(),
        client_name: asked.client.name.clone(),
        user: signed_in.holder.id,
        redirect_uri: asked.answer_to.redirect_uri.clone(),
        challenge: asked.challenge.clone(),
        resource: asked.resource.clone(),
        scopes,
        expires: Timestamp(Timestamp::now().0 + CODE_MS),
    };
    let actor = Actor::user(signed_in.holder.name.as_str(), visit.from);
    app.audited(&actor, "client_consent", &asked.client.name, || {
        app.store.oauth.keep_code(&tokens::hash(&secret), &code)
    })?;
    Ok(asked.answer_to.with(&[("code", &secret)]))
}

fn deny(visit: &Visit, asked: &Asked, signed_in: &SignedIn) -> String {
    let actor = Actor::user(signed_in.holder.name.as_str(), visit.from);
    visit.app().audit(actor.entry("client_consent", &asked.client.name, "denied"));
    asked.answer_to.error("access_denied", "the user did not agree")
}

fn encoded(pairs: &[(String, String)]) -> String {
    url::form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish()
}

/// The proof that a consent page was made for this request and this session: only who has the
/// cookie can make it.
fn form_token(visit: &Visit, request: &str) -> Option<String> {
    Some(URL_SAFE_NO_PAD.encode(mac(visit, request)?.finalize().into_bytes()))
}

fn is_token(visit: &Visit, request: &str, token: &str) -> bool {
    let given = URL_SAFE_NO_PAD.decode(token).unwrap_or_default();
    mac(visit, request).is_some_and(|mac| mac.verify_slice(&given).is_ok())
}

fn mac(visit: &Visit, request: &str) -> Option<Hmac<Sha256>> {
    let secret = cookie::secret(&visit.headers, &visit.base)?;
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).ok()?;
    mac.update(b"consent\n");
    mac.update(request.as_bytes());
    Some(mac)
}
