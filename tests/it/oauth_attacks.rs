//! Attacks on the authorization server, each as somebody would try it.

use std::{
    io::Read,
    time::{Duration, Instant},
};

use notewell::domain::{Scopes, user::Role};
use serde_json::json;

use crate::{
    browser::{
        Asking, Browser, PASSWORD, REDIRECT, Tokens, app, change, list_tools, people, register,
        serve_with, token, user_token, with_owner,
    },
    support::{Answer, Home, PATIENCE, Server, sql},
};

fn error(answer: &Answer) -> String {
    format!("{} {}", answer.status, answer.json()["error"].as_str().unwrap_or_default())
}

/// A code is for one use: the second ends what the first one got.
#[test]
fn a_code_used_twice() {
    let (home, server) = with_owner();
    let asking = Asking::registered(&server);
    let code = asking.code(&Browser::signed_in(&server, "olga"));
    let tokens = Tokens::of(&asking.redeem(&server, &code));
    assert_eq!(list_tools(&server, "/mcp", &tokens.access).status, 200);
    assert_eq!(error(&asking.redeem(&server, &code)), "400 invalid_grant");
    assert_eq!(list_tools(&server, "/mcp", &tokens.access).status, 401);
    assert_eq!(error(&asking.refresh(&server, &tokens.refresh)), "400 invalid_grant");
    let audit = app(&home).store.audit.entries(None, None, 10).unwrap();
    assert!(audit.iter().any(|entry| entry.outcome == "code_used_twice"), "{audit:?}");
}

#[test]
fn a_wrong_verifier() {
    let (_home, server) = with_owner();
    let asking = Asking::registered(&server);
    let browser = Browser::signed_in(&server, "olga");
    let code = asking.code(&browser);
    let wrong = "b-verifier-of-at-least-forty-three-characters-0";
    let answer = asking.redeem_with(&server, &code, &[("code_verifier", wrong)]);
    assert_eq!(error(&answer), "400 invalid_grant");
    assert_eq!(error(&asking.redeem(&server, &code)), "400 invalid_grant", "one guess");
    let answer = asking.redeem_with(&server, &asking.code(&browser), &[("code_verifier", "")]);
    assert_eq!(error(&answer), "400 invalid_request");
    // The challenge itself proves nothing: `plain` is not taken.
    let challenge = crate::browser::challenge(crate::browser::VERIFIER);
    let answer =
        asking.redeem_with(&server, &asking.code(&browser), &[("code_verifier", &challenge)]);
    assert_eq!(error(&answer), "400 invalid_grant");
}

#[test]
fn no_proof_key_or_a_weaker_one() {
    let (_home, server) = with_owner();
    let asking = Asking::registered(&server);
    let browser = Browser::signed_in(&server, "olga");
    for change in [
        [("code_challenge", "")],
        [("code_challenge", "short")],
        [("code_challenge_method", "")],
        [("code_challenge_method", "plain")],
    ] {
        let answer = browser.get(&asking.address_with(&change));
        let location = &answer.headers["location"];
        assert!(location.starts_with(&format!("{REDIRECT}?error=invalid_request")), "{location}");
        assert!(location.contains("iss=") && location.contains("state=st%26te"), "{location}");
    }
}

#[test]
fn another_redirect() {
    let (_home, server) = with_owner();
    let asking = Asking::registered(&server);
    let browser = Browser::signed_in(&server, "olga");
    for evil in [
        "https://evil.example/callback",
        "http://127.0.0.1:45381/callback/../evil",
        "http://127.0.0.1:45381/callback?x=1",
        "http://127.0.0.1:45381/callback#x",
        "http://127.0.0.1.evil.example:45381/callback",
        "http://evil@127.0.0.1:45381/callback",
        "http://localhost:45381/callback",
        "//evil.example",
    ] {
        for visitor in [&browser, &Browser::new(&server)] {
            let answer = visitor.get(&asking.address_with(&[("redirect_uri", evil)]));
            assert_eq!((answer.status, answer.headers.get("location")), (400, None), "{evil}");
        }
    }
    // Not even an error goes there.
    let both = [("redirect_uri", "https://evil.example/"), ("response_type", "token")];
    assert!(!browser.get(&asking.address_with(&both)).headers.contains_key("location"));
    let repeated = format!("{}&redirect_uri=https%3A%2F%2Fevil.example%2F", asking.address());
    let answer = browser.get(&repeated);
    assert_eq!((answer.status, answer.headers.get("location")), (400, None));
    let code = asking.code(&browser);
    let answer =
        asking.redeem_with(&server, &code, &[("redirect_uri", "http://127.0.0.1:1/callback")]);
    assert_eq!(error(&answer), "400 invalid_grant");
}

