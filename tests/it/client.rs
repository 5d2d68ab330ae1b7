//! `notewell client`: set-up of a client, printed or written into the client's file.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::{Home, put};

fn settings(file: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap()
}

fn backups(folder: &Path) -> Vec<PathBuf> {
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    files.filter(|file| file.extension().is_some_and(|ending| ending == "bak")).collect()
}

#[test]
fn a_client_is_set_up_and_its_file_kept() {
    let home = Home::new();
    let file = home.dir.path().join("mcp.json");
    put(
        &file,
        "{\n  \"mcpServers\": { \"other\": { \"command\": \"x\" } },\n  \"theme\": \"dark\"\n}\n",
    );
    let path = file.to_str().unwrap();
    for name in ["claude-desktop", "claude-code", "cursor", "vscode", "n8n"] {
        assert!(home.say(&["client", name]).len() > 40);
    }
    home.say(&["client", "cursor", "--write", "--file", path]);
    let written = settings(&file);
    assert_eq!(written["theme"], "dark");
    assert_eq!(written["mcpServers"]["other"]["command"], "x");
    assert_eq!(written["mcpServers"]["notewell"]["args"][0], "mcp");
    let kept = backups(home.dir.path());
    assert_eq!(kept.len(), 1);
    assert!(std::fs::read_to_string(&kept[0]).unwrap().contains("\"theme\": \"dark\""));
    // A second time there is nothing to do, and nothing to keep.
    let again = home.say(&["client", "cursor", "--write", "--file", path]);
    assert!(again.contains("already") && !again.contains("as it was"), "{again}");
    assert_eq!(backups(home.dir.path()).len(), 1);
    // What is not settings is left alone.
    put(&file, "theme = dark");
    let (ok, _, err) = home.run(&["client", "cursor", "--write", "--file", path]);
    assert!(!ok && err.contains("nothing was written"), "{err}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "theme = dark");
}

#[test]
fn comments_commas_and_a_byte_order_mark_stay() {
    let home = Home::new();
    let file = home.dir.path().join("mcp.json");
    let before = "\u{feff}// VS Code\n{\n\t\"inputs\": [1,2,], // two\n\t\"servers\": {\n\t\t\"other\": {\"command\": \"x\"}, /* last */\n\t},\n}\n";
    put(&file, before);
    home.say(&["client", "vscode", "--write", "--file", file.to_str().unwrap()]);
    let after = std::fs::read_to_string(&file).unwrap();
    // Every line of the user's is there, in order.
    let mut rest = after.lines();
    for line in before.lines() {
        assert!(rest.any(|found| found == line), "{line:?} is not in {after}");
    }
    assert!(after.contains("\"notewell\""), "{after}");
}

#[cfg(unix)]
#[test]
fn a_link_is_followed_and_the_mode_kept() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let home = Home::new();
    let dotfiles = home.dir.path().join("dotfiles");
    std::fs::create_dir(&dotfiles).unwrap();
    let real = dotfiles.join("mcp.json");
    put(&real, "{}\n");
    std::fs::set_permissions(&real, std::fs::Permissions::from_mode(0o600)).unwrap();
    let link = home.dir.path().join("mcp.json");
    symlink(&real, &link).unwrap();
    home.say(&["client", "cursor", "--write", "--file", link.to_str().unwrap()]);
    assert!(link.symlink_metadata().unwrap().is_symlink());
    assert_eq!(settings(&real)["mcpServers"]["notewell"]["args"][0], "mcp");
    for file in [&real, &backups(&dotfiles)[0]] {
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600, "{file:?}");
    }
}

#[test]
fn the_library_in_the_environment_is_carried_and_the_user_s_variables_stay() {
    let home = Home::new();
    let file = home.dir.path().join("mcp.json");
    put(
        &file,
        r#"{"mcpServers": {"notewell": {"command": "old", "env": {"LANG": "ru_RU.UTF-8"}, "disabled": false}}}"#,
    );
    let mut command = crate::support::notewell();
    command.args(["client", "cursor", "--write", "--file"]).arg(&file);
    command.env("NOTEWELL_DATA", home.data()).env("HOME", home.dir.path());
    assert!(command.output().unwrap().status.success());
    let entry = settings(&file)["mcpServers"]["notewell"].clone();
    assert_eq!(entry["env"]["LANG"], "ru_RU.UTF-8");
    assert_eq!(entry["env"]["NOTEWELL_DATA"], home.data().to_str().unwrap());
    assert_eq!(entry["disabled"], false);
    assert_ne!(entry["command"], "old");
}

#[test]
fn a_vault_that_is_not_there_is_refused() {
    let home = Home::new();
    let (ok, out, err) = home.run(&["client", "cursor", "--vault", "/nowhere/at/all"]);
    assert!(!ok && out.is_empty() && err.contains("`/nowhere/at/all`"), "{out}{err}");
}
