//! What somebody with a part of a hosted vault sees and does there over WebDAV, and what they learn
//! of the rest: nothing.

use serde_json::json;

use crate::{
    dav::{Dav, finds},
    hosted::{command, hosted, run, say, serve, token},
    support::{Home, Server, put},
};

/// A user with these grants, and a token of theirs.
pub fn user(home: &Home, name: &str, grants: &[&[&str]]) -> String {
    say(home, &["user", "add", name]);
    for grant in grants {
        say(home, &[&["grant", "add", name], *grant].concat());
    }
    let out = say(home, &["token", "create", "--user", name, "--scope", "read,write"]);
    out.split_whitespace().last().unwrap().to_owned()
}

/// A server for notes of at most 1,000 bytes.
fn serve_small_notes(home: &Home) -> Server {
    let config = home.dir.path().join("limits.toml");
    put(&config, "[limits]\nnote_bytes = 1000\n");
    let mut serving = command(home, &["serve", "--listen", "127.0.0.1:0"]);
    serving.arg("--config").arg(&config);
    Server::start(serving)
}

/// The attachment that a note shows under this path: its status and text.
pub fn shown(server: &Server, token: &str, note: &str, path: &str) -> (u16, String) {
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "note_html", "arguments": {"path": note}}});
    let answer = server.post_as(token, &request.to_string()).json();
    let pid = answer["result"]["structuredContent"]["pid"].as_i64();
    let pid = pid.unwrap_or_else(|| panic!("{answer}"));
    let bearer = format!("Bearer {token}");
    let file = server.get(&format!("/n/{pid}/file/{path}"), &[("Authorization", &bearer)]);
    (file.status, file.body)
}

#[test]
fn a_note_above_the_limit_has_the_rights_of_its_text() {
    let home = hosted("team");
    let ann = user(&home, "ann", &[&["--whole-vault", "team", "--write"]]);
    let owner = token(&home, "owner");
    let server = serve_small_notes(&home);
    let (owner, ann) = (Dav::new(&server, &owner, "team"), Dav::new(&server, &ann, "team"));
    let method = "---\nmcp_method: plan\n---\nPlan it.\n";
    let priced = "---\nmcp_method: review\nprice: 0.10\n---\nReview it.\n";
    let large = |front: &str| format!("{front}{}\n", "long text ".repeat(200));
    assert_eq!(owner.put("tool.md", method).status, 201);
    assert_eq!(owner.put("long tool.md".replace(' ', "%20").as_str(), &large(method)).status, 201);
    for name in ["paid.md", "sold.md", "copied.md"] {
        assert_eq!(owner.put(name, priced).status, 201);
        assert_eq!(ann.get(name).status, 404, "{name} is for sale");
    }
    // What agents follow is written by the owner and its author, however large it is or becomes.
    for (path, text) in [
        ("tool.md", large("")),
        ("tool.md", large(method)),
        ("long%20tool.md", large("")),
        ("long%20tool.md", "short\n".to_owned()),
        ("own.md", large(method)),
    ] {
        let answer = ann.put(path, &text);
        let says = answer.body.contains("agents follow");
        assert!(answer.status == 403 && says, "{path}: {} {}", answer.status, answer.body);
    }
    assert_eq!(owner.get("tool.md").body, method);
    assert!(ann.put("long.md", &large("")).status < 300);
    for method in ["COPY", "MOVE"] {
        let to = ann.destination("tool.md");
        assert_eq!(ann.send(method, "long.md", &[("Destination", &to)], b"").status, 403);
    }
    // What was sold is read by nobody else after its author replaced or deleted it.
    assert_eq!(owner.put("sold.md", &large(priced)).status, 204);
    assert_eq!(owner.put("more.md", &large("")).status, 201);
    let to = owner.destination("copied.md");
    assert_eq!(owner.send("COPY", "more.md", &[("Destination", &to)], b"").status, 204);
    assert_eq!(owner.send("DELETE", "paid.md", &[], b"").status, 204);
    for path in ["sold.md", ".trash/sold.md", ".trash/paid.md", ".trash/copied.md"] {
        assert_eq!((owner.get(path).status, ann.get(path).status), (200, 404), "{path}");
        assert_eq!(ann.put(path, "mine\n").status, 403, "{path}");
    }
    assert_eq!(owner.get(".trash/copied.md").body, priced);
    assert!(ann.put("plain.md", "# Plain\n").status < 300);
    assert_eq!(ann.send("DELETE", "plain.md", &[], b"").status, 204);
    assert_eq!(ann.get(".trash/plain.md").body, "# Plain\n", "what she could read, she can");
    let listing = ann.send("PROPFIND", ".trash", &[("Depth", "1")], b"").body;
    assert!(listing.contains("plain.md") && !listing.contains("paid.md"), "{listing}");
}

