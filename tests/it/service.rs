//! `notewell service`, in a home of its own. No supervisor is asked to start anything; see
//! `service_start.rs` for that.

use std::process::Command;

use crate::support::{Account, SETTINGS, notewell, only_sqlite, put};

/// Why a test of units is skipped where the environment names a server.
const WHY: &str = "a unit does not see NOTEWELL_STORE_URL";

/// Where systemd looks for the unit.
fn unit_file() -> String {
    format!("{SETTINGS}/systemd/user/notewell.service")
}

#[test]
fn a_printed_unit_runs_the_server_on_this_library() {
    if only_sqlite(WHY) {
        return;
    }
    let account = Account::new();
    let data = account.path().join("my data 100%");
    let arguments = ["service", "install", "--print", "--for", "systemd", "--data"];
    let arguments: Vec<&str> = arguments.into_iter().chain([data.to_str().unwrap()]).collect();
    let (code, unit, err) = account.run(&arguments);
    assert_eq!(code, 0, "{err}");
    let line = unit.lines().find(|line| line.starts_with("ExecStart=")).unwrap();
    assert!(line.contains(" serve --data \"") && line.ends_with("my data 100%%\""), "{line}");
    for setting in ["NoNewPrivileges=yes", "Restart=on-failure", "UMask=0077"] {
        assert!(unit.contains(setting), "{unit}");
    }
    assert!(!account.path().join(unit_file()).exists());

    // The supervisor's own reading of it, where there is one.
    let file = account.path().join("notewell.service");
    put(&file, unit);
    let verify = Command::new("systemd-analyze").args(["verify", "--user"]).arg(&file).output();
    let Ok(verified) = verify else { return };
    let complaints = String::from_utf8_lossy(&verified.stderr);
    let ours: Vec<&str> =
        complaints.lines().filter(|line| line.contains("notewell.service:")).collect();
    assert!(ours.is_empty(), "{ours:?}");
}

#[test]
fn a_unit_is_installed_replaced_and_removed() {
    if only_sqlite(WHY) {
        return;
    }
    let account = Account::new();
    let install = |port: &str| {
        account.run(&["service", "install", "--no-start", "--for", "systemd", "--listen", port])
    };
    let (code, out, err) = install("8801");
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("systemctl --user enable --now notewell"), "{out}");
    let file = account.path().join(unit_file());
    assert!(std::fs::read_to_string(&file).unwrap().contains("127.0.0.1:8801"));
    assert_eq!(install("8802").0, 0);
    assert!(std::fs::read_to_string(&file).unwrap().contains("127.0.0.1:8802"));

    let (code, out, _) = account.run(&["service", "status", "--for", "systemd", "--json"]);
    assert_eq!(code, 1, "{out}");
    assert!(out.contains("\"installed\": true"), "{out}");

    let (code, out, err) = account.run(&["service", "uninstall", "--for", "systemd"]);
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("untouched") && !file.exists(), "{out}");
    let (code, out, _) = account.run(&["service", "uninstall", "--for", "systemd"]);
    assert!(code == 0 && out.contains("Nothing to remove"), "{out}");
}

#[test]
fn a_unit_that_somebody_else_wrote_stays() {
    if only_sqlite(WHY) {
        return;
    }
    let account = Account::new();
    account.note(&unit_file(), "[Service]\nExecStart=/usr/bin/true\n");
    for action in [
        &["service", "install", "--no-start", "--for", "systemd"][..],
        &["service", "uninstall", "--for", "systemd"],
    ] {
        let (code, _, err) = account.run(action);
        assert!(code == 2 && err.contains("left alone"), "{err}");
    }
    let text = std::fs::read_to_string(account.path().join(unit_file())).unwrap();
    assert!(text.contains("/usr/bin/true"));
}

