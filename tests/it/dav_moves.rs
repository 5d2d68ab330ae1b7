//! COPY and MOVE onto what is there: all of it happens, or nothing.

use crate::{
    dav::{Dav, finds},
    dav_rights::{LOCK, shown, user},
    hosted::{command, hosted, say, serve, token},
    support::{Answer, Home, Server, put},
};

/// `é` as one character, and as two.
const COMPOSED: &str = "%C3%A9";
const DECOMPOSED: &str = "e%CC%81";

pub fn transfer(dav: &Dav<'_>, method: &str, from: &str, to: &str) -> Answer {
    dav.send(method, from, &[("Destination", &dav.destination(to))], b"")
}

pub fn make_folders(dav: &Dav<'_>, folders: &[&str]) {
    for folder in folders {
        assert_eq!(dav.send("MKCOL", folder, &[], b"").status, 201, "{folder}");
    }
}

/// Files whose text is their path.
fn make_files(dav: &Dav<'_>, paths: &[&str]) {
    for path in paths {
        assert_eq!(dav.put(path, path).status, 201, "{path}");
    }
}

/// Whether the files are as [`make_files`] made them, and nothing is in the trash.
fn assert_untouched(dav: &Dav<'_>, paths: &[&str], after: &str) {
    for path in paths {
        assert_eq!(dav.get(path).body, *path, "{after}");
    }
    let trash = dav.send("PROPFIND", ".trash", &[("Depth", "1")], b"");
    assert_eq!(trash.status, 404, "{after}: {}", trash.body);
}

/// A server for a vault of 1,000 bytes.
pub fn serve_small_vault(home: &Home) -> Server {
    let config = home.dir.path().join("limits.toml");
    put(&config, "[hosted]\nvault_bytes = 1000\n");
    let mut serving = command(home, &["serve", "--listen", "127.0.0.1:0"]);
    serving.arg("--config").arg(&config);
    Server::start(serving)
}

#[test]
fn nothing_takes_the_place_of_a_folder_that_it_is_in() {
    let home = hosted("team");
    let server = serve(&home);
    let dav = Dav::new(&server, &token(&home, "owner"), "team");
    make_folders(&dav, &["a", "a/b", "a/b/c"]);
    let files = ["a/n.md", "a/p.png", "a/b/n.md", "a/b/c/n.md"];
    make_files(&dav, &files);
    for (from, to) in [
        ("a/b/", "a"),
        ("a/b/c/", "a"),
        ("a/b/n.md", "a"),
        ("a/b/n.md", "a/b"),
        ("a", "a/b"),
        ("a/", "a/b/"),
        ("a", "a/new"),
        ("a", "a/n.md"),
        ("a", "a"),
        ("a/n.md", "a/n.md"),
        ("", "a"),
        ("", "new"),
        ("a//b", "./a"),
    ] {
        for method in ["MOVE", "COPY"] {
            let refused = transfer(&dav, method, from, to);
            let what = format!("{method} {from} to {to}");
            let says = refused.body.contains("nothing was changed");
            assert!(refused.status == 403 && says, "{what}: {} {}", refused.status, refused.body);
            assert_untouched(&dav, &files, &what);
        }
    }
    // A folder without what is in it goes below itself.
    let to = dav.destination("a/new");
    let copied = dav.send("COPY", "a", &[("Destination", &to), ("Depth", "0")], b"");
    assert_eq!((copied.status, dav.get("a/new/n.md").status), (201, 404), "{}", copied.body);
    // A name that only starts like the folder's is another place.
    assert_eq!(transfer(&dav, "MOVE", "a", "ab").status, 201);
    assert_eq!(dav.get("ab/b/n.md").body, "a/b/n.md");
}

#[test]
fn a_folder_is_the_same_in_every_spelling() {
    let home = hosted("team");
    let server = serve(&home);
    let dav = Dav::new(&server, &token(&home, "owner"), "team");
    let composed = |path: &str| path.replace('e', COMPOSED);
    let decomposed = |path: &str| path.replace('e', DECOMPOSED);
    make_folders(&dav, &["a", &composed("e"), &composed("a/e")]);
    let files = ["a/n.md", &composed("e/n.md"), &composed("a/e/n.md")];
    make_files(&dav, &files);
    for (from, to) in [
        (composed("e/"), decomposed("e")),
        (decomposed("e"), composed("e")),
        (composed("e/n.md"), decomposed("e/n.md")),
        (composed("e/n.md"), decomposed("e")),
        ("a".to_owned(), decomposed("a/e")),
        (decomposed("a/e"), "a".to_owned()),
    ] {
        for method in ["MOVE", "COPY"] {
            let refused = transfer(&dav, method, &from, &to);
            let what = format!("{method} {from} to {to}");
            assert_eq!(refused.status, 403, "{what}: {}", refused.body);
            assert_untouched(&dav, &files, &what);
        }
    }
    assert_eq!(dav.get(&composed("a/e/e/n.md")).status, 404);
}

