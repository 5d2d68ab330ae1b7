//! Follows a vault: tells what changed soon after it did. Editors write a note in several steps and
//! `git checkout` touches thousands of files at once, so events are gathered until the folder is
//! quiet for a moment. Where the file system sends no events the folder is looked at in turns.

use std::{
    collections::{BTreeSet, HashMap},
    fs,
    path::{Path, PathBuf},
    sync::mpsc::{self, Receiver, RecvTimeoutError, Sender},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use notify::{
    Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher,
    event::{AccessKind, AccessMode, CreateKind, ModifyKind, RemoveKind},
};

use super::{
    read::Stamp,
    walk::{self, IGNORED, TEMPORARY},
};
use crate::domain::{Result, call::join_within, error::Doing};

/// What to look at again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// These notes, relative to the vault, were made, changed or removed.
    Batch(Vec<PathBuf>),
    /// Too much or unclear: look at the whole vault.
    Rescan,
}

/// How to follow.
#[derive(Debug, Clone)]
pub struct Options {
    /// Look in turns even where events work.
    pub poll: bool,
    /// How often a polled folder is read.
    pub poll_every: Duration,
    /// A batch is delivered when nothing has happened for this long,
    pub quiet: Duration,
    /// or when its first event is this old.
    pub longest: Duration,
    /// More notes than this are reported as a rescan.
    pub bulk: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            poll: false,
            poll_every: Duration::from_secs(2),
            quiet: Duration::from_millis(60),
            longest: Duration::from_millis(240),
            bulk: 500,
        }
    }
}

/// How long a callback that is running is waited for. One that hangs on a dead mount is left alone.
const JOIN_LIMIT: Duration = Duration::from_secs(5);

/// Follows as long as it lives. Dropping it waits for a callback that is running, within reason.
#[derive(Debug)]
pub struct Watch {
    /// Whether the folder is looked at in turns, and why.
    pub polling: Option<&'static str>,
    watcher: Option<RecommendedWatcher>,
    stop: Option<Sender<Signal>>,
    thread: Option<JoinHandle<()>>,
}

enum Signal {
    Event(notify::Result<Event>),
    Stop,
}

/// Starts to follow a vault. `on_change` runs on a thread of its own, one call at a time.
pub fn watch(
    root: &Path,
    options: Options,
    on_change: impl FnMut(Change) + Send + 'static,
) -> Result<Watch> {
    let root = root.canonicalize().doing(format_args!("open the vault `{}`", root.display()))?;
    let (signals, received) = mpsc::channel();
    let mut polling = match (options.poll, is_remote(&root)) {
        (true, _) => Some("the configuration asks for it"),
        (_, true) => Some("the file system is on another machine and sends no events"),
        _ => None,
    };
    let mut watcher = None;
    if polling.is_none() {
        match events(&root, signals.clone()) {
            Ok(made) => watcher = Some(made),
            Err(_) => {
                polling = Some(
                    "the system refused a watcher (on Linux raise `fs.inotify.max_user_watches`)",
                )
            }
        }
    }
    let name = "vault-watch".to_owned();
    let polled = polling.is_some();
    let body = move || {
        if polled {
            poll(&root, &options, &received, on_change)
        } else {
            follow(&root, &options, &received, on_change)
        }
    };
    let thread =
        thread::Builder::new().name(name).spawn(body).doing("start the vault's watcher")?;
    Ok(Watch { polling, watcher, stop: Some(signals), thread: Some(thread) })
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.watcher = None;
        if let Some(stop) = self.stop.take() {
            // The thread may have ended before; then nobody listens, which is as good.
            let _ = stop.send(Signal::Stop);
        }
        if let Some(thread) = self.thread.take() {
            join_within(thread, JOIN_LIMIT);
        }
    }
}

fn events(root: &Path, signals: Sender<Signal>) -> notify::Result<RecommendedWatcher> {
    let config = notify::Config::default().with_follow_symlinks(false);
    let handler = move |event| {
        let _ = signals.send(Signal::Event(event));
    };
    let mut watcher = RecommendedWatcher::new(handler, config)?;
    watcher.watch(root, RecursiveMode::Recursive)?;
    Ok(watcher)
}

fn follow(
    root: &Path,
    options: &Options,
    received: &Receiver<Signal>,
    mut on_change: impl FnMut(Change),
) {
    while let Ok(Signal::Event(event)) = received.recv() {
        let mut heap = Heap::default();
        heap.add(root, event);
        let first = Instant::now();
        let stopped = loop {
            let left = options.longest.saturating_sub(first.elapsed());
            // Noise that concerns no note must not hold a change back, nor start a batch.
            if heap.is_empty() || left.is_zero() {
                break false;
            }
            match received.recv_timeout(options.quiet.min(left)) {
                Ok(Signal::Event(event)) => heap.add(root, event),
                Err(RecvTimeoutError::Timeout) => break false,
                Ok(Signal::Stop) | Err(RecvTimeoutError::Disconnected) => break true,
            }
        };
        if let Some(change) = heap.change(options.bulk) {
            on_change(change);
        }
        if stopped {
            return;
        }
    }
}

