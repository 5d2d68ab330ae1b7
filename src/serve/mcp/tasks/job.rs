//! Calls of tools that take long: answered at once where they are quick, as a task where the client
//! can follow one.

use std::{sync::Arc, time::Duration};

use rmcp::{
    ErrorData,
    model::{CallToolResponse, CallToolResult},
};
use serde_json::Value;
use tokio::{sync::watch, task::JoinHandle};
use tokio_util::sync::CancellationToken;

use super::{Handle, TaskEnd, Work, caller, created};
use crate::{
    app::App,
    domain::{Code, Error, Patience, Progress, Result},
    serve::mcp::{
        errors::error_data,
        link::{Hub, Link},
        output::{answer, is_for_the_model, refusal},
    },
    store::tasks::TaskRow,
    tools::{self, Output, Payment},
};

/// A call that is done within this time needs no task.
const QUICK: Duration = Duration::from_millis(400);

/// How often the state of a task is recorded, at most.
const REPORT: Duration = Duration::from_millis(500);

/// A tool at work.
struct Job {
    work: JoinHandle<Result<Output>>,
    patience: Patience,
    steps: watch::Receiver<String>,
}

struct Steps(watch::Sender<String>);

impl Progress for Steps {
    fn report(&self, done: u64, total: Option<u64>, message: &str) {
        self.0.send_replace(match total {
            Some(total) => format!("{done} of {total}: {message}"),
            None => format!("{done}: {message}"),
        });
    }

    fn stopped(&self) -> bool {
        Patience::current().check().is_err()
    }
}

impl Job {
    /// Starts a tool. It has no deadline: whoever waits for it decides when to stop.
    fn start(app: Arc<App>, link: Link, tool: String, arguments: Value) -> Self {
        let (sender, steps) = watch::channel(String::new());
        let patience = Patience::default();
        let inner = patience.clone();
        let work = tokio::task::spawn_blocking(move || {
            let progress = Steps(sender);
            let around =
                tools::Call { progress: &progress, patience: inner, payment: Payment::default() };
            tools::call(&app, &link.rights, &tool, arguments, &around)
        });
        Self { work, patience, steps }
    }

    async fn follow(mut self, handle: Handle) -> std::result::Result<CallToolResult, TaskEnd> {
        let mut is_wanted = true;
        loop {
            tokio::select! {
                done = &mut self.work => return ended(done),
                () = handle.cancelled(), if is_wanted => {
                    is_wanted = false;
                    self.patience.end();
                }
                Ok(()) = self.steps.changed(), if is_wanted => {
                    let message = self.steps.borrow_and_update().clone();
                    handle.report(message).await;
                    tokio::time::sleep(REPORT).await;
                }
            }
        }
    }
}

fn ended(
    done: std::result::Result<Result<Output>, tokio::task::JoinError>,
) -> std::result::Result<CallToolResult, TaskEnd> {
    let early = |panic| Error::internal("the request's task ended early").with_source(panic);
    match done.unwrap_or_else(|panic| Err(early(panic))) {
        Ok(output) => Ok(answer(output)),
        Err(error) if error.code == Code::Cancelled => Err(TaskEnd::Cancelled),
        Err(error) if is_for_the_model(&error) => Ok(refusal(error)),
        Err(error) => Err(TaskEnd::Error(error_data(error))),
    }
}

/// Calls a tool that takes long, for a client that can follow a task.
pub async fn call(
    hub: &Arc<Hub>,
    link: &Link,
    tool: String,
    arguments: Value,
    gone: &CancellationToken,
) -> std::result::Result<CallToolResponse, ErrorData> {
    // The permit is for the start; how many go on is bounded for each caller.
    let _permit = hub.permit(&link.rights).await.map_err(error_data)?;
    let mut job = Job::start(hub.app.clone(), link.clone(), tool.clone(), arguments.clone());
    tokio::select! {
        done = &mut job.work => return match ended(done) {
            Ok(result) => Ok(result.into()),
            Err(TaskEnd::Error(error)) => Err(error),
            Err(TaskEnd::Cancelled) => Err(cancelled()),
        },
        () = gone.cancelled() => {
            job.patience.end();
            return Err(cancelled());
        }
        () = tokio::time::sleep(QUICK) => {}
    }
    let (app, owner) = (hub.app.clone(), caller(link));
    let begun = move || app.tasks.begin(&owner, &tool, arguments);
    let begun = tokio::task::spawn_blocking(begun).await;
    let begun = begun.unwrap_or_else(|panic| {
        Err(Error::internal("the request's task ended early").with_source(panic))
    });
    match begun {
        Ok(row) => {
            hub.runner.start(row.id.clone(), Box::new(move |handle| Box::pin(job.follow(handle))));
            Ok(created(&row).into())
        }
        Err(error) => {
            job.patience.end();
            Err(error_data(error))
        }
    }
}

/// Starts a task again whose process has ended.
pub fn again(hub: &Arc<Hub>, link: &Link, row: &TaskRow) {
    let (app, link) = (hub.app.clone(), link.clone());
    let (tool, arguments) = (row.tool.clone(), row.arguments.clone().unwrap_or_default());
    let work: Work = Box::new(move |handle| {
        Box::pin(async move { Job::start(app, link, tool, arguments).follow(handle).await })
    });
    hub.runner.start(row.id.clone(), work);
}

fn cancelled() -> ErrorData {
    error_data(Error::new(Code::Cancelled, "the request was cancelled"))
}
