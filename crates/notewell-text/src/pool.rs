//! Analysers that threads share.

use std::{
    sync::{LazyLock, Mutex, PoisonError},
    thread::available_parallelism,
};

use crate::Analyser;

/// Analysers that nobody uses. The last one used is the next one taken: its caches are warm.
static IDLE: Mutex<Vec<Analyser>> = Mutex::new(Vec::new());
/// How many are kept: one for each core. The system is asked once, because it reads files to answer.
static MAX_IDLE: LazyLock<usize> = LazyLock::new(|| available_parallelism().map_or(1, usize::from));

/// Runs `work` with an analyser whose caches earlier texts have filled.
///
/// An analyser takes more than a megabyte. A thread holds one only during `work`, and no more are
/// kept than the machine has cores, however many threads there are.
pub fn with_analyser<T>(work: impl FnOnce(&mut Analyser) -> T) -> T {
    let idle = || IDLE.lock().unwrap_or_else(PoisonError::into_inner);
    let taken = idle().pop();
    let mut analyser = taken.unwrap_or_default();
    let done = work(&mut analyser);
    let mut idle = idle();
    if idle.len() < *MAX_IDLE {
        idle.push(analyser);
    }
    done
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;
    use crate::Mode;

    #[test]
    fn every_thread_gets_one_and_few_are_kept() {
        let threads = 4 * *MAX_IDLE;
        let all = Barrier::new(threads);
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    with_analyser(|analyser| {
                        all.wait();
                        assert!(!analyser.terms("apples", None, Mode::Query).is_empty());
                    });
                });
            }
        });
        assert!(IDLE.lock().unwrap().len() <= threads / 4);
    }

    #[test]
    fn work_may_ask_for_another() {
        let nested = with_analyser(|outer| {
            let inner = with_analyser(|inner| inner.terms("книги", None, Mode::Query));
            (inner, outer.terms("книги", None, Mode::Query))
        });
        assert_eq!(nested.0, nested.1);
    }
}
