//! What the token of a lock says, and how long a lock lasts.

use crate::{
    dav::Dav,
    dav_rights::{LOCK, user},
    hosted::{hosted, say, serve, token},
    support::until,
};

#[test]
fn a_token_counts_where_its_lock_is() {
    let home = hosted("team");
    let server = serve(&home);
    let dav = Dav::new(&server, &token(&home, "owner"), "team");
    assert_eq!(dav.send("MKCOL", "f", &[], b"").status, 201);
    for path in ["a.md", "b.md", "f/n.md"] {
        assert_eq!(dav.put(path, "one\n").status, 201);
    }
    let lock = |path: &str, depth: &str| {
        dav.send("LOCK", path, &[("Depth", depth)], LOCK).headers["lock-token"].clone()
    };
    let put =
        |path: &str, condition: &str| dav.send("PUT", path, &[("If", condition)], b"one\n").status;
    let held = lock("a.md", "0");
    for (path, condition, status) in [
        ("a.md", format!("({held})"), 204),
        ("a.md", "(<urn:x:y>)".to_owned(), 412),
        // The token is sent all the same.
        ("a.md", format!("({held}) (Not <DAV:no-lock>)"), 204),
        ("a.md", format!("(<urn:x:y>) (Not {held}) (Not <DAV:no-lock> {held})"), 204),
        ("a.md", format!("(Not {held})"), 412),
        ("b.md", format!("({held})"), 412),
        ("b.md", format!("(Not {held})"), 204),
        ("b.md", format!("</_system/dav/team/a.md> ({held})"), 204),
        ("b.md", "(<urn:x:y>)".to_owned(), 412),
        ("new.md", format!("({held})"), 412),
    ] {
        assert_eq!(put(path, &condition), status, "{path} {condition}");
    }
    assert_eq!(dav.get("new.md").status, 404);
    // After its end it is no lock.
    assert_eq!(dav.send("UNLOCK", "a.md", &[("Lock-Token", &held)], b"").status, 204);
    assert_eq!(put("a.md", &format!("({held})")), 412);
    assert_eq!(put("a.md", &format!("(Not {held})")), 204);
    let deleted = dav.send("DELETE", "a.md", &[("If", &format!("({held})"))], b"");
    assert_eq!((deleted.status, dav.get("a.md").status), (412, 200), "{}", deleted.body);
    // That of a folder covers what is in it.
    let deep = lock("f", "infinity");
    assert_eq!(put("f/n.md", &format!("({deep})")), 204);
    assert_eq!(put("a.md", &format!("({deep})")), 412);
}

#[test]
fn a_lock_ends_with_the_right_to_write() {
    let home = hosted("team");
    let whole: &[&str] = &["--whole-vault", "team", "--write"];
    let ann = user(&home, "ann", &[whole, &["--folder", "team/shared", "--write"]]);
    let server = serve(&home);
    let owner = Dav::new(&server, &token(&home, "owner"), "team");
    let ann = Dav::new(&server, &ann, "team");
    for folder in ["shared", "board"] {
        assert_eq!(owner.send("MKCOL", folder, &[], b"").status, 201);
        assert_eq!(owner.put(&format!("{folder}/n.md"), "# N\n").status, 201);
    }
    let refresh =
        |path: &str, held: &str| ann.send("LOCK", path, &[("If", &format!("({held})"))], b"");
    let [file, vault] = [("board/n.md", "0"), ("shared", "infinity")].map(|(path, depth)| {
        let lock = ann.send("LOCK", path, &[("Depth", depth)], LOCK);
        assert_eq!(lock.status, 200, "{}", lock.body);
        lock.headers["lock-token"].clone()
    });
    assert_eq!(refresh("board/n.md", &file).status, 200);
    assert_eq!(refresh("shared/n.md", &vault).status, 200);
    assert_eq!(ann.send("UNLOCK", "shared", &[("Lock-Token", &vault)], b"").status, 204);
    assert_eq!(ann.send("UNLOCK", "board/n.md", &[("Lock-Token", &file)], b"").status, 204);
    let all = ann.send("LOCK", "", &[("Depth", "infinity")], LOCK);
    assert_eq!(all.status, 200, "{}", all.body);
    let all = all.headers["lock-token"].clone();
    assert_eq!(refresh("shared/n.md", &all).status, 200);
    say(&home, &["grant", "remove", "ann", "--whole-vault", "team"]);
    until("the end of the grant", || ann.get("board/n.md").status == 404);
    for path in ["", "board/n.md"] {
        let refused = refresh(path, &all);
        let says = refused.body.contains("you may not write");
        assert!(refused.status == 403 && says, "`{path}`: {} {}", refused.status, refused.body);
    }
    // A right to a part prolongs no lock of the whole.
    let refused = refresh("shared/n.md", &all);
    assert_eq!(refused.status, 412, "{}", refused.body);
}
