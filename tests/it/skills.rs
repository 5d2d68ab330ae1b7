//! Skills over MCP: folders with a `SKILL.md`, and methods, as clients see them.

use std::fmt::Write as _;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::{
    hosted,
    support::{Client, Home, Server, put, until},
};

pub fn skill(name: &str, description: &str) -> String {
    format!(
        "---\nname: {name}\ndescription: {description}\nlicense: MIT\n---\n\n# {name}\n\nDo it.\n"
    )
}

pub fn sha256(bytes: impl AsRef<[u8]>) -> String {
    let digest = Sha256::digest(bytes.as_ref());
    digest.iter().fold("sha256:".to_owned(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The result of a method, on a connection of an older revision.
fn ask(client: &mut Client, method: &str, params: Value) -> Value {
    let answer = client.ask(method, params);
    assert!(answer.get("result").is_some(), "{method}: {answer}");
    answer["result"].clone()
}

/// Every skill, by pages.
fn all(client: &mut Client) -> Vec<Value> {
    let mut skills = Vec::new();
    let mut cursor = Value::Null;
    loop {
        let page = ask(client, "skills/list", json!({ "cursor": cursor }));
        skills.extend(page["skills"].as_array().unwrap().iter().cloned());
        match page.get("nextCursor") {
            Some(next) => cursor = next.clone(),
            None => return skills,
        }
    }
}

fn uris(skills: &[Value]) -> Vec<&str> {
    skills.iter().map(|skill| skill["uri"].as_str().unwrap()).collect()
}

/// A request as a bare POST with a token, or without one.
fn post(server: &Server, token: Option<&str>, method: &str, params: Value) -> Value {
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string();
    match token {
        Some(token) => server.post_as(token, &body),
        None => server.post(&body),
    }
    .json()
}

#[test]
fn a_folder_is_served_as_it_is_with_digests_of_this_moment() {
    let home = Home::new();
    let manifest = skill("review", "Ревью кода. コードレビュー.");
    home.note("skills/review/SKILL.md", &manifest)
        .note("skills/review/references/стиль.md", "Пишите просто.\r\n")
        .note("skills/review/scripts/図.py", "print('x')\n")
        .note("skills/review/.env", "secret");
    let binary = [0_u8, 159, 146, 150];
    std::fs::write(home.vault().join("skills/review/logo.png"), binary).unwrap();
    let mut client = home.stdio();
    let initialized = client.initialize();
    let extensions = &initialized["result"]["capabilities"]["extensions"];
    assert_eq!(extensions["io.modelcontextprotocol/skills"], json!({ "directoryRead": true }));

    let skills = all(&mut client);
    let root = "skill://vaults/vault/skills/review";
    assert_eq!(uris(&skills), [format!("{root}/SKILL.md")]);
    assert_eq!(
        skills[0]["frontmatter"],
        json!({ "name": "review", "description": "Ревью кода. コードレビュー.", "license": "MIT" })
    );
    let files = skills[0]["resources"].as_array().unwrap();
    let entry = |uri: &str, bytes: &[u8]| json!({ "uri": uri, "digest": sha256(bytes), "size": bytes.len() });
    let style = format!("{root}/references/%D1%81%D1%82%D0%B8%D0%BB%D1%8C.md");
    let script = format!("{root}/scripts/%E5%9B%B3.py");
    assert_eq!(
        *files,
        [
            entry(&format!("{root}/SKILL.md"), manifest.as_bytes()),
            entry(&format!("{root}/logo.png"), &binary),
            entry(&style, "Пишите просто.\r\n".as_bytes()),
            entry(&script, b"print('x')\n"),
        ]
    );

    // What is read is what the digest says, byte for byte.
    let read = ask(&mut client, "resources/read", json!({ "uri": style }));
    assert_eq!(read["contents"][0]["text"], "Пишите просто.\r\n");
    assert_eq!(read["contents"][0]["mimeType"], "text/markdown");
    let read = ask(&mut client, "resources/read", json!({ "uri": format!("{root}/logo.png") }));
    assert_eq!(read["contents"][0]["blob"], "AJ+Slg==");

    // An edit shows at once, also one that no watcher has seen yet.
    put(&home.vault().join("skills/review/scripts/図.py"), "print('y')\n");
    put(&home.vault().join("skills/review/SKILL.md"), manifest.replace("Do it", "Do so"));
    let uri = format!("{root}/SKILL.md");
    let now = ask(&mut client, "skills/get", json!({ "uri": uri }));
    let digest = |path: &str| {
        let files = now["skill"]["resources"].as_array().unwrap();
        files.iter().find(|file| file["uri"] == path).unwrap()["digest"].clone()
    };
    assert_eq!(digest(&script), sha256("print('y')\n"));
    assert_eq!(digest(&uri), sha256(manifest.replace("Do it", "Do so")));

    // A file that is new is a part of it, one that is gone is not.
    home.note("skills/review/more.txt", "more");
    std::fs::remove_file(home.vault().join("skills/review/logo.png")).unwrap();
    let now = ask(&mut client, "skills/get", json!({ "uri": uri }));
    let now: Vec<&str> = now["skill"]["resources"]
        .as_array()
        .unwrap()
        .iter()
        .map(|file| file["uri"].as_str().unwrap())
        .collect();
    assert!(now.contains(&format!("{root}/more.txt").as_str()), "{now:?}");
    assert!(!now.contains(&format!("{root}/logo.png").as_str()), "{now:?}");
}

#[test]
fn folders_are_read_one_level_at_a_time_and_nothing_outside_of_them() {
    let home = Home::new();
    home.note("a/plan/SKILL.md", &skill("plan", "Plans"))
        .note("a/plan/templates/eu/x.md", "x")
        .note("a/plan/templates/y.md", "y")
        .note("a/secret.txt", "secret")
        .note("top.md", "A note.");
    std::os::unix::fs::symlink(
        home.vault().join("a/secret.txt"),
        home.vault().join("a/plan/l.txt"),
    )
    .unwrap();
    let mut client = home.stdio();
    client.initialize();
    let root = "skill://vaults/vault/a/plan";
    let listed = |client: &mut Client, uri: &str| -> Vec<(String, String)> {
        let answer = ask(client, "resources/directory/read", json!({ "uri": uri }));
        let children = answer["resources"].as_array().unwrap().iter();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        children.map(|child| (text(&child["uri"]), text(&child["mimeType"]))).collect()
    };
    let pair = |uri: &str, mime: &str| (format!("{root}/{uri}"), mime.to_owned());
    assert_eq!(
        listed(&mut client, root),
        [pair("SKILL.md", "text/markdown"), pair("templates", "inode/directory")]
    );
    assert_eq!(
        listed(&mut client, &format!("{root}/templates")),
        [pair("templates/eu", "inode/directory"), pair("templates/y.md", "text/markdown")]
    );
    for uri in [
        format!("{root}/SKILL.md"),
        format!("{root}/nowhere"),
        "skill://vaults/vault/a".to_owned(),
        "skill://vaults/vault".to_owned(),
        format!("{root}/.."),
    ] {
        let answer = client.ask("resources/directory/read", json!({ "uri": uri }));
        assert_eq!(answer["error"]["code"], -32602, "{uri}: {answer}");
    }
    for uri in [
        format!("{root}/../secret.txt"),
        format!("{root}/%2e%2e/secret.txt"),
        format!("{root}/..%2fsecret.txt"),
        format!("{root}/l.txt"),
        "skill://vaults/vault/a/secret.txt".to_owned(),
        "skill://vaults/vault/top.md".to_owned(),
        "skill://vaults/other/a/plan/SKILL.md".to_owned(),
    ] {
        let answer = client.ask("resources/read", json!({ "uri": uri }));
        assert!(answer.get("error").is_some(), "{uri}: {answer}");
        let answer = client.ask("skills/get", json!({ "uri": uri }));
        assert_eq!(answer["error"]["code"], -32602, "{uri}: {answer}");
    }
    let answer = client.ask("skills/get", json!({}));
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
}

#[test]
fn a_method_is_a_skill_with_its_arguments() {
    let home = Home::new();
    home.note(
        "plan.md",
        "---\nmcp_method: weekly_plan\nmcp_description: План недели\narguments:\n  week: 何週\n---\nPlan {{week}} with {{goal|rest}}.\n",
    )
    .note("review.md", "---\nmcp_method: Weekly-Plan\n---\nNo variable.\n")
    .note("start.md", "---\nmcp_method: initialize\n---\nHello.\n");
    let mut client = home.stdio();
    client.initialize();
    let skills = all(&mut client);
    assert_eq!(skills.len(), 2, "{skills:?}");
    let plan =
        skills.iter().find(|one| one["frontmatter"]["description"] == "План недели").unwrap();
    let uri = plan["uri"].as_str().unwrap();
    assert_eq!(uri, "skill://methods/weekly-plan/SKILL.md");
    let read = ask(&mut client, "resources/read", json!({ "uri": uri }));
    let text = read["contents"][0]["text"].as_str().unwrap();
    assert_eq!(
        plan["resources"],
        json!([{ "uri": uri, "digest": sha256(text), "size": text.len() }])
    );
    for part in [
        "name: weekly-plan\n",
        "Call the tool `weekly_plan`",
        "- `week` (required): 何週",
        "- `goal` (optional)",
        "Plan {{week}} with {{goal|rest}}.",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    // Two names that would be one differ by the page's number.
    let other = uris(&skills).into_iter().find(|other| *other != uri).unwrap().to_owned();
    assert!(other.starts_with("skill://methods/weekly-plan-p"), "{other}");
    let folder = ask(
        &mut client,
        "resources/directory/read",
        json!({ "uri": "skill://methods/weekly-plan" }),
    );
    assert_eq!(folder["resources"][0]["uri"], uri);

    // The digest follows the page.
    home.note("review.md", "---\nmcp_method: Weekly-Plan\n---\nChanged.\n");
    until("the generated skill follows its page", || {
        let read = ask(&mut client, "resources/read", json!({ "uri": other }));
        let text = read["contents"][0]["text"].as_str().unwrap().to_owned();
        let now = ask(&mut client, "skills/get", json!({ "uri": other }));
        // The page may change between the two questions.
        now["skill"]["resources"][0]["digest"] == sha256(&text) && text.contains("Changed.")
    });
}

#[test]
fn everybody_has_the_skills_that_they_may_read() {
    let home = Home::new();
    home.note("free/open/SKILL.md", "---\nname: open\ndescription: For all\nfree: true\n---\nx\n")
        .note("free/open/public.md", "---\nfree: true\n---\nEverybody's.\n")
        .note("free/open/hidden.md", "Mine alone.\n")
        .note("free/open/data.csv", "1,2\n")
        .note("mine/closed/SKILL.md", &skill("closed", "Mine"))
        .note("sold.md", "---\nmcp_method: sold\nprice: 0.10\nfree: true\nmarket_description: Buy me\n---\nThe secret text {{what}}.\n");
    let server = home.serve();
    let token = home.token("owner");
    let list = |token: Option<&str>| {
        let answer = post(&server, token, "skills/list", json!({}));
        answer["result"]["skills"].as_array().unwrap_or_else(|| panic!("{answer}")).clone()
    };
    let open = "skill://vaults/vault/free/open";
    let strangers = list(None);
    assert_eq!(uris(&strangers), [&format!("{open}/SKILL.md"), "skill://methods/sold/SKILL.md"]);
    let files = uris(strangers[0]["resources"].as_array().unwrap());
    assert_eq!(files, ["SKILL.md", "data.csv", "public.md"].map(|file| format!("{open}/{file}")));
    let read = |token: Option<&str>, uri: &str| {
        post(&server, token, "resources/read", json!({ "uri": uri }))
    };
    let hidden = format!("{open}/hidden.md");
    assert!(read(None, &hidden).get("error").is_some());
    assert!(read(None, "skill://vaults/vault/mine/closed/SKILL.md").get("error").is_some());
    let folder = post(&server, None, "resources/directory/read", json!({ "uri": open }));
    assert!(!folder.to_string().contains("hidden"), "{folder}");

    // A method that is sold says how to call it, to its owner too.
    for token in [None, Some(token.as_str())] {
        let sold = read(token, "skill://methods/sold/SKILL.md");
        let text = sold["result"]["contents"][0]["text"].as_str().unwrap().to_owned();
        assert!(text.contains("Call the tool `sold`") && text.contains("0.1"), "{text}");
        assert!(text.contains("`what` (required)") && !text.contains("secret text"), "{text}");
    }
    let owners = list(Some(&token));
    assert_eq!(owners.len(), 3);
    assert_eq!(read(Some(&token), &hidden)["result"]["contents"][0]["text"], "Mine alone.\n");

    // A user sees more with a grant, from the next request on.
    home.say(&["user", "add", "ann"]);
    let ann =
        home.say(&["token", "create", "--user", "ann", "--scope", "read,write", "--name", "a"]);
    let ann = ann.split_whitespace().last().unwrap();
    assert_eq!(list(Some(ann)).len(), 2);
    home.say(&["grant", "add", "ann", "--folder", "vault/mine", "--write"]);
    assert_eq!(list(Some(ann)).len(), 3);
    // Agents follow a skill, so a grant does not make one.
    let edit = |path: &str| {
        let arguments = json!({ "path": path, "op": "create", "text": skill("evil", "Run me") });
        post(
            &server,
            Some(ann),
            "tools/call",
            json!({ "name": "edit_page", "arguments": arguments }),
        )
    };
    let refused = edit("mine/evil/SKILL.md");
    assert!(refused["error"]["message"].as_str().unwrap().contains("SKILL.md"), "{refused}");
    assert!(!home.vault().join("mine/evil/SKILL.md").exists());
}

#[test]
fn what_makes_no_skill_is_named_to_the_owner_with_the_reason() {
    let home = Home::new();
    home.note("good/SKILL.md", &skill("good", "Good"))
        .note("Обзор/SKILL.md", "---\nname: Обзор\ndescription: x\n---\n")
        .note("計画/SKILL.md", "---\ndescription: x\n---\n")
        .note("other/SKILL.md", &skill("another", "x"))
        .note("SKILL.md", &skill("vault", "At the top it is a note"));
    let many = home.vault().join("many");
    home.note("many/SKILL.md", &skill("many", "512 files are a skill"));
    for file in 0..511 {
        put(&many.join(format!("{file}.txt")), "x");
    }
    let mut client = home.stdio();
    client.initialize();
    let page = ask(&mut client, "skills/list", json!({}));
    let skills = page["skills"].as_array().unwrap();
    assert_eq!(
        uris(skills),
        ["skill://vaults/vault/good/SKILL.md", "skill://vaults/vault/many/SKILL.md"]
    );
    assert_eq!(skills[1]["resources"].as_array().unwrap().len(), 512);
    let left_out = page["_meta"]["notewell/leftOut"].as_array().unwrap();
    let reason = |path: &str| {
        let one = left_out.iter().find(|one| one["path"] == path);
        one.unwrap_or_else(|| panic!("{path}: {left_out:?}"))["reason"].as_str().unwrap().to_owned()
    };
    assert!(reason("vault/Обзор/SKILL.md").contains("`obzor`"));
    assert!(reason("vault/計画/SKILL.md").contains("name: skill-"));
    assert!(reason("vault/other/SKILL.md").contains("rename the folder to `another`"));
    put(&many.join("512.txt"), "x");
    let page = ask(&mut client, "skills/list", json!({}));
    assert_eq!(page["skills"].as_array().unwrap().len(), 1);
    assert!(page.to_string().contains("more than 512 files"), "{page}");
    // The same for a person.
    let (_, doctor, _) = home.run(&["doctor"]);
    assert!(doctor.contains("`vault/Обзор/SKILL.md` is no skill"), "{doctor}");
}

#[test]
fn a_long_list_comes_in_pages_and_changes_are_announced() {
    let home = Home::new();
    for number in 0..250 {
        let name = format!("s{number:03}");
        home.note(&format!("{name}/SKILL.md"), &skill(&name, "One of many"));
    }
    let mut client = home.stdio();
    client.initialize();
    let skills = all(&mut client);
    assert_eq!(skills.len(), 250);
    let expected: Vec<String> =
        (0..250).map(|number| format!("skill://vaults/vault/s{number:03}/SKILL.md")).collect();
    assert_eq!(uris(&skills), expected);
    // They are resources as well, each once.
    let mut listed = Vec::new();
    let mut cursor = Value::Null;
    loop {
        let page = ask(&mut client, "resources/list", json!({ "cursor": cursor }));
        listed.extend(page["resources"].as_array().unwrap().iter().cloned());
        match page.get("nextCursor") {
            Some(next) => cursor = next.clone(),
            None => break,
        }
    }
    let resources: Vec<&Value> =
        listed.iter().filter(|one| one["uri"].as_str().unwrap().starts_with("skill://")).collect();
    assert_eq!(resources.len(), 250);
    assert_eq!(resources[7]["name"], "s007");
    assert_eq!(resources[7]["description"], "One of many");

    let uri = "skill://vaults/vault/s007/SKILL.md";
    ask(&mut client, "resources/subscribe", json!({ "uri": uri }));
    client.notices.clear();
    home.note("s007/SKILL.md", &skill("s007", "Another description"));
    until("the change is announced", || {
        ask(&mut client, "ping", json!({}));
        let told = |method: &str| client.notices.iter().any(|notice| notice["method"] == method);
        let updated = client.notices.iter().any(|notice| notice["params"]["uri"] == uri);
        updated && told("notifications/resources/list_changed")
    });
}

#[test]
fn the_newest_revision_has_its_attributes_and_older_ones_do_not() {
    let home = Home::new();
    home.note("plan/SKILL.md", &skill("plan", "Plans"));
    let mut client = home.stdio();
    client.initialize();
    let old = ask(&mut client, "skills/list", json!({}));
    assert!(old.get("ttlMs").is_none() && old.get("resultType").is_none(), "{old}");
    let mut client = home.stdio();
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": { "name": "t", "version": "1" },
    });
    let new = ask(&mut client, "skills/list", json!({ "_meta": meta }));
    assert_eq!(new["resultType"], "complete");
    assert!(new["ttlMs"].is_u64() && new["cacheScope"] == "private", "{new}");
    // Without the toolset there are none.
    let mut client = Client::start(home.command(&["mcp", "--toolsets", "cards"]));
    let initialized = client.initialize();
    let extensions = &initialized["result"]["capabilities"]["extensions"];
    assert!(extensions.get("io.modelcontextprotocol/skills").is_none(), "{extensions}");
    assert_eq!(client.ask("skills/list", json!({}))["error"]["code"], -32601);
}

#[test]
fn a_hosted_vault_has_skills_too() {
    let home = hosted::hosted("team");
    let root = home.dir.path().join("in");
    let manifest = skill("plan", "План на неделю. 週次計画.");
    let files = [
        ("skills/plan/SKILL.md", manifest.as_str()),
        ("skills/plan/ref/a.md", "A\r\n"),
        ("skills/plan/run.sh", "#!/bin/sh\n"),
        ("skills/plan/.env", "secret"),
        ("skills/planned/SKILL.md", "no frontmatter"),
    ];
    for (path, text) in files {
        std::fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
        put(&root.join(path), text);
    }
    hosted::say(&home, &["import", "vault", root.to_str().unwrap(), "--vault", "team"]);
    let mut client = Client::start(hosted::command(&home, &["mcp"]));
    client.initialize();
    let page = ask(&mut client, "skills/list", json!({}));
    let skills = page["skills"].as_array().unwrap();
    let folder = "skill://vaults/team/skills/plan";
    assert_eq!(uris(skills), [format!("{folder}/SKILL.md")]);
    assert_eq!(skills[0]["frontmatter"]["description"], "План на неделю. 週次計画.");
    let entry = |path: &str, text: &str| json!({ "uri": format!("{folder}/{path}"), "digest": sha256(text), "size": text.len() });
    assert_eq!(
        skills[0]["resources"],
        json!([
            entry("SKILL.md", &manifest),
            entry("ref/a.md", "A\r\n"),
            entry("run.sh", "#!/bin/sh\n")
        ])
    );
    assert!(page.to_string().contains("does not begin with frontmatter"), "{page}");
    let uri = format!("{folder}/ref/a.md");
    let read = ask(&mut client, "resources/read", json!({ "uri": uri }));
    assert_eq!(read["contents"][0]["text"], "A\r\n");
    let hidden = client.ask("resources/read", json!({ "uri": format!("{folder}/.env") }));
    assert!(hidden.get("error").is_some(), "{hidden}");
    // An edit shows at once, and the copy on disk follows.
    let edit = json!({ "path": "skills/plan/ref/a.md", "op": "append", "text": "B" });
    client.call("edit_page", edit);
    let now = ask(&mut client, "skills/get", json!({ "uri": format!("{folder}/SKILL.md") }));
    let text = ask(&mut client, "resources/read", json!({ "uri": uri }));
    let text = text["contents"][0]["text"].as_str().unwrap();
    assert!(text.contains('B'));
    assert_eq!(now["skill"]["resources"][1]["digest"], sha256(text));
    let copy = home.dir.path().join("copy");
    hosted::say(&home, &["skill", "sync", copy.to_str().unwrap()]);
    assert_eq!(std::fs::read_to_string(copy.join("plan/ref/a.md")).unwrap(), text);
    assert!(!copy.join("plan/.env").exists());
}
