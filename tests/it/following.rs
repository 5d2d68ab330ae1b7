//! What follows a change instead of being made anew, counted by the server's own metrics.

use std::collections::HashSet;

use serde_json::{Value, json};

use crate::support::{Home, Server, put, until};

/// A library of three notes and a method, served.
struct Library {
    home: Home,
    server: Server,
    owner: String,
}

impl Library {
    fn new() -> Self {
        let home = Home::new();
        home.note("soup.md", "# Soup\n\nSee [[чай]].\n");
        home.note("чай.md", "# Чай\n\nСм. [[茶]].\n");
        home.note("茶.md", "# 茶\n\n緑茶について。\n");
        home.note("tool.md", "---\nmcp_method: brew\n---\nBrew {{what}}.\n");
        let owner = home.token("owner");
        let server = home.serve();
        let library = Self { home, server, owner };
        library.search("緑茶");
        library
    }

    fn call(&self, tool: &str, arguments: Value) -> Value {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {"name": tool, "arguments": arguments}});
        self.server.post_as(&self.owner, &body.to_string()).json()["result"].clone()
    }

    fn search(&self, query: &str) -> String {
        self.call("search", json!({ "query": query }))["content"][0]["text"].to_string()
    }

    /// Opens a note by its name, which asks the map of links.
    fn open(&self, name: &str) -> String {
        self.call("note_html", json!({ "path": name }))["content"][0]["text"].to_string()
    }

    fn tools(&self) -> String {
        let body = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
        self.server.post_as(&self.owner, body).body
    }

    /// Changes a note at one stroke: a file caught between two writes would be read twice.
    fn replace(&self, path: &str, text: &str) {
        let fresh = self.home.data().join("fresh.md");
        put(&fresh, text);
        std::fs::rename(fresh, self.home.vault().join(path)).unwrap();
    }

    fn metric(&self, name: &str) -> u64 {
        let bearer = format!("Bearer {}", self.owner);
        let text = self.server.get("/metrics", &[("Authorization", &bearer)]).body;
        let line = text.lines().find_map(|line| line.strip_prefix(&format!("{name} ")));
        line.map_or(0, |number| number.parse().unwrap())
    }
}

#[test]
fn an_edited_note_is_parsed_once() {
    let library = Library::new();
    let before = library.metric("notewell_pages_parsed_total");
    for (path, word) in [("soup.md", "borscht"), ("чай.md", "самовар"), ("茶.md", "抹茶")]
    {
        library.replace(path, &format!("# New {word}\n\n{word}\n"));
        until("the change", || library.search(word).contains(&format!("New {word}")));
    }
    assert_eq!(library.metric("notewell_pages_parsed_total") - before, 3);
}

#[test]
fn the_map_of_links_and_the_methods_follow_changes() {
    let library = Library::new();
    assert!(library.open("чай").contains("Чай") && library.tools().contains("\"brew\""));
    let built = library.metric("notewell_library_built_total");
    let read = library.metric("notewell_methods_read_total");
    assert!(built > 0 && read > 0);
    // A card is no page: nothing of the two changes.
    let card = library.call("create_note", json!({ "content": "pinned" }));
    assert!(card["isError"] != true, "{card}");
    assert!(library.open("чай").contains("Чай") && library.tools().contains("\"brew\""));
    // A new note, a renamed one and one that goes are seen without reading all the others.
    library.home.note("новое.md", "# Новое\n\nкипяток\n");
    until("the new note", || library.search("кипяток").contains("новое.md"));
    assert!(library.open("новое").contains("кипяток"));
    let vault = library.home.vault();
    std::fs::rename(vault.join("новое.md"), vault.join("白湯.md")).unwrap();
    until("the renamed note", || library.open("白湯").contains("кипяток"));
    std::fs::remove_file(vault.join("茶.md")).unwrap();
    until("the removed note", || !library.open("茶").contains("緑茶"));
    assert_eq!(library.metric("notewell_library_built_total"), built);
    assert_eq!(library.metric("notewell_methods_read_total"), read);
    library.home.note("tool.md", "---\nmcp_method: brew\n---\nBrew {{what}} with {{with}}.\n");
    until("the method's new argument", || library.tools().contains("\"with\""));
    assert_eq!(library.metric("notewell_methods_read_total"), read + 1);
}

#[test]
fn more_changes_than_are_read_at_once_are_all_told() {
    const NOTES: usize = 1_100;
    let home = Home::new();
    let write = |text: &str| {
        for number in 0..NOTES {
            home.note(&format!("n{number}.md"), &format!("# Note {number}\n\n{text}\n"));
        }
    };
    write("before");
    home.say(&["search", "before"]);
    let mut client = home.stdio();
    client.initialize();
    let (mut uris, mut cursor) = (HashSet::new(), Value::Null);
    loop {
        let page = match &cursor {
            Value::Null => client.ask("resources/list", json!({})),
            cursor => client.ask("resources/list", json!({ "cursor": cursor })),
        };
        let listed = page["result"]["resources"].as_array().unwrap();
        uris.extend(listed.iter().map(|one| one["uri"].as_str().unwrap().to_owned()));
        cursor = page["result"]["nextCursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    assert!(uris.len() >= NOTES, "{}", uris.len());
    for uri in &uris {
        client.ask("resources/subscribe", json!({ "uri": uri }));
    }
    client.notices.clear();
    write("после 後");
    while !uris.is_empty() {
        let notice = client.read();
        if notice["method"] == "notifications/resources/updated" {
            uris.remove(notice["params"]["uri"].as_str().unwrap());
        }
    }
}