/// What has happened since the last batch.
#[derive(Default)]
struct Heap {
    notes: BTreeSet<PathBuf>,
    rescan: bool,
}

impl Heap {
    fn is_empty(&self) -> bool {
        self.notes.is_empty() && !self.rescan
    }

    fn change(self, bulk: usize) -> Option<Change> {
        if self.rescan || self.notes.len() > bulk {
            return Some(Change::Rescan);
        }
        (!self.notes.is_empty()).then(|| Change::Batch(self.notes.into_iter().collect()))
    }

    fn add(&mut self, root: &Path, event: notify::Result<Event>) {
        let Ok(event) = event else {
            // Something was lost; the folder knows what.
            self.rescan = true;
            return;
        };
        if event.need_rescan() {
            self.rescan = true;
        }
        if is_reading(&event.kind) {
            return;
        }
        for path in &event.paths {
            let Ok(relative) = path.strip_prefix(root) else { continue };
            if is_ignored(relative) {
                continue;
            }
            if relative.as_os_str().is_empty() {
                // The vault itself: its times change with every file, its removal is news.
                self.rescan |= matches!(
                    event.kind,
                    EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(_))
                );
            } else if walk::is_note(relative) {
                self.notes.insert(relative.to_owned());
            } else if relative.file_name().is_some_and(|name| name == ".gitignore")
                || is_folder(&event.kind, path)
            {
                self.rescan = true;
            }
        }
    }
}

fn is_reading(kind: &EventKind) -> bool {
    match kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write)) => false,
        EventKind::Access(_) => true,
        _ => false,
    }
}

fn is_ignored(relative: &Path) -> bool {
    let temporary =
        relative.file_name().is_some_and(|name| name.to_string_lossy().starts_with(TEMPORARY));
    temporary || relative.iter().any(|part| IGNORED.iter().any(|ignored| part == *ignored))
}

/// Whether notes may have come or gone with this path, which is not a note's.
fn is_folder(kind: &EventKind, path: &Path) -> bool {
    match kind {
        EventKind::Create(CreateKind::File) | EventKind::Remove(RemoveKind::File) => false,
        EventKind::Create(CreateKind::Folder) | EventKind::Remove(RemoveKind::Folder) => true,
        EventKind::Create(_)
        | EventKind::Modify(ModifyKind::Name(_))
        | EventKind::Remove(_)
        | EventKind::Any => {
            match fs::symlink_metadata(path) {
                Ok(metadata) => metadata.is_dir(),
                // Gone, and nobody says what it was: folders seldom have an extension.
                Err(_) => path.extension().is_none(),
            }
        }
        _ => false,
    }
}

fn poll(
    root: &Path,
    options: &Options,
    received: &Receiver<Signal>,
    mut on_change: impl FnMut(Change),
) {
    let mut before = stamps(root);
    while let Err(RecvTimeoutError::Timeout) = received.recv_timeout(options.poll_every) {
        let now = stamps(root);
        let (Some(old), Some(new)) = (&before, &now) else {
            // The vault went away or came back.
            if before.is_some() != now.is_some() {
                on_change(Change::Rescan);
            }
            before = now;
            continue;
        };
        let changed = new.iter().filter(|(path, stamp)| old.get(*path) != Some(stamp));
        let removed = old.keys().filter(|path| !new.contains_key(*path));
        let notes = changed.map(|(path, _)| path).chain(removed).cloned().collect();
        // Every note gone at once may be a drive that was unmounted: the whole look decides.
        let rescan = new.is_empty() && !old.is_empty();
        if let Some(change) = (Heap { notes, rescan }).change(options.bulk) {
            on_change(change);
        }
        before = now;
    }
}

fn stamps(root: &Path) -> Option<HashMap<PathBuf, Stamp>> {
    let walk = walk::walk(root, &walk::Scope::whole(u64::MAX)).ok()?;
    let relative = |file: &Path| file.strip_prefix(root).unwrap_or(file).to_owned();
    Some(walk.files.into_iter().map(|found| (relative(&found.file), found.stamp)).collect())
}