#[test]
fn what_may_not_move_or_go_leaves_the_destination_as_it_is() {
    let home = hosted("team");
    let ann = user(&home, "ann", &[&["--whole-vault", "team", "--write"]]);
    let server = serve_small_vault(&home);
    let owner = Dav::new(&server, &token(&home, "owner"), "team");
    let ann = Dav::new(&server, &ann, "team");
    let method_page = "---\nmcp_method: plan\n---\nPlan it.\n";
    make_folders(&owner, &["method", "method/deep", "plain", "plain/deep", "board"]);
    let files = ["method/a.md", "plain/b.md", "plain/c.png", "plain/deep/d.md", "board/p.png"];
    make_files(&owner, &files);
    assert_eq!(owner.put("method/deep/tool.md", method_page).status, 201);
    for (verb, from, to) in [
        ("MOVE", "method", "plain"),
        ("COPY", "method", "plain"),
        ("MOVE", "method", "plain/b.md"),
        ("COPY", "method", "plain/b.md"),
        ("MOVE", "plain", "method"),
        ("COPY", "plain", "method"),
        ("MOVE", "plain/b.md", "method"),
        ("COPY", "plain/b.md", "method"),
    ] {
        let refused = transfer(&ann, verb, from, to);
        let what = format!("{verb} {from} to {to}");
        assert!(matches!(refused.status, 207 | 403), "{what}: {} {}", refused.status, refused.body);
        assert!(refused.body.contains("agents follow"), "{what}: {}", refused.body);
        assert_untouched(&owner, &files, &what);
        assert_eq!(owner.get("method/deep/tool.md").body, method_page, "{what}");
    }
    // What would not fit does not empty the destination either.
    assert_eq!(owner.put("board/large.bin", &"x".repeat(600)).status, 201);
    let refused = transfer(&owner, "COPY", "board", "plain");
    assert!(refused.body.contains("hosted.vault_bytes"), "{} {}", refused.status, refused.body);
    assert_untouched(&owner, &files, "COPY board to plain");
}

#[test]
fn a_folder_is_copied_with_the_files_that_its_notes_show() {
    let home = hosted("team");
    let token_of_ann = user(&home, "ann", &[&["--folder", "team/shared", "--write"]]);
    let server = serve(&home);
    let owner = Dav::new(&server, &token(&home, "owner"), "team");
    let ann = Dav::new(&server, &token_of_ann, "team");
    make_folders(&owner, &["pics", "shared", "shared/b"]);
    make_folders(&ann, &["shared/a", "shared/a/one", "shared/a/pics", "shared/a/two"]);
    // What is hidden has the path under which the note shows her own.
    make_files(&owner, &["pics/x.png", "shared/b/keep.md"]);
    let files = [
        ("pics/x.png", "own"),
        ("two/y.png", "own, too"),
        // Before the files in the order of names.
        ("n.md", "![](pics/x.png) ![](./pics/x.png) ![](two/y.png)\n"),
        ("one/n.md", "![](../two/y.png)\n"),
    ];
    for (path, text) in files {
        assert_eq!(ann.put(&format!("shared/a/{path}"), text).status, 201, "{path}");
    }
    for (to, status) in [("shared/b", 204), ("shared/new", 201)] {
        let copied = transfer(&ann, "COPY", "shared/a", to);
        assert_eq!(copied.status, status, "{to}: {}", copied.body);
        for (path, text) in files {
            assert_eq!(ann.get(&format!("{to}/{path}")).body, text, "{to}/{path}");
        }
        let shown = shown(&server, &token_of_ann, &format!("{to}/n.md"), "pics/x.png");
        assert_eq!(shown, (200, "own".to_owned()), "{to}");
    }
    assert_eq!(ann.get("shared/b/keep.md").status, 404);
    assert_eq!(owner.get(".trash/keep.md").body, "shared/b/keep.md");
    // Nothing was written twice.
    for path in [".trash/x.png", ".trash/y.png"] {
        assert_eq!(owner.get(path).status, 404, "{path}");
    }
    assert!(say(&home, &["vault", "rescan"]).contains("0 new, 0 changed, 0 gone"));
}