#[test]
fn another_resource() {
    let (_home, server) = with_owner();
    let asking = Asking::registered(&server);
    let browser = Browser::signed_in(&server, "olga");
    for evil in [
        "https://evil.example/mcp".to_owned(),
        format!("http://{}.evil.example/mcp", server.address),
        format!("http://evil@{}/mcp", server.address),
        format!("http://{}/metrics", server.address),
        format!("http://{}/_system/mcp", server.address),
        "mcp".to_owned(),
    ] {
        let answer = browser.get(&asking.address_with(&[("resource", &evil)]));
        let location = &answer.headers["location"];
        assert!(location.starts_with(&format!("{REDIRECT}?error=invalid_target")), "{location}");
    }
    let code = asking.code(&browser);
    let mira = format!("{}/mira", asking.resource);
    let answer = asking.redeem_with(&server, &code, &[("resource", &mira)]);
    assert_eq!(error(&answer), "400 invalid_target");
    // A token opens the door that it was made for, and no other.
    let tokens = asking.connect(&browser);
    for (path, status) in [
        ("/mcp", 200),
        ("/mcp/", 200),
        ("/mcp/mira", 401),
        ("/_system/mcp", 401),
        ("/metrics", 401),
    ] {
        assert_eq!(list_tools(&server, path, &tokens.access).status, status, "{path}");
    }
    let author = Asking { resource: mira, ..asking.clone() }.connect(&browser);
    assert_eq!(list_tools(&server, "/mcp/mira", &author.access).status, 200);
    assert_eq!(list_tools(&server, "/mcp", &author.access).status, 401);
}

#[test]
fn another_client() {
    let (_home, server) = with_owner();
    let asking = Asking::registered(&server);
    let thief = Asking::registered(&server);
    let browser = Browser::signed_in(&server, "olga");
    let answer = thief.redeem(&server, &asking.code(&browser));
    assert_eq!(error(&answer), "400 invalid_grant");
    let tokens = asking.connect(&browser);
    assert_eq!(error(&thief.refresh(&server, &tokens.refresh)), "400 invalid_grant");
    let fields = crate::browser::query(&[("token", &tokens.access), ("client_id", &thief.client)]);
    let form = [("Content-Type", "application/x-www-form-urlencoded")];
    assert_eq!(server.send("POST", "/revoke", &form, fields.as_bytes()).status, 200);
    assert_eq!(list_tools(&server, "/mcp", &tokens.access).status, 200, "it is not theirs");
    assert_eq!(asking.refresh(&server, &tokens.refresh).status, 200);
    let unknown = Asking { client: "client_unknown".to_owned(), ..asking };
    assert_eq!(error(&unknown.redeem(&server, "nwc_x")), "401 invalid_client");
}

#[test]
fn an_expired_code() {
    let (home, server) = with_owner();
    let asking = Asking::registered(&server);
    let code = asking.code(&Browser::signed_in(&server, "olga"));
    let now = notewell::domain::Timestamp::now().0;
    let expires = &sql(&home.data(), "SELECT expires FROM oauth_codes")[0];
    let left = expires.parse::<i64>().unwrap() - now;
    assert!((1..=60_000).contains(&left), "{left} ms are left");
    change(&home, &format!("UPDATE oauth_codes SET expires = {}", now - 1));
    assert_eq!(error(&asking.redeem(&server, &code)), "400 invalid_grant");
}

#[test]
fn a_stolen_refresh_token_used_after_rotation() {
    let (home, server) = with_owner();
    let asking = Asking::registered(&server);
    let first = asking.connect(&Browser::signed_in(&server, "olga"));
    let second = Tokens::of(&asking.refresh(&server, &first.refresh));
    // For a minute the previous one is good: an answer may have been lost.
    let third = Tokens::of(&asking.refresh(&server, &first.refresh));
    change(&home, "UPDATE refresh_tokens SET rotated = rotated - 61000 WHERE rotated IS NOT NULL");
    assert_eq!(error(&asking.refresh(&server, &first.refresh)), "400 invalid_grant");
    // Whoever has the newer ones has nothing any more: one of the two is a thief.
    for tokens in [&first, &second, &third] {
        assert_eq!(list_tools(&server, "/mcp", &tokens.access).status, 401);
        assert_eq!(error(&asking.refresh(&server, &tokens.refresh)), "400 invalid_grant");
    }
    let audit = app(&home).store.audit.entries(None, None, 10).unwrap();
    assert!(audit.iter().any(|entry| entry.outcome == "refresh_token_used_twice"), "{audit:?}");
}

