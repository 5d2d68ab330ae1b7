//! The contract of the books and of usage, over every store.

use std::{sync::Barrier, thread, time::Duration};

use notewell::{
    domain::{Code, Error, Money, Pid, Timestamp, UserId},
    store::{
        self, Ledger, Store, StoreLimits, StoreUrl,
        ledger::{
            Account, Admission, CallIdentity, EntryFilter, EntryId, EntryKind, HoldId, NewEntry,
            NewHold, NewPayout, Outside, PaidOut, Posted, Process,
        },
        payments::{Booked, NewPayment, PaymentState},
        usage::{Call, NewUsage, Outcome, UsageFilter},
    },
};

use crate::{store::every_store, support::store_url};

const ANN: UserId = UserId(1);
const MIRA: UserId = UserId(2);
const PAGE: Pid = Pid(7);
const PRICE: Money = Money(10_000);

fn balance(store: &Store, account: Account) -> Money {
    store.ledger.balance(account).unwrap()
}

fn top_up(ledger: &dyn Ledger, user: UserId, amount: i64, key: &str) -> Posted {
    let entry = NewEntry::new(EntryKind::TopUp, key)
        .with_memo("перевод 送金")
        .add(Account::Outside(Outside::Manual), Money(-amount))
        .add(Account::User(user), Money(amount));
    ledger.post(&entry).unwrap()
}

/// Books what an author earned outside of the credit of users.
fn sale(ledger: &dyn Ledger, author: UserId, amount: i64, key: &str) -> EntryId {
    let entry = NewEntry::new(EntryKind::Sale, format!("{key}:{}", author.0))
        .add(Account::Author(author), Money(amount))
        .add(Account::Outside(Outside::X402), Money(-amount));
    ledger.post(&entry).unwrap().entry().id
}

fn refund_of_sale(ledger: &dyn Ledger, author: UserId, amount: i64, sale: EntryId) {
    let entry = NewEntry::new(EntryKind::Refund, format!("refund:{sale}"))
        .ending(sale)
        .add(Account::Author(author), Money(-amount))
        .add(Account::Outside(Outside::X402), Money(amount));
    ledger.post(&entry).unwrap();
}

/// A payout, of whatever amount, of what came in before a moment.
fn payout(author: UserId, until: Timestamp, key: &str) -> NewPayout {
    NewPayout {
        author,
        through: Outside::Manual,
        until,
        key: format!("payout:{}:{key}", author.0),
        memo: String::new(),
        expected: None,
    }
}

/// A moment between two entries, whose times are milliseconds.
fn moment() -> Timestamp {
    thread::sleep(Duration::from_millis(3));
    let now = Timestamp::now();
    thread::sleep(Duration::from_millis(3));
    now
}

fn call() -> Call {
    Call {
        user: Some(ANN),
        token: Some(3),
        method: "обзор".into(),
        page: PAGE,
        author: Some(MIRA),
        version: "0123456789abcdef".into(),
        price: PRICE,
        request: "42".into(),
    }
}

/// A call with this identity, within wide caps.
fn hold(identity: u8) -> NewHold {
    NewHold {
        call: call(),
        identity: CallIdentity { call: [identity; 32], arguments: [identity; 32] },
        trial_calls: 0,
        user_cap: Money(1_000_000),
        token_cap: Money(1_000_000),
        day: Timestamp(0),
        repeat_since: Timestamp(0),
    }
}

fn held(ledger: &dyn Ledger, process: &Process, new: &NewHold) -> HoldId {
    match ledger.begin(process, new).unwrap() {
        Admission::Held(id) | Admission::Trial(id, _) => id,
        other => panic!("{other:?}"),
    }
}

fn proved(store: &Store) {
    assert_eq!(store.ledger.damage().unwrap(), [""; 0]);
}

fn conflict<T: std::fmt::Debug>(result: Result<T, Error>, words: &str) {
    let error = result.unwrap_err();
    assert_eq!(error.code, Code::Conflict, "{error}");
    assert!(error.message.contains(words), "{error}");
}

