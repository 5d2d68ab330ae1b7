use serde_json::{Map, Value};
use tokio_postgres::Row;

use super::{Postgres, connection::Connection, fault::Fault, value};
use crate::{
    domain::{Error, Result, Timestamp},
    store::tasks::{TaskLimits, TaskRow, Tasks},
};

const COLUMNS: &str = "id, caller, tool, arguments, status, message, created, updated, expires,
    requests, answers, outcome, cancelled, runner, alive";

/// What is open, as SQL.
const OPEN: &str = "status IN ('working', 'input_required')";

impl Tasks for Postgres {
    fn create(&self, task: &TaskRow, limits: TaskLimits) -> Result<bool> {
        self.write(|tx| {
            let sql = format!(
                "SELECT count(*), count(*) FILTER (WHERE {OPEN}) FROM tasks WHERE caller = $1"
            );
            let counts = tx.query_one(&sql, &[&task.caller])?;
            let count = |column| -> Result<u64, Fault> {
                Ok(counts.try_get::<_, i64>(column)?.unsigned_abs())
            };
            if count(0)? >= limits.kept || count(1)? >= limits.open {
                return Ok(false);
            }
            put(tx, task)?;
            Ok(true)
        })
    }

    fn get(&self, id: &str) -> Result<Option<TaskRow>> {
        self.read(|db| {
            let sql = format!("SELECT {COLUMNS} FROM tasks WHERE id = $1");
            db.query_opt(&sql, &[&id])?.as_ref().map(task).transpose()
        })
    }

    fn change(
        &self,
        id: &str,
        change: &mut dyn FnMut(&mut TaskRow) -> bool,
    ) -> Result<Option<TaskRow>> {
        self.write(|tx| {
            let sql = format!("SELECT {COLUMNS} FROM tasks WHERE id = $1 FOR UPDATE");
            let Some(row) = tx.query_opt(&sql, &[&id])? else { return Ok(None) };
            let mut task = task(&row)?;
            if change(&mut task) {
                put(tx, &task)?;
            }
            Ok(Some(task))
        })
    }

    fn report(&self, id: &str, runner: &str, message: &str, now: Timestamp) -> Result<()> {
        self.write_lightly(|tx| {
            let sql = format!(
                "UPDATE tasks SET message = $3, updated = $4, alive = $4
                 WHERE id = $1 AND runner = $2 AND {OPEN}"
            );
            tx.execute(&sql, &[&id, &runner, &message, &now.0])
        })
        .map(drop)
    }

    fn keep_alive(&self, runner: &str, now: Timestamp) -> Result<Vec<TaskRow>> {
        self.write_lightly(|tx| {
            let alive = format!("UPDATE tasks SET alive = $2 WHERE runner = $1 AND {OPEN}");
            tx.execute(&alive, &[&runner, &now.0])?;
            let asked = format!(
                "SELECT {COLUMNS} FROM tasks WHERE runner = $1 AND {OPEN}
                 AND (cancelled OR answers <> '{{}}') ORDER BY id"
            );
            tx.query(&asked, &[&runner])?.iter().map(task).collect()
        })
    }

    fn forget_expired(&self, now: Timestamp) -> Result<u64> {
        self.write_lightly(|tx| tx.execute("DELETE FROM tasks WHERE expires <= $1", &[&now.0]))
    }
}

fn put(db: &mut Connection, task: &TaskRow) -> Result<(), Fault> {
    let object = |map: &Map<String, Value>| Value::Object(map.clone()).to_string();
    let sql = format!(
        "INSERT INTO tasks ({COLUMNS})
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)
         ON CONFLICT (lib, id) DO UPDATE SET
            arguments = excluded.arguments, status = excluded.status,
            message = excluded.message, updated = excluded.updated,
            expires = excluded.expires, requests = excluded.requests,
            answers = excluded.answers, outcome = excluded.outcome,
            cancelled = excluded.cancelled, runner = excluded.runner, alive = excluded.alive"
    );
    db.execute(
        &sql,
        &[
            &task.id,
            &task.caller,
            &task.tool,
            &task.arguments.as_ref().map(Value::to_string),
            &task.status.as_str(),
            &task.message,
            &task.created.0,
            &task.updated.0,
            &task.expires.0,
            &object(&task.requests),
            &object(&task.answers),
            &task.outcome.as_ref().map(Value::to_string),
            &task.is_cancelled,
            &task.runner,
            &task.alive.0,
        ],
    )
    .map(drop)
}

fn task(row: &Row) -> Result<TaskRow, Fault> {
    let json = |column: usize| -> Result<Option<Value>, Fault> {
        let text: Option<String> = row.try_get(column)?;
        text.map(|text| serde_json::from_str(&text)).transpose().map_err(|error| {
            Fault::Refused(Error::damaged(format!("a task in the database is no JSON: {error}")))
        })
    };
    let object = |column: usize| -> Result<Map<String, Value>, Fault> {
        Ok(json(column)?.and_then(|value| value.as_object().cloned()).unwrap_or_default())
    };
    Ok(TaskRow {
        id: row.try_get(0)?,
        caller: row.try_get(1)?,
        tool: row.try_get(2)?,
        arguments: json(3)?,
        status: value::parse(row, 4)?,
        message: row.try_get(5)?,
        created: Timestamp(row.try_get(6)?),
        updated: Timestamp(row.try_get(7)?),
        expires: Timestamp(row.try_get(8)?),
        requests: object(9)?,
        answers: object(10)?,
        outcome: json(11)?,
        is_cancelled: row.try_get(12)?,
        runner: row.try_get(13)?,
        alive: Timestamp(row.try_get(14)?),
    })
}
