//! A person in a browser and a client beside them, as far as OAuth needs either.

use std::{cell::RefCell, path::Path};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use notewell::{
    app::{
        App,
        accounts::{Actor, NewUser},
    },
    config::EmbedProvider,
    domain::{Scopes, user::Role},
    store::tokens::Power,
};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::support::{Answer, Home, Server};

pub const PASSWORD: &str = "correct horse battery";
pub const REDIRECT: &str = "http://127.0.0.1:45381/callback";
pub const VERIFIER: &str = "a-verifier-of-at-least-forty-three-characters-0";

/// The library of a home, in this process.
pub fn app(home: &Home) -> App {
    let mut config = crate::support::config(&home.data());
    config.embed.provider = EmbedProvider::None;
    App::open(config, Vec::new()).unwrap()
}

/// Adds accounts with the same password.
pub fn people(home: &Home, people: &[(&str, Role)]) {
    let app = app(home);
    for (name, role) in people {
        let new = NewUser { name, display_name: "", role: *role, password: Some(PASSWORD) };
        app.add_user(&Actor::shell(), &new).unwrap();
    }
}

/// A token of a user that is valid everywhere.
pub fn user_token(home: &Home, name: &str, scopes: Scopes) -> String {
    let app = app(home);
    let user = app.user(name).unwrap().id;
    app.issue_token(&Actor::shell(), "test", Power::User(user, scopes), None).unwrap().1
}

/// Changes rows of the library's database, to make time pass.
pub fn change(home: &Home, statement: &str) {
    crate::support::sql(&home.data(), statement);
}

/// A home with an owner, `olga`, and its server.
pub fn with_owner() -> (Home, Server) {
    let home = Home::new();
    home.note("free.md", "---\nfree: true\nauthor: mira\n---\n# Free\n\nEverybody reads this.\n")
        .note("secret.md", "# Secret\n\nOnly for the owner.\n");
    people(&home, &[("olga", Role::Owner), ("rita", Role::Reader)]);
    let server = home.serve();
    (home, server)
}

/// Starts a server with a config file.
pub fn serve_with(home: &Home, config: &str) -> Server {
    let file = home.dir.path().join("notewell.toml");
    crate::support::put(&file, config);
    let mut command = home.command(&["serve", "--listen", "127.0.0.1:0"]);
    command.arg("--config").arg(Path::new(&file));
    Server::start(command)
}

pub fn query(pairs: &[(&str, &str)]) -> String {
    url::form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish()
}

pub fn challenge(verifier: &str) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(verifier.as_bytes()))
}

/// A browser with one cookie.
pub struct Browser<'a> {
    pub server: &'a Server,
    pub cookie: RefCell<String>,
}

impl<'a> Browser<'a> {
    pub fn new(server: &'a Server) -> Self {
        Self { server, cookie: RefCell::default() }
    }

    pub fn signed_in(server: &'a Server, name: &str) -> Self {
        let browser = Self::new(server);
        let answer = browser.post("/sign-in", &[("name", name), ("password", PASSWORD)]);
        assert_eq!(answer.status, 303, "{}", answer.body);
        browser
    }

    pub fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let cookie = self.cookie.borrow().clone();
        let mut all = vec![("Accept", "text/html")];
        all.extend_from_slice(headers);
        if !cookie.is_empty() {
            all.push(("Cookie", &cookie));
        }
        let answer = self.server.send(method, path, &all, body.as_bytes());
        if let Some(set) = answer.headers.get("set-cookie") {
            *self.cookie.borrow_mut() = set.split(';').next().unwrap().to_owned();
        }
        answer
    }

    pub fn get(&self, path: &str) -> Answer {
        self.send("GET", path, &[], "")
    }

    /// Posts a form from a page of the server itself.
    pub fn post(&self, path: &str, fields: &[(&str, &str)]) -> Answer {
        self.post_from(path, fields, &[("Sec-Fetch-Site", "same-origin")])
    }

    pub fn post_from(&self, path: &str, fields: &[(&str, &str)], from: &[(&str, &str)]) -> Answer {
        let mut headers = vec![("Content-Type", "application/x-www-form-urlencoded")];
        headers.extend_from_slice(from);
        self.send("POST", path, &headers, &query(fields))
    }
}

/// A client that asks for consent.
#[derive(Clone)]
pub struct Asking {
    pub client: String,
    pub redirect: String,
    pub resource: String,
    pub scope: String,
}

impl Asking {
    /// A client that registered itself without a secret.
    pub fn registered(server: &Server) -> Self {
        let answer = register(
            server,
            &json!({ "client_name": "Test client",
            "redirect_uris": [REDIRECT], "token_endpoint_auth_method": "none" }),
        );
        assert_eq!(answer.status, 201, "{}", answer.body);
        Self {
            client: answer.json()["client_id"].as_str().unwrap().to_owned(),
            redirect: REDIRECT.to_owned(),
            resource: format!("http://{}/mcp", server.address),
            scope: "read write offline_access".to_owned(),
        }
    }