#[test]
fn an_entry_is_booked_once_and_sums_to_zero() {
    every_store(|store, _| {
        let ledger = &*store.ledger;
        assert!(ledger.balances().unwrap().is_empty());
        let first = top_up(ledger, ANN, 500, "a");
        assert!(matches!(first, Posted::New(_)));
        let Posted::Known(again) = top_up(ledger, ANN, 500, "a") else { panic!("booked twice") };
        assert_eq!(&again, first.entry());
        assert_eq!(again.memo, "перевод 送金");
        assert_eq!(balance(store, Account::User(ANN)), Money(500));
        assert_eq!(balance(store, Account::Outside(Outside::Manual)), Money(-500));
        let user =
            |amount| NewEntry::new(EntryKind::TopUp, "b").add(Account::User(ANN), Money(amount));
        let outside = Account::Outside(Outside::Stripe);
        for wrong in [
            user(5),
            user(5).add(outside, Money(-4)),
            user(5).add(Account::User(ANN), Money(-5)),
            NewEntry::new(EntryKind::TopUp, "b"),
        ] {
            conflict(ledger.post(&wrong), "sum to zero");
        }
        let huge = user(i64::MAX).add(outside, Money(i64::MAX)).add(Account::Platform, Money(2));
        assert!(ledger.post(&huge).is_err(), "a sum that wraps to zero");
        let mut other = user(5).add(outside, Money(-5));
        other.key = "a".into();
        conflict(ledger.post(&other), "other amounts");
        conflict(ledger.post(&user(-501).add(outside, Money(501))), "does not cover");
        assert_eq!(balance(store, Account::User(ANN)), Money(500));
        assert_eq!(ledger.entries(&EntryFilter::default(), 10).unwrap().len(), 1);
        proved(store);
    });
}

#[test]
fn an_entry_ends_once() {
    every_store(|store, _| {
        let ledger = &*store.ledger;
        let id = top_up(ledger, ANN, 500, "a").entry().id;
        let back = |key: &str, ends| {
            NewEntry::new(EntryKind::Refund, key)
                .ending(ends)
                .add(Account::User(ANN), Money(-500))
                .add(Account::Outside(Outside::Manual), Money(500))
        };
        assert!(ledger.post(&back("r", EntryId(99))).unwrap_err().message.contains("no entry 99"));
        let refund = ledger.post(&back("r", id)).unwrap().entry().id;
        assert!(matches!(ledger.post(&back("r", id)).unwrap(), Posted::Known(_)));
        top_up(ledger, ANN, 500, "b");
        conflict(ledger.post(&back("another", id)), "ended");
        assert_eq!(ledger.entry(id).unwrap().unwrap().ended_by, Some(refund));
        assert_eq!(ledger.of_key("r").unwrap().unwrap().ends, Some(id));
        assert_eq!(ledger.of_key("nothing").unwrap(), None);
        proved(store);
    });
}

#[test]
fn entries_are_listed_by_account_kind_and_time() {
    every_store(|store, _| {
        let ledger = &*store.ledger;
        let ids: Vec<EntryId> = [(ANN, "a"), (MIRA, "b"), (ANN, "c")]
            .map(|(user, key)| top_up(ledger, user, 100, key).entry().id)
            .into();
        let list = |filter: EntryFilter| -> Vec<EntryId> {
            ledger.entries(&filter, 10).unwrap().iter().map(|entry| entry.id).collect()
        };
        let of = |account| EntryFilter { account: Some(account), ..EntryFilter::default() };
        assert_eq!(list(of(Account::User(ANN))), [ids[2], ids[0]]);
        assert_eq!(list(of(Account::Author(ANN))), []);
        assert_eq!(list(EntryFilter { before: Some(ids[1]), ..EntryFilter::default() }), [ids[0]]);
        let kind = Some(EntryKind::Payout);
        assert_eq!(list(EntryFilter { kind, ..EntryFilter::default() }), []);
        let from = Some(Timestamp::now().plus_days(1));
        assert_eq!(list(EntryFilter { from, ..EntryFilter::default() }), []);
        let account = Account::User(ANN);
        assert_eq!(ledger.balance_before(account, Timestamp(0)).unwrap(), Money::ZERO);
        let later = Timestamp::now().plus_days(1);
        assert_eq!(ledger.balance_before(account, later).unwrap(), Money(200));
    });
}

