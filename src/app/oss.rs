//! Reports on repositories: the stored ones, and the verifications in progress.
//!
//! A verification takes minutes, so it runs on its own thread and callers may come back for it.
//! There is one verification for each repository; a few run at once, others wait in a bounded queue.

use std::{
    collections::{HashMap, VecDeque},
    panic::{AssertUnwindSafe, catch_unwind},
    path::PathBuf,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use super::App;
use crate::{
    config::{self, Config},
    domain::{Code, Error, Patience, Progress, Result, Timestamp, error::Doing},
    oss::{self, Policy, Report, Target, Verdict, Verification},
    store::{Reports, reports::StoredReport},
};

/// How often a waiting caller checks whether its request was cancelled.
const POLL: Duration = Duration::from_millis(100);
/// The time before a caller's deadline at which it gets an answer.
const MARGIN: Duration = Duration::from_millis(500);
/// Failures that are remembered for later callers.
const MAX_FAILURES: usize = 1000;

/// What is known about a repository at the moment.
#[derive(Debug, Clone)]
pub enum Known {
    /// The report.
    Report(Box<Report>),
    /// There is no report and none is being made. `failed` has the error of the last attempt.
    Missing {
        /// Why the last verification failed.
        failed: Option<String>,
    },
    /// In the queue, behind this many others.
    Queued {
        /// Verifications ahead in the queue.
        before: usize,
    },
    /// Verification is running.
    Verifying {
        /// The current step.
        step: u64,
        /// All steps.
        steps: u64,
        /// What the step does.
        doing: String,
    },
}

/// The part of a report that search results show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Summary {
    /// 0 to 100.
    pub score: u8,
    /// The recommendation.
    pub verdict: Verdict,
}

/// The state of one verification.
#[derive(Debug, Clone, Default)]
enum Stage {
    #[default]
    Queued,
    Running {
        step: u64,
        steps: u64,
        doing: String,
    },
    Done(Result<Box<Report>, Failure>),
}

/// An error that every waiting caller gets a copy of.
#[derive(Debug, Clone)]
struct Failure {
    code: Code,
    message: String,
}

struct Job {
    target: Target,
    stage: Mutex<Stage>,
    stop: Arc<AtomicBool>,
    /// Callers that wait for it now.
    waiting: AtomicUsize,
}

/// A caller that waits for a verification.
struct Waiting<'a>(&'a Job);

impl<'a> Waiting<'a> {
    fn new(job: &'a Job) -> Self {
        job.waiting.fetch_add(1, Ordering::AcqRel);
        Self(job)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::AcqRel);
    }
}

#[derive(Default)]
struct State {
    /// Waiting or running, by key.
    jobs: HashMap<String, Arc<Job>>,
    queue: VecDeque<String>,
    threads: Vec<JoinHandle<()>>,
    running: usize,
    failures: HashMap<String, String>,
}

struct Shared {
    config: config::Oss,
    folder: PathBuf,
    reports: Arc<dyn Reports>,
    stop: Arc<AtomicBool>,
    state: Mutex<State>,
    changed: Condvar,
}

/// The verifications of this process.
pub struct Verifications(Arc<Shared>);

impl Verifications {
    /// A queue with the limits of `[oss]`.
    pub fn new(config: &Config, reports: Arc<dyn Reports>) -> Self {
        Self(Arc::new(Shared {
            config: config.oss.clone(),
            folder: config.data.join("oss"),
            reports,
            stop: Arc::default(),
            state: Mutex::default(),
            changed: Condvar::new(),
        }))
    }

    /// The repositories that are being verified or wait for it, by name.
    fn in_progress(&self) -> Vec<(String, Known)> {
        let state = self.0.lock();
        let place = |key: &str| state.queue.iter().position(|queued| queued == key).unwrap_or(0);
        let jobs = state.jobs.iter();
        let mut jobs: Vec<(String, Known)> =
            jobs.map(|(key, job)| (key.clone(), job.known(place(key)))).collect();
        jobs.sort_by(|(a, _), (b, _)| a.cmp(b));
        jobs
    }

    /// Stops all verifications and waits until they have cleaned up.
    pub fn stop(&self) {
        self.0.stop.store(true, Ordering::Release);
        let threads = {
            let mut state = self.0.lock();
            for job in state.jobs.values() {
                job.stop.store(true, Ordering::Release);
            }
            std::mem::take(&mut state.threads)
        };
        for thread in threads {
            drop(thread.join());
        }
    }
}

impl Drop for Verifications {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn stored(&self, key: &str) -> Result<Option<Report>> {
        let Some(stored) = self.reports.newest(key)? else { return Ok(None) };
        serde_json::from_str(&stored.json)
            .doing(format_args!("read the stored report on `{key}`"))
            .map(Some)
    }

