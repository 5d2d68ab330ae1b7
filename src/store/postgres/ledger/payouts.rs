//! What is unpaid of an account, and the payout of it.

use super::{
    super::{connection::Connection, fault::Fault},
    entry, id_of_key, post,
};
use crate::{
    domain::{Money, Timestamp},
    store::ledger::{Account, NewPayout, PaidOut, unknown_entry},
};

pub(super) fn unpaid_before(
    db: &mut Connection,
    account: Account,
    at: Timestamp,
) -> Result<Money, Fault> {
    let row = db.query_one(
        "SELECT coalesce(sum(p.amount), 0)::bigint FROM accounts a
         JOIN postings p ON p.account = a.id JOIN entries e ON e.id = p.entry
         LEFT JOIN entries o ON o.id = e.ends
         WHERE a.name = $1 AND CASE
             WHEN e.at < $2 OR e.kind = 'payout' THEN true
             WHEN e.kind <> 'refund' THEN false
             WHEN o.kind = 'payout' THEN o.at >= $2
             ELSE o.at < $2 END",
        &[&account.to_string(), &at.0],
    )?;
    Ok(Money(row.try_get(0)?))
}

/// Books what is unpaid. No other writer comes between the look and the entry.
pub(super) fn pay_out(tx: &mut Connection, new: &NewPayout) -> Result<PaidOut, Fault> {
    if let Some(id) = id_of_key(tx, &new.key)? {
        let known = entry(tx, id)?.ok_or_else(|| unknown_entry(id))?;
        return Ok(PaidOut::Before(known));
    }
    let unpaid = unpaid_before(tx, Account::Author(new.author), new.until)?;
    if let Some(refusal) = new.refusal(unpaid) {
        return Ok(refusal);
    }
    let posted = post(tx, &new.entry(unpaid), Timestamp::now())?;
    Ok(PaidOut::Now(posted.entry().clone()))
}
