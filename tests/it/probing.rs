//! Every tool with generated arguments, every resource, prompt and method, asked by callers of every
//! kind of two libraries that differ only in what those callers may not see. Every answer has to be
//! the same, byte for byte.

use std::collections::BTreeMap;

use notewell::{
    app::{App, resources::Content, rights::Rights},
    config::EmbedProvider,
    domain::{
        Author, Caller, Kind, Scopes, UserId,
        user::{Extent, Grant, Role, User},
    },
    tools,
};
use serde_json::{Map, Value, json};

use crate::support::{Home, put};

/// Words that only the hidden part has.
const HIDDEN_WORDS: [&str; 5] =
    ["xylophantom", "48151623", "абракадаброид", "幽霊楽器", "quasiprivacy"];
/// Words that both parts have.
const COMMON_WORDS: [&str; 7] = ["coffee", "brew", "план", "горы", "京都", "旅行", "kettle"];
/// Items of both libraries, numbered alike: 1 to 12 are pages, then cards.
const COMMON_PIDS: i64 = 16;

fn page(facts: &str, body: &str) -> String {
    format!("---\ndate: 2025-05-10\n{facts}---\n{body}\n")
}

/// What every caller of the test but the anonymous one sees a different part of.
fn common_part(home: &Home) {
    home.note("free/Coffee.md", &page("free: true\ntags: [drinks]\n", "# Coffee\n\nBrew slowly. See [[Kettle]], [[Secret plan]], [[Deep]].\n\n## Water\n\nSoft. ![[Secret plan]]"))
        .note("free/Поход.md", &page("free: true\n", "# Поход\n\nВ субботу мы ходили в горы. [[Coffee]]"))
        .note("free/旅.md", &page("free: true\nlang: ja\n", "# 京都旅行\n\n土曜日に友達と京都を見学しました。"))
        .note("free/Hello.md", &page("free: true\nmcp_method: greet\n", "Hello {{name|you}}, {{note:Secret plan|nothing}}, {{note:Kettle|no kettle}}."))
        .note("club/Kettle.md", &page("access: members\ntags: [drinks]\n", "# Kettle\n\nA kettle of the club for coffee. [[Coffee]]"))
        .note("club/Клуб.md", &page("access: members\n", "# Клуб\n\nПлан клуба: горы."))
        .note("team/Plan.md", &page("tags: [план]\nstatus: draft\n", "# Plan\n\nThe plan of the team: brew coffee. [[Secret plan]] [[Kettle]]\n\n## Next\n\nHills."))
        .note("team/deep/Deep.md", &page("", "# Deep\n\nглубокий план, 京都の旅行, kettle."))
        .note("own/Draft.md", &page("author: mira\nmcp_method: draft\n", "# Draft\n\nMira drafts coffee {{word|nothing}}. {{note:Secret plan|hidden}}"))
        .note("own/Черновик.md", &page("author: '@Мира'\n", "# Черновик\n\nЧужой черновик."))
        .note("own/Note.md", &page("author: Mira\ntags: [план]\n", "# Note\n\nMira's kettle in 京都."))
        .note("z/Open.md", &page("free: true\naliases: [Alpha]\n", "# Open\n\nOpen coffee of the garden."));
    // One after the other: cards of one import are numbered in any order.
    for (id, content, label) in
        [("cardone", "план kettle", "план"), ("cardtwo", "план горы 京都", "ПЛАН")]
    {
        let date = "2025-01-01T00:00:00.000Z";
        let card = json!([{ "id": id, "title": id, "content": content, "labels": [label], "createdAt": date, "updatedAt": date }]);
        put(&home.dir.path().join(format!("{id}.json")), card.to_string());
    }
}

/// A method that is sold. Its text is what a buyer pays for.
fn sold(home: &Home, body: &str) {
    let facts =
        "free: true\nauthor: zoe\nmcp_method: sold\nprice: 0.5\nmarket_description: Sold.\n";
    home.note("shop/Sold.md", &page(facts, body));
}

