//! Long calls as tasks, for clients that can follow them.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use notewell::{
    domain::Timestamp,
    store::{self, StoreLimits},
};
use serde_json::{Value, json};

use crate::{
    oss::{Forge, good, nothing_left},
    support::{self, Client, Home, until},
};

/// A forge that answers nobody until it is released.
struct Gate(Arc<AtomicBool>);

impl Gate {
    fn forge(home: &Home, more: &str) -> (Self, Forge) {
        let open = Arc::new(AtomicBool::new(false));
        let seen = open.clone();
        let forge = Forge::start(home, move |_| {
            while !seen.load(Ordering::Acquire) {
                std::thread::sleep(Duration::from_millis(20));
            }
            None
        });
        forge.settings(home, &format!("build = false\n{more}"));
        (Self(open), forge)
    }

    fn open(&self) {
        self.0.store(true, Ordering::Release);
    }
}

fn meta(follows: bool) -> Value {
    let extensions = match follows {
        true => json!({ "io.modelcontextprotocol/tasks": {} }),
        false => json!({}),
    };
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": { "extensions": extensions },
        "io.modelcontextprotocol/clientInfo": { "name": "t", "version": "1" },
    })
}

fn ask(client: &mut Client, method: &str, mut params: Value) -> Value {
    params["_meta"] = meta(true);
    client.ask(method, params)
}

fn report(client: &mut Client, url: &str) -> Value {
    let arguments = json!({ "repo_url": url, "verify_if_missing": true });
    let answer = ask(client, "tools/call", json!({ "name": "oss_report", "arguments": arguments }));
    assert!(answer.get("result").is_some(), "{answer}");
    answer["result"].clone()
}

fn task(client: &mut Client, id: &str) -> Value {
    let answer = ask(client, "tasks/get", json!({ "taskId": id }));
    assert!(answer.get("result").is_some(), "{answer}");
    answer["result"].clone()
}

#[test]
fn a_long_call_is_a_task_and_its_result_is_the_calls() {
    let home = Home::new();
    good(&home);
    let (gate, forge) = Gate::forge(&home, "");
    let mut client = home.stdio();
    let created = report(&mut client, &forge.url("good"));
    assert_eq!(created["resultType"], "task", "{created}");
    assert_eq!(created["status"], "working");
    assert!(created["ttlMs"].is_u64() && created["pollIntervalMs"].is_u64());
    let id = created["taskId"].as_str().unwrap().to_owned();
    until("the state is recorded", || {
        let now = task(&mut client, &id);
        assert_eq!((&now["status"], &now["resultType"]), (&json!("working"), &json!("complete")));
        now["statusMessage"].as_str().is_some_and(|message| message.contains(" of "))
    });
    // A client that follows no tasks neither gets one nor reads one.
    let answer = client.ask("tasks/get", json!({ "taskId": id, "_meta": meta(false) }));
    assert_eq!(answer["error"]["code"], -32021, "{answer}");
    let unknown = ask(&mut client, "tasks/get", json!({ "taskId": "nobody" }));
    assert_eq!(unknown["error"]["code"], -32602, "{unknown}");
    gate.open();
    until("the task ends", || task(&mut client, &id)["status"] == "completed");
    let ended = task(&mut client, &id);
    assert_eq!(ended["result"]["structuredContent"]["status"], "verified", "{ended}");
    // What is known is answered at once.
    let known = report(&mut client, &forge.url("good"));
    assert_eq!(known["resultType"], "complete", "{known}");
    assert_eq!(known["structuredContent"]["repoName"], "good");
    // An answer to nothing, and the end of what has ended, change nothing.
    for method in ["tasks/update", "tasks/cancel"] {
        let params = json!({ "taskId": id, "inputResponses": { "x": {} } });
        assert_eq!(ask(&mut client, method, params)["result"], json!({ "resultType": "complete" }));
    }
    assert_eq!(task(&mut client, &id)["status"], "completed");
    // What cannot be verified is a result that the model reads.
    let failed = report(&mut client, &forge.url("absent"));
    let failed = match failed["taskId"].as_str() {
        Some(id) => {
            until("the task ends", || task(&mut client, id)["status"] == "completed");
            task(&mut client, id)["result"].clone()
        }
        None => failed,
    };
    assert_eq!(failed["isError"], true, "{failed}");
    nothing_left(&home);
}

#[test]
fn a_task_that_is_cancelled_ends_and_stops_the_work() {
    let home = Home::new();
    good(&home);
    let (gate, forge) = Gate::forge(&home, "");
    let mut client = home.stdio();
    let id = report(&mut client, &forge.url("good"))["taskId"].as_str().unwrap().to_owned();
    let answer = ask(&mut client, "tasks/cancel", json!({ "taskId": id }));
    assert_eq!(answer["result"], json!({ "resultType": "complete" }), "{answer}");
    until("the task ends", || task(&mut client, &id)["status"] == "cancelled");
    // The work itself ended: there is no report, and no failure to speak of.
    until("the verification ends", || {
        let known = client.call("oss_report", json!({ "repo_url": forge.url("good") }));
        known["structuredContent"]["status"] == "missing"
    });
    let known = client.call("oss_report", json!({ "repo_url": forge.url("good") }));
    assert!(!known.to_string().contains("failed"), "{known}");
    gate.open();
    // It can be asked for again.
    let again = report(&mut client, &forge.url("good"));
    if let Some(id) = again["taskId"].as_str() {
        until("the task ends", || task(&mut client, id)["status"] == "completed");
    }
    nothing_left(&home);
}

