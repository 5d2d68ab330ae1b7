//! Imports that run, and those that ran lately. They go on when the browser goes away.

use std::{
    path::Path,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use crate::{
    app::{App, bookmarks::ModelRun},
    domain::{Error, Progress, Result, Timestamp, count},
    import::ImportReport,
    store::revisions::Actor,
};

/// Imports that are remembered.
const KEPT: usize = 20;

/// The imports of this process.
#[derive(Default)]
pub struct Jobs(Mutex<Vec<Arc<Job>>>);

/// One import.
pub struct Job {
    /// Its number.
    pub id: usize,
    /// The file, as the person's system calls it.
    pub name: String,
    /// When it began.
    pub started: Timestamp,
    state: Mutex<State>,
    stop: AtomicBool,
}

/// How far an import is.
#[derive(Clone)]
pub enum State {
    /// At work.
    Running {
        /// Bytes that were read, or bookmarks that were judged.
        done: u64,
        /// Of how many.
        total: Option<u64>,
        /// What is being done.
        doing: String,
    },
    /// Done, or stopped by somebody.
    Done(Box<Outcome>),
    /// It could not go on; what was imported before stays.
    Failed(String),
}

/// What an import did.
#[derive(Clone)]
pub struct Outcome {
    /// The importer's own report.
    pub report: ImportReport,
    /// What the language model added; absent without one.
    pub model: Option<String>,
}

impl Jobs {
    fn all(&self) -> MutexGuard<'_, Vec<Arc<Job>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A job for a file. One runs at a time: they would only wait for each other's writes.
    pub fn begin(&self, name: &str) -> Result<Arc<Job>> {
        let mut all = self.all();
        if let Some(running) = all.iter().find(|job| job.is_running()) {
            return Err(Error::limit(format!(
                "the import of `{}` is still running; wait for it, or stop it on its page",
                running.name
            )));
        }
        let id = all.last().map_or(1, |last| last.id + 1);
        let doing = "reading".to_owned();
        let job = Arc::new(Job {
            id,
            name: name.to_owned(),
            started: Timestamp::now(),
            state: Mutex::new(State::Running { done: 0, total: None, doing }),
            stop: AtomicBool::new(false),
        });
        all.push(job.clone());
        let surplus = all.len().saturating_sub(KEPT);
        all.drain(..surplus);
        Ok(job)
    }

    /// The job of a number.
    pub fn get(&self, id: usize) -> Option<Arc<Job>> {
        self.all().iter().find(|job| job.id == id).cloned()
    }

    /// The latest jobs, the newest first.
    pub fn latest(&self) -> Vec<Arc<Job>> {
        self.all().iter().rev().cloned().collect()
    }
}

impl Job {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How far it is.
    pub fn state(&self) -> State {
        self.lock().clone()
    }

    /// Whether it is at work.
    pub fn is_running(&self) -> bool {
        matches!(*self.lock(), State::Running { .. })
    }

    /// Asks it to end. What is imported by then stays.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Ends it without a result.
    pub fn fail(&self, message: &str) {
        *self.lock() = State::Failed(message.to_owned());
    }

    /// Imports a file and, where a language model is configured, has it judge what is new.
    pub fn run(&self, app: &App, file: &Path, with_model: bool, actor: &Actor) {
        let paths = [file.to_path_buf()];
        let report = app.import_bookmarks(&paths, Timestamp::now(), self, actor);
        // The person knows the file by its name, not by where it was put for a while.
        let folder = file.parent().map(|folder| format!("{}/", folder.display()));
        let plain = |text: &str| text.replace(folder.as_deref().unwrap_or_default(), "");
        let report = match report {
            Ok(mut report) => {
                for (_, why) in &mut report.failed {
                    *why = plain(why);
                }
                report
            }
            Err(error) => {
                tracing::error!(?error, "an import stopped");
                return self.fail(&plain(error.plain()));
            }
        };
        let model = match with_model && !report.stopped && report.added + report.updated > 0 {
            true => judged(app.judge_with_model(self, actor)),
            false => None,
        };
        *self.lock() = State::Done(Box::new(Outcome { report, model }));
    }
}

fn judged(run: Result<Option<ModelRun>>) -> Option<String> {
    match run {
        Ok(None) => None,
        Ok(Some(run)) => {
            let mut text = format!("the language model judged {}", count(run.judged, "bookmark"));
            if let Some(why) = run.stopped {
                text += &format!(" and stopped: {why}");
            }
            Some(text)
        }
        Err(error) => Some(format!("the language model could not be asked: {}", error.plain())),
    }
}

impl Progress for Job {
    fn report(&self, done: u64, total: Option<u64>, message: &str) {
        *self.lock() = State::Running { done, total, doing: message.to_owned() };
    }

    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_import_runs_at_a_time_and_the_latest_are_kept() {
        let jobs = Jobs::default();
        let first = jobs.begin("a.json").unwrap();
        let error = jobs.begin("b.json").err().unwrap();
        assert!(error.message.contains("`a.json`"), "{error}");
        first.fail("no");
        for n in 0..KEPT {
            jobs.begin(&n.to_string()).unwrap().fail("no");
        }
        assert!(jobs.get(first.id).is_none());
        assert_eq!(jobs.latest().len(), KEPT);
        assert_eq!(jobs.latest()[0].id, KEPT + 1);
    }
}
