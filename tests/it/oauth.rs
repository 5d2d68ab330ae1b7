//! Clients get tokens with their user's consent.

use notewell::domain::user::Role;
use serde_json::json;

use crate::{
    browser::{
        Asking, Browser, PASSWORD, REDIRECT, Tokens, app, change, list_tools, people, register,
        serve_with, token, value, with_owner,
    },
    support::Home,
};

const DOCUMENTS: [&str; 3] = [
    "/.well-known/oauth-authorization-server",
    "/.well-known/openid-configuration",
    "/.well-known/oauth-protected-resource/mcp",
];

#[test]
fn nothing_is_announced_until_an_owner_can_sign_in() {
    let home = Home::new();
    let server = home.serve();
    for path in DOCUMENTS {
        assert_eq!(server.get(path, &[]).status, 404, "{path}");
    }
    assert_eq!(register(&server, &json!({ "redirect_uris": [REDIRECT] })).status, 404);
    assert_eq!(token(&server, &[("grant_type", "refresh_token")]).status, 404);
    assert_eq!(server.get("/authorize?client_id=x", &[]).status, 404);
    let answer = list_tools(&server, "/mcp", "nw_wrong");
    assert_eq!(
        (answer.status, answer.headers["www-authenticate"].as_str()),
        (401, "Bearer realm=\"notewell\"")
    );
    people(&home, &[("rita", Role::Reader)]);
    assert_eq!(server.get(DOCUMENTS[0], &[]).status, 404, "a reader sets nothing up");
    people(&home, &[("olga", Role::Owner)]);
    for path in DOCUMENTS {
        assert_eq!(server.get(path, &[]).status, 200, "{path}");
    }
}

#[test]
fn the_documents_name_the_address_as_it_was_typed() {
    let (_home, server) = with_owner();
    let base = format!("http://{}", server.address);
    let document = server.get("/.well-known/oauth-protected-resource/mcp", &[]).json();
    assert_eq!(
        document,
        json!({ "resource": format!("{base}/mcp"), "authorization_servers": [base],
            "scopes_supported": ["read", "write"], "bearer_methods_supported": ["header"],
            "resource_name": "Notewell" })
    );
    let mira = server.get("/.well-known/oauth-protected-resource/mcp/mira", &[]).json();
    assert_eq!(mira["resource"], format!("{base}/mcp/mira"));
    let localhost = format!("localhost:{}", server.address.rsplit(':').next().unwrap());
    let document = server.get(DOCUMENTS[0], &[("Host", &localhost)]).json();
    assert_eq!(document["issuer"], format!("http://{localhost}"));
    assert_eq!(document["code_challenge_methods_supported"], json!(["S256"]));
    assert_eq!(document["authorization_response_iss_parameter_supported"], true);
    // Where anybody may call without a token, none is asked for.
    assert_eq!(server.get("/.well-known/oauth-protected-resource/_system/mcp", &[]).status, 404);
    assert_eq!(server.get("/.well-known/oauth-protected-resource/notes", &[]).status, 404);
}

#[test]
fn a_door_asks_for_a_token_and_says_where_to_get_one() {
    let (home, server) = with_owner();
    let list = br#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    let metadata = format!(
        "resource_metadata=\"http://{}/.well-known/oauth-protected-resource",
        server.address
    );
    for path in ["/mcp", "/mcp/mira"] {
        let answer = server.send("POST", path, &[], list);
        let challenge = &answer.headers["www-authenticate"];
        assert_eq!(answer.status, 401, "{path}");
        assert_eq!(*challenge, format!("Bearer {metadata}{path}\", scope=\"read write\""));
        let answer = list_tools(&server, path, "nw_wrong");
        assert!(answer.headers["www-authenticate"].contains("error=\"invalid_token\""));
    }
    assert_eq!(server.get("/mcp", &[("Accept", "text/event-stream")]).status, 401);
    let page = server.get("/mcp", &[("Accept", "text/html")]);
    assert!(page.status == 200 && page.body.contains(&format!("{}/mcp", server.address)));
    // The other address keeps its rule, and tokens of before work at both.
    assert_eq!(server.send("POST", "/_system/mcp", &[], list).status, 200);
    let owner = home.token("owner");
    for path in ["/mcp", "/mcp/mira", "/_system/mcp"] {
        assert_eq!(list_tools(&server, path, &owner).status, 200, "{path}");
    }
    assert_eq!(list_tools(&server, "/mcp/nobody", &owner).status, 404);
}