#[test]
fn what_is_unpaid_of_a_balance_counts_what_was_paid_or_refunded_of_it_since() {
    every_store(|store, _| {
        let ledger = &*store.ledger;
        let account = Account::Author(MIRA);
        let book = |kind, key: &str, amount: i64, ends: Option<EntryId>| {
            let entry = NewEntry { ends, ..NewEntry::new(kind, key) }
                .add(account, Money(amount))
                .add(Account::Outside(Outside::X402), Money(-amount));
            ledger.post(&entry).unwrap().entry().id
        };
        let unpaid = |at| ledger.unpaid_before(account, at).unwrap().0;
        assert_eq!(unpaid(moment()), 0);
        book(EntryKind::Sale, "early", 100, None);
        let other = book(EntryKind::Sale, "other", 7, None);
        let paid = book(EntryKind::Payout, "paid", -50, None);
        let first = moment();
        book(EntryKind::Sale, "late", 20, None);
        let second = moment();
        let now = book(EntryKind::Sale, "now", 500, None);
        assert_eq!((unpaid(first), unpaid(second)), (57, 77));
        book(EntryKind::Refund, "refund of now", -500, Some(now));
        assert_eq!((unpaid(first), unpaid(second)), (57, 77), "it came in since");
        book(EntryKind::Refund, "refund of other", -7, Some(other));
        assert_eq!((unpaid(first), unpaid(second)), (50, 70));
        let again = book(EntryKind::Payout, "again", -30, None);
        assert_eq!((unpaid(first), unpaid(second)), (20, 40), "whichever month it was for");
        book(EntryKind::Refund, "again came back", 30, Some(again));
        assert_eq!((unpaid(first), unpaid(second)), (50, 70));
        book(EntryKind::Refund, "paid came back", 50, Some(paid));
        assert_eq!((unpaid(first), unpaid(second)), (50, 70), "it is of the balance of now");
        assert_eq!(unpaid(moment()), balance(store, account).0);
        proved(store);
    });
}

#[test]
fn payouts_at_the_same_moment_pay_nothing_twice() {
    every_store(|store, _| {
        let ledger = &*store.ledger;
        let authors: Vec<UserId> = (100..125).map(UserId).collect();
        let earn = |amount, key| {
            for author in &authors {
                sale(ledger, *author, amount, key);
            }
        };
        earn(100, "early");
        let first = moment();
        earn(20, "late");
        let second = moment();
        earn(500, "now");
        // Each month twice.
        let months = [(first, "first"), (second, "second"), (first, "first"), (second, "second")];
        for author in authors.iter().copied() {
            let account = Account::Author(author);
            let start = Barrier::new(months.len());
            let paid = thread::scope(|scope| {
                let threads = months.map(|(until, key)| {
                    let start = &start;
                    scope.spawn(move || {
                        start.wait();
                        match ledger.pay_out(&payout(author, until, key)).unwrap() {
                            PaidOut::Now(entry) => -entry.amount_of(account),
                            _ => Money::ZERO,
                        }
                    })
                });
                threads.into_iter().map(|thread| thread.join().unwrap()).sum::<Money>()
            });
            // Whichever came first: the earlier month is a part of the later one.
            assert_eq!(paid, Money(120), "{account}");
            assert_eq!(balance(store, account), Money(500), "{account}");
        }
        proved(store);
    });
}

#[test]
fn a_payout_books_the_amount_that_was_confirmed_or_nothing() {
    every_store(|store, _| {
        let ledger = &*store.ledger;
        let [sold, other] =
            [(100, "sold"), (20, "other")].map(|(amount, key)| sale(ledger, MIRA, amount, key));
        let until = moment();
        let pay = |key: &str, expected: Option<i64>| {
            let expected = expected.map(Money);
            ledger.pay_out(&NewPayout { expected, ..payout(MIRA, until, key) }).unwrap()
        };
        let changed = |expected, unpaid| PaidOut::Changed {
            expected: Money(expected),
            unpaid: Money(unpaid),
        };
        // A refund after somebody looked.
        refund_of_sale(ledger, MIRA, 20, other);
        assert_eq!(pay("a", Some(120)), changed(120, 100));
        assert_eq!(balance(store, Account::Author(MIRA)), Money(100));
        assert_eq!(balance(store, Account::Outside(Outside::Manual)), Money::ZERO);
        let PaidOut::Now(entry) = pay("a", Some(100)) else { panic!("not paid") };
        assert_eq!(entry.kind, EntryKind::Payout);
        assert_eq!(entry.amount_of(Account::Outside(Outside::Manual)), Money(100));
        // A key books once, whatever is confirmed under it.
        for expected in [None, Some(100), Some(7)] {
            let PaidOut::Before(known) = pay("a", expected) else { panic!("paid twice") };
            assert_eq!(known.id, entry.id);
        }
        assert_eq!(pay("b", None), PaidOut::Nothing);
        assert_eq!(pay("b", Some(0)), PaidOut::Nothing);
        assert_eq!(pay("b", Some(5)), changed(5, 0));
        // Who owes something is paid nothing.
        refund_of_sale(ledger, MIRA, 100, sold);
        assert_eq!(pay("b", None), PaidOut::Nothing);
        assert_eq!(pay("b", Some(5)), changed(5, 0));
        assert_eq!(balance(store, Account::Author(MIRA)), Money(-100));
        proved(store);
    });
}

