//! Giving freed memory back to the system after work. Allocators keep what a burst needed for as long
//! as the process runs, unless they are asked.

use std::{
    cell::Cell,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

/// Whether a thread holds freed memory that no other thread can give back.
const HEAP_OF_THREADS: bool = cfg!(target_env = "musl");
/// How often [`release`] was called.
static RELEASES: AtomicU64 = AtomicU64::new(0);

thread_local! {
    /// The release that this thread took part in.
    static OWN: Cell<u64> = const { Cell::new(0) };
}

/// Returns the freed pages of the heap to the system.
pub async fn release() {
    RELEASES.fetch_add(1, Ordering::Relaxed);
    // Walks the heap, so it stays off the threads that answer.
    drop(tokio::task::spawn_blocking(collect).await);
    if !HEAP_OF_THREADS {
        return;
    }
    // Every worker wakes up, and calls `release_own` before it sleeps again. A task that takes a
    // moment leaves the others to the other workers.
    for _ in 0..tokio::runtime::Handle::current().metrics().num_workers() {
        drop(tokio::spawn(async { std::thread::sleep(Duration::from_millis(1)) }));
    }
}

/// Returns the freed pages of this thread's part of the heap, once after each [`release`]. Threads of
/// the runtime call it before they sleep.
pub fn release_own() {
    let releases = RELEASES.load(Ordering::Relaxed);
    if HEAP_OF_THREADS && OWN.replace(releases) != releases {
        collect();
    }
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn collect() {
    #[expect(unsafe_code, reason = "the C library's allocator is reached no other way")]
    // SAFETY: `malloc_trim` takes no pointer, may be called at any time and from any thread.
    unsafe {
        libc::malloc_trim(0);
    }
}

#[cfg(target_env = "musl")]
fn collect() {
    use std::ptr::null_mut;
    // What this thread holds ready, then the free pages of all arenas, whose number is 4096.
    for control in [c"thread.tcache.flush", c"arena.4096.purge"] {
        #[expect(unsafe_code, reason = "the allocator is reached no other way")]
        // SAFETY: the name ends with a zero; both controls take and give no value, and may be called
        // at any time and from any thread.
        unsafe {
            tikv_jemalloc_sys::mallctl(control.as_ptr(), null_mut(), null_mut(), null_mut(), 0);
        }
    }
}

#[cfg(not(any(all(target_os = "linux", target_env = "gnu"), target_env = "musl")))]
fn collect() {}
