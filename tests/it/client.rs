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
    for name in [
        "claude-desktop",
        "claude-code",
        "cursor",
        "vscode",
        "n8n",
        "codex",
        "gemini",
        "zed",
        "windsurf",
        "opencode",
        "goose",
    ] {
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
fn the_cards_and_prompts_of_the_environment_are_carried_and_other_settings_named() {
    let home = Home::new();
    let file = home.dir.path().join("mcp.json");
    let mut command = crate::support::notewell();
    command.args(["client", "cursor", "--write", "--file"]).arg(&file);
    command.current_dir(home.dir.path()).env("HOME", home.dir.path());
    command.env("NOTEWELL_CARDS_DATABASE", "~/memento.db");
    command.env("NOTEWELL_PROMPTS_DIRECTORY", home.dir.path().join("hexai"));
    command.env("NOTEWELL_LLM_MODEL", "some-model").env("NOTEWELL_LLM_KEY", "sk-hidden");
    let output = command.output().unwrap();
    assert!(output.status.success());
    let variables = settings(&file)["mcpServers"]["notewell"]["env"].clone();
    for (name, path) in
        [("NOTEWELL_CARDS_DATABASE", "memento.db"), ("NOTEWELL_PROMPTS_DIRECTORY", "hexai")]
    {
        assert_eq!(variables[name], home.dir.path().join(path).to_str().unwrap());
    }
    assert!(variables.get("NOTEWELL_LLM_MODEL").is_none(), "{variables}");
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        said.contains("does not see NOTEWELL_LLM_MODEL") && said.contains("[llm] model"),
        "{said}"
    );
    assert!(said.contains("NOTEWELL_LLM_KEY") && said.contains("[llm] key_file"), "{said}");
    assert!(!said.contains("sk-hidden"), "{said}");
}

#[test]
fn a_vault_that_is_not_there_is_refused() {
    let home = Home::new();
    let (ok, out, err) = home.run(&["client", "cursor", "--vault", "/nowhere/at/all"]);
    assert!(!ok && out.is_empty() && err.contains("`/nowhere/at/all`"), "{out}{err}");
}

/// Real-looking files, and the lines that our entry has in each.
const FILES: [(&str, &str, &str, &str); 6] = [
    (
        "codex",
        ".codex/config.toml",
        "model = \"gpt-5.4\" # mine\r\n\r\n[mcp_servers.docs]\r\ncommand = 'npx'\r\nargs = [\r\n  \"-y\", # yes\r\n  \"docs-mcp\"]\r\n\r\n[projects.\"/home/me/a b\"]\r\ntrust_level = \"trusted\"\r\n",
        "[mcp_servers.notewell]",
    ),
    (
        "gemini",
        ".gemini/settings.json",
        "{\n  \"selectedAuthType\": \"oauth-personal\",\n  \"mcpServers\": {\n    \"other\": {\"httpUrl\": \"https://a.example/mcp\"}\n  }\n}",
        "\"notewell\"",
    ),
    (
        "zed",
        ".config/zed/settings.json",
        "// Zed settings\n//\n// see https://zed.dev/docs\n{\n  \"theme\": { \"mode\": \"system\", },\n   \"vim_mode\": true, // odd indentation\n  \"context_servers\": {\n    \"a\": { \"url\": \"https://a.example\" },\n  },\n}\n",
        "\"source\": \"custom\"",
    ),
    (
        "windsurf",
        ".codeium/windsurf/mcp_config.json",
        "\u{feff}{\r\n\t\"mcpServers\": {}\r\n}\r\n",
        "\"notewell\"",
    ),
    (
        "opencode",
        ".config/opencode/opencode.jsonc",
        "{\n\t\"$schema\": \"https://opencode.ai/config.json\",\n\t/* mine */\n\t\"mcp\": {\n\t\t\"servers\": {\n\t\t\t\"x\": { \"type\": \"local\", \"command\": [\"x\"] }, // v2\n\t\t},\n\t},\n}\n",
        "\"local\"",
    ),
    (
        "goose",
        ".config/goose/config.yaml",
        "GOOSE_MODEL: claude # mine\nextensions:\n   developer:\n      enabled: true\n      type: builtin\n\n   # last\n   memory:\n      enabled: false\nGOOSE_PROVIDER: anthropic\n",
        "cmd: ",
    ),
];