#[test]
fn a_copy_that_would_show_a_hidden_file_leaves_the_destination_as_it_is() {
    let home = hosted("team");
    let ann = user(&home, "ann", &[&["--folder", "team/shared", "--write"]]);
    let server = serve(&home);
    let owner = Dav::new(&server, &token(&home, "owner"), "team");
    let ann = Dav::new(&server, &ann, "team");
    make_folders(&owner, &["board", "shared", "shared/a", "shared/b", "shared/c"]);
    let files = ["board/p.png", "shared/b/keep.md", "shared/b/old.png"];
    make_files(&owner, &files);
    assert_eq!(owner.put("shared/a/n.md", "![](/board/p.png)\n").status, 201);
    // What the copy replaces is not there any more.
    assert_eq!(ann.put("shared/c/n.md", "![](../b/old.png)\n").status, 201);
    for from in ["shared/a", "shared/c"] {
        let refused = transfer(&ann, "COPY", from, "shared/b");
        let what = format!("{from}: {} {}", refused.status, refused.body);
        assert!(matches!(refused.status, 207 | 403), "{what}");
        assert!(refused.body.contains("the note would show"), "{what}");
        assert_untouched(&owner, &files, &what);
        assert_eq!(owner.get("shared/b/n.md").status, 404, "{what}");
    }
    // Nor does a note arrive where nothing is.
    let refused = transfer(&ann, "COPY", "shared/a", "shared/new");
    assert!(refused.body.contains("the note would show"), "{}", refused.body);
    assert_eq!(owner.get("shared/new/n.md").status, 404);
}

#[test]
fn a_note_is_not_copied_where_the_file_that_it_shows_is_not() {
    let home = hosted("team");
    let ann = user(&home, "ann", &[&["--folder", "team/shared", "--write"]]);
    let server = serve_small_vault(&home);
    let owner = Dav::new(&server, &token(&home, "owner"), "team");
    let ann = Dav::new(&server, &ann, "team");
    make_folders(&owner, &["board", "shared"]);
    make_files(&owner, &["board/p.png"]);
    make_folders(&ann, &["shared/a", "shared/a/board"]);
    // There is no room for a second one, and the note would show the hidden file of that path.
    assert_eq!(ann.put("shared/a/board/p.png", &"x".repeat(600)).status, 201);
    assert_eq!(ann.put("shared/a/a.md", "![](board/p.png)\n").status, 201);
    assert_eq!(ann.put("shared/a/other.md", "# Other\n").status, 201);
    let partly = transfer(&ann, "COPY", "shared/a", "shared/b");
    let says = partly.body.contains("hosted.vault_bytes");
    assert!(partly.status == 207 && says, "{} {}", partly.status, partly.body);
    assert_eq!(ann.get("shared/b/a.md").status, 404);
    assert_eq!(ann.get("shared/b/other.md").body, "# Other\n");
}

#[test]
fn a_folder_that_is_replaced_is_in_the_trash_and_comes_back_with_undo() {
    let home = hosted("team");
    let secret = token(&home, "owner");
    let server = serve(&home);
    let dav = Dav::new(&server, &secret, "team");
    make_folders(&dav, &["new", "new/sub", "old", "old/sub", "old/empty"]);
    for (path, text) in [
        ("new/n.md", "# New\n\nhalcyonic\n"),
        ("new/sub/n.md", "# New below\n"),
        ("new/p.png", "new"),
        ("old/n.md", "# Old\n\nobsoletic\n"),
        ("old/sub/n.md", "# Old below\n"),
        ("old/p.png", "old"),
        ("old/sub/p.png", "old below"),
    ] {
        assert_eq!(dav.put(path, text).status, 201, "{path}");
    }
    let moved = transfer(&dav, "MOVE", "new", "old");
    assert_eq!(moved.status, 204, "{}", moved.body);
    for (path, text) in [
        ("old/n.md", "# New\n\nhalcyonic\n"),
        ("old/sub/n.md", "# New below\n"),
        ("old/p.png", "new"),
        (".trash/n.md", "# Old\n\nobsoletic\n"),
        (".trash/n%202.md", "# Old below\n"),
        (".trash/p.png", "old"),
        (".trash/p%202.png", "old below"),
    ] {
        assert_eq!(dav.get(path).body, text, "{path}");
    }
    for gone in ["new", "old/empty", "old/sub/p.png"] {
        assert_eq!(dav.send("PROPFIND", gone, &[("Depth", "0")], b"").status, 404, "{gone}");
    }
    assert_eq!(finds(&server, &secret, "halcyonic"), ["New"]);
    assert!(finds(&server, &secret, "obsoletic").is_empty());
    assert!(say(&home, &["vault", "rescan"]).contains("0 new, 0 changed, 0 gone"));
    say(&home, &["undo"]);
    assert_eq!(dav.get("old/n.md").body, "# Old\n\nobsoletic\n");
    assert_eq!(dav.get("old/sub/n.md").body, "# Old below\n");
    assert_eq!(dav.get("new/n.md").body, "# New\n\nhalcyonic\n");
    assert_eq!(finds(&server, &secret, "obsoletic"), ["Old"]);
}