#[test]
fn a_note_that_grows_above_the_limit_leaves_the_library() {
    let home = hosted("team");
    let secret = token(&home, "owner");
    let server = serve_small_notes(&home);
    let owner = Dav::new(&server, &secret, "team");
    let large = "long text ".repeat(200);
    for (name, word) in [("put", "zanzibarine"), ("copy", "halcyonic"), ("move", "kumquatish")] {
        owner.put(&format!("{name}.md"), &format!("# Note\n\n{word}\n"));
        owner.put(&format!("{name}-long.md"), &large);
        assert_eq!(finds(&server, &secret, word).len(), 1, "{word}");
    }
    owner.put("put.md", &large);
    for method in ["COPY", "MOVE"] {
        let name = method.to_lowercase();
        let to = owner.destination(&format!("{name}.md"));
        let from = format!("{name}-long.md");
        assert_eq!(owner.send(method, &from, &[("Destination", &to)], b"").status, 204);
    }
    for (name, word) in [("put", "zanzibarine"), ("copy", "halcyonic"), ("move", "kumquatish")] {
        assert!(finds(&server, &secret, word).is_empty(), "{word}");
        assert_eq!(owner.get(&format!("{name}.md")).body, large);
        assert!(owner.get(&format!(".trash/{name}.md")).body.contains(word), "{name}");
    }
    let config = home.dir.path().join("limits.toml").display().to_string();
    let (_, out, _) = run(&home, &["doctor", "--config", &config]);
    for name in ["put.md", "copy.md", "move.md", "put-long.md"] {
        assert!(out.contains(name), "{name} is named: {out}");
    }
    assert!(!out.contains("move-long.md"), "{out}");
    // It comes back when it is small again.
    owner.put("put.md", "# Note\n\nzanzibarine\n");
    assert_eq!(finds(&server, &secret, "zanzibarine"), ["Note"]);
    let out = say(&home, &["vault", "rescan", "--config", &config]);
    assert!(out.contains("0 new, 0 changed, 0 gone"), "{out}");
}

