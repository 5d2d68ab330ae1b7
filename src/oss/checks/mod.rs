//! The checks and their weights, after the ideas of OpenSSF Scorecard.
//!
//! All checks are in one table, [`CHECKS`]. Each gives 0 (bad) to 10 (good) with its evidence, or no
//! score where it cannot be made. A check without a score does not count, and the report names it. A
//! check reads one commit and nothing that changes with time, so the same commit gets the same score.

mod autorun;
mod contents;
mod credentials;
mod dependencies;
mod evaluated;
mod links;
mod network;
mod obfuscated;
mod pipelines;
mod project;
mod secrets;
mod shell;
mod theft;

pub use obfuscated::is_minified;
#[cfg(test)]
use tests::subject;

use super::{
    history::History,
    licence::Licence,
    lockfiles::Dependencies,
    report::{CheckResult, Evidence},
    tree::Tree,
    verdict::Verdict,
    vulnerabilities::Known,
};

/// Pieces of evidence that a report has for one check.
const MAX_EVIDENCE: usize = 5;

/// What the checks read.
pub struct Subject {
    /// The files of the commit.
    pub tree: Tree,
    /// The licence, where one was recognised.
    pub licence: Option<Licence>,
    /// What the lock files and manifests name.
    pub dependencies: Dependencies,
    /// The history, or why it is not known.
    pub history: Result<History, String>,
    /// Known vulnerabilities of the dependencies.
    pub vulnerabilities: Known,
}

/// A row of the table.
pub struct Check {
    /// The identifier in the report.
    pub name: &'static str,
    /// Share of the score.
    pub weight: u8,
    /// What the check reads. `docs/oss-report.md` repeats it.
    pub looks_at: &'static str,
    /// What a maintainer can do.
    pub remedy: &'static str,
    /// What the check must find bad before it says something about a repository without code.
    needs_code: bool,
    look: fn(&Subject) -> Outcome,
}

/// A reason against a repository that the score cannot make up for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alarm {
    /// The best verdict that it allows.
    pub ceiling: Verdict,
    /// One sentence with the place.
    pub text: String,
}

/// The result of one check.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outcome {
    /// 0 to 10; None when the check could not be made.
    pub score: Option<u8>,
    /// What was found, where.
    pub evidence: Vec<Evidence>,
    /// Findings that decide the verdict alone.
    pub alarms: Vec<Alarm>,
}

impl Outcome {
    fn new(score: u8, evidence: Vec<Evidence>) -> Self {
        Self { score: Some(score.min(10)), evidence, alarms: Vec::new() }
    }

    fn good(text: impl Into<String>) -> Self {
        Self::new(10, vec![Evidence::text(text)])
    }

    fn bad(text: impl Into<String>) -> Self {
        Self::new(0, vec![Evidence::text(text)])
    }

    fn not_checked(why: impl std::fmt::Display) -> Self {
        Self {
            score: None,
            evidence: vec![Evidence::text(format!("not checked: {why}"))],
            alarms: Vec::new(),
        }
    }

    fn alarms(mut self, alarms: Vec<Alarm>) -> Self {
        self.alarms = alarms;
        self
    }
}