/// Whether changes made elsewhere would go unseen. Known only where the system says so.
fn is_remote(root: &Path) -> bool {
    let Ok(mounts) = fs::read_to_string("/proc/self/mounts") else { return false };
    let kinds = mounts.lines().filter_map(|line| {
        let mut fields = line.split(' ').skip(1);
        let folder = fields.next()?.replace("\\040", " ");
        root.starts_with(&folder).then(|| (folder.len(), fields.next().unwrap_or_default()))
    });
    let kind = kinds.max_by_key(|(len, _)| *len).map_or("", |(_, kind)| kind);
    ["nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "vboxsf", "afs", "ncpfs"].contains(&kind)
        || kind.starts_with("fuse.sshfs")
        || kind.starts_with("fuse.rclone")
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Duration = Duration::from_secs(20);

    fn start(root: &Path, options: Options) -> (Watch, Receiver<Change>) {
        let (told, changes) = mpsc::channel();
        let watch = watch(root, options, move |change| {
            let _ = told.send(change);
        });
        (watch.unwrap(), changes)
    }

    /// Waits until everything named has been told, or a rescan has.
    fn await_notes(changes: &Receiver<Change>, names: &[&str]) {
        let mut missing: BTreeSet<PathBuf> = names.iter().map(PathBuf::from).collect();
        while !missing.is_empty() {
            match changes.recv_timeout(PATIENCE).expect("a change is reported") {
                Change::Rescan => return,
                Change::Batch(paths) => {
                    for path in paths {
                        missing.remove(&path);
                    }
                }
            }
        }
    }

    fn save(folder: &Path, name: &str, text: &str) {
        super::super::replace(&folder.join(name), text.as_bytes()).unwrap();
    }

    #[test]
    fn saves_renames_and_removals_are_told() {
        let vault = tempfile::tempdir().unwrap();
        save(vault.path(), "a.md", "1");
        let (watch, changes) = start(vault.path(), Options::default());
        assert_eq!(watch.polling, None);
        save(vault.path(), "a.md", "2");
        await_notes(&changes, &["a.md"]);
        fs::rename(vault.path().join("a.md"), vault.path().join("б.md")).unwrap();
        await_notes(&changes, &["a.md", "б.md"]);
        fs::remove_file(vault.path().join("б.md")).unwrap();
        await_notes(&changes, &["б.md"]);
        fs::create_dir(vault.path().join("日記")).unwrap();
        await_notes(&changes, &["日記"]);
        save(vault.path(), "日記/五月.md", "1");
        await_notes(&changes, &["日記/五月.md"]);
        drop(watch);
        assert!(changes.recv().is_err(), "nothing is reported after the watch has gone");
    }

    #[test]
    fn many_changes_are_one_rescan_and_noise_is_none() {
        let root = Path::new("/v");
        let event = |kind, path: &str| Ok(Event::new(kind).add_path(root.join(path)));
        let modify = EventKind::Modify(ModifyKind::Any);
        let mut heap = Heap::default();
        for noise in
            ["a.png", ".git/x.md", ".obsidian/workspace.json", ".notewell-1.tmp", "a.md.swp"]
        {
            heap.add(root, event(modify, noise));
        }
        heap.add(root, event(EventKind::Access(AccessKind::Open(AccessMode::Any)), "a.md"));
        heap.add(root, event(EventKind::Remove(RemoveKind::File), "4913"));
        assert!(heap.is_empty());
        for number in 0..3 {
            heap.add(root, event(modify, &format!("{number}.md")));
        }
        heap.add(root, event(modify, "0.md"));
        assert_eq!(heap.notes.len(), 3);
        assert_eq!(heap.change(2), Some(Change::Rescan));
        for kind in [EventKind::Create(CreateKind::Folder), EventKind::Remove(RemoveKind::Folder)] {
            let mut heap = Heap::default();
            heap.add(root, event(kind, "folder"));
            assert_eq!(heap.change(2), Some(Change::Rescan));
        }
        let mut heap = Heap::default();
        heap.add(root, Err(notify::Error::generic("overflow")));
        assert_eq!(heap.change(2), Some(Change::Rescan));
    }

    #[test]
    fn a_folder_without_events_is_polled() {
        let vault = tempfile::tempdir().unwrap();
        save(vault.path(), "a.md", "1");
        let options =
            Options { poll: true, poll_every: Duration::from_millis(20), ..Options::default() };
        let (watch, changes) = start(vault.path(), options);
        assert!(watch.polling.is_some());
        thread::sleep(Duration::from_millis(100));
        save(vault.path(), "b.md", "new");
        await_notes(&changes, &["b.md"]);
        fs::remove_file(vault.path().join("b.md")).unwrap();
        await_notes(&changes, &["b.md"]);
    }

    #[test]
    fn a_missing_vault_cannot_be_watched() {
        assert!(watch(Path::new("/nowhere/at/all"), Options::default(), |_| {}).is_err());
    }
}
