//! `notewell push`: a folder goes to a hosted vault, and what others changed there stays.

use std::{
    io::{BufRead, BufReader},
    path::Path,
    process::{Command, Stdio},
};

use crate::{
    hosted::{files, folder, hosted, run, say, serve, token},
    support::{Home, Server, notewell, put, until},
};

/// An author with a folder, and a server somewhere else.
struct Author {
    home: tempfile::TempDir,
    address: String,
    token: String,
}

impl Author {
    fn new(server: &Server, token: &str) -> Self {
        let address = format!("http://{}/_system/dav/team/", server.address);
        Self { home: tempfile::tempdir().unwrap(), address, token: token.to_owned() }
    }

    fn command(&self, folder: &Path, more: &[&str]) -> Command {
        let mut command = notewell();
        command.arg("push").arg("--to").arg(&self.address).arg("--vault").arg(folder).args(more);
        command.arg("--data").arg(self.home.path().join("data"));
        command.env("HOME", self.home.path()).env("XDG_CONFIG_HOME", self.home.path());
        command.env("NOTEWELL_TOKEN", &self.token);
        command
    }

    /// Pushes: exit status, what it printed, what it noted.
    fn push(&self, folder: &Path, more: &[&str]) -> (i32, String, String) {
        let output = self.command(folder, more).stdin(Stdio::null()).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
    }
}

fn exported(home: &Home, name: &str) -> std::collections::BTreeMap<String, Vec<u8>> {
    let to = home.dir.path().join(name);
    say(home, &["export", "vault", "team", to.to_str().unwrap()]);
    files(&to)
}

#[test]
fn what_changed_is_pushed_and_nothing_else() {
    let home = hosted("team");
    let server = serve(&home);
    let author = Author::new(&server, &token(&home, "owner"));
    let root = folder(&home);
    let (status, out, err) = author.push(&root, &[]);
    assert_eq!(
        (status, out.trim()),
        (0, "10 new, 0 changed, 0 moved to the trash, 0 unchanged"),
        "{err}"
    );
    assert_eq!(exported(&home, "first"), files(&root));
    let (_, out, _) = author.push(&root, &[]);
    assert_eq!(out.trim(), "0 new, 0 changed, 0 moved to the trash, 10 unchanged");
    put(&root.join("кофе/Обжарка.md"), "# Обжарка\n\nТёмная.\n");
    std::fs::create_dir(root.join("新しい")).unwrap();
    put(&root.join("新しい/ノート.md"), "# ノート\n");
    std::fs::remove_file(root.join("img/pic.png")).unwrap();
    let (status, out, _) = author.push(&root, &[]);
    assert_eq!((status, out.trim()), (0, "1 new, 1 changed, 1 moved to the trash, 8 unchanged"));
    assert_eq!(exported(&home, "second"), files(&root));
    let (_, out, _) = run(&home, &["search", "Тёмная"]);
    assert!(out.contains("Обжарка"), "{out}");
}

#[test]
fn a_newer_version_on_the_server_stays_unless_forced() {
    let home = hosted("team");
    let server = serve(&home);
    let owner = token(&home, "owner");
    let author = Author::new(&server, &owner);
    let root = folder(&home);
    author.push(&root, &[]);
    let bearer = format!("Bearer {owner}");
    let headers = [("Authorization", bearer.as_str())];
    let remote = |method: &str, path: &str, body: &str| {
        let address = format!("/_system/dav/team/{path}");
        server.send(method, &address, &headers, body.as_bytes()).status
    };
    assert_eq!(remote("PUT", "Index.md", "# Theirs\n"), 204);
    assert_eq!(remote("PUT", "coffee/Roast.md", "# Theirs\n"), 204);
    assert_eq!(remote("DELETE", "empty.txt", ""), 204);
    assert_eq!(remote("PUT", "theirs.md", "# Only there\n"), 201);
    put(&root.join("Index.md"), "# Mine\n");
    let (status, out, err) = author.push(&root, &[]);
    assert_eq!(status, 1, "{out}{err}");
    assert!(out.contains("3 left as on the server"), "{out}");
    assert!(err.contains("changed both here and on the server"), "{err}");
    assert!(err.contains("is newer on the server") && err.contains("deleted on the server"));
    let now = exported(&home, "kept");
    assert_eq!(now["Index.md"], b"# Theirs\n");
    let (status, out, err) = author.push(&root, &["--force"]);
    assert_eq!(status, 0, "{out}{err}");
    let mut forced = exported(&home, "forced");
    assert_eq!(forced.remove("theirs.md").as_deref(), Some(&b"# Only there\n"[..]));
    assert_eq!(forced, files(&root));
}

