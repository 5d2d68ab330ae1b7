//! What a caller may not see changes nothing that the caller gets to see.
//!
//! Two libraries have the same public part, made first, so that its numbers are the same. One of them
//! then gets a private part: pages, cards, bookmarks and prompts that share words, names, links and
//! labels with the public part. Callers who do not see the private part have the same conversation
//! with both, and every answer has to be the same, byte for byte.

use std::{
    collections::BTreeSet,
    io::{BufRead, BufReader},
    sync::mpsc::{Receiver, channel},
    time::Duration,
};

use serde_json::{Value, json};

use crate::support::{Answer, Home, PATIENCE, Server, put, until};

/// Words that only the private part has, in three languages, and a number.
const PRIVATE_WORDS: &[&str] =
    &["xylophantom", "48151623", "абракадаброид", "幽霊楽器", "quasiprivacy"];
/// Words that both parts have. How they rank must not depend on the private part.
const COMMON_WORDS: &[&str] =
    &["coffee", "brew", "суббота", "горы", "京都", "旅行", "kettle", "garden"];

fn page(facts: &str, body: &str) -> String {
    format!("---\ndate: 2025-05-10\n{facts}---\n{body}\n")
}

fn public_part(home: &Home) {
    home.note("en/Coffee.md", &page("free: true\ntags: [drinks]\nauthor: ann\n", "# Coffee\n\nGrind the beans and brew them slowly. See [[Kettle]], [[Secret plan]] and [[Alpha]].\n\n## Water\n\nSoft water, 92 degrees."))
        .note("en/Kettle.md", &page("free: true\ntags: [drinks]\n", "# Kettle\n\nA kettle boils water for coffee. Back to [[Coffee]]."))
        .note("ru/Поход.md", &page("free: true\ntags: [outdoor]\n", "# Поход\n\nВ субботу мы ходили в горы с друзьями."))
        .note("ja/旅.md", &page("free: true\nlang: ja\n", "# 京都旅行\n\n土曜日に友達と清水寺を見学しました。"))
        .note("z/Alpha.md", &page("free: true\n", "# Alpha\n\nThe public alpha of the garden plan."))
        .note("z/Hello.md", &page("free: true\nmcp_method: greet\nmcp_description: Greets.\n", "Hello {{name|you}}, {{note:Secret plan|nothing here}}."));
    home.note(
        "team/Plan.md",
        &page(
            "",
            "# Plan\n\nThe coffee plan of the team. See [[Kettle]], [[Secret plan]] and [[Alpha]].",
        ),
    )
    .note("team/План.md", &page("", "# План команды\n\nВ субботу команда варит кофе в горы."))
    .note("team/計画.md", &page("lang: ja\n", "# チームの計画\n\n京都旅行のコーヒー。"))
    .note("club/Club.md", &page("access: members\n", "# Club\n\nThe kettle of the club."))
    .note(
        "mira/Draft.md",
        &page(
            "author: Mira\nmcp_method: draft\n",
            "# Draft\n\nMira's coffee, {{note:Secret plan|nothing}}.",
        ),
    );
    for number in 0..66 {
        let body = format!(
            "# Page {number}\n\nGarden bed {number}: sow row {number}, water on day {}.",
            number % 7
        );
        home.note(&format!("many/{number:02}.md"), &page("free: true\n", &body));
    }
}

