//! The server without its sockets: requests go through every layer of the routes to an open library.

use std::{cell::RefCell, net::SocketAddr, sync::Arc};

use axum::{
    Router,
    body::{Body, to_bytes},
    http::{HeaderValue, Method, Request, StatusCode, header},
};
use notewell::{
    app::App,
    config::Config,
    domain::{Scope, VaultPath},
    serve::http::routes,
    store::hosted::Expected,
    tools,
};
use tokio::runtime::Runtime;
use tower::ServiceExt;

use super::{SEPARATOR, folder, parts, text};

/// Executions until the library starts again: what they wrote stays in it.
const MAX_EXECUTIONS: usize = 10_000;
/// Bytes of an answer that are read.
const MAX_ANSWER: usize = 1 << 20;
/// Requests of one input.
const MAX_REQUESTS: usize = 3;
const ADDRESS: ([u8; 4], u16) = ([127, 0, 0, 1], 7717);
/// What a vault beside the one that is asked for holds.
const SECRET: &str = "marker-of-the-other-vault";

struct Site {
    app: Arc<App>,
    router: Router,
    runtime: Runtime,
    token: String,
    client: String,
    executions: usize,
    _folder: tempfile::TempDir,
}

thread_local! {
    static SITE: RefCell<Option<Site>> = const { RefCell::new(None) };
}

impl Site {
    fn open() -> Self {
        let folder = folder();
        // Nothing here asks another machine: no fetched clients, no repositories, no models.
        let mut config = Config::parse(
            "[embed]\nprovider = \"none\"\n[oauth]\nfetch_clients = false\n[toolsets]\nbookmarks = false\n[hosted]\nfiles = 40\nfile_bytes = 4096\nvault_bytes = 40000\n[server]\ntrusted_proxies = [\"127.0.0.1\"]\n",
        )
        .expect("the settings of the target");
        config.data = folder.path().to_path_buf();
        let app = Arc::new(App::open(config, tools::names()).expect("a new library"));
        let code = app.setup_code().expect("no owner yet");
        let from = SocketAddr::from(ADDRESS).ip();
        app.set_up(&code, "ada", "Ada", "a long enough password", from).expect("an owner");
        let token = app.create_token("fuzz", Scope::Owner, None).expect("a token").1;
        for vault in ["v", "other"] {
            app.create_vault(vault, None).expect("a vault");
        }
        let rights = app.owner();
        let other = app.hosted_vault("other", &rights).expect("a vault");
        let path = VaultPath::parse("secret.md").expect("a path");
        other.put(&path, SECRET.as_bytes(), None, Expected::Any).expect("a file");
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .max_blocking_threads(4)
            .build()
            .expect("a runtime");
        let router = runtime.block_on(async { routes(app.clone(), ADDRESS.into()) });
        let mut site = Self {
            app,
            router,
            runtime,
            token,
            client: String::new(),
            executions: 0,
            _folder: folder,
        };
        let client = r#"{"client_name":"Fuzz","redirect_uris":["http://127.0.0.1/back"],"token_endpoint_auth_method":"none"}"#;
        let request = site.request("POST /register\ncontent-type: application/json", client.into());
        let answer = site.send(request.expect("a request"));
        let answer: serde_json::Value = serde_json::from_slice(&answer.body).unwrap_or_default();
        site.client = answer["client_id"].as_str().unwrap_or_default().to_owned();
        assert!(!site.client.is_empty(), "the client was not registered: {answer}");
        site
    }

    /// A request of its head: a line with method and address, then headers. None where no client
    /// could send it.
    fn request(&self, head: &str, body: Vec<u8>) -> Option<Request<Body>> {
        let mut lines = head.lines();
        let (method, address) = lines.next()?.split_once(' ')?;
        let method = Method::from_bytes(method.as_bytes()).ok()?;
        let address = address.trim().replace("$CLIENT", &self.client);
        let mut request =
            Request::builder().method(method).uri(address).body(Body::from(body)).ok()?;
        let headers = request.headers_mut();
        for line in lines {
            let Some((name, value)) = line.split_once(':') else { continue };
            let value = value.trim().replace("$TOKEN", &self.token);
            let value = HeaderValue::from_bytes(value.as_bytes()).ok()?;
            headers.append(header::HeaderName::from_bytes(name.trim().as_bytes()).ok()?, value);
        }
        headers.entry(header::HOST).or_insert_with(|| HeaderValue::from_static("127.0.0.1:7717"));
        // Each execution comes from an address of its own: what slows down one stranger would hide
        // everything behind it.
        let [_, b, c, d] = (self.executions as u32).to_be_bytes();
        let from = HeaderValue::from_str(&format!("11.{b}.{c}.{d}")).ok()?;
        headers.entry("x-forwarded-for").or_insert(from);
        Some(request)
    }

    fn send(&self, request: Request<Body>) -> Answer {
        let router = self.router.clone();
        self.runtime.block_on(async {
            let Ok(response) = router.oneshot(request).await;
            let (parts, body) = response.into_parts();
            let kind = parts.headers.get(header::CONTENT_TYPE);
            let streams =
                kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"));
            // A stream ends when its client goes away.
            let body = match streams {
                true => Vec::new(),
                false => to_bytes(body, MAX_ANSWER).await.map(Vec::from).unwrap_or_default(),
            };
            let location = parts.headers.get(header::LOCATION);
            let location = location.and_then(|place| place.to_str().ok()).map(str::to_owned);
            Answer { status: parts.status, location, body }
        })
    }
}

