//! A person's own account, and the owner's pages about the others.

use notewell::domain::user::Role;

use super::{library, owner, values};
use crate::{
    browser::{Browser, PASSWORD, people as add_people},
    support::{Home, Server},
};

/// A library with an owner and two readers.
fn people() -> Home {
    let home = library();
    add_people(&home, &[("mira", Role::Owner), ("ann", Role::Reader), ("taro", Role::Reader)]);
    home
}

fn signed_in<'a>(server: &'a Server, name: &str) -> Browser<'a> {
    Browser::signed_in(server, name)
}

#[test]
fn a_person_makes_a_token_and_revokes_it() {
    let home = people();
    let server = home.serve();
    let ann = signed_in(&server, "ann");
    let page =
        ann.post("/account/token", &[("name", "phone"), ("scope", "read"), ("expires", "30")]);
    let secret = page.body.split("class=\"secret\">").nth(1).unwrap().split('<').next().unwrap();
    assert!(secret.starts_with("nw_"), "{}", page.body);
    assert_eq!(page.headers["cache-control"], "no-store");
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    assert_eq!(server.post_as(secret, call).status, 200);
    let account = ann.get("/account").body;
    assert!(account.contains("phone") && !account.contains(secret), "{account}");
    let id = account.split("action=\"/account/token/revoke\"").nth(1).unwrap();
    let id = values(id, "value")[0].clone();
    // Nobody else sees it or can revoke it.
    let taro = signed_in(&server, "taro");
    assert!(!taro.get("/account").body.contains("phone"));
    assert_eq!(taro.post("/account/token/revoke", &[("id", &id)]).status, 404);
    assert_eq!(server.post_as(secret, call).status, 200);
    assert_eq!(ann.post("/account/token/revoke", &[("id", &id)]).status, 303);
    assert_eq!(server.post_as(secret, call).status, 401);
    let none = ann.post("/account/token", &[("name", "x"), ("expires", "30")]);
    assert_eq!(none.status, 422, "{}", none.body);
}

#[test]
fn a_token_does_not_manage_accounts() {
    let home = people();
    let key = owner(&home);
    let server = home.serve();
    let form = [
        ("Authorization", key.as_str()),
        ("Content-Type", "application/x-www-form-urlencoded"),
        ("Sec-Fetch-Site", "same-origin"),
    ];
    for (path, body) in [
        ("/account/token", "name=more&scope=write&expires=never"),
        ("/account/token/revoke", "id=1"),
        ("/account/connection", "id=1"),
        ("/users", "name=eve&role=owner"),
        ("/users/ann", "do=grant&part=everything&what="),
    ] {
        assert_eq!(server.send("POST", path, &form, body.as_bytes()).status, 404, "{path}");
    }
    for path in ["/users", "/users/ann", "/audit"] {
        assert_eq!(server.get(path, &[("Authorization", &key)]).status, 404, "{path}");
    }
}

#[test]
fn the_pages_of_the_owner_are_the_owners() {
    let home = people();
    let server = home.serve();
    let (mira, ann) = (signed_in(&server, "mira"), signed_in(&server, "ann"));
    for path in ["/users", "/users/ann", "/audit", "/status", "/doctor", "/history"] {
        let page = mira.get(path);
        assert_eq!(page.status, 200, "{path}");
        super::check(path, &page);
        assert_eq!(page.headers["cache-control"], "no-store", "{path}");
        assert_eq!(ann.get(path).status, 404, "{path}");
        assert_eq!(server.get(path, &[]).status, 404, "{path}");
    }
    for path in ["/account", "/connect"] {
        let page = ann.get(path);
        assert_eq!(page.status, 200, "{path}");
        super::check(path, &page);
    }
    let stranger = server.get("/account", &[]);
    assert_eq!(stranger.headers["location"], "/sign-in?next=%2Faccount");
}

