//! The books: does every entry sum to zero, is every balance the sum of its entries, and is every
//! payment accounted for?

use super::{App, Finding};
use crate::{
    domain::{Money, Result},
    store::{ledger::EntryFilter, payments::PaymentState},
};

const DAMAGE: &str = "the books are wrong";

impl App {
    pub(super) fn check_market(&self, findings: &mut Vec<Finding>) -> Result<()> {
        let (ledger, payments) = (&self.store.ledger, &self.store.payments);
        for damage in ledger.damage()? {
            findings.push(Finding::wrong(
                format!("{DAMAGE}: {damage}"),
                "run `notewell market recount` where a balance is wrong; otherwise put `notewell.db` back from a backup",
            ));
        }
        for payment in payments.in_state(PaymentState::Settling)? {
            let named = match payment.outside.as_str() {
                "" => String::new(),
                outside => format!(" (`{outside}`)"),
            };
            findings.push(Finding::wrong(
                format!(
                    "how payment {}{named} of {} {} through {} ended is not known",
                    payment.id, payment.amount, payment.currency, payment.provider
                ),
                format!(
                    "look it up at the provider, then run `notewell market resolve {0} --arrived`, which credits the payer, or `notewell market resolve {0} --failed`",
                    payment.id
                ),
            ));
        }
        for payment in payments.in_state(PaymentState::Mismatch)? {
            findings.push(Finding::wrong(
                format!(
                    "payment {} (`{}`) came in with another amount or currency than the {} {} asked for",
                    payment.id, payment.outside, payment.amount, payment.currency
                ),
                format!(
                    "look it up at the provider, then run `notewell market resolve {0} --arrived AMOUNT`, which credits the payer, or return the money there and run `notewell market resolve {0} --failed`",
                    payment.id
                ),
            ));
        }
        let currency = self.market().currency();
        let holds = ledger.open_holds()?;
        if !holds.is_empty() {
            let held: Money = holds.iter().map(|hold| hold.amount).sum();
            let calls = match holds.len() {
                1 => "1 call under way holds".to_owned(),
                many => format!("{many} calls under way hold"),
            };
            findings.push(Finding::note(
                format!("{calls} {held} {currency}"),
                "they are charged or given back when they end; nothing to do",
            ));
        }
        let is_sound = !findings.iter().any(|finding| finding.what.starts_with(DAMAGE));
        if let Some(last) = ledger.entries(&EntryFilter::default(), 1)?.first().filter(|_| is_sound)
        {
            let entries = match last.id.0 {
                1 => "1 entry".to_owned(),
                many => format!("{many} entries"),
            };
            findings.push(Finding::note(
                format!("the books balance over {entries}"),
                "`notewell market balance` shows the accounts; nothing to do",
            ));
        }
        Ok(())
    }
}
