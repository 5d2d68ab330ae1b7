//! Hosted vaults over WebDAV, as sync clients and file managers use them.

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use crate::{
    hosted::{command, hosted, run, say, serve, token},
    support::{Answer, Home, Server, put, until},
};

/// A client with one token.
pub struct Dav<'a> {
    server: &'a Server,
    pub authorization: String,
    vault: &'a str,
}

impl<'a> Dav<'a> {
    pub fn new(server: &'a Server, token: &str, vault: &'a str) -> Self {
        let basic = STANDARD.encode(format!("anybody:{token}"));
        Self { server, authorization: format!("Basic {basic}"), vault }
    }

    pub fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        let address = format!("/_system/dav/{}/{path}", self.vault);
        let mut all = vec![("Authorization", self.authorization.as_str())];
        all.extend(headers);
        self.server.send(method, &address, &all, body)
    }

    pub fn put(&self, path: &str, text: &str) -> Answer {
        self.send("PUT", path, &[], text.as_bytes())
    }

    pub fn get(&self, path: &str) -> Answer {
        self.send("GET", path, &[], b"")
    }

    pub fn destination(&self, path: &str) -> String {
        format!("http://{}/_system/dav/{}/{path}", self.server.address, self.vault)
    }
}

fn encoded(path: &str) -> String {
    path.split('/')
        .map(|part| {
            percent_encoding::utf8_percent_encode(part, percent_encoding::NON_ALPHANUMERIC)
                .to_string()
        })
        .collect::<Vec<_>>()
        .join("/")
}

pub fn finds(server: &Server, token: &str, query: &str) -> Vec<String> {
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "search", "arguments": {"query": query}}});
    let answer = server.post_as(token, &request.to_string()).json();
    let results = answer["result"]["structuredContent"]["results"].as_array().cloned();
    let title = |found: &Value| found["title"].as_str().unwrap().to_owned();
    results.unwrap_or_default().iter().map(title).collect()
}

#[test]
fn notes_that_are_put_are_found_and_come_back_as_they_were() {
    let home = hosted("team");
    let owner = token(&home, "owner");
    let server = serve(&home);
    let dav = Dav::new(&server, &owner, "team");
    assert_eq!(dav.send("MKCOL", "notes", &[], b"").status, 201);
    for (path, text, word) in [
        ("notes/Roast.md", "# Roast\r\n\r\nZanzibarine.\r\n", "zanzibarine"),
        ("notes/Обжарка.md", "# Обжарка\n\nЗанзибарин.\n", "занзибарин"),
        ("notes/焙煎.md", "# 焙煎\n\n座安士豆。\n", "座安士豆"),
    ] {
        let path = encoded(path);
        let made = dav.put(&path, text);
        assert_eq!(made.status, 201, "{}", made.body);
        let answer = dav.get(&path);
        assert_eq!((answer.status, answer.body.as_str()), (200, text));
        assert_eq!(answer.headers["etag"], made.headers["etag"]);
        assert!(!answer.headers["etag"].starts_with("W/"));
        assert_eq!(finds(&server, &owner, word).len(), 1, "{word}");
    }
    // A file that was made is one change of the history, and so are those that follow at once.
    let history: Value = serde_json::from_str(&say(&home, &["history", "--json"])).unwrap();
    assert_eq!(history["changes"].as_array().unwrap().len(), 1, "{history}");
}

#[test]
fn an_etag_protects_what_somebody_else_wrote() {
    let home = hosted("team");
    let owner = token(&home, "owner");
    let server = serve(&home);
    let dav = Dav::new(&server, &owner, "team");
    let first = dav.put("a.md", "one\n").headers["etag"].clone();
    assert_eq!(dav.send("PUT", "a.md", &[("If-None-Match", "*")], b"x").status, 412);
    let second = dav.send("PUT", "a.md", &[("If-Match", &first)], b"two\n");
    assert_eq!(second.status, 204);
    let stale = dav.send("PUT", "a.md", &[("If-Match", &first)], b"three\n");
    assert!(stale.status == 412 && stale.body.contains("nothing was changed"), "{}", stale.body);
    assert_eq!(dav.get("a.md").body, "two\n");
    assert_eq!(dav.send("DELETE", "a.md", &[("If-Match", &first)], b"").status, 412);
    // Equal content has an equal etag, and writing it again changes nothing.
    assert_eq!(dav.put("b.md", "two\n").headers["etag"], second.headers["etag"]);
    let before = say(&home, &["history", "--json"]);
    assert_eq!(dav.put("b.md", "two\n").status, 204);
    assert_eq!(say(&home, &["history", "--json"]), before);
}