fn run(account: &crate::support::Account, arguments: &[&str]) -> String {
    let (status, out, err) = account.run(arguments);
    assert_eq!(status, 0, "{arguments:?}: {err}");
    out
}

#[test]
fn every_client_keeps_its_file_byte_for_byte_outside_our_entry() {
    for (name, path, before, mark) in FILES {
        let account = crate::support::Account::new();
        let file = account.path().join(path);
        account.note(path, before);
        let printed = run(&account, &["client", name]);
        assert!(printed.contains("notewell") && printed.contains("mcp"), "{name}: {printed}");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), before, "{name} was only printed");
        let wrote = run(&account, &["client", name, "--write"]);
        assert!(wrote.contains("is set up in"), "{name}: {wrote}");
        let after = std::fs::read_to_string(&file).unwrap();
        assert!(after.contains(mark), "{name}: {after}");
        // Every line of the user's is there, in order; only a comma may have been needed.
        let mut rest = after.lines();
        for line in before.lines().filter(|line| !line.contains("{}")) {
            let found = rest.any(|found| found == line || found == format!("{line},"));
            assert!(found, "{name}: {line:?} is not in {after}");
        }
        assert_eq!(after.starts_with('\u{feff}'), before.starts_with('\u{feff}'));
        if before.contains("\r\n") {
            assert!(!after.replace("\r\n", "").contains('\n'), "{name}: {after:?}");
        }
        let again = run(&account, &["client", name, "--write"]);
        assert!(again.contains("already"), "{name}: {again}");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), after);
        // Another library: the entry is changed where it stands.
        let vault = account.path().join("Мои заметки");
        std::fs::create_dir(&vault).unwrap();
        run(&account, &["client", name, "--write", "--vault", vault.to_str().unwrap()]);
        let changed = std::fs::read_to_string(&file).unwrap();
        assert!(changed.contains("Мои заметки"), "{name}: {changed}");
        let removed = run(&account, &["client", name, "--remove"]);
        assert!(removed.contains("is not set up in"), "{name}: {removed}");
        let end = std::fs::read_to_string(&file).unwrap();
        assert!(!end.contains("notewell"), "{name}: {end}");
        let squeezed = |text: &str| text.split_whitespace().collect::<String>();
        assert_eq!(
            squeezed(&end).replace(",}", "}"),
            squeezed(before).replace(",}", "}"),
            "{name}"
        );
        assert!(run(&account, &["client", name, "--remove"]).contains("was not set up"), "{name}");
    }
}

#[test]
fn a_client_without_a_file_gets_one() {
    for (name, path, _, mark) in FILES {
        let account = crate::support::Account::new();
        run(&account, &["client", name, "--write"]);
        let path = path.replace(".jsonc", ".json");
        let text = std::fs::read_to_string(account.path().join(&path)).unwrap();
        assert!(text.contains(mark), "{name}: {text}");
        assert_eq!(backups(account.path().join(&path).parent().unwrap()).len(), 0);
    }
}

#[test]
fn a_file_that_is_not_plain_is_refused_and_left_alone() {
    for (name, path, text) in [
        ("codex", ".codex/config.toml", "mcp_servers = { a = { command = \"x\" } }\n"),
        ("goose", ".config/goose/config.yaml", "extensions: {developer: {enabled: true}}\n"),
        ("goose", ".config/goose/config.yaml", "\tbroken: [\n"),
        ("zed", ".config/zed/settings.json", "{ \"context_servers\": [] }"),
    ] {
        let account = crate::support::Account::new();
        account.note(path, text);
        let (status, _, err) = account.run(&["client", name, "--write"]);
        assert!(status == 2 && err.contains("nothing was written"), "{name}: {err}");
        assert_eq!(std::fs::read_to_string(account.path().join(path)).unwrap(), text);
    }
}
