//! What another process does during a look.

#![allow(clippy::disallowed_methods, reason = "a test's own files")]

use std::{
    path::Path,
    sync::{Arc, Mutex},
};

use crate::{
    app::{App, Sources},
    config::{Config, EmbedProvider},
    domain::{Pid, Result, Silent, Timestamp, Visible},
    store::{
        items::Synced,
        pages::{Authorship, PageChange, PageRow, Pages, Skipped, VaultProblem, VaultRow},
    },
};

type Doing = Box<dyn FnOnce() + Send>;

/// Pages, of which another process changes some just before they are compared with the files.
struct Shared {
    pages: Arc<dyn Pages>,
    meanwhile: Mutex<Option<Doing>>,
}

impl Shared {
    fn let_others(&self) {
        let doing = self.meanwhile.lock().unwrap().take();
        if let Some(doing) = doing {
            doing();
        }
    }
}

/// Hands a call on.
macro_rules! hand_on {
    ($($name:ident($($argument:ident: $type:ty),*) -> $out:ty;)*) => {
        $(fn $name(&self, $($argument: $type),*) -> $out { self.pages.$name($($argument),*) })*
    };
}

impl Pages for Shared {
    fn find(&self, vault: &str, path: &str) -> Result<Option<PageRow>> {
        self.let_others();
        self.pages.find(vault, path)
    }

    fn of_vault(&self, vault: &str) -> Result<Vec<PageRow>> {
        self.let_others();
        self.pages.of_vault(vault)
    }

    hand_on! {
        vaults() -> Result<Vec<VaultRow>>;
        add_vault(name: &str, location: &str, poll: bool) -> Result<VaultRow>;
        move_vault(name: &str, location: &str) -> Result<()>;
        remove_vault(name: &str) -> Result<bool>;
        set_authorship(vault: &str, authorship: &Authorship) -> Result<()>;
        mark_seen(vault: &str, when: Timestamp) -> Result<()>;
        set_problem(vault: &str, problem: Option<&VaultProblem>) -> Result<()>;
        get(pid: Pid) -> Result<Option<PageRow>>;
        get_many(pids: &[Pid]) -> Result<Vec<PageRow>>;
        with_content(vault: &str, hashes: &[[u8; 32]]) -> Result<Vec<PageRow>>;
        count_of(vault: &str) -> Result<u64>;
        list(after: Option<Pid>, limit: usize, visible: &Visible) -> Result<Vec<PageRow>>;
        methods() -> Result<Vec<PageRow>>;
        apply(changes: &[PageChange]) -> Result<Synced>;
        set_skipped(vault: &str, at: Option<&[String]>, skipped: &[Skipped]) -> Result<()>;
        skipped() -> Result<Vec<Skipped>>;
    }
}

/// A library of one vault, and a second process on it.
fn two_processes(folder: &Path) -> (App, VaultRow, Arc<Sources>, Arc<Shared>) {
    std::fs::create_dir(folder.join("notes")).unwrap();
    std::fs::write(folder.join("notes/old.md"), "# Old\n").unwrap();
    let mut config = Config { data: folder.join("data"), ..Config::default() };
    config.embed.provider = EmbedProvider::None;
    let app = App::open(config, Vec::new()).unwrap();
    let vault = app.sources.add_vault(&folder.join("notes"), None, false).unwrap();
    app.sources.sync_vault(&vault, &Silent).unwrap();
    let shared = Arc::new(Shared { pages: app.store.pages.clone(), meanwhile: Mutex::default() });
    let mut store = app.store.clone();
    store.pages = shared.clone();
    let second = Sources::new(app.config.clone(), store, app.cards.clone(), app.prompts.clone());
    (app, vault, Arc::new(second), shared)
}

#[test]
fn a_note_that_another_process_makes_during_a_look_stays() {
    for whole in [true, false] {
        let folder = tempfile::tempdir().unwrap();
        let (app, vault, second, shared) = two_processes(folder.path());
        let (first, row) = (app.sources.clone(), vault.clone());
        let file = folder.path().join("notes/新しい.md");
        *shared.meanwhile.lock().unwrap() = Some(Box::new(move || {
            std::fs::write(file, "# Новая\n").unwrap();
            first.sync_paths(&row, &["新しい.md".into()]).unwrap();
        }));
        match whole {
            true => second.sync_vault(&vault, &Silent),
            false => second.sync_paths(&vault, &["新しい.md".into()]),
        }
        .unwrap();
        assert!(shared.meanwhile.lock().unwrap().is_none());
        assert!(app.store.pages.find("notes", "新しい.md").unwrap().is_some(), "whole: {whole}");
        assert_eq!(app.store.pages.count_of("notes").unwrap(), 2);
    }
}
