//! Several processes on one PostgreSQL library: what one writes the others find, in the order of
//! the log; what fails heals by itself; nothing acknowledged is lost.

use std::{
    collections::BTreeSet,
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use base64::{Engine, engine::general_purpose::STANDARD};
use notewell::store::{Items, sqlite::Sqlite};
use serde_json::{Value, json};

use crate::{
    cluster::Cluster,
    crash::Dice,
    health::{fill, small_disk},
    support::{Home, Server, notewell, put, until},
};

const WRITERS: usize = 8;

/// A number from the environment, for longer runs than `./test` has time for.
pub fn asked(name: &str, default: usize) -> usize {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// A replica: a process with a data directory of its own.
struct Node {
    home: Home,
    server: Server,
    url: String,
}

fn serve(home: &Home, url: &str) -> Server {
    let config = home.dir.path().join("notewell.toml");
    put(
        &config,
        format!("[server]\nanonymous = \"owner\"\n[store]\nurl = \"{url}\"\ntimeout_seconds = 2\n"),
    );
    let mut command = notewell();
    command.args(["serve", "--listen", "127.0.0.1:0", "--config"]).arg(&config);
    command.arg("--data").arg(home.data()).env("HOME", home.dir.path());
    command.env("NOTEWELL_LOG", "error");
    Server::start(command)
}

impl Node {
    fn start(url: &str) -> Self {
        let home = Home::new();
        let server = serve(&home, url);
        let node = Self { home, server, url: url.to_owned() };
        until("the replica is ready", || node.ready().0 == 200);
        node
    }

    fn ready(&self) -> (u16, String) {
        let answer = self.server.get("/readyz", &[]);
        (answer.status, answer.body)
    }

    /// Ends the process at once, and starts another one on the same data.
    fn kill(&mut self) {
        self.server.child.kill().unwrap();
        self.server.child.wait().unwrap();
        self.server = serve(&self.home, &self.url);
    }

    /// Calls a tool; `None` when there was no whole answer.
    fn try_call(&self, tool: &str, arguments: &Value) -> Option<Value> {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": { "name": tool, "arguments": arguments } });
        self.server.try_send("POST", "/_system/mcp", &[], body.to_string().as_bytes())
    }

    fn call(&self, tool: &str, arguments: Value) -> Value {
        let answer = self.try_call(tool, &arguments).unwrap();
        assert!(answer["result"].is_object(), "{tool}: {answer}");
        answer["result"].clone()
    }

    /// Makes a card; whether that was acknowledged.
    fn write(&self, word: &str) -> bool {
        let content = format!("{word} общее 共通");
        self.try_call("create_note", &json!({ "content": content }))
            .is_some_and(|answer| answer["result"]["structuredContent"]["id"].is_string())
    }

    /// Whether a word is found, and what the answer says beside it.
    fn finds(&self, word: &str) -> (bool, String) {
        let answer = self.call("search", json!({ "query": format!("\"{word}\"") }));
        let answer = &answer["structuredContent"];
        let found = answer["results"].as_array().is_some_and(|results| !results.is_empty());
        (found, answer["notes"].to_string())
    }

    /// The log as this replica has it.
    fn log(&self) -> Vec<(i64, i64)> {
        let file = std::fs::read_dir(self.home.data()).unwrap().find_map(|entry| {
            let path = entry.unwrap().path();
            let name = path.file_name()?.to_str()?.to_owned();
            (name.starts_with("replica-") && name.ends_with(".db")).then_some(path)
        });
        let copy = Sqlite::open(&file.expect("the copy")).unwrap();
        let changes = copy.changes(0, usize::MAX >> 1).unwrap();
        changes.into_iter().map(|(seq, pid)| (seq, pid.0)).collect()
    }
}

fn log_of(cluster: &Cluster) -> Vec<(i64, i64)> {
    let rows = cluster.sql("SELECT seq, pid FROM changes ORDER BY seq");
    let number = |text: &str| text.parse::<i64>().unwrap();
    rows.lines()
        .filter_map(|row| row.split_once('|'))
        .map(|(a, b)| (number(a), number(b)))
        .collect()
}

/// Waits until a replica has the whole log, and compares the two.
fn same_log(cluster: &Cluster, node: &Node) {
    let whole = log_of(cluster);
    until("the replica has the whole log", || {
        node.call("search", json!({ "query": "общее", "limit": 1 }));
        node.log().len() >= whole.len()
    });
    assert_eq!(node.log(), whole);
}

#[test]
fn every_change_is_found_on_both_replicas_in_the_order_of_the_log() {
    let Some(cluster) = Cluster::start() else { return };
    let url = cluster.url("team");
    let nodes = [Node::start(&url), Node::start(&url)];
    let changes = asked("NOTEWELL_CHANGES", 160);
    let (next, waits) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (nodes, next, waits) = (&nodes, &next, &waits);
            scope.spawn(move || {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= changes {
                        return;
                    }
                    let word = format!("слово{number}");
                    let (here, there) = (&nodes[writer % 2], &nodes[1 - writer % 2]);
                    assert!(here.write(&word), "{word}");
                    if number % 10 == 0 {
                        // Read your writes, anywhere: the next search sees it, or says that it lacks it.
                        let begun = Instant::now();
                        loop {
                            let (found, notes) = there.finds(&word);
                            if found {
                                break;
                            }
                            assert!(notes.contains("not in this answer"), "{word}: {notes}");
                        }
                        waits.lock().unwrap().push(begun.elapsed());
                    }
                }
            });
        }
    });
    let mut waits = waits.into_inner().unwrap();
    waits.sort_unstable();
    let p95 = waits[waits.len() * 95 / 100];
    println!(
        "{changes} changes, found on the other replica: p50 {:?}, p95 {p95:?}",
        waits[waits.len() / 2]
    );
    if asked("NOTEWELL_CHANGES", 0) > 0 {
        assert!(p95 <= Duration::from_millis(300), "{p95:?}");
    }
    let pids: BTreeSet<i64> = log_of(&cluster).into_iter().map(|(_, pid)| pid).collect();
    assert!(pids.len() >= changes);
    for node in &nodes {
        same_log(&cluster, node);
        for number in (0..changes).step_by((changes / 100).max(1)) {
            let word = format!("слово{number}");
            assert!(node.finds(&word).0, "{word}");
        }
        let all = node.call("search", json!({ "query": "общее", "limit": 1 }));
        assert!(all["structuredContent"]["totalMatches"].as_u64().unwrap() > 0);
    }
    let status = |node: &Node| {
        let out = node.home.command(&["status", "--json"]).env("NOTEWELL_STORE_URL", &url).output();
        serde_json::from_slice::<Value>(&out.unwrap().stdout).unwrap()["cards"].as_u64().unwrap()
    };
    assert_eq!(status(&nodes[0]), changes as u64);
}

