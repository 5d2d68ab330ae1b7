//! What the token of a lock says.

use crate::{
    dav::Dav,
    dav_rights::LOCK,
    hosted::{hosted, serve, token},
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
