//! Prompts in the server database, as the lines that `user.jsonl` would have: a library comes in
//! and goes out byte for byte. What was read last is kept in memory and read again only when a
//! counter says that it changed.

mod write;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Map, Value};

use super::{Postgres, connection::Connection, fault::Fault, is_away};
use crate::{
    domain::{Error, Prompt, Result, Timestamp, prompt::Patch},
    store::{
        jsonl::{
            completions::{MAX_PROMPTS, PER_ARGUMENT, worth_keeping},
            edits,
            lines::Lines,
            snapshot::Snapshot,
        },
        prompts::{self, Origin, Page, Problem, Prompts, Restored, Stored},
    },
};

/// The name of the counter of changes.
const COUNTER: &str = "prompts";

/// The prompts of a library in a PostgreSQL database.
pub struct PostgresPrompts {
    database: Arc<Postgres>,
    /// How many snapshots are kept.
    keep: usize,
    state: Mutex<State>,
    /// The values remembered last.
    remembered: Mutex<Option<(String, Map<String, Value>)>>,
}

/// What was read last.
#[derive(Clone)]
struct State {
    /// The number of changes that it shows; -1 before the first look.
    version: i64,
    /// The number of each line.
    numbers: Arc<Vec<i64>>,
    lines: Arc<Lines>,
    snapshot: Arc<Snapshot>,
}