#[test]
fn what_is_deleted_goes_to_the_trash_and_comes_back_with_undo() {
    let home = hosted("team");
    let owner = token(&home, "owner");
    let server = serve(&home);
    let dav = Dav::new(&server, &owner, "team");
    dav.put("gone.md", "# Gone\n\nquicksilvery\n");
    dav.put("pic.png", "PNG");
    assert_eq!(dav.send("DELETE", "gone.md", &[], b"").status, 204);
    assert_eq!(dav.send("DELETE", "pic.png", &[], b"").status, 204);
    assert_eq!(dav.get("gone.md").status, 404);
    assert!(finds(&server, &owner, "quicksilvery").is_empty());
    assert_eq!(dav.get(".trash/pic.png").body, "PNG");
    let listing = dav.send("PROPFIND", "", &[("Depth", "1")], b"").body;
    assert!(!listing.contains(".trash"), "sync clients do not see the trash: {listing}");
    say(&home, &["undo"]);
    assert_eq!(dav.get("gone.md").body, "# Gone\n\nquicksilvery\n");
    assert_eq!(finds(&server, &owner, "quicksilvery"), ["Gone"]);
    // What replaces an attachment leaves the old one in the trash.
    dav.put("map.pdf", "old");
    dav.put("map.pdf", "new");
    assert_eq!(
        (dav.get("map.pdf").body, dav.get(".trash/map.pdf").body),
        ("new".into(), "old".into())
    );
}

#[test]
fn files_and_folders_move_and_copy_inside_the_vault() {
    let home = hosted("team");
    say(&home, &["vault", "create", "other"]);
    let owner = token(&home, "owner");
    let server = serve(&home);
    let dav = Dav::new(&server, &owner, "team");
    dav.send("MKCOL", "a", &[], b"");
    dav.put("a/n.md", "# N\n\nhalcyonic\n");
    dav.put("a/p.png", "PNG");
    let to = dav.destination("b");
    assert_eq!(dav.send("MOVE", "a", &[("Destination", &to)], b"").status, 201);
    assert_eq!((dav.get("a/n.md").status, dav.get("b/p.png").body), (404, "PNG".into()));
    assert_eq!(finds(&server, &owner, "halcyonic"), ["N"]);
    let to = dav.destination("c.md");
    assert_eq!(dav.send("COPY", "b/n.md", &[("Destination", &to)], b"").status, 201);
    assert_eq!(dav.get("c.md").body, dav.get("b/n.md").body);
    let (from, to) = ("c.md", dav.destination("b/n.md"));
    assert_eq!(
        dav.send("MOVE", from, &[("Destination", &to), ("Overwrite", "F")], b"").status,
        412
    );
    let outside = to.replace("/team/", "/other/");
    let refused = dav.send("MOVE", from, &[("Destination", &outside)], b"");
    assert!(refused.status == 502 && refused.body.contains("outside"), "{}", refused.body);
    // A vault whose name only starts like this one's, and the vault itself.
    let beside = to.replace("/team/", "/teams/");
    assert_eq!(dav.send("MOVE", from, &[("Destination", &beside)], b"").status, 502);
    for method in ["COPY", "MOVE"] {
        let refused = dav.send(method, "b", &[("Destination", &dav.destination(""))], b"");
        assert!(refused.status == 403 && refused.body.contains("itself"), "{}", refused.body);
    }
    assert_eq!(dav.get("b/n.md").body, dav.get(from).body);
    assert_eq!(dav.put("missing/n.md", "x").status, 409);
}

