//! Prompts in a browser without scripts.

use serde_json::{Value, json};

use crate::{
    support::{Home, Server},
    web_cards::{Browser, PROBE, is_escaped, percent, result as call},
};

/// The prompt as agents get it.
fn rendered(server: &Server, token: &str, name: &str, arguments: Value) -> Value {
    let request = json!({ "jsonrpc": "2.0", "id": 1, "method": "prompts/get",
        "params": { "name": name, "arguments": arguments } });
    server.post_as(token, &request.to_string()).json()
}

fn etag(page: &str) -> String {
    let (_, rest) = page.split_once("name=\"etag\" value=\"").unwrap();
    rest.split('"').next().unwrap().replace("&#34;", "\"").replace("&quot;", "\"")
}

/// A form with one message and one argument.
fn form<'a>(name: &'a str, text: &'a str, etag: &'a str, deed: &'a str) -> Vec<(&'a str, &'a str)> {
    vec![
        ("name", name),
        ("title", "Обзор кода"),
        ("description", "Когда просят посмотреть код"),
        ("tags", "код, レビュー"),
        ("messages", "2"),
        ("role-0", "user"),
        ("text-0", text),
        ("role-1", "user"),
        ("text-1", ""),
        ("arguments", "2"),
        ("argument-0", "code"),
        ("about-0", "Текст"),
        ("required-0", "1"),
        ("value-0", "fn main() {}"),
        ("argument-1", ""),
        ("etag", etag),
        ("do", deed),
    ]
}

#[test]
fn a_prompt_is_written_tried_changed_deleted_and_brought_back() {
    let home = Home::new();
    home.note("dev/Rules.md", "# Rules\n\n## Short\n\nБез паники.\n")
        .note("dev/How.md", "# How\n\nRun review_код on every branch.\n");
    let token = home.token("owner");
    let server = home.serve();
    let browser = Browser::of(&server, &token);
    let text = "Посмотри {{code}} на {{язык|Rust}}: {{note:dev/Rules.md#Short}}";
    assert!(browser.page("/prompts/new").contains("New prompt"));

    // Trying it saves nothing.
    let tried = browser.post("/prompts/new", &form("review_код", text, "", "preview"));
    assert_eq!(tried.status, 200, "{}", tried.body);
    assert!(tried.body.contains("Посмотри fn main() {} на Rust: ## Short"), "{}", tried.body);
    assert_eq!(browser.get(&format!("/prompts/of/{}", percent("review_код"))).status, 404);

    let page = browser.follow("/prompts/new", &form("review_код", text, "", "save"));
    assert!(page.contains("Saved.") && page.contains("Обзор кода"), "{page}");
    assert!(page.contains("dev/Rules.md › Short"), "{page}");
    let address = format!("/prompts/of/{}", percent("review_код"));
    let told = rendered(&server, &token, "review_код", json!({ "code": "x" }));
    let told = told["result"]["messages"][0]["content"]["text"].as_str().unwrap();
    assert!(told.starts_with("Посмотри x на Rust: "), "{told}");
    let page = browser.page(&address);
    assert!(page.contains("{{code}}"), "an argument without a value stays: {page}");
    assert!(page.contains(">How</a>"), "where it is used: {page}");
    assert!(browser.page("/prompts").contains("review_код"));
    for query in ["посмотреть код", "обзор"] {
        let page = browser.page(&format!("/prompts?q={}", percent(query)));
        assert!(page.contains("review_код"), "{query}: {page}");
    }
    assert!(browser.page(&format!("/prompts?tag={}", percent("レビュー"))).contains("review_код"));
    assert!(browser.page("/prompts?q=nowhere").contains("No prompt matches"));

    let seen = etag(&page);
    let changed = text.replace("Посмотри", "Проверь");
    let page = browser.follow(&address, &form("review_код", &changed, &seen, "save"));
    assert!(page.contains("Проверь"), "{page}");
    let mine = text.replace("Посмотри", "Изучи");
    let stale = browser.post(&address, &form("review_код", &mine, &seen, "save"));
    assert_eq!(stale.status, 409);
    assert!(stale.body.contains("Проверь") && stale.body.contains("Изучи"), "{}", stale.body);
    assert!(browser.page(&address).contains("Проверь"), "nothing was overwritten");

    // What cannot be saved is shown again with the reason.
    let refused = browser.post(&address, &form("review код", &changed, &etag(&page), "save"));
    assert_eq!(refused.status, 400);
    assert!(
        refused.body.contains("letters, digits and underscores")
            && refused.body.contains("Проверь")
    );
    let page = browser.follow(&address, &form("проверка", &changed, &etag(&page), "save"));
    assert!(page.contains("проверка"), "{page}");
    assert_eq!(browser.get(&address).status, 404, "the old name is free");

    let address = format!("/prompts/of/{}", percent("проверка"));
    let page = browser.follow(&address, &[("do", "delete")]);
    assert!(page.contains("The prompt was deleted") && !page.contains("проверка"), "{page}");
    let (_, rest) = page.split_once("name=\"change\" value=\"").unwrap();
    let change = rest.split('"').next().unwrap();
    let page = browser.follow("/undo", &[("change", change), ("back", "/prompts")]);
    assert!(page.contains("проверка"), "{page}");
}

