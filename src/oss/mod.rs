//! Reports on repositories: is this code safe to try?
//!
//! A repository is fetched (`url`, `clone`), read (`tree`, `code`, `licence`, `language`, `history`,
//! `lockfiles`, `vulnerabilities`), judged by a table of checks with published weights (`checks`),
//! built and tested in a sandbox (`build`, `sandbox`, `seccomp`), and summed up in a verdict with its
//! evidence and its gaps (`verdict`, `coverage`, `report`).
//!
//! No code of a repository runs outside the sandbox: no hook, filter, submodule or build. The score
//! depends on the commit and nothing else. `docs/oss-report.md` has the rules.

mod build;
pub mod checks;
mod clone;
mod code;
mod coverage;
mod history;
mod language;
mod licence;
mod lockfiles;
mod metadata;
mod process;
mod redirect;
mod report;
mod sandbox;
mod seccomp;
mod tree;
mod url;
mod verdict;
mod verify;
mod version;
mod vulnerabilities;

pub use report::{CheckResult, Evidence, Facts, Origin, Report};
pub use sandbox::available as sandbox_available;
pub use seccomp::filter as seccomp_filter;
pub use url::{Policy, RepoUrl, key};
pub use verdict::Verdict;
pub use verify::{Target, Verification};