#[test]
fn what_is_replaced_goes_to_the_trash_and_a_refusal_says_why() {
    let home = hosted("team");
    say(&home, &["user", "add", "ann"]);
    say(&home, &["grant", "add", "ann", "--whole-vault", "team"]);
    say(&home, &["grant", "add", "ann", "--folder", "team/board", "--write"]);
    let out = say(&home, &["token", "create", "--user", "ann", "--scope", "read,write"]);
    let owner = token(&home, "owner");
    let server = serve(&home);
    let dav = Dav::new(&server, &owner, "team");
    let ann = Dav::new(&server, out.split_whitespace().last().unwrap(), "team");
    for folder in ["board", "closed", "closed/deep", "tree"] {
        dav.send("MKCOL", folder, &[], b"");
    }
    for (path, text) in [
        ("new.md", "# New\n\nhalcyonic\n"),
        ("old.md", "# Old\n\nobsoletic\n"),
        (".settings.json", "{}"),
        ("board/n.md", "# N\n"),
        ("board/deep.md", "# Deep\n"),
        ("closed/n.md", "# Closed\n"),
        ("closed/deep/n.md", "# Deep\n"),
        ("tree/n.md", "# Tree\n"),
    ] {
        assert_eq!(dav.put(path, text).status, 201, "{path}");
    }
    let over = |dav: &Dav<'_>, method: &str, from: &str, to: &str| {
        dav.send(method, from, &[("Destination", &dav.destination(to))], b"")
    };
    // What was there is in the trash, whoever takes its place.
    assert_eq!(over(&dav, "MOVE", "new.md", "old.md").status, 204);
    assert_eq!(dav.get("old.md").body, "# New\n\nhalcyonic\n");
    assert_eq!(dav.get(".trash/old.md").body, "# Old\n\nobsoletic\n");
    assert_eq!((dav.get("new.md").status, finds(&server, &owner, "obsoletic").len()), (404, 0));
    assert_eq!(finds(&server, &owner, "halcyonic"), ["New"]);
    assert_eq!(over(&dav, "COPY", "old.md", ".settings.json").status, 204);
    assert_eq!(over(&dav, "MOVE", "old.md", ".settings.json").status, 204);
    assert_eq!(dav.get(".trash/.settings.json").status, 404, "settings are not kept");
    assert_eq!(over(&dav, "COPY", "tree/", ".settings.json").status, 204);
    assert_eq!(dav.get(".settings.json/n.md").body, "# Tree\n");
    // One file: a status and a sentence. Nothing went.
    for method in ["COPY", "MOVE"] {
        let refused = over(&ann, method, "board/n.md", "closed/n.md");
        assert_eq!(refused.status, 403, "{method}: {}", refused.body);
        assert!(refused.body.contains("write"), "{method}: {}", refused.body);
    }
    assert_eq!(dav.get("closed/n.md").body, "# Closed\n");
    // A folder goes as a whole or not at all.
    let refused = over(&ann, "MOVE", "board/deep.md", "closed");
    assert!(refused.status == 403 && refused.body.contains("write"), "{}", refused.body);
    // Several: their statuses, and the sentence in the description.
    let refused = ann.send("DELETE", "closed", &[], b"");
    assert_eq!(refused.status, 207, "{}", refused.body);
    let (_, described) = refused.body.split_once("<D:responsedescription>").unwrap();
    assert!(described.contains("write"), "{}", refused.body);
    assert!(described.ends_with("</D:responsedescription>\n</D:multistatus>"), "{described}");
    assert_eq!(dav.get("closed/deep/n.md").body, "# Deep\n");
}

#[test]
fn a_note_that_took_the_place_of_another_goes_back_with_undo() {
    let home = hosted("team");
    let owner = token(&home, "owner");
    let server = serve(&home);
    let dav = Dav::new(&server, &owner, "team");
    dav.put("draft.md", "# New\n\nhalcyonic\n");
    dav.put("note.md", "# Old\n\nobsoletic\n");
    // As editors save: a new file, which takes the place of the old one.
    let to = dav.destination("note.md");
    assert_eq!(dav.send("MOVE", "draft.md", &[("Destination", &to)], b"").status, 204);
    let both = || (dav.get("draft.md").body, dav.get("note.md").body);
    say(&home, &["undo"]);
    assert_eq!(both(), ("# New\n\nhalcyonic\n".into(), "# Old\n\nobsoletic\n".into()));
    assert_eq!(finds(&server, &owner, "obsoletic"), ["Old"]);
    let history: Value = serde_json::from_str(&say(&home, &["history", "--json"])).unwrap();
    let undone = history["changes"][0]["change"].to_string();
    say(&home, &["undo", &undone]);
    assert_eq!(dav.get("draft.md").status, 404);
    assert_eq!(dav.get("note.md").body, "# New\n\nhalcyonic\n");
    assert_eq!(finds(&server, &owner, "halcyonic"), ["New"]);
}

#[test]
fn a_destination_counts_for_copy_and_move_only() {
    let home = hosted("team");
    let owner = token(&home, "owner");
    let server = serve(&home);
    let dav = Dav::new(&server, &owner, "team");
    dav.put("a.md", "# A\n");
    let to = dav.destination("a.md");
    assert_eq!(dav.send("DELETE", "a.md", &[("Destination", &to)], b"").status, 204);
    assert_eq!(dav.get("a.md").status, 404);
}

