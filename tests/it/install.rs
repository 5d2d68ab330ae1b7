//! `install.sh` out of a folder with the files of a release, in a home of its own.
#![cfg(unix)]

use std::{
    io::Write,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use sha2::{Digest, Sha256};

use crate::support::{DATA, put};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/install.sh");

/// A person's home beside the files of a release.
struct Person(tempfile::TempDir);

fn target() -> String {
    let system = if cfg!(target_os = "macos") { "apple-darwin" } else { "unknown-linux-musl" };
    format!("{}-{system}", std::env::consts::ARCH)
}

impl Person {
    fn new() -> Self {
        let person = Self(tempfile::tempdir().unwrap());
        for folder in ["release", "home"] {
            std::fs::create_dir(person.0.path().join(folder)).unwrap();
        }
        person
    }

    fn home(&self) -> PathBuf {
        self.0.path().join("home")
    }

    fn release(&self) -> PathBuf {
        self.0.path().join("release")
    }

    /// Packs a release in the layout of `release/build` around this program.
    fn pack(&self, version: &str, program: &Path, pages: &[&str]) {
        let name = format!("notewell-{version}-{}", target());
        let work = self.0.path().join("work");
        let inside = work.join(&name);
        for folder in ["man/man1", "completions"] {
            std::fs::create_dir_all(inside.join(folder)).unwrap();
        }
        // A link where it can be: the program of a debug build is large.
        std::fs::hard_link(program, inside.join("notewell"))
            .or_else(|_| std::fs::copy(program, inside.join("notewell")).map(drop))
            .unwrap();
        for page in pages {
            put(&inside.join("man/man1").join(page), ".TH notewell 1\n");
        }
        for file in ["notewell.bash", "_notewell", "notewell.fish"] {
            put(&inside.join("completions").join(file), "# completions\n");
        }
        for file in ["LICENSE-MIT", "LICENSE-APACHE"] {
            put(&inside.join(file), "A licence.\n");
        }
        let packed = Command::new("tar").arg("-C").arg(&work).args(["-cf", "-", &name]).output();
        let packed = packed.unwrap();
        assert!(packed.status.success());
        let file = self.release().join(format!("{name}.tar.gz"));
        // Stored, not compressed: the test is about the script.
        let out = std::fs::File::create(&file).unwrap();
        let mut out = flate2::write::GzEncoder::new(out, flate2::Compression::none());
        out.write_all(&packed.stdout).unwrap();
        out.finish().unwrap();
        std::fs::remove_dir_all(&work).unwrap();
        self.write_sums();
    }

    /// Packs a release around a small program that only knows its version.
    fn pack_small(&self, version: &str, pages: &[&str]) {
        let program = self.0.path().join(format!("program-{version}"));
        put(&program, format!("#!/bin/sh\necho notewell {version}\n"));
        std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
        for entry in std::fs::read_dir(self.release()).unwrap() {
            std::fs::remove_file(entry.unwrap().path()).unwrap();
        }
        self.pack(version, &program, pages);
    }

    fn write_sums(&self) {
        let mut sums = String::new();
        for entry in std::fs::read_dir(self.release()).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|end| end == "gz") {
                let hash = Sha256::digest(std::fs::read(&path).unwrap());
                let hash: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
                let name = path.file_name().unwrap().to_str().unwrap().to_owned();
                sums += &format!("{hash}  {name}\n");
            }
        }
        put(&self.release().join("SHA256SUMS"), sums);
    }

    /// Runs the script with a shell. `PATH` has no Rust in it.
    fn run(&self, shell: &[&str], arguments: &[&str]) -> (i32, String) {
        let mut command = Command::new(shell[0]);
        command.args(&shell[1..]).arg(SCRIPT).args(arguments);
        command.env_clear().env("HOME", self.home()).env("PATH", "/usr/bin:/bin");
        printed(&command.current_dir(self.home()).output().unwrap())
    }

    fn install(&self) -> (i32, String) {
        self.run(&["sh"], &["--from", self.release().to_str().unwrap()])
    }

    /// Every file below the home, relative to it.
    fn files(&self) -> Vec<String> {
        let mut files = Vec::new();
        let mut folders = vec![self.home()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                match path.is_dir() {
                    true => folders.push(path),
                    false => files
                        .push(path.strip_prefix(self.home()).unwrap().to_str().unwrap().to_owned()),
                }
            }
        }
        files.sort();
        files
    }
}

