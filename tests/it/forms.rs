//! Forms that anybody can post, sent as no page of ours sends them.

use std::{
    io::{Read, Write},
    net::TcpStream,
};

use notewell::domain::user::Role;

use crate::{
    attacks::attack,
    browser::{Browser, PASSWORD, people, query, serve_with, with_owner},
    support::{Home, PATIENCE, Server, until},
};

const FORM: &str = "application/x-www-form-urlencoded";

/// Sends a form that promises so many bytes, and of them only these.
fn begin(server: &Server, path: &str, from: &str, promised: usize, sent: &str) -> TcpStream {
    let head = format!(
        "X-Forwarded-For: {from}\r\nContent-Type: {FORM}\r\nContent-Length: {promised}\r\n"
    );
    send(server, path, &head, sent)
}

/// Sends a request with these headers, and what there is of its body.
fn send(server: &Server, path: &str, head: &str, sent: &str) -> TcpStream {
    let mut stream = TcpStream::connect(&server.address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let request = format!(
        "POST {path} HTTP/1.1\r\nHost: {}\r\nSec-Fetch-Site: same-origin\r\n\
         Connection: close\r\n{head}\r\n{sent}",
        server.address
    );
    stream.write_all(request.as_bytes()).unwrap();
    stream
}

fn answer(mut stream: TcpStream) -> String {
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).unwrap();
    String::from_utf8_lossy(&bytes).into_owned()
}

#[test]
fn a_form_that_needs_no_sign_in_is_short() {
    let (_home, server) = with_owner();
    let is_short = |path: &str, answer: String| {
        assert!(answer.starts_with("HTTP/1.1 413 "), "{path}: {answer}");
        assert!(answer.contains("more than the 65536 bytes"), "{path}: {answer}");
    };
    for path in ["/authorize", "/sign-in", "/sign-out", "/setup", "/token", "/revoke", "/theme"] {
        is_short(path, answer(begin(&server, path, "203.0.113.1", 1 << 20, "")));
    }
    let picture = "Content-Type: multipart/form-data; boundary=b\r\nContent-Length: 1048576\r\n";
    let path = "/cards/1/pictures";
    is_short(path, answer(send(&server, path, picture, "")));
    // A person who is signed in saves texts of any length.
    let olga = Browser::signed_in(&server, "olga");
    let text = format!("# Long\n\n{}", "слово ".repeat(20_000));
    let saved = olga.post("/new", &[("path", "long.md"), ("text", &text)]);
    assert_eq!(saved.status, 303, "{}", saved.body);
}

#[test]
fn an_event_is_short_whatever_it_promises() {
    let (_home, server) = with_owner();
    let head = "Stripe-Signature: t=1,v1=0\r\nTransfer-Encoding: chunked\r\n";
    let chunk = format!("40001\r\n{}", "x".repeat((256 << 10) + 1));
    let refused = answer(send(&server, "/webhooks/stripe", head, &chunk));
    assert!(refused.starts_with("HTTP/1.1 413 "), "{refused}");
    assert!(refused.contains("more than the 262144 bytes of an event"), "{refused}");
}

#[test]
fn fields_are_counted_before_they_are_built() {
    let (home, server) = with_owner();
    let olga = Browser::signed_in(&server, "olga");
    let post = |path: &str, body: &str| {
        let headers = [("Content-Type", FORM), ("Sec-Fetch-Site", "same-origin")];
        olga.send("POST", path, &headers, body)
    };
    let many = "a&".repeat((8 << 20) - 1024);
    let bearer = format!("Bearer {}", home.token("owner"));
    let refused = attack("a form of many fields", &server, || {
        let headers = [
            ("Authorization", bearer.as_str()),
            ("Content-Type", FORM),
            ("Sec-Fetch-Site", "same-origin"),
        ];
        server.send("POST", "/theme", &headers, many.as_bytes())
    });
    for answer in [refused, post("/theme", &many), post("/sign-in", &"a&".repeat(3_000))] {
        assert_eq!(answer.status, 400, "{}", answer.body);
        assert!(answer.body.contains("at most 2000"), "{}", answer.body);
        assert!(answer.headers["content-type"].starts_with("text/html"), "{:?}", answer.headers);
    }
    let entry = query(&[("name", "olga"), ("password", PASSWORD)]);
    assert_eq!(post("/sign-in", &format!("{}{entry}", "a&".repeat(1_998))).status, 303);
}

#[test]
fn a_stranger_fills_only_their_own_share() {
    let home = Home::new();
    people(&home, &[("olga", Role::Owner)]);
    let server = serve_with(
        &home,
        "[server]\ntrusted_proxies = [\"127.0.0.1\"]\n\
         [limits]\nbody_bytes = 4096\nbuffer_bytes = 8192\n[hosted]\nfile_bytes = 4096\n",
    );
    let (stranger, other) = ("203.0.113.1", "203.0.113.2");
    let small = "next=%2Fa%2Flonger%2Fone";
    let leave = |from| answer(begin(&server, "/sign-out", from, small.len(), small));
    let mut open = Vec::new();
    until("half of the memory is the stranger's", || {
        // The one before is refused where it arrived beside the other request.
        open.push(begin(&server, "/sign-in", stranger, 4_096, &"x".repeat(4_090)));
        leave(stranger).starts_with("HTTP/1.1 503 ")
    });
    assert!(leave(other).starts_with("HTTP/1.1 303 "), "{}", leave(other));
    let entry = query(&[("name", "olga"), ("password", PASSWORD)]);
    let entered = answer(begin(&server, "/sign-in", other, entry.len(), &entry));
    assert!(entered.contains("set-cookie: nw="), "{entered}");
    assert!(leave(stranger).starts_with("HTTP/1.1 503 "));
}
