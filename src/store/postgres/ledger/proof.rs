//! The proof of the books, from the postings alone.

use super::super::{connection::Connection, fault::Fault};
use crate::domain::Money;

/// Each query gives a sentence for everything that is wrong.
const CHECKS: &[&str] = &[
    "SELECT format('entry %s does not sum to zero', e.id) FROM entries e
     LEFT JOIN postings p ON p.entry = e.id GROUP BY e.id
     HAVING count(p.amount) < 2 OR sum(p.amount) <> 0",
    "SELECT format('a posting names entry %s, which does not exist', p.entry) FROM postings p
     WHERE NOT EXISTS (SELECT 1 FROM entries e WHERE e.id = p.entry)",
    "SELECT format('account `%s` is below its floor', a.name) FROM accounts a
     JOIN balances b ON b.account = a.id WHERE b.amount < a.floor",
    r#"SELECT format('`held:%s` has an amount that no call under way holds', h.owner) FROM (
         SELECT owner, sum(amount) AS amount FROM (
             SELECT "user"::text AS owner, price AS amount FROM holds WHERE entry IS NOT NULL
             UNION ALL
             SELECT substr(a.name, 6), -b.amount FROM accounts a
             JOIN balances b ON b.account = a.id WHERE a.name LIKE 'held:%'
         ) held GROUP BY owner
     ) h WHERE h.amount <> 0"#,
    "SELECT format('hold %s has ended, and its call is still listed as under way', h.id)
     FROM holds h JOIN entries e ON e.ends = h.entry",
    "SELECT format('entry %s holds credit for no call', e.id) FROM entries e
     WHERE e.kind = 'hold' AND NOT EXISTS (SELECT 1 FROM entries o WHERE o.ends = e.id)
       AND NOT EXISTS (SELECT 1 FROM holds h WHERE h.entry = e.id)",
];

/// Balances that are not the sum of their postings: account, balance, sum.
const WRONG_BALANCES: &str =
    "SELECT a.id, a.name, coalesce(b.amount, 0), coalesce(s.amount, 0)::bigint
     FROM accounts a LEFT JOIN balances b ON b.account = a.id
     LEFT JOIN (SELECT account, sum(amount) AS amount FROM postings GROUP BY account) s
       ON s.account = a.id
     WHERE coalesce(b.amount, 0) <> coalesce(s.amount, 0)";

pub(super) fn damage(db: &mut Connection) -> Result<Vec<String>, Fault> {
    let mut damage = Vec::new();
    for check in CHECKS {
        for row in db.query(check, &[])? {
            damage.push(row.try_get(0)?);
        }
    }
    for (_, name, kept, sum) in wrong_balances(db)? {
        damage.push(format!("the balance of `{name}` is {kept}, and its postings sum to {sum}"));
    }
    Ok(damage)
}

pub(super) fn recount(tx: &mut Connection) -> Result<usize, Fault> {
    let wrong = wrong_balances(tx)?;
    for (account, _, _, sum) in &wrong {
        tx.execute(
            "INSERT INTO balances (account, amount) VALUES ($1, $2)
             ON CONFLICT (lib, account) DO UPDATE SET amount = excluded.amount",
            &[account, &sum.0],
        )?;
    }
    Ok(wrong.len())
}

fn wrong_balances(db: &mut Connection) -> Result<Vec<(i64, String, Money, Money)>, Fault> {
    db.query(WRONG_BALANCES, &[])?
        .iter()
        .map(|row| {
            let (kept, sum) = (Money(row.try_get(2)?), Money(row.try_get(3)?));
            Ok((row.try_get(0)?, row.try_get(1)?, kept, sum))
        })
        .collect()
}