fn printed(output: &Output) -> (i32, String) {
    let text = [output.stdout.as_slice(), output.stderr.as_slice()].concat();
    (output.status.code().unwrap(), String::from_utf8(text).unwrap())
}

#[test]
fn a_release_is_installed_set_up_and_searched_without_rust() {
    let person = Person::new();
    let program = Path::new(env!("CARGO_BIN_EXE_notewell"));
    person.pack(env!("CARGO_PKG_VERSION"), program, &["notewell.1", "notewell-search.1"]);
    let (code, out) = person.install();
    assert_eq!(code, 0, "{out}");
    assert!(out.contains(&format!("Installed notewell {}", env!("CARGO_PKG_VERSION"))), "{out}");
    // The next command, as somebody copies it.
    let next = out.lines().last().unwrap().trim();
    assert!(next.ends_with("/.local/bin/notewell init"), "{out}");
    assert!(out.contains("is not in PATH") && out.contains("export PATH="), "{out}");
    std::fs::create_dir(person.home().join("notes")).unwrap();
    put(&person.home().join("notes/Roses.md"), "# Roses\n\nPrune after the last late frost.\n");
    let run = |line: &str| {
        let mut command = Command::new("sh");
        command.args(["-c", line]).env_clear().env("HOME", person.home());
        command.env("PATH", format!("{}/.local/bin:/usr/bin:/bin", person.home().display()));
        command.env("NOTEWELL_EMBED_PROVIDER", "none").current_dir(person.home());
        printed(&command.output().unwrap())
    };
    let (code, out) = run("notewell init --yes --vault ~/notes");
    assert_eq!(code, 0, "{out}");
    let (code, out) = run("notewell search late frost");
    assert!(code == 0 && out.contains("Roses"), "{out}");

    let (code, out) = person.run(&["sh"], &["--uninstall"]);
    assert_eq!(code, 0, "{out}");
    let left = person.files();
    assert!(!left.iter().any(|file| file.contains("bin/") || file.contains("man/")), "{left:?}");
    for kept in ["notes/Roses.md", &format!("{DATA}/notewell/notewell.db")] {
        assert!(left.iter().any(|file| file == kept), "{kept}: {left:?}");
    }
}

#[test]
fn every_shell_installs_the_same_files_and_removes_them_again() {
    let shells: [&[&str]; 5] =
        [&["dash"], &["busybox", "sh"], &["bash"], &["bash", "--posix"], &["zsh"]];
    let mut installed: Option<Vec<String>> = None;
    for shell in shells {
        if Command::new(shell[0]).arg("-c").arg(":").output().is_err() {
            println!("skipped: there is no {}", shell[0]);
            continue;
        }
        let person = Person::new();
        person.pack_small("0.1.0", &["notewell.1"]);
        let (code, out) = person.run(shell, &["--from", person.release().to_str().unwrap()]);
        assert_eq!(code, 0, "{shell:?}: {out}");
        let files = person.files();
        assert!(files.contains(&".local/bin/notewell".to_owned()), "{files:?}");
        assert!(files.contains(&".local/share/man/man1/notewell.1".to_owned()), "{files:?}");
        assert_eq!(installed.get_or_insert(files.clone()), &files, "{shell:?}");
        let (code, out) = person.run(shell, &["--uninstall"]);
        assert_eq!(code, 0, "{shell:?}: {out}");
        assert_eq!(person.files(), Vec::<String>::new(), "{shell:?}");
        let (code, out) = person.run(shell, &["--uninstall"]);
        assert!(code == 1 && out.contains("nothing to remove"), "{out}");
    }
    assert!(installed.is_some());
}

