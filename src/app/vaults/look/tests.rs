//! What another process does during a look.

#![allow(clippy::disallowed_methods, reason = "a test's own files")]

use std::{
    path::Path,
    sync::{Arc, Mutex},
};

use crate::{
    app::{App, Sources},
    config::{Config, EmbedProvider},
    domain::{Code, Pid, Result, Silent, Timestamp, Visible},
    store::{
        items::Synced,
        pages::{Authorship, PageChange, PageRow, Pages, Skipped, VaultProblem, VaultRow},
    },
};

type Doing = Box<dyn FnOnce() + Send>;

/// Pages, of which another process changes some during a look.
struct Shared {
    pages: Arc<dyn Pages>,
    /// Just before they are compared with the files.
    before_reading: Mutex<Option<Doing>>,
    /// Just before what a look found is recorded, one at a time.
    before_writing: Mutex<Vec<Doing>>,
}

impl Shared {
    fn let_others(&self) {
        let doing = self.before_reading.lock().unwrap().take();
        if let Some(doing) = doing {
            doing();
        }
    }

    fn meanwhile(&self, doing: impl FnOnce() + Send + 'static) {
        self.before_writing.lock().unwrap().push(Box::new(doing));
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

    fn apply(&self, changes: &[PageChange]) -> Result<Synced> {
        let doing = self.before_writing.lock().unwrap().pop();
        if let Some(doing) = doing {
            doing();
        }
        self.pages.apply(changes)
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
    let shared = Arc::new(Shared {
        pages: app.store.pages.clone(),
        before_reading: Mutex::default(),
        before_writing: Mutex::default(),
    });
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
        *shared.before_reading.lock().unwrap() = Some(Box::new(move || {
            std::fs::write(file, "# Новая\n").unwrap();
            first.sync_paths(&row, &["新しい.md".into()]).unwrap();
        }));
        match whole {
            true => second.sync_vault(&vault, &Silent),
            false => second.sync_paths(&vault, &["新しい.md".into()]),
        }
        .unwrap();
        assert!(shared.before_reading.lock().unwrap().is_none());
        assert!(app.store.pages.find("notes", "新しい.md").unwrap().is_some(), "whole: {whole}");
        assert_eq!(app.store.pages.count_of("notes").unwrap(), 2);
    }
}

/// Looks as the second process does, at the whole vault or at a path.
fn look(second: &Sources, vault: &VaultRow, whole: bool) -> Result<Synced> {
    match whole {
        true => second.sync_vault(vault, &Silent),
        false => second.sync_paths(vault, &["old.md".into()]),
    }
}

#[test]
fn a_page_that_went_and_came_back_during_a_look_stays() {
    for whole in [true, false] {
        let folder = tempfile::tempdir().unwrap();
        let (app, vault, second, shared) = two_processes(folder.path());
        let pid = app.store.pages.find("notes", "old.md").unwrap().unwrap().pid;
        let file = folder.path().join("notes/old.md");
        // A vault that is empty as a whole keeps its notes.
        std::fs::write(folder.path().join("notes/другая.md"), "# Другая\n").unwrap();
        std::fs::remove_file(&file).unwrap();
        let (first, row) = (app.sources.clone(), vault.clone());
        shared.meanwhile(move || {
            first.sync_vault(&row, &Silent).unwrap();
            std::fs::write(file, "# Old\n").unwrap();
            first.sync_vault(&row, &Silent).unwrap();
        });
        look(&second, &vault, whole).unwrap();
        assert!(shared.before_writing.lock().unwrap().is_empty());
        let found = app.store.pages.find("notes", "old.md").unwrap();
        assert_eq!(found.map(|row| row.pid), Some(pid), "whole: {whole}");
    }
}

#[test]
fn a_page_that_stayed_goes_with_the_next_look_when_its_file_is_gone() {
    for whole in [true, false] {
        let folder = tempfile::tempdir().unwrap();
        let (app, vault, second, shared) = two_processes(folder.path());
        std::fs::write(folder.path().join("notes/другая.md"), "# Другая\n").unwrap();
        std::fs::remove_file(folder.path().join("notes/old.md")).unwrap();
        // Each author is a change of every page of the vault.
        let record = |author: &str| {
            let (pages, author) = (app.store.pages.clone(), Authorship::Vault(author.into()));
            move || pages.set_authorship("notes", &author).unwrap()
        };
        shared.meanwhile(record("ann"));
        look(&second, &vault, whole).unwrap();
        assert!(app.store.pages.find("notes", "old.md").unwrap().is_none(), "whole: {whole}");
        // One that is recorded again and again is not given up in silence.
        std::fs::write(folder.path().join("notes/old.md"), "# Old\n").unwrap();
        app.sources.sync_vault(&vault, &Silent).unwrap();
        std::fs::remove_file(folder.path().join("notes/old.md")).unwrap();
        for author in ["ann", "bob", "eve", "joe", "kim"] {
            shared.meanwhile(record(author));
        }
        let error = look(&second, &vault, whole).unwrap_err();
        assert_eq!(error.code, Code::Conflict, "{error}");
        shared.before_writing.lock().unwrap().clear();
        look(&second, &vault, whole).unwrap();
        assert!(app.store.pages.find("notes", "old.md").unwrap().is_none(), "whole: {whole}");
    }
}
