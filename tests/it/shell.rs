//! Searching, reading and opening at the shell, as people expect it of a shell.

use std::process::Stdio;

use serde_json::Value;

use crate::support::{Home, put};

/// A few notes in three languages.
fn library() -> Home {
    let home = Home::new();
    home.note("soup/Lentil soup.md", "# Lentil soup\n\n## Cooking\n\nA soup of lentils, brewed slowly.\n")
        .note("soup/Tomato soup.md", "---\nauthor: mira\ntags: [kitchen]\ndate: 2025-04-19\n---\n# Tomato soup\n\nA soup of tomatoes.\n")
        .note("Борщ.md", "# Борщ\n\nСуп из свёклы, варим в субботу.\n")
        .note("味噌汁.md", "# 味噌汁\n\n豆腐の味噌汁を作る。\n");
    home
}

fn status(home: &Home, arguments: &[&str]) -> i32 {
    home.command(arguments).stdin(Stdio::null()).output().unwrap().status.code().unwrap()
}

#[test]
fn a_word_with_a_dash_is_excluded_as_written() {
    let home = library();
    let both = home.say(&["search", "soup"]);
    assert!(both.contains("Lentil soup") && both.contains("Tomato soup"), "{both}");
    let one = home.say(&["search", "soup", "-lentil", "--limit", "5"]);
    assert!(!one.contains("Lentil soup") && one.contains("Tomato soup"), "{one}");
    let (ok, out, _) = home.run(&["search", "суп", "-свёкла"]);
    assert!(!out.contains("Борщ"), "{ok} {out}");
    let (ok, out, _) = home.run(&["search", "味噌汁", "-豆腐"]);
    assert!(!out.contains("味噌汁.md"), "{ok} {out}");
}

#[test]
fn a_result_is_title_place_section_and_passage() {
    let home = library();
    for (query, title, place) in [
        ("brewing lentils", "1. Lentil soup", "soup/Lentil soup.md > Cooking  [p"),
        ("суббота свёкла", "1. Борщ", "Борщ.md"),
        ("味噌汁", "1. 味噌汁", "味噌汁.md"),
    ] {
        let out = home.say(&["search", query]);
        assert!(out.starts_with(title) && out.contains(place), "{out}");
        assert!(!out.contains('\x1b'), "{out}");
        // The pointer in the result opens it.
        let id = out.split_once("  [").unwrap().1.split_once(']').unwrap().0;
        let text = home.say(&["read", id]);
        assert!(text.trim().lines().count() > 0 && !text.contains("[p"), "{text}");
    }
}

#[test]
fn a_pointer_without_its_passage_names_the_note() {
    let home = library();
    let out = home.say(&["search", "суббота свёкла"]);
    let id = out.split_once("  [").unwrap().1.split_once(']').unwrap().0;
    let pointer = id.split_once(':').unwrap().0;
    assert_eq!(home.say(&["read", pointer]), home.say(&["read", "Борщ.md"]));
    let (ok, _, err) = home.run(&["read", "p999"]);
    assert!(!ok && err.contains("there is no note with pid 999"), "{err}");
    let (ok, _, err) = home.run(&["history", "p999"]);
    assert!(!ok && err.contains("there is no item `p999`"), "{err}");
    // A note that is called so comes first.
    home.note(&format!("{pointer}.md"), "# Gaskets\n\nThey wear out.\n");
    assert!(home.say(&["read", pointer]).contains("wear out"));
}

#[test]
fn the_exit_status_says_whether_anything_was_found() {
    let home = library();
    assert_eq!(status(&home, &["search", "soup"]), 0);
    assert_eq!(status(&home, &["search", "soup", "--label", "nothing"]), 1);
    assert_eq!(status(&home, &["search", "soup", "--label", "nothing", "--json"]), 1);
    assert_eq!(status(&home, &["search", "soup", "--kind", "novel"]), 2);
    assert_eq!(status(&home, &["search"]), 2);
    assert_eq!(status(&home, &["read", "p9999:c1"]), 2);
    let (_, out, err) = home.run(&["search", "soup", "--label", "nothing"]);
    assert!(out.is_empty() && err.contains("Nothing found."), "{out}{err}");
}

#[test]
fn filters_are_flags() {
    let home = library();
    for filter in [
        ["--author", "mira"],
        ["--label", "kitchen"],
        ["--path", "soup/Tomato soup.md"],
        ["--after", "2025-04-19"],
    ] {
        let out = home.say(&["search", "tomatoes", filter[0], filter[1], "--kind", "page"]);
        assert!(out.contains("Tomato soup"), "{filter:?}: {out}");
    }
    assert_eq!(status(&home, &["search", "tomatoes", "--author", "ann"]), 1);
    // A filter alone lists.
    assert!(home.say(&["search", "--label", "kitchen"]).contains("Tomato soup"));
}