#[test]
fn an_update_replaces_the_program_and_takes_away_what_is_no_longer_in_it() {
    let person = Person::new();
    person.pack_small("0.1.0", &["notewell.1", "notewell-old.1"]);
    assert_eq!(person.install().0, 0);
    person.pack_small("0.2.0", &["notewell.1"]);
    let (code, out) = person.install();
    assert!(code == 0 && out.contains("Installed notewell 0.2.0"), "{out}");
    // What is replaced is named, and what runs has to be started again.
    assert!(out.contains("in place of notewell 0.1.0"), "{out}");
    assert!(out.contains("restart") && out.trim().ends_with("notewell self check"), "{out}");
    // There is no service here.
    assert!(!out.contains("systemctl") && !out.contains("launchctl"), "{out}");
    let files = person.files();
    assert!(!files.iter().any(|file| file.contains("notewell-old")), "{files:?}");
    assert!(files.contains(&".local/share/man/man1/notewell.1".to_owned()), "{files:?}");
}

#[test]
fn a_changed_tarball_is_refused_and_nothing_is_left() {
    let person = Person::new();
    person.pack_small("0.1.0", &["notewell.1"]);
    let tarball = person.release().join(format!("notewell-0.1.0-{}.tar.gz", target()));
    let sound = std::fs::read(&tarball).unwrap();
    let mut changed = sound.clone();
    let middle = changed.len() / 2;
    changed[middle] ^= 1;
    put(&tarball, &changed);
    let (code, out) = person.install();
    assert_eq!(code, 1, "{out}");
    assert!(out.contains("SHA-256") && out.contains("Nothing was installed"), "{out}");
    assert_eq!(person.files(), Vec::<String>::new());

    // What was installed before stays as it is.
    put(&tarball, &sound);
    assert_eq!(person.install().0, 0);
    let before = person.files();
    put(&tarball, &changed);
    assert_eq!(person.install().0, 1);
    assert_eq!(person.files(), before);
    let version = Command::new(person.home().join(".local/bin/notewell")).output().unwrap();
    assert_eq!(printed(&version), (0, "notewell 0.1.0\n".to_owned()));
}

#[test]
fn what_is_missing_or_foreign_is_named() {
    let person = Person::new();
    let release = person.release();
    let release = release.to_str().unwrap();
    let (code, out) = person.install();
    assert!(code == 1 && out.contains("`SHA256SUMS`"), "{out}");
    put(&person.release().join("SHA256SUMS"), "");
    let (code, out) = person.install();
    assert!(code == 1 && out.contains("has no tarball for `"), "{out}");
    person.pack_small("0.1.0", &["notewell.1"]);
    let (code, out) = person.run(&["sh"], &["--from", release, "--version", "9.9.9"]);
    assert!(code == 1 && out.contains("of version `9.9.9`"), "{out}");
    let (code, out) = person.run(&["sh"], &["--frobnicate"]);
    assert!(code == 1 && out.contains("`--frobnicate`"), "{out}");
    let (code, out) = person.run(&["sh"], &["--from"]);
    assert!(code == 1 && out.contains("needs a value"), "{out}");

    // Somebody's own program of that name.
    std::fs::create_dir_all(person.home().join(".local/bin")).unwrap();
    put(&person.home().join(".local/bin/notewell"), "mine");
    let (code, out) = person.install();
    assert!(code == 1 && out.contains("did not install"), "{out}");
    assert_eq!(person.files(), [".local/bin/notewell"]);
    std::fs::remove_file(person.home().join(".local/bin/notewell")).unwrap();
    // Pages that somebody wrote with `notewell man`.
    let page = person.home().join(".local/share/man/man1/notewell.1");
    std::fs::create_dir_all(page.parent().unwrap()).unwrap();
    put(&page, "mine");
    let (code, out) = person.install();
    assert!(
        code == 1 && out.contains("man1/notewell.1` that this script did not install"),
        "{out}"
    );
    assert_eq!(person.files(), [".local/share/man/man1/notewell.1"]);
    assert_eq!(std::fs::read_to_string(&page).unwrap(), "mine");
    let prefix = person.home().join("with a space");
    let (code, out) =
        person.run(&["sh"], &["--from", release, "--prefix", prefix.to_str().unwrap()]);
    assert!(code == 0 && prefix.join("bin/notewell").is_file(), "{out}");
    // Whoever named a prefix needs no home.
    let mut command = Command::new("sh");
    command.arg(SCRIPT).arg("--uninstall").arg("--prefix").arg(&prefix);
    command.env_clear().env("PATH", "/usr/bin:/bin");
    let (code, out) = printed(&command.output().unwrap());
    assert!(code == 0 && !prefix.join("bin/notewell").exists(), "{out}");
}