#[test]
fn a_file_that_a_note_shows_stays_while_its_path_means_another() {
    let home = hosted("team");
    let ann_token = user(&home, "ann", &[&["--folder", "team/shared", "--write"]]);
    let bob_token = user(&home, "bob", &[&["--folder", "team/shared/img", "--write"]]);
    let owner_token = token(&home, "owner");
    let server = serve(&home);
    let owner = Dav::new(&server, &owner_token, "team");
    let ann = Dav::new(&server, &ann_token, "team");
    let bob = Dav::new(&server, &bob_token, "team");
    for folder in ["board", "img", "shared", "shared/board", "shared/none", "shared/img"] {
        assert_eq!(owner.send("MKCOL", folder, &[], b"").status, 201);
    }
    for path in ["board/p.png", "board/bare.png", "img/q.png"] {
        owner.put(path, "private");
    }
    // One that is hidden elsewhere under the same path, one that is not, one by its name alone.
    for (file, path) in
        [("board/p.png", "board/p.png"), ("none/p.png", "none/p.png"), ("bare.png", "bare.png")]
    {
        let (file, note) = (format!("shared/{file}"), "shared/peek.md");
        assert_eq!(ann.put(&file, "decoy").status, 201);
        assert!(ann.put(note, &format!("![]({path})\n")).status < 300);
        let moved = ann.destination("shared/other.png");
        for (method, headers) in
            [("DELETE", vec![]), ("MOVE", vec![("Destination", moved.as_str())])]
        {
            let refused = ann.send(method, &file, &headers, b"");
            let says = refused.body.contains("Change the note first");
            assert!(refused.status == 403 && says, "{method} {file}: {}", refused.body);
        }
        assert_eq!(shown(&server, &ann_token, note, path), (200, "decoy".to_owned()));
        assert!(ann.put(note, "Nothing.\n").status < 300);
        assert_eq!(ann.send("DELETE", &file, &[], b"").status, 204, "{file}");
    }
    // Two who work together: he does not see the note.
    assert_eq!(bob.put("shared/img/q.png", "decoy").status, 201);
    assert!(ann.put("shared/peek.md", "![](img/q.png)\n").status < 300);
    assert_eq!(bob.send("DELETE", "shared/img/q.png", &[], b"").status, 403);
    assert_eq!(shown(&server, &ann_token, "shared/peek.md", "img/q.png").1, "decoy");
    // What was no page showed nothing, and shows no more when it becomes one.
    for from in ["shared/.peek.md", "shared/peek.txt"] {
        assert!(ann.put(from, "![](/board/p.png)\n").status < 300);
        let to = ann.destination("shared/now.md");
        let refused = ann.send("MOVE", from, &[("Destination", &to)], b"");
        assert!(refused.status == 403 && refused.body.contains("would show"), "{}", refused.body);
    }
}

#[test]
fn a_folder_goes_with_its_notes_and_the_files_beside_them() {
    let home = hosted("team");
    let ann_token = user(&home, "ann", &[&["--folder", "team/shared", "--write"]]);
    let owner_token = token(&home, "owner");
    let server = serve(&home);
    let owner = Dav::new(&server, &owner_token, "team");
    let ann = Dav::new(&server, &ann_token, "team");
    for folder in ["img", "shared", "shared/trip", "shared/trip/img", "shared/trip/sub"] {
        assert_eq!(owner.send("MKCOL", folder, &[], b"").status, 201);
    }
    for path in ["a.png", "img/b.png"] {
        owner.put(path, "private");
        assert_eq!(ann.put(&format!("shared/trip/{path}"), "own").status, 201);
    }
    let text = "![](a.png) ![](img/b.png)\n";
    assert_eq!(ann.put("shared/trip/notes.md", text).status, 201);
    assert_eq!(ann.put("shared/trip/sub/n.md", "![](../a.png)\n").status, 201);
    let rename = |from: &str, to: &str| {
        ann.send("MOVE", from, &[("Destination", &ann.destination(to))], b"")
    };
    // What she does not see goes with nobody else.
    owner.put("shared/trip/paid.md", "---\nmcp_method: m\nprice: 0.10\n---\nText.\n");
    let refused = rename("shared/trip", "shared/tour");
    let says = refused.body.contains("may not move everything in `shared/trip`; nothing was");
    assert!(refused.status == 403 && says, "{} {}", refused.status, refused.body);
    assert_eq!(owner.send("DELETE", "shared/trip/paid.md", &[], b"").status, 204);
    // Nor does a file that a note shows which stays.
    assert_eq!(ann.put("shared/peek.md", "![](trip/a.png)\n").status, 201);
    let refused = rename("shared/trip", "shared/tour");
    let says = refused.body.contains("a note shows `trip/a.png`; nothing was changed");
    assert!(refused.status == 403 && says, "{} {}", refused.status, refused.body);
    assert_eq!(ann.put("shared/peek.md", "Nothing.\n").status, 204);
    let moved = rename("shared/trip", "shared/tour");
    assert_eq!(moved.status, 201, "{}", moved.body);
    for (note, path) in [("notes.md", "a.png"), ("notes.md", "img/b.png"), ("sub/n.md", "../a.png")]
    {
        assert_eq!(ann.get(&format!("shared/tour/{note}")).status, 200, "{note}");
        if !path.starts_with('.') {
            let note = format!("shared/tour/{note}");
            assert_eq!(shown(&server, &ann_token, &note, path), (200, "own".to_owned()));
        }
    }
    // As does one that another folder replaces.
    assert_eq!(ann.send("MKCOL", "shared/new", &[], b"").status, 201);
    assert_eq!(ann.put("shared/new/only.md", "# Only\n").status, 201);
    assert_eq!(ann.send("MKCOL", "shared/old", &[], b"").status, 201);
    assert_eq!(ann.put("shared/old/a.png", "own").status, 201);
    assert_eq!(ann.put("shared/old/notes.md", "![](a.png)\n").status, 201);
    let replaced = rename("shared/new", "shared/old");
    assert_eq!(replaced.status, 204, "{}", replaced.body);
    assert_eq!(ann.get("shared/old/only.md").body, "# Only\n");
    assert_eq!(ann.get("shared/old/notes.md").status, 404);
    let deleted = ann.send("DELETE", "shared/tour", &[], b"");
    assert_eq!(deleted.status, 204, "{}", deleted.body);
    for path in ["", "/a.png", "/img/b.png", "/notes.md"] {
        assert_eq!(owner.get(&format!("shared/tour{path}")).status, 404, "{path}");
    }
}