#[test]
fn a_write_says_its_position_and_a_search_is_one_round_trip() {
    let Some(cluster) = Cluster::start() else { return };
    let url = cluster.url("team");
    let (a, b) = (Node::start(&url), Node::start(&url));
    let first = a.call("create_note", json!({ "content": "чай" }));
    let second = b.call("create_note", json!({ "content": "お茶" }));
    let position = |answer: &Value| answer["_meta"]["notewell/position"].as_i64().unwrap();
    assert!(position(&second) > position(&first), "{first} {second}");
    for (word, node) in [("чай", &b), ("お茶", &a), ("чай", &a), ("お茶", &b)] {
        assert!(node.finds(word).0, "{word}");
    }
    // One session of ours is one row here: its statements are transactions of their own.
    let transactions = || -> i64 {
        let count = || -> i64 {
            cluster
                .sql("SELECT pg_stat_force_next_flush(); SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = 'postgres'")
                .lines()
                .last()
                .unwrap()
                .parse()
                .unwrap()
        };
        // Sessions report what they did within a second.
        std::thread::sleep(Duration::from_millis(1_500));
        count()
    };
    const SEARCHES: i64 = 300;
    let idle = {
        let before = transactions();
        transactions() - before
    };
    let before = transactions();
    let begun = Instant::now();
    for _ in 0..SEARCHES {
        a.finds("чай");
    }
    let seconds = begun.elapsed().as_secs_f64() + 1.5;
    let used = transactions() - before;
    let background = (idle as f64 * seconds / 1.5).ceil() as i64;
    println!(
        "{SEARCHES} searches: {used} transactions, of which about {background} in the background"
    );
    assert!(used <= SEARCHES + SEARCHES / 4 + 2 * background, "{used} for {SEARCHES}, idle {idle}");
}