#[test]
fn a_client_connects_and_stays_connected() {
    let (home, server) = with_owner();
    let asking = Asking::registered(&server);
    let browser = Browser::new(&server);
    // Not signed in: first the sign-in page, and from there back.
    let answer = browser.get(&asking.address());
    let location = answer.headers["location"].clone();
    assert!(
        answer.status == 303 && location.starts_with("/sign-in?next=%2Fauthorize"),
        "{location}"
    );
    let next = value(&crate::browser::parse(location.split_once('?').unwrap().1), "next");
    let answer =
        browser.post("/sign-in", &[("name", "olga"), ("password", PASSWORD), ("next", &next)]);
    assert_eq!((answer.status, &answer.headers["location"]), (303, &asking.address()));
    let page = browser.get(&asking.address());
    for text in ["Test client", "olga", REDIRECT, "a program on this computer", "Anybody can call"]
    {
        assert!(page.body.contains(text), "{text}: {}", page.body);
    }
    let policy = &page.headers["content-security-policy"];
    assert!(policy.contains("form-action 'self' http://127.0.0.1:45381;"), "{policy}");
    let sent = asking.answer(&browser, &[("decision", "allow"), ("write", "write")]);
    assert_eq!(value(&sent, "state"), "st&te");
    assert_eq!(value(&sent, "iss"), format!("http://{}", server.address));
    let answer = asking.redeem(&server, &value(&sent, "code"));
    assert_eq!((answer.status, answer.headers["cache-control"].as_str()), (200, "no-store"));
    let body = answer.json();
    assert_eq!(
        (&body["token_type"], &body["expires_in"], &body["scope"]),
        (&json!("Bearer"), &json!(3600), &json!("read write"))
    );
    let first = Tokens::of(&answer);
    let answer = list_tools(&server, "/mcp", &first.access);
    assert!(answer.status == 200 && answer.body.contains("create_note"), "{}", answer.body);
    let second = asking.refresh(&server, &first.refresh);
    assert_eq!(second.status, 200, "{}", second.body);
    let second = Tokens::of(&second);
    assert_ne!(second.refresh, first.refresh);
    assert_eq!(list_tools(&server, "/mcp", &second.access).status, 200);
    // What it may is what its user may: an hour later it has to refresh, and it is one connection.
    let connections = app(&home).store.oauth.connections(None).unwrap();
    assert_eq!(connections.len(), 1);
    change(&home, "UPDATE tokens SET expires = 0 WHERE connection IS NOT NULL");
    assert_eq!(list_tools(&server, "/mcp", &second.access).status, 401);
    // The client ends it.
    let fields =
        crate::browser::query(&[("token", &second.refresh), ("client_id", &asking.client)]);
    let form = [("Content-Type", "application/x-www-form-urlencoded")];
    assert_eq!(server.send("POST", "/revoke", &form, fields.as_bytes()).status, 200);
    assert_eq!(asking.refresh(&server, &second.refresh).json()["error"], "invalid_grant");
    assert!(app(&home).store.oauth.connections(None).unwrap().is_empty());
}

#[test]
fn the_user_decides_what_a_client_may() {
    let (_home, server) = with_owner();
    let asking = Asking::registered(&server);
    let browser = Browser::signed_in(&server, "olga");
    let sent = asking.answer(&browser, &[("decision", "allow")]);
    let answer = asking.redeem(&server, &value(&sent, "code"));
    assert_eq!(answer.json()["scope"], "read", "`write` was unticked");
    let sent = asking.answer(&browser, &[("decision", "deny"), ("write", "write")]);
    assert_eq!(value(&sent, "error"), "access_denied");
    assert_eq!(value(&sent, "iss"), format!("http://{}", server.address));
    // What was not asked for cannot be ticked.
    let reading = Asking { scope: "read offline_access".to_owned(), ..asking.clone() };
    let sent = reading
        .answer(&browser, &[("decision", "allow"), ("write", "write"), ("market", "market")]);
    assert_eq!(reading.redeem(&server, &value(&sent, "code")).json()["scope"], "read");
    // A refresh asks for less, never for more.
    let tokens = asking.connect(&browser);
    let refresh = |token: &str, scope: &str| {
        let fields = [
            ("grant_type", "refresh_token"),
            ("refresh_token", token),
            ("client_id", asking.client.as_str()),
            ("scope", scope),
        ];
        crate::browser::token(&server, &fields)
    };
    let less = refresh(&tokens.refresh, "read");
    assert_eq!(less.json()["scope"], "read");
    let more = refresh(&Tokens::of(&less).refresh, "read write market");
    assert_eq!(more.json()["scope"], "read write");
}

#[test]
fn a_confidential_client_shows_its_secret() {
    let (_home, server) = with_owner();
    let metadata = json!({ "client_name": "Server side", "redirect_uris": [REDIRECT],
        "token_endpoint_auth_method": "client_secret_post" });
    let registered = register(&server, &metadata).json();
    let secret = registered["client_secret"].as_str().unwrap();
    let id = registered["client_id"].as_str().unwrap();
    let asking = Asking { client: id.to_owned(), ..Asking::registered(&server) };
    let browser = Browser::signed_in(&server, "olga");
    for wrong in ["", "nwcs_wrong"] {
        let answer =
            asking.redeem_with(&server, &asking.code(&browser), &[("client_secret", wrong)]);
        assert_eq!((answer.status, &answer.json()["error"]), (401, &json!("invalid_client")));
    }
    let answer = asking.redeem_with(&server, &asking.code(&browser), &[("client_secret", secret)]);
    assert_eq!(answer.status, 200, "{}", answer.body);
    let basic = base64::Engine::encode(
        &base64::engine::general_purpose::STANDARD,
        format!("{id}:{secret}"),
    );
    let fields = crate::browser::query(&[
        ("grant_type", "refresh_token"),
        ("refresh_token", &Tokens::of(&answer).refresh),
    ]);
    let headers = [
        ("Content-Type", "application/x-www-form-urlencoded"),
        ("Authorization", &format!("Basic {basic}")),
    ];
    let answer = server.send("POST", "/token", &headers, fields.as_bytes());
    assert_eq!(answer.status, 200, "{}", answer.body);
}

