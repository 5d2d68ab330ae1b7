//! The books, against a model: sums are zero, nobody falls below zero, the same thing twice is done
//! once.

use std::cell::RefCell;

use notewell::{
    domain::{Money, Pid, Timestamp, UserId},
    store::{
        Ledger,
        ledger::{
            Account, Admission, CallIdentity, EntryKind, HoldId, NewEntry, NewHold, Outside,
            Posted, Process,
        },
        sqlite::Sqlite,
        usage::{Call, Outcome},
    },
};

use super::folder;

/// Executions until the books start again: they only grow.
const MAX_EXECUTIONS: i64 = 1_000;
/// Executions between two proofs of all books. A proof reads everything that was booked.
const PROOF: i64 = 200;
/// Operations of one input.
const MAX_OPERATIONS: usize = 8;
const USERS: usize = 2;

struct Books {
    database: Sqlite,
    process: Process,
    executions: i64,
    _folder: tempfile::TempDir,
}

impl Books {
    fn open() -> Self {
        let folder = folder();
        let database = Sqlite::open(&folder.path().join("notewell.db")).expect("new books");
        let process = database.enlist().expect("this process");
        Self { database, process, executions: 0, _folder: folder }
    }
}

thread_local! {
    static BOOKS: RefCell<Option<Books>> = const { RefCell::new(None) };
}

/// What the books must say of one user.
#[derive(Default)]
struct Model {
    credit: i64,
    held: i64,
    earned: i64,
    holds: Vec<(HoldId, i64, bool)>,
}

/// Operations of three bytes each: what, for whom and under which key, how much.
pub fn ledger(data: &[u8]) {
    BOOKS.with_borrow_mut(|books| {
        if books.as_ref().is_none_or(|books| books.executions >= MAX_EXECUTIONS) {
            // The old books go before new ones come.
            *books = None;
            *books = Some(Books::open());
        }
        let books = books.as_mut().expect("open books");
        books.executions += 1;
        run(books, data);
    });
}

fn run(books: &Books, data: &[u8]) {
    let database = &books.database;
    // Users of this execution alone, so that the model starts at nothing.
    let first = books.executions * 10;
    let users: [UserId; USERS] = std::array::from_fn(|at| UserId(first + at as i64));
    let mut models: [Model; USERS] = Default::default();
    for step in data.chunks_exact(3).take(MAX_OPERATIONS) {
        let (what, who, much) = (step[0] % 8, step[1], i64::from(step[2]));
        let at = usize::from(who) % USERS;
        let key = format!("{first}:{}", who / 2 % 4);
        operate(books, &users, &mut models, at, what, &key, much);
    }
    for (user, model) in users.iter().zip(&models) {
        for (account, expected) in [
            (Account::User(*user), model.credit),
            (Account::Held(*user), model.held),
            (Account::Author(*user), model.earned),
        ] {
            assert_eq!(database.balance(account).expect("a balance"), Money(expected), "{account}");
        }
        assert!(model.credit >= 0 && model.held >= 0);
    }
    // What is under way ends with its execution.
    for hold in models.iter().flat_map(|model| &model.holds).filter(|hold| hold.2) {
        assert!(database.release(hold.0, Outcome::Failed, 1).expect("an open hold"));
    }
    if books.executions % PROOF == 0 {
        assert_eq!(database.damage().expect("a proof"), [] as [String; 0]);
        let sum: i64 = database.balances().expect("balances").iter().map(|(_, m)| m.0).sum();
        assert_eq!(sum, 0, "all balances together");
        assert!(database.open_holds().expect("holds").is_empty());
    }
}

