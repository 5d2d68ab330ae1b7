//! Behind a proxy callers are distinguished by the address that the proxy names.

use crate::support::{Home, Server, put};

/// The statuses of 40 wrong tokens, each said to come from another address.
fn wrong_tokens(server: &Server) -> Vec<u16> {
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let statuses = (0..40).map(|number| {
        let from = format!("203.0.113.{number}");
        let headers = [
            ("authorization", "Bearer nw_wrong"),
            ("x-forwarded-for", from.as_str()),
            ("content-type", "application/json"),
        ];
        server.send("POST", "/_system/mcp", &headers, body.as_bytes()).status
    });
    statuses.collect()
}

fn serve(home: &Home, server: &str) -> Server {
    let config = home.dir.path().join("proxy.toml");
    put(&config, format!("[server]\n{server}\n"));
    Server::start(home.command(&[
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--config",
        config.to_str().unwrap(),
    ]))
}

#[test]
fn a_spoofed_address_from_an_untrusted_peer_is_ignored() {
    let home = Home::new();
    for config in ["", "trusted_proxies = [\"10.0.0.0/8\"]"] {
        let server = serve(&home, config);
        let statuses = wrong_tokens(&server);
        assert_eq!((statuses[0], statuses[39]), (401, 429), "{config}: {statuses:?}");
        let owner = home.token("owner");
        let answer = server.post_as(&owner, r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
        assert_eq!(answer.status, 200, "a right token is never refused");
    }
}

#[test]
fn one_caller_behind_a_trusted_proxy_does_not_brake_the_others() {
    let home = Home::new();
    for config in
        ["trusted_proxies = [\"127.0.0.1\"]", "public_url = \"https://notes.example.org\""]
    {
        let server = serve(&home, config);
        let statuses = wrong_tokens(&server);
        assert!(statuses.iter().all(|status| *status == 401), "{config}: {statuses:?}");
    }
}

#[test]
fn a_wrong_network_is_named() {
    let home = Home::new();
    let mut command = home.command(&["status"]);
    let output = command.env("NOTEWELL_TRUSTED_PROXIES", "10.0.0.1, 10.0.0.0/99").output().unwrap();
    assert!(String::from_utf8(output.stderr).unwrap().contains("`10.0.0.0/99` is not"));
    let config = home.dir.path().join("proxy.toml");
    put(&config, "[server]\ntrusted_proxies = [\"localhost\"]\n");
    let (ok, _, err) = home.run(&["status", "--config", config.to_str().unwrap()]);
    assert!(!ok && err.contains("`localhost` is not an address or a network"), "{err}");
}

#[test]
fn callers_of_one_network_of_ipv6_are_one_caller() {
    let home = Home::new();
    let config =
        "trusted_proxies = [\"127.0.0.1\"]\nanonymous = \"free\"\n[limits]\ncalls_per_minute = 2";
    let server = serve(&home, config);
    let call = |from: &str| {
        let body = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search","arguments":{"query":"a"}}}"#;
        let headers = [("x-forwarded-for", from), ("content-type", "application/json")];
        server.send("POST", "/_system/mcp", &headers, body.as_bytes()).body
    };
    for from in ["2001:db8::1", "2001:db8::2"] {
        assert!(!call(from).contains("calls_per_minute"), "{from}");
    }
    let refused = call("2001:db8::ffff:3");
    assert!(refused.contains("calls_per_minute"), "{refused}");
    assert!(!call("2001:db8:0:1::1").contains("calls_per_minute"), "a network of its own");
}
