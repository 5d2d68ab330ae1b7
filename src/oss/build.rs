//! Builds and tests a checkout in the sandbox, if its kind is known and nothing must be downloaded.
//!
//! A step that does not exist is skipped with the reason; it never counts as a success.

use std::{
    path::{Path, PathBuf},
    process::Command,
    sync::atomic::AtomicBool,
    time::Duration,
};

use serde_json::Value;

use super::{
    lockfiles::Dependencies,
    process::{self, Bounds, Ran},
    report::{BuildResult, TestResult, quote},
    sandbox::{self, Run, Shown},
    tree::Tree,
};
use crate::{config, domain::Result};

/// How the build and the tests ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuildOutcome {
    pub build: BuildResult,
    pub build_notes: String,
    pub test: TestResult,
    pub test_notes: String,
    /// The limit of the sandbox that ended the build or the tests.
    pub limit: Option<String>,
}

impl BuildOutcome {
    fn skipped(why: impl Into<String>) -> Self {
        let why = why.into();
        Self {
            build: BuildResult::Skipped,
            build_notes: format!("skipped: {why}"),
            test: TestResult::Skipped,
            test_notes: "skipped with the build".into(),
            limit: None,
        }
    }
}

/// How a kind of project is built.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Recipe {
    kind: &'static str,
    /// The program that must be installed.
    tool: &'static str,
    /// The command, or why there is no build.
    build: std::result::Result<String, &'static str>,
    /// The command, or why there are no tests.
    test: std::result::Result<String, &'static str>,
}

/// Builds and tests one checkout.
pub struct Builder<'a> {
    pub tree: &'a Tree,
    pub dependencies: &'a Dependencies,
    pub config: &'a config::Oss,
    pub work: &'a Path,
    pub stop: &'a AtomicBool,
}

