//! Editing in the browser, and the way back.

use super::{encoded, library, owner, values};
use crate::support::{Answer, Home, Server};

struct Browser<'a> {
    server: &'a Server,
    key: String,
}

impl Browser<'_> {
    fn get(&self, path: &str) -> Answer {
        self.server.get(path, &[("Authorization", &self.key)])
    }

    fn post(&self, path: &str, fields: &[(&str, &str)]) -> Answer {
        let body: Vec<String> =
            fields.iter().map(|(name, value)| format!("{name}={}", encoded(value))).collect();
        let headers = [
            ("Authorization", self.key.as_str()),
            ("Content-Type", "application/x-www-form-urlencoded"),
            ("Sec-Fetch-Site", "same-origin"),
        ];
        self.server.send("POST", path, &headers, body.join("&").as_bytes())
    }

    /// The number of the note at a path, as its address.
    fn number(&self, path: &str) -> String {
        let body = self.get(path).body;
        let edit = values(&body, "href").into_iter().find(|href| href.ends_with("/edit")).unwrap();
        edit.trim_end_matches("/edit").to_owned()
    }
}

/// A hidden field of a form.
fn field(html: &str, name: &str) -> String {
    let start = format!("name=\"{name}\" value=\"");
    let value = html.split(&start).nth(1).unwrap().split('"').next().unwrap();
    value.replace("&#34;", "\"").replace("&#38;", "&").replace("&#39;", "'")
}

fn text_of(home: &Home, path: &str) -> String {
    std::fs::read_to_string(home.vault().join(path)).unwrap()
}

#[test]
fn a_note_is_moved_with_its_links_and_deleted_and_both_undone() {
    let home = Home::new();
    home.note("a.md", "# Alpha\n\nSee [[b]] and [розы](b.md).\n");
    home.note("b.md", "# Бета\n\n庭の話。\n");
    home.settle();
    let server = home.serve();
    let browser = Browser { server: &server, key: owner(&home) };
    let note = browser.number("/b.md");
    let page = browser.get(&format!("{note}/move")).body;
    let etag = field(&page, "etag");
    let send = |what: &str, to: &str, etag: &str| {
        let fields = [("etag", etag), ("to", to), ("do", what)];
        browser.post(&format!("{note}/move"), &fields)
    };
    let before = text_of(&home, "a.md");
    let shown = send("show", "сад/庭.md", &etag).body;
    assert!(shown.contains("2 links change with it.") && shown.contains("сад/庭"), "{shown}");
    assert_eq!(text_of(&home, "a.md"), before, "showing changes nothing");
    // What cannot be is said, and the form keeps what was typed.
    let taken = send("move", "a.md", &etag);
    assert_eq!(taken.status, 422);
    assert!(taken.body.contains("exists already") && taken.body.contains("value=\"a.md\""));
    let outside = send("show", "../../etc/x.md", &etag);
    assert_eq!(outside.status, 422, "{}", outside.body);
    assert_eq!(send("move", "c.md", "0123456789abcdef").status, 409);
    let moved = send("move", "сад/庭.md", &etag);
    assert_eq!(moved.status, 303, "{}", moved.body);
    assert!(text_of(&home, "a.md").contains("[[庭]]"), "{}", text_of(&home, "a.md"));
    let page = browser.get(&moved.headers["location"]).body;
    let undone = browser.post("/undo", &[("change", &field(&page, "change")), ("back", &note)]);
    assert_eq!(undone.status, 303, "{}", undone.body);
    assert_eq!(text_of(&home, "a.md"), before);
    assert!(home.vault().join("b.md").exists());

    let etag = field(&browser.get(&format!("{note}/move")).body, "etag");
    let shown = send("show-trash", "b.md", &etag).body;
    assert!(shown.contains("will lead nowhere") && shown.contains("a.md"), "{shown}");
    let gone = send("trash", "b.md", &etag);
    assert_eq!(gone.status, 303, "{}", gone.body);
    assert!(!home.vault().join("b.md").exists() && home.vault().join(".trash/b.md").exists());
    let page = browser.get(&gone.headers["location"]).body;
    assert!(page.contains("in the trash of its vault"), "{page}");
    let undone =
        browser.post("/undo", &[("change", &field(&page, "change")), ("back", "/history")]);
    assert_eq!(undone.status, 303, "{}", undone.body);
    assert!(home.vault().join("b.md").exists());
    // A reader sees no sign of it.
    let reader = format!("Bearer {}", home.token("reader"));
    let answer = server.get(&format!("{note}/move"), &[("Authorization", &reader)]);
    assert_eq!(answer.status, 404, "{}", answer.body);
}

