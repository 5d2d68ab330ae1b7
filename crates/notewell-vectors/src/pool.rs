//! The thread pool that searches share. A search has about a millisecond of parallel work; starting
//! a thread for that would cost as much as it saves.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::LazyLock,
    thread,
};

use rayon::{ThreadPool, ThreadPoolBuilder};

/// Cached: the system call takes longer than some of the work that depends on it.
static CORES: LazyLock<usize> =
    LazyLock::new(|| thread::available_parallelism().map_or(1, usize::from));

/// `None` if the system refuses more threads; work then runs on the calling thread.
static POOL: LazyLock<Option<ThreadPool>> = LazyLock::new(|| {
    let built = ThreadPoolBuilder::new()
        .num_threads(*CORES)
        .thread_name(|number| format!("search-{number}"))
        .build();
    built.inspect_err(|error| tracing::warn!(%error, "the search thread pool could not start")).ok()
});

/// The number of cores.
pub fn cores() -> usize {
    *CORES
}

/// Runs `other` on the pool and `own` on this thread. A panic of `other` is returned. The pool has
/// one thread per core, so `own` should be the part that may block.
pub fn beside<A: Send, B>(
    other: impl FnOnce() -> A + Send,
    own: impl FnOnce() -> B,
) -> (thread::Result<A>, B) {
    let other = || catch_unwind(AssertUnwindSafe(other));
    let Some(pool) = &*POOL else { return (other(), own()) };
    let mut found = None;
    let own = pool.in_place_scope(|scope| {
        scope.spawn(|_| found = Some(other()));
        own()
    });
    (found.unwrap_or_else(|| Err(Box::new("it was not run"))), own)
}

/// Runs `work` on every part in parallel, the last one on this thread. Keeps the order.
pub fn each<P: Send, T: Send>(mut parts: Vec<P>, work: impl Fn(P) -> T + Sync) -> Vec<T> {
    let Some(last) = parts.pop() else { return Vec::new() };
    let pool = match &*POOL {
        Some(pool) if !parts.is_empty() => pool,
        _ => return parts.into_iter().chain([last]).map(work).collect(),
    };
    let mut found: Vec<Option<T>> = parts.iter().map(|_| None).collect();
    let own = pool.in_place_scope(|scope| {
        for (part, found) in parts.into_iter().zip(&mut found) {
            let work = &work;
            scope.spawn(move |_| *found = Some(work(part)));
        }
        work(last)
    });
    found.into_iter().flatten().chain([own]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_are_run_and_a_panic_is_told() {
        let (other, own) = beside(|| 1, || 2);
        assert_eq!((other.unwrap(), own), (1, 2));
        let (other, own) = beside(|| panic!("on purpose"), || 2);
        assert!(other.is_err());
        assert_eq!(own, 2);
    }

    #[test]
    fn parts_come_back_in_order() {
        assert_eq!(
            each((0..20).collect(), |part: u32| part * 2),
            (0..20).map(|n| n * 2).collect::<Vec<_>>()
        );
        assert!(each(Vec::new(), |part: u32| part).is_empty());
        // A part may have parts of its own, more than there are threads.
        let nested =
            each((0..20u32).collect(), |part| each(vec![part; 20], |n| n).iter().sum::<u32>());
        assert_eq!(nested, (0..20).map(|n| n * 20).collect::<Vec<_>>());
    }
}
