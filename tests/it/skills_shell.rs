//! `notewell skill`: the list for people, and the copy where clients look for skills.

use std::{fs, os::unix::fs::PermissionsExt, path::Path};

use crate::{
    skills::skill,
    support::{Home, put, until},
};

fn sync(home: &Home, folder: &Path) -> (String, String) {
    let (ok, out, err) = home.run(&["skill", "sync", folder.to_str().unwrap()]);
    assert!(ok, "{err}");
    (out, err)
}

fn read(file: impl AsRef<Path>) -> String {
    fs::read_to_string(file.as_ref()).unwrap_or_default()
}

#[test]
fn the_list_names_skills_and_what_is_none() {
    let home = Home::new();
    let (ok, _, err) = home.run(&["skill", "list"]);
    assert!(!ok && err.contains("no skill"), "{err}");
    home.note("work/review/SKILL.md", &skill("review", "Обзор кода"))
        .note("work/review/ref.md", "x")
        .note("plan.md", "---\nmcp_method: plan\nmcp_description: 週次計画\n---\nx\n")
        .note("bad/SKILL.md", "No frontmatter.");
    let (ok, out, err) = home.run(&["skill", "list"]);
    assert!(ok);
    assert_eq!(out, "review\t2 files\tОбзор кода\nplan\tmethod\t週次計画\n");
    assert!(err.contains("left out: `vault/bad/SKILL.md`"), "{err}");
    let listed: serde_json::Value =
        serde_json::from_str(&home.say(&["skill", "list", "--json"])).unwrap();
    assert_eq!(listed["skills"][0]["files"].as_array().unwrap().len(), 2);
    assert_eq!(listed["left_out"][0]["path"], "vault/bad/SKILL.md");
}

#[test]
fn a_copy_follows_the_library_and_touches_nothing_else() {
    let home = Home::new();
    let text = skill("review", "Reviews");
    home.note("review/SKILL.md", &text)
        .note("review/scripts/run.sh", "#!/bin/sh\n")
        .note("mine/SKILL.md", &skill("mine", "Clashes with a folder of the person's"))
        .note("plan.md", "---\nmcp_method: plan\n---\nPlan {{week}}.\n");
    let script = home.vault().join("review/scripts/run.sh");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let folder = home.dir.path().join("claude/skills");
    fs::create_dir_all(folder.join("mine")).unwrap();
    put(&folder.join("mine/SKILL.md"), "the person's own");
    put(&folder.join("loose.txt"), "x");

    let (out, err) = sync(&home, &folder);
    assert_eq!(out, "wrote review\nwrote plan\n");
    assert!(err.contains("left alone: mine:"), "{err}");
    assert_eq!(read(folder.join("review/SKILL.md")), text);
    let mode = fs::metadata(folder.join("review/scripts/run.sh")).unwrap().permissions().mode();
    assert_eq!(mode & 0o100, 0o100);
    assert!(read(folder.join("plan/SKILL.md")).contains("Plan {{week}}."));
    assert_eq!(read(folder.join("mine/SKILL.md")), "the person's own");

    let (out, _) = sync(&home, &folder);
    assert!(out.contains("2 skills") && out.contains("nothing to change"), "{out}");

    // Changes follow; what the person changed there stays, and is named.
    home.note("review/SKILL.md", &text.replace("Do it", "Do so")).note("review/new.md", "n");
    put(&folder.join("review/scripts/run.sh"), "#!/bin/sh\necho mine\n");
    put(&folder.join("review/own.txt"), "own");
    let (out, err) = sync(&home, &folder);
    assert_eq!(out, "wrote review\n");
    assert!(err.contains("left alone: review/scripts/run.sh: was changed there"), "{err}");
    assert!(read(folder.join("review/SKILL.md")).contains("Do so"));
    assert_eq!(read(folder.join("review/new.md")), "n");
    assert_eq!(read(folder.join("review/scripts/run.sh")), "#!/bin/sh\necho mine\n");

    // A link in the copy is not written through.
    let outside = home.dir.path().join("outside.txt");
    put(&outside, "outside");
    fs::remove_file(folder.join("review/new.md")).unwrap();
    std::os::unix::fs::symlink(&outside, folder.join("review/new.md")).unwrap();
    home.note("review/new.md", "newer");
    sync(&home, &folder);
    assert_eq!(read(&outside), "outside");

    // What left the library leaves the copy, but for what is the person's.
    fs::remove_dir_all(home.vault().join("review")).unwrap();
    fs::remove_file(home.vault().join("plan.md")).unwrap();
    let (out, err) = sync(&home, &folder);
    assert_eq!(out, "removed plan\nremoved review\n", "{err}");
    assert!(!folder.join("plan").exists());
    assert!(!folder.join("review/SKILL.md").exists());
    assert_eq!(read(folder.join("review/scripts/run.sh")), "#!/bin/sh\necho mine\n");
    assert_eq!(read(folder.join("review/own.txt")), "own");
    assert_eq!(read(folder.join("loose.txt")), "x");
}

#[test]
fn two_libraries_share_a_folder_and_an_interrupted_run_is_completed() {
    let folder = tempfile::tempdir().unwrap();
    let (first, second) = (Home::new(), Home::new());
    first.note("a/SKILL.md", &skill("a", "First"));
    second.note("b/SKILL.md", &skill("b", "Second")).note("a/SKILL.md", &skill("a", "Second"));
    sync(&first, folder.path());
    let (out, err) = sync(&second, folder.path());
    assert!(out == "wrote b\n" && err.contains("another library"), "{out}{err}");
    let (out, _) = sync(&first, folder.path());
    assert!(out.contains("nothing to change"), "{out}");
    assert!(folder.path().join("b/SKILL.md").exists());
    // Killed between the files and the list of them: the files are taken for ours.
    fs::remove_file(folder.path().join(".notewell-skills.json")).unwrap();
    let (out, err) = sync(&first, folder.path());
    assert!(out == "wrote a\n" && err.is_empty(), "{out}{err}");
    // A list that cannot be read stops everything.
    put(&folder.path().join(".notewell-skills.json"), "{");
    let (ok, _, err) = first.run(&["skill", "sync", folder.path().to_str().unwrap()]);
    assert!(!ok && err.contains("nothing was changed"), "{err}");
}

#[test]
fn a_vault_that_is_away_removes_no_skill() {
    let home = Home::new();
    home.note("a/SKILL.md", &skill("a", "Away"));
    let folder = tempfile::tempdir().unwrap();
    sync(&home, folder.path());
    let away = home.dir.path().join("away");
    fs::rename(home.vault(), &away).unwrap();
    let (ok, _, err) = home.run(&["skill", "sync", folder.path().to_str().unwrap()]);
    assert!(ok && err.contains("cannot be read now"), "{err}");
    assert!(folder.path().join("a/SKILL.md").exists());
}

#[test]
fn the_folders_of_clients_are_known_and_changes_are_followed() {
    let home = Home::new();
    home.note("a/SKILL.md", &skill("a", "Watched"));
    let mut child = home
        .command(&["skill", "sync", "--client", "codex", "--watch"])
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let folder = home.dir.path().join(".agents/skills");
    until("the first copy", || folder.join("a/SKILL.md").exists());
    home.note("b/SKILL.md", &skill("b", "New")).note("a/data.txt", "no note");
    until("what is new follows", || {
        folder.join("b/SKILL.md").exists() && read(folder.join("a/data.txt")) == "no note"
    });
    fs::remove_dir_all(home.vault().join("b")).unwrap();
    until("what is gone goes", || !folder.join("b").exists());
    child.kill().unwrap();
    child.wait().unwrap();
}