#[test]
fn nothing_leads_out_of_the_vault() {
    let home = hosted("team");
    put(&home.dir.path().join("secret.md"), "secret");
    let owner = token(&home, "owner");
    let server = serve(&home);
    let dav = Dav::new(&server, &owner, "team");
    for path in [
        "../secret.md",
        "%2e%2e/%2e%2e/secret.md",
        "a/..%2f..%2fsecret.md",
        "..%5csecret.md",
        "a%00b.md",
        "a%0ab.md",
        "c%3a%5cx.md",
        "%ff%fe.md",
    ] {
        for method in ["GET", "PUT", "MKCOL", "DELETE", "PROPFIND"] {
            let answer = dav.send(method, path, &[("Depth", "0")], b"");
            assert!(answer.status >= 400, "{method} {path}: {}", answer.status);
            assert!(!answer.body.contains("secret\n"), "{method} {path}");
        }
    }
    assert!(!home.dir.path().join("data/secret.md").exists());
    let endless = dav.send("PROPFIND", "", &[("Depth", "infinity")], b"");
    assert!(endless.status >= 400, "{}", endless.status);
}

#[test]
fn a_token_is_asked_for_and_opens_only_its_part() {
    let home = hosted("team");
    say(&home, &["vault", "create", "private"]);
    let mut library = command(&home, &["vault", "add"]);
    assert!(library.arg(home.vault()).status().unwrap().success());
    say(&home, &["user", "add", "ann"]);
    say(&home, &["grant", "add", "ann", "--folder", "team/shared", "--write"]);
    let out = say(&home, &["token", "create", "--user", "ann", "--scope", "read,write"]);
    let ann = out.split_whitespace().last().unwrap().to_owned();
    let out = say(&home, &["token", "create", "--user", "ann", "--scope", "read"]);
    let reader = out.split_whitespace().last().unwrap().to_owned();
    let owner = token(&home, "owner");
    let server = serve(&home);
    let dav = Dav::new(&server, &owner, "team");
    for folder in ["shared", "board"] {
        dav.send("MKCOL", folder, &[], b"");
        dav.put(&format!("{folder}/n.md"), "# N\n");
        dav.put(&format!("{folder}/p.png"), "PNG");
    }
    let answer = server.get("/_system/dav/team/shared/n.md", &[]);
    assert_eq!(answer.status, 401);
    let wrong = Dav::new(&server, "nw_wrong", "team");
    assert_eq!(wrong.get("shared/n.md").status, 401);
    let bearer = format!("Bearer {ann}");
    let bearer = [("Authorization", bearer.as_str())];
    assert_eq!(server.get("/_system/dav/team/shared/n.md", &bearer).status, 200);
    let ann = Dav::new(&server, &ann, "team");
    assert_eq!((ann.get("shared/n.md").status, ann.get("shared/p.png").status), (200, 200));
    assert_eq!((ann.get("board/n.md").status, ann.get("board/p.png").status), (404, 404));
    let listing = ann.send("PROPFIND", "", &[("Depth", "1")], b"").body;
    assert!(listing.contains("shared") && !listing.contains("board"), "{listing}");
    assert_eq!(ann.put("shared/new.md", "# New\n").status, 201);
    for (path, text) in [
        ("board/n.md", "x"),
        ("board/new.png", "x"),
        ("top.md", "x"),
        ("shared/tool.md", "---\nmcp_method: tool\n---\nDo it.\n"),
        ("shared/peek.md", "![](../board/p.png)\n"),
    ] {
        let answer = ann.put(path, text);
        assert!((400..500).contains(&answer.status), "{path}: {} {}", answer.status, answer.body);
    }
    let to = ann.destination("shared/taken.md");
    assert_eq!(ann.send("MOVE", "board/n.md", &[("Destination", &to)], b"").status, 404);
    let reader = Dav::new(&server, &reader, "team");
    assert_eq!(reader.get("shared/n.md").status, 200);
    let refused = reader.put("shared/n.md", "x");
    assert!(
        refused.status == 403 && refused.body.contains("you may not write"),
        "{}",
        refused.body
    );
    // Another vault is as unknown as one that is not there.
    for vault in ["private", "absent"] {
        let address = format!("/_system/dav/{vault}/");
        let answer =
            server.send("PROPFIND", &address, &[("Authorization", &ann.authorization)], b"");
        assert_eq!(answer.status, 404);
    }
    // A folder of the server is not served.
    let folder = Dav::new(&server, &owner, "vault").get("x.md");
    assert!(folder.status == 403 && folder.body.contains("only hosted vaults"), "{}", folder.body);
}

