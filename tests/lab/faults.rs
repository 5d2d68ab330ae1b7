//! Kills at every system call, power cuts, full and broken disks, failed syncs, short writes and
//! clock jumps, on every write path.

use crate::{
    bench::Bench,
    paths,
    paths::Path,
    rounds::{notices_lies, run, unconfirmed},
    support::over_server,
};

/// How many rounds end in a kill or a power cut; a third as many errors follow.
fn rounds() -> u64 {
    let asked = std::env::var("NOTEWELL_LAB_ROUNDS").ok();
    asked.and_then(|rounds| rounds.parse().ok()).unwrap_or(12)
}

fn on(path: fn(&Bench) -> Path) {
    if over_server() {
        println!("only over SQLite: the faults are those of its files");
        return;
    }
    run(path, rounds());
}

#[test]
fn cards_survive_every_fault() {
    on(paths::cards);
}

#[test]
fn prompts_survive_every_fault() {
    on(paths::prompts);
}

#[test]
fn bookmarks_survive_every_fault() {
    on(paths::bookmarks);
}

#[test]
fn pages_survive_every_fault() {
    on(paths::pages);
}

#[test]
fn moves_survive_every_fault() {
    on(paths::moves);
}

#[test]
fn history_survives_every_fault() {
    on(paths::history);
}

#[test]
fn the_ledger_survives_every_fault() {
    on(paths::ledger);
}

#[test]
fn users_survive_every_fault() {
    on(paths::users);
}

#[test]
fn tokens_survive_every_fault() {
    on(paths::tokens);
}

#[test]
fn hosted_vaults_survive_every_fault() {
    on(paths::hosted);
}

#[test]
fn the_index_survives_every_fault() {
    on(paths::index);
}

#[test]
fn an_undo_that_the_disk_did_not_confirm_comes_back_whole_or_not_at_all() {
    if !over_server() {
        // The deletion of a card, taken back.
        unconfirmed(paths::history, 4);
    }
}

/// The check of the laboratory itself: it must find what is lost on a disk that does not sync.
#[test]
fn a_disk_that_does_not_sync_is_noticed() {
    if !over_server() {
        assert!(notices_lies(paths::cards), "acknowledged cards were lost, and nobody noticed");
    }
}
