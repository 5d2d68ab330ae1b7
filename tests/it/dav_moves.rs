//! COPY and MOVE onto what is there: all of it happens, or nothing.

use crate::{
    dav::Dav,
    hosted::{hosted, serve, token},
    support::Answer,
};

/// `é` as one character, and as two.
const COMPOSED: &str = "%C3%A9";
const DECOMPOSED: &str = "e%CC%81";

fn transfer(dav: &Dav<'_>, method: &str, from: &str, to: &str) -> Answer {
    dav.send(method, from, &[("Destination", &dav.destination(to))], b"")
}

fn make_folders(dav: &Dav<'_>, folders: &[&str]) {
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
