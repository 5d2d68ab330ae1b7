//! The pages for people, as a browser without a script sees them.

mod account;
mod editing;
mod public;

use std::collections::BTreeSet;

use serde_json::json;

use crate::support::{Answer, Home, Server};

/// A library in three languages, with a page that everybody may read in each.
fn library() -> Home {
    let home = Home::new();
    home.note("garden/Roses.md", "---\nfree: true\nauthor: Mira\ntags: [garden]\nstatus: draft\n---\n# Roses\n\nCover the roses before the late frost. See [[Tulips]], [[Diary]] and ![[rose.png]].\n\n## Pruning\n\nCut in February, above a bud.\n\n> [!tip] Sharp\n> Use a sharp knife.\n\n## Soil\n\n| soil | good |\n|---|---|\n| clay | yes |\n\n- [x] dig\n- [ ] water\n\nA note[^1].\n\n[^1]: The footnote.\n")
        .note("garden/Tulips.md", "---\nfree: true\nauthor: Mira\n---\n# Tulips\n\nBulbs go in before the frost. They like the company of Roses.\n")
        .note("Сад/Розы.md", "---\nfree: true\nlang: ru\n---\n# Розы\n\nУкройте розы до поздних заморозков.\n\n## Обрезка\n\nОбрезайте розы в феврале.\n")
        .note("庭/薔薇.md", "---\nfree: true\nlang: ja\n---\n# 薔薇\n\n遅霜の前に薔薇を覆ってください。\n\n## 剪定\n\n二月に薔薇を剪定します。\n")
        .note("Diary.md", "---\ntags: [hush]\n---\n# Diary\n\nThe roses of the xylophantom froze. [[Roses]]\n");
    std::fs::write(home.vault().join("garden/rose.png"), b"\x89PNG\r\n\x1a\n").unwrap();
    std::fs::write(home.vault().join("garden/other.png"), b"\x89PNG\r\n\x1a\n").unwrap();
    home.say(&["doctor"]);
    home
}

/// The value of an attribute wherever it occurs, with its entities read.
fn values(html: &str, attribute: &str) -> Vec<String> {
    let start = format!(" {attribute}=\"");
    html.split(&start)
        .skip(1)
        .filter_map(|rest| rest.split('"').next())
        .map(|value| value.replace("&#38;", "&").replace("&amp;", "&").replace("&#39;", "'"))
        .collect()
}

/// The numbers of the items that a page of results shows, in order.
fn shown(html: &str) -> Vec<i64> {
    let hits = html.split("<li class=\"hit\">").skip(1);
    hits.map(|hit| values(hit, "href")[0].clone())
        .map(|href| href["/n/".len()..].split('#').next().unwrap().parse().unwrap())
        .collect()
}

fn owner(home: &Home) -> String {
    format!("Bearer {}", home.token("owner"))
}

fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

/// What must hold of every page.
fn check(path: &str, answer: &Answer) {
    let html = &answer.body;
    let policy = &answer.headers["content-security-policy"];
    for part in
        ["default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'"]
    {
        assert!(policy.contains(part), "{path}: {policy}");
    }
    assert!(!policy.contains("unsafe"), "{path}: {policy}");
    assert_eq!(answer.headers["x-content-type-options"], "nosniff", "{path}");
    // Entrances need their own Origin, which `no-referrer` would hide.
    let referrer = answer.headers["referrer-policy"].as_str();
    assert!(["no-referrer", "same-origin"].contains(&referrer), "{path}: {referrer}");
    assert!(answer.headers["vary"].contains("Cookie"), "{path}");
    assert!(!html.contains(" style=\"") && !html.contains("<style"), "{path} has a style");
    assert!(!html.contains(" on") || values(html, "onclick").is_empty(), "{path}");
    for script in html.split("<script").skip(1) {
        assert!(script.starts_with(" src=\"/_system/web/"), "{path}: {script:.60}");
    }
    assert_eq!(html.matches("<h1").count(), 1, "{path} has one title");
    let mut ids = BTreeSet::new();
    for id in values(html, "id") {
        assert!(ids.insert(id.clone()), "{path}: two elements have the id {id}");
    }
}

