//! Ctrl-C during long work: the person learns what is kept before the process ends.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

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
            // Below the bar, which may be on the screen.
            out::note(format_args!("\n{message}"));
            std::process::exit(INTERRUPTED);
        })
        .doing("listen for interrupts")?;
    Ok(())
}

/// Set once the person asked for the end: work that checks it ends at the next safe point.
#[derive(Clone, Default)]
pub struct Interrupt(Arc<AtomicBool>);

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
            asked.0.store(true, Ordering::Relaxed);
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

    pub fn pressed(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