/// Every check, in the order of the report.
pub const CHECKS: &[Check] = &[
    Check {
        name: "licence",
        weight: 5,
        looks_at: "the text of `LICENSE`, `COPYING` and `LICENSES/`, matched with known licences (SPDX)",
        remedy: "ask the authors for a licence file with a standard text before you use the code",
        needs_code: false,
        look: project::licence,
    },
    Check {
        name: "security-policy",
        weight: 3,
        looks_at: "`SECURITY.md` in the root, `.github` or `docs`, and whether it names a contact",
        remedy: "add a `SECURITY.md` that says how to report a vulnerability",
        needs_code: false,
        look: project::security_policy,
    },
    Check {
        name: "ci",
        weight: 4,
        looks_at: "pipelines of GitHub, GitLab, Forgejo and others, and whether one of them runs tests",
        remedy: "run the tests in a pipeline on every change",
        needs_code: false,
        look: project::ci,
    },
    Check {
        name: "tests",
        weight: 6,
        looks_at: "test files, test functions in sources, test scripts, against the number of source files",
        remedy: "write tests; without them nobody knows whether a change breaks something",
        needs_code: false,
        look: project::tests,
    },
    Check {
        name: "locked-dependencies",
        weight: 5,
        looks_at: "whether each manifest with dependencies has a lock file beside or above it",
        remedy: "commit the lock file, so that everybody builds with the same versions",
        needs_code: true,
        look: dependencies::locked,
    },
    Check {
        name: "pinned-dependencies",
        weight: 3,
        looks_at: "actions of workflows by commit, base images by digest",
        remedy: "name actions by commit hash and images by digest; a tag can be moved",
        needs_code: false,
        look: dependencies::pinned,
    },
    Check {
        name: "dependency-count",
        weight: 3,
        looks_at: "packages in the lock files, or in the manifests where there is no lock file",
        remedy: "each dependency is code that you trust; see which are really needed",
        needs_code: true,
        look: dependencies::count,
    },
    Check {
        name: "vulnerabilities",
        weight: 10,
        looks_at: "locked packages against OSV records (`[oss] osv`); not checked where none are set",
        remedy: "update the packages named here to a version that is not affected",
        needs_code: true,
        look: dependencies::vulnerabilities,
    },
    Check {
        name: "dangerous-ci",
        weight: 8,
        looks_at: "workflows that run the code of a fork with secrets, put text of strangers into a shell, or hold every permission",
        remedy: "do not check out a pull request under `pull_request_target`; pass titles and bodies through `env`; narrow `permissions`",
        needs_code: false,
        look: pipelines::dangerous,
    },
    Check {
        name: "install-scripts",
        weight: 10,
        looks_at: "code that runs by itself on install, build, test, clone or opening the folder, and the files it starts (listed below)",
        remedy: "read the code named here before you install or open the folder; install with scripts off (`npm install --ignore-scripts`)",
        needs_code: true,
        look: autorun::scripts,
    },
    Check {
        name: "credential-theft",
        weight: 10,
        looks_at: "code that reads keys, tokens, browser profiles, wallets or the whole environment and sends data, in one file or across linked files",
        remedy: "do not run it; report it to its forge",
        needs_code: true,
        look: theft::credential_theft,
    },
    Check {
        name: "curl-pipe-shell",
        weight: 4,
        looks_at: "downloads piped into a shell, in scripts, pipelines, container files and programs, and (lightly) in prose",
        remedy: "download, check a hash or signature, then run",
        needs_code: true,
        look: pipelines::curl_pipe_shell,
    },
    Check {
        name: "binaries",
        weight: 6,
        looks_at: "programs and libraries in the tree, by their first bytes",
        remedy: "build them from source instead; nobody can review a binary",
        needs_code: true,
        look: contents::binaries,
    },
    Check {
        name: "obfuscated",
        weight: 7,
        looks_at: "code that hides what it does: decoded or downloaded strings that are run, names in pieces, machine-made names, invisible and direction characters, code off the screen, minified sources",
        remedy: "do not run what cannot be read; ask for the source",
        needs_code: true,
        look: obfuscated::obfuscated,
    },
    Check {
        name: "secrets",
        weight: 10,
        looks_at: "keys and tokens by their form, private keys, passwords in assignments; examples and tests weigh less",
        remedy: "revoke the secret now, then take it out of the history; deleting the line is not enough",
        needs_code: true,
        look: secrets::secrets,
    },
    Check {
        name: "unsafe-code",
        weight: 4,
        looks_at: "`unsafe`, `eval`, `exec`, `pickle`, shell calls and the like, per thousand lines of source",
        remedy: "review the places named here; each needs a reason",
        needs_code: true,
        look: contents::unsafe_code,
    },
    Check {
        name: "signed-tags",
        weight: 1,
        looks_at: "signatures of the newest 20 tags; not checked where there are no tags",
        remedy: "sign release tags (`git tag -s`)",
        needs_code: false,
        look: project::signed_tags,
    },
    Check {
        name: "update-tool",
        weight: 2,
        looks_at: "Dependabot or Renovate settings; not checked where there are no dependencies",
        remedy: "switch on a tool that proposes updates of dependencies",
        needs_code: false,
        look: dependencies::update_tool,
    },
    Check {
        name: "fuzzing",
        weight: 2,
        looks_at: "fuzz targets, or property tests",
        remedy: "fuzz what reads input from outside",
        needs_code: false,
        look: project::fuzzing,
    },
    Check {
        name: "maintained",
        weight: 6,
        looks_at: "commits and people in the year before the newest commit (not before today)",
        remedy: "few commits or one person: be ready to maintain it yourself",
        needs_code: false,
        look: project::maintained,
    },
];