#[test]
fn consent_without_a_session_or_with_the_form_of_another() {
    let (_home, server) = with_owner();
    let asking = Asking::registered(&server);
    let olga = Browser::signed_in(&server, "olga");
    let form = asking.form(&olga);
    let field = |name: &str| crate::browser::value(&form, name);
    let (request, proof) = (field("request"), field("token"));
    let fields = [("request", request.as_str()), ("token", &proof), ("decision", "allow")];
    let answer = Browser::new(&server).post("/authorize", &fields);
    assert!(answer.headers["location"].starts_with("/sign-in?"), "{:?}", answer.headers);
    let rita = Browser::signed_in(&server, "rita");
    let answer = rita.post("/authorize", &fields);
    assert_eq!((answer.status, answer.headers.get("location")), (403, None));
    // Nor for another request of the same person.
    let other = request.replace("read+write", "read+write+market");
    assert_ne!(other, request);
    let fields = [("request", other.as_str()), ("token", &proof), ("decision", "allow")];
    let answer = olga.post("/authorize", &fields);
    assert_eq!((answer.status, answer.headers.get("location")), (403, None));
    let fields = [("request", request.as_str()), ("decision", "allow")];
    assert_eq!(olga.post("/authorize", &fields).status, 403, "no proof at all");
}

#[test]
fn a_post_from_another_site() {
    let (_home, server) = with_owner();
    let asking = Asking::registered(&server);
    let olga = Browser::signed_in(&server, "olga");
    let form = asking.form(&olga);
    let mut fields: Vec<(&str, &str)> =
        form.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    fields.extend([("decision", "allow"), ("name", "olga"), ("password", PASSWORD)]);
    let cookie = olga.cookie.borrow().clone();
    for path in ["/authorize", "/sign-in", "/sign-out", "/setup"] {
        for from in [
            &[][..],
            &[("Sec-Fetch-Site", "cross-site")],
            &[("Sec-Fetch-Site", "same-site")],
            &[("Sec-Fetch-Site", "none")],
            &[("Origin", "https://evil.example")],
            &[("Origin", "null")],
            &[("Origin", "https://evil.example"), ("Sec-Fetch-Site", "cross-site")],
        ] {
            let answer = olga.post_from(path, &fields, from);
            assert_eq!(answer.status, 403, "{path} {from:?}: {}", answer.body);
            assert!(!answer.headers.contains_key("set-cookie"), "{path} {from:?}");
        }
        // A form cannot be sent as another kind of body either.
        let plain = [("Content-Type", "text/plain"), ("Sec-Fetch-Site", "cross-site")];
        assert_eq!(olga.send("POST", path, &plain, "decision=allow").status, 403);
    }
    assert_eq!(*olga.cookie.borrow(), cookie);
    assert_eq!(olga.get(&asking.address()).status, 200, "still signed in");
    // A cookie is nothing to the doors of agents.
    let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    assert_eq!(olga.send("POST", "/mcp", &[], list).status, 401);
    let answer = olga.send("POST", "/_system/mcp", &[], list);
    assert!(!answer.body.contains("create_note"), "anonymous: {}", answer.body);
    // An exact Origin of ours is enough where the browser says nothing else.
    let own = format!("http://{}", server.address);
    assert_eq!(olga.post_from("/sign-out", &[], &[("Origin", &own)]).status, 303);
}

#[test]
fn a_page_in_a_frame() {
    let (_home, server) = with_owner();
    let asking = Asking::registered(&server);
    let olga = Browser::signed_in(&server, "olga");
    let stranger = Browser::new(&server);
    let wrong = asking.address_with(&[("client_id", "client_unknown")]);
    let pages = [
        olga.get(&asking.address()),
        olga.get(&wrong),
        stranger.get("/sign-in"),
        stranger.get("/mcp"),
    ];
    for page in pages {
        let policy = &page.headers["content-security-policy"];
        assert!(policy.contains("frame-ancestors 'none'"), "{policy}");
        assert!(
            policy.contains("base-uri 'none'") && !policy.contains("script-src 'unsafe"),
            "{policy}"
        );
        assert_eq!(page.headers["cache-control"], "no-store");
        assert_eq!(page.headers["x-content-type-options"], "nosniff");
    }
}

