//! What is looked at, with its weight, after the ideas of OpenSSF Scorecard.
//!
//! One table. Each check gives 0 (bad) to 10 (good) with its evidence, or nothing where it cannot
//! be made; what was not seen does not count, and the report says so. A check looks at one commit
//! and at nothing that changes by itself: the same commit gets the same score.

mod contents;
mod dependencies;
mod install;
mod pipelines;
mod project;
mod secrets;
mod shell;

pub use contents::turns_direction;
#[cfg(test)]
use tests::subject;

use super::{
    history::History,
    licence::Licence,
    lockfiles::Dependencies,
    report::{CheckResult, Evidence},
    tree::Tree,
    vulnerabilities::Known,
};

/// Pieces of evidence kept for one check.
const MOST_EVIDENCE: usize = 5;

/// A repository as the checks see it.
pub struct Subject {
    pub tree: Tree,
    pub licence: Option<Licence>,
    pub dependencies: Dependencies,
    /// Or why it is not known.
    pub history: Result<History, String>,
    pub vulnerabilities: Known,
}

/// A line of the table.
pub struct Check {
    pub name: &'static str,
    pub weight: u8,
    /// For people: `docs/oss-report.md` repeats it.
    pub looks_at: &'static str,
    pub remedy: &'static str,
    look: fn(&Subject) -> Outcome,
}

/// What one check found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outcome {
    /// 0 to 10; None when the check could not be made.
    pub score: Option<u8>,
    pub evidence: Vec<Evidence>,
    /// A reason to stop, whatever the score.
    pub alarm: Option<String>,
}

impl Outcome {
    fn new(score: u8, evidence: Vec<Evidence>) -> Self {
        Self { score: Some(score.min(10)), evidence, alarm: None }
    }

    fn good(text: impl Into<String>) -> Self {
        Self::new(10, vec![Evidence::said(text)])
    }

    fn bad(text: impl Into<String>) -> Self {
        Self::new(0, vec![Evidence::said(text)])
    }

    fn not_checked(why: impl std::fmt::Display) -> Self {
        Self {
            score: None,
            evidence: vec![Evidence::said(format!("not checked: {why}"))],
            alarm: None,
        }
    }