/// Everything here has something to give away: a word, a name that a public thing has too, a link.
fn private_part(home: &Home) {
    home.note("a/Coffee.md", &page("tags: [hush]\nauthor: ghost\ncategory: Hidden\n", "# Coffee\n\nThe private coffee of xylophantom 48151623. Coffee coffee coffee. [[Kettle]]"))
        .note("a/Secret plan.md", &page("", "# Secret plan\n\nAbout quasiprivacy: абракадаброид. See [[Coffee]] and [[Поход]]."))
        .note("a/Alpha.md", &page("aliases: [Kettle, Поход]\n", "# Alpha\n\nA garden of xylophantoms, garden, garden."))
        .note("a/幽霊.md", &page("lang: ja\n", "# 幽霊楽器\n\n京都の幽霊楽器。旅行。"))
        .note("a/Greet.md", &page("mcp_method: greet\n", "The private greeting."))
        .note("a/Method.md", &page("mcp_method: quasiprivate\n", "A private method with {{word}}."))
        .note("a/Start.md", &page("mcp_method: initialize\n", "Private instructions."));
    for number in 0..90 {
        home.note(
            &format!("a/many/{number}.md"),
            &page(
                "",
                &format!("# Coffee {number}\n\nкоторый coffee, kettle, горы, 旅行 {number}."),
            ),
        );
    }
    home.say(&["call", "create_note", r#"{"title": "A card", "content": "xylophantom coffee"}"#]);
    home.say(&[
        "bookmark",
        "add",
        "https://example.org/private",
        "--title",
        "Quasiprivacy coffee",
        "--tag",
        "hush",
    ]);
    // A built-in prompt's name can be taken only by hand.
    let mut lines = String::new();
    for name in ["summarize", "greet", "quasiprompt"] {
        let content = json!({ "type": "text", "text": "xylophantom" });
        let messages = json!([{ "role": "user", "content": content }]);
        lines += &json!({ "name": name, "title": "Private", "messages": messages }).to_string();
        lines.push('\n');
    }
    let folder = home.data().join("prompts");
    std::fs::create_dir_all(&folder).unwrap();
    put(&folder.join("user.jsonl"), lines);
}

fn rpc(method: &str, params: Value) -> String {
    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string()
}

fn call(tool: &str, arguments: Value) -> String {
    rpc("tools/call", json!({ "name": tool, "arguments": arguments }))
}

/// Forms of a word that a curious caller would try.
fn guesses(word: &str) -> Vec<String> {
    let letters: Vec<char> = word.chars().collect();
    let mut guesses = vec![
        word.to_owned(),
        format!("\"{word}\""),
        format!("coffee -{word}"),
        format!("coffee {word}"),
        format!("garden \"{word}\""),
    ];
    guesses.extend((2..letters.len()).map(|end| letters[..end].iter().collect()));
    // One letter wrong, one missing, two swapped.
    let last = letters.len() - 1;
    let mut wrong = letters.clone();
    wrong[last] = 'ж';
    guesses.push(wrong.iter().collect());
    guesses.push(letters[..last].iter().chain(&['m', 's']).collect());
    let mut swapped = letters;
    swapped.swap(last, last - 1);
    guesses.push(swapped.into_iter().collect());
    guesses
}

fn questions() -> Vec<String> {
    let mut asked: Vec<String> = PRIVATE_WORDS.iter().flat_map(|word| guesses(word)).collect();
    asked.extend(
        COMMON_WORDS.iter().flat_map(|word| [(*word).to_owned(), format!("{word} water day")]),
    );
    for filter in [
        "label:hush",
        "tag:drinks",
        "category:Hidden",
        "author:ghost",
        "author:ann",
        "path:a/",
        "path:en/",
        "kind:card",
        "kind:bookmark",
        "kind:prompt",
        "kind:page",
        "after:2025-01-01",
        "sentiment:positive",
        "unheard:of",
        "-label:hush",
        "-kind:card",
    ] {
        asked.push(filter.to_owned());
        asked.push(format!("coffee {filter}"));
    }
    asked.push("which secret plan does nobody know".to_owned());
    asked
}

/// Every request of the conversation.
fn conversation() -> Vec<String> {
    let mut all = vec![
        rpc(
            "initialize",
            json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } }),
        ),
        rpc("ping", json!({})),
        rpc("tools/list", json!({})),
        rpc("prompts/list", json!({})),
        rpc("resources/list", json!({})),
        rpc("resources/templates/list", json!({})),
    ];
    for question in questions() {
        all.push(call("search", json!({ "query": question, "limit": 20 })));
    }
    for question in ["xylophantom", "coffee kettle", "горы в субботу", "京都の旅行"]
    {
        all.push(call("similar", json!({ "text": question })));
        all.push(call("ask", json!({ "question": question })));
        all.push(call("recommend", json!({ "project_context": question })));
        all.push(call("search", json!({ "query": question, "format": "json", "rerank": true })));
    }
    for filters in [
        json!({ "label": "hush" }),
        json!({ "author": "ghost" }),
        json!({ "category": "Hidden" }),
        json!({ "path": "a/" }),
        json!({ "kind": "card" }),
    ] {
        all.push(call("search", json!({ "filters": filters })));
    }
    // Numbers of public things, of private ones, and of nothing.
    for pid in (1..=6).chain(70..=95).chain([165, 172, 999, -1]) {
        all.push(call("note_html", json!({ "pid": pid, "format": "markdown" })));
        all.push(call("note_html", json!({ "pid": pid, "match_id": format!("p{pid}:c0") })));
        all.push(call("expand", json!({ "pid": pid })));
        all.push(call("similar", json!({ "pid": pid })));
        all.push(rpc("resources/read", json!({ "uri": format!("notewell://item/{pid}") })));
        all.push(rpc("resources/read", json!({ "uri": format!("notewell://item/{pid}/Water") })));
        all.push(rpc("resources/subscribe", json!({ "uri": format!("notewell://item/{pid}") })));
    }
    for path in [
        "a/Coffee.md",
        "Coffee",
        "Coffee.md",
        "en/Coffee.md",
        "Alpha",
        "Kettle",
        "Поход",
        "Secret plan",
        "a/Secret plan.md",
        "幽霊",
        "A card",
        "https://example.org/private",
        "quasiprompt",
        "none.md",
    ] {
        for name in ["path", "href"] {
            all.push(call("note_html", json!({ name: path })));
            all.push(call("expand", json!({ name: path })));
        }
    }
    for name in ["greet", "quasiprivate", "initialize", "summarize", "quasiprompt", "none"] {
        all.push(call(name, json!({})));
        all.push(call(name, json!({ "word": "x", "name": "you" })));
        all.push(rpc("prompts/get", json!({ "name": name })));
        all.push(rpc(
            "prompts/get",
            json!({ "name": name, "arguments": { "text": "a", "name": "b" } }),
        ));
        all.push(rpc("prompts/delete", json!({ "name": name })));
        let reference = json!({ "type": "ref/prompt", "name": name });
        all.push(rpc(
            "completion/complete",
            json!({ "ref": reference, "argument": { "name": "word", "value": "x" } }),
        ));
    }
    for tool in [
        "create_note",
        "get_notes",
        "get_note",
        "update_note",
        "delete_note",
        "search_notes",
        "get_labels",
        "toggle_pin",
        "toggle_archive",
        "create_prompt",
        "update_prompt",
        "delete_prompt",
        "trends",
        "add_bookmark",
        "oss_report",
    ] {
        all.push(call(tool, json!({ "query": "xylophantom", "id": "1", "name": "quasiprompt" })));
    }
    all.push(rpc("resources/read", json!({ "uri": "notewell://card/abc/image/0" })));
    all
}

