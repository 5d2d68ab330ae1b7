//! What a request expects to be there: read as RFC 4918 and RFC 9110 mean it, refused where it
//! cannot be read, and true until the write.

use crate::{
    dav::Dav,
    hosted::{hosted, serve, token},
};

#[test]
fn a_condition_names_its_file_with_a_path_or_an_address() {
    let home = hosted("team");
    let server = serve(&home);
    let dav = Dav::new(&server, &token(&home, "owner"), "team");
    let tag = |path: &str| dav.put(path, "one\n").headers["etag"].clone();
    let (a, old) = (tag("a.md"), "\"0123456789abcdef\"");
    dav.put("b.md", "other\n");
    let b = dav.get("b.md").headers["etag"].clone();
    let host = format!("http://{}", server.address);
    let at = "/_system/dav/team";
    for (condition, holds) in [
        (format!("<{at}/a.md> ([{old}])"), false),
        (format!("<{host}{at}/a.md> ([{old}])"), false),
        (format!("<{at}/a.md> ([{a}])"), true),
        (format!("<{host}{at}/%61.md>([{a}])"), true),
        (format!("<{at}/b.md> ([{b}])"), true),
        (format!("<{at}/b.md> ([{a}])"), false),
        // Every list behind a name is about that file.
        (format!("<{at}/b.md> ([{old}]) ([{a}])"), false),
        (format!("<{at}/b.md> ([{old}]) ([{b}])"), true),
        (format!("<{at}/b.md> ([{old}]) <{at}/a.md> ([{a}])"), true),
        (format!("</elsewhere/a.md> ([{a}])"), false),
        (format!("([{old}])"), false),
        (format!("([{old}]) ([{a}])"), true),
        (format!("(Not [{old}])"), true),
        (format!("( not [{old}] NOT <DAV:no-lock> )"), true),
        (format!("(Not [{a}])"), false),
        (format!("([{a}] <urn:x:y>)"), false),
    ] {
        let answer = dav.send("PUT", "a.md", &[("If", &condition)], b"one\n");
        let status = if holds { 204 } else { 412 };
        assert_eq!(answer.status, status, "{condition}: {}", answer.body);
        if !holds {
            let answer = dav.send("PUT", "a.md", &[("If", &condition)], b"two\n");
            assert_eq!((answer.status, dav.get("a.md").body), (412, "one\n".into()), "{condition}");
        }
    }
}

#[test]
fn a_condition_that_cannot_be_read_is_refused() {
    let home = hosted("team");
    let server = serve(&home);
    let dav = Dav::new(&server, &token(&home, "owner"), "team");
    dav.put("a.md", "one\n");
    let refuse = |headers: &[(&str, &str)]| {
        for (method, body) in [("PUT", &b"two\n"[..]), ("DELETE", b"")] {
            let refused = dav.send(method, "a.md", headers, body);
            let says = refused.body.contains("nothing was changed");
            assert!(
                refused.status == 400 && says,
                "{headers:?}: {} {}",
                refused.status,
                refused.body
            );
            assert_eq!(dav.get("a.md").body, "one\n", "{headers:?}");
        }
    };
    for condition in [
        "",
        "()",
        "<urn:x:y>",
        "</_system/dav/team/a.md>",
        "([\"old\"]) </_system/dav/team/a.md> ([\"old\"])",
        "<a.md> ([\"old\"])",
        "</_system/dav/team/a.md#b> ([\"old\"])",
        "<http://[/> ([\"old\"])",
        "(\"old\")",
        "(old)",
        "(urn:x:y)",
        "([old])",
        "([\"o ld\"])",
        "([\"old\"",
        "([\"old\"]",
        "(<urn:x:y)",
        "(<urn:x y>)",
        "(<nothing>)",
        "(Not)",
        "(Not Not <urn:x:y>)",
        "([\"é\"])",
        "(<urn:é>)",
        "([\"old\"]),([\"old\"])",
    ] {
        refuse(&[("If", condition)]);
    }
    // Names are repeated before every list.
    let name = "a".repeat(31 << 10);
    refuse(&[("If", &format!("</{name}> {}", "([\"\"])".repeat(5_000)))]);
    refuse(&[("If", &"([\"old\"])".repeat(101))]);
    refuse(&[("If", "([\"old\"])"), ("If", "([\"old\"])")]);
    refuse(&[("If-Match", "\"é\"")]);
    refuse(&[("If-Match", "\"a\""), ("If-Match", "é")]);
    refuse(&[("If-None-Match", "\"é\", *")]);
}

