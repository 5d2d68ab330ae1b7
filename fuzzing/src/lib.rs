//! The fuzzer: the targets, and what ends a process at a fault. Each target is a binary of its own
//! in `bin`, so that the linker drops what that target cannot reach: libFuzzer reads every counter
//! of a binary after every execution.

pub mod guard;
#[path = "../targets/mod.rs"]
pub mod targets;

#[doc(hidden)]
pub use libfuzzer_sys::fuzz_target;

/// The binary of one target.
#[macro_export]
macro_rules! fuzz {
    ($run:path) => {
        $crate::fuzz_target!(init: $crate::guard::init(), |data: &[u8]| {
            $crate::guard::run($run, data)
        });
    };
}