#[test]
fn a_hidden_place_answers_like_an_empty_one() {
    let home = hosted("team");
    let ann = user(&home, "ann", &[&["--folder", "team/shared", "--write"]]);
    let owner = token(&home, "owner");
    let server = serve(&home);
    let (owner, ann) = (Dav::new(&server, &owner, "team"), Dav::new(&server, &ann, "team"));
    for folder in ["shared", "shared/f", "hidden"] {
        assert_eq!(owner.send("MKCOL", folder, &[], b"").status, 201);
    }
    for path in ["file.md", "file.png", "locked.md", "hidden/n.md", "shared/a.md", "shared/a.png"] {
        assert_eq!(owner.put(path, "# There\n").status, 201, "{path}");
    }
    assert_eq!(owner.send("LOCK", "locked.md", &[("Depth", "0")], LOCK).status, 200);
    for (there, absent) in [
        ("file.md", "none.md"),
        ("file.png", "none.png"),
        ("locked.md", "no-lock.md"),
        ("hidden", "nowhere"),
        ("hidden/n.md", "nowhere/n.md"),
    ] {
        for (method, from) in [
            ("GET", None),
            ("PUT", None),
            ("DELETE", None),
            ("MKCOL", None),
            ("LOCK", None),
            ("PROPFIND", None),
            ("PROPPATCH", None),
            ("MOVE", Some("shared/a.md")),
            ("MOVE", Some("shared/a.png")),
            ("MOVE", Some("shared/f")),
            ("COPY", Some("shared/a.md")),
            ("COPY", Some("shared/f")),
        ] {
            for condition in [None, Some(("If-None-Match", "*")), Some(("If-Match", "\"0\""))] {
                let answer = |at: &str| {
                    let to = ann.destination(at);
                    let mut headers = vec![("Depth", "0")];
                    headers.extend(condition);
                    let body = if matches!(method, "LOCK") { LOCK } else { PATCH };
                    let body =
                        if matches!(method, "PUT" | "LOCK" | "PROPPATCH") { body } else { b"" };
                    let answer = match from {
                        Some(from) => {
                            headers[0] = ("Depth", "infinity");
                            headers.push(("Destination", &to));
                            ann.send(method, from, &headers, body)
                        }
                        None => ann.send(method, at, &headers, body),
                    };
                    (answer.status, answer.body.replace(at, "AT"))
                };
                let (status, body) = answer(there);
                assert!(status == 207 || status >= 400, "{method} {there}: {status} {body}");
                assert_eq!((status, body), answer(absent), "{method} {there} {condition:?}");
            }
        }
    }
    assert_eq!(owner.get("file.md").body, "# There\n");
}