/// As in `curl … | sh -s -- --help`, where there is no file of the script.
#[test]
fn help_of_a_script_in_a_pipe_is_printed() {
    let mut command = Command::new("sh");
    command.args(["-s", "--", "--help"]).stdin(std::fs::File::open(SCRIPT).unwrap());
    let (code, out) = printed(&command.output().unwrap());
    assert!(code == 0 && out.contains("sh install.sh --uninstall"), "{out}");
}

#[test]
fn a_script_that_was_cut_off_does_nothing() {
    let person = Person::new();
    person.pack_small("0.2.0", &[]);
    let script = std::fs::read(SCRIPT).unwrap();
    // The last one lacks the closing brace alone.
    for length in [script.len() / 4, script.len() / 2, script.len() - 2] {
        let cut = person.0.path().join("cut.sh");
        put(&cut, &script[..length]);
        let mut command = Command::new("sh");
        command.arg(&cut).arg("--from").arg(person.release()).env("HOME", person.home());
        let (status, printed) = printed(&command.output().unwrap());
        assert_ne!(status, 0, "{printed}");
        assert_eq!(person.files(), [] as [&str; 0], "{printed}");
    }
}

#[test]
fn a_program_that_a_service_runs_is_not_removed() {
    let person = Person::new();
    person.pack_small("0.1.0", &["notewell.1"]);
    assert_eq!(person.install().0, 0);
    // A unit names the program without symbolic links.
    let home = person.home().canonicalize().unwrap();
    let unit = home.join(".config/systemd/user/notewell.service");
    std::fs::create_dir_all(unit.parent().unwrap()).unwrap();
    let start = format!("ExecStart={}/.local/bin/notewell serve\n", home.display());
    put(&unit, format!("# Written by `notewell service install`, which replaces it.\n{start}"));
    std::os::unix::fs::symlink(home.join(".local"), home.join("linked")).unwrap();
    let uninstall = |prefix: &str| {
        let prefix = format!("{}/{prefix}", home.display());
        person.run(&["sh"], &["--uninstall", "--prefix", &prefix])
    };
    for prefix in [".local", ".local/", "linked"] {
        let (code, out) = uninstall(prefix);
        assert!(code == 1 && out.contains("/bin/notewell service uninstall`"), "{prefix}: {out}");
        assert!(home.join(".local/bin/notewell").is_file(), "{prefix}");
    }
    // Units that `notewell service uninstall` leaves alone: somebody's own, and that of the tarball.
    let tarball = concat!(env!("CARGO_MANIFEST_DIR"), "/release/units/notewell.service");
    let tarball = std::fs::read_to_string(tarball).unwrap();
    for text in [&start, &tarball] {
        put(&unit, text);
        for prefix in [".local", "linked"] {
            let (code, out) = uninstall(prefix);
            assert!(code == 1 && out.contains("systemctl --user disable"), "{prefix}: {out}");
            assert!(home.join(".local/bin/notewell").is_file(), "{prefix}");
        }
    }
    // An update says how to restart it.
    let (code, out) = person.install();
    assert!(code == 0 && out.contains("systemctl --user restart notewell"), "{out}");
    // It runs another program than that of another folder.
    let elsewhere = home.join("elsewhere");
    let release = person.release();
    let (code, out) = person.run(
        &["sh"],
        &["--from", release.to_str().unwrap(), "--prefix", elsewhere.to_str().unwrap()],
    );
    assert_eq!(code, 0, "{out}");
    let (code, out) = uninstall("elsewhere");
    assert!(code == 0 && !elsewhere.join("bin/notewell").exists(), "{out}");
    std::fs::remove_file(unit).unwrap();
    let (code, out) = uninstall(".local//");
    assert!(code == 0 && !home.join(".local/bin/notewell").exists(), "{out}");
}

#[test]
fn what_is_left_of_an_installation_is_removed() {
    let person = Person::new();
    person.pack_small("0.1.0", &["notewell.1"]);
    assert_eq!(person.install().0, 0);
    std::fs::remove_dir_all(person.home().join(".local/bin")).unwrap();
    let (code, out) = person.run(&["sh"], &["--uninstall"]);
    assert!(code == 0 && out.contains("Removed Notewell"), "{out}");
    assert_eq!(person.files(), Vec::<String>::new());
}