/// The address differs between two servers, and when their files were written. Nothing else may.
fn normalised(server: &Server, answer: &Answer) -> String {
    let body = answer.body.replace(&server.address, "ADDRESS");
    let mut parts = body.split("<time datetime=\"");
    let first = parts.next().unwrap_or_default().to_owned();
    let body = parts.fold(first, |body, part| {
        body + "<time>" + part.split_once("</time>").map_or(part, |(_, rest)| rest)
    });
    // An ETag is a hash of the body, times included.
    let etag = if answer.headers.contains_key("etag") { "with an ETag" } else { "" };
    let body = format!("{etag}\n{body}");
    let mut headers: Vec<String> = answer
        .headers
        .iter()
        .filter(|(name, _)| {
            !matches!(name.as_str(), "date" | "content-length" | "etag" | "mcp-session-id")
        })
        .map(|(name, value)| format!("{name}: {value}"))
        .collect();
    headers.sort();
    format!("{} {}\n{body}", answer.status, headers.join(", "))
}

/// Accounts of both libraries, each with a part that the private one is not in.
const USERS: [(&str, &str, &[&str]); 3] = [
    ("ann", "reader", &[]),
    ("bob", "reader", &["--folder", "vault/team", "--write"]),
    ("mira", "author", &[]),
];

struct Twins {
    without: (Home, Server),
    with: (Home, Server),
    /// By caller, the tokens of the two libraries.
    tokens: Vec<[String; 2]>,
}

