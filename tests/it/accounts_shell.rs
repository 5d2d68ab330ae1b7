//! Users, grants, tokens and the audit log at the shell.

use std::{
    io::{BufRead, BufReader, Write},
    process::Stdio,
};

use serde_json::{Value, json};

use crate::support::{Home, Server};

/// Runs a command with this text on stdin: status, stdout, stderr.
fn run_with(home: &Home, arguments: &[&str], stdin: &str) -> (bool, String, String) {
    let mut command = home.command(arguments);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(stdin.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    (
        output.status.success(),
        String::from_utf8(output.stdout).unwrap(),
        String::from_utf8(output.stderr).unwrap(),
    )
}

fn list(home: &Home, arguments: &[&str]) -> Value {
    serde_json::from_str(&home.say(arguments)).unwrap()
}

fn refused(home: &Home, arguments: &[&str]) -> String {
    let (ok, out, err) = home.run(arguments);
    assert!(!ok && out.is_empty(), "{arguments:?}: {out}");
    err
}

#[test]
fn users_are_added_listed_changed_and_removed() {
    let home = Home::new();
    let (ok, out, err) = run_with(
        &home,
        &["user", "add", "Mira", "--role", "owner", "--password-stdin"],
        "correct horse\n",
    );
    assert!(ok && out.contains("User `mira` (owner) is added."), "{out}{err}");
    let (ok, out, err) = home.run(&["user", "add", "taro", "--display-name", "山田 太郎"]);
    assert!(ok && out.contains("(reader)"), "{out}");
    assert!(err.contains("has no password and cannot sign in"), "{err}");
    let users = list(&home, &["user", "list", "--json"]);
    assert_eq!(users[0]["name"], "mira");
    assert_eq!((&users[0]["password"], &users[1]["password"]), (&json!(true), &json!(false)));
    assert_eq!(users[1]["display_name"], "山田 太郎");
    assert!(home.say(&["user", "list"]).contains("taro\treader\t山田 太郎\tno password"));
    assert!(!home.say(&["user", "list", "--json"]).contains("argon2"), "no hash is shown");

    assert!(home.say(&["user", "role", "taro", "author"]).contains("is now an author"));
    for (arguments, why) in [
        (&["user", "role", "mira", "reader"][..], "only owner"),
        (&["user", "remove", "mira"], "only owner"),
        (&["user", "add", "MIRA"], "already a user `mira`"),
        (&["user", "add", "a b"], "cannot be a user's name"),
        (&["user", "role", "nobody", "reader"], "no user `nobody`"),
        (&["user", "role", "taro", "boss"], "not one of"),
        (&["user", "role", "taro", "anonymous"], "have no account"),
        (&["user", "password", "taro"], "--password-stdin"),
    ] {
        let err = refused(&home, arguments);
        assert!(err.contains(why), "{arguments:?}: {err}");
    }
    let password = &["user", "password", "taro", "--password-stdin"];
    let (ok, _, err) = run_with(&home, password, "short\n");
    assert!(!ok && err.contains("5 of at least 10 characters"), "{err}");
    let (ok, _, err) = run_with(&home, password, "");
    assert!(!ok && err.contains("stdin has no password"), "{err}");
    let (ok, out, _) = run_with(&home, password, "парольпароль\r\n");
    assert!(ok && out.contains("is changed"), "{out}");
    assert!(home.say(&["user", "remove", "taro"]).contains("is removed"));
    assert_eq!(list(&home, &["user", "list", "--json"]).as_array().unwrap().len(), 1);
}

#[test]
fn grants_name_parts_of_the_library() {
    let home = Home::new();
    home.note("recipes/soup.md", "---\nauthor: Мира\n---\n# Soup\n#еда");
    home.say(&["user", "add", "ann"]);
    for (arguments, what) in [
        (
            &["--folder", "vault/recipes", "--write"][..],
            "read and write the folder `vault/recipes`",
        ),
        (&["--whole-vault", "vault"], "read the vault `vault`"),
        (&["--label", "#Еда"], "read the label `еда`"),
        (&["--author", "МИРА"], "read the author `мира`"),
        (&["--kind", "cards"], "read all cards"),
        (&["--all"], "read everything"),
    ] {
        let arguments: Vec<&str> =
            ["grant", "add", "ann"].iter().chain(arguments).copied().collect();
        let (ok, out, err) = home.run(&arguments);
        assert!(ok && out.contains(what), "{out}{err}");
        assert!(!err.contains("Check the name"), "{err}");
    }
    for (arguments, doubt) in [
        (["--folder", "vault/料理"], "no page is in the folder `料理`"),
        (["--label", "суп"], "label `суп`"),
        (["--author", "eve"], "author `eve`"),
    ] {
        let arguments: Vec<&str> =
            ["grant", "add", "ann"].iter().chain(&arguments).copied().collect();
        let (ok, _, err) = home.run(&arguments);
        assert!(ok && err.contains("Check the name") && err.contains(doubt), "{err}");
    }
    let grants = list(&home, &["grant", "list", "ann", "--json"]);
    assert_eq!(grants.as_array().unwrap().len(), 9);
    assert_eq!((&grants[0]["part"], &grants[0]["write"]), (&json!("folder"), &json!(true)));
    home.say(&["grant", "add", "ann", "--folder", "vault/recipes/"]);
    let grants = list(&home, &["grant", "list", "--json"]);
    assert_eq!(grants.as_array().unwrap().len(), 9, "the same part again");
    assert_eq!(grants[0]["write"], false, "without the right to write");

    for (arguments, why) in [
        (&["grant", "add", "ann", "--whole-vault", "nots"][..], "there is `vault`"),
        (&["grant", "add", "ann", "--folder", "nots/x"], "no vault is called `nots`"),
        (&["grant", "add", "ann", "--folder", "vault/../x"], "not the path of a folder"),
        (&["grant", "add", "ann", "--folder", "vault"], "names no folder"),
        (&["grant", "add", "eve", "--all"], "no user `eve`"),
        (&["grant", "add", "ann"], "required"),
        (&["grant", "add", "ann", "--all", "--kind", "cards"], "cannot be used with"),
        (&["grant", "remove", "ann", "--kind", "prompts"], "no such grant"),
        (&["grant", "remove", "--id", "99"], "no such grant"),
    ] {
        let err = refused(&home, arguments);
        assert!(err.contains(why), "{arguments:?}: {err}");
    }
    home.say(&["grant", "remove", "ann", "--kind", "cards"]);
    let id = grants[0]["id"].to_string();
    assert!(home.say(&["grant", "remove", "--id", &id]).contains("`ann` may no longer read"));
    assert_eq!(list(&home, &["grant", "list", "--json"]).as_array().unwrap().len(), 7);
    assert!(!home.say(&["grant", "list"]).contains("cards"));
}

#[test]
fn tokens_belong_to_users_and_the_old_form_stays() {
    let home = Home::new();
    home.say(&["user", "add", "ann"]);
    home.say(&["token", "create", "--scope", "owner", "--name", "laptop"]);
    let out = home.say(&[
        "token",
        "create",
        "--user",
        "ann",
        "--scope",
        "read, write",
        "--expires",
        "90d",
        "--name",
        "phone",
    ]);
    assert!(out.contains("(ann: read write)"), "{out}");
    let listed = home.say(&["token", "list"]);
    assert!(listed.contains("1\towner\tlaptop\tvalid"), "{listed}");
    assert!(listed.contains("2\tann: read write\tphone\tvalid"), "{listed}");
    let tokens = list(&home, &["token", "list", "--json"]);
    assert_eq!((&tokens[0]["user"], &tokens[1]["user"]), (&Value::Null, &json!("ann")));
    for (arguments, why) in [
        (&["token", "create", "--scope", "read"][..], "needs `--user NAME`"),
        (&["token", "create", "--scope", "boss"], "not one of owner, reader"),
        (
            &["token", "create", "--user", "ann", "--scope", "owner"],
            "not one of read, write, market",
        ),
        (&["token", "create", "--user", "ann", "--scope", ","], "has no scope"),
        (&["token", "create", "--user", "eve"], "no user `eve`"),
        (&["token", "create"], "--scope"),
    ] {
        let err = refused(&home, arguments);
        assert!(err.contains(why), "{arguments:?}: {err}");
    }
    home.say(&["user", "remove", "ann"]);
    assert!(home.say(&["token", "list"]).contains("2\tann: read write\tphone\trevoked"));
}

#[test]
fn the_audit_log_names_who_did_what() {
    let home = Home::new();
    home.say(&["user", "add", "ann"]);
    home.say(&["grant", "add", "ann", "--all"]);
    home.say(&["token", "create", "--user", "ann"]);
    home.say(&["token", "revoke", "1"]);
    home.say(&["user", "add", "taro"]);
    refused(&home, &["user", "add", "taro"]);
    let log = list(&home, &["audit", "--json"]);
    let actions: Vec<(&str, &str)> = log
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| (entry["action"].as_str().unwrap(), entry["outcome"].as_str().unwrap()))
        .collect();
    assert_eq!(
        actions,
        [
            ("user_add", "failed"),
            ("user_add", "ok"),
            ("token_revoke", "ok"),
            ("token_create", "ok"),
            ("grant_add", "ok"),
            ("user_add", "ok"),
        ]
    );
    assert_eq!((&log[0]["who"], &log[0]["address"]), (&json!("owner"), &json!("shell")));
    assert_eq!(list(&home, &["audit", "--user", "ann", "--json"]).as_array().unwrap().len(), 3);
    assert_eq!(home.say(&["audit", "--limit", "2"]).lines().count(), 2);
    let (_, _, err) = home.run(&["audit", "--user", "nobody"]);
    assert!(err.contains("no entry of `nobody`"), "{err}");
    let (ok, _, err) = home.run(&["audit", "--limit", "0"]);
    assert!(!ok && err.contains("limit `0` is not between 1 and 100000"), "{err}");
}