/// Something to give away of every kind: a word, a name that a visible thing has too, a link.
fn hidden_part(home: &Home) {
    home.note("a/Coffee.md", &page("tags: [hush, план]\nauthor: ghost\ncategory: Hidden\nstatus: done\nsecretfield: 7\n", "# Coffee\n\nThe private coffee of xylophantom 48151623. Coffee coffee. [[Kettle]] [[Plan]]").replace(", план", ""))
        .note("a/Secret plan.md", &page("", "# Secret plan\n\nAbout quasiprivacy: абракадаброид. [[Coffee]] [[Deep]]"))
        .note("teams/Plan.md", &page("aliases: [Kettle, Поход, Deep]\n", "# Plan\n\nxylophantom plan, kettle, kettle."))
        .note("a/幽霊.md", &page("lang: ja\n", "# 幽霊楽器\n\n京都の幽霊楽器。旅行。"))
        .note("a/Greet.md", &page("mcp_method: greet\n", "The private xylophantom greeting."))
        .note("a/Method.md", &page("mcp_method: quasiprivate\n", "A private method with {{word}}."))
        .note("a/Start.md", &page("mcp_method: initialize\n", "Private xylophantom instructions."));
    for number in 0..40 {
        let body =
            format!("# Coffee {number}\n\nкоторый coffee, kettle, горы, план, 旅行 {number}.");
        home.note(&format!("a/many/{number}.md"), &page("", &body));
    }
    home.say(&[
        "call",
        "create_note",
        r#"{"title": "A card", "content": "xylophantom kettle", "labels": ["hush"]}"#,
    ]);
    home.say(&[
        "bookmark",
        "add",
        "https://example.org/private",
        "--title",
        "Quasiprivacy kettle",
        "--tag",
        "hush",
    ]);
    let content = json!({ "type": "text", "text": "xylophantom {{word}}" });
    let prompt = json!({ "name": "quasiprompt", "title": "P", "messages": [{ "role": "user", "content": content }] });
    home.say(&["call", "create_prompt", &prompt.to_string()]);
}

/// A library; the visible part first, so that its numbers are the same in both.
fn library(hidden: bool) -> (Home, App) {
    let home = Home::new();
    common_part(&home);
    home.settle().say(&["index"]);
    for id in ["cardone", "cardtwo"] {
        let file = home.dir.path().join(format!("{id}.json"));
        home.say(&["import", "cards", file.to_str().unwrap()]);
    }
    sold(
        &home,
        if hidden {
            "Paid xylophantom 幽霊楽器 абракадаброид, quasiprivacy coffee."
        } else {
            "Paid."
        },
    );
    home.say(&["index"]);
    if hidden {
        hidden_part(&home);
        home.say(&["index"]);
    }
    let mut config = crate::support::config(&home.data());
    config.embed.provider = EmbedProvider::None;
    let app = App::open(config, tools::names()).unwrap();
    app.refresh(&notewell::domain::Silent).unwrap();
    (home, app)
}

/// Every kind of caller who does not see everything.
fn callers(app: &App) -> Vec<(&'static str, Rights)> {
    let user = |id: Option<i64>, name: &str, role, extents: &[Extent]| {
        let grants = extents.iter().cloned().map(|extent| Grant { extent, write: true });
        let scopes = Scopes::ALL;
        Caller::User(User {
            id: id.map(UserId),
            name: name.into(),
            role,
            grants: grants.collect(),
            scopes,
        })
    };
    let folder = Extent::Folder { vault: "vault".into(), folder: "team".into() };
    let label = Extent::Label("план".into());
    let mira = Extent::Author(Author::new("mira").unwrap());
    let of = |caller| app.rights(caller);
    vec![
        ("anonymous", of(Caller::Anonymous)),
        ("reader", of(user(None, "token", Role::Reader, &[]))),
        ("member", of(user(Some(1), "ann", Role::Reader, &[]))),
        ("folder", of(user(Some(2), "bob", Role::Reader, std::slice::from_ref(&folder)))),
        ("label", of(user(Some(3), "eve", Role::Reader, &[label]))),
        ("author", of(user(Some(4), "mira", Role::Author, &[folder]))),
        ("of an author", of(user(Some(5), "kim", Role::Reader, std::slice::from_ref(&mira)))),
        (
            "confined",
            of(user(Some(5), "kim", Role::Reader, &[mira]))
                .confined_to(Author::new("mira").unwrap()),
        ),
    ]
}

