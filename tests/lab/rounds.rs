//! Rounds of faults on one write path. A chain of rounds begins with the same library; in each
//! round a program opens it, makes a change, and meets a fault at one system call. What the next
//! program sees is compared with what was acknowledged.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Once,
    thread::sleep,
    time::{Duration, Instant},
};

use crate::{
    bench::{Bench, panicked},
    design::Design,
    model::{Effect, Model, effect},
    paths::{Path, State},
    session::{Door, Outcome, Request, Session},
    shim::{Fault, Kind},
    tally::{HEAD, Tally},
};

/// How long a process may take to see a possible state: only one that never does waits so long.
const PATIENCE: Duration = Duration::from_secs(20);
/// Rounds of a chain that end in a kill; each takes one request, and the last check another.
const KILLS: u64 = 5;
/// Rounds of a chain with errors; each takes two requests, the second when the disk is well again.
const ERRORS: u64 = 3;

/// What may go wrong in a chain of rounds.
#[derive(Debug)]
pub enum Wrong {
    /// Something acknowledged is missing, or something else is there.
    Lost(String),
    Unopened(String),
    Other(String),
}

/// A write path on a library that can be put back to where it began.
pub struct Lab {
    pub bench: Bench,
    pub path: Path,
    pub start: State,
    pub effects: Vec<Effect>,
    /// The calls of each request, and those of the program's start before it.
    calls: Vec<(u64, u64)>,
}

impl Lab {
    fn new(bench: Bench, make: fn(&Bench) -> Path) -> Self {
        let path = make(&bench);
        Self::on(bench, path)
    }

    /// A laboratory on a library that was made.
    pub fn on(bench: Bench, path: Path) -> Self {
        bench.keep();
        let (start, effects, calls) = (State::new(), Vec::new(), Vec::new());
        let mut lab = Self { bench, path, start, effects, calls };
        lab.learn();
        lab
    }

    /// Makes every change once without faults: what it does, and how many calls it takes.
    fn learn(&mut self) {
        self.bench.restore();
        let mut session = self.open(false, false).expect("the program starts");
        let mut before = self.settled(&mut session);
        self.start = before.clone();
        for request in &self.path.requests {
            let outcome = session.perform(&self.bench, request);
            assert_eq!(outcome, Outcome::Done, "{}", self.path.name);
            let after = self.settled(&mut session);
            let effect = effect(&before, &after);
            assert!(!effect.is_empty(), "{}: a change without an effect", self.path.name);
            self.effects.push(effect);
            before = after;
        }
        session.close();
        for request in &self.path.requests {
            self.bench.restore();
            self.bench.control.plan([Fault::NONE; 2], 0, 1);
            self.bench.control.arm();
            let mut session = self.open(true, false).expect("the program starts");
            let ready = self.bench.control.count();
            session.perform(&self.bench, request);
            session.close();
            self.calls.push(((self.bench.control.count() - ready).max(1), ready));
        }
    }

    pub fn open(&self, faulty: bool, power: bool) -> Option<Session> {
        Session::start(&self.bench, self.path.door, &self.path.token, faulty, power)
    }

    /// The state once it no longer changes: a program that starts reads a vault in the background.
    fn settled(&self, session: &mut Session) -> State {
        let mut state = (self.path.observe)(&self.bench, session);
        loop {
            if self.path.door == Door::Stdio {
                sleep(Duration::from_millis(150));
            }
            let next = (self.path.observe)(&self.bench, session);
            if next == state {
                return state;
            }
            state = next;
        }
    }

    /// Runs a chain of rounds; gives what went wrong, and in which round.
    fn chain(&self, designs: &[Design], first: usize, tally: &mut Tally) -> Result<(), Wrong> {
        self.bench.restore();
        let mut model = Model(vec![self.start.clone()]);
        let total = self.path.requests.len();
        let mut requests = (first..first + total).map(|number| number % total);
        for design in designs {
            self.round(design, &mut model, &mut requests, tally)
                .inspect_err(|_| println!("{}: in round {}", self.path.name, design.round))?;
        }
        self.verify(&mut model, requests.next().expect("a request is left"))
    }