#[test]
fn a_property_list_is_well_formed_and_names_the_same_command() {
    if only_sqlite(WHY) {
        return;
    }
    let account = Account::new();
    let data = account.path().join("a & b <c>");
    let (code, list, err) = account.run(&[
        "service",
        "install",
        "--print",
        "--for",
        "launchd",
        "--data",
        data.to_str().unwrap(),
    ]);
    assert_eq!(code, 0, "{err}");
    assert!(
        list.contains("<string>serve</string>") && list.contains("a &amp; b &lt;c&gt;"),
        "{list}"
    );
    let python = "import plistlib, sys; d = plistlib.loads(sys.stdin.buffer.read()); \
                  print(d['Label'], d['ProgramArguments'][1:4:2], d['Umask'])";
    let file = account.path().join("list.plist");
    put(&file, &list);
    let read = Command::new("python3")
        .args(["-c", python])
        .stdin(std::fs::File::open(&file).unwrap())
        .output()
        .unwrap();
    let read = String::from_utf8(read.stdout).unwrap();
    assert!(read.starts_with("org.notewell.serve ['serve', '"), "{read}");
    assert!(read.trim_end().ends_with("a & b <c>'] 63"), "{read}");
}

#[test]
fn a_mistake_in_the_settings_is_found_before_anything_is_written() {
    let account = Account::new();
    account.note("bad.toml", "[server]\nlisten = \"nowhere\"\n");
    let (code, _, err) = account.run(&[
        "service",
        "install",
        "--no-start",
        "--for",
        "systemd",
        "--config",
        "bad.toml",
    ]);
    assert_eq!(code, 2, "{err}");
    assert!(!account.path().join(unit_file()).exists());
}

/// What the unit cannot see would be another library, without a word.
#[test]
fn a_store_of_the_environment_is_no_service() {
    let account = Account::new();
    let output = notewell()
        .args(["service", "install", "--no-start", "--for", "systemd"])
        .env("HOME", account.path())
        .env("NOTEWELL_STORE_URL", "postgres://ann@127.0.0.1:1/notes")
        .env_remove("XDG_CONFIG_HOME")
        .output()
        .unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(2) && err.contains("`[store] url`"), "{err}");
    assert!(err.contains("unset the variable"), "{err}");
    assert!(!account.path().join(unit_file()).exists());
}

/// What decides about data goes into the unit; what the unit cannot see is named.
#[test]
fn settings_of_the_environment_are_carried_or_named() {
    if only_sqlite(WHY) {
        return;
    }
    let account = Account::new();
    let print = |listen: &[&str]| {
        let mut command = notewell();
        command.args(["service", "install", "--print", "--for", "systemd"]).args(listen);
        command.env("HOME", account.path()).env_remove("XDG_CONFIG_HOME");
        command.current_dir(account.path()).env("NOTEWELL_CARDS_DATABASE", "memento.db");
        command.env("NOTEWELL_PROMPTS_DIRECTORY", "~/hexai").env("NOTEWELL_LISTEN", "8801");
        command.env("NOTEWELL_PUBLIC_URL", "https://notes.example.org");
        command.env("NOTEWELL_STRIPE_KEY", "sk-hidden");
        let output = command.output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (text(output.stdout), text(output.stderr))
    };
    let (unit, said) = print(&[]);
    // The working directory has no links in its path.
    let here = account.path().canonicalize().unwrap();
    for line in [
        format!("Environment=NOTEWELL_CARDS_DATABASE={}", here.join("memento.db").display()),
        format!(
            "Environment=NOTEWELL_PROMPTS_DIRECTORY={}",
            account.path().join("hexai").display()
        ),
    ] {
        assert!(unit.lines().any(|found| found == line), "{line} is not in {unit}");
    }
    for (name, key) in [
        ("NOTEWELL_LISTEN", "`[server] listen`"),
        ("NOTEWELL_PUBLIC_URL", "`[server] public_url`"),
        ("NOTEWELL_STRIPE_KEY", "`[market.stripe] key_file`"),
    ] {
        let line = said.lines().find(|line| line.contains(name)).unwrap();
        assert!(line.starts_with("The service does not see ") && line.contains(key), "{line}");
        assert!(!unit.contains(name), "{unit}");
    }
    assert!(!said.contains("sk-hidden") && !unit.contains("sk-hidden"), "{said}{unit}");
    let (unit, said) = print(&["--listen", "8802"]);
    assert!(unit.contains("127.0.0.1:8802") && !said.contains("NOTEWELL_LISTEN"), "{said}");
}