/// The two libraries, indexed and served; `embedder` is the provider of the vectors.
fn twins(embedder: &str) -> Twins {
    let make = |private: bool| {
        let home = Home::new();
        let index = |home: &Home| {
            let mut command = home.command(&["index"]);
            command.env("NOTEWELL_EMBED_PROVIDER", embedder);
            assert!(command.output().unwrap().status.success());
        };
        public_part(&home);
        index(&home);
        if private {
            private_part(&home);
            index(&home);
        }
        let tokens = tokens(&home);
        let mut command = home.command(&["serve", "--listen", "127.0.0.1:0"]);
        command.env("NOTEWELL_EMBED_PROVIDER", embedder);
        let server = Server::start(command);
        ((home, server), tokens)
    };
    let ((without, tokens), (with, others)) = (make(false), make(true));
    let tokens = tokens.into_iter().zip(others).map(|(one, other)| [one, other]).collect();
    Twins { without, with, tokens }
}

/// A token without an account, and one of each user.
fn tokens(home: &Home) -> Vec<String> {
    let mut tokens = vec![home.token("reader")];
    for (name, role, grant) in USERS {
        home.say(&["user", "add", name, "--role", role]);
        if !grant.is_empty() {
            home.say(&[&["grant", "add", name], grant].concat());
        }
        let out = home.say(&["token", "create", "--user", name, "--scope", "read,write"]);
        tokens.push(out.split_whitespace().last().unwrap().to_owned());
    }
    tokens
}

fn differing(
    twins: &Twins,
    path: &str,
    requests: &[String],
    tokens: Option<&[String; 2]>,
) -> Vec<String> {
    let mut differing = Vec::new();
    for request in requests {
        let [without, with] = [(&twins.without.1, 0), (&twins.with.1, 1)].map(|(server, at)| {
            let bearer = tokens.map(|tokens| format!("Bearer {}", tokens[at]));
            let headers: Vec<(&str, &str)> =
                bearer.iter().map(|bearer| ("Authorization", bearer.as_str())).collect();
            normalised(server, &server.send("POST", path, &headers, request.as_bytes()))
        });
        if without != with {
            differing
                .push(format!("{request}\nwithout the private part: {without}\nwith it: {with}"));
        }
    }
    differing
}

