//! Ctrl-C during long work: the person learns what is kept before the process ends.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{asked_to_end, out};
use crate::domain::{Result, error::Doing};

/// The exit status of a command that was interrupted, as shells have it.
pub const INTERRUPTED: i32 = 130;

/// From now on, an interrupt prints this and ends the process. Everything acknowledged is durable
/// at any moment, so that nothing has to be waited for.
pub fn explain(message: &'static str) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .doing("listen for interrupts")?;
    std::thread::Builder::new()
        .name("interrupt".into())
        .spawn(move || {
            runtime.block_on(asked_to_end());
            end(message);
        })
        .doing("listen for interrupts")?;
    Ok(())
}

fn end(message: &str) -> ! {
    // Below the bar, which may be on the screen.
    out::note(format_args!("\n{message}"));
    std::process::exit(INTERRUPTED);
}

/// Set once the person asked for the end: work that checks it ends at the next safe point.
#[derive(Clone, Default)]
pub struct Interrupt(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    is_pressed: bool,
    /// What the person reads when there is nothing to wait for.
    farewell: Option<&'static str>,
}

impl Interrupt {
    /// Listens from now on. A second interrupt ends the process at once.
    pub fn listen() -> Result<Self> {
        let interrupt = Self::default();
        let asked = interrupt.clone();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .doing("listen for interrupts")?;
        let wait = move || {
            runtime.block_on(asked_to_end());
            asked.press();
            out::note("\nStopping; press Ctrl-C again to end at once.");
            runtime.block_on(asked_to_end());
            std::process::exit(INTERRUPTED);
        };
        std::thread::Builder::new()
            .name("interrupt".into())
            .spawn(wait)
            .doing("listen for interrupts")?;
        Ok(interrupt)
    }

    fn press(&self) {
        let mut state = self.state();
        if let Some(farewell) = state.farewell {
            end(farewell);
        }
        state.is_pressed = true;
    }

    pub fn pressed(&self) -> bool {
        self.state().is_pressed
    }

    /// From now on the first interrupt prints this and ends the process, as [`explain`] does.
    pub fn end_with(&self, message: &'static str) {
        let mut state = self.state();
        if state.is_pressed {
            end(message);
        }
        state.farewell = Some(message);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