#[test]
fn a_prompt_that_is_built_in_is_copied_and_one_with_a_picture_keeps_it() {
    let home = Home::new();
    let token = home.token("owner");
    let server = home.serve();
    let browser = Browser::of(&server, &token);
    let list = browser.page("/prompts");
    let (_, rest) = list.split_once("href=\"/prompts/of/").expect("there are built-in prompts");
    let name = rest.split('"').next().unwrap().to_owned();
    let address = format!("/prompts/of/{name}");
    assert!(browser.page(&address).contains("Save as mine"));
    let page = browser.follow(&address, &form(&name, "Мой текст {{code}}", "", "save"));
    assert!(page.contains("Мой текст") && !page.contains("Save as mine"), "{page}");

    call(
        &server,
        &token,
        "create_prompt",
        json!({ "name": "photo", "title": "Photo", "messages": [
        { "role": "user", "content": { "type": "text", "text": "what is this" } },
        { "role": "user", "content": { "type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png" } },
    ] }),
    );
    let page = browser.page("/prompts/of/photo");
    assert!(page.contains("image, kept as it is"), "{page}");
    let fields = [
        ("name", "photo"),
        ("title", "Photo"),
        ("messages", "3"),
        ("role-0", "user"),
        ("text-0", "何ですか"),
        ("role-1", "user"),
        ("kept-1", "image"),
        ("do", "save"),
    ];
    browser.follow("/prompts/of/photo", &fields);
    let told = rendered(&server, &token, "photo", json!({}));
    assert_eq!(told["result"]["messages"][0]["content"]["text"], "何ですか");
    assert_eq!(told["result"]["messages"][1]["content"]["data"], "iVBORw0KGgo=");
}

#[test]
fn what_a_prompt_says_never_runs() {
    let home = Home::new();
    let token = home.token("owner");
    let server = home.serve();
    let browser = Browser::of(&server, &token);
    let probe = PROBE.replace("{{7*7}}", "{{a}}");
    call(
        &server,
        &token,
        "create_prompt",
        json!({ "name": "probe", "title": probe, "description": probe,
        "tags": [probe], "arguments": [{ "name": "a", "description": probe }],
        "messages": [{ "role": "user", "content": { "type": "text", "text": probe } }] }),
    );
    let paths = [
        "/prompts".to_owned(),
        "/prompts/of/probe".to_owned(),
        format!("/prompts/of/probe?value.a={}", percent(PROBE)),
        format!("/prompts?q={}", percent(PROBE)),
        format!("/prompts?tag={}", percent(&probe)),
    ];
    for path in paths {
        let page = browser.page(&path);
        assert!(is_escaped(&page), "{path}: {page}");
    }
    let tried = browser.post("/prompts/of/probe", &form(PROBE, PROBE, PROBE, "preview"));
    assert!(is_escaped(&tried.body), "{}", tried.body);
    let refused = browser.post("/prompts/new", &form(PROBE, PROBE, PROBE, "save"));
    assert_eq!(refused.status, 400);
    assert!(is_escaped(&refused.body), "{}", refused.body);
}

#[test]
fn a_reader_tries_what_is_shared_and_changes_nothing() {
    let home = Home::new();
    let (owner, reader) = (home.token("owner"), home.token("reader"));
    let server = home.serve();
    call(
        &server,
        &owner,
        "create_prompt",
        json!({ "name": "secret_one", "title": "Secret",
        "messages": [{ "role": "user", "content": { "type": "text", "text": "s" } }] }),
    );
    for browser in [Browser::of(&server, &reader), Browser::stranger(&server)] {
        let list = browser.page("/prompts");
        assert!(!list.contains("secret_one") && !list.contains("New prompt"), "{list}");
        assert!(!browser.page("/prompts?q=secret").contains("secret_one"));
        assert_eq!(browser.get("/prompts/of/secret_one").status, 404);
        assert_eq!(browser.post("/prompts/of/secret_one", &[("do", "preview")]).status, 404);
        assert_eq!(browser.get("/prompts/new").status, 403);
        assert_eq!(browser.post("/prompts/new", &form("x", "x", "", "save")).status, 403);
        for deed in ["save", "delete", ""] {
            assert_eq!(
                browser.post("/prompts/of/secret_one", &[("do", deed)]).status,
                403,
                "{deed}"
            );
        }
        let (_, rest) = list.split_once("href=\"/prompts/of/").expect("shared prompts");
        let address = format!("/prompts/of/{}", rest.split('"').next().unwrap());
        let tried =
            browser.post(&address, &[("do", "preview"), ("messages", "1"), ("text-0", "mine")]);
        assert_eq!(tried.status, 200);
        assert!(
            !tried.body.contains(">mine<"),
            "a reader tries the prompt as it is: {}",
            tried.body
        );
    }
    let bearer = format!("Bearer {owner}");
    let kind = "application/x-www-form-urlencoded";
    for path in ["/prompts/new", "/prompts/of/secret_one"] {
        let headers = [
            ("Authorization", bearer.as_str()),
            ("Content-Type", kind),
            ("Sec-Fetch-Site", "cross-site"),
        ];
        assert_eq!(server.send("POST", path, &headers, b"do=delete").status, 403, "{path}");
    }
    assert!(Browser::of(&server, &owner).page("/prompts").contains("secret_one"));
}