#[test]
fn a_condition_holds_until_the_write() {
    let home = hosted("team");
    let server = serve(&home);
    let owner = token(&home, "owner");
    let dav = Dav::new(&server, &owner, "team");
    let to = dav.destination("to.md");
    let send = |method: &str, path: &str, etag: &str, body: &str| {
        let mut headers = vec![("If-Match", etag)];
        if matches!(method, "MOVE" | "COPY") {
            headers.push(("Destination", to.as_str()));
        }
        Dav::new(&server, &owner, "team").send(method, path, &headers, body.as_bytes()).status
    };
    for round in 0..20 {
        for method in ["DELETE", "MOVE", "COPY"] {
            let (path, first) = (format!("{method}{round}.md"), format!("{method} {round}\n"));
            let etag = dav.put(&path, &first).headers["etag"].clone();
            let (put, other) = std::thread::scope(|scope| {
                let put = scope.spawn(|| send("PUT", &path, &etag, "changed\n"));
                let other = scope.spawn(|| send(method, &path, &etag, ""));
                (put.join().unwrap(), other.join().unwrap())
            });
            let is_done = |status: u16| (200..300).contains(&status);
            let what = format!("{path}: PUT {put}, {method} {other}");
            assert!(is_done(put) || put == 412, "{what}");
            assert!(is_done(other) || matches!(other, 404 | 412), "{what}");
            match method {
                // A copy may be made of what was expected, and the file be written then.
                "COPY" if is_done(other) => assert_eq!(dav.get("to.md").body, first, "{what}"),
                "COPY" => assert!(is_done(put), "{what}"),
                _ => assert!(is_done(put) != is_done(other), "{what}"),
            }
        }
    }
}

#[test]
fn what_must_not_be_replaced_is_not() {
    let home = hosted("team");
    let server = serve(&home);
    let owner = token(&home, "owner");
    let dav = Dav::new(&server, &owner, "team");
    for round in 0..20 {
        for method in ["MOVE", "COPY"] {
            let to = dav.destination(&format!("{method}{round}.md"));
            let files = ["a.md", "b.md"];
            for file in files {
                assert!(dav.put(file, &format!("{file} {method} {round}\n")).status < 300);
            }
            let send = |file: &'static str| {
                let headers = [("Destination", to.as_str()), ("Overwrite", "F")];
                Dav::new(&server, &owner, "team").send(method, file, &headers, b"").status
            };
            let statuses = std::thread::scope(|scope| {
                files.map(|file| scope.spawn(move || send(file))).map(|sent| sent.join().unwrap())
            });
            let mut sorted = statuses;
            sorted.sort_unstable();
            assert_eq!(sorted, [201, 412], "{method} {round}");
        }
    }
}

#[test]
fn a_length_that_is_wrong_changes_nothing() {
    let home = hosted("team");
    let server = serve(&home);
    let dav = Dav::new(&server, &token(&home, "owner"), "team");
    dav.put("a.md", "one\n");
    let chunked = |path: &str, name: &str, value: &str| {
        let headers = [("Transfer-Encoding", "chunked"), (name, value)];
        dav.send("PUT", path, &headers, b"4\r\ntwo\n\r\n0\r\n\r\n")
    };
    for length in ["0", "3", "5", "four"] {
        for path in ["a.md", "new.md"] {
            let refused = chunked(path, "X-Expected-Entity-Length", length);
            let says = refused.body.contains("has 4 bytes");
            assert!(refused.status == 400 && says, "{length}: {} {}", refused.status, refused.body);
        }
    }
    let refused = chunked("new.md", "Content-Range", "bytes 0-1/4");
    assert_eq!(refused.status, 416, "{}", refused.body);
    assert_eq!((dav.get("a.md").body, dav.get("new.md").status), ("one\n".into(), 404));
    assert_eq!(chunked("a.md", "X-Expected-Entity-Length", "4").status, 204);
    assert_eq!(dav.get("a.md").body, "two\n");
}
