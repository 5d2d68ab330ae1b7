//! Long calls that clients follow as tasks: their state, which outlives the connection and the
//! process.
//!
//! The process that runs a task says every few seconds that it is alive. A task whose process is
//! silent has ended with it: it is started again where that is safe, or fails with a sentence.

use std::{sync::Arc, time::Duration};

use serde_json::{Map, Value, json};

use super::tokens::new_secret;
use crate::{
    domain::{Error, Result, Timestamp},
    store::{
        self,
        tasks::{TaskLimits, TaskRow, TaskStatus},
    },
};

/// How long a task is kept after it was made.
pub const KEPT: Duration = Duration::from_secs(24 * 3600);

/// How often a process says that it is alive.
pub const ALIVE: Duration = Duration::from_secs(2);

/// A process that was silent for this long runs no task any more.
const SILENT: Duration = Duration::from_secs(15);

/// Tasks of one caller that are kept, for each that may be open.
const KEPT_FOR_EACH: u64 = 30;

/// How a task ends.
#[derive(Debug, Clone, PartialEq)]
pub enum Ending {
    /// With this result.
    Completed(Value),
    /// With this JSON-RPC error.
    Failed(Value),
    /// Because its caller asked for it.
    Cancelled,
}

/// The tasks of a library, as one process sees them.
pub struct Tasks {
    store: Arc<dyn store::Tasks>,
    /// This process.
    runner: String,
    limits: TaskLimits,
}

impl Tasks {
    /// `open` is how many tasks one caller may have that have not ended.
    pub fn new(store: Arc<dyn store::Tasks>, open: u64) -> Result<Self> {
        let limits = TaskLimits { open, kept: open.saturating_mul(KEPT_FOR_EACH) };
        Ok(Self { store, runner: new_secret("")?, limits })
    }

    /// Makes a task that this process runs. It is on the disk when this returns.
    pub fn begin(&self, caller: &str, tool: &str, arguments: Value) -> Result<TaskRow> {
        let now = Timestamp::now();
        self.store.forget_expired(now)?;
        let task = TaskRow {
            id: new_secret("")?,
            caller: caller.to_owned(),
            tool: tool.to_owned(),
            arguments: Some(arguments),
            status: TaskStatus::Working,
            message: None,
            created: now,
            updated: now,
            expires: after(now, KEPT),
            requests: Map::new(),
            answers: Map::new(),
            outcome: None,
            is_cancelled: false,
            runner: self.runner.clone(),
            alive: now,
        };
        match self.store.create(&task, self.limits)? {
            true => Ok(task),
            false => Err(Error::limit(format!(
                "this caller has as many tasks as `limits.tasks` ({}) allows; wait for one to end, or cancel one",
                self.limits.open
            ))),
        }
    }

    /// A task of this caller. One whose process has ended comes as it is kept: [`Self::is_orphan`].
    pub fn get(&self, id: &str, caller: &str) -> Result<TaskRow> {
        let task = self.store.get(id)?;
        let is_there = |task: &TaskRow| task.caller == caller && task.expires > Timestamp::now();
        task.filter(is_there).ok_or_else(|| unknown(id))
    }

    /// Whether nobody runs a task any more that has not ended.
    pub fn is_orphan(&self, task: &TaskRow) -> bool {
        !task.status.has_ended() && after(task.alive, SILENT) < Timestamp::now()
    }

    /// Takes over a task whose process has ended. False when another process was quicker, or it has
    /// ended.
    pub fn take_over(&self, id: &str) -> Result<bool> {
        let mut taken = false;
        self.change(id, |task, now| {
            taken = self.is_orphan(task);
            if taken {
                task.runner.clone_from(&self.runner);
                task.alive = now;
                task.status = TaskStatus::Working;
                task.requests.clear();
            }
            taken
        })?;
        Ok(taken)
    }

    /// Ends a task whose process has ended, with the sentence that says so.
    pub fn abandon(&self, id: &str) -> Result<Option<TaskRow>> {
        self.change(id, |task, _| {
            let is_orphan = self.is_orphan(task);
            if is_orphan {
                let why = "the server stopped while the task ran; call the tool again";
                end(
                    task,
                    match task.is_cancelled {
                        true => Ending::Cancelled,
                        false => Ending::Failed(json!({ "code": -32603, "message": why })),
                    },
                );
            }
            is_orphan
        })
    }

