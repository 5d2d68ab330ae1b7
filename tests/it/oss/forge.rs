//! Reports on repositories of a forge, as an agent asks for them.

use std::{
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    path::Path,
    process::{Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use super::{Repository, good, nothing_left, settings};
use crate::support::{Home, until};

/// A forge on loopback: `git http-backend` behind a few lines of HTTP.
pub struct Forge {
    port: u16,
    fetches: Arc<AtomicUsize>,
}

impl Forge {
    /// Serves the repositories of a home as `/o/NAME`, and whatever `special` answers itself.
    pub fn start(
        home: &Home,
        special: impl Fn(&str) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let root = home.dir.path().join("repositories");
        std::fs::create_dir_all(&root).unwrap();
        let fetches = Arc::new(AtomicUsize::new(0));
        let counter = fetches.clone();
        let special = Arc::new(special);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (root, counter, special) = (root.clone(), counter.clone(), special.clone());
                std::thread::spawn(move || answer(stream, &root, &counter, &*special));
            }
        });
        Self { port, fetches }
    }

    pub fn url(&self, name: &str) -> String {
        format!("http://127.0.0.1:{}/o/{name}", self.port)
    }

    pub fn settings(&self, home: &Home, more: &str) {
        settings(home, &format!("trusted_hosts = [\"127.0.0.1:{}\"]\n{more}", self.port));
    }
}

fn answer(
    mut stream: TcpStream,
    root: &Path,
    fetches: &AtomicUsize,
    special: &dyn Fn(&str) -> Option<String>,
) {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    let end = loop {
        let Ok(read @ 1..) = stream.read(&mut buffer) else { return };
        bytes.extend_from_slice(&buffer[..read]);
        if let Some(at) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break at + 4;
        }
    };
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let header = |name: &str| {
        head.lines().find_map(|line| {
            let (key, value) = line.split_once(": ")?;
            key.eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
        })
    };
    let mut words = head.split_whitespace();
    let (method, target) = (words.next().unwrap().to_owned(), words.next().unwrap().to_owned());
    if let Some(said) = special(&target) {
        drop(stream.write_all(said.as_bytes()));
        return;
    }
    let length = header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    let mut body = bytes[end..].to_vec();
    while body.len() < length {
        let Ok(read @ 1..) = stream.read(&mut buffer) else { return };
        body.extend_from_slice(&buffer[..read]);
    }
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    // `/o/NAME.git/…` is the folder NAME/.git.
    let path = path.trim_start_matches("/o/").replacen(".git/", "/.git/", 1);
    if method == "GET" {
        fetches.fetch_add(1, Ordering::Relaxed);
    }
    let mut command = Command::new("git");
    command.arg("http-backend").env("GIT_PROJECT_ROOT", root).env("GIT_HTTP_EXPORT_ALL", "1");
    command
        .env("REQUEST_METHOD", method)
        .env("QUERY_STRING", query)
        .env("PATH_INFO", format!("/{path}"));
    command
        .env("GIT_CONFIG_COUNT", "1")
        .env("GIT_CONFIG_KEY_0", "safe.directory")
        .env("GIT_CONFIG_VALUE_0", "*");
    for (name, variable) in [
        ("content-type", "CONTENT_TYPE"),
        ("content-encoding", "HTTP_CONTENT_ENCODING"),
        ("git-protocol", "GIT_PROTOCOL"),
    ] {
        if let Some(value) = header(name) {
            command.env(variable, value);
        }
    }
    command.env("CONTENT_LENGTH", body.len().to_string());
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    drop(child.stdin.take().unwrap().write_all(&body));
    let mut said = Vec::new();
    child.stdout.take().unwrap().read_to_end(&mut said).unwrap();
    child.wait().unwrap();
    let text = String::from_utf8_lossy(&said);
    let status =
        text.lines().find_map(|line| line.strip_prefix("Status: ")).unwrap_or("200 OK").to_owned();
    drop(stream.write_all(format!("HTTP/1.1 {status}\r\nConnection: close\r\n").as_bytes()));
    drop(stream.write_all(&said));
}