#[test]
fn known_clients_need_no_registration() {
    let (_home, server) = with_owner();
    let browser = Browser::signed_in(&server, "olga");
    let code = Asking {
        client: "https://claude.ai/oauth/claude-code-client-metadata".to_owned(),
        redirect: "http://localhost:53123/callback".to_owned(),
        ..Asking::registered(&server)
    };
    let page = browser.get(&code.address());
    assert!(page.body.contains("Claude Code") && !page.body.contains("Anybody can call"));
    let tokens = code.connect(&browser);
    assert_eq!(list_tools(&server, "/mcp", &tokens.access).status, 200);
    assert_eq!(code.refresh(&server, &tokens.refresh).status, 200);
    // Another client that names itself by its address is unknown, and nothing is fetched.
    let other = Asking { client: "https://app.example/client.json".to_owned(), ..code };
    let page = browser.get(&other.address());
    assert!(page.status == 400 && page.body.contains("fetch_clients"), "{}", page.body);
}

#[test]
fn every_address_that_asks_for_a_token_can_be_connected_to() {
    let home = Home::new();
    home.note("free.md", "---\nfree: true\nauthor: mira\n---\n# Free\n");
    people(&home, &[("olga", Role::Owner)]);
    let server = serve_with(&home, "[server]\nanonymous = \"off\"\n");
    let browser = Browser::signed_in(&server, "olga");
    let asking = Asking::registered(&server);
    for path in ["/mcp", "/mcp/mira", "/_system/mcp", "/_system/mcp/mira"] {
        let document = format!("/.well-known/oauth-protected-resource{path}");
        let resource = server.get(&document, &[]).json()["resource"].as_str().unwrap().to_owned();
        let tokens = Asking { resource, ..asking.clone() }.connect(&browser);
        for other in ["/mcp", "/mcp/mira", "/_system/mcp", "/_system/mcp/mira"] {
            let expected = if other == path { 200 } else { 401 };
            let answer = list_tools(&server, other, &tokens.access);
            assert_eq!(answer.status, expected, "a token for {path} at {other}");
        }
    }
    // A page needs a session, and its address is come back to.
    let answer = Browser::new(&server).get("/n/1?a=b");
    assert_eq!(
        (answer.status, answer.headers["location"].as_str()),
        (303, "/sign-in?next=%2Fn%2F1%3Fa%3Db")
    );
}

#[test]
fn a_public_address_decides_who_issues() {
    let home = Home::new();
    people(&home, &[("olga", Role::Owner)]);
    let server = serve_with(&home, "[server]\npublic_url = \"https://kb.example/\"\n");
    let document = server.get(DOCUMENTS[0], &[]).json();
    assert_eq!(document["issuer"], "https://kb.example");
    assert_eq!(document["token_endpoint"], "https://kb.example/token");
    let browser = Browser::new(&server);
    let answer = browser.post("/sign-in", &[("name", "olga"), ("password", PASSWORD)]);
    let cookie = &answer.headers["set-cookie"];
    assert!(cookie.starts_with("__Host-nw=nws_") && cookie.contains("; Secure"), "{cookie}");
    let resource = "https://kb.example/mcp".to_owned();
    let tokens = Asking { resource, ..Asking::registered(&server) }.connect(&browser);
    assert_eq!(list_tools(&server, "/mcp", &tokens.access).status, 200);
}

#[test]
fn a_session_lasts_until_its_user_signs_out() {
    let (home, server) = with_owner();
    let browser = Browser::signed_in(&server, "olga");
    assert!(browser.get("/").body.contains("Sign out"));
    let elsewhere = Browser::signed_in(&server, "olga");
    let answer = browser.post("/sign-out", &[]);
    assert_eq!((answer.status, answer.headers["location"].as_str()), (303, "/"));
    assert!(answer.headers["set-cookie"].contains("Max-Age=0"));
    assert!(!browser.get("/").body.contains("Sign out"));
    assert!(elsewhere.get("/").body.contains("Sign out"));
    // A new password ends every session.
    let app = app(&home);
    let olga = app.user("olga").unwrap();
    let actor = notewell::app::accounts::Actor::shell();
    app.set_password(&actor, &olga, "another long password").unwrap();
    assert!(!elsewhere.get("/").body.contains("Sign out"));
}
