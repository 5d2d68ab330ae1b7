//! Background threads step aside for searches.
#![allow(unsafe_code, reason = "one system call that the standard library does not offer")]

/// Makes the calling thread the last to be served. A refusal changes nothing but the speed of
/// others, so it is not reported.
pub(super) fn lower() {
    #[cfg(target_os = "linux")]
    // SAFETY: plain system calls without pointers. On Linux the priority belongs to the thread.
    unsafe {
        let thread = libc::gettid();
        libc::setpriority(libc::PRIO_PROCESS, thread.unsigned_abs(), 15);
    }
}
