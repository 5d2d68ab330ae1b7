//! Long calls that their callers follow as tasks.

use serde_json::{Map, Value};

use crate::domain::{Result, Timestamp, query::words};

words!(
    /// How far a task is.
    TaskStatus, "status", {
        Working = "working",
        InputRequired = "input_required",
        Completed = "completed",
        Failed = "failed",
        Cancelled = "cancelled",
    }
);

impl TaskStatus {
    /// Whether nothing changes any more.
    pub fn has_ended(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }
}

/// A task as it is kept.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskRow {
    /// Random, so that nobody guesses it.
    pub id: String,
    /// Whose call it is.
    pub caller: String,
    /// The tool.
    pub tool: String,
    /// The arguments, until the task ends.
    pub arguments: Option<Value>,
    /// How far it is.
    pub status: TaskStatus,
    /// What is being done, or why it ended.
    pub message: Option<String>,
    /// When it was made.
    pub created: Timestamp,
    /// When it last changed.
    pub updated: Timestamp,
    /// When it may be forgotten.
    pub expires: Timestamp,
    /// What it asks its client, by key.
    pub requests: Map<String, Value>,
    /// What the client answered, by key.
    pub answers: Map<String, Value>,
    /// The result of a completed task, the error of a failed one.
    pub outcome: Option<Value>,
    /// Whether its caller asked for the end.
    pub is_cancelled: bool,
    /// The process that runs it.
    pub runner: String,
    /// When that process last said so.
    pub alive: Timestamp,
}

/// How many tasks one caller may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskLimits {
    /// Those that have not ended.
    pub open: u64,
    /// All that are kept.
    pub kept: u64,
}

/// Keeps tasks.
pub trait Tasks: Send + Sync {
    /// Keeps a new task. False, and nothing is kept, when its caller has as many as may be.
    fn create(&self, task: &TaskRow, limits: TaskLimits) -> Result<bool>;

    /// The task of this id.
    fn get(&self, id: &str) -> Result<Option<TaskRow>>;

    /// Changes a task in one transaction. `change` gets it as it is, and says whether it changed it.
    /// Gives the task as it is then.
    fn change(
        &self,
        id: &str,
        change: &mut dyn FnMut(&mut TaskRow) -> bool,
    ) -> Result<Option<TaskRow>>;

    /// Records what an open task does now. May be lost in a power cut.
    fn report(&self, id: &str, runner: &str, message: &str, now: Timestamp) -> Result<()>;

    /// Records that a process is alive, and gives those of its open tasks whose caller asked for the
    /// end or answered something. May be lost in a power cut.
    fn keep_alive(&self, runner: &str, now: Timestamp) -> Result<Vec<TaskRow>>;

    /// Forgets the tasks that expired.
    fn forget_expired(&self, now: Timestamp) -> Result<u64>;
}
