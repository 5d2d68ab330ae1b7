//! How often the cards and the prompts of a library changed.

use super::{connection::Connection, fault::Fault};

impl Connection {
    /// The number of changes so far.
    pub(super) fn changes_of(&mut self, name: &str) -> Result<i64, Fault> {
        match self.query_opt("SELECT changes FROM change_counts WHERE name = $1", &[&name])? {
            Some(row) => Ok(row.try_get(0)?),
            None => Ok(0),
        }
    }

    /// Counts a change, and returns the new number.
    pub(super) fn count_change(&mut self, name: &str) -> Result<i64, Fault> {
        let row = self.query_one(
            "INSERT INTO change_counts AS known (name, changes) VALUES ($1, 1)
             ON CONFLICT (lib, name) DO UPDATE SET changes = known.changes + 1 RETURNING changes",
            &[&name],
        )?;
        Ok(row.try_get(0)?)
    }
}