#[test]
fn an_open_redirect() {
    let (_home, server) = with_owner();
    for evil in [
        "https://evil.example/",
        "//evil.example/",
        "/\\evil.example",
        "\\\\evil.example",
        "/\t/evil.example",
        "/..//evil.example",
        "javascript:alert(1)",
        "/a\r\nLocation: https://evil.example",
    ] {
        let browser = Browser::new(&server);
        let fields = [("name", "olga"), ("password", PASSWORD), ("next", evil)];
        let answer = browser.post("/sign-in", &fields);
        assert_eq!((answer.status, answer.headers["location"].as_str()), (303, "/"), "{evil}");
        // Also for somebody who is signed in, and on the way out.
        let address = format!("/sign-in?{}", crate::browser::query(&[("next", evil)]));
        assert_eq!(browser.get(&address).headers["location"], "/", "{evil}");
        assert_eq!(browser.post("/sign-out", &[("next", evil)]).headers["location"], "/", "{evil}");
    }
}

/// Anybody may register an address, and nobody who is not signed in is sent there.
#[test]
fn a_registered_address_as_an_open_redirect() {
    let (_home, server) = with_owner();
    let asking = Asking::registered(&server);
    let changes = [("response_type", "x"), ("response_mode", "fragment"), ("request_uri", "a")];
    for change in changes {
        let address = asking.address_with(&[change]);
        let browser = Browser::new(&server);
        let first = browser.get(&address);
        let (status, location) = (first.status, &first.headers["location"]);
        assert!(status == 303 && location.starts_with("/sign-in?next="), "{status} {location}");
        // Whoever signs in goes on, and the client learns what was wrong.
        let next = crate::browser::parse(location.split_once('?').unwrap().1).remove(0).1;
        let fields = [("name", "olga"), ("password", PASSWORD), ("next", next.as_str())];
        let second = browser.get(&browser.post("/sign-in", &fields).headers["location"]);
        let location = &second.headers["location"];
        assert!(location.starts_with(&format!("{REDIRECT}?error=")), "{location}");
    }
    let silent = asking.address_with(&[("prompt", "none")]);
    let page = Browser::new(&server).get(&silent);
    assert_eq!((page.status, page.headers.get("location")), (400, None), "{}", page.body);
    assert!(page.body.contains("nobody is signed in here"), "{}", page.body);
    let location = &Browser::signed_in(&server, "olga").get(&silent).headers["location"];
    assert!(location.contains("error=consent_required"), "{location}");
}

#[test]
fn redirects_that_run_code_or_read_files() {
    let (_home, server) = with_owner();
    let known = Asking::registered(&server);
    for evil in [
        "javascript:alert(1)",
        "JAVASCRIPT:alert(1)",
        "data:text/html,<script>alert(1)</script>",
        "vbscript:x",
        "file:///etc/passwd",
        "blob:http://127.0.0.1/x",
        "about:blank",
        "http://evil.example/cb",
        "https://a.example/cb#token",
        "https://user:pass@a.example/cb",
    ] {
        let answer = register(&server, &json!({ "redirect_uris": [REDIRECT, evil] }));
        assert_eq!(error(&answer), "400 invalid_redirect_uri", "{evil}");
        let answer = Browser::new(&server).get(&known.address_with(&[("redirect_uri", evil)]));
        assert_eq!((answer.status, answer.headers.get("location")), (400, None), "{evil}");
    }
    for wrong in
        [json!({}), json!({ "redirect_uris": [] }), json!({ "redirect_uris": "x" }), json!(3)]
    {
        assert_eq!(register(&server, &wrong).status, 400, "{wrong}");
    }
}

