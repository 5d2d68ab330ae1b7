//! Methods for sale, as callers see them: prices, names, authors' addresses, and a text that nobody
//! reads without paying.

use std::{path::PathBuf, process::Command};

use serde_json::{Value, json};

use crate::support::{Home, Server, put};

/// A library with the owner's vault and a vault of Mira's, who sells methods.
pub struct Shop {
    pub home: Home,
    pub config: PathBuf,
}

impl Shop {
    pub fn new() -> Self {
        Self::with("")
    }

    /// A shop with more lines in its config.
    pub fn with(more: &str) -> Self {
        let home = Home::new();
        let (root, config) = (home.dir.path().to_owned(), home.dir.path().join("notewell.toml"));
        std::fs::create_dir(root.join("mira")).unwrap();
        put(
            &config,
            format!("{more}\n[[vault]]\nname = \"mira\"\npath = \"mira\"\nauthor = \"mira\"\n"),
        );
        Self { home, config }
    }

    /// Writes a note of Mira's vault.
    pub fn of_mira(&self, path: &str, text: &str) -> &Self {
        put(&self.home.dir.path().join("mira").join(path), text);
        self
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.home.command(arguments);
        command.arg("--config").arg(&self.config);
        command
    }

    pub fn say(&self, arguments: &[&str]) -> String {
        let output = self.command(arguments).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{arguments:?}: {error}");
        String::from_utf8(output.stdout).unwrap()
    }

    pub fn serve(&self) -> Server {
        Server::start(self.command(&["serve", "--listen", "127.0.0.1:0"]))
    }

    /// A token of a new user.
    pub fn user(&self, name: &str, role: &str, scopes: &str) -> String {
        self.say(&["user", "add", name, "--role", role]);
        self.token_of(name, scopes)
    }

    pub fn token_of(&self, name: &str, scopes: &str) -> String {
        let out = self.say(&["token", "create", "--user", name, "--scope", scopes]);
        out.split_whitespace().last().unwrap().to_owned()
    }
}

/// One request, and the whole answer.
pub fn ask(server: &Server, path: &str, token: Option<&str>, method: &str, params: Value) -> Value {
    let bearer = token.map(|token| format!("Bearer {token}"));
    let headers: Vec<(&str, &str)> =
        bearer.iter().map(|bearer| ("Authorization", bearer.as_str())).collect();
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    server.send("POST", path, &headers, body.to_string().as_bytes()).json()
}

const COMMON: &str = "/_system/mcp";

pub fn call(server: &Server, token: Option<&str>, tool: &str, arguments: Value) -> Value {
    ask(server, COMMON, token, "tools/call", json!({ "name": tool, "arguments": arguments }))
}

pub fn tool(server: &Server, path: &str, token: Option<&str>, name: &str) -> Option<Value> {
    let listed = ask(server, path, token, "tools/list", json!({}));
    let tools = listed["result"]["tools"].as_array().unwrap_or_else(|| panic!("{listed}"));
    tools.iter().find(|tool| tool["name"] == name).cloned()
}

const REVIEW: &str = "---\ntitle: Code review\nfree: true\nmcp_method: code-review\nmcp_description: For Mira herself\nmarket_description: A strict review of Rust code\nprice: 0.10\nprice_free: 2\n---\nThe secret checklist of quokkas. {{code}}\n";

#[test]
fn a_price_is_shown_and_the_text_is_not() {
    let shop = Shop::new();
    shop.of_mira("review.md", REVIEW).of_mira("note.md", "---\nfree: true\n---\nA free note.\n");
    shop.say(&["index"]);
    let (reader, owner) = (shop.home.token("reader"), shop.home.token("owner"));
    let server = shop.serve();
    for token in [None, Some(reader.as_str())] {
        let tool = tool(&server, COMMON, token, "code-review").expect("it is for sale");
        assert_eq!(
            tool["description"],
            "A strict review of Rust code · 0.10 USD a call, the first 2 free"
        );
        let price = json!({ "amount": "0.10", "currency": "USD", "freeCalls": 2 });
        assert_eq!(tool["_meta"]["notewell/price"], price);
        assert!(tool["inputSchema"]["properties"].get("code").is_some(), "{tool}");
        let prompts = ask(&server, COMMON, token, "prompts/list", json!({}));
        assert!(!prompts.to_string().contains("code-review"), "{prompts}");
        let resources = ask(&server, COMMON, token, "resources/list", json!({}));
        assert!(!resources.to_string().contains("review.md"), "{resources}");
        let got = ask(
            &server,
            COMMON,
            token,
            "prompts/get",
            json!({ "name": "code-review", "arguments": { "code": "x" } }),
        );
        assert_eq!(got["error"]["code"], 402, "{got}");
        assert_eq!(got["error"]["data"]["price"]["amount"], "0.10", "{got}");
        let found = call(&server, token, "search", json!({ "query": "quokkas checklist" }));
        assert_eq!(found["result"]["structuredContent"]["results"], json!([]), "{found}");
        for pid in 1..=4 {
            let uri = format!("notewell://item/{pid}");
            let read = ask(&server, COMMON, token, "resources/read", json!({ "uri": uri }));
            assert!(!read.to_string().contains("quokka"), "{read}");
        }
    }
    // Who owns it reads it.
    let found = call(&server, Some(&owner), "search", json!({ "query": "quokkas" }));
    assert!(found.to_string().contains("quokka"), "{found}");
    let said = call(&server, Some(&owner), "code-review", json!({ "code": "fn main" }));
    assert!(said.to_string().contains("quokkas. fn main"), "{said}");
}