fn assert_same(twins: &Twins) {
    let requests = conversation();
    // The conversation is worth something only if the public part answers it.
    let found = twins.with.1.post(&call("search", json!({ "query": "coffee kettle" }))).body;
    assert!(found.contains("en/Kettle.md") && !found.contains("a/Coffee.md"), "{found}");
    let mut wrong = differing(twins, "/_system/mcp", &requests, None);
    // Every caller asks what the others ask, each beginning elsewhere.
    for (at, tokens) in twins.tokens.iter().enumerate() {
        let some: Vec<String> = requests[..6]
            .iter()
            .chain(requests[6..].iter().skip(at).step_by(twins.tokens.len()))
            .filter(|request| {
                !request.contains("\"create_note\"") && !request.contains("_prompt\"")
            })
            .cloned()
            .collect();
        wrong.extend(differing(twins, "/_system/mcp", &some, Some(tokens)));
    }
    for author in ["ann", "ghost", "nobody"] {
        let path = format!("/_system/mcp/{author}");
        // The name of an author is in the answer, and is the caller's own.
        wrong.extend(differing(twins, &path, &requests[..12], None));
    }
    for path in [
        "/a/Coffee.md",
        "/Coffee",
        "/en/Coffee.md",
        "/a/Secret%20plan.md",
        "/none",
        "/readyz",
        "/metrics",
    ] {
        let [without, with] = [&twins.without.1, &twins.with.1]
            .map(|server| normalised(server, &server.get(path, &[])));
        if without != with {
            wrong.push(format!("GET {path}\nwithout the private part: {without}\nwith it: {with}"));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {} differ:\n\n{}",
        wrong.len(),
        requests.len(),
        wrong[..wrong.len().min(6)].join("\n\n")
    );
}

#[test]
fn an_anonymous_conversation_is_the_same_with_and_without_private_items() {
    assert_same(&twins("none"));
}

#[test]
fn it_is_the_same_by_meaning_too() {
    assert_same(&twins("embedded"));
}

/// The owner of the same library finds all of it, so the test above compares something.
#[test]
fn the_owner_finds_what_is_private() {
    let home = Home::new();
    public_part(&home);
    private_part(&home);
    home.say(&["index", "--words"]);
    let mut client = home.stdio();
    client.initialize();
    for word in PRIVATE_WORDS {
        let answer = client.call("search", json!({ "query": word }));
        let results = answer["structuredContent"]["results"].as_array().unwrap();
        assert!(!results.is_empty(), "{word}: {answer}");
    }
    let read = client.ask("resources/read", json!({ "uri": "notewell://item/2" }));
    let meta = read["result"]["contents"][0]["_meta"].to_string();
    assert!(meta.contains("notewell/backlinks"), "{meta}");
}

/// What no guess may turn up, whatever the answer says.
#[test]
fn no_private_word_is_completed() {
    let home = Home::new();
    public_part(&home);
    private_part(&home);
    home.say(&["index", "--words"]);
    let server = home.serve();
    let mut told = BTreeSet::new();
    for word in PRIVATE_WORDS {
        let letters: Vec<char> = word.chars().collect();
        for end in 2..letters.len() {
            let start: String = letters[..end].iter().collect();
            let body = server.post(&call("search", json!({ "query": start }))).body;
            if body.contains(word) {
                told.insert(start);
            }
        }
    }
    assert!(told.is_empty(), "{told:?}");
}

/// A session of the older transport, and the notices that it gets.
struct Session {
    messages: Receiver<Value>,
    endpoint: String,
    bearer: Option<String>,
}

impl Session {
    fn open(server: &Server, token: Option<&str>) -> Self {
        let bearer = token.map(|token| format!("Bearer {token}"));
        let mut headers = vec![("Accept", "text/event-stream")];
        headers.extend(bearer.iter().map(|bearer| ("Authorization", bearer.as_str())));
        let stream = server.open("GET", "/_system/sse", &headers, b"");
        let (sender, messages) = channel();
        let (first, endpoint) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stream).lines().map_while(Result::ok) {
                let Some(data) = line.strip_prefix("data:") else { continue };
                match serde_json::from_str(data.trim()) {
                    Ok(message) => drop(sender.send(message)),
                    Err(_) => drop(first.send(data.trim().to_owned())),
                }
            }
        });
        let endpoint = endpoint.recv_timeout(PATIENCE).expect("the stream says where to post");
        let session = Self { messages, endpoint, bearer };
        let hello = json!({ "protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
        session.ask(server, "initialize", hello);
        session.post(server, &json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        session
    }

    fn post(&self, server: &Server, message: &Value) {
        let mut headers = vec![("Content-Type", "application/json")];
        headers.extend(self.bearer.iter().map(|bearer| ("Authorization", bearer.as_str())));
        let accepted =
            server.send("POST", &self.endpoint, &headers, message.to_string().as_bytes());
        assert_eq!(accepted.status, 202, "{}", accepted.body);
    }

    fn ask(&self, server: &Server, method: &str, params: Value) -> Value {
        self.post(
            server,
            &json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params }),
        );
        loop {
            let message = self.messages.recv_timeout(PATIENCE).expect("an answer in time");
            if message["id"] == 7 {
                return message;
            }
        }
    }

    /// The notices up to and with the one of this method.
    fn until(&self, method: &str) -> Vec<String> {
        let mut notices = Vec::new();
        loop {
            let message = self.messages.recv_timeout(PATIENCE).expect("a notice in time");
            notices.push(message.to_string());
            if message["method"] == method {
                return notices;
            }
        }
    }
}

/// Every kind of private change. Each has to be known to the server before the next.
fn change_private_things(home: &Home, server: &Server, owner: &str) {
    let known = |tool: &str, arguments: Value, text: &str| {
        until(text, || server.post_as(owner, &call(tool, arguments.clone())).body.contains(text));
    };
    home.note("a/New.md", &page("", "# New\n\nNewsecretone."));
    known("search", json!({ "query": "newsecretone" }), "a/New.md");
    home.note("a/New.md", &page("", "# New\n\nNewsecrettwo."));
    known("search", json!({ "query": "newsecrettwo" }), "a/New.md");
    home.note("a/Tool.md", &page("mcp_method: newsecrettool\n", "The text."));
    known("newsecrettool", json!({}), "The text.");
    std::fs::remove_file(home.vault().join("a/Tool.md")).unwrap();
    known("newsecrettool", json!({}), "no tool is called");
    let prompt = json!({ "name": "newsecretprompt", "title": "P", "messages": [{ "role": "user", "content": { "type": "text", "text": "x" } }] });
    server.post_as(owner, &call("create_prompt", prompt));
    server.post_as(owner, &call("delete_prompt", json!({ "name": "newsecretprompt" })));
    server.post_as(owner, &call("create_note", json!({ "content": "newsecretcard" })));
    known("search", json!({ "query": "newsecretcard" }), "kind: card");
    // The notices of all that are out before the next round of the server's watch has ended.
    std::thread::sleep(Duration::from_secs(1));
}

