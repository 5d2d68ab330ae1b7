//! The library to preload that makes faults (`shim/shim.c`), and the page it shares with the driver.

use std::{
    fs::File,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

/// What happens at a call. The numbers are those of `enum kind` in the shim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Kind {
    None = 0,
    KillBefore,
    KillAfter,
    KillShort,
    ShortWrite,
    NoSpace,
    IoError,
    SyncError,
    PowerBefore,
    PowerAfter,
    ClockJump,
}

impl Kind {
    /// Whether the process ends with it.
    pub fn is_end(self) -> bool {
        use Kind::{KillAfter, KillBefore, KillShort, PowerAfter, PowerBefore};
        matches!(self, KillBefore | KillAfter | KillShort | PowerBefore | PowerAfter)
    }

    pub fn is_power(self) -> bool {
        matches!(self, Self::PowerBefore | Self::PowerAfter)
    }
}

/// A fault at a call, and how many calls it befalls from there.
#[derive(Clone, Copy, Debug)]
pub struct Fault {
    pub kind: Kind,
    pub at: u64,
    pub span: u64,
}

impl Fault {
    pub const NONE: Self = Self { kind: Kind::None, at: 0, span: 0 };

    pub fn once(kind: Kind, at: u64) -> Self {
        Self { kind, at, span: 1 }
    }
}

/// The places of words in the page.
const ARMED: u64 = 0;
const COUNT: u64 = 1;
const FIRST: u64 = 2;
const SECOND: u64 = 5;
const SEED: u64 = 8;
const HITS: u64 = 9;
const HIT_CALL: u64 = 10;
const CLOCK: u64 = 11;
const JUMP: u64 = 12;
const LOST_SECTORS: u64 = 13;
const LOST_NAMES: u64 = 14;
const PATH: u64 = 16;

/// The page shared with the shim.
pub struct Control {
    file: File,
    pub path: PathBuf,
}

impl Control {
    pub fn new(path: PathBuf) -> Self {
        let file = File::options().read(true).write(true).create_new(true).open(&path).unwrap();
        file.set_len(4096).unwrap();
        Self { file, path }
    }

    fn set(&self, word: u64, value: u64) {
        self.file.write_all_at(&value.to_le_bytes(), word * 8).unwrap();
    }

    fn get(&self, word: u64) -> u64 {
        let mut bytes = [0; 8];
        self.file.read_exact_at(&mut bytes, word * 8).unwrap();
        u64::from_le_bytes(bytes)
    }

    /// Says which faults come, before the process starts. They come once it is armed.
    pub fn plan(&self, faults: [Fault; 2], jump: i64, seed: u64) {
        self.file.write_all_at(&[0; 4096], 0).unwrap();
        for (fault, word) in faults.iter().zip([FIRST, SECOND]) {
            self.set(word, fault.kind as u64);
            self.set(word + 1, fault.at);
            self.set(word + 2, fault.span);
        }
        self.set(JUMP, jump.cast_unsigned());
        self.set(SEED, seed);
    }

    pub fn arm(&self) {
        self.set(ARMED, 1);
    }

    /// The disk is well again, and the clock right.
    pub fn disarm(&self) {
        self.set(ARMED, 0);
        self.set(CLOCK, 0);
    }

    /// Sets the clock of every program forward.
    pub fn advance(&self, seconds: u64) {
        self.set(CLOCK, seconds);
    }

    /// How many calls there were since it was armed.
    pub fn count(&self) -> u64 {
        self.get(COUNT)
    }

    pub fn hits(&self) -> u64 {
        self.get(HITS)
    }

    /// Sectors and names that a power cut took back.
    pub fn lost(&self) -> u64 {
        self.get(LOST_SECTORS) + self.get(LOST_NAMES)
    }

    /// The system call that was hit, and its file.
    pub fn hit(&self) -> String {
        let mut bytes = [0; 400];
        self.file.read_exact_at(&mut bytes, PATH * 8).unwrap();
        let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
        let path = String::from_utf8_lossy(&bytes[..end]).into_owned();
        format!("system call {} on `{path}`", self.get(HIT_CALL))
    }
}

/// The compiled shim; `None`, with a word, where it cannot be had.
pub fn shim() -> Option<&'static Path> {
    static SHIM: OnceLock<Option<PathBuf>> = OnceLock::new();
    SHIM.get_or_init(|| {
        if !cfg!(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu")) {
            println!("skipped: faults need Linux on x86-64 with glibc");
            return None;
        }
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/lab/shim/shim.c");
        let target = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let built = target.join(format!("shim-{}.so", std::process::id()));
        let mut compiler = Command::new("cc");
        compiler.args(["-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o"]);
        match compiler.arg(&built).arg(source).status() {
            Ok(status) => assert!(status.success(), "the shim does not compile"),
            Err(error) => {
                println!("skipped: faults need the C compiler `cc` ({error})");
                return None;
            }
        }
        // One name for all runs, put in place whole.
        let shim = target.join("shim.so");
        std::fs::rename(&built, &shim).unwrap();
        Some(shim)
    })
    .as_deref()
}
