//! Brings a folder of notes to a hosted vault on a server.

mod folder;
mod plan;
mod state;

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
        mpsc::{self, RecvTimeoutError},
    },
    time::Duration,
};

use clap::Args;
use serde_json::json;

use self::{
    folder::LocalFile,
    plan::{Plan, Step},
    state::State,
};
use super::{
    Common,
    bar::Bar,
    interrupt::{INTERRUPTED, Interrupt},
    out,
};
use crate::{
    config,
    domain::{Code, Error, Progress, Result, error::Doing},
    post::webdav::{Condition, WebDav},
    vault::{self, watch::Options},
};

/// The time limit of one request.
const TIME: Duration = Duration::from_secs(120);
/// Files that are sent at the same time.
const AT_ONCE: usize = 4;
/// With `--watch`, how often the folder is compared without an event: attachments have none.
const AGAIN: Duration = Duration::from_secs(15);
/// Files that are named before the rest is counted.
const MAX_NAMED: usize = 20;

#[derive(Args)]
#[command(after_help = "\
Examples:
  notewell push --to https://notes.example.org/_system/dav/team/ --vault ~/notes
  notewell push --to https://notes.example.org/_system/dav/team/ --vault ~/notes --watch

The token comes from NOTEWELL_TOKEN, or --token. Exit status 1: something was left as it is on the
server because it is newer there.")]
pub struct Push {
    /// The address of the hosted vault
    #[arg(long, value_name = "URL")]
    to: String,
    /// The token [default: the variable NOTEWELL_TOKEN]
    #[arg(long)]
    token: Option<String>,
    /// Go on: push what changes until interrupted
    #[arg(long)]
    watch: bool,
    /// Overwrite what is newer on the server; its version goes to the history there
    #[arg(long)]
    force: bool,
    /// Print the summary as JSON
    #[arg(long)]
    json: bool,
}

/// What one round did.
#[derive(Debug, Default)]
struct Summary {
    uploaded: usize,
    updated: usize,
    trashed: usize,
    unchanged: usize,
    /// Paths that were left as they are, each with the reason.
    left: Vec<(String, String)>,
    /// Files that could not be pushed.
    failed: Vec<(String, String)>,
    stopped: bool,
}

impl Push {
    pub fn run(self, common: &Common) -> Result<ExitCode> {
        let [folder] = common.vaults.as_slice() else {
            return Err(Error::invalid_params("name the folder to push: --vault DIR, once"));
        };
        let folder = config::expand_home(folder);
        let root = folder.canonicalize().map_err(|error| {
            Error::invalid_params(format!(
                "the folder `{}` cannot be opened: {error}",
                folder.display()
            ))
        })?;
        if !root.is_dir() {
            return Err(Error::invalid_params(format!("`{}` is not a folder", root.display())));
        }
        let token = self.token.clone().or_else(config::push_token).ok_or_else(|| {
            Error::invalid_params(
                "no token: set NOTEWELL_TOKEN, or give --token; the owner makes one with `notewell token create --user NAME --scope read,write`",
            )
        })?;
        let data = Common { vaults: Vec::new(), ..common.clone() }.config()?.data;
        let server = WebDav::new(&self.to, token.trim(), TIME)?;
        if server.is_exposed() {
            out::note(format_args!(
                "`{}` is not encrypted: whoever is on the way can read the token and the notes. Use an https address if it is outside your own network.",
                server.address()
            ));
        }
        let interrupt = Interrupt::listen()?;
        let file = state::file(&data, server.address(), &root);
        let mut state = State::read(&file)?;
        if self.watch {
            return self.follow(&server, &root, &file, &mut state, &interrupt);
        }
        let summary = self.round(&server, &root, &file, &mut state, &interrupt)?;
        self.report(&summary)?;
        Ok(status(&summary))
    }

