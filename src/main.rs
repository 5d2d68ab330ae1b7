//! The `notewell` program.

fn main() -> std::process::ExitCode {
    notewell::cli::main()
}