#[test]
fn a_call_holds_its_price_and_is_charged_or_not() {
    every_store(|store, _| {
        let ledger = &*store.ledger;
        let process = ledger.enlist().unwrap();
        assert_eq!(ledger.begin(&process, &hold(1)).unwrap(), Admission::Short(Money::ZERO));
        top_up(ledger, ANN, 15_000, "a");
        let first = held(ledger, &process, &hold(1));
        assert_eq!(balance(store, Account::User(ANN)), Money(5_000));
        assert_eq!(balance(store, Account::Held(ANN)), PRICE);
        assert_eq!(ledger.begin(&process, &hold(1)).unwrap(), Admission::Running);
        assert_eq!(ledger.begin(&process, &hold(2)).unwrap(), Admission::Short(Money(5_000)));
        proved(store);
        assert!(ledger.release(first, Outcome::Failed, 3).unwrap());
        assert!(!ledger.release(first, Outcome::Failed, 3).unwrap(), "released before");
        conflict(ledger.capture(first, Money(8_000), 3), "released");
        assert_eq!(balance(store, Account::User(ANN)), Money(15_000));
        let second = held(ledger, &process, &hold(1));
        let captured = ledger.capture(second, Money(8_000), 3).unwrap();
        assert_eq!((captured.charged, captured.balance), (PRICE, Money(5_000)));
        assert_eq!(captured.outcome, Outcome::Charged);
        assert_eq!(balance(store, Account::Author(MIRA)), Money(8_000));
        assert_eq!(balance(store, Account::Platform), Money(2_000));
        assert_eq!(balance(store, Account::Held(ANN)), Money::ZERO);
        // The same call again costs nothing; another key with it does not become another call.
        assert_eq!(ledger.begin(&process, &hold(1)).unwrap(), Admission::Repeat(captured.entry));
        let mut other = hold(1);
        other.identity.arguments = [9; 32];
        assert_eq!(ledger.begin(&process, &other).unwrap(), Admission::KeyTaken);
        let mut later = hold(1);
        later.repeat_since = Timestamp::now().plus_days(1);
        assert_eq!(ledger.begin(&process, &later).unwrap(), Admission::Short(Money(5_000)));
        assert!(ledger.open_holds().unwrap().is_empty());
        let rows = store.usage.list(&UsageFilter::default(), 10).unwrap();
        let outcomes: Vec<_> = rows.iter().map(|row| (row.outcome, row.charged)).collect();
        assert_eq!(outcomes, [(Outcome::Failed, Money::ZERO), (Outcome::Charged, PRICE)]);
        assert_eq!((&rows[1].call, rows[1].entry), (&call(), captured.entry));
        proved(store);
    });
}

#[test]
fn twins_under_way_are_charged_once() {
    every_store(|store, _| {
        let ledger = &*store.ledger;
        let process = ledger.enlist().unwrap();
        top_up(ledger, ANN, 50_000, "a");
        let holds = [1, 1, 1].map(|identity| held(ledger, &process, &hold(identity)));
        assert_eq!(balance(store, Account::Held(ANN)), Money(30_000));
        let captured = holds.map(|hold| ledger.capture(hold, Money(8_000), 1).unwrap());
        let charged = captured.clone().map(|captured| captured.charged);
        assert_eq!(charged, [PRICE, Money::ZERO, Money::ZERO]);
        assert!(captured.iter().all(|one| one.entry == captured[0].entry), "one receipt for all");
        assert_eq!(balance(store, Account::User(ANN)), Money(40_000));
        proved(store);
    });
}

#[test]
fn a_key_is_one_call_s_while_that_is_under_way() {
    every_store(|store, _| {
        let ledger = &*store.ledger;
        let process = ledger.enlist().unwrap();
        top_up(ledger, ANN, 50_000, "a");
        let with = |trial_calls, arguments| {
            let identity = CallIdentity { call: [1; 32], arguments: [arguments; 32] };
            ledger.begin(&process, &NewHold { identity, trial_calls, ..hold(1) }).unwrap()
        };
        for trial_calls in [0, 1] {
            let (Admission::Held(hold) | Admission::Trial(hold, 0)) = with(trial_calls, 1) else {
                panic!("not held")
            };
            assert_eq!(with(trial_calls, 2), Admission::KeyTaken);
            assert!(ledger.release(hold, Outcome::Failed, 1).unwrap());
        }
        // The call that had it failed, so it is free again.
        assert!(matches!(with(0, 2), Admission::Held(_)));
        proved(store);
    });
}

