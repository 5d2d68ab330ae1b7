//! The proof of the books, from the postings alone.

use rusqlite::{Connection, Transaction};

use crate::domain::Money;

/// Each query gives a sentence for everything that is wrong.
const CHECKS: &[&str] = &[
    "SELECT format('entry %d does not sum to zero', e.id) FROM entries e
     LEFT JOIN postings p ON p.entry = e.id GROUP BY e.id
     HAVING count(p.amount) < 2 OR sum(p.amount) <> 0",
    "SELECT format('a posting names entry %d, which does not exist', p.entry) FROM postings p
     WHERE NOT EXISTS (SELECT 1 FROM entries e WHERE e.id = p.entry)",
    "SELECT format('account `%s` is below its floor', a.name) FROM accounts a
     JOIN balances b ON b.account = a.id WHERE b.amount < a.floor",
    "SELECT format('`held:%d` has an amount that no call under way holds', h.user) FROM (
         SELECT user, sum(amount) AS amount FROM (
             SELECT user, price AS amount FROM holds WHERE entry IS NOT NULL
             UNION ALL
             SELECT CAST(substr(a.name, 6) AS INTEGER), -b.amount FROM accounts a
             JOIN balances b ON b.account = a.id WHERE a.name LIKE 'held:%'
         ) GROUP BY user
     ) h WHERE h.amount <> 0",
    "SELECT format('hold %d has ended, and its call is still listed as under way', h.id)
     FROM holds h JOIN entries e ON e.ends = h.entry",
    "SELECT format('entry %d holds credit for no call', e.id) FROM entries e
     WHERE e.kind = 'hold' AND NOT EXISTS (SELECT 1 FROM entries o WHERE o.ends = e.id)
       AND NOT EXISTS (SELECT 1 FROM holds h WHERE h.entry = e.id)",
];

/// Balances that are not the sum of their postings: account, balance, sum.
const WRONG_BALANCES: &str = "SELECT a.id, a.name, coalesce(b.amount, 0), coalesce(s.amount, 0)
     FROM accounts a LEFT JOIN balances b ON b.account = a.id
     LEFT JOIN (SELECT account, sum(amount) AS amount FROM postings GROUP BY account) s
       ON s.account = a.id
     WHERE coalesce(b.amount, 0) <> coalesce(s.amount, 0)";

pub(super) fn damage(db: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut found = Vec::new();
    for check in CHECKS {
        let lines: Vec<String> =
            db.prepare(check)?.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
        found.extend(lines);
    }
    for (_, name, kept, sum) in wrong_balances(db)? {
        found.push(format!("the balance of `{name}` is {kept}, and its postings sum to {sum}"));
    }
    Ok(found)
}

pub(super) fn recount(tx: &Transaction<'_>) -> rusqlite::Result<usize> {
    let wrong = wrong_balances(tx)?;
    for (account, _, _, sum) in &wrong {
        tx.execute(
            "INSERT INTO balances (account, amount) VALUES (?1, ?2)
             ON CONFLICT (account) DO UPDATE SET amount = excluded.amount",
            [*account, sum.0],
        )?;
    }
    Ok(wrong.len())
}

fn wrong_balances(db: &Connection) -> rusqlite::Result<Vec<(i64, String, Money, Money)>> {
    db.prepare(WRONG_BALANCES)?
        .query_map([], |row| {
            Ok((row.get(0)?, row.get(1)?, Money(row.get(2)?), Money(row.get(3)?)))
        })?
        .collect()
}