impl Builder<'_> {
    pub fn build(&self, progress: &dyn Fn(&str)) -> Result<BuildOutcome> {
        if !self.config.build {
            return Ok(BuildOutcome::skipped("`[oss] build` is off"));
        }
        let recipe = match self.recipe() {
            Ok(recipe) => recipe,
            Err(why) => return Ok(BuildOutcome::skipped(why)),
        };
        if let Err(why) = sandbox::available() {
            return Ok(BuildOutcome::skipped(format!(
                "{why}, and nothing is built without a sandbox"
            )));
        }
        let shown = match toolchain(recipe.tool) {
            Ok(shown) => shown,
            Err(why) => return Ok(BuildOutcome::skipped(why)),
        };
        let run = Run {
            source: &self.tree.root,
            work: self.work,
            shown: &shown,
            config: self.config,
            stop: self.stop,
        };
        let mut outcome = BuildOutcome::skipped("");
        match &recipe.build {
            Err(why) => outcome.build_notes = format!("skipped: {why}"),
            Ok(build) => {
                progress("building in the sandbox");
                let ran = run.run(build)?;
                let limit = sandbox::limit(&ran);
                outcome.limit = limit.map(|why| format!("its build had to be stopped: {why}"));
                if !ran.succeeded() {
                    outcome.build = BuildResult::Failed;
                    outcome.build_notes = format!("{} failed: {}", recipe.kind, last_words(&ran));
                    outcome.test_notes = "skipped: the build failed".into();
                    return Ok(outcome);
                }
                outcome.build = BuildResult::Success;
                outcome.build_notes = format!("{} succeeded", recipe.kind);
            }
        }
        match &recipe.test {
            Err(why) => outcome.test_notes = format!("skipped: {why}"),
            Ok(test) => {
                progress("testing in the sandbox");
                // Each run has a fresh copy, so the tests need the build again.
                let script = match &recipe.build {
                    Ok(build) => format!("{{ {build}; }} >/dev/null 2>&1 && {test}"),
                    Err(_) => test.clone(),
                };
                let ran = run.run(&script)?;
                let limit = sandbox::limit(&ran);
                outcome.limit = limit.map(|why| format!("its tests had to be stopped: {why}"));
                (outcome.test, outcome.test_notes) = match ran.succeeded() {
                    true => (TestResult::Pass, "passed".into()),
                    false => (TestResult::Fail, format!("failed: {}", last_words(&ran))),
                };
            }
        }
        Ok(outcome)
    }

    fn recipe(&self) -> std::result::Result<Recipe, String> {
        let tree = self.tree;
        let asked = |manifest: &str| {
            self.dependencies
                .manifests
                .iter()
                .filter(|m| m.file == manifest)
                .map(|m| m.dependencies)
                .sum::<usize>()
        };
        let has = |folder: &str| tree.files.iter().any(|file| file.path.starts_with(folder));
        let missing = |count: usize| {
            format!(
                "{count} dependencies would have to be downloaded, and the sandbox has no network"
            )
        };
        if tree.file("Cargo.toml").is_some() {
            let locked =
                self.dependencies.packages.iter().filter(|p| p.ecosystem == "crates.io").count();
            let count = locked.max(asked("Cargo.toml"));
            if count > 0 && !has("vendor/") {
                return Err(missing(count));
            }
            return Ok(Recipe {
                kind: "cargo build",
                tool: "cargo",
                build: Ok("cargo build --offline --quiet".into()),
                test: Ok("cargo test --offline --quiet".into()),
            });
        }
        if let Some(file) = tree.file("package.json") {
            let count = asked("package.json");
            if count > 0 && !has("node_modules/") {
                return Err(missing(count));
            }
            let parsed: Value = serde_json::from_str(file.text()).unwrap_or_default();
            let script = |name: &str| parsed["scripts"][name].as_str();
            let test = script("test").filter(|test| !test.contains("no test specified"));
            let build = script("build").map(|_| "npm run build".to_owned());
            if build.is_none() && test.is_none() {
                return Err("no build script and no test script in package.json".into());
            }
            return Ok(Recipe {
                kind: "npm run build",
                tool: "npm",
                build: build.ok_or("no build script"),
                test: test.map(|_| "npm test".to_owned()).ok_or("no test script"),
            });
        }
        if tree.file("go.mod").is_some() {
            let count = asked("go.mod");
            if count > 0 && !has("vendor/") {
                return Err(missing(count));
            }
            let flag = if has("vendor/") { "-mod=vendor " } else { "" };
            return Ok(Recipe {
                kind: "go build",
                tool: "go",
                build: Ok(format!("go build {flag}./...")),
                test: Ok(format!("go test {flag}./...")),
            });
        }
        if ["pyproject.toml", "setup.py", "setup.cfg"].iter().any(|name| tree.file(name).is_some())
        {
            let count = asked("pyproject.toml") + asked("requirements.txt");
            let folder = ["tests", "test"].into_iter().find(|folder| has(&format!("{folder}/")));
            return Ok(Recipe {
                kind: "compiling the Python files",
                tool: "python3",
                build: Ok("python3 -m compileall -q .".into()),
                test: match (count, folder) {
                    (1.., _) => Err(
                        "its dependencies would have to be downloaded, and the sandbox has no network",
                    ),
                    (0, None) => Err("no folder of tests"),
                    (0, Some(folder)) => Ok(format!(
                        "if python3 -c 'import pytest' 2>/dev/null; then exec python3 -m pytest -q; fi; PYTHONPATH=.:src exec python3 -m unittest discover -s {folder}"
                    )),
                },
            });
        }
        if tree.file("CMakeLists.txt").is_some() {
            let tests = tree.named("CMakeLists.txt").any(|file| file.text().contains("add_test"));
            return Ok(Recipe {
                kind: "cmake",
                tool: "cmake",
                build: Ok("cmake -S . -B /tmp/build && cmake --build /tmp/build".into()),
                test: if tests {
                    Ok("ctest --test-dir /tmp/build".into())
                } else {
                    Err("no tests in CMakeLists.txt")
                },
            });
        }
        let makefile =
            ["GNUmakefile", "makefile", "Makefile"].iter().find_map(|name| tree.file(name));
        if let Some(file) = makefile {
            let target = ["test", "check"].into_iter().find(|target| {
                file.text().lines().any(|line| line.starts_with(&format!("{target}:")))
            });
            let configure = if tree.file("configure").is_some() { "./configure && " } else { "" };
            return Ok(Recipe {
                kind: "make",
                tool: "make",
                build: Ok(format!("{configure}make")),
                test: target
                    .map(|target| format!("make {target}"))
                    .ok_or("no test target in the Makefile"),
            });
        }
        Err("no build file of a known kind (Rust, Node, Python, Go, CMake, Make)".into())
    }
}

/// Why a run failed: the limit it reached, or the last line it printed.
fn last_words(ran: &Ran) -> String {
    if let Some(why) = sandbox::limit(ran) {
        return why.to_owned();
    }
    // The last line of make only repeats that something failed.
    let last = |text: &str| -> Option<String> {
        let mut lines = text.lines().rev().map(str::trim);
        lines.find(|line| !line.is_empty() && !line.starts_with("make")).map(quote)
    };
    let output = last(&ran.err).or_else(|| last(&ran.out));
    output.map_or_else(|| "no output".into(), |line| format!("last output {line}"))
}