#[test]
fn a_wrong_token_address_or_folder_is_told() {
    let home = hosted("team");
    let server = serve(&home);
    let mut author = Author::new(&server, "nw_wrong");
    let root = folder(&home);
    let (status, _, err) = author.push(&root, &[]);
    assert!(status == 2 && err.contains("notewell token create"), "{err}");
    assert!(!err.contains("nw_wrong"), "the token is not printed: {err}");
    author.token = token(&home, "owner");
    let (status, _, err) = author.push(&root.join("nowhere"), &[]);
    assert!(status == 2 && err.contains("cannot be opened"), "{err}");
    author.address = author.address.replace("team", "absent");
    let (status, _, err) = author.push(&root, &[]);
    assert!(status == 2 && err.contains("there is no vault"), "{err}");
    author.address = "http://127.0.0.1:1/_system/dav/team/".into();
    let (status, _, err) = author.push(&root, &[]);
    assert!(status == 2 && err.contains("could not reach"), "{err}");
}

#[test]
fn a_watched_folder_is_followed() {
    let home = hosted("team");
    let server = serve(&home);
    let author = Author::new(&server, &token(&home, "owner"));
    let root = folder(&home);
    let mut child = author
        .command(&root, &["--watch"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    until("the first push", || run(&home, &["search", "zanzibarine"]).0 == 0);
    put(&root.join("later.md"), "# Later\n\nmoonstruckish\n");
    until("the later note", || run(&home, &["search", "moonstruckish"]).0 == 0);
    child.kill().unwrap();
    child.wait().unwrap();
}

/// A folder that is empty looks like a drive that is not mounted.
#[test]
fn an_emptied_folder_deletes_nothing_unless_forced() {
    let home = hosted("team");
    let server = serve(&home);
    let author = Author::new(&server, &token(&home, "owner"));
    let root = folder(&home);
    let (status, out, err) = author.push(&root, &[]);
    assert_eq!(status, 0, "{out}{err}");
    let before = exported(&home, "before");
    let drive = home.dir.path().join("drive");
    std::fs::rename(&root, &drive).unwrap();
    std::fs::create_dir(&root).unwrap();
    let (status, out, err) = author.push(&root, &[]);
    assert_eq!(status, 2, "{out}{err}");
    assert!(err.contains("is empty, and 10 files were pushed from it"), "{err}");
    assert!(err.contains("Mount it") && err.contains("--force"), "{err}");
    assert_eq!(exported(&home, "after"), before);
    // Mounted again, it is as if nothing had happened.
    std::fs::remove_dir(&root).unwrap();
    std::fs::rename(&drive, &root).unwrap();
    let (_, out, _) = author.push(&root, &[]);
    assert_eq!(out.trim(), "0 new, 0 changed, 0 moved to the trash, 10 unchanged");
    std::fs::remove_dir_all(&root).unwrap();
    std::fs::create_dir(&root).unwrap();
    let (status, out, err) = author.push(&root, &["--force"]);
    assert_eq!(status, 0, "{err}");
    assert_eq!(out.trim(), "0 new, 0 changed, 10 moved to the trash, 0 unchanged");
}

#[test]
fn a_watch_of_an_emptied_folder_says_so_and_goes_on() {
    let home = hosted("team");
    let server = serve(&home);
    let author = Author::new(&server, &token(&home, "owner"));
    let root = folder(&home);
    author.push(&root, &[]);
    let before = exported(&home, "before");
    std::fs::remove_dir_all(&root).unwrap();
    std::fs::create_dir(&root).unwrap();
    let mut child = author
        .command(&root, &["--watch", "--force"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut said).unwrap();
    assert!(said.contains("is empty, and 10 files were pushed from it"), "{said}");
    assert_eq!(exported(&home, "after"), before);
    // It has not ended.
    put(&root.join("later.md"), "# Later\n\nmoonstruckish\n");
    until("the later note", || run(&home, &["search", "moonstruckish"]).0 == 0);
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_file_that_the_user_may_not_write_is_named_and_the_others_are_pushed() {
    let home = hosted("team");
    say(&home, &["user", "add", "ann"]);
    say(&home, &["grant", "add", "ann", "--whole-vault", "team", "--write"]);
    let out = say(&home, &["token", "create", "--user", "ann", "--scope", "read,write"]);
    let secret = out.split_whitespace().last().unwrap();
    let server = serve(&home);
    let author = Author::new(&server, secret);
    let root = author.home.path().join("notes");
    for name in ["a.md", "b/b.md", "z.md"] {
        std::fs::create_dir_all(root.join(name).parent().unwrap()).unwrap();
        put(&root.join(name), format!("# {name}\n"));
    }
    put(&root.join("method.md"), "---\nmcp_method: plan\n---\nPlan.\n");
    let (status, out, err) = author.push(&root, &[]);
    assert_eq!(status, 2, "{out} {err}");
    assert!(out.starts_with("3 new,") && out.contains("1 failed"), "{out} {err}");
    assert!(err.contains("failed: `method.md`") && err.contains("only the owner"), "{err}");
    let (_, again, _) = author.push(&root, &[]);
    assert!(again.starts_with("0 new,") && again.contains("3 unchanged"), "{again}");
}