#[test]
fn without_the_store_searches_go_on_and_say_so_and_writes_fail_at_once() {
    let Some(cluster) = Cluster::start() else { return };
    let node = Node::start(&cluster.url("team"));
    node.call(
        "add_bookmark",
        json!({ "url": "https://example.org/t", "text": "зелёный чай 緑茶 tea" }),
    );
    assert!(node.finds("緑茶").0);
    for pause in [false, true] {
        match pause {
            true => cluster.pause(true),
            false => cluster.crash(),
        }
        until("the absence is noticed", || node.ready().1.starts_with("degraded"));
        let (status, said) = node.ready();
        assert_eq!(status, 200, "{said}");
        for word in ["чай", "緑茶", "tea"] {
            let begun = Instant::now();
            let (found, notes) = node.finds(word);
            assert!(found && notes.contains("store does not answer"), "{word}: {notes}");
            assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
        }
        let begun = Instant::now();
        let refused = node.try_call("create_note", &json!({ "content": "lost?" })).unwrap();
        let said = refused.to_string();
        assert!(said.contains("the store") && !said.contains("\"isError\":false"), "{said}");
        assert!(begun.elapsed() < Duration::from_secs(6), "{:?}", begun.elapsed());
        match pause {
            true => cluster.pause(false),
            false => cluster.up(),
        }
        until("the replica heals", || node.ready() == (200, "ready\n".to_owned()));
        let word = if pause { "вернулся" } else { "戻った" };
        until("writes work again", || node.write(word));
        let (found, notes) = node.finds(word);
        assert!(found && !notes.contains("does not answer"), "{notes}");
    }
}

/// Cards, prompts and bookmarks are answered from what was read before, with a word.
#[test]
fn without_the_store_cards_prompts_and_bookmarks_can_be_read() {
    let Some(cluster) = Cluster::start() else { return };
    let url = cluster.url("team");
    let (writer, node) = (Node::start(&url), Node::start(&url));
    let mut ids = Vec::new();
    for (title, content, label) in [
        ("Tea", "green tea, 80 degrees", "drinks"),
        ("Чай", "зелёный чай", "напитки"),
        ("お茶", "緑茶を淹れる", "drinks"),
    ] {
        let card = json!({ "title": title, "content": content, "labels": [label] });
        let made = writer.call("create_note", card);
        ids.push(made["structuredContent"]["id"].as_str().unwrap().to_owned());
    }
    let gone = writer.call("create_note", json!({ "content": "зелёный, deleted" }));
    writer.call("delete_note", json!({ "id": gone["structuredContent"]["id"] }));
    let prompt = json!({ "name": "brew", "title": "Brew", "messages":
        [{ "role": "user", "content": { "type": "text", "text": "How long? 何分" } }] });
    writer.call("create_prompt", prompt);
    writer.call("add_bookmark", json!({ "url": "https://example.org/t", "text": "緑茶 tea" }));
    let reads = [
        ("get_note", json!({ "id": ids[1] })),
        ("get_notes", json!({})),
        ("get_notes", json!({ "search": "TEA", "includeImages": true })),
        ("get_labels", json!({})),
        ("search_notes", json!({ "query": "ЗЕЛЁНЫЙ" })),
        ("search_notes", json!({ "query": "緑茶" })),
        ("get_notes", json!({ "limit": 2 })),
        ("trends", json!({})),
        ("search", json!({ "query": "緑茶" })),
    ];
    let prompts = [
        ("prompts/list", json!({}), "prompts"),
        ("prompts/get", json!({ "name": "brew" }), "messages"),
    ];
    let ask = |method: &str, params: &Value| {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        node.server.post(&body.to_string()).json()["result"].clone()
    };
    // The same log position on the replica that is asked.
    same_log(&cluster, &node);
    let before: Vec<Value> =
        reads.iter().map(|(tool, arguments)| node.call(tool, arguments.clone())).collect();
    let read: Vec<Value> = prompts.iter().map(|(method, params, _)| ask(method, params)).collect();
    assert!(read[1].to_string().contains("何分"), "{}", read[1]);
    cluster.crash();
    until("the absence is noticed", || node.ready().1.starts_with("degraded"));
    for ((method, params, part), before) in prompts.iter().zip(&read) {
        let now = ask(method, params);
        assert_eq!(now[part], before[part], "{method}");
        assert!(now.to_string().contains("store does not answer"), "{method}: {now}");
    }
    for ((tool, arguments), before) in reads.iter().zip(&before) {
        let begun = Instant::now();
        let now = node.call(tool, arguments.clone());
        assert!(now.to_string().contains("store does not answer"), "{tool}: {now}");
        if *tool != "search" {
            assert_eq!(now["structuredContent"], before["structuredContent"], "{tool}");
        }
        assert!(begun.elapsed() < Duration::from_secs(2), "{tool}: {:?}", begun.elapsed());
    }
    for (tool, arguments) in [
        ("update_note", json!({ "id": ids[0], "content": "lost?" })),
        ("delete_prompt", json!({ "name": "brew" })),
    ] {
        let begun = Instant::now();
        let refused = node.try_call(tool, &arguments).unwrap().to_string();
        assert!(refused.contains("the store"), "{tool}: {refused}");
        assert!(begun.elapsed() < Duration::from_secs(6), "{tool}: {:?}", begun.elapsed());
    }
    cluster.up();
    until("the replica heals", || node.ready() == (200, "ready\n".to_owned()));
    let healed = node.call("get_note", json!({ "id": ids[0] }));
    assert_eq!(healed["structuredContent"]["content"], "green tea, 80 degrees");
    assert!(!healed.to_string().contains("does not answer"), "{healed}");
}