#[test]
fn after_a_refund_the_same_call_is_charged_again() {
    every_store(|store, _| {
        let ledger = &*store.ledger;
        let process = ledger.enlist().unwrap();
        top_up(ledger, ANN, 10_000, "a");
        let captured = ledger.capture(held(ledger, &process, &hold(1)), Money(8_000), 1).unwrap();
        let refund = NewEntry::new(EntryKind::Refund, "refund")
            .ending(captured.entry.unwrap())
            .add(Account::User(ANN), PRICE)
            .add(Account::Author(MIRA), Money(-8_000))
            .add(Account::Platform, Money(-2_000));
        let refund = ledger.post(&refund).unwrap().entry().id;
        let row = store.usage.list(&UsageFilter::default(), 10).unwrap().remove(0);
        assert_eq!(row.refund, Some(refund));
        assert!(matches!(ledger.begin(&process, &hold(1)).unwrap(), Admission::Held(_)));
        proved(store);
    });
}

#[test]
fn trials_and_caps_count_what_is_under_way() {
    every_store(|store, _| {
        let ledger = &*store.ledger;
        let process = ledger.enlist().unwrap();
        let trial = |identity| NewHold { trial_calls: 2, ..hold(identity) };
        let begin = |new: &NewHold| ledger.begin(&process, new).unwrap();
        let Admission::Trial(first, 1) = begin(&trial(1)) else { panic!() };
        let Admission::Trial(second, 0) = begin(&trial(2)) else { panic!() };
        assert_eq!(begin(&trial(3)), Admission::Short(Money::ZERO));
        ledger.release(second, Outcome::Failed, 0).unwrap();
        assert_eq!(ledger.capture(first, Money(8_000), 0).unwrap().outcome, Outcome::Trial);
        assert_eq!(store.usage.trials(ANN, &[PAGE]).unwrap()[&PAGE], 1);
        assert_eq!(begin(&trial(1)), Admission::Repeat(None), "a repeat uses up no trial");
        let Admission::Trial(second, 0) = begin(&trial(2)) else { panic!() };
        ledger.capture(second, Money(8_000), 0).unwrap();
        top_up(ledger, ANN, 100_000, "a");
        let capped = |identity, user_cap, token_cap| NewHold {
            user_cap: Money(user_cap),
            token_cap: Money(token_cap),
            ..hold(identity)
        };
        assert_eq!(begin(&capped(3, 9_999, 99_999)), Admission::UserCap(Money::ZERO));
        let under_way = held(ledger, &process, &capped(3, 10_000, 10_000));
        assert_eq!(begin(&capped(4, 19_999, 99_999)), Admission::UserCap(PRICE));
        assert_eq!(begin(&capped(4, 99_999, 19_999)), Admission::TokenCap(PRICE));
        ledger.capture(under_way, Money(8_000), 0).unwrap();
        assert_eq!(begin(&capped(4, 99_999, 19_999)), Admission::TokenCap(PRICE));
        let mut other_token = capped(4, 99_999, 19_999);
        other_token.call.token = Some(4);
        assert!(matches!(begin(&other_token), Admission::Held(_)));
        assert_eq!(store.usage.bought(ANN, &[PAGE, Pid(8)]).unwrap(), [PAGE]);
        proved(store);
    });
}

#[test]
fn only_holds_of_the_dead_are_released() {
    every_store(|store, _| {
        let ledger = &*store.ledger;
        let (living, dead) = (ledger.enlist().unwrap(), ledger.enlist().unwrap());
        assert_ne!(living.id, dead.id);
        top_up(ledger, ANN, 50_000, "a");
        let kept = held(ledger, &living, &hold(1));
        held(ledger, &dead, &hold(2));
        held(ledger, &dead, &NewHold { trial_calls: 5, ..hold(3) });
        assert_eq!(ledger.release_abandoned().unwrap(), 0);
        drop(dead);
        assert_eq!(ledger.release_abandoned().unwrap(), 2);
        assert_eq!(ledger.release_abandoned().unwrap(), 0);
        let open: Vec<HoldId> = ledger.open_holds().unwrap().iter().map(|hold| hold.id).collect();
        assert_eq!(open, [kept]);
        assert_eq!(balance(store, Account::User(ANN)), Money(40_000));
        let rows = store.usage.list(&UsageFilter::default(), 10).unwrap();
        assert!(rows.iter().all(|row| row.outcome == Outcome::Abandoned));
        assert_eq!(rows.len(), 2);
        proved(store);
    });
}