pub const LOCK: &[u8] = br#"<?xml version="1.0"?><D:lockinfo xmlns:D="DAV:"><D:lockscope><D:exclusive/></D:lockscope><D:locktype><D:write/></D:locktype><D:owner>me</D:owner></D:lockinfo>"#;
const PATCH: &[u8] = br#"<?xml version="1.0"?><D:propertyupdate xmlns:D="DAV:"><D:set><D:prop><a xmlns="n:">b</a></D:prop></D:set></D:propertyupdate>"#;

#[test]
fn a_lock_asks_for_the_right_to_write() {
    let home = hosted("team");
    let ann = user(&home, "ann", &[&["--folder", "team/shared", "--write"]]);
    let bob = user(&home, "bob", &[&["--folder", "team/shared"]]);
    let cat = user(&home, "cat", &[&["--whole-vault", "team", "--write"]]);
    let owner = token(&home, "owner");
    let server = serve(&home);
    let dav = |token: &str| Dav::new(&server, token, "team");
    let (owner, ann, bob, cat) = (dav(&owner), dav(&ann), dav(&bob), dav(&cat));
    for folder in ["shared", "board"] {
        owner.send("MKCOL", folder, &[], b"");
        owner.put(&format!("{folder}/n.md"), "# N\n");
    }
    owner.put("tool.md", "---\nmcp_method: plan\n---\nPlan it.\n");
    let lock = ann.send("LOCK", "shared/n.md", &[("Depth", "0")], LOCK);
    let held = lock.headers["lock-token"].clone();
    let refused = bob.send("UNLOCK", "shared/n.md", &[("Lock-Token", &held)], b"");
    let says = refused.body.contains("you may not write");
    assert!(refused.status == 403 && says, "{} {}", refused.status, refused.body);
    assert_eq!(cat.put("shared/n.md", "# Mine\n").status, 423, "it is locked still");
    assert_eq!(ann.send("UNLOCK", "shared/n.md", &[("Lock-Token", &held)], b"").status, 204);
    for (who, path) in [
        (&bob, ""),
        (&bob, "shared/"),
        (&bob, "shared/n.md"),
        (&bob, "shared/new.md"),
        (&ann, ""),
        (&ann, "board/"),
        (&cat, "tool.md"),
    ] {
        let refused = who.send("LOCK", path, &[("Depth", "infinity")], LOCK);
        let says = refused.body.contains("you may not write");
        assert!(refused.status == 403 && says, "`{path}`: {} {}", refused.status, refused.body);
    }
    assert_eq!(owner.put("board/n.md", "# Free\n").status, 204);
    for (who, path, status) in [
        (&ann, "shared/", 200),
        (&ann, "shared/n.md", 200),
        (&ann, "shared/new.md", 201),
        (&cat, "", 200),
        (&owner, "", 200),
    ] {
        let lock = who.send("LOCK", path, &[("Depth", "infinity")], LOCK);
        assert_eq!(lock.status, status, "`{path}`: {}", lock.body);
        let held = lock.headers["lock-token"].clone();
        let refreshed = who.send("LOCK", path, &[("If", &format!("({held})"))], b"");
        assert_eq!(refreshed.status, 200, "`{path}`: {}", refreshed.body);
        let unlocked = who.send("UNLOCK", path, &[("Lock-Token", &held)], b"");
        assert_eq!(unlocked.status, 204, "`{path}`");
    }
}

