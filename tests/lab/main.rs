//! The lab: damage, kills and faults in numbers. `cargo test` runs a few rounds of each; `./test lab`
//! runs a thousand. `NOTEWELL_LAB_ROUNDS` sets the number. docs/reliability.md has the results.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a test, and what it is made of, may stop at the first surprise"
)]

#[cfg(target_os = "linux")]
mod bench;
#[cfg(target_os = "linux")]
mod design;
#[cfg(target_os = "linux")]
mod faults;
mod flips;
mod kills;
#[cfg(target_os = "linux")]
mod model;
#[cfg(target_os = "linux")]
mod paths;
#[cfg(target_os = "linux")]
mod rounds;
#[cfg(target_os = "linux")]
mod session;
#[cfg(target_os = "linux")]
mod shim;
#[allow(dead_code, reason = "the other test binary uses the rest")]
#[path = "../it/support.rs"]
mod support;
#[cfg(target_os = "linux")]
mod tally;
#[cfg(target_os = "linux")]
mod versions;

/// How many rounds each experiment runs.
fn rounds() -> u64 {
    let asked = std::env::var("NOTEWELL_LAB_ROUNDS").ok();
    asked.and_then(|rounds| rounds.parse().ok()).unwrap_or(60)
}

/// A small generator of numbers (xorshift), so that a failure can be repeated.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides.max(1)
    }
}