/// Numbers without end, the same in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % sides
    }

    fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.roll(of.len())]
    }
}

fn text(name: &str, dice: &mut Dice) -> String {
    let paths = [
        "a/Coffee.md",
        "Coffee",
        "free/Coffee.md",
        "Secret plan",
        "team/Plan.md",
        "Plan",
        "Deep",
        "Kettle",
        "teams/Plan.md",
        "own/Draft.md",
        "Draft",
        "shop/Sold.md",
        "Sold",
        "幽霊",
        "Поход",
        "A card",
        "cardone",
        "none.md",
        "team/New.md",
        "a/New.md",
        "own/New.md",
        "a/",
        "team/",
        "@today",
        "https://example.org/private",
    ];
    let words: Vec<&str> = HIDDEN_WORDS.into_iter().chain(COMMON_WORDS).collect();
    match name {
        "path" | "href" | "to" => (*dice.pick(&paths)).to_owned(),
        "match_id" => format!("p{}:c{}", 1 + dice.roll(80), dice.roll(3)),
        "toc_path" | "heading" => {
            (*dice.pick(&["Water", "Coffee > Water", "Next", "Secret plan"])).to_owned()
        }
        "id" => (*dice.pick(&["cardone", "cardtwo", "nobody", "1"])).to_owned(),
        "name" | "method" => {
            (*dice.pick(&["greet", "quasiprompt", "sold", "draft", "none"])).to_owned()
        }
        "cursor" => (*dice.pick(&["5", "10", "x"])).to_owned(),
        "lang" => (*dice.pick(&["en", "ru", "ja"])).to_owned(),
        "sort" => (*dice.pick(&["date", "-status", "secretfield"])).to_owned(),
        "url" => "https://example.org/private".to_owned(),
        "repo_url" | "repository" => "https://github.com/none/none".to_owned(),
        _ => {
            let (one, other) = (*dice.pick(&words), *dice.pick(&words));
            let letters = one.chars().count();
            match dice.roll(8) {
                0 => one.to_owned(),
                1 => format!("\"{one}\""),
                2 => format!("{other} -{one}"),
                3 => one.chars().take(letters.max(3) - 1).collect(),
                4 => format!(
                    "{other} {}",
                    *dice.pick(&[
                        "label:hush",
                        "author:ghost",
                        "path:a/",
                        "kind:card",
                        "status:draft",
                        "secretfield:7",
                        "category:Hidden",
                        "label:план"
                    ])
                ),
                5 => one.chars().rev().collect(),
                6 => format!(
                    "how many {}",
                    *dice.pick(&["notes", "cards", "bookmarks", "заметок", "prompts"])
                ),
                _ => format!("{other} {one}"),
            }
        }
    }
}

/// A value that a schema allows.
fn value(name: &str, schema: &Value, definitions: &Value, dice: &mut Dice) -> Value {
    if let Some(reference) = schema["$ref"].as_str() {
        let to = reference.rsplit('/').next().unwrap();
        return value(name, &definitions[to], definitions, dice);
    }
    for key in ["anyOf", "oneOf"] {
        if let Some(any) = schema[key].as_array() {
            let one = dice.pick(any).clone();
            return value(name, &one, definitions, dice);
        }
    }
    if let Some(words) = schema["enum"].as_array() {
        return dice.pick(words).clone();
    }
    let kind = match &schema["type"] {
        Value::Array(kinds) => dice.pick(kinds).as_str().unwrap().to_owned(),
        kind => kind.as_str().unwrap_or("string").to_owned(),
    };
    match kind.as_str() {
        "null" => Value::Null,
        "boolean" => json!(dice.roll(2) == 0),
        "integer" | "number" => match name {
            "pid" | "note_id" => json!(1 + dice.roll(80)),
            _ => json!(1 + dice.roll(20)),
        },
        "array" => {
            let items =
                (0..=dice.roll(2)).map(|_| value(name, &schema["items"], definitions, dice));
            Value::Array(items.collect())
        }
        "object" => Value::Object(arguments(schema, definitions, dice)),
        _ => json!(text(name, dice)),
    }
}

