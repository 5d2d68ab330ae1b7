//! Giving freed memory back to the system.

/// Returns freed pages of the heap to the system. The allocator of the C library keeps what a burst
/// of work needed for as long as the process runs, unless it is asked.
pub fn release() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    #[expect(unsafe_code, reason = "the C library's allocator is reached no other way")]
    // SAFETY: `malloc_trim` takes no pointer, may be called at any time and from any thread.
    unsafe {
        libc::malloc_trim(0);
    }
}