    fn alarm(mut self, why: Option<String>) -> Self {
        self.alarm = why;
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
        look: project::licence,
    },
    Check {
        name: "security-policy",
        weight: 3,
        looks_at: "`SECURITY.md` in the root, `.github` or `docs`, and whether it says whom to tell",
        remedy: "add a `SECURITY.md` that says how to report a vulnerability",
        look: project::security_policy,
    },
    Check {
        name: "ci",
        weight: 4,
        looks_at: "pipelines of GitHub, GitLab, Forgejo and others, and whether one of them runs tests",
        remedy: "run the tests in a pipeline on every change",
        look: project::ci,
    },
    Check {
        name: "tests",
        weight: 6,
        looks_at: "test files, test functions in sources, test scripts, against the number of source files",
        remedy: "write tests; without them nobody knows whether a change breaks something",
        look: project::tests,
    },
    Check {
        name: "locked-dependencies",
        weight: 5,
        looks_at: "whether each manifest with dependencies has a lock file beside or above it",
        remedy: "commit the lock file, so that everybody builds with the same versions",
        look: dependencies::locked,
    },
    Check {
        name: "pinned-dependencies",
        weight: 3,
        looks_at: "actions of workflows by commit, base images by digest",
        remedy: "name actions by commit hash and images by digest; a tag can be moved",
        look: dependencies::pinned,
    },
    Check {
        name: "dependency-count",
        weight: 3,
        looks_at: "packages in the lock files, or in the manifests where there is no lock file",
        remedy: "each dependency is code that you trust; see which are really needed",
        look: dependencies::count,
    },
    Check {
        name: "vulnerabilities",
        weight: 10,
        looks_at: "locked packages against OSV records (`[oss] osv`); not checked where none are set",
        remedy: "update the packages named here to a version that is not affected",
        look: dependencies::vulnerabilities,
    },
    Check {
        name: "dangerous-ci",
        weight: 8,
        looks_at: "workflows that run a stranger's code with secrets, put a stranger's words into a shell, or hold every permission",
        remedy: "do not check out a pull request under `pull_request_target`; pass titles and bodies through `env`; narrow `permissions`",
        look: pipelines::dangerous,
    },
    Check {
        name: "install-scripts",
        weight: 10,
        looks_at: "what runs on install or build by itself: npm install scripts, `setup.py`, `build.rs`, and the files they start",
        remedy: "read the script named here before you install; install with scripts off (`npm install --ignore-scripts`)",
        look: install::scripts,
    },
    Check {
        name: "curl-pipe-shell",
        weight: 4,
        looks_at: "downloads piped into a shell, in scripts, pipelines and container files, and (lightly) in prose",
        remedy: "download, check a hash or signature, then run",
        look: pipelines::curl_pipe_shell,
    },
    Check {
        name: "binaries",
        weight: 6,
        looks_at: "programs and libraries in the tree, by their first bytes",
        remedy: "build them from source instead; nobody can review a binary",
        look: contents::binaries,
    },
    Check {
        name: "obfuscated",
        weight: 7,
        looks_at: "code that hides what it does: decoded and evaluated strings, machine-made names, direction characters, minified sources",
        remedy: "do not run what cannot be read; ask for the source",
        look: contents::obfuscated,
    },
    Check {
        name: "secrets",
        weight: 10,
        looks_at: "keys and tokens by their form, private keys, passwords in assignments; examples and tests weigh less",
        remedy: "revoke the secret now, then take it out of the history; deleting the line is not enough",
        look: secrets::secrets,
    },
    Check {
        name: "unsafe-code",
        weight: 4,
        looks_at: "`unsafe`, `eval`, `exec`, `pickle`, shell calls and the like, per thousand lines of source",
        remedy: "look at the places named here; each needs a reason",
        look: contents::unsafe_code,
    },
    Check {
        name: "signed-tags",
        weight: 1,
        looks_at: "signatures of the newest 20 tags; not checked where there are no tags",
        remedy: "sign release tags (`git tag -s`)",
        look: project::signed_tags,
    },
    Check {
        name: "update-tool",
        weight: 2,
        looks_at: "Dependabot or Renovate settings; not checked where there are no dependencies",
        remedy: "switch on a tool that proposes updates of dependencies",
        look: dependencies::update_tool,
    },
    Check {
        name: "fuzzing",
        weight: 2,
        looks_at: "fuzz targets, or property tests",
        remedy: "fuzz what reads input from outside",
        look: project::fuzzing,
    },
    Check {
        name: "maintained",
        weight: 6,
        looks_at: "commits and people in the year before the newest commit (not before today)",
        remedy: "few commits or one person: be ready to maintain it yourself",
        look: project::maintained,
    },
];

/// The outcome of every check, and its alarms.
pub fn run(subject: &Subject) -> (Vec<CheckResult>, Vec<String>) {
    let mut alarms = Vec::new();
    let results = CHECKS
        .iter()
        .map(|check| {
            let mut outcome = (check.look)(subject);
            alarms.extend(outcome.alarm.take());
            let more = outcome.evidence.len().saturating_sub(MOST_EVIDENCE);
            outcome.evidence.truncate(MOST_EVIDENCE);
            if more > 0 {
                outcome.evidence.push(Evidence::said(format!("and {more} more")));
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
    fn an_empty_repository_is_judged_without_a_fall() {
        let (results, alarms) = run(&subject(&[]));
        assert_eq!(results.len(), CHECKS.len());
        assert_eq!(alarms, [] as [String; 0]);
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
                "requirements.txt", "README.md", "Makefile", "x.pth"] {
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
