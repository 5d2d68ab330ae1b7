//! Cards, prompts and bookmarks, through the tools of an agent.

use serde_json::{Value, json};

use super::{Path, State, call, first_word, list, search, stdio, tool};
use crate::{
    bench::Bench,
    session::{Door, Request, Session},
};

pub fn card(session: &mut Session, word: &str) -> String {
    let made = tool(session, "create_note", json!({ "content": format!("{word} common") }));
    made["id"].as_str().unwrap().to_owned()
}

pub fn cards(bench: &Bench) -> Path {
    let mut session = stdio(bench);
    let ids: Vec<String> = (0..6).map(|n| card(&mut session, &format!("card{n}"))).collect();
    session.close();
    let requests = vec![
        Request::Tool("create_note", json!({ "content": "new0 common 札" })),
        Request::Tool("update_note", json!({ "id": ids[0], "content": "card0 common карточка" })),
        Request::Tool("delete_note", json!({ "id": ids[1] })),
        Request::Tool("toggle_pin", json!({ "id": ids[2] })),
        Request::Tool("create_note", json!({ "content": "new1 common", "labels": ["дом"] })),
        Request::Tool("toggle_archive", json!({ "id": ids[3] })),
        Request::Tool("update_note", json!({ "id": ids[4], "content": "card4 common 札" })),
    ];
    let observe = |_: &Bench, session: &mut Session| {
        let mut state = State::new();
        let answer = tool(session, "get_notes", json!({ "includeArchived": true }));
        for note in list(if answer.is_array() { &answer } else { &answer["notes"] }) {
            let value = format!(
                "{} {} {} {}",
                note["content"], note["isPinned"], note["isArchived"], note["labels"]
            );
            state.insert(format!("card {}", first_word(&note["content"])), value);
        }
        search(session, "card", "title", &mut state);
        state
    };
    Path { name: "cards", door: Door::Stdio, token: String::new(), requests, observe }
}

pub fn prompt(name: &str, text: &str) -> Value {
    let content = json!({ "type": "text", "text": text });
    json!({ "name": name, "title": name, "tags": [], "description": text,
        "messages": [{ "role": "user", "content": content }] })
}

pub fn prompts_of(session: &mut Session, state: &mut State) {
    for one in list(&call(session, "prompts/list", &json!({}))["prompts"]) {
        let name = one["name"].as_str().unwrap();
        if name.starts_with("lab") {
            let got = call(session, "prompts/get", &json!({ "name": name }));
            state.insert(format!("prompt {name}"), got.to_string());
        }
    }
}

pub fn prompts(bench: &Bench) -> Path {
    let mut session = stdio(bench);
    for n in 0..6 {
        tool(&mut session, "create_prompt", prompt(&format!("lab{n}"), "начало"));
    }
    session.close();
    let update = |n: u32| Request::Tool("update_prompt", prompt(&format!("lab{n}"), "другой 文"));
    let create =
        |n: u32| Request::Tool("create_prompt", prompt(&format!("lab_new{n}"), "новый 新しい"));
    let delete = |n: u32| Request::Tool("delete_prompt", json!({ "name": format!("lab{n}") }));
    let requests =
        vec![create(0), update(0), delete(1), create(1), update(2), delete(3), create(2)];
    let observe = |_: &Bench, session: &mut Session| {
        let mut state = State::new();
        prompts_of(session, &mut state);
        state
    };
    Path { name: "prompts", door: Door::Stdio, token: String::new(), requests, observe }
}

pub fn bookmarks(bench: &Bench) -> Path {
    let add = |n: u32, text: &str| {
        let url = format!("https://example.org/{n}");
        json!({ "url": url, "text": format!("link{n} common {text}") })
    };
    let mut session = stdio(bench);
    for n in 0..4 {
        tool(&mut session, "add_bookmark", add(n, "сначала"));
    }
    session.close();
    let requests =
        [(10, "a"), (0, "другое"), (11, "ж"), (1, "別"), (12, "字"), (2, "b"), (13, "c")]
            .map(|(n, text)| Request::Tool("add_bookmark", add(n, text)));
    let observe = |bench: &Bench, session: &mut Session| {
        let mut state = State::new();
        let listed = bench.say(&["bookmark", "list", "--limit", "50", "--json"]);
        let listed: Value = serde_json::from_str(&listed).unwrap();
        for one in list(&listed["results"]) {
            let value = format!("{} {}", one["text"], one["summary"]);
            state.insert(format!("bookmark {}", one["url"]), value);
        }
        search(session, "bookmark", "url", &mut state);
        state
    };
    let requests = requests.to_vec();
    Path { name: "bookmarks", door: Door::Stdio, token: String::new(), requests, observe }
}