    pub fn pairs(&self) -> Vec<(String, String)> {
        [
            ("response_type", "code"),
            ("client_id", &self.client),
            ("redirect_uri", &self.redirect),
            ("code_challenge", &challenge(VERIFIER)),
            ("code_challenge_method", "S256"),
            ("state", "st&te"),
            ("scope", &self.scope),
            ("resource", &self.resource),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .to_vec()
    }

    /// The address that the client opens in the browser, with some parameters changed, or left out
    /// where they are empty.
    pub fn address_with(&self, changes: &[(&str, &str)]) -> String {
        let mut pairs = self.pairs();
        for (name, value) in changes {
            pairs.retain(|(key, _)| key != name);
            if !value.is_empty() {
                pairs.push(((*name).to_owned(), (*value).to_owned()));
            }
        }
        let pairs: Vec<(&str, &str)> =
            pairs.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        format!("/authorize?{}", query(&pairs))
    }

    pub fn address(&self) -> String {
        self.address_with(&[])
    }

    /// The fields of the consent page's form.
    pub fn form(&self, browser: &Browser<'_>) -> Vec<(String, String)> {
        let page = browser.get(&self.address());
        assert_eq!(page.status, 200, "{}", page.body);
        ["request", "token"].map(|name| (name.to_owned(), hidden(&page.body, name))).to_vec()
    }

    /// What the user is sent back with after consent.
    pub fn answer(&self, browser: &Browser<'_>, more: &[(&str, &str)]) -> Vec<(String, String)> {
        let form = self.form(browser);
        let mut fields: Vec<(&str, &str)> =
            form.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        fields.extend_from_slice(more);
        let answer = browser.post("/authorize", &fields);
        assert_eq!(answer.status, 303, "{}", answer.body);
        let location = &answer.headers["location"];
        let rest = location.strip_prefix(&self.redirect).unwrap_or_else(|| panic!("{location}"));
        parse(rest.trim_start_matches('?'))
    }

    /// The code of a user who agrees to everything.
    pub fn code(&self, browser: &Browser<'_>) -> String {
        let answer = self.answer(browser, &[("decision", "allow"), ("write", "write")]);
        value(&answer, "code")
    }

    pub fn redeem_with(&self, server: &Server, code: &str, changes: &[(&str, &str)]) -> Answer {
        let mut fields = vec![
            ("grant_type", "authorization_code"),
            ("code", code),
            ("client_id", &self.client),
            ("redirect_uri", &self.redirect),
            ("code_verifier", VERIFIER),
            ("resource", &self.resource),
        ];
        for (name, value) in changes {
            fields.retain(|(key, _)| key != name);
            if !value.is_empty() {
                fields.push((name, value));
            }
        }
        token(server, &fields)
    }

    pub fn redeem(&self, server: &Server, code: &str) -> Answer {
        self.redeem_with(server, code, &[])
    }

    /// The tokens of a user who agrees to everything.
    pub fn connect(&self, browser: &Browser<'_>) -> Tokens {
        let answer = self.redeem(browser.server, &self.code(browser));
        assert_eq!(answer.status, 200, "{}", answer.body);
        Tokens::of(&answer)
    }

    pub fn refresh(&self, server: &Server, refresh: &str) -> Answer {
        let fields = [
            ("grant_type", "refresh_token"),
            ("refresh_token", refresh),
            ("client_id", self.client.as_str()),
        ];
        token(server, &fields)
    }
}

#[derive(Debug)]
pub struct Tokens {
    pub access: String,
    pub refresh: String,
}

impl Tokens {
    pub fn of(answer: &Answer) -> Self {
        let text = |name: &str| answer.json()[name].as_str().unwrap().to_owned();
        Self { access: text("access_token"), refresh: text("refresh_token") }
    }
}

pub fn register(server: &Server, metadata: &Value) -> Answer {
    let headers = [("Content-Type", "application/json")];
    server.send("POST", "/register", &headers, metadata.to_string().as_bytes())
}

pub fn token(server: &Server, fields: &[(&str, &str)]) -> Answer {
    let headers = [("Content-Type", "application/x-www-form-urlencoded")];
    server.send("POST", "/token", &headers, query(fields).as_bytes())
}

/// Lists the tools at an address with a token: the status tells whether the token is good there.
pub fn list_tools(server: &Server, path: &str, token: &str) -> Answer {
    let bearer = format!("Bearer {token}");
    let body = br#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    server.send("POST", path, &[("Authorization", &bearer)], body)
}

pub fn parse(query: &str) -> Vec<(String, String)> {
    url::form_urlencoded::parse(query.as_bytes()).into_owned().collect()
}

pub fn value(pairs: &[(String, String)], name: &str) -> String {
    let found = pairs.iter().find(|(key, _)| key == name);
    found.unwrap_or_else(|| panic!("no {name} in {pairs:?}")).1.clone()
}

fn hidden(page: &str, name: &str) -> String {
    let start = format!("<input type=\"hidden\" name=\"{name}\" value=\"");
    let at = page.find(&start).unwrap_or_else(|| panic!("no field {name} in {page}"));
    let text = &page[at + start.len()..];
    let text = &text[..text.find('"').unwrap()];
    text.replace("&#38;", "&").replace("&#34;", "\"").replace("&#39;", "'").replace("&amp;", "&")
}