fn operate(
    books: &Books,
    users: &[UserId; USERS],
    models: &mut [Model; USERS],
    at: usize,
    what: u8,
    key: &str,
    much: i64,
) {
    let database = &books.database;
    let (user, author) = (users[at], users[(at + 1) % USERS]);
    match what {
        0 => {
            let entry = NewEntry::new(EntryKind::TopUp, format!("top:{key}"))
                .add(Account::Outside(Outside::Manual), Money(-much))
                .add(Account::User(user), Money(much));
            let known = database.of_key(&entry.key).expect("a look");
            match database.post(&entry) {
                Ok(Posted::New(_)) => {
                    assert!(known.is_none());
                    models[at].credit += much;
                }
                Ok(Posted::Known(entry)) => assert_eq!(Some(entry), known),
                // Another amount or user under the same key, or nothing at all.
                Err(_) => assert!(known.is_some() || much == 0),
            }
        }
        // More than there is must be refused, and change nothing.
        1 => {
            let entry = NewEntry::new(EntryKind::Payout, format!("out:{key}"))
                .add(Account::User(user), Money(-much))
                .add(Account::Outside(Outside::Stripe), Money(much));
            match database.post(&entry) {
                Ok(Posted::New(_)) => {
                    assert!(much <= models[at].credit, "below zero");
                    models[at].credit -= much;
                }
                Ok(Posted::Known(_)) | Err(_) => {}
            }
        }
        // A sum other than zero is no entry.
        2 => {
            let entry = NewEntry::new(EntryKind::Sale, format!("odd:{key}"))
                .add(Account::User(user), Money(-much - 1))
                .add(Account::Platform, Money(much));
            assert!(database.post(&entry).is_err());
        }
        3 | 4 => begin(books, &mut models[at], user, author, key, much, what == 4),
        5 | 6 => capture(books, models, at, much),
        _ => {
            let model = &mut models[at];
            let Some((id, price, open)) = model.holds.last_mut() else { return };
            let released = database.release(*id, Outcome::Failed, 1).expect("an answer");
            assert_eq!(released, *open, "a hold is released once");
            if *open {
                model.credit += *price;
                model.held -= *price;
                *open = false;
            }
        }
    }
}

fn begin(
    books: &Books,
    model: &mut Model,
    user: UserId,
    author: UserId,
    key: &str,
    price: i64,
    other: bool,
) {
    let identity = |text: String| notewell::app::tokens::hash(&text);
    let hold = NewHold {
        call: Call {
            user: Some(user),
            token: None,
            method: "method".into(),
            page: Pid(1),
            author: Some(author),
            version: "v".into(),
            price: Money(price + 1),
            request: "1".into(),
        },
        identity: CallIdentity {
            call: identity(format!("{user:?}{key}")),
            arguments: identity(format!("{key}{other}")),
        },
        trial_calls: 0,
        user_cap: Money(1_000),
        token_cap: Money(1_000),
        day: Timestamp(0),
        repeat_since: Timestamp(0),
    };
    match books.database.begin(&books.process, &hold).expect("an answer") {
        Admission::Held(id) => {
            assert!(model.credit > price, "a call that the credit does not cover");
            model.credit -= price + 1;
            model.held += price + 1;
            model.holds.push((id, price + 1, true));
        }
        Admission::Short(credit) => {
            assert_eq!(credit, Money(model.credit));
            assert!(model.credit <= price);
        }
        Admission::Running => assert!(model.credit <= price),
        Admission::Trial(..) => panic!("no trial was offered"),
        Admission::Repeat(_)
        | Admission::KeyTaken
        | Admission::UserCap(_)
        | Admission::TokenCap(_) => {}
    }
}

fn capture(books: &Books, models: &mut [Model; USERS], at: usize, much: i64) {
    let count = models[at].holds.len();
    if count == 0 {
        return;
    }
    let place = usize::try_from(much).unwrap_or_default() % count;
    let (id, price, open) = models[at].holds[place];
    let share = Money(price).split(70).0;
    match books.database.capture(id, share, 1) {
        Ok(captured) => {
            assert!(open, "a hold is captured once");
            models[at].held -= price;
            models[at].holds[place].2 = false;
            match captured.outcome {
                Outcome::Charged => {
                    assert_eq!(captured.charged, Money(price));
                    models[(at + 1) % USERS].earned += share.0;
                }
                // The same call was charged meanwhile.
                Outcome::Repeat => models[at].credit += price,
                other => panic!("{other:?}"),
            }
            assert_eq!(captured.balance, Money(models[at].credit));
        }
        Err(_) => assert!(!open, "an open hold can be captured"),
    }
}
