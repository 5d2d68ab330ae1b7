//! Ctrl-C during long work: the person learns what is kept before the process ends.

use super::{asked_to_end, out};
use crate::domain::{Result, error::Doing};

/// The exit status of a command that was interrupted, as shells have it.
const INTERRUPTED: i32 = 130;

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