#[test]
fn a_vault_cannot_fill_the_disk() {
    let home = hosted("team");
    let config = home.dir.path().join("limits.toml");
    put(&config, "[hosted]\nvault_bytes = 1000\nfile_bytes = 600\nfiles = 5\n");
    let owner = token(&home, "owner");
    let mut serving = command(&home, &["serve", "--listen", "127.0.0.1:0"]);
    let server = Server::start({
        serving.arg("--config").arg(&config);
        serving
    });
    let dav = Dav::new(&server, &owner, "team");
    let large = dav.put("a.md", &"x".repeat(601));
    assert!(large.status == 413 && large.body.contains("hosted.file_bytes"), "{}", large.body);
    assert_eq!(dav.put("a.bin", &"x".repeat(500)).status, 201);
    let full = dav.put("b.bin", &"x".repeat(501));
    let says = "would hold more bytes than `hosted.vault_bytes` (1000) allows; nothing was changed";
    assert!(full.status == 507 && full.body.contains(says), "{}", full.body);
    assert_eq!(dav.get("b.bin").status, 404);
    // The trash makes room.
    assert_eq!(dav.send("DELETE", "a.bin", &[], b"").status, 204);
    assert_eq!(dav.put("b.bin", &"x".repeat(600)).status, 201);
    for name in ["1", "2", "3"] {
        dav.send("MKCOL", name, &[], b"");
    }
    let many = dav.send("MKCOL", "4", &[], b"");
    assert!(
        many.status == 507 && many.body.contains("hosted.files"),
        "{} {}",
        many.status,
        many.body
    );
}

#[test]
fn a_lock_holds_between_requests_and_ends_by_itself() {
    let home = hosted("team");
    let owner = token(&home, "owner");
    let server = serve(&home);
    let dav = Dav::new(&server, &owner, "team");
    dav.put("a.md", "one\n");
    let body = br#"<?xml version="1.0"?><D:lockinfo xmlns:D="DAV:"><D:lockscope><D:exclusive/></D:lockscope><D:locktype><D:write/></D:locktype><D:owner>me</D:owner></D:lockinfo>"#;
    let lock = dav.send("LOCK", "a.md", &[("Timeout", "Second-600")], body);
    assert_eq!(lock.status, 200, "{}", lock.body);
    let held = lock.headers["lock-token"].clone();
    let refused = dav.put("a.md", "two\n");
    assert!(refused.status == 423 && refused.body.contains("lock"), "{}", refused.body);
    assert_eq!(dav.send("PUT", "a.md", &[("If", &format!("({held})"))], b"two\n").status, 204);
    assert_eq!(dav.send("UNLOCK", "a.md", &[("Lock-Token", &held)], b"").status, 204);
    assert_eq!(dav.put("a.md", "three\n").status, 204);
    let lock = dav.send("LOCK", "a.md", &[("Timeout", "Second-1")], body);
    assert_eq!(lock.status, 200);
    until("the lock's end", || dav.put("a.md", "four\n").status == 204);
}

#[test]
fn hidden_files_are_kept_and_never_shown() {
    let home = hosted("team");
    let owner = token(&home, "owner");
    let server = serve(&home);
    let dav = Dav::new(&server, &owner, "team");
    dav.send("MKCOL", ".obsidian", &[], b"");
    assert_eq!(dav.put(".obsidian/notes.md", "# Hidden\n\nkumquatish\n").status, 201);
    assert_eq!(dav.get(".obsidian/notes.md").status, 200);
    assert!(finds(&server, &owner, "kumquatish").is_empty());
    let (_, out, _) = run(&home, &["search", "kumquatish"]);
    assert!(!out.contains("Hidden"), "{out}");
    let listing = dav.send("PROPFIND", "", &[("Depth", "1")], b"").body;
    assert!(listing.contains(".obsidian"), "sync clients keep settings: {listing}");
}

