//! Repository to report: is it safe to try?
//!
//! A repository is fetched (`url`, `clone`), looked at (`tree`, `licence`, `language`, `history`,
//! `lockfiles`, `vulnerabilities`), judged by a table of checks with published weights (`checks`),
//! built and tested in a sandbox where there is one (`build`, `sandbox`), and summed up in a verdict
//! with its evidence (`verdict`, `report`).
//!
//! No code of a repository runs outside the sandbox: not a hook, not a filter, not a submodule, not
//! a build. The score depends on the commit and nothing else: see `docs/oss-report.md`.

mod build;
pub mod checks;
mod clone;
mod history;
mod language;
mod licence;
mod lockfiles;
mod metadata;
mod process;
mod redirect;
mod report;
mod sandbox;
mod tree;
mod url;
mod verdict;
mod verify;
mod version;
mod vulnerabilities;

pub use report::{CheckResult, Evidence, Facts, Origin, Report};
pub use sandbox::available as sandbox_available;
pub use url::{Policy, RepoUrl, key};
pub use verdict::Verdict;
pub use verify::{Target, Verification};