/// Files of a hosted vault are not in the copy: whoever asks for one hears why there is none.
#[test]
fn without_the_store_files_of_a_hosted_vault_say_why() {
    let Some(cluster) = Cluster::start() else { return };
    let node = Node::start(&cluster.url("team"));
    let say = |arguments: &[&str]| {
        let mut command = notewell();
        command.args(arguments).arg("--data").arg(node.home.data());
        command.arg("--config").arg(node.home.dir.path().join("notewell.toml"));
        let output = command.env("HOME", node.home.dir.path()).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    say(&["vault", "create", "team"]);
    let made = say(&["token", "create", "--scope", "owner", "--name", "dav"]);
    let token = made.split_whitespace().last().unwrap();
    let basic = format!("Basic {}", STANDARD.encode(format!("any:{token}")));
    let bearer = format!("Bearer {token}");
    let dav = |method: &str, path: &str, body: &[u8]| {
        let headers = [("Authorization", basic.as_str())];
        node.server.send(method, &format!("/_system/dav/team/{path}"), &headers, body)
    };
    assert_eq!(dav("PUT", "pic.png", b"\x89PNG").status, 201);
    assert_eq!(dav("PUT", "tea.md", b"# Tea\n\n![](pic.png) zanzibarine\n").status, 201);
    until("the note is found", || node.finds("zanzibarine").0);
    let found = node.call("search", json!({ "query": "zanzibarine" }));
    let pid = found["structuredContent"]["results"][0]["pid"].as_i64().unwrap();
    let picture = || {
        let headers = [("Authorization", bearer.as_str())];
        node.server.get(&format!("/n/{pid}/file/pic.png"), &headers)
    };
    assert_eq!(picture().status, 200);
    cluster.crash();
    until("the absence is noticed", || node.ready().1.starts_with("degraded"));
    for (what, answer) in [
        ("the picture on a page", picture()),
        ("the picture", dav("GET", "pic.png", b"")),
        ("the note", dav("GET", "tea.md", b"")),
        ("the folder", dav("PROPFIND", "", b"")),
        ("a new file", dav("PUT", "new.md", b"# New\n")),
        ("a move", dav("DELETE", "tea.md", b"")),
    ] {
        assert_eq!(answer.status, 503, "{what}: {}", answer.body);
        // A page begins a sentence with a capital letter.
        assert!(answer.body.to_lowercase().contains("the store"), "{what}: {}", answer.body);
    }
    cluster.up();
    until("the replica heals", || node.ready() == (200, "ready\n".to_owned()));
    assert_eq!((picture().status, dav("GET", "tea.md", b"").status), (200, 200));
}

/// The disk of one replica is full: it answers from the copy as it is and says so, takes writes,
/// which are the store's, and follows again once there is room.
#[test]
fn a_replica_whose_disk_is_full_goes_on_and_says_so() {
    let Some(cluster) = Cluster::start() else { return };
    let url = cluster.url("team");
    let home = Home::new();
    let Some(_disk) = small_disk(&home.data(), "16m") else { return };
    let server = serve(&home, &url);
    let node = Node { home, server, url: url.clone() };
    until("the replica is ready", || node.ready().0 == 200);
    assert!(node.write("раньше"));
    assert!(node.finds("раньше").0);
    fill(&node.home.data());
    let other = Node::start(&url);
    let filler = "слово ".repeat(20_000);
    let mut written = 0;
    until("the copy has no room", || {
        written += 1;
        assert!(other.write(&format!("позже{written} {filler}")));
        node.finds("раньше");
        node.ready().1.contains("the disk is full")
    });
    assert_eq!(node.ready().0, 200);
    let (found, notes) = node.finds("раньше");
    assert!(found && notes.contains("the disk is full"), "{notes}");
    let (_, notes) = node.finds(&format!("позже{written}"));
    assert!(notes.contains("not in this answer"), "{notes}");
    // A write is acknowledged by the store, and the others find it.
    assert!(node.write("здесь"));
    until("the other replica has it", || other.finds("здесь").0);
    std::fs::remove_file(node.home.data().join("filler")).unwrap();
    until("the replica heals", || node.ready() == (200, "ready\n".to_owned()));
    until("it has everything", || node.finds("здесь").0);
    until("and what was written meanwhile", || node.finds(&format!("позже{written}")).0);
    same_log(&cluster, &node);
}

/// Writes on every node until it is stopped; gives the words that were acknowledged.
fn load(
    nodes: &Mutex<Vec<Node>>,
    stop: &AtomicBool,
    written: &AtomicUsize,
    seed: usize,
) -> Vec<String> {
    let end = Instant::now() + Duration::from_secs(3_600);
    let mut acknowledged = Vec::new();
    let mut number = 0;
    while !stop.load(Ordering::Acquire) && Instant::now() < end {
        number += 1;
        let word = format!("груз{seed}x{number}");
        let (address, body) = {
            let nodes = nodes.lock().unwrap();
            let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
                "params": { "name": "create_note", "arguments": { "content": word } } });
            (nodes[number % nodes.len()].server.address.clone(), body.to_string())
        };
        match post(&address, &body) {
            Some(answer) if answer["result"]["structuredContent"]["id"].is_string() => {
                acknowledged.push(word);
                written.fetch_add(1, Ordering::AcqRel);
            }
            _ => std::thread::sleep(Duration::from_millis(20)),
        }
    }
    acknowledged
}