#[test]
fn two_clients_write_at_once_and_nothing_is_lost() {
    let home: Home = hosted("team");
    let owner = token(&home, "owner");
    let server = serve(&home);
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let (server, owner) = (&server, &owner);
            scope.spawn(move || {
                let dav = Dav::new(server, owner, "team");
                for number in 0..10 {
                    let path = format!("w{writer}-{number}.md");
                    assert_eq!(dav.put(&path, &format!("# W{writer} {number}\n")).status, 201);
                }
            });
        }
    });
    let dav = Dav::new(&server, &owner, "team");
    let listing = dav.send("PROPFIND", "", &[("Depth", "1")], b"").body;
    assert_eq!(listing.matches(".md</").count(), 40, "{listing}");
    assert!(say(&home, &["vault", "rescan"]).contains("0 new, 0 changed, 0 gone"));
}

#[test]
fn xml_that_is_nested_too_deep_is_refused_and_the_server_lives() {
    let home = hosted("team");
    let server = serve(&home);
    let dav = Dav::new(&server, &token(&home, "owner"), "team");
    assert!(dav.put("a.md", "# A\n").status < 300);
    let deep = "<a>".repeat(20_000);
    let entity = format!("<!DOCTYPE r [<!ENTITY e \"{}\">]><r>&e;&e;</r>", "<b>".repeat(10_000));
    for body in [deep, entity] {
        for method in ["PROPFIND", "PROPPATCH", "LOCK"] {
            let answer = dav.send(method, "a.md", &[("Depth", "0")], body.as_bytes());
            assert_eq!(answer.status, 400, "{method}: {}", answer.body);
            assert!(answer.body.contains("nested too deep"), "{method}: {}", answer.body);
        }
    }
    // A file may hold what it likes.
    assert!(dav.put("deep.xml", &"<a>".repeat(20_000)).status < 300);
    assert_eq!(dav.get("a.md").body, "# A\n");
}

#[test]
fn the_files_of_a_skill_are_its_authors_alone() {
    let home = hosted("team");
    say(&home, &["user", "add", "ann"]);
    say(&home, &["grant", "add", "ann", "--whole-vault", "team", "--write"]);
    let out = say(&home, &["token", "create", "--user", "ann", "--scope", "read,write"]);
    let server = serve(&home);
    let owner = Dav::new(&server, &token(&home, "owner"), "team");
    let ann = Dav::new(&server, out.split_whitespace().last().unwrap(), "team");
    for folder in ["skills/", "skills/plan/", "skills/plan/scripts/", "other/"] {
        owner.send("MKCOL", folder, &[], b"");
    }
    let manifest = "---\nname: plan\ndescription: Plans\n---\nRun scripts/run.sh.\n";
    assert!(owner.put("skills/plan/SKILL.md", manifest).status < 300);
    assert!(owner.put("skills/plan/scripts/run.sh", "echo plan\n").status < 300);
    assert!(owner.put("skills/plan/more.md", "# More\n").status < 300);
    assert!(ann.put("other/run.sh", "echo other\n").status < 300, "her grant");
    assert!(ann.put("skills/list.md", "# Skills\n").status < 300, "beside the skill");
    let to = ann.destination("skills/plan/scripts/run.sh");
    for (method, path, header) in [
        ("PUT", "skills/plan/scripts/run.sh", None),
        ("PUT", "skills/plan/new.sh", None),
        ("PUT", "skills/plan/more.md", None),
        ("DELETE", "skills/plan/scripts/run.sh", None),
        ("MKCOL", "skills/plan/lib/", None),
        ("MOVE", "other/run.sh", Some(("Destination", to.as_str()))),
        ("COPY", "other/run.sh", Some(("Destination", to.as_str()))),
    ] {
        let headers: Vec<(&str, &str)> = header.into_iter().collect();
        let body: &[u8] = if method == "PUT" { b"echo evil\n" } else { b"" };
        let answer = ann.send(method, path, &headers, body);
        let says = answer.body.contains("part of the skill in `skills/plan`");
        assert!(answer.status == 403 && says, "{method} {path}: {} {}", answer.status, answer.body);
    }
    let edit = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "edit_page",
        "arguments": {"path": "skills/plan/more.md", "op": "append", "text": "Run this."}}});
    let secret = out.split_whitespace().last().unwrap();
    let refused = server.post_as(secret, &edit.to_string()).body;
    assert!(refused.contains("part of the skill"), "{refused}");
    assert_eq!(owner.get("skills/plan/scripts/run.sh").body, "echo plan\n");
    assert!(owner.put("skills/plan/scripts/run.sh", "echo better\n").status < 300);
}
