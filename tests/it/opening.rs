//! Processes that start at the same moment on a data directory that does not exist yet.

use std::process::{Child, Stdio};

use crate::support::Home;

const PROCESSES: usize = 6;

/// `NOTEWELL_OPENING_ROUNDS` runs more.
fn rounds() -> usize {
    let asked = std::env::var("NOTEWELL_OPENING_ROUNDS").ok();
    asked.and_then(|rounds| rounds.parse().ok()).unwrap_or(40)
}

#[test]
fn processes_that_start_at_once_wait_for_each_other() {
    for round in 0..rounds() {
        let home = Home::new();
        home.note("a.md", "# A\n\nOne note.\n");
        let start = |number: usize| -> Child {
            let arguments: &[&str] = match number % 3 {
                0 => &["status"],
                1 => &["search", "note"],
                _ => &["token", "list"],
            };
            let mut command = home.command(arguments);
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
            command.spawn().unwrap()
        };
        let children: Vec<Child> = (0..PROCESSES).map(start).collect();
        for child in children {
            let output = child.wait_with_output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "round {round}: {said}");
        }
    }
}
