//! What sandboxed builds cannot do. Skipped with a message where bubblewrap cannot run.

use std::{
    io::ErrorKind,
    net::TcpListener,
    process::{Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use serde_json::{Value, json};

use super::{
    MIT, Repository, forge::Forge, good, marker, nothing_left, program, report, running, sandbox,
    settings,
};
use crate::support::{Home, put, until};

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
    assert!(peak <= MOST + 4, "{peak} processes at once");
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