impl PostgresPrompts {
    /// The prompts of a library, of whose earlier states `keep` are kept.
    pub fn new(database: Arc<Postgres>, keep: usize) -> Self {
        let lines = Arc::<Lines>::default();
        let state = State {
            version: -1,
            numbers: Arc::default(),
            snapshot: Arc::new(Snapshot::new(&lines, &Arc::default())),
            lines,
        };
        Self { database, keep: keep.max(1), state: Mutex::new(state), remembered: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The prompts as they are now: one look at the counter, and no reading when nothing changed.
    /// While the server is away, the prompts as they were read last.
    fn now(&self) -> Result<State> {
        let known = self.state().clone();
        let renew = || {
            let version = self.database.read(|db| db.changes_of(COUNTER))?;
            if version == known.version {
                return Ok(known.clone());
            }
            self.database.snapshot(|db| known.renewed(db))
        };
        match renew() {
            Ok(state) => {
                self.adopt(&state);
                Ok(state)
            }
            // The answer says that the store is away.
            Err(error) if is_away(&error) && known.version >= 0 => Ok(known),
            Err(error) => Err(error),
        }
    }

    /// Keeps what was read, unless somebody read something newer meanwhile.
    fn adopt(&self, state: &State) {
        let mut known = self.state();
        if known.version < state.version {
            *known = state.clone();
        }
    }
}

impl State {
    /// The state that the database has at this moment of a transaction.
    fn renewed(&self, db: &mut Connection) -> Result<Self, Fault> {
        let version = db.changes_of(COUNTER)?;
        if version == self.version {
            return Ok(self.clone());
        }
        let (mut numbers, mut bytes) = (Vec::new(), Vec::new());
        for row in db.query("SELECT number, line FROM prompts ORDER BY number", &[])? {
            numbers.push(row.try_get(0)?);
            bytes.extend_from_slice(row.try_get(1)?);
        }
        let lines = Lines::read(&bytes, Origin::User, &self.lines);
        if lines.0.len() != numbers.len() {
            return Err(Fault::Refused(Error::damaged(
                "the lines of the prompts in the database are not one for each row; restore the database from a backup",
            )));
        }
        Ok(self.after(version, numbers, lines))
    }

    fn after(&self, version: i64, numbers: Vec<i64>, lines: Lines) -> Self {
        let lines = Arc::new(lines);
        let snapshot = Arc::new(self.snapshot.after_user(&lines));
        Self { version, numbers: Arc::new(numbers), lines, snapshot }
    }
}

impl Prompts for PostgresPrompts {
    fn list(&self, cursor: Option<&str>, limit: usize) -> Result<Page> {
        self.now()?.snapshot.page(cursor, limit)
    }

    fn all(&self) -> Result<Arc<[Arc<Stored>]>> {
        Ok(self.now()?.snapshot.listed.clone())
    }

    fn shared(&self) -> Result<Arc<[Arc<Stored>]>> {
        // What comes with the program.
        Ok(self.state().snapshot.shared())
    }

    fn find(&self, name: &str) -> Result<Option<Arc<Stored>>> {
        Ok(self.now()?.snapshot.find(name))
    }

    fn find_many(&self, names: &[&str]) -> Result<Vec<Arc<Stored>>> {
        let snapshot = self.now()?.snapshot;
        Ok(names.iter().filter_map(|name| snapshot.find(name)).collect())
    }

    fn add(&self, prompts: Vec<Prompt>) -> Result<()> {
        if prompts.is_empty() {
            return Ok(());
        }
        self.change(|lines, snapshot| edits::add(lines, snapshot, &prompts)).map(drop)
    }

    fn update(&self, patch: Patch) -> Result<Arc<Stored>> {
        if let Some(original) = edits::copied(&self.now()?.snapshot, &patch)? {
            return self.copy_changed(original, patch);
        }
        let (stored, _) = self.change(|lines, snapshot| edits::update(lines, snapshot, &patch))?;
        Ok(stored)
    }

    fn delete(&self, name: &str) -> Result<()> {
        self.change(|lines, snapshot| edits::delete(lines, snapshot, name)).map(drop)
    }

    fn record(&self, name: &str) -> Result<Option<String>> {
        Ok(self.now()?.lines.record(name))
    }

    fn put_records(&self, records: &[(String, Option<String>)]) -> Result<()> {
        self.change(|lines, _| edits::put_records(lines, records)).map(drop)
    }

    fn version(&self) -> Result<u64> {
        let version = self.database.read(|db| db.changes_of(COUNTER))?;
        Ok(version.unsigned_abs())
    }

    fn problems(&self) -> Result<Vec<Problem>> {
        Ok(self.now()?.snapshot.problems().to_vec())
    }

    fn snapshots(&self) -> Result<Vec<prompts::Snapshot>> {
        self.database.read(|db| {
            let sql = "SELECT id, made, bytes FROM prompt_snapshots ORDER BY made DESC, id DESC";
            db.query(sql, &[])?
                .iter()
                .map(|row| {
                    Ok(prompts::Snapshot {
                        id: row.try_get(0)?,
                        made: Some(Timestamp(row.try_get(1)?)),
                        bytes: row.try_get::<_, i64>(2)?.unsigned_abs(),
                    })
                })
                .collect()
        })
    }

    fn restore(&self, snapshot: &str) -> Result<Restored> {
        self.bring_back(snapshot)
    }

    fn remember(&self, name: &str, values: &Map<String, Value>) -> Result<()> {
        let kept = worth_keeping(values);
        let nul = |text: &str| text.contains('\0');
        if kept.is_empty() || nul(name) || kept.iter().any(|(key, text)| nul(key) || nul(text)) {
            return Ok(());
        }
        let mut remembered = self.remembered.lock().unwrap_or_else(PoisonError::into_inner);
        // A caller who asks for the same again waits for nothing.
        if remembered.as_ref().is_some_and(|(last, known)| last == name && known == values) {
            return Ok(());
        }
        self.database.write_lightly(|tx| {
            for (argument, text) in &kept {
                tx.execute(
                    "INSERT INTO completions (prompt, argument, value) VALUES ($1, $2, $3)
                     ON CONFLICT (lib, prompt, argument, value) DO UPDATE SET used = excluded.used",
                    &[&name, argument, text],
                )?;
                tx.execute(
                    "DELETE FROM completions WHERE prompt = $1 AND argument = $2 AND used <= (
                         SELECT used FROM completions WHERE prompt = $1 AND argument = $2
                         ORDER BY used DESC OFFSET $3 LIMIT 1)",
                    &[&name, argument, &(PER_ARGUMENT as i64)],
                )?;
            }
            tx.execute(
                "DELETE FROM completions WHERE prompt IN (
                     SELECT prompt FROM completions GROUP BY prompt
                     ORDER BY max(used) DESC OFFSET $1)",
                &[&(MAX_PROMPTS as i64)],
            )
        })?;
        *remembered = Some((name.to_owned(), values.clone()));
        Ok(())
    }

    fn complete(&self, name: &str, argument: &str, prefix: &str) -> Result<Vec<String>> {
        let values: Vec<String> = self.database.read(|db| {
            db.query(
                "SELECT value FROM completions WHERE prompt = $1 AND argument = $2
                 ORDER BY used DESC",
                &[&name, &argument],
            )?
            .iter()
            .map(|row| Ok(row.try_get(0)?))
            .collect()
        })?;
        let prefix = prefix.to_lowercase();
        let starts = |value: &String| value.to_lowercase().starts_with(&prefix);
        Ok(values.into_iter().filter(starts).collect())
    }
}
