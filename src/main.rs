//! The `notewell` program.

/// The allocator of the static builds: that of musl has one lock for all threads.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// How it is set: freed pages go back after a second, and a thread keeps only small blocks ready.
#[cfg(target_env = "musl")]
#[expect(unsafe_code, reason = "the allocator reads its settings before `main`, by this name")]
// SAFETY: jemalloc expects a pointer to a text that ends with a zero.
#[unsafe(export_name = "_rjem_malloc_conf")]
#[used]
static ALLOCATOR_SETTINGS: &[u8; 53] = b"dirty_decay_ms:1000,muzzy_decay_ms:0,tcache_max:4096\0";

fn main() -> std::process::ExitCode {
    #[cfg(target_env = "musl")]
    notewell::store::sqlite::use_jemalloc();
    notewell::cli::main()
}