#[test]
fn properties_ask_for_the_right_to_write() {
    let home = hosted("team");
    let ann = user(&home, "ann", &[&["--folder", "team/shared", "--write"]]);
    let server = serve(&home);
    let owner = Dav::new(&server, &token(&home, "owner"), "team");
    let ann = Dav::new(&server, &ann, "team");
    assert_eq!(owner.send("MKCOL", "shared", &[], b"").status, 201);
    owner.put("shared/tool.md", "---\nmcp_method: plan\n---\nPlan it.\n");
    owner.put("shared/n.md", "# N\n");
    let refused = ann.send("PROPPATCH", "shared/tool.md", &[], PATCH);
    let says = refused.body.contains("agents follow");
    assert!(refused.status == 403 && says, "{} {}", refused.status, refused.body);
    for path in ["shared/n.md", "shared/"] {
        let patched = ann.send("PROPPATCH", path, &[], PATCH);
        assert!(patched.body.contains("200 OK"), "{path}: {}", patched.body);
    }
    let listed = owner.send("PROPFIND", "shared/tool.md", &[("Depth", "0")], b"").body;
    assert!(!listed.contains("n:"), "{listed}");
}

#[test]
fn a_lock_says_nothing_about_a_hidden_place() {
    let home = hosted("team");
    let bob = user(&home, "bob", &[&["--folder", "team/shared"]]);
    let owner = token(&home, "owner");
    let server = serve(&home);
    let (owner, bob) = (Dav::new(&server, &owner, "team"), Dav::new(&server, &bob, "team"));
    owner.send("MKCOL", "shared", &[], b"");
    owner.put("shared/n.md", "# N\n");
    owner.put("shared/paid.md", "---\nmcp_method: m\nprice: 0.10\n---\nText.\n");
    owner.put("secret.md", "# Secret\n");
    let condition = |at: &str| format!("<{}> (<urn:x:y>)", bob.destination(at));
    let asked = || {
        let get = |at: &str| {
            let condition = condition(at);
            bob.send("GET", "shared/n.md", &[("If", &condition)], b"").status
        };
        (get("secret.md"), get("none.md"), bob.send("DELETE", "shared/", &[], b""))
    };
    let (secret, none, deleted) = asked();
    assert_eq!(secret, none);
    for path in ["secret.md", "shared/paid.md"] {
        assert_eq!(owner.send("LOCK", path, &[("Depth", "0")], LOCK).status, 200, "{path}");
    }
    let (secret_locked, none_locked, deleted_locked) = asked();
    assert_eq!((secret_locked, none_locked), (secret, none));
    assert_eq!((deleted_locked.status, deleted_locked.body), (deleted.status, deleted.body));
    // Whoever sees the place meets its lock.
    let refused = owner.put("secret.md", "# Other\n");
    assert_eq!(refused.status, 423, "{}", refused.body);
    assert_eq!(owner.get("shared/n.md").body, "# N\n");
}

#[test]
fn the_lock_of_a_folder_ends_where_it_was_made() {
    let home = hosted("team");
    let ann = user(&home, "ann", &[&["--folder", "team/shared", "--write"]]);
    let owner = token(&home, "owner");
    let server = serve(&home);
    let (owner, ann) = (Dav::new(&server, &owner, "team"), Dav::new(&server, &ann, "team"));
    owner.send("MKCOL", "shared", &[], b"");
    owner.put("shared/n.md", "# N\n");
    let lock = owner.send("LOCK", "", &[("Depth", "infinity")], LOCK);
    let held = lock.headers["lock-token"].clone();
    let unlocked = ann.send("UNLOCK", "shared/n.md", &[("Lock-Token", &held)], b"");
    let says = unlocked.body.contains("no such lock of yours");
    assert!(unlocked.status == 409 && says, "{} {}", unlocked.status, unlocked.body);
    let condition = format!("({held})");
    let refreshed = ann.send("LOCK", "shared/n.md", &[("If", &condition)], b"");
    assert!(refreshed.status >= 400, "{}", refreshed.status);
    assert_eq!(ann.put("shared/n.md", "# Mine\n").status, 423);
    // Whoever made it ends it at every path that it covers.
    let unlocked = owner.send("UNLOCK", "shared/n.md", &[("Lock-Token", &held)], b"");
    assert_eq!(unlocked.status, 204, "{}", unlocked.body);
    assert_eq!(ann.put("shared/n.md", "# Mine\n").status, 204);
}