/// Folders of this machine that a program needs besides `/usr`. Asking a toolchain where it is runs
/// the machine's own programs, in a folder that no repository can configure.
fn toolchain(tool: &'static str) -> std::result::Result<Vec<Shown>, String> {
    let absent = || format!("`{tool}` is not installed here");
    let root = match tool {
        "cargo" => ask("rustc", &["--print", "sysroot"]),
        "go" => ask("go", &["env", "GOROOT"]),
        "npm" => ask(
            "node",
            &["-p", "require('path').dirname(require('path').dirname(process.execPath))"],
        ),
        "python3" if Path::new("/usr/bin/python3").exists() => Some("/usr".into()),
        "python3" => ask("python3", &["-c", "import sys; print(sys.base_prefix)"]),
        _ => Some("/usr".into()),
    };
    let root = PathBuf::from(root.ok_or_else(absent)?);
    if root.starts_with("/usr")
        && !root.join("bin").join(tool).exists()
        && !Path::new("/usr/bin").join(tool).exists()
    {
        return Err(absent());
    }
    match root.to_str() {
        Some("/usr" | "/usr/local") => Ok(Vec::new()),
        _ if root.is_dir() && root.components().count() > 2 => {
            let mut shown = vec![Shown { here: root, inside: format!("/opt/{tool}") }];
            // Rust needs a linker, which is of the system.
            shown.retain(|shown| shown.here.is_absolute());
            Ok(shown)
        }
        _ => Err(absent()),
    }
}

fn ask(program: &str, arguments: &[&str]) -> Option<String> {
    let mut command = Command::new(program);
    command.args(arguments).current_dir("/");
    let stop = AtomicBool::new(false);
    let bounds =
        Bounds { time: Duration::from_secs(20), output: 4000, stop: &stop, watch: &mut |_| None };
    let ran = process::run(&mut command, bounds).ok().filter(Ran::succeeded)?;
    Some(ran.out.trim().to_owned()).filter(|root| !root.is_empty())
}

#[cfg(test)]
mod tests {
    use super::{
        super::{lockfiles, tree::tests::tree},
        *,
    };

    fn recipe(files: &[(&str, &str)]) -> std::result::Result<Recipe, String> {
        let tree = tree(files);
        let dependencies = lockfiles::read(&tree);
        let stop = AtomicBool::new(false);
        let config = config::Oss::default();
        Builder {
            tree: &tree,
            dependencies: &dependencies,
            config: &config,
            work: Path::new("/"),
            stop: &stop,
        }
        .recipe()
    }

    #[test]
    fn kinds_are_known() {
        for (files, tool, tests) in [
            (&[("Cargo.toml", "[package]\nname = \"a\"")][..], "cargo", true),
            (&[("package.json", r#"{"scripts":{"build":"x","test":"y"}}"#)][..], "npm", true),
            (&[("go.mod", "module a")][..], "go", true),
            (&[("setup.py", ""), ("tests/test_a.py", "")][..], "python3", true),
            (&[("pyproject.toml", "")][..], "python3", false),
            (&[("CMakeLists.txt", "add_test(NAME a)")][..], "cmake", true),
            (&[("Makefile", "all:\n\ntest: all\n")][..], "make", true),
            (&[("Makefile", "all:\n")][..], "make", false),
        ] {
            let found = recipe(files).unwrap();
            assert_eq!((found.tool, found.test.is_ok()), (tool, tests), "{files:?}");
        }
    }

    #[test]
    fn what_cannot_be_built_is_skipped_with_the_reason() {
        for files in [
            &[("Cargo.toml", "[dependencies]\nserde = \"1\"")][..],
            &[("package.json", r#"{"scripts":{"test":"y"},"dependencies":{"a":"1"}}"#)][..],
            &[("go.mod", "module a\nrequire example.org/x v1.0.0")][..],
        ] {
            assert!(
                recipe(files).unwrap_err().contains("would have to be downloaded"),
                "{files:?}"
            );
        }
        let test_only = recipe(&[("package.json", r#"{"scripts":{"test":"node t.js"}}"#)]).unwrap();
        assert_eq!((test_only.build, test_only.test.is_ok()), (Err("no build script"), true));
        assert!(recipe(&[("package.json", "{}")]).unwrap_err().contains("no build script"));
        assert!(recipe(&[("README.md", "")]).unwrap_err().contains("known kind"));
    }
}
