use rusqlite::{Connection, OptionalExtension, Row, params, types::Type};
use serde_json::{Map, Value};

use super::Sqlite;
use crate::{
    domain::{Result, Timestamp},
    store::tasks::{TaskLimits, TaskRow, Tasks},
};

const COLUMNS: &str = "id, caller, tool, arguments, status, message, created, updated, expires,
    requests, answers, outcome, cancelled, runner, alive";

/// What is open, as SQL.
const OPEN: &str = "status IN ('working', 'input_required')";

impl Tasks for Sqlite {
    fn create(&self, task: &TaskRow, limits: TaskLimits) -> Result<bool> {
        self.write(|tx| {
            let counts = format!(
                "SELECT count(*), count(*) FILTER (WHERE {OPEN}) FROM tasks WHERE caller = ?1"
            );
            let (kept, open): (i64, i64) = tx
                .prepare_cached(&counts)?
                .query_row([&task.caller], |row| Ok((row.get(0)?, row.get(1)?)))?;
            if kept.unsigned_abs() >= limits.kept || open.unsigned_abs() >= limits.open {
                return Ok(false);
            }
            put(tx, task)?;
            Ok(true)
        })
    }

    fn get(&self, id: &str) -> Result<Option<TaskRow>> {
        self.read(|db| find(db, id))
    }

    fn change(
        &self,
        id: &str,
        change: &mut dyn FnMut(&mut TaskRow) -> bool,
    ) -> Result<Option<TaskRow>> {
        self.write(|tx| {
            let Some(mut task) = find(tx, id)? else { return Ok(None) };
            if change(&mut task) {
                put(tx, &task)?;
            }
            Ok(Some(task))
        })
    }

    fn report(&self, id: &str, runner: &str, message: &str, now: Timestamp) -> Result<()> {
        self.write_lightly(|tx| {
            tx.execute(
                &format!("UPDATE tasks SET message = ?3, updated = ?4, alive = ?4 WHERE id = ?1 AND runner = ?2 AND {OPEN}"),
                params![id, runner, message, now.0],
            )
        })
        .map(drop)
    }

    fn keep_alive(&self, runner: &str, now: Timestamp) -> Result<Vec<TaskRow>> {
        self.write_lightly(|tx| {
            tx.execute(
                &format!("UPDATE tasks SET alive = ?2 WHERE runner = ?1 AND {OPEN}"),
                params![runner, now.0],
            )?;
            tx.prepare_cached(&format!(
                "SELECT {COLUMNS} FROM tasks WHERE runner = ?1 AND {OPEN}
                 AND (cancelled <> 0 OR answers <> '{{}}') ORDER BY id"
            ))?
            .query_map([runner], task)?
            .collect()
        })
    }

    fn forget_expired(&self, now: Timestamp) -> Result<u64> {
        self.write_lightly(|tx| tx.execute("DELETE FROM tasks WHERE expires <= ?1", [now.0]))
            .map(|count| count as u64)
    }
}

fn find(db: &Connection, id: &str) -> rusqlite::Result<Option<TaskRow>> {
    db.prepare_cached(&format!("SELECT {COLUMNS} FROM tasks WHERE id = ?1"))?
        .query_row([id], task)
        .optional()
}

fn put(db: &Connection, task: &TaskRow) -> rusqlite::Result<()> {
    let object = |map: &Map<String, Value>| Value::Object(map.clone()).to_string();
    db.prepare_cached(&format!(
        "INSERT OR REPLACE INTO tasks ({COLUMNS})
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)"
    ))?
    .execute(params![
        task.id,
        task.caller,
        task.tool,
        task.arguments.as_ref().map(Value::to_string),
        task.status.as_str(),
        task.message,
        task.created.0,
        task.updated.0,
        task.expires.0,
        object(&task.requests),
        object(&task.answers),
        task.outcome.as_ref().map(Value::to_string),
        task.is_cancelled,
        task.runner,
        task.alive.0,
    ])
    .map(drop)
}

fn task(row: &Row<'_>) -> rusqlite::Result<TaskRow> {
    let wrong = |column: usize, error: Box<dyn std::error::Error + Send + Sync>| {
        rusqlite::Error::FromSqlConversionFailure(column, Type::Text, error)
    };
    let json = |column: usize| -> rusqlite::Result<Option<Value>> {
        let text: Option<String> = row.get(column)?;
        let value = text.map(|text| serde_json::from_str(&text)).transpose();
        value.map_err(|error| wrong(column, error.into()))
    };
    let object = |column: usize| -> rusqlite::Result<Map<String, Value>> {
        Ok(json(column)?.and_then(|value| value.as_object().cloned()).unwrap_or_default())
    };
    let status: String = row.get(4)?;
    Ok(TaskRow {
        id: row.get(0)?,
        caller: row.get(1)?,
        tool: row.get(2)?,
        arguments: json(3)?,
        status: status
            .parse()
            .map_err(|error: crate::domain::Error| wrong(4, error.message.into()))?,
        message: row.get(5)?,
        created: Timestamp(row.get(6)?),
        updated: Timestamp(row.get(7)?),
        expires: Timestamp(row.get(8)?),
        requests: object(9)?,
        answers: object(10)?,
        outcome: json(11)?,
        is_cancelled: row.get(12)?,
        runner: row.get(13)?,
        alive: Timestamp(row.get(14)?),
    })
}