#[test]
fn a_destination_counts_in_its_normal_form() {
    let home = hosted("team");
    let cat = user(&home, "cat", &[&["--whole-vault", "team", "--write"]]);
    let owner = token(&home, "owner");
    let server = serve(&home);
    let (owner, cat) = (Dav::new(&server, &owner, "team"), Dav::new(&server, &cat, "team"));
    owner.put("tool.md", "---\nmcp_method: plan\n---\nPlan it.\n");
    owner.put("plain.md", "# Plain\n");
    for to in ["/plain.md", "./plain.md", "a/../plain.md"] {
        let to = format!("{}{to}", cat.destination(""));
        let refused = cat.send("MOVE", "tool.md", &[("Destination", &to)], b"");
        let says = refused.body.contains("you may not write");
        assert!(refused.status == 403 && says, "{to}: {} {}", refused.status, refused.body);
        assert_eq!(owner.get("plain.md").body, "# Plain\n", "{to}");
    }
}

#[test]
fn the_quota_weighs_what_the_caller_sees() {
    let home = hosted("team");
    let ann = user(&home, "ann", &[&["--folder", "team/shared", "--write"]]);
    let owner = token(&home, "owner");
    let server = serve(&home);
    let (owner, ann) = (Dav::new(&server, &owner, "team"), Dav::new(&server, &ann, "team"));
    owner.send("MKCOL", "shared", &[], b"");
    owner.put("shared/n.md", "12345");
    let body = br#"<D:propfind xmlns:D="DAV:"><D:prop><D:quota-used-bytes/><D:quota-available-bytes/></D:prop></D:propfind>"#;
    let asked = |dav: &Dav<'_>| dav.send("PROPFIND", "", &[("Depth", "0")], body).body;
    let before = asked(&ann);
    assert!(before.contains("<D:quota-used-bytes>5</D:quota-used-bytes>"), "{before}");
    owner.put("hidden.bin", &"x".repeat(1000));
    assert_eq!(asked(&ann), before);
    let all = asked(&owner);
    assert!(all.contains("<D:quota-used-bytes>1005</D:quota-used-bytes>"), "{all}");
    assert!(all.contains("<D:quota-available-bytes>"), "{all}");
}

#[test]
fn a_listing_shows_the_folders_that_lead_to_something() {
    let home = hosted("team");
    let ann = user(&home, "ann", &[&["--folder", "team/a/b/deep"], &["--label", "open"]]);
    let owner = token(&home, "owner");
    let server = serve(&home);
    let (owner, ann) = (Dav::new(&server, &owner, "team"), Dav::new(&server, &ann, "team"));
    for folder in ["a", "a/b", "a/b/deep", "a/closed", "ab", "c", "c/d", "empty"] {
        assert_eq!(owner.send("MKCOL", folder, &[], b"").status, 201);
    }
    for path in ["a/b/deep/p.png", "a/closed/n.md", "ab/n.md", "c/n.md", "top.md"] {
        assert_eq!(owner.put(path, "# N\n").status, 201);
    }
    assert_eq!(owner.put("c/d/open.md", "# Open\n\n#open\n").status, 201);
    let listed = |path: &str| -> Vec<String> {
        let body = ann.send("PROPFIND", path, &[("Depth", "1")], b"").body;
        let names = body.split("<D:href>/_system/dav/team/").skip(1);
        names.map(|rest| rest.split('<').next().unwrap().to_owned()).collect()
    };
    assert_eq!(listed(""), ["", "a/", "c/"]);
    assert_eq!(listed("a"), ["a/", "a/b/"]);
    assert_eq!(listed("a/b/deep"), ["a/b/deep/", "a/b/deep/p.png"]);
    assert_eq!(listed("c"), ["c/", "c/d/"]);
    assert_eq!(listed("c/d"), ["c/d/", "c/d/open.md"]);
    assert_eq!(listed("ab"), Vec::<String>::new());
}