#[test]
fn usage_is_listed_and_summed_up() {
    every_store(|store, _| {
        let ledger = &*store.ledger;
        let usage = &*store.usage;
        let process = ledger.enlist().unwrap();
        top_up(ledger, ANN, 100_000, "a");
        for identity in [1, 2] {
            ledger.capture(held(ledger, &process, &hold(identity)), Money(8_000), 5).unwrap();
        }
        let failed = held(ledger, &process, &hold(3));
        ledger.release(failed, Outcome::Failed, 5).unwrap();
        let own = Call { user: Some(MIRA), token: None, method: "レビュー".into(), ..call() };
        usage.record(&NewUsage { call: own, outcome: Outcome::Author, ms: 1 }).unwrap();
        let list = |filter: UsageFilter| usage.list(&filter, 10).unwrap();
        assert_eq!(list(UsageFilter::default()).len(), 4);
        assert_eq!(list(UsageFilter { user: Some(ANN), ..UsageFilter::default() }).len(), 3);
        assert_eq!(list(UsageFilter { author: Some(ANN), ..UsageFilter::default() }).len(), 0);
        assert_eq!(list(UsageFilter { after: Some(3), ..UsageFilter::default() }).len(), 1);
        let until = Some(Timestamp(5));
        assert_eq!(list(UsageFilter { until, ..UsageFilter::default() }).len(), 0);
        let latest = |filter: UsageFilter, before, limit| -> Vec<i64> {
            let rows = usage.latest(&filter, before, limit).unwrap();
            rows.into_iter().map(|row| row.id).collect()
        };
        assert_eq!(latest(UsageFilter::default(), None, 10), [4, 3, 2, 1]);
        assert_eq!(latest(UsageFilter::default(), Some(4), 2), [3, 2]);
        let of_ann = UsageFilter { user: Some(ANN), ..UsageFilter::default() };
        assert_eq!(latest(of_ann, Some(2), 10), [1]);
        let tomorrow = Timestamp::now().plus_days(1);
        let earnings = usage.earnings(MIRA, Timestamp(0), tomorrow).unwrap();
        let (review, own) = (&earnings[0], &earnings[1]);
        assert_eq!((review.method.as_str(), review.calls, review.charged_calls), ("обзор", 2, 2));
        assert_eq!((review.gross, review.earned), (Money(20_000), Money(16_000)));
        assert_eq!((own.method.as_str(), own.calls, own.earned), ("レビュー", 1, Money::ZERO));
        assert!(usage.earnings(ANN, Timestamp(0), tomorrow).unwrap().is_empty());
        let daily = usage.daily(MIRA, Timestamp(0), tomorrow).unwrap();
        let calls = |method: &str| -> u64 {
            daily.iter().filter(|day| day.method == method).map(|day| day.calls).sum()
        };
        assert_eq!((calls("обзор"), calls("レビュー")), (2, 1), "{daily:?}");
        let is_midnight = |day: Timestamp| day.0 % 86_400_000 == 0 && day <= Timestamp::now();
        assert!(daily.iter().all(|day| is_midnight(day.day)), "{daily:?}");
        assert!(usage.daily(MIRA, Timestamp(0), Timestamp(5)).unwrap().is_empty());
        let popularity = usage.popularity(&[PAGE, Pid(8)], Timestamp(0)).unwrap();
        assert_eq!(popularity.len(), 1);
        assert_eq!((popularity[&PAGE].calls, popularity[&PAGE].answered), (3, 2));
    });
}

#[test]
fn balances_can_be_counted_again() {
    every_store(|store, _| {
        top_up(&*store.ledger, ANN, 100, "a");
        assert_eq!(store.ledger.recount().unwrap(), 0);
        proved(store);
    });
}

