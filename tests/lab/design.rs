//! Which fault comes in which round. Many rounds take one call after another, kind by kind; few are
//! spread over all calls.

use crate::{
    Dice,
    shim::{Fault, Kind},
    tally::Tally,
};

const YEAR: i64 = 365 * 86_400;
const SEED: u64 = 0x5eed_0fa0_1752;

/// What a round does.
#[derive(Debug)]
pub struct Design {
    pub round: String,
    pub faults: [Fault; 2],
    /// Whether faults may come before the program is ready: while it opens the library, and repairs
    /// what the round before left.
    pub from_start: bool,
    /// Seconds that the clock jumps.
    pub jump: i64,
    pub seed: u64,
}

impl Design {
    pub fn kinds(&self) -> [Kind; 2] {
        self.faults.map(|fault| fault.kind)
    }

    /// Whether the program is meant to die.
    pub fn ends(&self) -> bool {
        self.kinds().iter().any(|kind| kind.is_end())
    }

    /// A kill or a power cut. `calls` are those of the change, and those before it.
    pub fn kill(round: u64, rounds: u64, calls: (u64, u64), tally: &mut Tally) -> Self {
        let mut dice = Dice(SEED ^ (round + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let kind = match round % 6 {
            0 => Kind::KillBefore,
            1 | 4 => Kind::PowerAfter,
            2 => Kind::KillAfter,
            3 => Kind::PowerBefore,
            _ => Kind::KillShort,
        };
        let counter = if kind.is_power() { &mut tally.cuts } else { &mut tally.kills };
        *counter += 1;
        let from_start = round % 5 == 4;
        let among = if from_start { calls.0 + calls.1 } else { calls.0 };
        let at = spread(round / 6, rounds / 6, among, &mut dice);
        let faults = [Fault::once(kind, at), Fault::NONE];
        let seed = SEED ^ (round * 77 + 5);
        Self { round: format!("kill {round}"), faults, from_start, jump: 0, seed }
    }

    /// An error after which the program goes on.
    pub fn error(round: u64, rounds: u64, calls: (u64, u64), tally: &mut Tally) -> Self {
        let mut dice = Dice(SEED ^ (round + 7).wrapping_mul(0x2545_f491_4f6c_dd1d));
        let at = spread(round / 9, rounds / 9, calls.0, &mut dice);
        let always = u64::MAX;
        let (mut jump, mut then) = (0, Fault::NONE);
        let (kind, span, counter) = match round % 9 {
            0 => (Kind::NoSpace, 1, &mut tally.full),
            1 => (Kind::NoSpace, always, &mut tally.full),
            2 => (Kind::IoError, 1, &mut tally.broken),
            3 => (Kind::IoError, always, &mut tally.broken),
            4 => (Kind::SyncError, 1, &mut tally.unsynced),
            5 => (Kind::SyncError, always, &mut tally.unsynced),
            6 => {
                then = Fault::once(Kind::PowerAfter, at + 1 + dice.roll(40));
                (Kind::SyncError, 1, &mut tally.unsynced)
            }
            7 => (Kind::ShortWrite, 1, &mut tally.short),
            _ => {
                jump = if dice.roll(2) == 0 { YEAR } else { -YEAR };
                (Kind::ClockJump, 1, &mut tally.clock)
            }
        };
        *counter += 1;
        let faults = [Fault { kind, at, span }, then];
        let seed = SEED ^ (round * 91 + 3);
        Self { round: format!("error {round}"), faults, from_start: false, jump, seed }
    }
}

/// The call of one turn of several.
fn spread(turn: u64, turns: u64, calls: u64, dice: &mut Dice) -> u64 {
    let turns = turns.max(1);
    1 + match turns < calls {
        true => ((turn * calls) / turns + dice.roll(calls / turns)) % calls,
        false => turn % calls.max(1),
    }
}