    fn round(
        &self,
        design: &Design,
        model: &mut Model,
        requests: &mut impl Iterator<Item = usize>,
        tally: &mut Tally,
    ) -> Result<(), Wrong> {
        let bench = &self.bench;
        let number = requests.next().expect("a request is left");
        let power = design.kinds().iter().any(|kind| kind.is_power());
        bench.control.plan(design.faults, design.jump, design.seed);
        if design.from_start {
            bench.control.arm();
        }
        let Some(mut session) = self.open(true, power) else {
            self.met(design, tally);
            return match design.ends() && design.from_start {
                true => Ok(()),
                false => Err(Wrong::Unopened(bench.log())),
            };
        };
        if !design.from_start {
            // What the round before left, seen by the process that is killed next.
            if self.path.door == Door::Stdio {
                self.look(&mut session, model)?;
            }
            bench.control.arm();
        }
        let outcome = session.perform(bench, &self.path.requests[number]);
        self.learned(model, number, &outcome, tally);
        if std::env::var("NOTEWELL_LAB_CHAIN").is_ok() {
            println!(
                "{}: request {number}: {outcome:?}; hit {}",
                design.round,
                bench.control.hit()
            );
        }
        if let Outcome::Refused(why) = &outcome {
            let expected = !design.ends() || design.kinds().contains(&Kind::SyncError);
            if !expected || why.trim().is_empty() {
                return Err(Wrong::Other(format!("refused: {why}")));
            }
        }
        if design.ends() {
            // The rest of the work, and the end of the program, are calls too.
            session.close();
        } else {
            if outcome == Outcome::Dead {
                return Err(Wrong::Other(format!("an error ended the program: {}", bench.log())));
            }
            // The disk is well again: the same process goes on.
            bench.control.disarm();
            let number = requests.next().expect("a request is left");
            let outcome = session.perform(bench, &self.path.requests[number]);
            self.learned(model, number, &outcome, tally);
            if outcome != Outcome::Done {
                return Err(Wrong::Other(format!("the disk is well again, and: {outcome:?}")));
            }
            session.kill();
        }
        self.met(design, tally);
        bench.control.disarm();
        match bench.log() {
            log if panicked(&log) => Err(Wrong::Other(log)),
            _ => Ok(()),
        }
    }

    fn met(&self, design: &Design, tally: &mut Tally) {
        if design.kinds().iter().any(|kind| kind.is_power()) {
            self.bench.boot(&design.round);
        }
        tally.hit += u64::from(self.bench.control.hits() > 0);
        tally.taken += self.bench.control.lost();
    }

    /// What an answer says about the state.
    pub fn learned(&self, model: &mut Model, number: usize, outcome: &Outcome, tally: &mut Tally) {
        let effect = &self.effects[number];
        // What a person saved is there, whatever the program does.
        let certain = matches!(self.path.requests[number], Request::Person { .. });
        match outcome {
            Outcome::Done => {
                tally.acknowledged += 1;
                model.done(effect);
                return;
            }
            Outcome::Refused(_) => tally.refused += 1,
            Outcome::Dead => {}
        }
        match outcome {
            _ if certain => model.done(effect),
            Outcome::Refused(why) if why.contains("nothing was changed") => {}
            _ => model.unknown(effect),
        }
    }

    /// Waits until a process sees a possible state.
    fn look(&self, session: &mut Session, model: &mut Model) -> Result<(), Wrong> {
        let end = Instant::now() + PATIENCE;
        loop {
            let observe = || (self.path.observe)(&self.bench, session);
            let state = catch_unwind(AssertUnwindSafe(observe)).map_err(|error| {
                let text = error.downcast_ref::<String>().map(String::as_str);
                let text = text.or_else(|| error.downcast_ref::<&str>().copied());
                Wrong::Unopened(format!("{} {}", text.unwrap_or("a panic"), self.bench.log()))
            })?;
            if model.accept(&state) {
                return Ok(());
            }
            if Instant::now() > end {
                return Err(Wrong::Lost(model.nearest(&state)));
            }
            sleep(Duration::from_millis(40));
        }
    }

    /// A new process sees a possible state, makes a further change, and leaves a sound library.
    pub fn verify(&self, model: &mut Model, number: usize) -> Result<(), Wrong> {
        let bench = &self.bench;
        // What writers left who were killed is removed when it is old.
        bench.control.advance(3_600);
        let Some(mut session) = self.open(false, false) else {
            return Err(Wrong::Unopened(bench.log()));
        };
        self.look(&mut session, model)?;
        match session.perform(bench, &self.path.requests[number]) {
            Outcome::Done => model.done(&self.effects[number]),
            other => return Err(Wrong::Other(format!("the next change: {other:?}"))),
        }
        self.look(&mut session, model)?;
        session.close();
        bench.try_say(&["doctor"]).map_err(Wrong::Other)?;
        let mut left = bench.leftovers();
        if left.iter().any(|path| path.contains(".user.jsonl.new-")) {
            // The next writer of prompts removes it, under their lock.
            let prompt = r#"{"name":"last","title":"Last","messages":[{"role":"user","content":{"type":"text","text":"x"}}]}"#;
            bench.try_say(&["call", "create_prompt", prompt]).map_err(Wrong::Other)?;
            left = bench.leftovers();
        }
        match left.is_empty() {
            true => Ok(()),
            false => Err(Wrong::Other(format!("left behind: {}", left.join(", ")))),
        }
    }

    /// The request with which a chain begins, or one of its rounds.
    fn turn(&self, number: u64) -> usize {
        usize::try_from(number).unwrap_or(0) % self.path.requests.len()
    }

    /// The kills of a chain.
    fn kills(&self, chain: u64, rounds: u64, tally: &mut Tally) -> Vec<Design> {
        let design = |link| {
            let calls = self.calls[self.turn(chain + link)];
            Design::kill(chain * KILLS + link, rounds, calls, tally)
        };
        (0..KILLS).map(design).collect()
    }

