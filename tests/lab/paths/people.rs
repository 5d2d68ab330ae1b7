//! Users, tokens, a hosted vault over WebDAV, and the books.

use std::fs;

use super::{Path, State, found, list, rows};
use crate::{
    bench::{Bench, names},
    session::{Door, Request, Session},
};

fn shell(line: &str) -> Request {
    Request::Shell(line.split(' ').map(str::to_owned).collect())
}

/// How often each kind of change is in the audit log.
fn audit(bench: &Bench, state: &mut State) {
    let all = rows(bench, &["audit", "--limit", "100", "--json"]);
    for row in all.iter().filter(|row| row["outcome"] == "ok") {
        let key = format!("audit {} {}", row["action"], row["subject"]);
        let before = state.get(&key).map_or(0, |count| count.parse::<u32>().unwrap());
        state.insert(key, (before + 1).to_string());
    }
}

pub fn users(bench: &Bench) -> Path {
    for n in 0..5 {
        bench.say(&["user", "add", &format!("u{n}")]);
    }
    bench.say(&["grant", "add", "u0", "--label", "coffee"]);
    bench.say(&["grant", "add", "u3", "--kind", "cards", "--write"]);
    let requests = [
        "user add new0",
        "grant add u1 --label чай",
        "user remove u0",
        "user role u2 author",
        "grant remove u3 --kind cards",
        "user add new1 --role author",
        "grant add u4 --all",
    ]
    .map(shell)
    .to_vec();
    let observe = |bench: &Bench, _: &mut Session| {
        let mut state = State::new();
        for row in rows(bench, &["user", "list", "--json"]) {
            state.insert(format!("user {}", row["name"]), row["role"].to_string());
        }
        for row in rows(bench, &["grant", "list", "--json"]) {
            let key = format!("grant {} {} {}", row["user"], row["part"], row["value"]);
            state.insert(key, row["write"].to_string());
        }
        audit(bench, &mut state);
        state
    };
    Path { name: "users", door: Door::Shell, token: String::new(), requests, observe }
}

pub fn tokens(bench: &Bench) -> Path {
    bench.say(&["user", "add", "ann"]);
    for n in 1..=4 {
        bench.say(&["token", "create", "--scope", "reader", "--name", &format!("t{n}")]);
    }
    let requests = [
        "token create --scope owner --name new0",
        "token revoke 1",
        "token create --user ann --scope read,write --name new1",
        "token revoke 2",
        "token create --scope reader --name new2 --expires 90d",
        "token revoke 3",
        "token create --scope reader --name new3",
    ]
    .map(shell)
    .to_vec();
    let observe = |bench: &Bench, _: &mut Session| {
        let mut state = State::new();
        for row in rows(bench, &["token", "list", "--json"]) {
            let value = format!("{} {}", row["scope"], row["state"]);
            state.insert(format!("token {}", row["name"]), value);
        }
        state
    };
    Path { name: "tokens", door: Door::Shell, token: String::new(), requests, observe }
}

fn token_of(printed: &str) -> String {
    printed.split_whitespace().last().unwrap().to_owned()
}

pub fn hosted(bench: &Bench) -> Path {
    bench.say(&["vault", "create", "team"]);
    let token = token_of(&bench.say(&["token", "create", "--scope", "owner", "--name", "lab"]));
    let dav = |method, path: &str, to: Option<&str>, body: &str| Request::Dav {
        method,
        path: path.to_owned(),
        to: to.map(str::to_owned),
        body: body.to_owned(),
    };
    let mut session = Session::start(bench, Door::Http, &token, false, false).unwrap();
    for n in 0..6 {
        let text = format!("# Note {n}\r\n\ncommon 単語 {n}\n");
        session.perform(bench, &dav("PUT", &format!("n{n}.md"), None, &text));
    }
    session.kill();
    let large = "слово common ".repeat(3_000);
    let requests = vec![
        dav("PUT", "new0.md", None, "# New\n\ncommon\n"),
        dav("PUT", "n0.md", None, "# Note 0\n\nизменено common\n"),
        dav("DELETE", "n1.md", None, ""),
        dav("MOVE", "n2.md", Some("n3.md"), ""),
        dav("PUT", "large.md", None, &large),
        dav("COPY", "n4.md", Some("n5.md"), ""),
        dav("PUT", "picture.png", None, "\u{1}\u{2}PNG"),
    ];
    let observe = |bench: &Bench, _: &mut Session| {
        let mut state = State::new();
        let to = bench.beside("exported");
        let _ = fs::remove_dir_all(&to);
        bench.say(&["export", "vault", "team", to.to_str().unwrap()]);
        let mut all = Vec::new();
        names(&to, &mut all);
        for path in all {
            let bytes = fs::read(&path).unwrap();
            let name = path.trim_start_matches(to.to_str().unwrap()).to_owned();
            state.insert(name, String::from_utf8_lossy(&bytes).into_owned());
        }
        let search = ["search", "common", "--kind", "page", "--limit", "50", "--json"];
        for result in list(&found(bench, &search)) {
            state.insert(format!("found {}", result["path"]), String::new());
        }
        state
    };
    Path { name: "hosted vault", door: Door::Http, token, requests, observe }
}

const METHOD: &str =
    "---\ntitle: Review\nmcp_method: review\nprice: 0.01\n---\nThe checklist for {{code}}.\n";

pub fn ledger(bench: &Bench) -> Path {
    bench.put(
        "notewell.toml",
        "[market]\ndaily_cap = \"1000\"\ndaily_cap_per_token = \"1000\"\n\n[[vault]]\nname = \"mira\"\npath = \"mira\"\nauthor = \"mira\"\n",
    );
    bench.put("mira/review.md", METHOD);
    bench.say(&["user", "add", "mira", "--role", "author"]);
    bench.say(&["user", "add", "ann"]);
    let scopes = ["token", "create", "--user", "ann", "--scope", "read,market"];
    let token = token_of(&bench.say(&scopes));
    bench.say(&["market", "credit", "ann", "1"]);
    bench.say(&["index", "--words"]);
    let requests = (0..7).map(|n| Request::Buy(format!("код{n}"))).collect();
    let observe = |bench: &Bench, _: &mut Session| {
        let mut state = State::new();
        let (mut spent, mut earned) = (0, 0);
        for row in rows(bench, &["market", "balance", "--json"]) {
            let account = row["account"].as_str().unwrap();
            let amount = notewell::domain::Money::parse(row["balance"].as_str().unwrap());
            // The account of the money's origin is below zero, and no concern here.
            let amount = amount.map_or(0, |amount| amount.0);
            match account.split(':').next().unwrap() {
                "user" => spent = 1_000_000 - amount,
                "author" | "platform" => earned += amount,
                "held" => drop(state.insert("held".to_owned(), amount.to_string())),
                _ => {}
            }
        }
        state.retain(|_, amount| amount != "0");
        let usage = rows(bench, &["market", "usage", "--json"]);
        let charged = usage.iter().filter(|row| row["outcome"] == "charged").count();
        assert_eq!(spent, earned, "the books do not balance");
        assert_eq!(spent, 10_000 * i64::try_from(charged).unwrap(), "{usage:?}");
        state.insert("charged".to_owned(), charged.to_string());
        state
    };
    Path { name: "ledger", door: Door::Http, token, requests, observe }
}