#[test]
fn a_task_outlives_its_process() {
    let home = Home::new();
    good(&home);
    let (gate, forge) = Gate::forge(&home, "");
    let mut client = home.stdio();
    let id = report(&mut client, &forge.url("good"))["taskId"].as_str().unwrap().to_owned();
    // Another process answers for it meanwhile.
    let mut other = home.stdio();
    assert_eq!(task(&mut other, &id)["status"], "working");
    // Killed, not asked to end.
    drop(client);
    let store = store::open(&support::store(&home.data()), StoreLimits::default()).unwrap();
    store
        .tasks
        .change(&id, &mut |task| {
            task.alive = Timestamp(task.alive.0 - 60_000);
            true
        })
        .unwrap();
    gate.open();
    until("the task is taken up and ends", || task(&mut other, &id)["status"] == "completed");
    let ended = task(&mut other, &id);
    assert_eq!(ended["result"]["structuredContent"]["status"], "verified", "{ended}");
    // What was asked for is not kept any longer.
    assert_eq!(store.tasks.get(&id).unwrap().unwrap().arguments, None);
}

#[test]
fn a_task_is_its_callers_alone_and_one_caller_has_so_many() {
    let home = Home::new();
    good(&home);
    let (_gate, forge) = Gate::forge(&home, "jobs = 4\n[limits]\ntasks = 1\n");
    let mut client = home.stdio();
    let id = report(&mut client, &forge.url("good"))["taskId"].as_str().unwrap().to_owned();
    let arguments = json!({ "repo_url": forge.url("other"), "verify_if_missing": true });
    let refused =
        ask(&mut client, "tools/call", json!({ "name": "oss_report", "arguments": arguments }));
    let message = refused["error"]["message"].as_str().unwrap_or_default();
    assert!(message.contains("limits.tasks"), "{refused}");
    // Another token, though it is the owner's too, knows nothing of it.
    let server = home.serve();
    let token = home.token("owner");
    let bearer = format!("Bearer {token}");
    for method in ["tasks/get", "tasks/cancel", "tasks/update"] {
        let params = json!({ "taskId": id, "inputResponses": {}, "_meta": meta(true) });
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let headers = [
            ("Authorization", bearer.as_str()),
            ("MCP-Protocol-Version", "2026-07-28"),
            ("Mcp-Method", method),
            ("Mcp-Name", id.as_str()),
            ("Accept", "application/json, text/event-stream"),
            ("Content-Type", "application/json"),
        ];
        let answer = server.send("POST", "/_system/mcp", &headers, body.to_string().as_bytes());
        assert!(answer.body.contains("-32602"), "{method}: {}", answer.body);
    }
    assert_eq!(task(&mut client, &id)["status"], "working");
}

#[test]
fn the_owner_has_long_work_done_as_tasks() {
    let home = Home::new();
    home.note("a.md", "# Coffee\n\nSlow coffee.\n");
    let export = r#"[{"url":"https://example.org/чай","title":"Чай"},{"url":"https://example.org/茶","title":"お茶"}]"#;
    home.note("exports/links.json", export);
    std::fs::write(home.dir.path().join("outside.json"), export).unwrap();
    let mut client = home.stdio();
    // It is there for clients that follow tasks, and nobody else pays for its description.
    let names = |client: &mut Client, follows: bool| -> Vec<Value> {
        let answer = client.ask("tools/list", json!({ "_meta": meta(follows) }));
        let tools = answer["result"]["tools"].as_array().unwrap().iter();
        tools.map(|tool| tool["name"].clone()).collect()
    };
    assert!(names(&mut client, true).contains(&json!("maintain")));
    assert!(!names(&mut client, false).contains(&json!("maintain")));
    let call = |client: &mut Client, arguments: Value| {
        ask(client, "tools/call", json!({ "name": "maintain", "arguments": arguments }))
    };
    let done = |client: &mut Client, arguments: Value| -> Value {
        let answer = call(client, arguments);
        let answer = answer.get("result").unwrap_or_else(|| panic!("{answer}")).clone();
        let Some(id) = answer["taskId"].as_str() else { return answer };
        until("the task ends", || task(client, id)["status"] == "completed");
        task(client, id)["result"].clone()
    };
    let said = |result: &Value| result["content"][0]["text"].as_str().unwrap().to_owned();
    let imported = done(&mut client, json!({ "job": "import", "path": "exports/links.json" }));
    assert!(said(&imported).contains("2 added"), "{imported}");
    let again = done(&mut client, json!({ "job": "import", "path": "vault/exports/links.json" }));
    assert!(said(&again).contains("0 added") && said(&again).contains("2 unchanged"), "{again}");
    let rebuilt = done(&mut client, json!({ "job": "rebuild" }));
    assert!(said(&rebuilt).contains("made anew"), "{rebuilt}");
    let found = client.call("search", json!({ "query": "お茶" }));
    assert!(found.to_string().contains("example.org"), "{found}");
    // Only files of a vault, and a clear word where something is missing.
    for (arguments, part) in [
        (json!({ "job": "import", "path": "../outside.json" }), "no vault has a file"),
        (json!({ "job": "import", "path": "/etc/passwd" }), "no vault has a file"),
        (json!({ "job": "import" }), "needs `path`"),
        (json!({ "job": "rebuild", "path": "x" }), "belongs to"),
        (json!({ "job": "judge" }), "[llm]"),
        (json!({ "job": "sing" }), "sing"),
    ] {
        let answer = call(&mut client, arguments);
        let message = answer["error"]["message"].as_str().unwrap_or_default();
        assert!(message.contains(part), "{part}: {answer}");
    }
    let params =
        json!({ "name": "maintain", "arguments": { "job": "rebuild" }, "_meta": meta(false) });
    assert_eq!(client.ask("tools/call", params)["error"]["code"], -32021);
    // At the shell there is no need for a task.
    assert!(home.say(&["call", "maintain", r#"{"job":"rebuild"}"#]).contains("made anew"));
}
