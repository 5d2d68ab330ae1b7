//! Notes in a folder: edits, moves, undo, and the index that follows a person.

use serde_json::{Value, json};

use super::{
    Path, State, files, first_word, found,
    items::{card, prompt, prompts_of},
    list, search, stdio, tool,
};
use crate::{
    bench::Bench,
    session::{Door, Request, Session},
};

fn pages_of(bench: &Bench, session: &mut Session) -> State {
    let mut state = State::new();
    files(bench, &mut state);
    search(session, "page", "path", &mut state);
    state
}

pub fn pages(bench: &Bench) -> Path {
    for n in 0..6 {
        let text =
            format!("---\ntags: [a] # b\n---\n# Note {n}\r\n\nA common page. Слово. 単語。\n");
        bench.put(&format!("vault/n{n}.md"), &text);
    }
    bench.say(&["index", "--words"]);
    let edit = |arguments: Value| Request::Tool("edit_page", arguments);
    let requests = vec![
        edit(json!({ "path": "n0.md", "op": "append", "text": "- строка 行" })),
        edit(json!({ "path": "new0.md", "op": "create", "text": "# New\n\ncommon 0\n" })),
        edit(json!({ "path": "n1.md", "op": "find", "find": "Слово", "text": "Два слова" })),
        edit(json!({ "path": "n2.md", "op": "set", "fields": { "status": "готово" } })),
        edit(json!({ "path": "a/b/new1.md", "op": "create", "text": "# Deep\n\ncommon 1\n" })),
        edit(json!({ "path": "n3.md", "op": "prepend", "text": "前" })),
        edit(json!({ "path": "n4.md", "op": "find", "find": "単語", "text": "" })),
    ];
    let observe = pages_of;
    Path { name: "pages", door: Door::Stdio, token: String::new(), requests, observe }
}

pub fn moves(bench: &Bench) -> Path {
    for n in 0..7 {
        bench.put(&format!("vault/hub{n}.md"), &format!("# Hub {n}\n\ncommon [[n{n}0]]\n"));
        for link in 0..3 {
            let text = format!("# {n}{link}\n\ncommon [[hub{n}]] и [ещё](hub{n}.md) 単語\n");
            bench.put(&format!("vault/n{n}{link}.md"), &text);
        }
    }
    bench.say(&["index", "--words"]);
    let requests = (0..7)
        .map(|n| {
            let to =
                if n % 2 == 0 { format!("центр{n}") } else { format!("folder{n}/hub{n}") };
            Request::Tool("move_page", json!({ "path": format!("hub{n}.md"), "to": to }))
        })
        .collect();
    Path { name: "moves", door: Door::Stdio, token: String::new(), requests, observe: pages_of }
}

/// Undoes changes of every kind.
pub fn history(bench: &Bench) -> Path {
    for n in 0..4 {
        bench.put(&format!("vault/n{n}.md"), &format!("# Note {n}\n\nbefore{n} common [[n3]]\n"));
    }
    let mut session = stdio(bench);
    let one = &mut session;
    let ids: Vec<String> = (0..2).map(|n| card(one, &format!("card{n}"))).collect();
    tool(one, "create_prompt", prompt("lab0", "начало"));
    let changes = [
        ("edit_page", json!({ "path": "n0.md", "op": "find", "find": "before0", "text": "after" })),
        ("update_note", json!({ "id": ids[0], "content": "card0 common after" })),
        ("update_prompt", prompt("lab0", "после")),
        ("move_page", json!({ "path": "n3.md", "to": "moved/n3" })),
        ("delete_note", json!({ "id": ids[1] })),
        ("add_bookmark", json!({ "url": "https://example.org/1", "text": "common" })),
        ("edit_page", json!({ "path": "new.md", "op": "create", "text": "# New\n\ncommon\n" })),
    ];
    let requests = changes
        .into_iter()
        .map(|(name, arguments)| {
            tool(one, name, arguments);
            let last = tool(one, "history", json!({ "limit": 1 }))["changes"][0]["change"].clone();
            Request::Tool("history", json!({ "undo": last }))
        })
        .collect();
    session.close();
    let observe = |bench: &Bench, session: &mut Session| {
        let mut state = pages_of(bench, session);
        prompts_of(session, &mut state);
        search(session, "card", "title", &mut state);
        search(session, "bookmark", "url", &mut state);
        let notes = tool(session, "get_notes", json!({}));
        for note in list(if notes.is_array() { &notes } else { &notes["notes"] }) {
            let value = note["content"].to_string();
            state.insert(format!("card {}", first_word(&note["content"])), value);
        }
        // The journal says what was done, once.
        for change in list(&tool(session, "history", json!({ "limit": 100 }))["changes"]) {
            let first = &change["first"][0];
            let key = format!("history {} {} {}", change["tool"], first["kind"], first["diff"]);
            let before = state.get(&key).map_or(0, |count| count.parse::<u32>().unwrap());
            state.insert(key, (before + 1).to_string());
        }
        state
    };
    Path { name: "history", door: Door::Stdio, token: String::new(), requests, observe }
}

/// A person changes notes, and the index follows or is built again.
pub fn index(bench: &Bench) -> Path {
    for n in 0..8 {
        bench.put(&format!("vault/n{n}.md"), &format!("# Note {n}\n\ncommon 単語 слово{n}\n"));
    }
    bench.say(&["index", "--words"]);
    let person = |files: &[(&str, Option<&str>)], then: &str| Request::Person {
        files: files
            .iter()
            .map(|(path, text)| ((*path).to_owned(), text.map(str::to_owned)))
            .collect(),
        then: then.split(' ').map(str::to_owned).collect(),
    };
    let requests = vec![
        person(&[("new0.md", Some("# New\n\ncommon zanzibar\n"))], "index --words"),
        person(&[("n0.md", Some("# Note 0\n\nизменено\n"))], "index --words"),
        person(&[("n1.md", None)], "index --words"),
        person(&[("n2.md", Some("# Note 2\n\ncommon\n"))], "index --rebuild --words"),
        person(&[("n3.md", None), ("folder/n3.md", Some("common\n"))], "index --words"),
        person(&[("new1.md", Some("# 新\n\ncommon 座安\n"))], "index --rebuild --words"),
        person(&[("n4.md", Some("---\ntags: [x]\n---\ncommon\n"))], "index --words"),
    ];
    let observe = |bench: &Bench, _: &mut Session| {
        let mut state = State::new();
        for word in ["common", "слово0 слово1 слово2 слово3 слово4", "zanzibar", "изменено"]
        {
            for result in list(&found(bench, &["search", word, "--limit", "50", "--json"])) {
                let value = format!("{} {}", result["title"], result["matches"][0]["snippet"]);
                state.insert(format!("{word}: {}", result["path"]), value);
            }
        }
        state
    };
    Path { name: "index", door: Door::Shell, token: String::new(), requests, observe }
}