    /// The errors of a chain.
    fn errors(&self, chain: u64, rounds: u64, tally: &mut Tally) -> Vec<Design> {
        let design = |link| {
            let calls = self.calls[self.turn(chain + 2 * link)];
            Design::error(chain * ERRORS + link, rounds, calls, tally)
        };
        (0..ERRORS).map(design).collect()
    }

    /// Runs a chain, and counts and prints what is wrong.
    fn report(&self, designs: &[Design], first: usize, tally: &mut Tally) {
        let (what, text) = match self.chain(designs, first, tally) {
            Ok(()) => return,
            Err(Wrong::Lost(text)) => {
                tally.lost += 1;
                ("lost", text)
            }
            Err(Wrong::Unopened(text)) => {
                tally.unopened += 1;
                ("not opened", text)
            }
            Err(Wrong::Other(text)) => {
                tally.other += 1;
                ("wrong", text)
            }
        };
        let hit = self.bench.control.hit();
        let designs: Vec<String> = designs.iter().map(|one| format!("    {one:?}")).collect();
        println!(
            "{}: {what}: {text}\n  last {hit}\n  chain from {first}:\n{}",
            self.path.name,
            designs.join("\n")
        );
    }
}

/// Chains in an order that is spread over all of them from the beginning.
fn spread(chains: u64) -> impl Iterator<Item = u64> {
    let near = chains * 5 / 8;
    let coprime =
        |step: &u64| (2..=*step).all(|by| !step.is_multiple_of(by) || !chains.is_multiple_of(by));
    let step = (1..=near.max(1)).rev().find(coprime).unwrap_or(1);
    (0..chains).map(move |number| number * step % chains)
}

/// Runs the rounds of a path and prints its row of the table. `NOTEWELL_LAB_CHAIN=kill:7` runs one
/// chain of them, `NOTEWELL_LAB_SECONDS` ends them early.
pub fn run(make: fn(&Bench) -> Path, rounds: u64) {
    let Some(bench) = Bench::new() else { return };
    let begun = Instant::now();
    let setting = |name| std::env::var(name).ok();
    let limit = setting("NOTEWELL_LAB_SECONDS").and_then(|text| text.parse().ok());
    let limit = limit.map_or(Duration::MAX, Duration::from_secs);
    let only = setting("NOTEWELL_LAB_CHAIN");
    let lab = Lab::new(bench, make);
    let wanted =
        |name: String| begun.elapsed() < limit && only.as_ref().is_none_or(|only| *only == name);
    let mut tally = Tally::default();
    let errors = (rounds / 3).max(9);
    let mut of_errors = spread(errors.div_ceil(ERRORS));
    for (number, chain) in (1..).zip(spread(rounds.div_ceil(KILLS))) {
        if wanted(format!("kill:{chain}")) {
            let designs = lab.kills(chain, rounds, &mut tally);
            lab.report(&designs, lab.turn(chain), &mut tally);
        }
        // Errors in between, and the rest of them at the end.
        let some = if number * KILLS >= rounds { usize::MAX } else { usize::from(number % 2 == 0) };
        for chain in of_errors.by_ref().take(some) {
            if wanted(format!("error:{chain}")) {
                let designs = lab.errors(chain, errors, &mut tally);
                lab.report(&designs, lab.turn(chain), &mut tally);
            }
        }
    }
    let calls = lab.calls.iter().map(|calls| calls.0).max().unwrap_or(0);
    static TABLE: Once = Once::new();
    TABLE.call_once(|| println!("{HEAD}"));
    println!("{}", tally.row(lab.path.name, calls, begun.elapsed().as_secs()));
    let wrong = tally.wrong();
    assert_eq!(wrong, 0, "{}: {wrong} went wrong", lab.path.name);
}

/// Fails one `fsync` after another in one change, each once: what was refused does not come back in
/// part when the next process opens the library.
pub fn unconfirmed(make: fn(&Bench) -> Path, request: usize) {
    let Some(bench) = Bench::new() else { return };
    let lab = Lab::new(bench, make);
    for at in (6..40).step_by(3) {
        let faults = [Fault::once(Kind::SyncError, at), Fault::NONE];
        let round = format!("unconfirmed {at}");
        let designs = [Design { round, faults, from_start: false, jump: 0, seed: at }];
        let mut tally = Tally::default();
        lab.report(&designs, request, &mut tally);
        assert_eq!(tally.wrong(), 0, "{}", lab.path.name);
    }
}

/// Whether the rounds of a path find out that the disk lies about what is synced.
pub fn notices_lies(make: fn(&Bench) -> Path) -> bool {
    let Some(mut bench) = Bench::new() else { return true };
    bench.lies = true;
    let lab = Lab::new(bench, make);
    let mut tally = Tally::default();
    (0..20).any(|chain| {
        let designs = lab.kills(chain, 100, &mut tally);
        let wrong = lab.chain(&designs, lab.turn(chain), &mut tally);
        matches!(wrong, Err(Wrong::Lost(_) | Wrong::Unopened(_)))
    })
}
