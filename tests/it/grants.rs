//! What a grant opens, and that it opens nothing else: over HTTP, with tokens of users.

use serde_json::{Value, json};

use crate::{
    hosted,
    support::{Home, Server, put, until},
};

/// A folder a language: its path, a note in it, a word that only this note has, a question, and
/// what answers it.
const FOLDERS: [[&str; 5]; 3] = [
    [
        "team",
        "team/Roast.md",
        "zanzibarine",
        "Which beans does the team roast?",
        "The team roasts zanzibarine beans on Friday.",
    ],
    [
        "команда",
        "команда/Обжарка.md",
        "занзибарин",
        "Какие зёрна обжаривает команда?",
        "Команда обжаривает зёрна занзибарин в пятницу.",
    ],
    [
        "計画",
        "計画/焙煎.md",
        "座安士豆",
        "チームはどの豆を焙煎しますか",
        "チームは金曜日に座安士豆を焙煎します。",
    ],
];

fn library() -> Home {
    let home = Home::new();
    for [folder, path, word, _, text] in FOLDERS {
        let title = path.rsplit('/').next().unwrap().trim_end_matches(".md");
        home.note(path, &format!("# {title}\n\n{text} See [[Open]].\n"));
        // The same words, in a folder whose name starts the same and in one beside it.
        home.note(&format!("{folder}s/Other.md"), &format!("# Other\n\nPrivate {word}. {text}\n"));
        home.note(
            &format!("private/{folder}/Deep.md"),
            &format!("# Deep\n\nPrivate {word}. {text} See [[{title}]].\n"),
        );
    }
    home.note("Open.md", "---\nfree: true\n---\n# Open\n\nFor everybody: kettle.\n");
    home.note("Club.md", "---\naccess: members\n---\n# Club\n\nFor members: kettle.\n");
    home
}

/// A user with this role, and a token of theirs.
fn user(home: &Home, name: &str, role: &str, scopes: &str) -> String {
    home.say(&["user", "add", name, "--role", role]);
    let out = home.say(&["token", "create", "--user", name, "--scope", scopes]);
    out.split_whitespace().last().unwrap().to_owned()
}

fn ask(server: &Server, token: &str, method: &str, params: Value) -> Value {
    let request = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    server.post_as(token, &request.to_string()).json()
}

fn call(server: &Server, token: &str, tool: &str, arguments: Value) -> Value {
    ask(server, token, "tools/call", json!({ "name": tool, "arguments": arguments }))
}

