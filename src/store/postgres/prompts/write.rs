//! Changing the lines of the prompts, in one transaction with the snapshot of what was there.

use super::{
    super::{fault::Fault, transaction::Transaction},
    COUNTER, PostgresPrompts,
};
use crate::{
    domain::{Error, Result, Timestamp},
    store::{
        jsonl::{backups::second, lines::Lines, snapshot::Snapshot},
        prompts::{Origin, Restored},
    },
};

impl PostgresPrompts {
    /// One change: `edit` gets the lines and may refuse. Returns the name of the snapshot of what
    /// was there before, where there was something.
    pub(super) fn change<T>(
        &self,
        edit: impl FnOnce(&mut Lines, &Snapshot) -> Result<T>,
    ) -> Result<(T, Option<String>)> {
        self.change_in(|_, lines, snapshot| Ok(edit(lines, snapshot)?))
    }

    /// Brings the lines of a snapshot back.
    pub(super) fn bring_back(&self, snapshot: &str) -> Result<Restored> {
        let (prompts, undo) = self.change_in(|tx, lines, _| {
            let sql = "SELECT lines FROM prompt_snapshots WHERE id = $1";
            let Some(row) = tx.query_opt(sql, &[&snapshot])? else {
                return Err(Fault::Refused(Error::invalid_params(format!(
                    "there is no backup `{snapshot}`; `notewell prompt backups` lists them"
                ))));
            };
            *lines = Lines::read(row.try_get(0)?, Origin::User, lines);
            Ok(lines.prompts().count())
        })?;
        Ok(Restored { prompts, undo })
    }

    fn change_in<T>(
        &self,
        edit: impl FnOnce(&mut Transaction<'_>, &mut Lines, &Snapshot) -> Result<T, Fault>,
    ) -> Result<(T, Option<String>)> {
        let known = self.state().clone();
        let (value, made, state) = self.database.write(|tx| {
            let before = known.renewed(tx)?;
            let mut lines = Lines::clone(&before.lines);
            let value = edit(tx, &mut lines, &before.snapshot)?;
            let made = match before.lines.0.is_empty() {
                true => None,
                false => Some(keep(tx, &before.lines, self.keep)?),
            };
            let numbers = store(tx, &before.lines, &before.numbers, &lines)?;
            let version = tx.count_change(COUNTER)?;
            Ok((value, made, before.after(version, numbers, lines)))
        })?;
        self.adopt(&state);
        Ok((value, made))
    }
}

/// Keeps the lines before a change under the moment of now, and forgets the oldest snapshots.
fn keep(tx: &mut Transaction<'_>, lines: &Lines, most: usize) -> Result<String, Fault> {
    let now = Timestamp::now();
    let stem = format!("user.jsonl.{}", second(now));
    let row = tx.query_one(
        // Not their number: the oldest of this second may be gone already.
        "SELECT coalesce(max(CASE WHEN id = $1 THEN 1
                                  ELSE substr(id, length($1) + 2)::bigint END), 0)
         FROM prompt_snapshots WHERE id = $1 OR starts_with(id, $1 || '-')",
        &[&stem],
    )?;
    let id = match row.try_get::<_, i64>(0)? {
        0 => stem,
        earlier => format!("{stem}-{}", earlier + 1),
    };
    let bytes = lines.raw().collect::<Vec<_>>().concat();
    // Later than the one before, whatever the clock says.
    tx.execute(
        "INSERT INTO prompt_snapshots (id, made, bytes, lines)
         SELECT $1, greatest($2, 1 + coalesce(max(made), 0)), $3, $4 FROM prompt_snapshots",
        &[&id, &now.0, &i64::try_from(bytes.len()).unwrap_or(i64::MAX), &bytes],
    )?;
    tx.execute(
        "DELETE FROM prompt_snapshots WHERE id IN (
             SELECT id FROM prompt_snapshots ORDER BY made DESC OFFSET $1)",
        &[&i64::try_from(most).unwrap_or(i64::MAX)],
    )?;
    Ok(id)
}

/// Writes the lines that differ, and returns the number of each line.
fn store(
    tx: &mut Transaction<'_>,
    before: &Lines,
    numbers: &[i64],
    lines: &Lines,
) -> Result<Vec<i64>, Fault> {
    let (gone, new) = before.differing(lines);
    let head = shared_head(before, lines);
    let (kept, rest) = numbers.split_at(head);
    let (gone_numbers, tail) = rest.split_at(gone.len());
    // In the places of those that go, or at the end; otherwise what follows is numbered anew.
    let (count, fits) = (new.len(), new.len() <= gone_numbers.len());
    let next = numbers.last().map_or(1, |last| last + 1);
    let (deleted, written, numbers): (&[i64], _, Vec<i64>) = if fits {
        let numbers = &gone_numbers[..count];
        (gone_numbers, new, [kept, numbers, tail].concat())
    } else if tail.is_empty() {
        let fresh: Vec<i64> = (next..).take(count).collect();
        (gone_numbers, new, [kept, &fresh].concat())
    } else {
        let all = &lines.0[head..];
        let fresh: Vec<i64> = (next..).take(all.len()).collect();
        (rest, all, [kept, &fresh].concat())
    };
    tx.execute("DELETE FROM prompts WHERE number = ANY ($1)", &[&deleted])?;
    let places = &numbers[head..head + written.len()];
    let raw: Vec<&[u8]> = written.iter().map(|line| &*line.raw).collect();
    tx.execute(
        "INSERT INTO prompts (number, line)
         SELECT * FROM unnest($1::bigint[], $2::bytea[])",
        &[&places, &raw],
    )?;
    Ok(numbers)
}

/// How many lines at the start are the same in both.
fn shared_head(one: &Lines, two: &Lines) -> usize {
    let same = one.0.iter().zip(&two.0);
    same.take_while(|(one, two)| std::sync::Arc::ptr_eq(&one.raw, &two.raw)).count()
}
