//! The `notewell` program.

/// The allocator of the static builds. The one of musl has a single lock; BENCHMARKS.md compares them.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    notewell::cli::main()
}
