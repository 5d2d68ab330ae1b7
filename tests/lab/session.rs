//! A running program that changes a library, and one change after another.

use std::{fs, process::Stdio};

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use crate::{
    bench::{Bench, panicked},
    support::{Client, Server},
};

/// How a write path is driven.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Door {
    /// A client on stdin and stdout.
    Stdio,
    /// A server over HTTP.
    Http,
    /// A command for each change.
    Shell,
}

/// One change.
#[derive(Clone)]
pub enum Request {
    Tool(&'static str, Value),
    Shell(Vec<String>),
    Dav {
        method: &'static str,
        path: String,
        to: Option<String>,
        body: String,
    },
    Buy(String),
    /// A person saves files (or removes them), then a command runs.
    Person {
        files: Vec<(String, Option<String>)>,
        then: Vec<String>,
    },
}

/// What came of a change.
#[derive(Debug, PartialEq, Eq)]
pub enum Outcome {
    Done,
    Refused(String),
    /// The program died before it answered.
    Dead,
}

pub enum Session {
    Stdio(Box<Client>),
    Http(Server, String),
    /// With faults or without; with the model of the power or without.
    Shell {
        faulty: bool,
        power: bool,
    },
}

impl Session {
    /// Starts the program; `None` when it ends before it can be asked.
    pub fn start(
        bench: &Bench,
        door: Door,
        token: &str,
        faulty: bool,
        power: bool,
    ) -> Option<Self> {
        let command = |arguments: &[&str]| match faulty {
            true => bench.faulty(arguments, power),
            false => bench.command(arguments),
        };
        match door {
            Door::Stdio => Self::talk(command(&["mcp"])),
            Door::Http => Server::try_start(command(&["serve", "--listen", "127.0.0.1:0"]))
                .map(|server| Self::Http(server, token.to_owned())),
            Door::Shell => Some(Self::Shell { faulty, power }),
        }
    }

    /// A client of a program on stdin and stdout.
    pub fn talk(command: std::process::Command) -> Option<Self> {
        let mut client = Client::start_logging(command);
        let params = json!({ "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": { "name": "lab", "version": "1" } });
        client.try_ask("initialize", &params)?;
        Some(Self::Stdio(Box::new(client)))
    }

    /// Asks for one change.
    pub fn perform(&mut self, bench: &Bench, request: &Request) -> Outcome {
        match (self, request) {
            (Self::Stdio(client), Request::Tool(name, arguments)) => {
                let params = json!({ "name": name, "arguments": arguments });
                client.try_ask("tools/call", &params).map_or(Outcome::Dead, |answer| judge(&answer))
            }
            (Self::Http(server, token), Request::Buy(code)) => {
                let params = json!({ "name": "review", "arguments": { "code": code } });
                let body =
                    json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
                let bearer = format!("Bearer {token}");
                let headers = [("Authorization", bearer.as_str())];
                let answer =
                    server.try_send("POST", "/_system/mcp", &headers, body.to_string().as_bytes());
                answer.map_or(Outcome::Dead, |answer| judge(&answer))
            }
            (Self::Http(server, token), Request::Dav { method, path, to, body }) => {
                let basic = format!("Basic {}", STANDARD.encode(format!("lab:{token}")));
                let place = |path: &str| format!("/_system/dav/team/{path}");
                let to = to.as_ref().map(|to| format!("http://{}{}", server.address, place(to)));
                let mut headers = vec![("Authorization", basic.as_str())];
                headers.extend(to.as_ref().map(|to| ("Destination", to.as_str())));
                match server.try_answer(method, &place(path), &headers, body.as_bytes()) {
                    None => Outcome::Dead,
                    Some(answer) if answer.status < 300 => Outcome::Done,
                    Some(answer) => Outcome::Refused(format!("{} {}", answer.status, answer.body)),
                }
            }
            (Self::Shell { faulty, power }, Request::Shell(arguments)) => {
                shell(bench, arguments, *faulty, *power)
            }
            (Self::Shell { faulty, power }, Request::Person { files, then }) => {
                for (path, text) in files {
                    match text {
                        Some(text) => bench.put(&format!("vault/{path}"), text),
                        None => drop(fs::remove_file(bench.home().join("vault").join(path))),
                    }
                }
                shell(bench, then, *faulty, *power)
            }
            _ => panic!("a request that this door does not take"),
        }
    }

    /// Ends the program as `kill -9` does.
    pub fn kill(self) {
        match self {
            Self::Stdio(mut client) => {
                let _ = client.child.kill();
                let _ = client.child.wait();
            }
            Self::Http(server, _) => drop(server),
            Self::Shell { .. } => {}
        }
    }

    /// Lets the program end by itself.
    pub fn close(self) {
        match self {
            Self::Stdio(client) => drop(client.finish()),
            other => other.kill(),
        }
    }
}

fn judge(answer: &Value) -> Outcome {
    if let Some(error) = answer.get("error") {
        return Outcome::Refused(error["message"].as_str().unwrap_or_default().to_owned());
    }
    match answer["result"]["isError"] == true {
        true => Outcome::Refused(answer["result"]["content"][0]["text"].to_string()),
        false => Outcome::Done,
    }
}

fn shell(bench: &Bench, arguments: &[String], faulty: bool, power: bool) -> Outcome {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let mut command = match faulty {
        true => bench.faulty(&arguments, power),
        false => bench.command(&arguments),
    };
    let output = command.stdin(Stdio::null()).stderr(Stdio::piped()).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!panicked(&error), "{error}");
    // Whoever read the line that it is done may rely on it, whatever came then.
    match output.status.code() {
        Some(0) => Outcome::Done,
        Some(_) => Outcome::Refused(error),
        None if output.stdout.ends_with(b"\n") => Outcome::Done,
        None => Outcome::Dead,
    }
}