    /// Compares and pushes once. What was pushed is remembered whatever happens then.
    fn round(
        &self,
        server: &WebDav,
        root: &Path,
        file: &Path,
        state: &mut State,
        interrupt: &Interrupt,
    ) -> Result<Summary> {
        let bar = Bar::new().until(interrupt.clone());
        let mut summary = Summary::default();
        let local = folder::list(root, state, &bar, &mut summary.left)?;
        // A watch that was started with --force may lose its drive at any time.
        let meant = self.force && !self.watch;
        if local.is_empty() && !state.files.is_empty() && !meant {
            return Err(emptied(root, state.files.len()));
        }
        let remote = server.list()?;
        let plan = Plan::new(&local, &remote, state, self.force);
        summary.unchanged = plan.unchanged;
        summary.left.extend(plan.left.iter().cloned());
        let pushed = push_all(server, root, plan, state, &bar, &mut summary);
        bar.finish();
        state.write(file)?;
        pushed.map(|()| summary)
    }

    /// Pushes until interrupted. A server that is away is tried again.
    fn follow(
        &self,
        server: &WebDav,
        root: &Path,
        file: &Path,
        state: &mut State,
        interrupt: &Interrupt,
    ) -> Result<ExitCode> {
        let (news, changed) = mpsc::channel();
        let on_change = move |_| {
            // Nobody listens any more when the command ends.
            let _ = news.send(());
        };
        let _watch = vault::watch(root, Options::default(), on_change)?;
        let mut first = true;
        let mut last_error = String::new();
        loop {
            match self.round(server, root, file, state, interrupt) {
                Ok(summary) => {
                    last_error.clear();
                    if first || summary.has_changes() {
                        self.report(&summary)?;
                    }
                    if summary.stopped {
                        break;
                    }
                    if first {
                        out::note("Watching; Ctrl-C ends it.");
                    }
                    first = false;
                }
                // A wrong token or address does not become right by waiting.
                Err(error) if first && error.code != Code::Outside => return Err(error),
                Err(error) => {
                    if last_error != error.plain() {
                        out::error(error.plain());
                    }
                    error.plain().clone_into(&mut last_error);
                }
            }
            if !wait(&changed, interrupt) {
                break;
            }
        }
        Ok(ExitCode::from(u8::try_from(INTERRUPTED).unwrap_or(130)))
    }

    fn report(&self, summary: &Summary) -> Result<()> {
        if self.json {
            let named = |list: &[(String, String)]| {
                let one = |(path, why): &(String, String)| json!({"path": path, "reason": why});
                list.iter().map(one).collect::<Vec<_>>()
            };
            return out::json(&json!({
                "uploaded": summary.uploaded,
                "updated": summary.updated,
                "trashed": summary.trashed,
                "unchanged": summary.unchanged,
                "left": named(&summary.left),
                "failed": named(&summary.failed),
            }));
        }
        for (what, list) in [("left", &summary.left), ("failed", &summary.failed)] {
            for (path, why) in list.iter().take(MAX_NAMED) {
                out::note(format_args!("{what}: `{path}` {why}"));
            }
            if list.len() > MAX_NAMED {
                let more = list.len() - MAX_NAMED;
                out::note(format_args!("{what}: and {more} more; --json lists them all"));
            }
        }
        let mut line = format!(
            "{} new, {} changed, {} moved to the trash, {} unchanged",
            summary.uploaded, summary.updated, summary.trashed, summary.unchanged
        );
        if !summary.left.is_empty() {
            line += &format!(", {} left as on the server", summary.left.len());
        }
        if !summary.failed.is_empty() {
            line += &format!(", {} failed", summary.failed.len());
        }
        out::say(line);
        if summary.stopped {
            out::note("Stopped. What was pushed is kept; the same command again goes on.");
        }
        Ok(())
    }
}

impl Summary {
    /// Whether something was changed, or failed to.
    fn has_changes(&self) -> bool {
        self.uploaded + self.updated + self.trashed > 0 || !self.failed.is_empty()
    }
}

/// A folder without files that had some: the place of a drive that is not mounted looks the same.
fn emptied(root: &Path, pushed: usize) -> Error {
    let root = root.display();
    Error::outside(format!(
        "`{root}` is empty, and {} pushed from it; nothing was deleted on the server. Mount it, or let --force without --watch delete them there",
        match pushed {
            1 => "one file was".to_owned(),
            pushed => format!("{pushed} files were"),
        }
    ))
}

fn status(summary: &Summary) -> ExitCode {
    if summary.stopped {
        return ExitCode::from(u8::try_from(INTERRUPTED).unwrap_or(130));
    }
    match (summary.failed.is_empty(), summary.left.is_empty()) {
        (false, _) => ExitCode::from(2),
        (true, false) => ExitCode::from(1),
        (true, true) => ExitCode::SUCCESS,
    }
}