#[test]
fn ports_of_this_machine_are_free_and_nothing_else_is() {
    let (_home, server) = with_owner();
    let browser = Browser::signed_in(&server, "olga");
    let metadata = json!({ "token_endpoint_auth_method": "none",
        "redirect_uris": ["http://localhost/callback", "https://app.example/cb", "cursor://anysphere.cursor-mcp/cb"] });
    let client = register(&server, &metadata).json()["client_id"].as_str().unwrap().to_owned();
    let asking = Asking { client, ..Asking::registered(&server) };
    let status = |uri: &str| browser.get(&asking.address_with(&[("redirect_uri", uri)])).status;
    for good in [
        "http://localhost:1/callback",
        "http://localhost/callback",
        "https://app.example/cb",
        "cursor://anysphere.cursor-mcp/cb",
    ] {
        assert_eq!(status(good), 200, "{good}");
    }
    for bad in [
        "http://127.0.0.1:1/callback",
        "https://localhost:1/callback",
        "http://localhost:1/Callback",
        "https://app.example:444/cb",
        "http://app.example/cb",
        "cursor://evil/cb",
    ] {
        assert_eq!(status(bad), 400, "{bad}");
    }
}

#[test]
fn a_flood_of_registrations() {
    let (home, server) = with_owner();
    let metadata = json!({ "client_name": "x", "redirect_uris": [REDIRECT], "token_endpoint_auth_method": "none" });
    let statuses: Vec<u16> = (0..40).map(|_| register(&server, &metadata).status).collect();
    assert_eq!(statuses.iter().filter(|status| **status == 201).count(), 30, "{statuses:?}");
    let refused = register(&server, &metadata);
    assert_eq!(refused.status, 429);
    assert!(refused.headers["retry-after"].parse::<u64>().unwrap() > 1);
    let large = json!({ "client_name": "x".repeat(100_000), "redirect_uris": [REDIRECT] });
    assert!([413, 429].contains(&register(&server, &large).status));
    // A client that nobody connected is forgotten after a day.
    let known = |id: &str| app(&home).store.oauth.client(id).unwrap().is_some();
    let id = sql(&home.data(), "SELECT id FROM oauth_clients LIMIT 1").remove(0);
    assert!(known(&id));
    change(&home, "UPDATE oauth_clients SET created = created - 86400001");
    assert!(!known(&id));
    let fields =
        [("grant_type", "refresh_token"), ("refresh_token", "x"), ("client_id", id.as_str())];
    assert_eq!(error(&token(&server, &fields)), "401 invalid_client", "the client registers anew");
}

#[test]
fn finding_out_who_has_an_account() {
    let (_home, server) = with_owner();
    let attempt = |name: &str| {
        let begun = Instant::now();
        let fields = [("name", name), ("password", "not the password")];
        let answer = Browser::new(&server).post("/sign-in", &fields);
        (begun.elapsed(), answer.status, answer.body.replace(name, "NAME"))
    };
    let known: Vec<_> = (0..2).map(|_| attempt("olga")).collect();
    let unknown: Vec<_> = (0..2).map(|_| attempt("nobody")).collect();
    assert_eq!((known[0].1, &known[0].2), (401, &unknown[0].2), "the same words");
    assert_eq!(unknown[0].1, 401);
    let fastest = |all: &[(Duration, u16, String)]| all.iter().map(|one| one.0).min().unwrap();
    let (known, unknown) = (fastest(&known), fastest(&unknown));
    assert!(unknown * 6 > known, "a password is checked either way: {unknown:?}, {known:?}");
}

#[test]
fn guessing_a_password_gets_slower() {
    let (_home, server) = with_owner();
    let guess = |name: &str| {
        Browser::new(&server).post("/sign-in", &[("name", name), ("password", "guess")])
    };
    let answers: Vec<Answer> = (0..12).map(|_| guess("rita")).collect();
    let refused = answers.iter().find(|answer| answer.status == 429).expect("a refusal");
    assert!(refused.headers["retry-after"].parse::<u64>().unwrap() >= 1);
    let nobody: Vec<u16> = (0..12).map(|_| guess("nobody").status).collect();
    assert!(nobody.contains(&429), "unknown names are no exception: {nobody:?}");
}

