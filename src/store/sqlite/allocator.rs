//! The allocator of SQLite in static builds. It is C code, and that of musl has one lock for all threads
//! and keeps what a burst needed.

use std::ffi::{c_int, c_void};

use rusqlite::ffi::{SQLITE_CONFIG_MALLOC, SQLITE_OK, sqlite3_config, sqlite3_mem_methods};
use tikv_jemalloc_sys as jemalloc;

/// Has SQLite allocate with jemalloc. Call it before the first database is opened.
#[expect(unsafe_code, reason = "SQLite takes its allocator through its C interface")]
pub fn use_jemalloc() {
    let methods = sqlite3_mem_methods {
        xMalloc: Some(allocate),
        xFree: Some(free),
        xRealloc: Some(reallocate),
        xSize: Some(size),
        xRoundup: Some(round_up),
        xInit: Some(start),
        xShutdown: Some(stop),
        pAppData: std::ptr::null_mut(),
    };
    // SAFETY: SQLite copies the table. The functions meet its contract: `allocate` and `reallocate`
    // return blocks of at least the size asked for or null, the others take blocks that these returned.
    let code = unsafe { sqlite3_config(SQLITE_CONFIG_MALLOC, &raw const methods) };
    // Otherwise SQLite was started already, and keeps the allocator that it has.
    debug_assert_eq!(code, SQLITE_OK);
}

#[expect(unsafe_code, reason = "called by C")]
unsafe extern "C" fn allocate(bytes: c_int) -> *mut c_void {
    // SAFETY: any size is allowed.
    unsafe { jemalloc::malloc(usize::try_from(bytes).unwrap_or_default()) }
}

#[expect(unsafe_code, reason = "called by C")]
unsafe extern "C" fn free(block: *mut c_void) {
    // SAFETY: SQLite frees each block once.
    unsafe { jemalloc::free(block) }
}

#[expect(unsafe_code, reason = "called by C")]
unsafe extern "C" fn reallocate(block: *mut c_void, bytes: c_int) -> *mut c_void {
    // SAFETY: `block` came from `allocate` or from here.
    unsafe { jemalloc::realloc(block, usize::try_from(bytes).unwrap_or_default()) }
}

#[expect(unsafe_code, reason = "called by C")]
unsafe extern "C" fn size(block: *mut c_void) -> c_int {
    // SAFETY: `block` came from `allocate` or `reallocate`.
    let bytes = unsafe { jemalloc::malloc_usable_size(block) };
    c_int::try_from(bytes).unwrap_or(c_int::MAX)
}

#[expect(unsafe_code, reason = "called by C")]
unsafe extern "C" fn round_up(bytes: c_int) -> c_int {
    // jemalloc rounds a size up by itself; SQLite only wants multiples of eight.
    bytes.saturating_add(7) & !7
}

#[expect(unsafe_code, reason = "called by C")]
unsafe extern "C" fn start(_: *mut c_void) -> c_int {
    SQLITE_OK
}

#[expect(unsafe_code, reason = "called by C")]
unsafe extern "C" fn stop(_: *mut c_void) {}
