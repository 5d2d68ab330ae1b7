//! What survives when writers die, and when many write at once. The writers are this test binary,
//! started again with the name of the hidden test below.
#![expect(
    clippy::disallowed_methods,
    reason = "a hidden test takes its orders from the environment"
)]

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Child, Command, Stdio},
    time::Duration,
};

use serde_json::Value;

use super::{tests::draft, *};

const ORDERS: &str = "NOTEWELL_TEST_WRITER";
const BROKEN: &str = "{\"name\": \"half a li\r\n\nnot json at all\n";

/// Starts a writer: `prefix` of its names, how many, and the step at which it waits to be killed.
fn writer(folder: &Path, prefix: &str, count: usize, stop: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["store::jsonl::crash::writer_process", "--exact", "--ignored", "--nocapture", "-q"])
        .env(ORDERS, format!("{}\n{prefix}\n{count}\n{stop}", folder.display()))
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

#[test]
#[ignore = "started by the other tests of this file"]
fn writer_process() {
    let Ok(orders) = std::env::var(ORDERS) else { return };
    let [folder, prefix, count, stop] = orders.split('\n').collect::<Vec<_>>()[..] else {
        panic!()
    };
    let say = |text: &str| {
        let mut out = io::stdout();
        writeln!(out, "{text}").unwrap();
        out.flush().unwrap();
    };
    let mut store = JsonlPrompts::open(folder, 10, None);
    if !stop.is_empty() {
        let stop = stop.to_owned();
        store.hook = Some(Box::new(move |step| {
            if format!("{step:?}") == stop {
                say("waiting");
                std::thread::sleep(Duration::from_secs(60));
            }
        }));
    }
    for number in 0..count.parse().unwrap() {
        let name = format!("{prefix}_{number}");
        store.create(draft(&name, "text")).unwrap();
        say(&format!("created {name}"));
    }
}

/// Reads what a writer says until it is done or has been killed.
fn acknowledged(child: &mut Child) -> Vec<String> {
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(io::Result::ok);
    let mut names = Vec::new();
    for line in lines {
        if line.trim() == "waiting" {
            child.kill().unwrap();
        }
        names.extend(line.strip_prefix("created ").map(str::to_owned));
    }
    child.wait().unwrap();
    names
}

fn names(folder: &Path) -> Vec<String> {
    let store = JsonlPrompts::open(folder, 10, None);
    let all = store.all().unwrap();
    all.iter().filter(|s| s.origin.is_user()).map(|s| s.prompt.name.clone()).collect()
}

/// Every line but the planted ones is a whole prompt, and the planted ones are where they were.
fn check_file(folder: &Path) {
    let text = fs::read_to_string(folder.join(USER)).unwrap();
    let rest = text.strip_prefix(BROKEN).expect("the broken lines are where they were");
    for line in rest.lines() {
        assert!(serde_json::from_str::<Value>(line).is_ok(), "{line}");
    }
    assert!(rest.is_empty() || rest.ends_with('\n'));
}

#[test]
fn killed_at_any_step_nothing_acknowledged_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(USER), BROKEN).unwrap();
    let steps = ["Locked", "Written", "BackedUp", "Renamed", "Synced", "Pruned"];
    let mut promised = Vec::new();
    for round in 0..200 {
        let stop = steps[round % steps.len()];
        // One prompt is acknowledged before the step of the next one kills the writer.
        let mut child = writer(folder.path(), &format!("r{round}"), 1, stop);
        promised.extend(acknowledged(&mut child));
        let mut child = writer(folder.path(), &format!("whole{round}"), 1, "");
        if round % 10 == 0 {
            promised.extend(acknowledged(&mut child));
        } else {
            // At any moment at all.
            std::thread::sleep(Duration::from_micros((round as u64 * 37) % 9_000));
            child.kill().unwrap();
            promised.extend(acknowledged(&mut child));
        }
        check_file(folder.path());
    }
    assert!(promised.len() >= 20);
    let names = names(folder.path());
    for name in &promised {
        assert!(names.contains(name), "{name} was acknowledged and is gone");
    }
    // A change that was in place when its writer died counts, though nobody got an answer.
    for round in (0..200).filter(|round| round % steps.len() >= 3) {
        assert!(names.contains(&format!("r{round}_0")), "r{round} was in place");
    }
    let store = JsonlPrompts::open(folder.path(), 10, None);
    store.create(draft("after_all_that", "text")).unwrap();
    assert_eq!(store.problems().unwrap().iter().filter(|p| p.broken).count(), 2);
    for backup in store.snapshots().unwrap() {
        let bytes = fs::read_to_string(folder.path().join("backups").join(backup.id)).unwrap();
        assert!(bytes.starts_with(BROKEN));
    }
    let left = fs::read_dir(folder.path()).unwrap().flatten();
    let left: Vec<_> = left.filter(|e| e.file_name().to_string_lossy().contains(".new-")).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn eight_processes_at_once_lose_nothing() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(USER), BROKEN).unwrap();
    let mut children: Vec<_> =
        (0..8).map(|number| writer(folder.path(), &format!("w{number}"), 50, "")).collect();
    let mut promised: Vec<_> = children.iter_mut().flat_map(acknowledged).collect();
    assert_eq!(promised.len(), 400);
    promised.sort();
    assert_eq!(names(folder.path()), promised);
    check_file(folder.path());
}