#[test]
fn guessing_tokens_gets_slower_and_a_right_one_still_works() {
    let (home, server) = with_owner();
    let asking = Asking::registered(&server);
    let tokens = asking.connect(&Browser::signed_in(&server, "olga"));
    let owner = home.token("owner");
    let statuses: Vec<u16> = (0..35)
        .map(|n| match n % 2 {
            0 => asking.refresh(&server, "nwr_guess").status,
            _ => list_tools(&server, "/mcp", "nw_guess").status,
        })
        .collect();
    assert_eq!(*statuses.last().unwrap(), 429, "{statuses:?}");
    let refused = asking.refresh(&server, "nwr_guess");
    assert_eq!(refused.status, 429);
    assert!(refused.headers["retry-after"].parse::<u64>().unwrap() >= 1);
    assert_eq!(list_tools(&server, "/mcp", &tokens.access).status, 200);
    assert_eq!(list_tools(&server, "/mcp", &owner).status, 200);
    assert_eq!(asking.refresh(&server, &tokens.refresh).status, 200);
    // A client whose token has ended is no guesser: it has to see the 401 to refresh.
    change(&home, "UPDATE tokens SET expires = 1 WHERE connection IS NOT NULL");
    for _ in 0..3 {
        let answer = list_tools(&server, "/mcp", &tokens.access);
        assert_eq!(answer.status, 401);
        assert!(answer.headers["www-authenticate"].contains("resource_metadata"));
    }
}

fn opened_session(server: &Server, path: &str, token: &str) -> String {
    let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } } });
    let bearer = format!("Bearer {token}");
    let headers =
        [("Authorization", bearer.as_str()), ("Accept", "application/json, text/event-stream")];
    let answer = server.send("POST", path, &headers, hello.to_string().as_bytes());
    assert_eq!(answer.status, 200, "{}", answer.body);
    answer.headers["mcp-session-id"].clone()
}

fn ping(server: &Server, path: &str, token: &str, session: &str) -> u16 {
    let bearer = format!("Bearer {token}");
    let headers = [
        ("Authorization", bearer.as_str()),
        ("Mcp-Session-Id", session),
        ("MCP-Protocol-Version", "2025-06-18"),
        ("Accept", "application/json, text/event-stream"),
    ];
    server.send("POST", path, &headers, br#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#).status
}

#[test]
fn the_session_of_one_user_with_the_token_of_another() {
    let (home, server) = with_owner();
    let asking = Asking::registered(&server);
    let olga = asking.connect(&Browser::signed_in(&server, "olga"));
    let rita = asking.connect(&Browser::signed_in(&server, "rita"));
    let session = opened_session(&server, "/mcp", &olga.access);
    assert_eq!(ping(&server, "/mcp", &olga.access, &session), 200);
    assert_eq!(ping(&server, "/mcp", &rita.access, &session), 404);
    let bearer = format!("Bearer {}", rita.access);
    let headers = [
        ("Authorization", bearer.as_str()),
        ("Mcp-Session-Id", session.as_str()),
        ("Accept", "text/event-stream"),
    ];
    assert_eq!(server.send("GET", "/mcp", &headers, b"").status, 404, "its stream");
    assert_eq!(server.send("DELETE", "/mcp", &headers, b"").status, 404, "its end");
    assert_eq!(ping(&server, "/mcp", &olga.access, &session), 200);
    // A refresh keeps the session: it is the client's, whatever its token is.
    let renewed = Tokens::of(&asking.refresh(&server, &olga.refresh));
    assert_eq!(ping(&server, "/mcp", &renewed.access, &session), 200);
    // HTTP+SSE, with tokens that people made.
    let (mine, theirs) =
        (user_token(&home, "olga", Scopes::ALL), user_token(&home, "rita", Scopes::ALL));
    let bearer = format!("Bearer {mine}");
    let mut stream = server.open("GET", "/_system/sse", &[("Authorization", &bearer)], b"");
    let address = endpoint(&mut stream);
    let body = br#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    let post = |token: &str| {
        let bearer = format!("Bearer {token}");
        server.send("POST", &address, &[("Authorization", &bearer)], body).status
    };
    assert_eq!((post(&theirs), post(&mine)), (404, 202));
    assert_eq!(server.send("POST", &address, &[], body).status, 404, "nor without a token");
}

/// Reads a stream up to the address that it names to post to.
fn endpoint(stream: &mut std::net::TcpStream) -> String {
    let mut text = String::new();
    let end = Instant::now() + PATIENCE;
    while !text.contains("data: /") || !text.ends_with('\n') {
        assert!(Instant::now() < end, "no endpoint in {text}");
        let mut bytes = [0; 1024];
        let size = stream.read(&mut bytes).unwrap();
        text += &String::from_utf8_lossy(&bytes[..size]);
    }
    let line = text.lines().find(|line| line.starts_with("data: /")).unwrap();
    line.trim_start_matches("data: ").trim().to_owned()
}