/// Private changes make no notice, and public ones the same as ever.
#[test]
fn private_changes_make_no_notice() {
    let told = |private: bool, user: Option<usize>| {
        let home = Home::new();
        public_part(&home);
        home.say(&["index", "--words"]);
        if private {
            private_part(&home);
            home.say(&["index", "--words"]);
        }
        let owner = home.token("owner");
        let token = user.map(|at| tokens(&home).remove(at));
        let server = home.serve();
        let session = Session::open(&server, token.as_deref());
        let kettle = server.post(&call("note_html", json!({ "path": "en/Kettle.md" }))).json();
        let pid = &kettle["result"]["structuredContent"]["pid"];
        let mut told = vec![pid.to_string()];
        for uri in [
            format!("notewell://item/{pid}"),
            "notewell://item/90".into(),
            "notewell://item/9999".into(),
        ] {
            told.push(
                session
                    .ask(&server, "resources/subscribe", json!({ "uri": uri }))
                    .to_string()
                    .replace("9999", "90"),
            );
        }
        if private {
            change_private_things(&home, &server, &owner);
        }
        home.note("en/Kettle.md", &page("free: true\n", "# Kettle\n\nA new kettle."));
        told.extend(session.until("notifications/resources/updated"));
        home.note(
            "z/Hello.md",
            &page("free: true\nmcp_method: greet\nmcp_description: Greets anew.\n", "Hello."),
        );
        told.extend(session.until("notifications/prompts/list_changed"));
        home.note("z/More.md", &page("free: true\n", "# More\n\nMore of it."));
        told.extend(session.until("notifications/resources/list_changed"));
        told
    };
    for user in [None, Some(2)] {
        assert_eq!(told(false, user), told(true, user));
    }
}

/// A stream that is open when a grant is taken back neither reads on nor hears of changes.
#[test]
fn a_stream_loses_what_is_revoked() {
    let home = Home::new();
    public_part(&home);
    let bob = tokens(&home).remove(2);
    home.say(&["index", "--words"]);
    let owner = home.token("owner");
    let server = home.serve();
    let session = Session::open(&server, Some(&bob));
    let pid = |path: &str| {
        let note = server.post_as(&owner, &call("note_html", json!({ "path": path }))).json();
        note["result"]["structuredContent"]["pid"].as_i64().unwrap_or_else(|| panic!("{note}"))
    };
    let (plan, kettle) = (pid("team/Plan.md"), pid("en/Kettle.md"));
    let uri = |pid: i64| format!("notewell://item/{pid}");
    let read = || session.ask(&server, "resources/read", json!({ "uri": uri(plan) }));
    let search = || {
        let asked = json!({ "name": "search", "arguments": { "query": "plan of the team" } });
        session.ask(&server, "tools/call", asked).to_string()
    };
    for pid in [plan, kettle] {
        session.ask(&server, "resources/subscribe", json!({ "uri": uri(pid) }));
    }
    assert!(read().to_string().contains("coffee plan") && search().contains("team/Plan.md"));
    home.note("team/Plan.md", &page("", "# Plan\n\nThe second coffee plan."));
    let heard = session.until("notifications/resources/updated");
    assert!(heard.last().unwrap().contains(&uri(plan)), "{heard:?}");

    home.say(&["grant", "remove", "bob", "--folder", "vault/team"]);
    assert!(read().get("error").is_some() && !search().contains("team/Plan.md"));
    // Without any change of the library, it hears that there are other resources and tools now.
    session.until("notifications/resources/list_changed");
    home.note("team/Plan.md", &page("", "# Plan\n\nThe third coffee plan."));
    until("the third plan", || {
        let found = server.post_as(&owner, &call("search", json!({ "query": "third plan" })));
        found.body.contains("third")
    });
    home.note("en/Kettle.md", &page("free: true\n", "# Kettle\n\nAnother kettle."));
    let heard = session.until("notifications/resources/updated");
    assert!(heard.iter().all(|notice| !notice.contains(&uri(plan))), "{heard:?}");
    assert!(heard.last().unwrap().contains(&uri(kettle)), "{heard:?}");
}
