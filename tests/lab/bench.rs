//! A library that can be put back to where it began, and programs on it with and without faults.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::Mutex,
};

use crate::{
    flips::copy,
    shim::{Control, shim},
    support::notewell,
};

pub struct Bench {
    dir: tempfile::TempDir,
    /// Whether the disk says that it synced, and does not.
    pub lies: bool,
    /// The program under test, unless it is today's.
    other: Mutex<Option<PathBuf>>,
    pub control: Control,
    shim: PathBuf,
}

impl Bench {
    /// An empty library; `None` where no faults can be made.
    pub fn new() -> Option<Self> {
        let shim = shim()?.to_owned();
        // In memory where there is room: the model of the disk is the shim's, and a real one waits.
        let dir = tempfile::Builder::new()
            .prefix("notewell-lab-")
            .tempdir_in("/dev/shm")
            .or_else(|_| tempfile::tempdir())
            .unwrap();
        for name in ["home/vault", "template", "side"] {
            fs::create_dir_all(dir.path().join(name)).unwrap();
        }
        let control = Control::new(dir.path().join("control"));
        let bench = Self { dir, lies: false, other: Mutex::default(), control, shim };
        bench.put("notewell.toml", "");
        bench.boot("first");
        Some(bench)
    }

    pub fn home(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    /// A path beside the library, which no fault reaches.
    pub fn beside(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// The machine starts anew.
    pub fn boot(&self, id: &str) {
        fs::write(self.beside("boot"), id).unwrap();
    }

    /// Writes a file below the home, as a person would.
    pub fn put(&self, path: &str, text: &str) {
        let file = self.home().join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }

    /// Keeps the library as it is now, for `restore`.
    pub fn keep(&self) {
        copy(&self.home(), &self.dir.path().join("template"));
    }

    /// Puts the library back to where it was kept.
    pub fn restore(&self) {
        fs::remove_dir_all(self.home()).unwrap();
        copy(&self.dir.path().join("template"), &self.home());
        let _ = fs::remove_dir_all(self.beside("side"));
        let _ = fs::remove_file(self.beside("log"));
        self.boot("first");
        self.control.disarm();
        fs::create_dir(self.beside("side")).unwrap();
    }

    /// Tests another program from now on; `None` is today's.
    pub fn test(&self, program: Option<&Path>) {
        *self.other.lock().unwrap() = program.map(Path::to_owned);
    }

    /// The program on this library.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = notewell();
        if let Some(other) = self.other.lock().unwrap().as_ref() {
            let settings: Vec<_> = command
                .get_envs()
                .map(|(name, value)| (name.to_owned(), value.map(ToOwned::to_owned)))
                .collect();
            command = Command::new(other);
            for (name, value) in settings {
                match value {
                    Some(value) => command.env(name, value),
                    None => command.env_remove(name),
                };
            }
        }
        let home = self.home();
        command.args(arguments).arg("--data").arg(home.join("data"));
        command.arg("--vault").arg(home.join("vault"));
        command.arg("--config").arg(home.join("notewell.toml"));
        command.env("XDG_CONFIG_HOME", self.beside("config")).env("HOME", self.dir.path());
        command.env("NOTEWELL_LOG", "warn");
        command.env("LD_PRELOAD", &self.shim).env("LAB_CONTROL", &self.control.path);
        command.env("LAB_BOOT", self.beside("boot"));
        let log = File::options().create(true).append(true).open(self.beside("log")).unwrap();
        command.stderr(log);
        command
    }

    /// The program with the shim.
    pub fn faulty(&self, arguments: &[&str], power: bool) -> Command {
        let mut command = self.command(arguments);
        command.env("LAB_ROOT", self.home()).env("LAB_SIDE", self.beside("side"));
        if power {
            command.env("LAB_POWER", "1");
        }
        if self.lies {
            command.env("LAB_LIES", "1");
        }
        command
    }

    /// Runs a command that must succeed, and gives what it printed.
    pub fn say(&self, arguments: &[&str]) -> String {
        self.try_say(arguments).unwrap_or_else(|error| panic!("{error}"))
    }

    pub fn try_say(&self, arguments: &[&str]) -> Result<String, String> {
        let mut command = self.command(arguments);
        let output = command.stdin(Stdio::null()).stderr(Stdio::piped()).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let error = text(&output.stderr);
        if !output.status.success() || panicked(&error) {
            let out = text(&output.stdout);
            return Err(format!("`notewell {}` failed: {out}{error}", arguments.join(" ")));
        }
        Ok(text(&output.stdout))
    }

    /// What the programs of a round wrote to their stderr.
    pub fn log(&self) -> String {
        fs::read_to_string(self.beside("log")).unwrap_or_default()
    }

    /// Files that a writer makes and takes away again.
    pub fn leftovers(&self) -> Vec<String> {
        let mut found = Vec::new();
        names(&self.home(), &mut found);
        found.retain(|path| {
            let name = path.rsplit('/').next().unwrap_or(path);
            name.ends_with(".tmp")
                || name.starts_with(".notewell-")
                || name.contains(".new-")
                || name.ends_with('~')
                || name.ends_with("-journal")
        });
        found
    }
}

/// Every file below a folder.
pub fn names(folder: &Path, found: &mut Vec<String>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        match entry.path().is_dir() {
            true => names(&entry.path(), found),
            false => found.push(entry.path().to_string_lossy().into_owned()),
        }
    }
}

/// Whether a program panicked. Tantivy does on a file that a power cut tore; that is caught, and the
/// index is made anew.
pub fn panicked(log: &str) -> bool {
    log.lines().any(|line| line.contains("panicked at") && !line.contains("/tantivy"))
}