#[test]
fn every_page_opens_and_its_links_lead_somewhere() {
    let home = library();
    let key = owner(&home);
    let server = home.serve();
    let headers = [("Authorization", key.as_str())];
    let (mut open, mut seen) = (vec!["/".to_owned(), "/?q=roses".to_owned()], BTreeSet::new());
    while let Some(path) = open.pop() {
        if !seen.insert(path.clone()) || seen.len() > 150 {
            continue;
        }
        let answer = server.get(&path, &headers);
        // A token is no session: the pages of an account ask for one.
        if answer.status == 303 {
            assert!(answer.headers["location"].starts_with("/sign-in"), "{path}");
            continue;
        }
        assert_eq!(answer.status, 200, "{path}");
        let is_page = answer.headers["content-type"].starts_with("text/html");
        if !is_page {
            continue;
        }
        check(&path, &answer);
        for href in values(&answer.body, "href").into_iter().chain(values(&answer.body, "src")) {
            let inside = href.starts_with('/') && !href.starts_with("//");
            let (address, place) = href.split_once('#').unwrap_or((&href, ""));
            if inside {
                open.push(address.to_owned());
            }
            if address.is_empty() && !place.is_empty() {
                let ids = values(&answer.body, "id");
                assert!(ids.iter().any(|id| id == place), "{path}: {href} leads nowhere");
            }
        }
    }
    assert!(seen.len() > 20, "{seen:?}");
    assert!(seen.iter().any(|path| path.ends_with("/edit?section=1")), "{seen:?}");
    assert!(seen.iter().any(|path| path.contains("/file/rose.png")), "{seen:?}");
}

#[test]
fn results_come_in_the_order_of_the_tool() {
    let home = library();
    let token = home.token("owner");
    let key = format!("Bearer {token}");
    let server = home.serve();
    for query in [
        "roses frost",
        "розы заморозки",
        "薔薇 霜",
        "\"late frost\"",
        "roses -tulips",
        "status:draft",
    ] {
        let page = server.get(&format!("/?q={}", encoded(query)), &[("Authorization", &key)]);
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {"name": "search", "arguments": {"query": query, "limit": 20}}});
        let answer = server.post_as(&token, &call.to_string()).json();
        let results = answer["result"]["structuredContent"]["results"].as_array().unwrap();
        let expected: Vec<i64> = results.iter().map(|item| item["pid"].as_i64().unwrap()).collect();
        assert!(!expected.is_empty(), "{query}");
        assert_eq!(shown(&page.body), expected, "{query}");
        assert!(page.body.contains("<mark>") || query.starts_with("status"), "{query}");
        assert!(page.body.contains(&format!("{} result", expected.len())), "{query}");
    }
    let few = server.get("/?q=roses&kind=card", &[("Authorization", &key)]);
    assert!(few.body.contains("Nothing found"), "{}", few.body);
    let filtered = server.get("/?q=roses&label=garden", &[("Authorization", &key)]);
    assert_eq!(shown(&filtered.body).len(), 1);
    assert_eq!(server.get("/?q=roses&kind=shoe", &[("Authorization", &key)]).status, 400);
    assert_eq!(
        server.get("/?from=2026-02-02&to=2026-01-01", &[("Authorization", &key)]).status,
        400
    );
}

#[test]
fn the_script_gets_the_part_that_changes() {
    let home = library();
    let server = home.serve();
    let part = server.get("/?q=frost", &[("x-part", "1")]);
    assert!(
        part.body.starts_with("<div data-count=") && !part.body.contains("<html"),
        "{}",
        part.body
    );
    let list = server.get("/suggest?q=frost", &[]);
    assert!(list.body.contains("role=\"option\""), "{}", list.body);
    assert!(!list.body.contains("froze"), "{}", list.body);
}

#[test]
fn a_question_is_answered_with_sources_that_open_at_the_passage() {
    let home = library();
    let key = owner(&home);
    let server = home.serve();
    let page = server.get("/?q=when+are+roses+cut%3F&ask=1", &[("Authorization", &key)]);
    assert!(page.body.contains("id=\"answer\""), "{}", page.body);
    if let Some(source) = values(&page.body, "href").into_iter().find(|href| href.contains("#c")) {
        let note = server.get(source.split('#').next().unwrap(), &[("Authorization", &key)]);
        let place = source.split('#').nth(1).unwrap();
        assert!(values(&note.body, "id").iter().any(|id| id == place), "{source}");
    }
}

#[test]
fn a_note_shows_its_parts() {
    let home = library();
    let key = owner(&home);
    let server = home.serve();
    let page = server.get("/garden/Roses.md", &[("Authorization", &key)]).body;
    for part in [
        "<nav class=\"outline\"",
        "href=\"#s-pruning\"",
        "data-callout=\"tip\"",
        "footnote-definition",
        "<td>clay</td>",
        "class=\"task done\"",
        "status",
        "id=\"c0\"",
        "Linked from",
        ">Diary</a>",
        "Mentioned in",
        ">Tulips</a>",
    ] {
        assert!(page.contains(part), "{part} in {page}");
    }
    assert_eq!(page.matches(">Roses</h1>").count(), 1, "{page}");
    let preview = server.get("/preview?href=/garden/Tulips.md", &[]);
    assert!(preview.body.contains("Bulbs go in"), "{}", preview.body);
    assert_eq!(server.get("/preview?href=/Diary.md", &[]).status, 404);
}