#[test]
fn a_payment_is_begun_once_and_booked_once() {
    every_store(|store, _| {
        let payments = &*store.payments;
        let new = NewPayment {
            provider: Outside::Stripe,
            reference: "nw_1".into(),
            user: Some(ANN),
            amount: Money(500),
            currency: "USD".into(),
            call: None,
        };
        let payment = payments.begin(&new).unwrap();
        assert_eq!((payment.state, payment.entry), (PaymentState::Begun, None));
        assert_eq!(payments.begin(&new).unwrap(), payment, "the same reference");
        assert_eq!(payments.find(Outside::X402, "nw_1").unwrap(), None);
        let (begun, settling) = (PaymentState::Begun, PaymentState::Settling);
        assert!(payments.advance(payment.id, begun, settling).unwrap());
        assert!(!payments.advance(payment.id, begun, settling).unwrap(), "by one caller only");
        assert_eq!(payments.in_state(settling).unwrap().len(), 1);
        let entry = |amount: i64| {
            NewEntry::new(EntryKind::TopUp, "stripe:nw_1")
                .add(Account::Outside(Outside::Stripe), Money(-amount))
                .add(Account::User(ANN), Money(amount))
        };
        let uneven = entry(500).add(Account::Platform, Money(1));
        assert!(payments.book(payment.id, &uneven, "cs_1", None).is_err());
        assert_eq!(payments.find(Outside::Stripe, "nw_1").unwrap().unwrap().state, settling);
        let Booked::New(booked) = payments.book(payment.id, &entry(500), "cs_1", None).unwrap()
        else {
            panic!("not booked")
        };
        let again = payments.book(payment.id, &entry(500), "cs_2", None).unwrap();
        assert_eq!(again, Booked::Known(booked.id));
        payments.set_state(payment.id, PaymentState::Failed, "cs_3").unwrap();
        let now = payments.find(Outside::Stripe, "nw_1").unwrap().unwrap();
        assert_eq!((now.state, now.entry), (PaymentState::Booked, Some(booked.id)));
        assert_eq!(now.outside, "cs_1");
        assert_eq!(payments.of_user(ANN, 10).unwrap(), [now]);
        assert!(payments.of_user(MIRA, 10).unwrap().is_empty());
        assert_eq!(balance(store, Account::User(ANN)), Money(500));
        assert!(!payments.knows_event(Outside::Stripe, "evt_1").unwrap());
        payments.add_event(Outside::Stripe, "evt_1").unwrap();
        payments.add_event(Outside::Stripe, "evt_1").unwrap();
        assert!(payments.knows_event(Outside::Stripe, "evt_1").unwrap());
        assert!(!payments.knows_event(Outside::X402, "evt_1").unwrap());
        proved(store);
    });
}

#[test]
fn a_sale_is_booked_with_its_call() {
    every_store(|store, _| {
        let payments = &*store.payments;
        let new = NewPayment {
            provider: Outside::X402,
            reference: "0xabc".into(),
            user: None,
            amount: PRICE,
            currency: "USD".into(),
            call: Some([7; 32]),
        };
        let payment = payments.begin(&new).unwrap();
        assert_eq!(payment.call, Some([7; 32]));
        let entry = NewEntry::new(EntryKind::Sale, "x402:0xabc")
            .add(Account::Outside(Outside::X402), -PRICE)
            .add(Account::Author(MIRA), Money(8_000))
            .add(Account::Platform, Money(2_000));
        let anonymous = Call { user: None, token: None, ..call() };
        let usage = NewUsage { call: anonymous, outcome: Outcome::Charged, ms: 4 };
        for _ in 0..2 {
            payments.book(payment.id, &entry, "0xtx", Some(&usage)).unwrap();
        }
        // What the entry books is this payment's alone.
        let other = NewPayment { reference: "0xdef".into(), ..new };
        let other = payments.begin(&other).unwrap();
        conflict(payments.book(other.id, &entry, "0xtx", Some(&usage)), "for another payment");
        let now = payments.find(Outside::X402, "0xdef").unwrap().unwrap();
        assert_eq!((now.state, now.entry), (PaymentState::Begun, None));
        let rows = store.usage.list(&UsageFilter::default(), 10).unwrap();
        assert_eq!(rows.len(), 1, "one row for one sale");
        assert_eq!((rows[0].call.user, rows[0].charged), (None, PRICE));
        let tomorrow = Timestamp::now().plus_days(1);
        let earned = store.usage.earnings(MIRA, Timestamp(0), tomorrow).unwrap();
        assert_eq!((earned[0].gross, earned[0].earned), (PRICE, Money(8_000)));
        proved(store);
    });
}

