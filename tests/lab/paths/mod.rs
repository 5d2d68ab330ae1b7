//! The write paths: what each changes, through which door, and how its state is read back.
//!
//! The changes of a path touch different items, so each can be there or not without the others.

mod items;
mod notes;
mod people;

use std::{collections::BTreeMap, fs, process::Stdio};

use serde_json::{Value, json};

pub use self::{
    items::{bookmarks, cards, prompts},
    notes::{history, index, moves, pages},
    people::{hosted, ledger, tokens, users},
};
use crate::{
    bench::{Bench, names, panicked},
    session::{Door, Request, Session},
};

/// What a library holds, as far as a path is concerned.
pub type State = BTreeMap<String, String>;

pub struct Path {
    pub name: &'static str,
    pub door: Door,
    /// For callers over HTTP.
    pub token: String,
    pub requests: Vec<Request>,
    pub observe: fn(&Bench, &mut Session) -> State,
}

/// Calls a tool of a library at rest.
fn call(session: &mut Session, method: &str, params: &Value) -> Value {
    let Session::Stdio(client) = session else { panic!("only over stdio") };
    let answer = client.try_ask(method, params).expect("an answer");
    assert!(answer.get("result").is_some(), "{method}: {answer}");
    answer["result"].clone()
}

fn tool(session: &mut Session, name: &str, arguments: Value) -> Value {
    let params = json!({ "name": name, "arguments": arguments });
    call(session, "tools/call", &params)["structuredContent"].clone()
}

/// A session to make a library with.
fn stdio(bench: &Bench) -> Session {
    Session::start(bench, Door::Stdio, "", false, false).expect("the program starts")
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn first_word(text: &Value) -> String {
    text.as_str().unwrap_or_default().split(' ').next().unwrap_or_default().to_owned()
}

/// Which items of a kind a search finds, by their name.
fn search(session: &mut Session, kind: &str, name: &str, state: &mut State) {
    let query = json!({ "query": format!("common kind:{kind}"), "limit": 50 });
    for result in list(&tool(session, "search", query)["results"]) {
        state.insert(format!("found {}", first_word(&result[name])), String::new());
    }
}

/// The files of the vault, byte for byte.
fn files(bench: &Bench, state: &mut State) {
    let root = bench.home().join("vault");
    let mut all = Vec::new();
    names(&root, &mut all);
    for path in all {
        let name = path.trim_start_matches(root.to_str().unwrap()).to_owned();
        // `Bench::leftovers` looks for those.
        if name.contains("/.notewell-") {
            continue;
        }
        let bytes = fs::read(&path).unwrap();
        state.insert(format!("file {name}"), String::from_utf8_lossy(&bytes).into_owned());
    }
}

fn rows(bench: &Bench, command: &[&str]) -> Vec<Value> {
    let printed = bench.say(command);
    serde_json::from_str(&printed).unwrap_or_else(|error| panic!("{error}: {printed}"))
}

/// The results of a search at the shell, which ends with 1 where there are none.
fn found(bench: &Bench, command: &[&str]) -> Value {
    let output = bench.command(command).stdin(Stdio::null()).stderr(Stdio::piped()).output();
    let output = output.unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    let sound = matches!(output.status.code(), Some(0 | 1)) && !panicked(&error);
    assert!(sound, "{command:?}: {error}");
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    answer["results"].clone()
}