    /// Looks up what is known, without starting anything.
    fn known(&self, key: &str) -> Result<Known> {
        let state = self.lock();
        if let Some(job) = state.jobs.get(key) {
            let before = state.queue.iter().position(|queued| queued == key);
            return Ok(job.known(before.unwrap_or(0)));
        }
        let failed = state.failures.get(key).cloned();
        drop(state);
        Ok(match self.stored(key)? {
            Some(report) => Known::Report(Box::new(report)),
            None => Known::Missing { failed },
        })
    }

    /// The verification in progress, or a new one.
    fn start(self: &Arc<Self>, target: Target) -> Result<Arc<Job>> {
        let key = target.key();
        let mut state = self.lock();
        if let Some(job) = state.jobs.get(&key) {
            if job.stop.load(Ordering::Acquire) {
                return Err(Error::conflict(
                    "the verification of this repository is being stopped; ask again in a moment",
                ));
            }
            return Ok(job.clone());
        }
        if state.queue.len() >= self.config.queue && state.running >= self.config.jobs {
            return Err(Error::limit(format!(
                "too many repositories wait to be verified ({}, the limit of `[oss] queue`); ask again in a few minutes",
                state.queue.len()
            )));
        }
        let stop = Arc::new(AtomicBool::new(self.stop.load(Ordering::Acquire)));
        let waiting = AtomicUsize::new(0);
        let job = Arc::new(Job { target, stage: Mutex::default(), stop, waiting });
        state.failures.remove(&key);
        state.jobs.insert(key.clone(), job.clone());
        state.queue.push_back(key);
        if state.running < self.config.jobs {
            let shared = self.clone();
            let thread =
                std::thread::Builder::new().name("verify".into()).spawn(move || shared.work());
            match thread {
                Ok(thread) => {
                    state.running += 1;
                    state.threads.retain(|thread| !thread.is_finished());
                    state.threads.push(thread);
                }
                Err(error) if state.running == 0 => {
                    state.queue.clear();
                    state.jobs.clear();
                    return Err(Error::internal(format!("could not start verifying: {error}")));
                }
                Err(_) => {}
            }
        }
        Ok(job)
    }

    /// Verifies repositories of the queue until it is empty.
    fn work(&self) {
        loop {
            let next = {
                let mut state = self.lock();
                let next = state.queue.pop_front().and_then(|key| {
                    let job = state.jobs.get(&key)?.clone();
                    Some((key, job))
                });
                if next.is_none() {
                    state.running -= 1;
                }
                next
            };
            let Some((key, job)) = next else { return };
            // A panic on one repository must not end the thread that serves the others.
            let outcome = catch_unwind(AssertUnwindSafe(|| self.verify(&job)));
            let outcome = outcome.unwrap_or_else(|_| {
                Err(Error::internal(format!(
                    "verifying `{key}` ended in a panic; the log says where"
                )))
            });
            let outcome = outcome.map_err(|error| {
                tracing::warn!(repo = key, error = ?error, "could not verify a repository");
                Failure { code: error.code, message: error.message }
            });
            let mut state = self.lock();
            state.jobs.remove(&key);
            // What its caller stopped has not failed.
            let is_stopped = job.stop.load(Ordering::Acquire);
            if let (Err(failure), false) = (&outcome, is_stopped) {
                if state.failures.len() >= MAX_FAILURES {
                    state.failures.clear();
                }
                state.failures.insert(key, failure.message.clone());
            }
            job.set(Stage::Done(outcome));
            drop(state);
            self.changed.notify_all();
        }
    }

    /// Makes a report and stores it, whole or not at all.
    fn verify(&self, job: &Job) -> Result<Box<Report>> {
        let verification = Verification {
            config: self.config.clone(),
            folder: self.folder.clone(),
            stop: job.stop.clone(),
        };
        let report = verification.run(&job.target, &JobProgress { job, shared: self })?;
        let json = serde_json::to_string(&report).doing("write a report as JSON")?;
        self.reports.put(&StoredReport {
            repo: job.target.key(),
            commit: report.commit.clone(),
            verified: Timestamp::parse(&report.verified_at).unwrap_or_else(Timestamp::now),
            score: report.security_score,
            verdict: report.security_verdict.to_string(),
            json,
        })?;
        Ok(Box::new(report))
    }