/// Sends a call to an address where nobody may answer any more.
fn post(address: &str, body: &str) -> Option<Value> {
    use std::io::{Read, Write};
    let mut stream = std::net::TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(30))).ok()?;
    let head = format!(
        "POST /_system/mcp HTTP/1.1\r\nHost: {address}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body.as_bytes())).ok()?;
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8(bytes).ok()?;
    serde_json::from_str(text.split_once("\r\n\r\n")?.1).ok()
}

/// Runs `disturb` again and again under load, and then looks for everything acknowledged.
fn survives(
    cluster: &Cluster,
    url: &str,
    rounds: usize,
    mut disturb: impl FnMut(usize, &Mutex<Vec<Node>>),
) {
    let nodes = Mutex::new(vec![Node::start(url), Node::start(url)]);
    let stop = AtomicBool::new(false);
    let written = AtomicUsize::new(0);
    let acknowledged: Vec<String> = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..2)
            .map(|seed| {
                scope.spawn({
                    let (nodes, stop, written) = (&nodes, &stop, &written);
                    move || load(nodes, stop, written, seed)
                })
            })
            .collect();
        let disturbed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            for round in 0..rounds {
                // Each disturbance comes after a write, so each is one that healed.
                let before = written.load(Ordering::Acquire);
                until("a write is acknowledged", || written.load(Ordering::Acquire) > before);
                std::thread::sleep(Duration::from_millis(50));
                disturb(round, &nodes);
            }
        }));
        stop.store(true, Ordering::Release);
        let words = writers.into_iter().flat_map(|writer| writer.join().unwrap()).collect();
        disturbed.unwrap();
        words
    });
    println!("{rounds} rounds, {} writes acknowledged", acknowledged.len());
    assert!(!acknowledged.is_empty());
    let nodes = nodes.into_inner().unwrap();
    for node in &nodes {
        until("the replica is ready", || node.ready().1 == "ready\n");
        same_log(cluster, node);
        for word in &acknowledged {
            until(word, || {
                let (found, notes) = node.finds(word);
                assert!(found || notes.contains("not in this answer"), "{word}: {notes}");
                found
            });
        }
    }
}

