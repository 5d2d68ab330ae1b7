//! What is unpaid of an account, and the payout of it.

use rusqlite::{Connection, Transaction, params};

use super::{Checked, entry, id_of_key, post};
use crate::{
    domain::{Money, Timestamp},
    store::ledger::{Account, NewPayout, PaidOut, unknown_entry},
};

pub(super) fn unpaid_before(
    db: &Connection,
    account: Account,
    at: Timestamp,
) -> rusqlite::Result<Money> {
    db.prepare_cached(
        "SELECT coalesce(sum(p.amount), 0) FROM accounts a
         JOIN postings p ON p.account = a.id JOIN entries e ON e.id = p.entry
         LEFT JOIN entries o ON o.id = e.ends
         WHERE a.name = ?1 AND CASE
             WHEN e.at < ?2 OR e.kind = 'payout' THEN true
             WHEN e.kind <> 'refund' THEN false
             WHEN o.kind = 'payout' THEN o.at >= ?2
             ELSE o.at < ?2 END",
    )?
    .query_row(params![account.to_string(), at.0], |row| row.get(0).map(Money))
}

/// Books what is unpaid. No other writer comes between the look and the entry.
pub(super) fn pay_out(tx: &Transaction<'_>, new: &NewPayout) -> Checked<PaidOut> {
    if let Some(id) = id_of_key(tx, &new.key)? {
        return Ok(entry(tx, id)?.map(PaidOut::Before).ok_or_else(|| unknown_entry(id)));
    }
    let unpaid = unpaid_before(tx, Account::Author(new.author), new.until)?;
    if let Some(refusal) = new.refusal(unpaid) {
        return Ok(Ok(refusal));
    }
    let posted = post(tx, &new.entry(unpaid), Timestamp::now())?;
    Ok(posted.map(|posted| PaidOut::Now(posted.entry().clone())))
}
