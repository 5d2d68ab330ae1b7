//! The fuzzer of pure functions and importers.

#![no_main]

#[path = "../choose.rs"]
mod choose;
#[allow(dead_code, reason = "the other binary runs the other targets")]
#[path = "../../targets/mod.rs"]
mod targets;

libfuzzer_sys::fuzz_target!(init: choose::init(), |data: &[u8]| choose::run(targets::TEXT, data));