fn arguments(schema: &Value, definitions: &Value, dice: &mut Dice) -> Map<String, Value> {
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let mut given = Map::new();
    let properties = schema["properties"].as_object().into_iter().flatten();
    for (name, of) in properties {
        if required.contains(&name.as_str()) || dice.roll(3) == 0 {
            given.insert(name.clone(), value(name, of, definitions, dice));
        }
    }
    given
}

/// Calls with generated arguments. What writes only shows what it would do.
fn calls(schema: &Value, tool: &str, dice: &mut Dice) -> Map<String, Value> {
    let definitions =
        if schema["$defs"].is_null() { &schema["definitions"] } else { &schema["$defs"] };
    let mut given = arguments(schema, definitions, dice);
    // Two names for one note only say that they disagree.
    if dice.roll(4) != 0 && given.contains_key("path") {
        for name in ["pid", "note_id", "href", "match_id"] {
            given.remove(name);
        }
    }
    if matches!(tool, "edit_page" | "move_page") {
        given.insert("dry_run".into(), json!(true));
    }
    given
}

fn shown(result: notewell::domain::Result<tools::Output>) -> String {
    match result {
        Ok(output) => format!(
            "{}\n{:?}\n{:?}\n{:?}",
            output.text, output.aside, output.structured, output.meta
        ),
        Err(error) => format!("{} {} {:?}", error.code.as_str(), error.message, error.data),
    }
}

/// What a caller is answered, by what was asked.
fn conversation(app: &App, rights: &Rights, rounds: usize) -> BTreeMap<String, String> {
    let mut answers = BTreeMap::new();
    let around = tools::Call::default();
    let listed = tools::list(app, rights).unwrap();
    answers.insert("tools".to_owned(), format!("{listed:?}"));
    // Also the tools that the caller is not offered.
    let all = tools::list(app, &app.owner()).unwrap();
    let mut dice = Dice(7);
    for tool in all.iter().filter(|tool| tools::names().contains(&tool.name.as_str())) {
        let schema = Value::Object((*tool.input).clone());
        // The cards and prompts of one library have other numbers than those of the other.
        let is_write = !matches!(tool.effect, tools::Effect::Reads)
            && !matches!(tool.name.as_str(), "edit_page" | "move_page");
        let is_offered = listed.iter().any(|own| own.name == tool.name);
        for _ in 0..rounds {
            let given = calls(&schema, &tool.name, &mut dice);
            if is_write && is_offered {
                continue;
            }
            let asked = format!("{} {}", tool.name, Value::Object(given.clone()));
            answers.insert(
                asked,
                shown(tools::call(app, rights, &tool.name, Value::Object(given), &around)),
            );
        }
    }
    for name in ["greet", "quasiprivate", "draft", "sold", "initialize", "none"] {
        for given in [json!({}), json!({ "word": "x" })] {
            let asked = format!("method {name} {given}");
            answers.insert(asked, shown(tools::call(app, rights, name, given.clone(), &around)));
            let prompt = app.render_prompt(name, given.as_object().unwrap(), rights);
            let prompt =
                prompt.map(|prompt| format!("{:?} {:?}", prompt.description, prompt.messages));
            answers.insert(
                format!("prompt {name} {given}"),
                prompt.unwrap_or_else(|error| error.message),
            );
        }
        answers.insert(format!("greeting {name}"), app.greeting(rights, Some(name)));
    }
    answers
        .insert("prompts".into(), format!("{:?}", app.offered_prompts(None, 100, rights).unwrap()));
    for cursor in [None, Some(3), Some(9)] {
        let cursor = cursor.map(|pid: i64| pid.to_string());
        let listed = app.resources(cursor.clone(), 2, rights);
        let listed = listed.map(|(listed, next)| {
            let listed: Vec<_> = listed
                .iter()
                .map(|one| (&one.uri, &one.name, &one.title, one.size, one.meta.to_string()))
                .collect();
            format!("{listed:?} {next:?}")
        });
        answers
            .insert(format!("resources {cursor:?}"), listed.unwrap_or_else(|error| error.message));
    }
    for pid in (1..=80).chain([-1, 999]) {
        for end in ["", "/Water", "/Coffee"] {
            let uri = format!("notewell://item/{pid}{end}");
            let read = match app.read_resource(&uri, rights) {
                Ok(Some(Content::Text { text, meta, .. })) => format!("{text} {meta}"),
                Ok(Some(Content::Bytes { base64, .. })) => base64,
                Ok(None) => "none".into(),
                Err(error) => error.message,
            };
            answers.insert(uri, read);
        }
    }
    answers.insert(
        "tools of the connection".into(),
        format!("{:?}", tools::built_in(app, rights).unwrap()),
    );
    answers.insert("notices".into(), format!("{:?}", app.notices(rights).unwrap()));
    answers.insert("author".into(), format!("{:?}", app.knows_author(rights).unwrap()));
    answers
}

