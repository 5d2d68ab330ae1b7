//! What ends a process: a panic, and an input that takes too long.

use std::{
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    thread,
    time::Duration,
};

/// How often the clock looks.
const TICK: Duration = Duration::from_millis(100);
/// Milliseconds that an input may compute.
const MAX_COMPUTING: u64 = 10_000;
/// Ticks until an input that waits for something is a fault: a minute.
const MAX_TICKS: u64 = 600;

/// Counts beginnings and ends of executions: odd while an input is handled.
static PHASE: AtomicU64 = AtomicU64::new(0);

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
    thread::spawn(clock);
}

/// Handles one input.
pub fn run(target: fn(&[u8]), data: &[u8]) {
    PHASE.fetch_add(1, Relaxed);
    target(data);
    PHASE.fetch_add(1, Relaxed);
}

/// Ends the process at an input that takes too long, and prints how long the slowest one computed.
///
/// libFuzzer's own limit counts the time of the wall: it reports a hang in a process that was stopped
/// for a while, or had to wait for its turn on a busy machine.
fn clock() {
    let (mut last, mut ticks, mut before, mut slowest) = (0, 0, 0, 0);
    loop {
        thread::sleep(TICK);
        let phase = PHASE.load(Relaxed);
        if phase != last || phase % 2 == 0 {
            (last, ticks, before) = (phase, 0, computed());
            continue;
        }
        ticks += 1;
        let took = computed() - before;
        if took >= slowest + 100 {
            slowest = took;
            eprintln!("slowest input so far: {took} ms");
        }
        if took >= MAX_COMPUTING || ticks >= MAX_TICKS {
            eprintln!("ERROR: an input takes too long: {took} ms of computing so far");
            std::process::abort();
        }
    }
}

/// Milliseconds that this process has computed; zero where the system does not say.
fn computed() -> u64 {
    let status = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // Behind the name of the program, which may hold spaces, fields 12 and 13 count hundredths.
    let fields = status.rsplit(')').next().unwrap_or_default().split_whitespace();
    fields.skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum::<u64>() * 10
}
