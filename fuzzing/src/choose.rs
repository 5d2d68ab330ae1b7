//! Which target this process fuzzes, and which panics are faults.

use std::sync::OnceLock;

use crate::targets::Target;

/// Every panic ends the process, also one that the product would catch. The exception is
/// `pulldown-latex`, whose panics the product expects and turns into plain text.
pub fn init() {
    std::panic::set_hook(Box::new(|info| {
        let place = info.location().map(|location| location.file()).unwrap_or_default();
        if place.contains("pulldown-latex") {
            return;
        }
        eprintln!("{info}\n{}", std::backtrace::Backtrace::force_capture());
        std::process::abort();
    }));
}

/// Runs the target that the environment names.
pub fn run(targets: &'static [Target], data: &[u8]) {
    static CHOSEN: OnceLock<fn(&[u8])> = OnceLock::new();
    let run = CHOSEN.get_or_init(|| {
        let name = std::env::var("NOTEWELL_FUZZ").unwrap_or_default();
        match targets.iter().find(|target| target.name == name) {
            Some(target) => target.run,
            None => {
                eprintln!(
                    "NOTEWELL_FUZZ=`{name}` is no target of this binary; ./fuzz --list shows them"
                );
                std::process::exit(2);
            }
        }
    });
    run(data);
}