#[test]
fn a_visitor_sees_free_pages_and_no_trace_of_others() {
    let home = library();
    let key = owner(&home);
    let server = home.serve();
    let note = server.get("/garden/Roses.md", &[]);
    assert_eq!(note.status, 200);
    assert!(!note.body.contains("/edit") && !note.body.contains("/history"), "{}", note.body);
    let all = server.get("/browse", &[("Authorization", &key)]).body;
    let diary = values(&all, "href")
        .into_iter()
        .find(|href| server.get(href, &[("Authorization", &key)]).body.contains(">Diary</h1>"))
        .unwrap();
    for path in [
        "/",
        "/browse",
        "/?q=xylophantom",
        "/?q=diary",
        "/suggest?q=diary",
        "/feed.xml",
        "/sitemap.xml",
        "/@mira",
        "/garden/Roses.md",
        "/garden/Tulips.md",
        "/?q=label%3Ahush",
        "/?label=hush",
    ] {
        let body = server.get(path, &[]).body;
        for trace in ["froze", "Diary.md", ">Diary</a>", "hush</", diary.as_str()] {
            assert!(!body.contains(trace), "{path}: {trace} in {body}");
        }
    }
    for path in [diary.as_str(), "/Diary.md", "/Diary", "/browse?path=secret"] {
        assert_eq!(server.get(path, &[]).status, 404, "{path}");
    }
    // A folder that is not shared reads like one that does not exist.
    let [hidden, missing] = ["secret", "nowhere"].map(|folder| {
        server.get(&format!("/browse?path={folder}"), &[]).body.replace(folder, "FOLDER")
    });
    assert!(hidden.contains("no folder <code>FOLDER</code> that you may see"), "{hidden}");
    assert_eq!(hidden, missing);
    for path in ["/history", &format!("{diary}/history"), &format!("{diary}/edit"), "/new"] {
        assert_eq!(server.get(path, &[]).status, 404, "{path}");
    }
}

#[test]
fn attachments_have_the_readers_of_their_note() {
    let home = library();
    home.note("Plan.md", "---\nfree: true\n---\n# Plan\n\n![x](../../secret.png) ![](/.obsidian/a.png) [f](garden/other.png)\n");
    std::fs::write(home.dir.path().join("secret.png"), b"secret").unwrap();
    home.say(&["doctor"]);
    let key = owner(&home);
    let server = home.serve();
    let picture = |page: &str| {
        let body = server.get(page, &[("Authorization", &key)]).body;
        let found = values(&body, "src").into_iter().chain(values(&body, "href"));
        found.filter(|address| address.contains("/file/")).collect::<Vec<_>>()
    };
    let rose = &picture("/garden/Roses.md")[0];
    let answer = server.get(rose, &[]);
    assert_eq!((answer.status, answer.headers["content-type"].as_str()), (200, "image/png"));
    assert!(answer.headers["content-security-policy"].contains("sandbox"));
    let etag = answer.headers["etag"].clone();
    assert_eq!(server.get(rose, &[("If-None-Match", &etag)]).status, 304);
    // A file that the note does not show, and files outside, are not there.
    assert_eq!(server.get(&rose.replace("rose.png", "other.png"), &[]).status, 404);
    let plan = picture("/Plan.md");
    assert_eq!(plan.len(), 3, "{plan:?}");
    let statuses: Vec<u16> = plan.iter().map(|path| server.get(path, &[]).status).collect();
    assert_eq!(
        statuses.iter().filter(|status| **status == 200).count(),
        1,
        "{plan:?} {statuses:?}"
    );
}

#[test]
fn nothing_that_a_note_says_acts_on_the_page() {
    let home = Home::new();
    let bad = "\"><script>alert(1)</script><img src=x onerror=alert(1)>";
    home.note(
        "a.md",
        &format!("---\nfree: true\ntitle: '{bad}'\ntags: ['{bad}']\nauthor: '{bad}'\nodd: '{bad}'\n---\n{bad}\n\n## {bad}\n\n[x](javascript:alert(1)) ![y](https://evil.example/a.png) <a id=\"q\" href=\"//evil.example\">z</a>\n\n```html\n{bad}\n```\n"),
    );
    home.say(&["doctor"]);
    let key = owner(&home);
    let server = home.serve();
    let number = values(&server.get("/", &[]).body, "href");
    let note = number.into_iter().find(|href| href.starts_with("/n/")).unwrap();
    for path in [
        "/".to_owned(),
        note.clone(),
        format!("{note}/edit"),
        format!("{note}/edit?section=1"),
        format!("{note}/history"),
        "/browse".to_owned(),
        "/feed.xml".to_owned(),
        format!("/?q={}", encoded(bad)),
        format!("/?q=alert&label={}", encoded(bad)),
        format!("/browse?path={}", encoded(bad)),
        format!("/{}", encoded(bad)),
        format!("/new?path={}", encoded(bad)),
        format!("/suggest?q={}", encoded(bad)),
    ] {
        let html = server.get(&path, &[("Authorization", &key)]).body;
        assert!(!html.contains("<script>") && !html.contains("<img src=x"), "{path}: {html}");
        assert!(
            !html.contains("href=\"javascript:") && !html.contains("src=\"http"),
            "{path}: {html}"
        );
        let fields: Vec<&str> = html.matches("id=\"q\"").collect();
        assert!(fields.len() <= 1, "{path}");
    }
}

