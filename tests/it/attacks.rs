//! The HTTP edge under attack, without a token. Each attack is one that once worked; new ones are
//! added here.

use std::{
    io::{Read, Write},
    net::TcpStream,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::{
    sse::Events,
    support::{Home, PATIENCE, Server, until},
};

/// What an attack without a token may cost: memory beyond what the server had before.
const MEMORY: u64 = 200 << 20;
/// How long `/healthz` may take meanwhile. The goal is 100 ms on a quiet machine; this is a machine
/// that builds and tests at the same time.
const HEALTH: Duration = Duration::from_secs(3);

fn library() -> Home {
    let home = Home::new();
    home.note("free.md", "---\nfree: true\n---\n# Free\n\nEverybody reads this.\n")
        .note("secret.md", "# Secret\n\nOnly mine.\n");
    home.say(&["doctor"]);
    home
}

/// Bytes of memory in a field of the server's status; zero on systems that have none.
fn memory(server: &Server, field: &str) -> u64 {
    if cfg!(not(target_os = "linux")) {
        return 0;
    }
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.child.id())).unwrap();
    let line = status.lines().find(|line| line.starts_with(field)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() << 10
}

/// Runs an attack and checks what it cost. Prints the figures.
pub fn attack<T: Send>(name: &str, server: &Server, work: impl FnOnce() -> T + Send) -> T {
    if cfg!(target_os = "linux") {
        // From here on the peak counts anew.
        std::fs::write(format!("/proc/{}/clear_refs", server.child.id()), "5").unwrap();
    }
    let before = memory(server, "VmRSS:");
    let (result, slowest) = std::thread::scope(|scope| {
        let attacking = scope.spawn(work);
        let mut slowest = Duration::ZERO;
        loop {
            let started = Instant::now();
            assert_eq!(server.get("/healthz", &[]).status, 200, "{name}");
            slowest = slowest.max(started.elapsed());
            if attacking.is_finished() {
                break;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        (attacking.join().unwrap(), slowest)
    });
    let cost = memory(server, "VmHWM:").saturating_sub(before);
    println!("{name}: {} MB at most, /healthz {} ms at most", cost >> 20, slowest.as_millis());
    assert!(cost < MEMORY, "{name} cost {} MB", cost >> 20);
    assert!(slowest < HEALTH, "{name} held up /healthz for {slowest:?}");
    result
}

/// Sends bytes and leaves the connection open.
fn connect(server: &Server, bytes: &[u8]) -> TcpStream {
    let mut stream = TcpStream::connect(&server.address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    // The server may refuse by closing.
    let _ = stream.write_all(bytes);
    stream
}

fn initialize() -> String {
    json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": { "name": "test", "version": "1" } } })
    .to_string()
}

/// Opens a session of streamable HTTP, as the holder of a token or without one.
fn session(server: &Server, token: Option<&str>) -> String {
    let bearer = token.map(|token| format!("Bearer {token}"));
    let mut headers = vec![("Accept", "application/json, text/event-stream")];
    headers.extend(bearer.as_deref().map(|bearer| ("Authorization", bearer)));
    let answer = server.send("POST", "/_system/mcp", &headers, initialize().as_bytes());
    assert_eq!(answer.status, 200, "{}", answer.body);
    let id = answer.headers["mcp-session-id"].clone();
    headers.push(("Mcp-Session-Id", &id));
    let ready = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    assert_eq!(server.send("POST", "/_system/mcp", &headers, ready.as_bytes()).status, 202);
    id
}

fn works(server: &Server, token: &str, id: &str) -> u16 {
    let bearer = format!("Bearer {token}");
    let headers = [
        ("Accept", "application/json, text/event-stream"),
        ("Authorization", bearer.as_str()),
        ("Mcp-Session-Id", id),
    ];
    let list = r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#;
    server.send("POST", "/_system/mcp", &headers, list.as_bytes()).status
}

#[test]
fn a_session_is_only_its_callers() {
    let home = library();
    let (owner, reader) = (home.token("owner"), home.token("reader"));
    let server = home.serve();
    let id = session(&server, Some(&owner));
    let reader = format!("Bearer {reader}");
    let strangers: [&[(&str, &str)]; 2] = [&[], &[("Authorization", &reader)]];
    for stranger in strangers {
        let ask = |method: &str, session: &str, extra: &[(&str, &str)], body: &str| {
            let mut headers = stranger.to_vec();
            headers.extend_from_slice(extra);
            headers.push(("Mcp-Session-Id", session));
            let answer = server.send(method, "/_system/mcp", &headers, body.as_bytes());
            (answer.status, answer.body)
        };
        let stream = [("Accept", "text/event-stream"), ("Last-Event-ID", "0/0")];
        let cancel =
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
        let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
        let modern = [("Mcp-Protocol-Version", "2026-07-28")];
        for (method, extra, body) in [
            ("GET", &stream[..], ""),
            ("GET", &stream[..1], ""),
            ("DELETE", &stream[..0], ""),
            ("POST", &stream[..0], cancel),
            ("POST", &stream[..0], list),
        ] {
            let foreign = ask(method, &id, extra, body);
            assert_eq!(foreign.0, 404, "{method} {body}: {}", foreign.1);
            let unknown = ask(method, "00000000-0000-0000-0000-000000000000", extra, body);
            assert_eq!(foreign, unknown, "{method} {body}");
        }
        // A version that has no sessions does not open one either.
        ask("DELETE", &id, &modern, "");
        assert_eq!(works(&server, &owner, &id), 200);
    }
    // Whoever opened it may end it.
    let bearer = format!("Bearer {owner}");
    let headers = [("Authorization", bearer.as_str()), ("Mcp-Session-Id", id.as_str())];
    assert_eq!(server.send("DELETE", "/_system/mcp", &headers, b"").status, 202);
    assert_eq!(works(&server, &owner, &id), 404);
}

#[test]
fn a_revoked_token_ends_its_streams() {
    let home = library();
    let owner = home.token("owner");
    let server = home.serve();
    let id = session(&server, Some(&owner));
    let bearer = format!("Bearer {owner}");
    let headers = [
        ("Accept", "text/event-stream"),
        ("Authorization", bearer.as_str()),
        ("Mcp-Session-Id", id.as_str()),
    ];
    let streamable = server.open("GET", "/_system/mcp", &headers, b"");
    let older = server.open("GET", "/_system/sse", &headers[..2], b"");
    let listen = json!({ "jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": {
        "notifications": { "toolsListChanged": true },
        "_meta": { "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {} } } })
    .to_string();
    let modern = [
        ("Authorization", bearer.as_str()),
        ("Mcp-Protocol-Version", "2026-07-28"),
        ("Mcp-Method", "subscriptions/listen"),
    ];
    let listening = server.open("POST", "/_system/mcp", &modern, listen.as_bytes());
    let mut streams = [streamable, older, listening];
    for stream in &mut streams {
        let mut start = [0; 12];
        stream.read_exact(&mut start).unwrap();
        assert_eq!(&start, b"HTTP/1.1 200");
    }
    assert!(home.say(&["token", "revoke", "1"]).contains("revoked"));
    for mut stream in streams {
        // Ends: without that, the read gives up with an error.
        stream.read_to_end(&mut Vec::new()).unwrap();
    }
    let other = home.token("owner");
    assert_eq!(works(&server, &other, &id), 404, "the session is gone, for everybody");
}

#[test]
fn large_bodies_cost_little() {
    let home = library();
    let server = home.serve();
    let size = (16 << 20) - 1024;
    let zeros = format!("[{}0]", "0,".repeat(size / 2 - 2));
    let call = |arguments: String| {
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"search","arguments":{arguments}}}}}"#
        )
    };
    let inner = format!("[{}0]", "0,".repeat((size - 1000) / 2));
    let bodies: Vec<(&str, String)> = vec![
        ("a batch of zeros", zeros),
        ("an argument of zeros", call(format!(r#"{{"query":{inner}}}"#))),
        ("deep brackets", "[".repeat(size)),
        ("deep objects", r#"{"a":"#.repeat(size / 5)),
        ("empty objects", format!("[{}{{}}]", "{},".repeat(size / 3 - 2))),
        ("one long string", call(format!(r#"{{"query":"{}"}}"#, "x".repeat(size - 1000)))),
        ("a long unknown argument", call(format!(r#"{{"{}":1}}"#, "y".repeat(size - 1000)))),
        (
            "a long method",
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{}"}}"#, "m".repeat(size - 1000)),
        ),
        (
            "a long id",
            format!(r#"{{"jsonrpc":"2.0","id":"{}","method":"ping"}}"#, "i".repeat(size - 1000)),
        ),
        ("escapes", call(format!(r#"{{"query":"{}"}}"#, r"\u0041".repeat((size - 1000) / 6)))),
        ("no JSON", "x".repeat(size)),
    ];
    let modern = [
        ("Mcp-Protocol-Version", "2026-07-28"),
        ("Mcp-Method", "tools/call"),
        ("Mcp-Name", "search"),
    ];
    for headers in [&[][..], &modern[..]] {
        for (name, body) in &bodies {
            let answers = attack(name, &server, || {
                std::thread::scope(|scope| {
                    let one = || server.send("POST", "/_system/mcp", headers, body.as_bytes());
                    let second = scope.spawn(one);
                    [one(), second.join().unwrap()]
                })
            });
            for answer in answers {
                assert!((200..=503).contains(&answer.status), "{name}: {}", answer.status);
                assert!(!answer.body.contains("\"result\""), "{name}: {:.200}", answer.body);
            }
        }
    }
}

#[test]
fn sessions_are_bounded_and_the_owner_keeps_one() {
    let home = library();
    let owner = home.token("owner");
    let server = home.serve();
    let kept = session(&server, Some(&owner));
    let first = session(&server, None);
    attack("1,000 handshakes", &server, || {
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..250).for_each(|_| drop(session(&server, None))));
            }
        });
    });
    assert_eq!(works(&server, &owner, &kept), 200);
    let headers = [("Accept", "application/json, text/event-stream"), ("Mcp-Session-Id", &first)];
    let list = r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#;
    let answer = server.send("POST", "/_system/mcp", &headers, list.as_bytes());
    assert_eq!(answer.status, 404, "the least recently used made room");
}

#[test]
fn streams_without_a_token_leave_room_for_the_owner() {
    let home = library();
    let owner = home.token("owner");
    let server = home.serve();
    let (streams, refused) = attack("1,000 streams", &server, || {
        let (mut streams, mut refused) = (Vec::new(), 0);
        for _ in 0..1000 {
            let mut stream =
                server.open("GET", "/_system/sse", &[("Accept", "text/event-stream")], b"");
            let mut start = [0; 12];
            stream.read_exact(&mut start).unwrap();
            match &start {
                b"HTTP/1.1 200" => streams.push(stream),
                _ => refused += 1,
            }
        }
        (streams, refused)
    });
    assert_eq!(streams.len(), 64, "limits.streams_per_caller");
    assert_eq!(refused, 936);
    let mut events = Events::open(&server, &owner);
    let tools = events.ask(&server, 1, "tools/list", json!({}));
    assert!(tools["result"]["tools"].as_array().unwrap().len() > 10);
}

#[test]
fn half_sent_requests_are_closed() {
    let home = library();
    let owner = home.token("owner");
    let config = home.dir.path().join("short.toml");
    crate::support::put(
        &config,
        "[limits]\nheader_seconds = 1\nbody_seconds = 1\nconnections = 600\n",
    );
    let mut command = home.command(&["serve", "--listen", "0"]);
    command.arg("--config").arg(&config);
    let server = Server::start(command);
    let held = attack("1,000 half-sent requests", &server, || {
        let head = format!("POST /_system/mcp HTTP/1.1\r\nHost: {}\r\n", server.address);
        let body = format!("{head}Content-Length: 1000000\r\n\r\n[0,");
        let long = format!("{head}X-Long: {}", "x".repeat(60_000));
        let mut held = Vec::new();
        for at in 0..1000 {
            let bytes = [head.as_bytes(), body.as_bytes(), long.as_bytes(), b""][at % 4];
            held.push(connect(&server, bytes));
        }
        // There is room for the owner while they are open.
        let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
        assert_eq!(server.post_as(&owner, list).status, 200);
        held
    });
    for mut stream in held {
        // Closed by the server: otherwise the read gives up with another error.
        let mut rest = Vec::new();
        if let Err(error) = stream.read_to_end(&mut rest) {
            assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset, "{error}");
        }
    }
}

#[test]
fn pages_are_under_the_same_limits() {
    let home = Home::new();
    let paragraph = "A sentence about nothing in particular. ".repeat(50);
    let body = format!("{paragraph}\n\n").repeat(1500);
    home.note("large.md", &format!("---\nfree: true\n---\n# Large\n\n{body}"));
    home.say(&["doctor"]);
    let server = home.serve();
    until("the page is there", || server.get("/large.md", &[]).status == 200);
    attack("150 readers of a page who do not read", &server, || {
        let readers: Vec<TcpStream> =
            (0..150).map(|_| server.open("GET", "/large.md", &[], b"")).collect();
        std::thread::sleep(Duration::from_secs(2));
        let refused = readers.into_iter().filter(|mut reader| {
            let mut start = [0; 12];
            reader.read_exact(&mut start).unwrap();
            &start != b"HTTP/1.1 200"
        });
        assert!(refused.count() >= 100, "`limits.concurrent_per_caller` bounds them");
    });
    until("the readers are gone", || server.get("/large.md", &[]).status == 200);
}

#[test]
fn a_request_that_hangs_does_not_hold_up_the_end() {
    let home = library();
    let config = home.dir.path().join("drain.toml");
    crate::support::put(&config, "[server]\ndrain_seconds = 1\n");
    let mut command = home.command(&["serve", "--listen", "localhost:0"]);
    command.arg("--config").arg(&config);
    let mut server = Server::start(command);
    let head = format!("POST /_system/mcp HTTP/1.1\r\nHost: {}\r\n", server.address);
    let hanging: Vec<TcpStream> = (0..5)
        .map(|_| connect(&server, format!("{head}Content-Length: 100\r\n\r\n{{").as_bytes()))
        .collect();
    std::thread::sleep(Duration::from_millis(300));
    let asked = Instant::now();
    let id = server.child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
    let status = server.child.wait().unwrap();
    let took = asked.elapsed();
    println!("ended after {} ms", took.as_millis());
    assert!(status.success(), "{status}");
    assert!(took < Duration::from_secs(10), "{took:?}");
    drop(hanging);
}

/// The notices that an anonymous session receives, as method and URI.
fn told(stream: &mut TcpStream, time: Duration) -> Vec<Value> {
    stream.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    let (mut text, end) = (Vec::new(), Instant::now() + time);
    while Instant::now() < end {
        let mut piece = [0; 4096];
        match stream.read(&mut piece) {
            Ok(0) => break,
            Ok(size) => text.extend_from_slice(&piece[..size]),
            Err(_) => {}
        }
    }
    let text = String::from_utf8_lossy(&text).into_owned();
    text.lines()
        .filter_map(|line| serde_json::from_str(line.strip_prefix("data:")?.trim()).ok())
        .collect()
}

#[test]
fn news_of_private_pages_stays_private() {
    let home = library();
    let owner = home.token("owner");
    let server = home.serve();
    let list = r#"{"jsonrpc":"2.0","id":1,"method":"resources/list"}"#;
    until("both notes are there", || {
        let answer = server.post_as(&owner, list).json();
        answer["result"]["resources"].as_array().is_some_and(|all| all.len() == 2)
    });
    let all = server.post_as(&owner, list).json()["result"]["resources"].clone();
    let uri = |name: &str| -> String {
        let found = all.as_array().unwrap().iter().find(|one| one["name"] == name).unwrap();
        found["uri"].as_str().unwrap().to_owned()
    };
    let (free, secret) = (uri("free.md"), uri("secret.md"));
    let id = session(&server, None);
    let headers = [("Accept", "application/json, text/event-stream"), ("Mcp-Session-Id", &id)];
    let subscribe = |uri: &str| {
        let body = json!({ "jsonrpc": "2.0", "id": 5, "method": "resources/subscribe",
            "params": { "uri": uri } });
        let answer = server.send("POST", "/_system/mcp", &headers, body.to_string().as_bytes());
        let line = answer.body.lines().find(|line| line.contains("jsonrpc")).unwrap_or_default();
        line.replace(uri, "URI")
    };
    assert!(subscribe(&free).contains("\"result\""));
    let private = subscribe(&secret);
    assert!(private.contains("error"), "{private}");
    assert_eq!(private, subscribe("notewell://item/999"), "as if it were not there");
    let mut stream = server.open("GET", "/_system/mcp", &headers, b"");
    home.note("secret.md", "# Secret\n\nChanged.\n")
        .note("another.md", "# Another secret\n")
        .note("method.md", "---\nmcp_method: mine-only\n---\nMine.\n");
    until("the owner sees them", || {
        let answer = server.post_as(&owner, list).json();
        answer["result"]["resources"].as_array().is_some_and(|all| all.len() == 5)
    });
    let news = told(&mut stream, Duration::from_secs(2));
    assert_eq!(news, Vec::<Value>::new(), "nothing that this caller sees has changed");
    home.note("free.md", "---\nfree: true\n---\n# Free\n\nChanged.\n")
        .note("second.md", "---\nfree: true\n---\n# Second\n")
        .note("tool.md", "---\nfree: true\nmcp_method: everybodys\n---\nAll.\n");
    let mut methods = Vec::new();
    until("the news of free pages", || {
        methods.extend(told(&mut stream, Duration::from_millis(500)));
        let has = |method: &str| methods.iter().any(|one| one["method"] == method);
        has("notifications/resources/updated")
            && has("notifications/resources/list_changed")
            && has("notifications/tools/list_changed")
    });
    let updated = |one: &&Value| one["method"] == "notifications/resources/updated";
    assert!(methods.iter().filter(updated).all(|one| one["params"]["uri"] == free), "{methods:?}");
}

/// The address of a page that everybody may read.
fn uri_of(server: &Server, name: &str) -> String {
    let mut cursor = Value::Null;
    loop {
        let params = if cursor.is_null() { json!({}) } else { json!({ "cursor": cursor }) };
        let body =
            json!({ "jsonrpc": "2.0", "id": 1, "method": "resources/list", "params": params });
        let page = server.post(&body.to_string()).json()["result"].clone();
        let found = page["resources"].as_array().unwrap().iter().find(|one| one["name"] == name);
        if let Some(found) = found {
            return found["uri"].as_str().unwrap().to_owned();
        }
        cursor = page["nextCursor"].clone();
        assert!(!cursor.is_null(), "{name} is listed");
    }
}

#[test]
fn news_does_not_skip_after_many_changes() {
    let home = library();
    for at in 0..1500 {
        home.note(&format!("many/{at:04}.md"), &format!("---\nfree: true\n---\n# Note {at}\n"));
    }
    home.say(&["doctor"]);
    let server = home.serve();
    let uri = uri_of(&server, "many/1499.md");
    let id = session(&server, None);
    let headers = [("Accept", "application/json, text/event-stream"), ("Mcp-Session-Id", &id)];
    let body = json!({ "jsonrpc": "2.0", "id": 5, "method": "resources/subscribe", "params": { "uri": uri } });
    let answer = server.send("POST", "/_system/mcp", &headers, body.to_string().as_bytes());
    assert!(answer.body.contains("\"result\""), "{}", answer.body);
    let mut stream = server.open("GET", "/_system/mcp", &headers, b"");
    for at in 0..1500 {
        home.note(&format!("many/{at:04}.md"), &format!("---\nfree: true\n---\n# Changed {at}\n"));
    }
    let mut news = Vec::new();
    until("the last of 1,500 changes is announced", || {
        news.extend(told(&mut stream, Duration::from_millis(500)));
        news.iter().any(|one| one["params"]["uri"] == uri)
    });
}

#[test]
fn the_log_quotes_nobody() {
    let home = library();
    let mut command = home.command(&["serve", "--listen", "127.0.0.1:0"]);
    let log = home.dir.path().join("log");
    command.env("NOTEWELL_LOG", "trace");
    command.stderr(std::fs::File::create(&log).unwrap());
    let server = Server::start_logging(command);
    let secret = "verysecretword";
    let id = session(&server, None);
    let headers = [("Accept", "application/json, text/event-stream"), ("Mcp-Session-Id", &id)];
    for name in ["search", secret] {
        for (method, params) in [
            ("tools/call", json!({ "name": name, "arguments": { "query": secret, "no": secret } })),
            ("tools/call", json!({ "name": name, "arguments": { "query": secret } })),
            ("resources/read", json!({ "uri": format!("notewell://item/1/{secret}") })),
            (secret, json!({ secret: secret })),
        ] {
            let body = json!({ "jsonrpc": "2.0", "id": 3, "method": method, "params": params })
                .to_string();
            server.post(&body);
            server.send("POST", "/_system/mcp", &headers, body.as_bytes());
        }
    }
    let path = format!("/{secret}?{secret}={secret}");
    server.get(&path, &[]);
    server.send("GET", "/_system/mcp", &[headers[0], headers[1], ("Last-Event-ID", secret)], b"");
    server.send("GET", "/", &[("Host", secret), ("Origin", secret)], b"");
    for _ in 0..300 {
        server.post("nonsense");
    }
    drop(server);
    let text = std::fs::read_to_string(&log).unwrap();
    assert!(!text.contains(secret), "{text}");
    assert!(!text.contains('\u{1b}'), "no colours in a pipe");
    assert!(text.len() < 100_000, "{} bytes", text.len());
    // Every line is a log record, but the one for whoever sets up the server.
    for line in text.lines().filter(|line| !line.starts_with("No owner can sign in yet.")) {
        serde_json::from_str::<Value>(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    }
}

#[test]
fn the_data_directory_is_private() {
    use std::os::unix::fs::PermissionsExt;
    fn check(folder: &std::path::Path) {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            let mode = entry.metadata().unwrap().permissions().mode();
            assert_eq!(mode & 0o077, 0, "{} has mode {mode:o}", entry.path().display());
            if entry.path().is_dir() {
                check(&entry.path());
            }
        }
    }
    let home = library();
    let script = r#"umask 0; exec "$0" "$@""#;
    let run = |arguments: &[&str]| {
        let plain = home.command(arguments);
        let mut command = std::process::Command::new("sh");
        command.arg("-c").arg(script).arg(plain.get_program()).args(plain.get_args());
        command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
        assert!(command.output().unwrap().status.success(), "{arguments:?}");
    };
    std::fs::remove_dir_all(home.data()).unwrap();
    run(&["index"]);
    run(&["call", "create_note", r#"{"title": "A card", "content": "text"}"#]);
    run(&[
        "call",
        "create_prompt",
        r#"{"name": "mine", "title": "Mine", "messages": [{"role": "user", "content": {"type": "text", "text": "Hello"}}]}"#,
    ]);
    check(&home.data());
    assert_eq!(home.data().metadata().unwrap().permissions().mode() & 0o777, 0o700);
    if crate::support::only_sqlite("the rest is about notewell.db") {
        return;
    }
    // A directory from before is closed when it is opened.
    std::fs::set_permissions(home.data(), PermissionsExt::from_mode(0o755)).unwrap();
    let database = home.data().join("notewell.db");
    std::fs::set_permissions(&database, PermissionsExt::from_mode(0o644)).unwrap();
    home.say(&["status"]);
    assert_eq!(home.data().metadata().unwrap().permissions().mode() & 0o777, 0o700);
    assert_eq!(database.metadata().unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn an_open_address_is_warned_about() {
    let home = library();
    for (arguments, warned) in [
        (["--listen", "0.0.0.0:0"], true),
        (["--listen", "localhost:0"], false),
        (["--listen", "0"], false),
    ] {
        let mut command = home.command(&["serve"]);
        command.args(arguments);
        let log = home.dir.path().join("log");
        command.stderr(std::fs::File::create(&log).unwrap());
        drop(Server::start_logging(command));
        let text = std::fs::read_to_string(&log).unwrap();
        assert_eq!(text.contains("other machines"), warned, "{arguments:?}: {text}");
    }
}

#[test]
fn a_container_reaches_the_server_by_the_name_of_its_host() {
    let home = library();
    let server = home.serve();
    let named = [("Host", "host.docker.internal:7717")];
    let refused = server.get("/readyz", &named);
    assert_eq!(refused.status, 403);
    assert!(refused.body.contains("allowed_hosts"), "{}", refused.body);
    let server = Server::start(home.command(&[
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--allow-host",
        "host.docker.internal",
    ]));
    assert_eq!(server.get("/readyz", &named).status, 200);
}

#[test]
fn a_repeated_toolset_opens_no_other() {
    let home = library();
    let owner = home.token("owner");
    let server = home.serve();
    let bearer = format!("Bearer {owner}");
    let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    let ask = |toolsets: &str| {
        let path = format!("/_system/mcp?toolsets={toolsets}");
        server.send("POST", &path, &[("Authorization", &bearer)], list.as_bytes()).body
    };
    assert_eq!(ask("vault,vault"), ask("vault"));
    assert!(!ask("vault,vault").contains("create_note"));
}