#[test]
fn pages_go_on_with_a_cursor_and_paths_are_files() {
    let home = library();
    let (_, first, err) = home.run(&["search", "kind:page", "--limit", "2", "--paths"]);
    assert_eq!(first.lines().count(), 2);
    for line in first.lines() {
        assert!(std::path::Path::new(line).is_file(), "{line}");
    }
    assert!(err.is_empty(), "{err}");
    let (_, _, err) = home.run(&["search", "kind:page", "--limit", "2"]);
    let cursor = err.trim().rsplit(' ').next().unwrap();
    let second = home.say(&["search", "kind:page", "--limit", "2", "--paths", "--cursor", cursor]);
    assert_eq!(second.lines().count(), 2);
    assert!(second.lines().all(|line| !first.contains(line)), "{first}{second}");
}

#[test]
fn open_starts_the_editor_or_says_what_there_is_to_open() {
    let home = library();
    let open = |arguments: &[&str], editor: &str| {
        let output = home
            .command(arguments)
            .env("EDITOR", editor)
            .env_remove("VISUAL")
            .env("PATH", "/bin:/usr/bin")
            .stdin(Stdio::null())
            .output()
            .unwrap();
        assert!(output.status.success());
        String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap()
    };
    let file = home.vault().canonicalize().unwrap().join("Борщ.md");
    assert!(open(&["open", "Борщ"], "cat").contains("Суп из свёклы"));
    let out = home.say(&["search", "суббота свёкла"]);
    let pointer = out.split_once("  [").unwrap().1.split_once(':').unwrap().0;
    assert!(open(&["open", pointer], "cat").contains("Суп из свёклы"), "{pointer}");
    let out = open(&["open", "Борщ"], "no-such-editor");
    assert!(out.contains(file.to_str().unwrap()) && out.contains("$EDITOR"), "{out}");
}