#[test]
fn a_section_is_edited_and_the_edit_undone() {
    let home = library();
    let server = home.serve();
    let browser = Browser { server: &server, key: owner(&home) };
    let before = text_of(&home, "Сад/Розы.md");
    let note = browser.number(&format!("/{}", encoded("Сад/Розы.md")));
    let form = browser.get(&format!("{note}/edit?section=1")).body;
    assert!(form.contains("## Обрезка") && !form.contains("Укройте"), "{form}");
    let (etag, section) = (field(&form, "etag"), field(&form, "section"));
    let edited = "## Обрезка\r\n\r\nОбрезайте в марте. 三月に。\r\n";
    let fields = [("etag", etag.as_str()), ("section", &section), ("text", edited)];
    let preview =
        browser.post(&format!("{note}/edit"), &[&fields[..], &[("do", "preview")]].concat());
    assert!(preview.body.contains("<p>Обрезайте в марте. 三月に。</p>"), "{}", preview.body);
    assert_eq!(text_of(&home, "Сад/Розы.md"), before, "a preview saves nothing");
    let saved = browser.post(&format!("{note}/edit"), &[&fields[..], &[("do", "save")]].concat());
    assert_eq!(saved.status, 303, "{}", saved.body);
    let after = text_of(&home, "Сад/Розы.md");
    assert_eq!(after, before.replace("Обрезайте розы в феврале.", "Обрезайте в марте. 三月に。"));
    let page = browser.get(&saved.headers["location"]).body;
    let change = field(&page, "change");
    let undone = browser.post("/undo", &[("change", &change), ("back", &note)]);
    assert_eq!(undone.status, 303, "{}", undone.body);
    assert_eq!(text_of(&home, "Сад/Розы.md"), before);
    let history = browser.get(&format!("{note}/history")).body;
    assert!(
        history.contains("Takes back change") && history.contains("Taken back by"),
        "{history}"
    );
    // The version in between can be read and brought back.
    let version = browser.get(&format!("{note}/history/{change}")).body;
    assert!(version.contains("class=\"add\"") && version.contains("三月に"), "{version}");
    let restored = browser.post(&format!("{note}/restore"), &[("version", &change)]);
    assert_eq!(restored.status, 303, "{}", restored.body);
    assert_eq!(text_of(&home, "Сад/Розы.md"), after);
}

#[test]
fn a_stale_edit_shows_both_texts_and_saves_nothing() {
    let home = library();
    let server = home.serve();
    let browser = Browser { server: &server, key: owner(&home) };
    let note = browser.number("/garden/Tulips.md");
    let form = browser.get(&format!("{note}/edit")).body;
    let etag = field(&form, "etag");
    let theirs = text_of(&home, "garden/Tulips.md").replace("Bulbs go in", "Bulbs went in");
    home.note("garden/Tulips.md", &theirs);
    let mine = theirs.replace("Bulbs went in", "Bulbs should go in");
    let fields = [("etag", etag.as_str()), ("section", ""), ("text", &mine), ("do", "save")];
    let answer = browser.post(&format!("{note}/edit"), &fields);
    assert_eq!(answer.status, 409, "{}", answer.body);
    for part in [
        "Bulbs went in",
        "Bulbs should go in",
        "class=\"remove\"",
        "class=\"add\"",
        "Nothing was saved",
    ] {
        assert!(answer.body.contains(part), "{part} in {}", answer.body);
    }
    assert_eq!(text_of(&home, "garden/Tulips.md"), theirs);
    // Whoever saves from that page has seen what they replace.
    let etag = field(&answer.body, "etag");
    let fields = [("etag", etag.as_str()), ("section", ""), ("text", &mine), ("do", "save")];
    assert_eq!(browser.post(&format!("{note}/edit"), &fields).status, 303);
    assert_eq!(text_of(&home, "garden/Tulips.md"), mine);
}

#[test]
fn a_note_is_made_and_a_bad_name_is_explained() {
    let home = library();
    let server = home.serve();
    let browser = Browser { server: &server, key: owner(&home) };
    let made = browser.post(
        "/new",
        &[("path", "inbox/Идея 案"), ("text", "# Идея\r\n\r\n案\r\n"), ("do", "save")],
    );
    assert_eq!(made.status, 303, "{}", made.body);
    assert_eq!(text_of(&home, "inbox/Идея 案.md"), "# Идея\n\n案\n");
    assert!(browser.get(&made.headers["location"]).body.contains("<p>案</p>"));
    for (path, text) in [("../x.md", "a"), ("inbox/Идея 案.md", "b"), ("a:b.md", "c")] {
        let answer = browser.post("/new", &[("path", path), ("text", text), ("do", "save")]);
        assert_eq!(answer.status, 422, "{path}");
        assert!(answer.body.contains("role=\"alert\"") && answer.body.contains(text), "{path}");
    }
}

#[test]
fn nobody_changes_anything_from_elsewhere() {
    let home = library();
    let server = home.serve();
    let key = owner(&home);
    let browser = Browser { server: &server, key: key.clone() };
    let note = browser.number("/garden/Tulips.md");
    let before = text_of(&home, "garden/Tulips.md");
    let etag = field(&browser.get(&format!("{note}/edit")).body, "etag");
    let body = format!("etag={etag}&section=&text=x&do=save");
    let paths = [format!("{note}/edit"), "/new".into(), "/undo".into(), format!("{note}/restore")];
    for path in &paths {
        // From another site, and without rights.
        for headers in [
            vec![("Authorization", key.as_str()), ("Sec-Fetch-Site", "cross-site")],
            vec![("Authorization", key.as_str())],
            vec![("Sec-Fetch-Site", "same-origin")],
        ] {
            let mut headers = headers;
            headers.push(("Content-Type", "application/x-www-form-urlencoded"));
            let status = server.send("POST", path, &headers, body.as_bytes()).status;
            assert!([403, 404].contains(&status), "{path} {headers:?}: {status}");
        }
        // A form is posted, never fetched by its address.
        let get = server.get(&format!("{path}?{body}"), &[("Authorization", &key)]).status;
        assert!([200, 404, 405].contains(&get), "{path}: {get}");
    }
    assert_eq!(text_of(&home, "garden/Tulips.md"), before);
}