struct Answer {
    status: StatusCode,
    location: Option<String>,
    body: Vec<u8>,
}

impl Answer {
    /// Whatever was asked, the server did not fail.
    fn check(&self) {
        let body = text(&self.body);
        assert_ne!(self.status, StatusCode::INTERNAL_SERVER_ERROR, "{body}");
        assert!(!body.contains("\"code\":-32603"), "{body}");
    }
}

fn with(work: impl FnOnce(&Site)) {
    SITE.with_borrow_mut(|site| {
        if site.as_ref().is_none_or(|site| site.executions >= MAX_EXECUTIONS) {
            *site = None;
            *site = Some(Site::open());
        }
        let site = site.as_mut().expect("an open site");
        site.executions += 1;
        work(site);
    });
}

/// Head and body, with an empty line between them.
fn split(request: &[u8]) -> (String, Vec<u8>) {
    let at = request.windows(2).position(|pair| pair == b"\n\n");
    let (head, body) = at.map_or((request, &[][..]), |at| (&request[..at], &request[at + 2..]));
    (text(head).into_owned(), body.to_vec())
}

/// Any request: `METHOD address`, headers, an empty line, the body. `$TOKEN` is a valid token.
pub fn http(data: &[u8]) {
    let (head, body) = split(data);
    with(|site| {
        let Some(request) = site.request(&head, body) else { return };
        site.send(request).check();
    });
}

/// A message to `/mcp`, with a token: the headers of the revision, then the body.
pub fn mcp(data: &[u8]) {
    let [headers, body] = parts(data);
    let head = format!(
        "POST /mcp\nauthorization: Bearer $TOKEN\ncontent-type: application/json\naccept: application/json, text/event-stream\n{}",
        text(headers)
    );
    with(|site| {
        let Some(request) = site.request(&head, body.to_vec()) else { return };
        site.send(request).check();
    });
}

/// Requests to one hosted vault. They cannot see or change another one.
pub fn dav(data: &[u8]) {
    const READING: [&str; 4] = ["GET", "HEAD", "OPTIONS", "PROPFIND"];
    with(|site| {
        let mut has_written = false;
        for request in data.split(|byte| *byte == SEPARATOR).take(MAX_REQUESTS) {
            let (head, body) = split(request);
            let base = "http://127.0.0.1:7717/_system/dav/v/";
            let Some((method, rest)) = head.split_once(' ') else { continue };
            let rest = rest.replace("$BASE", base);
            let rest = rest.trim_start_matches('/');
            let sent = format!("{method} /_system/dav/v/{rest}\nauthorization: Bearer $TOKEN");
            let Some(request) = site.request(&sent, body) else { continue };
            let answer = site.send(request);
            answer.check();
            assert!(!text(&answer.body).contains(SECRET), "another vault was read");
            has_written |= answer.status.is_success() && !READING.contains(&method);
        }
        // The other vault is read where something was written: that costs more than the requests.
        if !has_written {
            return;
        }
        let rights = site.app.owner();
        let other = site.app.hosted_vault("other", &rights).expect("a vault");
        let files = other.list(None).expect("its files");
        assert_eq!(files.len(), 1, "another vault was changed");
        let path = VaultPath::parse("secret.md").expect("a path");
        let kept = other.read(&path).expect("its file").map(|(_, bytes)| bytes);
        assert_eq!(kept.as_deref(), Some(SECRET.as_bytes()));
    });
}

/// Parameters of the authorization server: which endpoint, the parameters, further headers.
pub fn oauth(data: &[u8]) {
    let [endpoint, parameters, headers] = parts(data);
    let (parameters, headers) = (text(parameters), text(headers));
    let form = "content-type: application/x-www-form-urlencoded";
    with(|site| {
        let parameters = parameters.replace("$CLIENT", &site.client);
        let (head, body) = match endpoint.first().copied().unwrap_or_default() {
            b'a' => (format!("GET /authorize?{parameters}"), String::new()),
            b'd' => (format!("POST /authorize\n{form}"), parameters),
            b't' => (format!("POST /token\n{form}"), parameters),
            b'v' => (format!("POST /revoke\n{form}"), parameters),
            b'r' => ("POST /register\ncontent-type: application/json".to_owned(), parameters),
            _ => (format!("GET /.well-known/{parameters}"), String::new()),
        };
        let head = format!("{head}\n{headers}");
        let Some(request) = site.request(&head, body.into_bytes()) else { return };
        let answer = site.send(request);
        answer.check();
        // Nobody is sent elsewhere than to the registered address or to a page of ours.
        if let Some(place) = answer.location {
            let ours = place.starts_with('/') && !place.starts_with("//");
            let own = ["http://127.0.0.1:7717/", "http://127.0.0.1/back"];
            let loopback = place.strip_prefix("http://127.0.0.1:").is_some_and(|rest| {
                rest.trim_start_matches(|c: char| c.is_ascii_digit()).starts_with("/back")
            });
            let back = own.iter().any(|start| place.starts_with(start));
            assert!(ours || back || loopback, "sent to {place}");
        }
    });
}