#[test]
fn a_price_that_cannot_be_read_sells_nothing_and_gives_nothing_away() {
    let shop = Shop::new();
    shop.of_mira("review.md", &REVIEW.replace("0.10", "cheap"));
    shop.say(&["index"]);
    let owner = shop.home.token("owner");
    let server = shop.serve();
    assert_eq!(tool(&server, COMMON, None, "code-review"), None);
    let refused = call(&server, None, "code-review", json!({ "code": "x" }));
    assert_eq!(refused["error"]["code"], -32601, "{refused}");
    let got = ask(&server, COMMON, None, "prompts/get", json!({ "name": "code-review" }));
    assert!(got.get("error").is_some() && !got.to_string().contains("quokka"), "{got}");
    assert!(tool(&server, COMMON, Some(&owner), "code-review").is_some());
    let doctor = shop.command(&["doctor"]).output().unwrap();
    let doctor = String::from_utf8(doctor.stdout).unwrap();
    assert!(doctor.contains("`price` of the frontmatter cannot be read"), "{doctor}");
    assert!(doctor.contains("no user of that name is an author"), "{doctor}");
}

#[test]
fn two_authors_of_one_name_are_told_apart() {
    let shop = Shop::new();
    shop.home.note(
        "anna.md",
        "---\nauthor: anna\nfree: true\nmcp_method: code-review\n---\nAnna's review.\n",
    );
    shop.say(&["index"]);
    shop.of_mira("review.md", REVIEW)
        .of_mira("start.md", "---\nfree: true\nmcp_method: initialize\n---\nMira's shop.\n");
    shop.say(&["index"]);
    let server = shop.serve();
    let names = |path: &str| -> Vec<String> {
        let listed = ask(&server, path, None, "tools/list", json!({}));
        let tools = listed["result"]["tools"].as_array().unwrap();
        let names = tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned());
        names.filter(|name| name.contains("code-review")).collect()
    };
    assert_eq!(names(COMMON), ["code-review", "mira.code-review"]);
    assert_eq!(names("/_system/mcp/mira"), ["code-review"]);
    assert_eq!(names("/_system/mcp/Anna"), ["code-review"]);
    let anna = call(&server, None, "code-review", json!({}));
    assert!(anna.to_string().contains("Anna's review."), "{anna}");
    let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
    let greeting = |path: &str| ask(&server, path, None, "initialize", hello.clone()).to_string();
    assert!(greeting("/_system/mcp/mira").contains("Mira's shop."));
    assert!(!greeting(COMMON).contains("Mira's shop."), "an author speaks for their own address");
}

#[test]
fn a_vault_with_an_author_is_theirs_whatever_a_page_says() {
    let shop = Shop::new();
    shop.of_mira("claimed.md", "---\nauthor: anna\nfree: true\n---\nA quokka of Mira's.\n");
    shop.home.note("other.md", "---\nauthor: anna\nfree: true\n---\nA wombat of Anna's.\n");
    shop.say(&["user", "add", "bob", "--role", "author"]);
    let server = shop.serve();
    let found = |author: &str, query: &str| {
        let path = format!("/_system/mcp/{author}");
        let params = json!({ "name": "search", "arguments": { "query": query } });
        ask(&server, &path, None, "tools/call", params)["result"]["structuredContent"]["results"]
            .as_array()
            .map_or(0, Vec::len)
    };
    assert_eq!((found("mira", "quokka"), found("anna", "quokka")), (1, 0));
    assert_eq!((found("mira", "wombat"), found("anna", "wombat")), (0, 1));
    let status = |author: &str| {
        let body = br#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
        server.send("POST", &format!("/_system/mcp/{author}"), &[], body).status
    };
    assert_eq!(status("bob"), 200, "an author without a page");
    assert_eq!(status("nobody"), 404);
}

#[test]
fn frontmatter_names_authors_only_where_the_owner_allows_it() {
    let shop = Shop::with("[market]\nfrontmatter_authors = false\n");
    shop.home.note("other.md", "---\nauthor: anna\nfree: true\n---\nA wombat of Anna's.\n");
    shop.of_mira("note.md", "---\nfree: true\n---\nA quokka.\n");
    let server = shop.serve();
    let status = |author: &str| {
        let body = br#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
        server.send("POST", &format!("/_system/mcp/{author}"), &[], body).status
    };
    assert_eq!((status("anna"), status("mira")), (404, 200));
}

#[test]
fn a_price_without_a_method_is_a_property() {
    let home = Home::new();
    home.note("lamp.md", "---\nfree: true\nprice: 20\n---\nA lamp.\n");
    let (_, out, _) = home.run(&["doctor"]);
    assert!(out.contains("`lamp.md` has a `price` and no `mcp_method`"), "{out}");
    let mut client = home.stdio();
    client.initialize();
    let found = client.call("search", json!({ "query": "lamp price:>10" }));
    assert_eq!(found["structuredContent"]["results"].as_array().unwrap().len(), 1, "{found}");
}