/// The result of every check, and all alarms.
pub fn run(subject: &Subject) -> (Vec<CheckResult>, Vec<Alarm>) {
    let mut alarms = Vec::new();
    let has_code = subject.tree.has_code();
    let results = CHECKS
        .iter()
        .map(|check| {
            let mut outcome = (check.look)(subject);
            if check.needs_code && !has_code && outcome.score == Some(10) {
                outcome = Outcome::not_checked("there is hardly any code");
            }
            alarms.append(&mut outcome.alarms);
            let more = outcome.evidence.len().saturating_sub(MAX_EVIDENCE);
            outcome.evidence.truncate(MAX_EVIDENCE);
            if more > 0 {
                outcome.evidence.push(Evidence::text(format!("and {more} more")));
            }
            CheckResult {
                name: check.name.to_owned(),
                weight: check.weight,
                score: outcome.score,
                evidence: outcome.evidence,
                remedy: outcome.score.filter(|score| *score < 10).map(|_| check.remedy.to_owned()),
            }
        })
        .collect();
    (results, alarms)
}

/// 0 to 100: the weighted mean of what was checked, rounded.
pub fn score(results: &[CheckResult]) -> u8 {
    let seen = || results.iter().filter_map(|check| Some((check.weight, check.score?)));
    let most: u32 = seen().map(|(weight, _)| u32::from(weight) * 10).sum();
    let got: u32 = seen().map(|(weight, score)| u32::from(weight) * u32::from(score)).sum();
    if most == 0 { 0 } else { ((got * 200 + most) / (most * 2)) as u8 }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{licence, lockfiles, tree::tests::tree},
        *,
    };

    pub fn subject(files: &[(&str, &str)]) -> Subject {
        let tree = tree(files);
        Subject {
            licence: licence::find(&tree),
            dependencies: lockfiles::read(&tree),
            history: Ok(History::default()),
            vulnerabilities: Known::NotChecked("no source".into()),
            tree,
        }
    }

    #[test]
    fn an_empty_repository_gets_no_points_for_what_is_not_there() {
        let (results, alarms) = run(&subject(&[]));
        assert_eq!(results.len(), CHECKS.len());
        assert_eq!(alarms, []);
        assert!(score(&results) < 40, "{}", score(&results));
        assert!(results.iter().all(|result| !result.evidence.is_empty()), "{results:?}");
    }

    proptest::proptest! {
        /// Files come from strangers: whatever is in them, a check says something and goes on.
        #[test]
        fn no_text_makes_a_check_fall(text in "(?s).{0,300}", words in proptest::collection::vec(
            proptest::sample::select(vec![
                "AKIA", "password = \"", "-----BEGIN RSA PRIVATE KEY-----", "run: ${{ github.head_ref }}", "eval(atob(",
                "curl x | sh", "uses: a@", "FROM ", "\"postinstall\": \"", "unsafe {", "\u{202e}", "é", "日本", "\n", " ",
            ]), 0..20)) {
            let mixed = format!("{}{text}{}", words.concat(), words.join("\n"));
            for name in ["a.rs", "a.py", "a.js", "package.json", "setup.py", "Dockerfile", ".github/workflows/a.yml",
                "LICENSE", "Cargo.toml", "Cargo.lock", "yarn.lock", "pnpm-lock.yaml", "go.sum", "Gemfile.lock",
                "requirements.txt", "README.md", "Makefile", "x.pth", ".vscode/tasks.json", "pyproject.toml", ".cargo/config.toml"] {
                let (results, _) = run(&subject(&[(name, &mixed)]));
                proptest::prop_assert_eq!(results.len(), CHECKS.len());
            }
        }
    }

    #[test]
    fn what_was_not_checked_does_not_count() {
        let result = |weight, score| CheckResult {
            name: String::new(),
            weight,
            score,
            evidence: vec![],
            remedy: None,
        };
        assert_eq!(score(&[result(5, Some(10)), result(5, None)]), 100);
        assert_eq!(score(&[result(5, Some(10)), result(5, Some(0))]), 50);
        assert_eq!(score(&[result(1, Some(10)), result(2, Some(5))]), 67);
        assert_eq!(score(&[]), 0);
    }

    /// The page for people says what the table says.
    #[test]
    fn the_documentation_has_every_check() {
        let page = include_str!("../../../docs/oss-report.md");
        let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| `")).collect();
        let expected: Vec<String> = CHECKS
            .iter()
            .map(|check| format!("| `{}` | {} | {} |", check.name, check.weight, check.looks_at))
            .collect();
        assert_eq!(rows, expected);
    }
}