#[test]
fn what_the_owner_shares_is_seen_at_once_and_taken_back_at_once() {
    let home = people();
    let server = home.serve();
    let (mira, ann) = (signed_in(&server, "mira"), signed_in(&server, "ann"));
    assert_eq!(ann.get("/Diary.md").status, 404);
    let grant = [("do", "grant"), ("part", "label"), ("what", "#hush")];
    assert_eq!(mira.post("/users/ann", &grant).status, 303);
    let page = ann.get("/Diary.md");
    assert!(page.body.contains("froze") && !page.body.contains("/edit"), "{}", page.body);
    assert!(
        ann.get("/?q=xylophantom").body.contains(">Diary")
            || ann.get("/?q=xylophantom").body.contains("Diary</a>")
    );
    assert!(ann.get("/account").body.contains("what has the label"));
    let shared = mira.get("/users/ann").body;
    let id =
        shared.split("name=\"id\" value=\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    assert_eq!(mira.post("/users/ann", &[("do", "revoke"), ("id", &id)]).status, 303);
    assert_eq!(ann.get("/Diary.md").status, 404);
    // A slip is explained, and changes nothing.
    let slip = mira.post("/users/ann", &[("do", "grant"), ("part", "vault"), ("what", "nowhere")]);
    assert_eq!(slip.status, 422);
    assert!(slip.body.contains("role=\"alert\""), "{}", slip.body);
    let audit = mira.get("/audit").body;
    assert!(audit.contains("grant add") && audit.contains("grant remove"), "{audit}");
    assert!(!audit.contains(PASSWORD), "{audit}");
}

#[test]
fn an_account_is_made_changed_and_removed() {
    let home = people();
    let server = home.serve();
    let mira = signed_in(&server, "mira");
    let made = mira.post(
        "/users",
        &[
            ("name", "lena"),
            ("role", "author"),
            ("display_name", "Лена 玲奈"),
            ("password", PASSWORD),
        ],
    );
    assert_eq!((made.status, made.headers["location"].as_str()), (303, "/users/lena"));
    let lena = signed_in(&server, "lena");
    assert!(lena.get("/account").body.contains("Лена 玲奈"));
    for (name, password) in [("lena", PASSWORD), ("a b", PASSWORD), ("short", "x")] {
        let bad =
            mira.post("/users", &[("name", name), ("role", "reader"), ("password", password)]);
        assert_eq!(bad.status, 422, "{name}");
    }
    // A new password ends the session.
    let wrong = lena.post(
        "/account/password",
        &[("old", "wrong one here"), ("new", "another long one"), ("again", "another long one")],
    );
    assert_eq!(wrong.status, 422, "{}", wrong.body);
    let typo = lena.post(
        "/account/password",
        &[("old", PASSWORD), ("new", "another long one"), ("again", "another long on")],
    );
    assert_eq!(typo.status, 422);
    let changed = lena.post(
        "/account/password",
        &[("old", PASSWORD), ("new", "another long one"), ("again", "another long one")],
    );
    assert_eq!(changed.status, 303, "{}", changed.body);
    assert!(lena.get("/account").headers["location"].starts_with("/sign-in"));
    assert_eq!(mira.post("/users/lena", &[("do", "remove"), ("name", "lea")]).status, 422);
    assert_eq!(mira.post("/users/lena", &[("do", "remove"), ("name", "lena")]).status, 303);
    assert_eq!(mira.get("/users/lena").status, 404);
}

#[test]
fn a_session_is_ended_from_another_browser() {
    let home = people();
    let server = home.serve();
    let (one, other) = (signed_in(&server, "ann"), signed_in(&server, "ann"));
    let page = one.get("/account").body;
    assert_eq!(page.matches("this browser").count(), 1, "{page}");
    let id = page.split("action=\"/account/session\"").nth(1).unwrap();
    let id = values(id, "value")[0].clone();
    let taro = signed_in(&server, "taro");
    taro.post("/account/session", &[("id", &id)]);
    assert_eq!(other.get("/account").status, 200, "somebody else cannot end it");
    assert_eq!(one.post("/account/session", &[("id", &id)]).status, 303);
    assert_eq!(other.get("/account").status, 303);
    assert_eq!(one.get("/account").status, 200);
}