/// What a client opened ends when its user ends the connection, or is removed.
#[test]
fn a_stream_outlives_its_consent() {
    let (home, server) = with_owner();
    let asking = Asking::registered(&server);
    let open = |name: &str| {
        let tokens = asking.connect(&Browser::signed_in(&server, name));
        let session = opened_session(&server, "/mcp", &tokens.access);
        let bearer = format!("Bearer {}", tokens.access);
        let headers = [
            ("Authorization", bearer.as_str()),
            ("Mcp-Session-Id", session.as_str()),
            ("MCP-Protocol-Version", "2025-06-18"),
            ("Accept", "text/event-stream"),
        ];
        (tokens, session.clone(), server.open("GET", "/mcp", &headers, b""))
    };
    let (olga, session, mut streamed) = open("olga");
    let (rita, _, mut ritas) = open("rita");
    let app = app(&home);
    let connection = |name: &str| {
        let user = app.user(name).unwrap().id;
        app.store.oauth.connections(Some(user)).unwrap()[0].id
    };
    // The token that opened it expires; the stream goes on, because the client can refresh.
    change(&home, "UPDATE tokens SET expires = 1 WHERE connection IS NOT NULL");
    let olga = Tokens::of(&asking.refresh(&server, &olga.refresh));
    std::thread::sleep(Duration::from_millis(2500));
    assert_eq!(ping(&server, "/mcp", &olga.access, &session), 200);
    assert!(app.store.oauth.revoke_connection(connection("olga")).unwrap());
    let mut rest = Vec::new();
    streamed.read_to_end(&mut rest).expect("the stream ends");
    assert_eq!(ping(&server, "/mcp", &olga.access, &session), 401);
    let actor = notewell::app::accounts::Actor::shell();
    app.remove_user(&actor, &app.user("rita").unwrap()).unwrap();
    ritas.read_to_end(&mut rest).expect("the stream ends");
    assert_eq!(list_tools(&server, "/mcp", &rita.access).status, 401);
    assert_eq!(error(&asking.refresh(&server, &rita.refresh)), "400 invalid_grant");
}

/// Nobody makes this server ask a machine that they cannot reach themselves.
#[test]
fn a_client_document_in_a_private_network() {
    let home = Home::new();
    people(&home, &[("olga", Role::Owner)]);
    let server = serve_with(&home, "[oauth]\nfetch_clients = true\n");
    let inside = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    inside.set_nonblocking(true).unwrap();
    let port = inside.local_addr().unwrap().port();
    let asking = Asking::registered(&server);
    let olga = Browser::signed_in(&server, "olga");
    for host in ["127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "0x7f.1"] {
        let client = format!("https://{host}:{port}/client.json");
        let address = asking.address_with(&[("client_id", &client)]);
        let answer = olga.get(&address);
        assert!(answer.status >= 400 && !answer.headers.contains_key("location"), "{host}");
        // For a stranger nothing is even looked up.
        let answer = Browser::new(&server).get(&address);
        assert!(answer.headers["location"].starts_with("/sign-in?"), "{host}");
    }
    let knocked = inside.accept();
    assert!(knocked.is_err(), "{knocked:?}");
}

/// What a stranger calls itself is text, wherever it is shown.
#[test]
fn a_name_that_is_a_script() {
    let (_home, server) = with_owner();
    let name = "<script>alert(1)</script>\u{202e}\n\"'";
    let metadata = json!({ "client_name": name, "redirect_uris": [REDIRECT], "token_endpoint_auth_method": "none" });
    let client = register(&server, &metadata).json()["client_id"].as_str().unwrap().to_owned();
    let asking = Asking { client, ..Asking::registered(&server) };
    let olga = Browser::signed_in(&server, "olga");
    let evil = "\"><script>alert(2)</script>";
    for page in [
        olga.get(&asking.address()),
        olga.get(&asking.address_with(&[("client_id", evil)])),
        olga.get(&asking.address_with(&[("redirect_uri", evil)])),
        Browser::new(&server)
            .get(&format!("/sign-in?{}", crate::browser::query(&[("next", evil)]))),
    ] {
        assert!(
            !page.body.contains("<script>alert") && !page.body.contains('\u{202e}'),
            "{}",
            page.body
        );
    }
}
