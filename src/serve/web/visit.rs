//! One request for a page: who asks, for what, and how the work for it is run.

use axum::{
    extract::{FromRequestParts, State},
    http::{HeaderMap, StatusCode, header, request::Parts},
    response::{IntoResponse, Response},
};
use std::{convert::Infallible, net::IpAddr};

use super::{Html, Shell, errors, shell::Entry};
use crate::{
    app::{
        App,
        rights::{Right, Rights},
    },
    domain::{Error, Kind, Patience, Result, Toolset, user::Role},
    serve::{
        http::{
            Site,
            cookie::{self, SignedIn},
            origin,
        },
        mcp::{Identity, Link},
    },
};

/// A request for a page.
#[derive(Clone)]
pub struct Visit {
    /// What all handlers share.
    pub site: Site,
    /// The caller.
    pub link: Link,
    /// The path of the address, percent-encoded.
    pub path: String,
    /// The query of the address.
    pub query: Vec<(String, String)>,
    /// The request's headers.
    pub headers: HeaderMap,
    /// The start of this server's addresses, as the browser knows them.
    pub base: String,
    /// The address that the request came from.
    pub from: IpAddr,
    /// The browser's session, where its user signed in.
    pub signed_in: Option<SignedIn>,
    here: String,
}

impl FromRequestParts<Site> for Visit {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, site: &Site) -> Result<Self, Infallible> {
        let State(site) = State::<Site>::from_request_parts(parts, site).await?;
        let base = origin::base(&site, &parts.headers);
        let from = origin::address(&site, &parts.headers, &parts.extensions);
        let link = parts.extensions.get::<Link>().cloned();
        // The way in has no caller yet. Strangers are counted by their networks, each alone.
        let link = link
            .unwrap_or_else(|| Link { identity: Identity::of_address(from), ..site.stranger() });
        let query = parts.uri.query().unwrap_or_default().as_bytes();
        Ok(Self {
            site,
            link,
            path: parts.uri.path().to_owned(),
            query: url::form_urlencoded::parse(query).into_owned().collect(),
            headers: parts.headers.clone(),
            base,
            from,
            signed_in: parts.extensions.get::<SignedIn>().cloned(),
            here: parts.uri.path_and_query().map_or("/", |here| here.as_str()).to_owned(),
        })
    }
}

impl Visit {
    /// The library.
    pub fn app(&self) -> &App {
        &self.site.hub.app
    }

    /// What the caller may see and do.
    pub fn rights(&self) -> &Rights {
        &self.link.rights
    }