/// The paths of the results of a search.
fn found(answer: &Value) -> Vec<String> {
    let results = answer["result"]["structuredContent"]["results"].as_array();
    let results = results.unwrap_or_else(|| panic!("{answer}"));
    results.iter().map(|item| item["path"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_folder_that_was_granted_is_found_and_read_until_it_is_revoked() {
    let home = library();
    let ann = user(&home, "ann", "reader", "read,write");
    home.say(&["index"]);
    let server = home.serve();
    for [folder, path, word, question, text] in FOLDERS {
        let search = || found(&call(&server, &ann, "search", json!({ "query": word })));
        let note = || call(&server, &ann, "note_html", json!({ "path": path }));
        assert_eq!(search(), Vec::<String>::new(), "{folder}: before");
        let unknown = note()["error"]["message"].as_str().unwrap().to_owned();
        assert!(!unknown.contains(word), "{unknown}");

        let part = format!("vault/{folder}");
        home.say(&["grant", "add", "ann", "--folder", &part]);
        let answer = call(&server, &ann, "search", json!({ "query": word }));
        assert_eq!(found(&answer), [path], "{folder}");
        assert_eq!(answer["result"]["structuredContent"]["totalMatches"], 1, "{answer}");
        let listed = call(&server, &ann, "search", json!({ "filters": { "path": folder } }));
        assert_eq!(found(&listed), [path]);
        let similar = call(&server, &ann, "search", json!({ "query": text, "limit": 50 }));
        assert!(
            found(&similar).iter().all(|seen| seen == path || !seen.contains('/')),
            "{similar}"
        );
        let read = note();
        let pid =
            read["result"]["structuredContent"]["pid"].as_i64().unwrap_or_else(|| panic!("{read}"));
        assert!(read.to_string().contains(word), "{read}");
        let answered = call(&server, &ann, "ask", json!({ "question": question })).to_string();
        assert!(answered.contains(path) && !answered.contains("private/"), "{answered}");
        let uri = format!("notewell://item/{pid}");
        let resource = ask(&server, &ann, "resources/read", json!({ "uri": uri }));
        assert!(resource.to_string().contains(word), "{resource}");
        let resources = ask(&server, &ann, "resources/list", json!({})).to_string();
        assert!(resources.contains(&uri) && !resources.contains("private/"), "{resources}");
        assert!(!resource.to_string().contains("notewell/backlinks\":[\""), "{resource}");
        let places = call(&server, &ann, "expand", json!({})).to_string();
        assert!(places.contains(folder) && !places.contains("private"), "{places}");
        let page = page_of(&server, &ann, pid);
        assert!(page.contains(word), "{page}");

        home.say(&["grant", "remove", "ann", "--folder", &part]);
        assert_eq!(search(), Vec::<String>::new(), "{folder}: after");
        assert_eq!(note()["error"]["message"].as_str().unwrap(), unknown);
        let gone = ask(&server, &ann, "resources/read", json!({ "uri": uri }));
        assert!(gone.get("error").is_some(), "{gone}");
        assert!(!page_of(&server, &ann, pid).contains(word));
        let answered = call(&server, &ann, "ask", json!({ "question": question })).to_string();
        assert!(!answered.contains(path), "{answered}");
    }
}

/// The page of an item for people.
fn page_of(server: &Server, token: &str, pid: i64) -> String {
    let bearer = format!("Bearer {token}");
    server.get(&format!("/n/{pid}"), &[("Authorization", &bearer), ("Accept", "text/html")]).body
}

#[test]
fn meaning_finds_no_more_than_was_granted() {
    let home = library();
    let ann = user(&home, "ann", "reader", "read");
    home.say(&["grant", "add", "ann", "--folder", "vault/команда"]);
    let mut index = home.command(&["index"]);
    index.env("NOTEWELL_EMBED_PROVIDER", "embedded");
    assert!(index.output().unwrap().status.success());
    let mut serve = home.command(&["serve", "--listen", "127.0.0.1:0"]);
    serve.env("NOTEWELL_EMBED_PROVIDER", "embedded");
    let server = Server::start(serve);
    for text in
        ["roasting coffee beans on Friday", "обжарка зёрен в пятницу", "金曜日に豆を焙煎する"]
    {
        let near = found(&call(&server, &ann, "similar", json!({ "text": text, "limit": 50 })));
        assert!(near.contains(&"команда/Обжарка.md".to_owned()), "{text}: {near:?}");
        let others = ["команда/Обжарка.md", "Open.md", "Club.md"];
        assert!(near.iter().all(|path| others.contains(&path.as_str())), "{text}: {near:?}");
    }
}

#[test]
fn members_read_what_is_theirs_and_a_bare_token_does_not() {
    let home = library();
    let ann = user(&home, "ann", "reader", "read");
    let bare = home.token("reader");
    home.say(&["index"]);
    let server = home.serve();
    let kettles = |token: &str| {
        let mut paths = found(&call(&server, token, "search", json!({ "query": "kettle" })));
        paths.sort();
        paths
    };
    assert_eq!(kettles(&ann), ["Club.md", "Open.md"]);
    assert_eq!(kettles(&bare), ["Open.md"]);
}

/// The message of a refusal.
fn refused(answer: &Value) -> String {
    let error = answer["error"]["message"].as_str();
    let text = answer["result"]["content"][0]["text"].as_str();
    let is_error = answer["result"]["isError"] == true || error.is_some();
    assert!(is_error, "it was not refused: {answer}");
    error.or(text).unwrap().to_owned()
}

#[test]
fn a_grant_to_write_ends_at_its_folder() {
    let home = library();
    let ann = user(&home, "ann", "reader", "read,write");
    let timid = {
        let out = home.say(&["token", "create", "--user", "ann", "--scope", "read"]);
        out.split_whitespace().last().unwrap().to_owned()
    };
    home.say(&["grant", "add", "ann", "--folder", "vault/team", "--write"]);
    home.say(&["grant", "add", "ann", "--folder", "vault/команда"]);
    home.say(&["index"]);
    let server = home.serve();
    let edit = |arguments: Value| call(&server, &ann, "edit_page", arguments);
    let append = |path: &str| edit(json!({ "path": path, "op": "append", "text": "- added" }));

    let done = append("team/Roast.md");
    assert!(done.to_string().contains("+- added"), "{done}");
    let create = |path: &str| edit(json!({ "path": path, "op": "create", "text": "# New" }));
    assert!(create("team/deep/New.md")["result"].is_object());

    // Readable and not writable; neither; and never there: the last two are the same.
    assert!(refused(&append("команда/Обжарка.md")).contains("you may not write"));
    let hidden = refused(&append("private/team/Deep.md")).replace("private/team/Deep.md", "X");
    let absent = refused(&append("private/team/None.md")).replace("private/team/None.md", "X");
    assert_eq!(hidden, absent);
    let taken = refused(&create("private/team/Deep.md")).replace("private/team/Deep.md", "X");
    let free = refused(&create("private/team/None.md")).replace("private/team/None.md", "X");
    assert_eq!(taken, free);
    assert!(refused(&create("teams/New.md")).contains("you may not write"));
    assert!(refused(&append("@today")).contains("you may not write"));

    let moved =
        |path: &str, to: &str| call(&server, &ann, "move_page", json!({ "path": path, "to": to }));
    assert!(refused(&moved("team/Roast.md", "private/")).contains("you may not write"));
    assert!(refused(&moved("команда/Обжарка.md", "team/")).contains("you may not write"));
    // Links of pages that she may not write stay as they are, and she is not told of those that she
    // does not see.
    let done = moved("team/Roast.md", "team/deep/").to_string();
    assert!(done.contains("team/deep/Roast.md") && !done.contains("private"), "{done}");
    let deep = std::fs::read_to_string(home.vault().join("private/team/Deep.md")).unwrap();
    assert!(deep.contains("[[Roast]]"), "{deep}");

    // A credential without `write` writes nothing, and is not offered to.
    let tools = ask(&server, &timid, "tools/list", json!({})).to_string();
    assert!(!tools.contains("edit_page") && tools.contains("note_html"), "{tools}");
    refused(&call(
        &server,
        &timid,
        "edit_page",
        json!({ "path": "team/deep/New.md", "op": "append", "text": "x" }),
    ));
    // A picture is read by whoever reads a note that shows it, so that only what she sees is shown.
    for file in ["private/plan.png", "team/map.png"] {
        put(&home.vault().join(file), "PNG");
    }
    let show = |file: &str| {
        let text = format!("![[{file}]]");
        edit(json!({ "path": "team/deep/New.md", "op": "append", "text": text, "dry_run": true }))
    };
    assert!(show("team/map.png")["result"].is_object());
    for file in ["private/plan.png", "plan.png", "../../private/plan.png"] {
        let absent = file.replace("plan", "none");
        let hidden = refused(&show(file)).replace(file, "X");
        assert_eq!(hidden, refused(&show(&absent)).replace(&absent, "X"));
    }
    // Agents follow a method: a grant to write a folder is no right to instruct them.
    let method = json!({ "path": "team/deep/New.md", "op": "set", "fields": { "mcp_method": "initialize" } });
    assert!(refused(&edit(method)).contains("only the owner and its author"));
    // An edit cannot take the page out of reach, nor put a price on it.
    let sold = json!({ "path": "team/deep/New.md", "op": "set", "fields": { "mcp_method": "m", "price": 1 } });
    assert!(refused(&edit(sold)).contains("you may not write"));
    let new = std::fs::read_to_string(home.vault().join("team/deep/New.md")).unwrap();
    assert_eq!(new, "# New\n");
}

#[test]
fn an_author_reads_and_writes_their_own_pages_only() {
    let home = library();
    home.note("Own.md", "---\nauthor: Mira\n---\n# Own\n\nA draft of a quince pie.\n");
    home.note("Hers.md", "---\nauthor: zoe\n---\n# Hers\n\nA draft of a quince pie.\n");
    let mira = user(&home, "mira", "author", "read,write");
    home.say(&["index"]);
    let server = home.serve();
    assert_eq!(found(&call(&server, &mira, "search", json!({ "query": "quince" }))), ["Own.md"]);
    let edit = |path: &str, arguments: Value| {
        let mut all = json!({ "path": path });
        all.as_object_mut().unwrap().extend(arguments.as_object().unwrap().clone());
        call(&server, &mira, "edit_page", all)
    };
    let append = json!({ "op": "append", "text": "More." });
    assert!(edit("Own.md", append.clone())["result"].is_object());
    refused(&edit("Hers.md", append));
    // She cannot give a page away, nor make one where nothing says that it is hers.
    assert!(
        refused(&edit("Own.md", json!({ "op": "set", "fields": { "author": "zoe" } })))
            .contains("you may not write")
    );
    refused(&edit("team/Mine.md", json!({ "op": "create", "text": "---\nauthor: mira\n---\n" })));
    let history = call(&server, &mira, "history", json!({}));
    assert!(refused(&history).contains("no tool is called"));
}

const CARDS: &str = r#"[
  {"id":"cardplan1","title":"Plan","content":"sprint kettle","labels":["План"],"createdAt":"2025-01-01T00:00:00.000Z","updatedAt":"2025-01-01T00:00:00.000Z"},
  {"id":"cardplan2","title":null,"content":"archived kettle","labels":["план","дом"],"isArchived":true,"createdAt":"2025-01-02T00:00:00.000Z","updatedAt":"2025-01-02T00:00:00.000Z"},
  {"id":"cardsecret","title":"Secret","content":"hush kettle","labels":["тайна"],"createdAt":"2025-01-03T00:00:00.000Z","updatedAt":"2025-01-03T00:00:00.000Z"}
]"#;

#[test]
fn cards_are_shared_by_label() {
    let home = Home::new();
    put(&home.dir.path().join("cards.json"), CARDS);
    home.say(&["import", "cards", home.dir.path().join("cards.json").to_str().unwrap()]);
    home.say(&[
        "bookmark",
        "add",
        "https://example.org/1",
        "--title",
        "Kettle plan",
        "--tag",
        "план",
    ]);
    home.say(&[
        "bookmark",
        "add",
        "https://example.org/2",
        "--title",
        "Kettle hush",
        "--tag",
        "тайна",
    ]);
    let ann = user(&home, "ann", "reader", "read,write");
    home.say(&["index"]);
    let server = home.serve();
    let tools = |token: &str| ask(&server, token, "tools/list", json!({})).to_string();
    assert!(!tools(&ann).contains("get_notes"));
    home.say(&["grant", "add", "ann", "--label", "ПЛАН", "--write"]);
    let listed = tools(&ann);
    assert!(listed.contains("get_notes") && listed.contains("create_note"), "{listed}");
    // What counts every bookmark, or may meet one that is hidden, takes all of them.
    assert!(!listed.contains("\"trends\"") && !listed.contains("\"add_bookmark\""), "{listed}");

    let ids = |answer: &Value| -> Vec<String> {
        let notes = answer["result"]["structuredContent"]["notes"].as_array().unwrap();
        notes.iter().map(|note| note["id"].as_str().unwrap().to_owned()).collect()
    };
    let all = call(&server, &ann, "get_notes", json!({ "includeArchived": true, "limit": 2 }));
    assert_eq!(ids(&all).len(), 2);
    assert!(all["result"]["structuredContent"].get("nextCursor").is_none(), "{all}");
    assert_eq!(
        ids(&call(&server, &ann, "search_notes", json!({ "query": "kettle" }))),
        ["cardplan1"]
    );
    let labels = call(&server, &ann, "get_labels", json!({}));
    let labels = labels["result"]["structuredContent"]["labels"].clone();
    assert_eq!(
        labels,
        json!(
            ["дом", "План", "план"]
                .map(str::to_owned)
                .into_iter()
                .collect::<std::collections::BTreeSet<_>>()
        )
    );
    let kinds = call(&server, &ann, "search", json!({ "query": "kettle" })).to_string();
    assert!(kinds.contains("cardplan1") && kinds.contains("example.org/1"), "{kinds}");
    assert!(!kinds.contains("cardsecret") && !kinds.contains("example.org/2"), "{kinds}");

    let without = |id: &str, text: String| text.replace(id, "ID");
    for tool in ["get_note", "toggle_pin", "toggle_archive", "delete_note"] {
        let of = |id: &str| without(id, refused(&call(&server, &ann, tool, json!({ "id": id }))));
        assert_eq!(of("cardsecret"), of("nobody"), "{tool}");
    }
    let image = |id: &str| {
        let uri = format!("notewell://card/{id}/image/0");
        without(id, refused(&ask(&server, &ann, "resources/read", json!({ "uri": uri }))))
    };
    assert_eq!(image("cardsecret"), image("nobody"));
    let update = |id: &str, labels: Value| {
        call(&server, &ann, "update_note", json!({ "id": id, "labels": labels }))
    };
    assert!(refused(&update("cardplan1", json!(["тайна"]))).contains("you may not write"));
    assert!(update("cardplan1", json!(["план", "тайна"]))["result"].is_object());
    let create = |labels: Value| {
        call(&server, &ann, "create_note", json!({ "content": "new", "labels": labels }))
    };
    assert!(refused(&create(json!([]))).contains("you may not write"));
    assert!(create(json!(["план"]))["result"].is_object());
    home.say(&["grant", "remove", "ann", "--label", "план"]);
    assert!(!tools(&ann).contains("get_notes"));
    until("the card is out of search", || {
        !call(&server, &ann, "search", json!({ "query": "kettle" }))
            .to_string()
            .contains("cardplan1")
    });
}

#[test]
fn a_grant_ends_where_another_vault_begins() {
    let home = Home::new();
    let outer = home.dir.path().join("notes");
    for (path, text) in [
        ("Own.md", "# Own\n\n![](private/scan.pdf) ![](scan.pdf) ![](own.png)\n"),
        ("own.png", "own"),
        ("private/Secret.md", "# Secret\n\n![](scan.pdf)\n"),
        ("private/scan.pdf", "private"),
    ] {
        let file = outer.join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        put(&file, text);
    }
    let [outer, inner] =
        [outer.clone(), outer.join("private")].map(|dir| dir.display().to_string());
    hosted::say(&home, &["vault", "add", &outer, "--name", "notes"]);
    hosted::say(&home, &["vault", "add", &inner, "--name", "private"]);
    hosted::say(&home, &["user", "add", "ann"]);
    hosted::say(&home, &["grant", "add", "ann", "--whole-vault", "notes", "--write"]);
    let out = hosted::say(&home, &["token", "create", "--user", "ann", "--scope", "read,write"]);
    let ann = out.split_whitespace().last().unwrap();
    let owner = hosted::token(&home, "owner");
    let server = hosted::serve(&home);
    let file = |token: &str, note: &str, path: &str| {
        let read = call(&server, token, "note_html", json!({ "path": note }));
        let pid = read["result"]["structuredContent"]["pid"].as_i64();
        let pid = pid.unwrap_or_else(|| panic!("{read}"));
        let bearer = format!("Bearer {token}");
        server.get(&format!("/n/{pid}/file/{path}"), &[("Authorization", &bearer)])
    };
    assert_eq!(file(ann, "notes/Own.md", "own.png").body, "own");
    for path in ["private/scan.pdf", "scan.pdf"] {
        assert_eq!(file(ann, "notes/Own.md", path).status, 404, "{path}");
    }
    assert_eq!(file(&owner, "private/Secret.md", "scan.pdf").body, "private");
    let peek = json!({ "path": "notes/Peek", "op": "create", "text": "![](private/scan.pdf)\n" });
    let refused = call(&server, ann, "edit_page", peek).to_string();
    assert!(refused.contains("is no file that you may read"), "{refused}");
}