    /// Waits for a verification and reports its progress, until the caller's deadline.
    fn wait(
        &self,
        job: &Job,
        until: Option<Instant>,
        patience: &Patience,
        progress: &dyn Progress,
    ) -> Result<Known> {
        let mut reported = 0;
        let _waiting = Waiting::new(job);
        let mut state = self.lock();
        loop {
            let key = job.target.key();
            let before = state.queue.iter().position(|queued| *queued == key).unwrap_or(0);
            match job.stage() {
                Stage::Done(Ok(report)) => return Ok(Known::Report(report)),
                Stage::Done(Err(failure)) => return Err(Error::new(failure.code, failure.message)),
                Stage::Running { step, steps, doing } if step > reported => {
                    reported = step;
                    progress.report(step, Some(steps), &doing);
                }
                _ => {}
            }
            match patience.check() {
                Err(error) if error.code == Code::Cancelled => {
                    // Who could wait to the end and does not want to any more stops the work. A
                    // request with a deadline comes back for it.
                    if patience.remaining().is_none() {
                        Self::give_up(&mut state, job);
                    }
                    return Err(error);
                }
                Err(_) => return Ok(job.known(before)),
                Ok(()) if until.is_some_and(|until| Instant::now() >= until) => {
                    return Ok(job.known(before));
                }
                Ok(()) => {}
            }
            let waited = self.changed.wait_timeout(state, POLL);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Shared {
    /// Stops a verification that nobody else waits for.
    fn give_up(state: &mut State, job: &Job) {
        if job.waiting.load(Ordering::Acquire) > 1 {
            return;
        }
        job.stop.store(true, Ordering::Release);
        let key = job.target.key();
        if state.queue.iter().any(|queued| *queued == key) {
            state.queue.retain(|queued| *queued != key);
            state.jobs.remove(&key);
        }
    }
}

impl Job {
    fn stage(&self) -> Stage {
        self.stage.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set(&self, stage: Stage) {
        *self.stage.lock().unwrap_or_else(PoisonError::into_inner) = stage;
    }

    fn known(&self, before: usize) -> Known {
        match self.stage() {
            Stage::Queued => Known::Queued { before },
            Stage::Running { step, steps, doing } => Known::Verifying { step, steps, doing },
            Stage::Done(Ok(report)) => Known::Report(report),
            Stage::Done(Err(failure)) => Known::Missing { failed: Some(failure.message) },
        }
    }
}

/// Passes the progress of a verification on to the callers that wait for it.
struct JobProgress<'a> {
    job: &'a Job,
    shared: &'a Shared,
}

impl Progress for JobProgress<'_> {
    fn report(&self, done: u64, total: Option<u64>, message: &str) {
        let steps = total.unwrap_or(done);
        self.job.set(Stage::Running { step: done, steps, doing: message.to_owned() });
        self.shared.changed.notify_all();
    }
}

impl App {
    /// What is known about a repository at a forge. With `verify`, a missing report is made.
    pub fn oss_report(
        &self,
        repo_url: &str,
        verify: bool,
        patience: &Patience,
        progress: &dyn Progress,
    ) -> Result<(Target, Known)> {
        let target = Target::Forge(Policy::new(&self.config.oss).parse(repo_url)?);
        let known = self.verifications.0.known(&target.key())?;
        if !verify || matches!(known, Known::Report(_)) {
            return Ok((target, known));
        }
        let job = self.verifications.0.start(target.clone())?;
        // A caller without a deadline is a command at the shell, which waits to the end.
        let until = patience.remaining().map(|left| {
            let most = Duration::from_secs(self.config.oss.wait_seconds);
            Instant::now() + left.saturating_sub(MARGIN).min(most)
        });
        let known = self.verifications.0.wait(&job, until, patience, progress)?;
        Ok((target, known))
    }

    /// Starts the verification of a repository at a forge, also where there is a report, and does
    /// not wait for it. One in progress goes on.
    pub fn begin_report(&self, repo_url: &str) -> Result<Target> {
        let target = Target::Forge(Policy::new(&self.config.oss).parse(repo_url)?);
        self.verifications.0.start(target.clone())?;
        Ok(target)
    }

    /// What is known about the repository of a key: the verification in progress, or the report.
    pub fn report_state(&self, key: &str) -> Result<Known> {
        self.verifications.0.known(key)
    }

    /// Why the last verification of a repository failed, where no other began since.
    pub fn failed_report(&self, key: &str) -> Option<String> {
        self.verifications.0.lock().failures.get(key).cloned()
    }

    /// Makes a new report, whatever is stored, and waits for it. Only for the shell, where the target
    /// may be a folder of this machine.
    pub fn verify_oss(&self, target: Target, progress: &dyn Progress) -> Result<Report> {
        let job = self.verifications.0.start(target)?;
        match self.verifications.0.wait(&job, None, &Patience::default(), progress)? {
            Known::Report(report) => Ok(*report),
            Known::Missing { failed: Some(why) } => {
                Err(Error::outside(format!("the verification failed: {why}; run it again")))
            }
            _ => Err(Error::internal("the verification ended without a report")),
        }
    }

    /// The repositories that are being verified or wait for it, by name.
    pub fn verifications_in_progress(&self) -> Vec<(String, Known)> {
        self.verifications.in_progress()
    }

    /// The score and verdict of the newest report on a saved link. None if the link is no repository
    /// or there is no report.
    pub fn known_report(&self, link: &str) -> Result<Option<Summary>> {
        let Some(key) = oss::key(link) else { return Ok(None) };
        let stored = self.store.reports.newest(&key)?;
        Ok(stored.and_then(|stored| {
            Some(Summary { score: stored.score, verdict: stored.verdict.parse().ok()? })
        }))
    }
}