#[test]
fn no_caller_learns_of_what_was_not_granted() {
    let (bare, full) = (library(false), library(true));
    let mut wrong = Vec::new();
    let mut compared = 0;
    let pairs = callers(&bare.1).into_iter().zip(callers(&full.1));
    for ((who, of_bare), (_, of_full)) in pairs {
        let [without, with] = [(&bare.1, of_bare), (&full.1, of_full)]
            .map(|(app, rights)| conversation(app, &rights, 24));
        assert_eq!(without.len(), with.len());
        for (asked, answer) in &with {
            compared += 1;
            let before = &without[asked];
            if before != answer {
                wrong.push(format!("{who}: {asked}\nwithout: {before}\nwith: {answer}"));
            }
            let leaked =
                HIDDEN_WORDS.iter().find(|word| answer.contains(*word) && !asked.contains(*word));
            if let Some(word) = leaked {
                wrong.push(format!("{who}: {asked}\nsays `{word}`: {answer}"));
            }
        }
    }
    assert!(compared > 2_000, "{compared}");
    // The same questions tell the libraries apart for somebody who sees everything.
    let [without, with] = [&bare.1, &full.1].map(|app| conversation(app, &app.owner(), 24));
    let differing = with.iter().filter(|(asked, answer)| without[*asked] != **answer).count();
    assert!(differing > 200, "only {differing} of {} answers differ for the owner", with.len());
    assert!(
        wrong.is_empty(),
        "{} of {compared} answers differ:\n\n{}",
        wrong.len(),
        wrong[..wrong.len().min(8)].join("\n\n")
    );
}

/// The test above compares something: each caller finds their part, and the owner the hidden one.
#[test]
fn each_caller_sees_their_part_and_the_owner_all() {
    let (_home, app) = library(true);
    let seen = |rights: &Rights| -> Vec<i64> {
        (1..=COMMON_PIDS)
            .filter(|pid| app.open_pid(notewell::domain::Pid(*pid), rights).unwrap().is_some())
            .collect()
    };
    let parts: Vec<(&str, usize)> =
        callers(&app).iter().map(|(who, rights)| (*who, seen(rights).len())).collect();
    assert_eq!(
        parts,
        [
            ("anonymous", 5),
            ("reader", 5),
            ("member", 7),
            ("folder", 9),
            ("label", 11),
            ("author", 11),
            ("of an author", 9),
            ("confined", 2),
        ]
    );
    let around = tools::Call::default();
    for word in HIDDEN_WORDS {
        let found =
            tools::call(&app, &app.owner(), "search", json!({ "query": word }), &around).unwrap();
        assert!(!found.structured.unwrap()["results"].as_array().unwrap().is_empty(), "{word}");
    }
    assert!(app.store.items.count(Some(Kind::Page)).unwrap() > 50);
}