    /// Records what a task of this process does now.
    pub fn report(&self, id: &str, message: &str) -> Result<()> {
        self.store.report(id, &self.runner, message, Timestamp::now())
    }

    /// Asks the client of a task of this process something. False when the task has ended.
    pub fn ask(&self, id: &str, key: &str, request: Value) -> Result<bool> {
        let mut asked = false;
        self.change(id, |task, _| {
            asked = !task.status.has_ended() && task.runner == self.runner;
            if asked {
                task.status = TaskStatus::InputRequired;
                task.requests.insert(key.to_owned(), request.clone());
            }
            asked
        })?;
        Ok(asked)
    }

    /// Takes an answer of the client out of a task of this process.
    pub fn take_answer(&self, id: &str, key: &str) -> Result<Option<Value>> {
        let mut answer = None;
        self.change(id, |task, _| {
            answer = task.answers.remove(key);
            answer.is_some()
        })?;
        Ok(answer)
    }

    /// Records what the client answers. Keys that nothing was asked under are ignored.
    pub fn answer(&self, id: &str, caller: &str, answers: &Map<String, Value>) -> Result<()> {
        self.get(id, caller)?;
        self.change(id, |task, _| {
            let mut is_new = false;
            for (key, answer) in answers {
                if !task.status.has_ended() && task.requests.remove(key).is_some() {
                    task.answers.insert(key.clone(), answer.clone());
                    is_new = true;
                }
            }
            if is_new && task.requests.is_empty() {
                task.status = TaskStatus::Working;
            }
            is_new
        })?;
        Ok(())
    }

    /// Asks for the end of a task. One that has ended stays as it is.
    pub fn cancel(&self, id: &str, caller: &str) -> Result<()> {
        self.get(id, caller)?;
        self.change(id, |task, _| {
            if task.status.has_ended() || task.is_cancelled {
                return false;
            }
            task.is_cancelled = true;
            if self.is_orphan(task) {
                end(task, Ending::Cancelled);
            }
            true
        })?;
        Ok(())
    }

    /// Ends a task of this process. It is on the disk when this returns.
    pub fn finish(&self, id: &str, ending: Ending) -> Result<()> {
        let mut ending = Some(ending);
        self.change(id, |task, _| {
            let is_ours = !task.status.has_ended() && task.runner == self.runner;
            if let Some(ending) = ending.take().filter(|_| is_ours) {
                end(task, ending);
            }
            is_ours
        })?;
        Ok(())
    }

    /// Says that this process is alive; gives the tasks that something was asked of.
    pub fn keep_alive(&self) -> Result<Vec<TaskRow>> {
        self.store.keep_alive(&self.runner, Timestamp::now())
    }

    fn change(
        &self,
        id: &str,
        mut change: impl FnMut(&mut TaskRow, Timestamp) -> bool,
    ) -> Result<Option<TaskRow>> {
        let now = Timestamp::now();
        self.store.change(id, &mut |task| {
            let changed = change(task, now);
            if changed {
                task.updated = now;
            }
            changed
        })
    }
}

fn end(task: &mut TaskRow, ending: Ending) {
    task.requests.clear();
    task.answers.clear();
    // What a person asked for is kept no longer than it is needed.
    task.arguments = None;
    task.message = None;
    (task.status, task.outcome) = match ending {
        Ending::Completed(result) => (TaskStatus::Completed, Some(result)),
        Ending::Failed(error) => (TaskStatus::Failed, Some(error)),
        Ending::Cancelled => (TaskStatus::Cancelled, None),
    };
}

/// There is none, or it is somebody else's: the same answer.
fn unknown(id: &str) -> Error {
    let short: String = id.chars().take(100).collect();
    Error::invalid_params(format!(
        "there is no task `{short}`; it was never made, or has expired: call the tool again"
    ))
}

fn after(moment: Timestamp, time: Duration) -> Timestamp {
    Timestamp(moment.0.saturating_add(i64::try_from(time.as_millis()).unwrap_or(i64::MAX)))
}

#[cfg(test)]
mod tests;