#[test]
fn files_are_kept_and_private_pages_are_not() {
    let home = library();
    let key = owner(&home);
    let server = home.serve();
    let front = server.get("/", &[]).body;
    let style = values(&front, "href").into_iter().find(|href| href.contains("style.css")).unwrap();
    let file = server.get(&style, &[]);
    assert!(file.headers["cache-control"].contains("immutable"), "{:?}", file.headers);
    let etag = file.headers["etag"].clone();
    assert_eq!(server.get(&style, &[("If-None-Match", &etag)]).status, 304);
    let bare = style.split('?').next().unwrap();
    assert_eq!(server.get(bare, &[]).headers["cache-control"], "no-cache");
    assert_eq!(server.get("/_system/web/none.js", &[]).status, 404);
    // The same page is kept for nobody in particular, and not at all for somebody.
    let free = server.get("/garden/Roses.md", &[]);
    assert_eq!(free.headers["cache-control"], "no-cache");
    let etag = free.headers["etag"].clone();
    assert_eq!(server.get("/garden/Roses.md", &[("If-None-Match", &etag)]).status, 304);
    let mine = server.get("/garden/Roses.md", &[("Authorization", &key)]);
    assert_eq!(mine.headers["cache-control"], "no-store");
    assert!(!mine.headers.contains_key("etag"));
    let packed = server.get(&style, &[("Accept-Encoding", "gzip")]);
    assert_eq!(packed.headers["content-encoding"], "gzip");
}

#[test]
fn the_appearance_is_kept_in_a_cookie() {
    let home = library();
    let server = home.serve();
    let form =
        [("Content-Type", "application/x-www-form-urlencoded"), ("Sec-Fetch-Site", "same-origin")];
    let answer = server.send("POST", "/theme", &form, b"theme=dark&back=%2Fbrowse");
    assert_eq!((answer.status, answer.headers["location"].as_str()), (303, "/browse"));
    assert!(answer.headers["set-cookie"].starts_with("theme=dark;"));
    let dark = server.get("/", &[("Cookie", "a=b; theme=dark")]);
    assert!(dark.body.contains("<html lang=\"en\" class=\"dark\">"), "{}", &dark.body[..200]);
    let odd = server.get("/", &[("Cookie", "theme=\"><script>")]);
    assert!(odd.body.contains("<html lang=\"en\">"));
    // Not to another site, and not from one.
    let away = server.send("POST", "/theme", &form, b"theme=dark&back=%2F%2Fevil.example");
    assert_eq!(away.headers["location"], "/");
    for from in ["cross-site", "same-site", "none"] {
        let headers = [form[0], ("Sec-Fetch-Site", from)];
        assert_eq!(server.send("POST", "/theme", &headers, b"theme=dark").status, 403, "{from}");
    }
}

#[test]
fn an_error_is_a_page_that_says_what_to_do() {
    let home = library();
    let server = home.serve();
    for (path, status) in [("/none", 404), ("/n/99999", 404), ("/n/x", 400), ("/?q=!!!", 400)] {
        let answer = server.get(path, &[]);
        assert_eq!(answer.status, status, "{path}");
        if path != "/n/x" {
            check(path, &answer);
            assert_eq!(answer.headers["cache-control"], "no-store", "{path}");
        }
    }
}

#[test]
fn the_owner_of_loopback_needs_no_sign_in_where_the_config_says_so() {
    let home = library();
    let config = home.dir.path().join("owner.toml");
    crate::support::put(&config, "[server]\nanonymous = \"owner\"\n");
    let mut command = home.command(&["serve", "--listen", "127.0.0.1:0"]);
    command.arg("--config").arg(&config);
    let server = Server::start(command);
    let page = server.get("/?q=xylophantom", &[]);
    assert!(page.body.contains("Diary"), "{}", page.body);
    // What is for everybody is still only the free part.
    assert!(!server.get("/feed.xml", &[]).body.contains("froze"));
    assert!(!server.get("/sitemap.xml", &[]).body.contains("Diary"));
}