#[test]
fn a_killed_replica_loses_nothing() {
    let Some(cluster) = Cluster::start() else { return };
    let mut dice = Dice(0x5eed);
    survives(&cluster, &cluster.url("team"), asked("NOTEWELL_ROUNDS", 4), |_, nodes| {
        let at = dice.roll(2) as usize;
        nodes.lock().unwrap()[at].kill();
    });
}

#[test]
fn a_crash_of_the_store_loses_nothing() {
    let Some(cluster) = Cluster::start() else { return };
    survives(&cluster, &cluster.url("team"), asked("NOTEWELL_ROUNDS", 4), |_, _| {
        cluster.crash();
        std::thread::sleep(Duration::from_millis(100));
        cluster.up();
    });
}

#[test]
fn cut_connections_lose_nothing() {
    let Some(cluster) = Cluster::start() else { return };
    survives(&cluster, &cluster.url("team"), asked("NOTEWELL_ROUNDS", 8), |_, _| {
        cluster.sql("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'");
    });
}

#[test]
fn a_promoted_standby_goes_on() {
    let rounds = asked("NOTEWELL_ROUNDS", 2);
    for _ in 0..rounds {
        let Some(primary) = Cluster::start() else { return };
        // Without this, a primary that dies takes along what the standby has not received.
        primary.sql("ALTER SYSTEM SET synchronous_standby_names = '*'");
        let standby = primary.standby();
        primary.sql("SELECT pg_reload_conf()");
        let url = format!(
            "postgres://nw@127.0.0.1:{},127.0.0.1:{}/postgres?library=team",
            primary.port, standby.port
        );
        let mut primary = Some(primary);
        survives(&standby, &url, 1, |_, _| {
            if let Some(primary) = primary.take() {
                primary.crash();
                standby.promote();
                standby.sql("ALTER SYSTEM RESET synchronous_standby_names");
                standby.sql("SELECT pg_reload_conf()");
            }
        });
    }
}

#[test]
fn vectors_are_computed_once_and_a_new_replica_downloads_them() {
    let Some(cluster) = Cluster::start() else { return };
    let url = cluster.url("team");
    let writer = Node::start(&url);
    let texts =
        ["green tea", "зелёный чай", "緑茶を淹れる", "late frost", "поздние заморозки", "遅霜"];
    for text in texts {
        writer.call("create_note", json!({ "content": text }));
    }
    let index = |home: &Home| {
        let mut command = home.command(&["index"]);
        command.env("NOTEWELL_STORE_URL", &url).env("NOTEWELL_EMBED_PROVIDER", "embedded");
        let output = command.output().unwrap();
        let out = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{out}{}", String::from_utf8_lossy(&output.stderr));
        out
    };
    let first = index(&Home::new());
    let line =
        |out: &str| out.lines().find(|line| line.starts_with("vectors:")).unwrap().to_owned();
    let kept = cluster.sql("SELECT count(*) FROM vectors");
    assert!(kept.parse::<usize>().unwrap() >= texts.len(), "{kept}: {first}");
    // Another value in the store shows who used it: it is what the new replica has.
    let second = index(&Home::new());
    assert_eq!(line(&first), line(&second));
    assert_eq!(cluster.sql("SELECT count(*) FROM vectors"), kept);
    assert_eq!(cluster.sql("SELECT count(*) FROM vector_queue"), "0");
}