/// What a server writes on its console until it listens.
fn console(home: &Home) -> String {
    let mut command = home.command(&["serve", "--listen", "127.0.0.1:0"]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.contains("listening"), "{line}");
    child.kill().unwrap();
    let output = child.wait_with_output().unwrap();
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn serve_shows_the_set_up_code_until_an_owner_has_a_password() {
    let home = Home::new();
    let text = console(&home);
    let line = text.lines().find(|line| line.contains("/setup")).expect(&text);
    let code = line.split_whitespace().last().unwrap();
    assert_eq!((code.len(), code.as_bytes()[4]), (9, b'-'), "{line}");
    assert!(!line.starts_with('{'), "a line for people, not a log record: {line}");
    assert_eq!(text.matches(code).count(), 1, "and in no log record: {text}");
    home.say(&["user", "add", "ann", "--role", "owner"]);
    assert!(console(&home).contains("/setup"), "ann cannot sign in");
    run_with(&home, &["user", "password", "ann", "--password-stdin"], "correct horse");
    assert!(!console(&home).contains("/setup"));
}

#[test]
fn calls_of_one_user_are_limited_and_the_owner_is_not() {
    let home = Home::new();
    home.say(&["user", "add", "ann"]);
    let token =
        |arguments: &[&str]| home.say(arguments).split_whitespace().last().unwrap().to_owned();
    let ann = [0; 2].map(|_| token(&["token", "create", "--user", "ann"]));
    let owner = home.token("owner");
    let config = home.dir.path().join("limits.toml");
    crate::support::put(&config, "[limits]\ncalls_per_minute = 6\n");
    let server = Server::start(home.command(&[
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--config",
        config.to_str().unwrap(),
    ]));
    let body = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "search", "arguments": {"query": "soup"}},
    });
    let call = |token: &str| server.post_as(token, &body.to_string()).json();
    for _ in 0..20 {
        assert!(call(&owner)["error"].is_null());
    }
    let answers: Vec<Value> = (0..10).map(|number| call(&ann[number % 2])).collect();
    assert!(answers[..6].iter().all(|answer| answer["error"].is_null()), "{answers:?}");
    let refused = &answers[9]["error"];
    assert!(
        refused["message"].as_str().unwrap().contains("`limits.calls_per_minute` (6)"),
        "{refused}"
    );
    assert!(refused["data"]["retry_after_seconds"].as_u64().unwrap() >= 1, "{refused}");
}
