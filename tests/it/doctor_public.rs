//! `doctor --public` names the step of a login that fails, and why, behind proxies that get one
//! thing wrong.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    sync::Arc,
};

use serde_json::Value;

use crate::support::{Home, Server, put};

/// What a proxy gets wrong.
#[derive(Clone, Copy, PartialEq)]
enum Fault {
    Nothing,
    StripsRequest(&'static str),
    StripsAnswer(&'static str),
    StripsPath(&'static str),
    PassesOnly(&'static str),
    RewritesHost,
    Redirects,
    Buffers,
    Login,
}

struct Proxy {
    listener: TcpListener,
    origin: String,
}

impl Proxy {
    fn bind() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        Self { listener, origin }
    }

    /// Passes requests on from now on. The thread ends with the tests.
    fn run(self, server: &str, fault: Fault) -> String {
        let server: Arc<str> = server.into();
        std::thread::spawn(move || {
            for client in self.listener.incoming().flatten() {
                let server = server.clone();
                // A client that goes away is no fault.
                std::thread::spawn(move || drop(pass(client, &server, fault)));
            }
        });
        self.origin
    }
}

fn head(stream: &mut impl BufRead) -> std::io::Result<Vec<String>> {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line)? == 0 || line.trim_end().is_empty() {
            return Ok(lines);
        }
        lines.push(line.trim_end().to_owned());
    }
}

fn is_header(line: &str, name: &str) -> bool {
    line.split_once(':').is_some_and(|(own, _)| own.eq_ignore_ascii_case(name))
}

/// Passes one request on, and its answer back.
fn pass(client: TcpStream, server: &str, fault: Fault) -> std::io::Result<()> {
    let mut client = BufReader::new(client);
    let mut lines = head(&mut client)?;
    let length = lines.iter().find(|line| is_header(line, "content-length"));
    let length = length.and_then(|line| line.split_once(':')?.1.trim().parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    client.read_exact(&mut body)?;
    let path = lines[0].split(' ').nth(1).unwrap().to_owned();
    let refuse = |answer: &str| {
        let mut stream = client.get_ref();
        write!(stream, "HTTP/1.1 {answer}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
    };
    match fault {
        Fault::StripsPath(prefix) => lines[0] = lines[0].replacen(prefix, "", 1),
        Fault::PassesOnly(prefix) if !path.starts_with(prefix) => return refuse("404 Not Found"),
        Fault::Redirects => return refuse("301 Moved\r\nLocation: https://www.example.org/"),
        Fault::Login if path != "/healthz" => {
            return refuse("401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"home\"");
        }
        _ => {}
    }
    lines.retain(|line| {
        !is_header(line, "connection")
            && !matches!(fault, Fault::StripsRequest(name) if is_header(line, name))
    });
    if fault == Fault::RewritesHost {
        lines.retain(|line| !is_header(line, "host"));
        lines.push("Host: upstream.internal".to_owned());
    }
    lines.push("Connection: close".to_owned());
    let Ok(mut upstream) = TcpStream::connect(server) else { return refuse("502 Bad Gateway") };
    upstream.write_all(format!("{}\r\n\r\n", lines.join("\r\n")).as_bytes())?;
    upstream.write_all(&body)?;
    let mut upstream = BufReader::new(upstream);
    let mut lines = head(&mut upstream)?;
    if let Fault::StripsAnswer(name) = fault {
        lines.retain(|line| !is_header(line, name));
    }
    let mut stream = client.get_ref();
    let answer = format!("{}\r\n\r\n", lines.join("\r\n"));
    if fault == Fault::Buffers {
        let mut whole = answer.into_bytes();
        upstream.read_to_end(&mut whole)?;
        return stream.write_all(&whole);
    }
    stream.write_all(answer.as_bytes())?;
    loop {
        let piece = upstream.fill_buf()?;
        let length = piece.len();
        if length == 0 {
            return Ok(());
        }
        stream.write_all(piece)?;
        upstream.consume(length);
    }
}

/// A library whose owner can sign in.
fn home() -> Home {
    let home = Home::new();
    let mut command = home.command(&["user", "add", "mira", "--role", "owner", "--password-stdin"]);
    let mut child = command
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"correct horse\n").unwrap();
    assert!(child.wait().unwrap().success());
    home
}

fn serve(home: &Home, config: &str) -> Server {
    let file = home.dir.path().join("public.toml");
    put(&file, config);
    let file = file.to_str().unwrap();
    Server::start(home.command(&["serve", "--listen", "127.0.0.1:0", "--config", file]))
}

/// The steps of a walk, and whether it ended well.
fn walk(home: &Home, url: &str) -> (bool, Vec<Value>) {
    let (ok, out, _) = home.run(&["doctor", "--public", url, "--json"]);
    (ok, out.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
}

/// The first step that failed: its name, what is wrong, what to do.
fn failed(steps: &[Value]) -> (String, String, String) {
    let step = steps.iter().find(|step| step["level"] == "wrong").unwrap_or_else(|| {
        panic!("every step passed: {steps:#?}");
    });
    let text = |field: &str| step[field].as_str().unwrap().to_owned();
    (text("step"), text("what"), text("remedy"))
}

#[test]
fn a_login_that_works_passes_every_step() {
    let home = home();
    let proxy = Proxy::bind();
    let server = serve(&home, &format!("[server]\npublic_url = \"{}\"\n", proxy.origin));
    let origin = proxy.run(&server.address, Fault::Nothing);
    for url in [origin.clone(), format!("{origin}/mcp")] {
        let (ok, steps) = walk(&home, &url);
        assert!(ok, "{steps:#?}");
        let names: Vec<&str> = steps.iter().map(|step| step["step"].as_str().unwrap()).collect();
        assert_eq!(
            names,
            [
                "address",
                "name",
                "name",
                "connection",
                "challenge",
                "resource metadata",
                "server metadata",
                "registration",
                "sign-in page",
                "token endpoint",
                "wrong token",
                "own origin",
                "event stream",
            ]
        );
        assert_eq!(steps[2]["level"], "note", "only clients of this machine reach it");
    }
    let (ok, out, _) = home.run(&["doctor", "--public", &origin]);
    assert!(ok && out.ends_with("A client can log in here.\n"), "{out}");
}

#[test]
fn a_proxy_that_gets_one_thing_wrong_is_found_out() {
    let home = home();
    for (fault, path, step, what, remedy) in [
        (
            Fault::StripsAnswer("www-authenticate"),
            "/mcp",
            "challenge",
            "without the header `WWW-Authenticate`",
            "the proxy strips it",
        ),
        (
            Fault::StripsRequest("authorization"),
            "/mcp",
            "wrong token",
            "as if none had been sent",
            "strips the header `Authorization`",
        ),
        (
            Fault::StripsAnswer("content-security-policy"),
            "/mcp",
            "sign-in page",
            "could frame it",
            "the headers of the answer",
        ),
        (
            Fault::StripsPath("/notes"),
            "/notes/mcp",
            "resource metadata",
            "not `http://127.0.0.1:",
            "a host name of its own",
        ),
        (Fault::PassesOnly("/mcp"), "/mcp", "connection", "answers 404", "every path"),
        (Fault::RewritesHost, "/mcp", "connection", "answers 403", "pass `Host` unchanged"),
        (Fault::Redirects, "/mcp", "connection", "redirects to `https://www", "type the address"),
        (Fault::Login, "/mcp", "challenge", "asks for another login", "a login of its own"),
        (Fault::Buffers, "/mcp", "event stream", "collects them first", "proxy_buffering off"),
    ] {
        let proxy = Proxy::bind();
        let server = serve(&home, &format!("[server]\npublic_url = \"{}\"\n", proxy.origin));
        let origin = proxy.run(&server.address, fault);
        let (ok, steps) = walk(&home, &format!("{origin}{path}"));
        assert!(!ok, "{step}");
        let found = failed(&steps);
        assert_eq!(found.0, step, "{steps:#?}");
        assert!(found.1.contains(what) && found.2.contains(remedy), "{found:?}");
    }
}

#[test]
fn a_wrong_setting_of_the_server_is_found_out() {
    let home = home();
    for (config, path, step, what, remedy) in [
        (
            "[server]\npublic_url = \"https://old.example.org\"\n",
            "/mcp",
            "resource metadata",
            "takes itself for `https://old.example.org`",
            "set `public_url = \"http://127.0.0.1:",
        ),
        ("", "/_system/mcp", "challenge", "without a token", "/mcp`, which always asks"),
    ] {
        let server = serve(&home, config);
        let origin = Proxy::bind().run(&server.address, Fault::Nothing);
        let (ok, steps) = walk(&home, &format!("{origin}{path}"));
        let found = failed(&steps);
        assert!(!ok && found.0 == step, "{steps:#?}");
        assert!(found.1.contains(what) && found.2.contains(remedy), "{found:?}");
    }
    let nobody = Home::new();
    let server = serve(&nobody, "");
    let (ok, steps) = walk(&nobody, &format!("http://{}/mcp", server.address));
    let found = failed(&steps);
    assert!(!ok && found.1.contains("does not offer a login yet"), "{found:?}");
    assert!(found.2.contains("/setup"), "{found:?}");
}

#[test]
fn a_server_that_is_not_there_is_found_out() {
    let home = Home::new();
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let (ok, steps) = walk(&home, &format!("http://{closed}/mcp"));
    let found = failed(&steps);
    assert!(!ok && found.1.contains("cannot be reached"), "{found:?}");
    let origin = Proxy::bind().run(&closed.to_string(), Fault::Nothing);
    let found = failed(&walk(&home, &format!("{origin}/mcp")).1);
    assert!(found.1.contains("502") && found.2.contains("does not reach Notewell"), "{found:?}");
    let server = home.serve();
    let found = failed(&walk(&home, &format!("https://{}/mcp", server.address)).1);
    assert!(found.0 == "connection" && found.2.contains("certificate"), "{found:?}");
    let (ok, _, err) = home.run(&["doctor", "--public", "notes.example.org"]);
    assert!(!ok && err.contains("fails at the step `address`"), "{err}");
}