/// Waits for a change or a while. `false` when the person wants to stop.
fn wait(changed: &mpsc::Receiver<()>, interrupt: &Interrupt) -> bool {
    let pause = Duration::from_millis(200);
    let mut waited = Duration::ZERO;
    while waited < AGAIN {
        if interrupt.pressed() {
            return false;
        }
        match changed.recv_timeout(pause) {
            Ok(()) => {
                while changed.try_recv().is_ok() {}
                return true;
            }
            Err(RecvTimeoutError::Timeout) => waited += pause,
            Err(RecvTimeoutError::Disconnected) => {
                std::thread::sleep(pause);
                waited += pause;
            }
        }
    }
    true
}

/// Takes the steps: folders first and in order, then files, several at a time.
fn push_all(
    server: &WebDav,
    root: &Path,
    plan: Plan,
    state: &mut State,
    bar: &Bar,
    summary: &mut Summary,
) -> Result<()> {
    for (path, known) in plan.known {
        state.files.insert(path, known);
    }
    for path in plan.forgotten {
        state.files.remove(&path);
    }
    for folder in &plan.folders {
        match server.make_folder(folder) {
            // Each of its files is then refused, and named.
            Err(error) if error.code == Code::InvalidParams => {}
            made => made?,
        }
    }
    let total = plan.steps.len() as u64;
    let next = AtomicUsize::new(0);
    let shared = Mutex::new((state, summary));
    let fatal: Mutex<Option<Error>> = Mutex::new(None);
    let steps = &plan.steps;
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE.min(steps.len()) {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(step) = steps.get(at) else { return };
                    let is_over = fatal.lock().unwrap_or_else(PoisonError::into_inner).is_some();
                    if is_over || bar.stopped() {
                        return;
                    }
                    bar.report(at as u64, Some(total), "pushing files");
                    let done = take(server, root, step);
                    let mut shared = shared.lock().unwrap_or_else(PoisonError::into_inner);
                    let (state, summary) = &mut *shared;
                    if let Some(error) = settle(step, done, state, summary) {
                        *fatal.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                    }
                }
            });
        }
    });
    let (_, summary) = shared.into_inner().unwrap_or_else(PoisonError::into_inner);
    summary.stopped = bar.stopped();
    match fatal.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some(error) => Err(error),
        None => Ok(()),
    }
}

/// Sends one file, or has one deleted. Gives what is on the server now.
fn take(server: &WebDav, root: &Path, step: &Step) -> Result<Option<LocalFile>> {
    match step {
        Step::Put { file, expected } => {
            let bytes = std::fs::read(root.join(PathBuf::from(&file.name)))
                .doing(format_args!("read `{}`", file.path))?;
            let condition = expected.as_deref().map_or(Condition::Absent, Condition::Etag);
            let etag = server.put(&file.path, &bytes, file.mtime_ns, condition)?;
            // What was read just now, should it have changed since it was listed.
            let etag = etag.unwrap_or_else(|| folder::etag_of(&bytes));
            Ok(Some(LocalFile { etag, ..file.clone() }))
        }
        Step::Delete { path, etag } => server.delete(path, etag).map(|()| None),
    }
}

/// Counts what a step did. An error that concerns every file ends the round.
fn settle(
    step: &Step,
    done: Result<Option<LocalFile>>,
    state: &mut State,
    summary: &mut Summary,
) -> Option<Error> {
    let path = step.path().as_str().to_owned();
    match (done, step) {
        (Ok(Some(file)), Step::Put { expected, .. }) => {
            match expected {
                Some(_) => summary.updated += 1,
                None => summary.uploaded += 1,
            }
            state.files.insert(path, file.known());
        }
        (Ok(_), _) => {
            summary.trashed += 1;
            state.files.remove(&path);
        }
        (Err(error), _) if error.code == Code::Conflict => {
            summary.left.push((path, "was changed on the server at this moment".into()));
        }
        (Err(error), _) if matches!(error.code, Code::Outside | Code::InvalidRequest) => {
            return Some(error);
        }
        (Err(error), _) => summary.failed.push((path, error.plain().to_owned())),
    }
    None
}