/// Runs `open` with a browser that writes down what it is asked to show, or without a display.
#[cfg(target_os = "linux")]
fn open_pages(home: &Home, has_display: bool) -> (bool, String, String) {
    let bin = home.dir.path().join("bin");
    std::fs::create_dir_all(&bin).unwrap();
    let browser = bin.join("xdg-open");
    put(&browser, "#!/bin/sh\necho \"shown $1\"\n");
    std::fs::set_permissions(&browser, std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .unwrap();
    let mut command = home.command(&["open"]);
    command.env("PATH", format!("{}:/bin:/usr/bin", bin.display())).stdin(Stdio::null());
    for name in ["DISPLAY", "WAYLAND_DISPLAY", "BROWSER"] {
        command.env_remove(name);
    }
    if has_display {
        command.env("DISPLAY", ":0");
    }
    let output = command.output().unwrap();
    (
        output.status.success(),
        String::from_utf8(output.stdout).unwrap(),
        String::from_utf8(output.stderr).unwrap(),
    )
}

#[test]
#[cfg(target_os = "linux")]
fn open_shows_the_pages_of_the_running_server_and_starts_none() {
    let home = library();
    let (ok, out, err) = open_pages(&home, true);
    // Another server of whoever runs the tests may listen on the usual port.
    if !ok {
        assert!(err.contains("no server answers at `http://127.0.0.1:7717`"), "{out}{err}");
        assert!(err.contains("`notewell serve`") && out.is_empty(), "{out}{err}");
    }
    let server = home.serve();
    let (ok, out, err) = open_pages(&home, true);
    assert!(ok, "{out}{err}");
    assert_eq!(out.trim(), format!("shown http://{}/", server.address), "{err}");
    let (ok, out, err) = open_pages(&home, false);
    assert!(ok && err.contains("no display"), "{out}{err}");
    assert_eq!(out.trim(), format!("http://{}/", server.address));
}

#[test]
fn json_is_json_everywhere() {
    let home = library();
    home.say(&["token", "create", "--scope", "reader", "--name", "ann"]);
    home.say(&["card", "add", "Buy", "beets", "--label", "home"]);
    home.say(&["bookmark", "add", "https://example.org/beets", "--title", "Beets"]);
    let id = home.say(&["card", "list"]).split('\t').next().unwrap().to_owned();
    for arguments in [
        &["status", "--json"][..],
        &["search", "soup", "--json"],
        &["ask", "what is in the soup?", "--json"],
        &["read", "Борщ.md", "--json"],
        &["token", "list", "--json"],
        &["card", "list", "--json"],
        &["card", "show", &id, "--json"],
        &["bookmark", "list", "--json"],
        &["trends", "--json"],
        &["recommend", "cooking", "--json"],
        &["prompt", "show", "summarize", "--json"],
        &["call", "search", r#"{"query":"soup"}"#, "--json"],
    ] {
        let (_, out, err) = home.run(arguments);
        serde_json::from_str::<Value>(&out)
            .unwrap_or_else(|error| panic!("{arguments:?}: {error}: {out}{err}"));
    }
    for arguments in [&["doctor", "--json"][..], &["prompt", "list", "--json"]] {
        for line in home.say(arguments).lines() {
            serde_json::from_str::<Value>(line).unwrap();
        }
    }
}

#[test]
fn cards_and_bookmarks_have_commands() {
    let home = Home::new();
    let empty = home.run(&["card", "list"]);
    assert!(!empty.0 && empty.2.contains("card add"), "{empty:?}");
    home.say(&["card", "add", "--title", "Покупки", "--item", "свёкла", "--item", "лук", "--pin"]);
    home.say(&["card", "add", "茶を買う", "--color", "teal"]);
    let list = home.say(&["card", "list"]);
    assert!(list.lines().next().unwrap().contains("Покупки\tpinned"), "{list}");
    let id = list.split('\t').next().unwrap();
    let card = home.say(&["card", "show", id]);
    assert!(card.contains("свёкла") && card.contains("лук"), "{card}");
    let (ok, _, err) = home.run(&["card", "add", "x", "--color", "plaid"]);
    assert!(!ok && err.contains("teal"), "{err}");
    for (url, title, category) in [
        ("https://example.org/vectors", "Vector search in Rust", "AI-Tools"),
        ("https://example.org/beets", "Growing beets", "Garden"),
    ] {
        home.say(&["bookmark", "add", url, "--title", title, "--category", category]);
    }
    let list = home.say(&["bookmark", "list", "--category", "AI-Tools"]);
    assert!(list.contains("https://example.org/vectors") && !list.contains("beets"), "{list}");
    let list = home.say(&["bookmark", "list", "beets", "--paths"]);
    assert_eq!(list.trim(), "https://example.org/beets");
    let trends = home.say(&["trends", "--period", "1w"]);
    assert!(trends.contains("2 bookmarks") || trends.contains("2 "), "{trends}");
    let fits = home.say(&["recommend", "a search engine", "--need", "vector search"]);
    assert!(fits.contains("Vector search in Rust"), "{fits}");
}

#[test]
fn a_tilde_is_the_home_also_when_the_shell_does_not_expand_it() {
    let home = library();
    let mut command = crate::support::notewell();
    command.args(["search", "свёкла", "--vault", "~/vault", "--data", "~/other"]);
    command.env("HOME", home.dir.path()).env("XDG_CONFIG_HOME", home.dir.path().join("config"));
    let output = command.stdin(Stdio::null()).output().unwrap();
    let out = String::from_utf8(output.stdout).unwrap();
    assert!(out.contains("Борщ"), "{out}{}", String::from_utf8_lossy(&output.stderr));
    assert!(home.dir.path().join("other").is_dir());
    // In the config too, where an unknown key is still an error.
    let config = home.dir.path().join("notewell.toml");
    put(&config, "data = \"~/third\"\n[[vault]]\npath = \"~/vault\"\n");
    let run = |config: &str| {
        let mut command = crate::support::notewell();
        command.args(["search", "свёкла", "--config", config]).env("HOME", home.dir.path());
        command.stdin(Stdio::null()).output().unwrap()
    };
    assert!(run("~/notewell.toml").status.success());
    assert!(home.dir.path().join("third").is_dir());
    put(&config, "vaults = \"~/vault\"\n");
    let output = run("~/notewell.toml");
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("vaults"));
}

#[cfg(target_os = "linux")]
mod on_a_terminal {
    use super::*;

    #[test]
    fn words_are_highlighted_unless_no_color_is_set() {
        let home = library();
        for (query, marked) in [("brewing", "brewed"), ("суббота", "субботу"), ("豆腐", "豆腐")]
        {
            let (status, out) = home.on_terminal(&["search", query], &[]);
            assert_eq!(status, 0);
            assert!(out.contains(&format!("\x1b[1;31m{marked}\x1b[0m")), "{out:?}");
            let (_, out) = home.on_terminal(&["search", query], &[("NO_COLOR", "1")]);
            assert!(!out.contains('\x1b') && out.contains(marked), "{out:?}");
        }
    }

    #[test]
    fn control_characters_are_shown_and_not_executed() {
        let home = Home::new();
        // A name with control characters is left out, and named.
        home.note("ev\x1b[2Jil.md", "x").note(
            "evil.md",
            "# Evil \x1b]0;owned\x07 note\n\n## Part \x1b[31m\n\nred herring \x1b[2J\u{9b}2J\n",
        );
        home.say(&["token", "create", "--scope", "reader", "--name", "an\x1b[2Jn"]);
        home.say(&["card", "add", "card \x1b[2J"]);
        for arguments in [
            &["search", "red herring"][..],
            &["search", "red herring", "--paths"],
            &["search", "red herring", "--json"],
            &["read", "1"],
            &["read", "1", "--html"],
            &["call", "search", r#"{"query":"red herring"}"#],
            &["ask", "what is the herring?"],
            &["status"],
            &["doctor"],
            &["token", "list"],
            &["card", "list"],
            &["read", "no\x1b[2Jne"],
            &["open", "1"],
        ] {
            let environment = [("NO_COLOR", "1"), ("EDITOR", "no-such-editor")];
            let (_, out) = home.on_terminal(arguments, &environment);
            for control in ['\x1b', '\x07', '\u{9b}'] {
                assert!(!out.contains(control), "{arguments:?}: {out:?}");
            }
        }
        let (_, out) = home.on_terminal(&["read", "1"], &[]);
        assert!(out.contains("\\u{1b}[2J"), "{out:?}");
        // A pipe gets the note as it is.
        assert!(home.say(&["read", "1"]).contains("\x1b[2J"));
    }
}