fn redirect(to: &str) -> Option<String> {
    Some(format!(
        "HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    ))
}

#[test]
fn an_agent_asks_for_a_report() {
    let home = Home::new();
    good(&home);
    let forge = Forge::start(&home, |target| match target {
        target if target.starts_with("/o/renamed.git/") => {
            redirect("/o/good.git/info/refs?service=git-upload-pack")
        }
        target if target.starts_with("/api/repos/o/good") => {
            let body = r#"{"stargazers_count":1250,"description":"says two","archived":false}"#;
            Some(format!(
                "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
                body.len()
            ))
        }
        _ => None,
    });
    let api = format!(
        "api = {{ \"127.0.0.1\" = \"http://127.0.0.1:{}/api\" }}\nbuild = false\n",
        forge.port
    );
    forge.settings(&home, &api);
    let mut client = home.stdio();
    client.initialize();
    let url = forge.url("good");
    let missing = client.call("oss_report", json!({ "repo_url": url }));
    assert_eq!(missing["isError"], json!(false), "{missing}");
    assert_eq!(missing["structuredContent"]["status"], "missing");
    assert!(
        missing["structuredContent"]["message"].as_str().unwrap().contains("verify_if_missing")
    );
    assert_eq!(forge.fetches.load(Ordering::Relaxed), 0, "nothing was asked for");

    let found = client.ask(
        "tools/call",
        json!({ "name": "oss_report", "arguments": { "repo_url": url, "verify_if_missing": true }, "_meta": { "progressToken": "p" } }),
    );
    let found = &found["result"]["structuredContent"];
    assert_eq!(found["status"], "verified", "{found:#}");
    assert_eq!((&found["repoUrl"], &found["stars"]), (&json!(url), &json!(1250)));
    assert_eq!(found["facts"]["commitsLastYear"], 30, "a shallow clone counts the year");
    let steps: Vec<f64> =
        client.notices.iter().filter_map(|notice| notice["params"]["progress"].as_f64()).collect();
    assert!(!steps.is_empty() && steps.is_sorted(), "{:?}", client.notices);

    let fetched = forge.fetches.load(Ordering::Relaxed);
    let again = client.call("oss_report", json!({ "repo_url": format!("{url}.git/") }));
    assert_eq!(again["structuredContent"]["securityScore"], found["securityScore"]);
    let text: Value = serde_json::from_str(again["content"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(text["commit"], found["commit"]);
    assert_eq!(
        forge.fetches.load(Ordering::Relaxed),
        fetched,
        "the stored report was fetched again"
    );

    let renamed = client
        .call("oss_report", json!({ "repo_url": forge.url("renamed"), "verify_if_missing": true }));
    assert_eq!(renamed["structuredContent"]["commit"], found["commit"], "{renamed:#}");
    nothing_left(&home);
}

#[test]
fn whoever_is_impatient_asks_again() {
    let home = Home::new();
    good(&home);
    let forge = Forge::start(&home, |_| {
        std::thread::sleep(Duration::from_millis(300));
        None
    });
    forge.settings(&home, "wait_seconds = 0\nbuild = false\nqueue = 1\n");
    let mut client = home.stdio();
    client.initialize();
    let ask = json!({ "repo_url": forge.url("good"), "verify_if_missing": true });
    let first = client.call("oss_report", ask.clone());
    assert_eq!(first["structuredContent"]["status"], "verifying", "{first}");
    assert_eq!(first["structuredContent"]["repoName"], "good");
    // The same repository again is the same verification; another waits; a third is too many.
    client.call("oss_report", ask.clone());
    let refused = |client: &mut crate::support::Client, name: &str| {
        client.ask("tools/call", json!({ "name": "oss_report", "arguments": { "repo_url": forge.url(name), "verify_if_missing": true } }))
    };
    // The first one leaves the queue when its work begins.
    until("another one waits", || {
        let waits = refused(&mut client, "absent");
        waits["result"]["structuredContent"]["status"] == "verifying"
    });
    let full = refused(&mut client, "third");
    assert!(
        full["error"]["message"].as_str().is_some_and(|text| text.contains("[oss] queue")),
        "{full}"
    );
    until("the report is there", || {
        let found = client.call("oss_report", json!({ "repo_url": forge.url("good") }));
        found["structuredContent"]["status"] == "verified"
    });
    until("the failure is reported", || {
        let found = client.call("oss_report", json!({ "repo_url": forge.url("absent") }));
        let message = found["structuredContent"]["message"].as_str().unwrap_or_default().to_owned();
        message.contains("the last attempt failed")
    });
}

#[test]
fn what_cannot_be_fetched_is_told_and_leaves_nothing() {
    let home = Home::new();
    let large = Repository::new(&home, "large", &[]);
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    };
    let noise: Vec<u8> = (0..3_000_000).map(|_| random()).collect();
    large.file("noise.bin", noise);
    large.commit(1, "ann@example.org");
    let bomb = Repository::new(&home, "expands", &[]);
    bomb.file("zeros.bin", vec![0; 12_000_000]);
    bomb.commit(1, "ann@example.org");
    std::fs::create_dir_all(home.dir.path().join("repositories/empty")).unwrap();
    let empty = Repository { path: home.dir.path().join("repositories/empty") };
    empty.git(&["init", "--quiet"], 0, "a");
    // A port that must stay untouched.
    let secret = TcpListener::bind("127.0.0.1:0").unwrap();
    let private = secret.local_addr().unwrap();
    let forge = Forge::start(&home, move |target| match target.split('/').nth(2)? {
        "evil.git" => redirect(&format!("http://{private}/o/good.git/info/refs")),
        "evil2.git" => redirect("https://169.254.169.254/o/good.git/info/refs"),
        "evil3.git" => redirect("file:///etc/passwd"),
        "loop.git" => redirect("/o/loop.git/info/refs"),
        "garbage.git" => {
            Some("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello".into())
        }
        "broken.git" => {
            Some("HTTP/1.1 500 Oops\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".into())
        }
        "silent.git" => {
            std::thread::sleep(Duration::from_secs(30));
            Some(String::new())
        }
        _ => None,
    });
    forge.settings(&home, "clone_mb = 2\nclone_seconds = 3\nbuild = false\n");
    let mut client = home.stdio();
    client.initialize();
    for (name, why) in [
        ("absent", "no public repository"),
        ("large", "clone_mb"),
        ("expands", "clone_mb"),
        ("empty", "no commits"),
        ("evil", "redirects to a place that is not asked"),
        ("evil2", "private address"),
        ("evil3", "redirects to a place that is not asked"),
        ("loop", "redirects more than"),
        ("garbage", "git could not fetch"),
        ("broken", "answered 500"),
        ("silent", "could not reach"),
    ] {
        let begun = Instant::now();
        let found = client
            .call("oss_report", json!({ "repo_url": forge.url(name), "verify_if_missing": true }));
        assert_eq!(found["isError"], true, "{name}: {found}");
        let text = found["content"][0]["text"].as_str().unwrap();
        assert!(text.contains(why), "{name}: {text}");
        assert!(begun.elapsed() < Duration::from_secs(25), "{name} held the caller");
        let after = client.call("oss_report", json!({ "repo_url": forge.url(name) }));
        assert_eq!(after["structuredContent"]["status"], "missing", "{name} left a report");
        nothing_left(&home);
    }
    secret.set_nonblocking(true).unwrap();
    assert!(secret.accept().is_err(), "a redirect was followed to a private port");
}

#[test]
fn bad_addresses_are_refused() {
    let home = Home::new();
    let mut client = home.stdio();
    client.initialize();
    let local = home.dir.path().to_str().unwrap().to_owned();
    for (url, why) in [
        ("", "is empty"),
        ("a tool", "is not a URL"),
        ("http://github.com/a/b", "is not an https address"),
        ("ssh://git@github.com/a/b", "no user name or password"),
        ("git@github.com:a/b.git", "is not a URL"),
        ("https://me:hunter2@github.com/a/b", "no user name or password"),
        ("https://10.0.0.1/a/b", "private address"),
        ("https://[::1]/a/b", "private address"),
        ("https://localhost/a/b", "private address"),
        ("https://example.org/a/b", "not among the allowed hosts"),
        ("https://github.com/a", "names no repository"),
        ("file:///etc", "is not an https address"),
        (local.as_str(), "is not a URL"),
    ] {
        for verify in [false, true] {
            let error = client
                .refused("oss_report", json!({ "repo_url": url, "verify_if_missing": verify }));
            assert_eq!(error["code"], -32602, "{url}: {error}");
            let message = error["message"].as_str().unwrap();
            assert!(message.contains(why) && !message.contains("hunter2"), "{url}: {message}");
        }
    }
    let (ok, _, err) = home.run(&["oss", "/no/such/place"]);
    assert!(!ok && err.contains("no repository at"), "{err}");
    let (ok, _, err) = home.run(&["oss", &local]);
    assert!(!ok && err.contains("git could not fetch"), "{err}");
    nothing_left(&home);
}

#[test]
fn readers_and_strangers_have_no_reports() {
    let home = Home::new();
    let reader = home.token("reader");
    let server = home.serve();
    let call = br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"oss_report","arguments":{"repo_url":"https://github.com/a/b"}}}"#;
    let bearer = format!("Bearer {reader}");
    for headers in [vec![], vec![("Authorization", bearer.as_str())]] {
        let answer = server.send("POST", "/_system/mcp", &headers, call).json();
        assert_eq!(answer["error"]["code"], -32601, "{answer}");
    }
}