/// Whoever writes to a server's tables, past this program, meets the same rules.
#[test]
fn the_schema_of_a_server_refuses_what_would_unbalance_the_books() {
    let folder = tempfile::tempdir().unwrap();
    let Some(url) = store_url(folder.path()) else { return };
    let store = store::open(&StoreUrl::parse(&url).unwrap(), StoreLimits::DEFAULT).unwrap();
    top_up(&*store.ledger, ANN, 500, "a");
    store.usage.record(&NewUsage { call: call(), outcome: Outcome::Failed, ms: 1 }).unwrap();
    let (address, name) = url.rsplit_once("library=").unwrap();
    let address = address.trim_end_matches(['?', '&']);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (client, connection) =
            tokio_postgres::connect(address, tokio_postgres::NoTls).await.unwrap();
        let driver = tokio::spawn(connection);
        let library = client
            .query_one("SELECT id FROM libraries WHERE name = $1", &[&name])
            .await
            .unwrap()
            .get::<_, i64>(0);
        client.batch_execute(&format!("SET nw.lib = '{library}'")).await.unwrap();
        let entry = "INSERT INTO entries (id, at, kind, key) VALUES (2, 0, 'top_up', 'b')";
        let posting = |account: i32, amount: i32| {
            format!("INSERT INTO postings (entry, account, amount) VALUES (2, {account}, {amount})")
        };
        let both = |one, two| format!("{}; {}", posting(1, one), posting(2, two));
        for (sql, reason) in [
            (format!("DELETE FROM accounts WHERE lib = {library}"), "append only"),
            (format!("UPDATE entries SET memo = 'x' WHERE lib = {library}"), "append only"),
            (format!("DELETE FROM postings WHERE lib = {library}"), "append only"),
            (format!("UPDATE usage SET charged = 5 WHERE lib = {library}"), "usage is append only"),
            ("TRUNCATE usage".to_owned(), "append only"),
            (entry.to_owned(), "sum to zero"),
            (format!("{}; {entry}", posting(2, 5)), "sum to zero"),
            (format!("{}; {entry}", both(-5, 6)), "sum to zero"),
            (both(-5, 5), "foreign key"),
            (
                "INSERT INTO postings (entry, account, amount) VALUES (1, 3, 1)".to_owned(),
                "no further postings",
            ),
            (format!("{}; {entry}", both(-5, 5)).replace("'b'", "'a'"), "duplicate key"),
            (format!("{}; {entry}", both(501, -501)), "below its floor"),
        ] {
            let done = client.batch_execute(&format!("BEGIN; {sql}; COMMIT")).await;
            let error = done.expect_err(&sql);
            let message = error.as_db_error().unwrap().message().to_owned();
            assert!(message.contains(reason), "{sql}: {message}");
            client.batch_execute("ROLLBACK").await.unwrap();
        }
        client
            .batch_execute(&format!("BEGIN; {}; {entry}; COMMIT", both(500, -500)))
            .await
            .unwrap();
        drop(client);
        driver.await.unwrap().unwrap();
    });
    assert!(store.ledger.damage().unwrap().is_empty());
    assert_eq!(balance(&store, Account::User(ANN)), Money::ZERO);
}

/// A server that restarted has forgotten the lock of a living process; its next call takes it
/// again, so that nobody releases what the call holds.
#[test]
fn a_living_process_keeps_its_holds_when_the_server_forgot_its_lock() {
    let folder = tempfile::tempdir().unwrap();
    let Some(url) = store_url(folder.path()) else { return };
    let open = || store::open(&StoreUrl::parse(&url).unwrap(), StoreLimits::DEFAULT).unwrap();
    let (store, other) = (open(), open());
    top_up(&*store.ledger, ANN, 1_000_000, "a");
    let process = store.ledger.enlist().unwrap();
    let held = |identity| match store.ledger.begin(&process, &hold(identity)).unwrap() {
        Admission::Held(hold) => hold,
        other => panic!("{other:?}"),
    };
    let first = held(1);
    assert_eq!(other.ledger.release_abandoned().unwrap(), 0, "it lives");
    let address = url.rsplit_once("library=").unwrap().0.trim_end_matches(['?', '&']).to_owned();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (client, connection) =
            tokio_postgres::connect(&address, tokio_postgres::NoTls).await.unwrap();
        let driver = tokio::spawn(connection);
        // Only the session that holds this lock: other tests use the same server.
        let sql = format!(
            "SELECT l.pid, pg_terminate_backend(l.pid) FROM pg_locks l, libraries b
             WHERE b.name = $1 AND l.locktype = 'advisory' AND l.objsubid = 1
               AND ((l.classid::bigint << 32) | l.objid::bigint)
                 = hashtextextended('notewell:' || b.id || ':process:' || {}, 0)",
            process.id
        );
        let name = url.rsplit_once("library=").unwrap().1;
        let ended = client.query(&sql, &[&name]).await.unwrap();
        assert_eq!(ended.len(), 1);
        // The session keeps its lock until the server has ended it.
        let held = "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND pid = $1";
        let session: i32 = ended[0].get(0);
        while !client.query(held, &[&session]).await.unwrap().is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        drop(client);
        driver.await.unwrap().unwrap();
    });
    let second = held(2);
    assert_eq!(other.ledger.release_abandoned().unwrap(), 0, "it lives, and has its lock again");
    for hold in [first, second] {
        assert_eq!(store.ledger.capture(hold, PRICE, 1).unwrap().outcome, Outcome::Charged);
    }
    drop(process);
    assert!(store.ledger.damage().unwrap().is_empty());
}