#[test]
fn files_and_folders_take_the_place_of_each_other() {
    let home = hosted("team");
    let server = serve(&home);
    let dav = Dav::new(&server, &token(&home, "owner"), "team");
    for (method, from_stays) in [("MOVE", false), ("COPY", true)] {
        for (from, to) in [("f", "g"), ("f", "g.md"), ("f.md", "g"), ("f.md", "g.md")] {
            let what = format!("{method} {from} to {to}");
            let root = what.replace([' ', '.'], "-");
            let inside = |path: &str| format!("{root}/{path}");
            for folder in [root.clone(), inside("f"), inside("g"), inside("g/h")] {
                assert_eq!(dav.send("MKCOL", &folder, &[], b"").status, 201, "{what}");
            }
            for path in ["f.md", "g.md", "f/x.md", "f/p.png", "g/y.md", "g/h/y.md"] {
                assert_eq!(dav.put(&inside(path), &inside(path)).status, 201, "{what}");
            }
            let done = transfer(&dav, method, &inside(from), &inside(to));
            assert_eq!(done.status, 204, "{what}: {}", done.body);
            let arrived: &[(&str, &str)] = match from {
                "f" => &[("/x.md", "f/x.md"), ("/p.png", "f/p.png")],
                _ => &[("", "f.md")],
            };
            for (path, text) in arrived {
                assert_eq!(dav.get(&inside(&format!("{to}{path}"))).body, inside(text), "{what}");
                assert_eq!(dav.get(&inside(text)).status == 200, from_stays, "{what}");
            }
            for gone in ["g/y.md", "g/h/y.md"] {
                assert_eq!(dav.get(&inside(gone)).status == 404, to == "g", "{what}");
            }
        }
    }
    assert!(say(&home, &["vault", "rescan"]).contains("0 new, 0 changed, 0 gone"));
}

#[test]
fn a_lock_ends_with_what_is_replaced_and_not_before() {
    let home = hosted("team");
    let ann = user(&home, "ann", &[&["--whole-vault", "team", "--write"]]);
    let server = serve(&home);
    let owner = Dav::new(&server, &token(&home, "owner"), "team");
    let ann = Dav::new(&server, &ann, "team");
    make_folders(&owner, &["method", "plain", "held"]);
    make_files(&owner, &["held/n.md", "plain/n.md"]);
    owner.put("method/tool.md", "---\nmcp_method: plan\n---\nPlan it.\n");
    let held =
        ann.send("LOCK", "held", &[("Depth", "infinity")], LOCK).headers["lock-token"].clone();
    let over = |from: &str| {
        let condition = format!("<{}> ({held})", ann.destination("held"));
        let headers = [("Destination", &*ann.destination("held")), ("If", &condition)];
        ann.send("MOVE", from, &headers, b"").status
    };
    assert_eq!(over("method"), 403);
    assert_eq!(owner.put("held/n.md", "# N\n").status, 423, "it is locked still");
    assert_eq!(over("plain"), 204);
    assert_eq!(owner.put("held/n.md", "# N\n").status, 204);
}

#[test]
fn very_many_notes_move_in_parts() {
    let home = hosted("team");
    let server = serve(&home);
    let dav = Dav::new(&server, &token(&home, "owner"), "team");
    make_folders(&dav, &["a", "a/b", "c"]);
    // Bytes that are no text are kept, and nobody reads them.
    let note = vec![0xff; 15 << 20];
    for path in ["a/1.md", "a/2.md", "a/3.md", "a/b/4.md", "a/b/5.md"] {
        assert_eq!(dav.send("PUT", path, &[], &note).status, 201, "{path}");
    }
    for (from, to) in [("a", "d"), ("c", "a")] {
        let refused = transfer(&dav, "MOVE", from, to);
        let says =
            refused.body.contains("64 MiB; nothing was changed") && refused.body.contains("parts");
        assert!(refused.status == 507 && says, "{} {}", refused.status, refused.body);
    }
    assert_eq!(dav.send("HEAD", "a/b/5.md", &[], b"").status, 200);
    assert_eq!(transfer(&dav, "MOVE", "a/b", "e").status, 201);
    assert_eq!(transfer(&dav, "MOVE", "a", "d").status, 201);
    assert_eq!(dav.send("HEAD", "d/3.md", &[], b"").status, 200);
}
