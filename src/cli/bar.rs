//! A bar for long work, on a terminal; nothing where nobody watches.

use std::{
    fmt,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use indicatif::{HumanFloatCount, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use super::{interrupt::Interrupt, out};
use crate::domain::Progress;

/// What is counted, how much of it is done, how fast, and how long the rest takes.
const COUNTED: &str = "{msg} {wide_bar} {human_pos}/{human_len}, {speed}, {eta} left";
/// The same for files, which are counted in bytes.
const BYTES: &str = "{msg} {wide_bar} {bytes}/{total_bytes}, {bytes_per_sec}, {eta} left";

/// Work that is done sooner shows no bar.
const DELAY: Duration = Duration::from_millis(400);

pub struct Bar {
    bar: ProgressBar,
    message: Mutex<String>,
    begun: Instant,
    interrupt: Interrupt,
    /// The last reason for waiting, which is printed once.
    waiting: Mutex<String>,
}

impl Bar {
    /// Counts things. Drawn on stderr, and only when that is a terminal.
    pub fn new() -> Self {
        Self::with_template(COUNTED)
    }

    /// Counts the bytes of a file.
    pub fn of_bytes() -> Self {
        Self::with_template(BYTES)
    }

    fn with_template(template: &str) -> Self {
        let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::hidden());
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.with_key("speed", speed));
        }
        Self {
            bar,
            message: Mutex::default(),
            begun: Instant::now(),
            waiting: Mutex::default(),
            interrupt: Interrupt::default(),
        }
    }

    /// The same for work that ends early when the person interrupts it.
    pub fn until(self, interrupt: Interrupt) -> Self {
        Self { interrupt, ..self }
    }

    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

/// Whole things a second; one decimal where they are few.
fn speed(state: &ProgressState, to: &mut dyn fmt::Write) {
    let speed = state.per_sec();
    let decimals = if speed < 10.0 { 1 } else { 0 };
    // A bar that cannot be drawn stops no work.
    let _ = write!(to, "{:.decimals$}/s", HumanFloatCount(speed));
}

impl Progress for Bar {
    fn report(&self, done: u64, total: Option<u64>, message: &str) {
        if self.bar.is_hidden() && self.begun.elapsed() > DELAY {
            // Draws nothing where stderr is not a terminal.
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        let mut shown = self.message.lock().unwrap_or_else(PoisonError::into_inner);
        if *shown != message {
            self.bar.set_message(out::escape(message).into_owned());
            message.clone_into(&mut shown);
        }
        if let Some(total) = total.filter(|total| self.bar.length() != Some(*total)) {
            // Other work: the speed so far says nothing about it, nor does what an earlier run did.
            self.bar.reset();
            self.bar.set_position(done);
            // The estimate takes note of the position here, always.
            self.bar.set_length(total);
            self.bar.reset_eta();
        }
        self.bar.set_position(done);
    }

    fn stopped(&self) -> bool {
        self.interrupt.pressed()
    }

    fn waiting(&self, why: &str) {
        let mut last = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if *last != why {
            self.bar.suspend(|| out::note(why));
            why.clone_into(&mut last);
        }
    }
}
