//! Reports on repositories that the tests write themselves.

mod fixtures;
pub mod forge;
mod reports;
mod sandbox;
mod seccomp;

pub use forge::Forge;

use std::{
    path::PathBuf,
    process::{Command, Stdio},
};

use serde_json::Value;

use crate::support::{Home, put};

pub const MIT: &str = "MIT License\n\nCopyright (c) 2026 Nobody\n\nPermission is hereby granted, free of charge, to any person obtaining a copy of this software and associated documentation files, to deal in the Software without restriction.\n\nThe above copyright notice and this permission notice shall be included in all copies or substantial portions of the Software.\n";

/// A repository that a test writes itself.
pub struct Repository {
    pub path: PathBuf,
}

impl Repository {
    pub fn new(home: &Home, name: &str, files: &[(&str, &str)]) -> Self {
        let repository = Self { path: home.dir.path().join("repositories").join(name) };
        std::fs::create_dir_all(&repository.path).unwrap();
        repository.git(&["init", "--quiet", "--initial-branch=main"], 0, "a");
        for (path, text) in files {
            repository.file(path, text);
        }
        repository.commit(0, "ann@example.org");
        repository
    }

    pub fn file(&self, path: &str, text: impl AsRef<[u8]>) {
        let file = self.path.join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        put(&file, text);
    }

    pub fn commit(&self, day: i64, email: &str) {
        self.git(&["add", "--all"], day, email);
        self.git(&["commit", "--quiet", "--allow-empty", "--message=work"], day, email);
    }

    pub fn git(&self, arguments: &[&str], day: i64, email: &str) {
        let date = format!("@{} +0000", 1_790_000_000 + day * 86_400);
        let mut command = Command::new("git");
        command.current_dir(&self.path).args(["-c", "commit.gpgsign=false"]).args(arguments);
        command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        for who in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{who}_NAME"), "Test");
            command.env(format!("GIT_{who}_EMAIL"), email);
            command.env(format!("GIT_{who}_DATE"), &date);
        }
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

/// A crate that every check likes.
pub fn good(home: &Home) -> Repository {
    let good = Repository::new(
        home,
        "good",
        &[
            ("Cargo.toml", "[package]\nname = \"good\"\nversion = \"0.1.0\"\nedition = \"2021\"\n"),
            ("Cargo.lock", "version = 4\n\n[[package]]\nname = \"good\"\nversion = \"0.1.0\"\n"),
            (
                "src/lib.rs",
                "/// Two.\npub fn two() -> u32 {\n    2\n}\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn two_is_two() {\n        assert_eq!(super::two(), 2);\n    }\n}\n",
            ),
            ("fuzz/fuzz_targets/two.rs", "// libfuzzer\n"),
            ("LICENSE", MIT),
            ("README.md", "# Good\n\nIt says two.\n"),
            (
                "SECURITY.md",
                "# Security\n\nPlease write to security@example.org. We answer within three days.\n",
            ),
            (
                ".github/workflows/ci.yml",
                "on: push\njobs:\n  test:\n    steps:\n      - run: cargo test\n",
            ),
        ],
    );
    for day in 1..30 {
        good.commit(
            day,
            ["ann@example.org", "bob@example.org", "cleo@example.org"][day as usize % 3],
        );
    }
    // Long before the year that counts.
    good.git(&["tag", "--annotate", "--message=first", "v0.1.0"], 30, "ann@example.org");
    good
}

pub fn settings(home: &Home, oss: &str) {
    let folder = home.dir.path().join("config/notewell");
    std::fs::create_dir_all(&folder).unwrap();
    put(&folder.join("notewell.toml"), format!("[oss]\n{oss}"));
}

/// The program with the toolchain of these tests on its path: its own home has none.
pub fn program(home: &Home, arguments: &[&str]) -> Command {
    let mut command = home.command(arguments);
    let sysroot = Command::new("rustc").args(["--print", "sysroot"]).output().unwrap();
    let sysroot = String::from_utf8(sysroot.stdout).unwrap();
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{}/bin:{path}", sysroot.trim()));
    command
}

/// The exit code of `notewell oss` for the verdict AVOID.
pub const AVOID: i32 = 3;

/// Runs `notewell oss PATH --json`.
pub fn report(home: &Home, repository: &Repository) -> Value {
    let path = repository.path.to_str().unwrap();
    let output = program(home, &["oss", path, "--json"]).stdin(Stdio::null()).output().unwrap();
    let err = String::from_utf8_lossy(&output.stderr);
    let code = output.status.code();
    assert!(matches!(code, Some(0 | AVOID)), "{code:?}: {err}");
    nothing_left(home);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        report["securityVerdict"] == "AVOID",
        code == Some(AVOID),
        "{}",
        report["usageNotes"]
    );
    report
}

pub fn nothing_left(home: &Home) {
    let folder = home.data().join("oss");
    let left: Vec<_> = std::fs::read_dir(folder).into_iter().flatten().flatten().collect();
    assert!(left.is_empty(), "left behind: {left:?}");
}

pub fn check<'a>(report: &'a Value, name: &str) -> &'a Value {
    let checks = report["checks"].as_array().unwrap();
    checks.iter().find(|check| check["name"] == name).unwrap()
}

/// Whether the sandbox works here; says why where it does not.
pub fn sandbox() -> bool {
    match notewell::oss::sandbox_available() {
        Ok(()) => true,
        Err(why) => {
            eprintln!("skipped: {why}");
            false
        }
    }
}

/// The number of processes whose command line has a word.
pub fn running(word: &str) -> usize {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let commands = entries.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    commands.filter(|command| String::from_utf8_lossy(command).contains(word)).count()
}

/// A word for the command line that no other process has.
pub fn marker(name: &str) -> String {
    format!("notewell-{name}-{}", std::process::id())
}
