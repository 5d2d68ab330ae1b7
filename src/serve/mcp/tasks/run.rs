//! Runs the tasks of this process.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use futures::FutureExt as _;
use rmcp::{ErrorData, model::InputRequest};
use serde_json::Value;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::{TaskEnd, Work, question};
use crate::{
    app::{
        App,
        tasks::{ALIVE, Ending},
    },
    domain::{Error, Result},
    serve::mcp::errors::error_data,
    store::tasks::TaskRow,
};

/// A task that this process runs.
#[derive(Clone, Default)]
struct Running {
    cancelled: CancellationToken,
    answered: Arc<Notify>,
}

/// The tasks that this process runs.
pub struct Runner {
    app: Arc<App>,
    running: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    tasks: HashMap<String, Running>,
    /// Whether a background task says that this process is alive.
    has_pulse: bool,
}

/// What a task gets to work with.
#[derive(Clone)]
pub struct Handle {
    app: Arc<App>,
    /// `None` where a call runs without being a task.
    id: Option<String>,
    running: Running,
}

impl Handle {
    /// A handle for a call that is no task: nothing can be asked.
    pub fn of_call(app: Arc<App>) -> Self {
        Self { app, id: None, running: Running::default() }
    }

    /// Resolves when the caller asks for the end.
    pub async fn cancelled(&self) {
        self.running.cancelled.cancelled().await;
    }

    /// Records what is being done.
    pub async fn report(&self, message: String) {
        let Some(id) = self.id.clone() else { return };
        let reported = blocking(&self.app, move |app| app.tasks.report(&id, &message)).await;
        if let Err(error) = reported {
            tracing::warn!(code = error.code.as_str(), "could not record the state of a task");
        }
    }

    /// Asks the client something, and waits for the answer. `key` is used once in a task.
    pub async fn ask(
        &self,
        key: &str,
        request: &InputRequest,
    ) -> std::result::Result<Value, TaskEnd> {
        let Some(id) = &self.id else {
            return Err(TaskEnd::Error(super::needs_tasks()));
        };
        let (task, name, request) = (id.clone(), key.to_owned(), question(request)?);
        let asked = blocking(&self.app, move |app| app.tasks.ask(&task, &name, request)).await;
        if !asked.map_err(error_data)? {
            return Err(TaskEnd::Cancelled);
        }
        loop {
            // Enabled before the look: an answer in between is not missed.
            let answered = self.running.answered.notified();
            tokio::pin!(answered);
            answered.as_mut().enable();
            let (task, name) = (id.clone(), key.to_owned());
            let answer = blocking(&self.app, move |app| app.tasks.take_answer(&task, &name)).await;
            if let Some(answer) = answer.map_err(error_data)? {
                return Ok(answer);
            }
            tokio::select! {
                () = answered => {}
                () = self.cancelled() => return Err(TaskEnd::Cancelled),
            }
        }
    }
}

impl Runner {
    /// Runs nothing yet.
    pub fn new(app: Arc<App>) -> Arc<Self> {
        Arc::new(Self { app, running: Mutex::default() })
    }

    /// Starts a task that was made, or taken over, by this process.
    pub fn start(self: &Arc<Self>, id: String, work: Work) {
        let running = Running::default();
        let has_pulse = {
            let mut open = self.lock();
            open.tasks.insert(id.clone(), running.clone());
            std::mem::replace(&mut open.has_pulse, true)
        };
        if !has_pulse {
            tokio::spawn(self.clone().pulse());
        }
        let handle = Handle { app: self.app.clone(), id: Some(id.clone()), running };
        let runner = self.clone();
        tokio::spawn(async move {
            let ended = std::panic::AssertUnwindSafe(work(handle)).catch_unwind().await;
            let ending = match ended {
                Ok(Ok(result)) => match serde_json::to_value(&result) {
                    Ok(result) => Ending::Completed(result),
                    Err(error) => failure(error_data(
                        Error::internal("could not write the result").with_source(error),
                    )),
                },
                Ok(Err(TaskEnd::Cancelled)) => Ending::Cancelled,
                Ok(Err(TaskEnd::Error(error))) => failure(error),
                Err(_) => failure(error_data(Error::internal("the task ended in a panic"))),
            };
            runner.finish(&id, ending).await;
        });
    }

    /// Records the end. What the store refuses now is tried again: an end that is not recorded would
    /// be waited for.
    async fn finish(&self, id: &str, ending: Ending) {
        loop {
            let (task, end) = (id.to_owned(), ending.clone());
            match blocking(&self.app, move |app| app.tasks.finish(&task, end)).await {
                Ok(()) => break,
                Err(error) => {
                    tracing::warn!(?error, "could not record the end of a task; trying again");
                    tokio::time::sleep(ALIVE).await;
                }
            }
        }
        self.lock().tasks.remove(id);
    }

    /// Tells a task that its caller asked for the end, if it runs here.
    pub fn cancel(&self, id: &str) {
        if let Some(running) = self.lock().tasks.get(id) {
            running.cancelled.cancel();
        }
    }

    /// Tells a task that its client answered, if it runs here.
    pub fn wake(&self, id: &str) {
        if let Some(running) = self.lock().tasks.get(id) {
            running.answered.notify_waiters();
        }
    }

    /// Says that this process is alive while it runs tasks, and hears what other processes were
    /// asked about them.
    async fn pulse(self: Arc<Self>) {
        loop {
            tokio::time::sleep(ALIVE).await;
            {
                let mut open = self.lock();
                if open.tasks.is_empty() {
                    open.has_pulse = false;
                    return;
                }
            }
            let asked: Result<Vec<TaskRow>> =
                blocking(&self.app, |app| app.tasks.keep_alive()).await;
            match asked {
                Ok(tasks) => {
                    for task in tasks {
                        if task.is_cancelled {
                            self.cancel(&task.id);
                        }
                        self.wake(&task.id);
                    }
                }
                Err(error) => {
                    tracing::warn!(code = error.code.as_str(), "could not tend the tasks");
                }
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn failure(error: ErrorData) -> Ending {
    Ending::Failed(serde_json::to_value(&error).unwrap_or_default())
}

/// Runs work of the store on the blocking pool.
async fn blocking<T: Send + 'static>(
    app: &Arc<App>,
    work: impl FnOnce(&App) -> Result<T> + Send + 'static,
) -> Result<T> {
    let app = app.clone();
    let done = tokio::task::spawn_blocking(move || work(&app)).await;
    done.map_err(|panic| Error::internal("a task's work ended early").with_source(panic))?
}