    /// A value of the address's query, unless it is blank.
    pub fn value(&self, name: &str) -> Option<&str> {
        let found = self.query.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.trim()).filter(|value| !value.is_empty())
    }

    /// Whether somebody is behind the request who proved who they are, or runs the server.
    pub fn is_known(&self) -> bool {
        self.rights().role() != Role::Anonymous
    }

    /// Whether the script asks for a part of a page.
    pub fn wants_part(&self) -> bool {
        self.headers.contains_key("x-part")
    }

    /// A cookie of the request.
    pub fn cookie(&self, name: &str) -> Option<&str> {
        let cookies = self.headers.get_all(header::COOKIE).iter();
        let mut pairs =
            cookies.filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(';'));
        pairs.find_map(|pair| pair.trim().strip_prefix(name)?.strip_prefix('='))
    }

    /// The frame of the page that answers.
    pub fn shell(&self) -> Shell {
        let entry = |href: &'static str, name| Entry { href, name, current: self.path == href };
        let theme = match self.cookie("theme") {
            Some("light") => "light",
            Some("dark") => "dark",
            _ => "",
        };
        // A program with a token reads pages and manages no account.
        let has_token = matches!(self.link.identity, Identity::Token(_) | Identity::Connection(_));
        let is_person = self.is_known() && !has_token;
        let mut menu = Vec::new();
        if is_person {
            menu.push(entry("/account", "Account"));
        }
        menu.push(entry("/connect", "Connect a client"));
        if self.rights().may(Right::Use(Toolset::Market)) {
            menu.push(entry("/market", "Market"));
        }
        if self.rights().may(Right::VerifyRepositories) {
            menu.push(entry("/reports", "Reports"));
        }
        if self.rights().may(Right::History) {
            menu.push(entry("/history", "Changes"));
        }
        if self.rights().may(Right::LibraryState) {
            menu.push(entry("/status", "Status"));
        }
        if is_person && self.rights().role() == Role::Owner {
            menu.extend([entry("/users", "Users"), entry("/audit", "Audit log")]);
        }
        if !self.is_known() {
            menu.push(entry("/sign-in", "Sign in"));
        }
        Shell {
            lang: "en".to_owned(),
            site: self.app().config.web.title.clone(),
            theme,
            search: true,
            query: String::new(),
            focus: false,
            is_front: false,
            may_ask: false,
            carried: Vec::new(),
            is_owner: self.rights().role() == Role::Owner,
            here: self.here.clone(),
            nav: self.nav(),
            menu,
            viewer: match self.is_known() {
                true => self.rights().actor("web").who,
                false => "Menu".to_owned(),
            },
            signed_in: self.signed_in.is_some(),
        }
    }

    /// The parts of the library that the caller may open.
    fn nav(&self) -> Vec<Entry> {
        let reads = |kind, toolset| {
            self.rights().may(Right::Read(kind)) && self.rights().may(Right::Use(toolset))
        };
        let parts = [
            ("/", "Search", true),
            ("/browse", "Notes", true),
            ("/cards", "Cards", reads(Kind::Card, Toolset::Cards)),
            ("/bookmarks", "Bookmarks", reads(Kind::Bookmark, Toolset::Bookmarks)),
            ("/prompts", "Prompts", self.rights().may(Right::Read(Kind::Prompt))),
        ];
        let is_in = |href: &str| {
            let rest = self.path.strip_prefix(href);
            rest.is_some_and(|rest| rest.is_empty() || (href != "/" && rest.starts_with('/')))
        };
        let open = parts.into_iter().filter(|(_, _, may)| *may);
        open.map(|(href, name, _)| Entry { href, name, current: is_in(href) }).collect()
    }

    /// Runs the work of a page on the blocking pool, within the limit on calls at once. An error
    /// becomes a page that says what happened.
    pub async fn run<T, F>(self, work: F) -> Response
    where
        T: Into<Reply>,
        F: FnOnce(&Visit) -> Result<T> + Send + 'static,
    {
        let permit = match self.site.hub.permit(&self.link.rights).await {
            Ok(permit) => permit,
            Err(error) => return errors::page(&self, error),
        };
        let visit = self.clone();
        let worked = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            Patience::default().begin().during(|| work(&visit)).map(Into::into)
        })
        .await;
        match worked {
            Ok(Ok(Reply::Page(html))) => html.answer(&self.headers),
            Ok(Ok(Reply::Other(response))) => *response,
            Ok(Err(error)) => errors::page(&self, error),
            Err(error) => errors::page(
                &self,
                Error::internal("the page ended before it was complete").with_source(error),
            ),
        }
    }
}

/// What a page's work ends in.
pub enum Reply {
    /// A page.
    Page(Html),
    /// A redirect, a file, or anything else.
    Other(Box<Response>),
}

impl From<Html> for Reply {
    fn from(html: Html) -> Self {
        Self::Page(html)
    }
}

impl From<Response> for Reply {
    fn from(response: Response) -> Self {
        Self::Other(Box::new(response))
    }
}

impl IntoResponse for Reply {
    fn into_response(self) -> Response {
        match self {
            Self::Page(html) => html.answer(&HeaderMap::new()),
            Self::Other(response) => *response,
        }
    }
}

impl Reply {
    /// Sends a stranger to the sign-in page, which leads back here.
    pub fn sign_in(visit: &Visit) -> Self {
        Self::see(&cookie::sign_in_address(&visit.here))
    }

    /// Sends the browser to another address of this site, with GET.
    pub fn see(address: &str) -> Self {
        Self::from(
            (StatusCode::SEE_OTHER, [(header::LOCATION, address.to_owned())]).into_response(),
        )
    }
}
