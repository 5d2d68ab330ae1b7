//! Throughput of every instruction set of this processor, side by side, on one core.
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    unsafe_code,
    reason = "a measurement for the terminal"
)]

use notewell_model::{Embedded, Role};

/// Processor time of this thread in seconds, which other processes do not change much.
fn now() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call writes one `timespec`.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

fn main() {
    let passage = "Cats sleep up to sixteen hours a day, and kittens even longer. ".repeat(11);
    let batch = vec![passage.as_str(); 16];
    println!("{:<12} {:>10} {:>14}", "kernel", "tokens/s", "question, ms");
    for name in ["amx", "avx512vnni", "avx2", "neon-dotprod", "neon", "portable"] {
        let Some(model) = Embedded::with_instructions(name) else { continue };
        let tokens = model.tokens(&passage) * batch.len();
        model.encode(&batch, Role::Passage).unwrap();
        let (started, mut runs) = (now(), 0);
        while now() - started < 1.5 {
            model.encode(&batch, Role::Passage).unwrap();
            runs += 1;
        }
        let rate = (tokens * runs) as f64 / (now() - started);
        let mut times: Vec<f64> = (0..100)
            .map(|_| {
                let started = now();
                model.encode(&["how long do cats sleep in winter"], Role::Query).unwrap();
                (now() - started) * 1_000.0
            })
            .collect();
        times.sort_by(f64::total_cmp);
        println!("{name:<12} {rate:>10.0} {:>14.2}", times[50]);
    }
}
