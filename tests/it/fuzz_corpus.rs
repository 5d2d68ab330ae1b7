//! The corpus of the fuzzer in the ordinary build: every input that once found a fault stays
//! handled, and so do some hundred inputs near it.

#[path = "../../fuzzing/targets/mod.rs"]
mod targets;

use std::{
    fs,
    path::{Path, PathBuf},
};

use targets::{SITE, TEXT, Target};

/// Inputs near the corpus that each target handles: the same ones in every run.
const NEIGHBOURS: usize = 400;

fn corpus(target: &Target) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzzing/corpus").join(target.name);
    let entries = fs::read_dir(&folder).unwrap_or_else(|_| panic!("no corpus for {}", target.name));
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

/// Names the input that a target did not handle.
struct Input<'a>(&'a str, &'a [u8]);

impl Drop for Input<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("target `{}` failed on: {}", self.0, self.1.escape_ascii());
        }
    }
}

fn handle(target: &Target, data: &[u8]) {
    let _input = Input(target.name, data);
    (target.run)(data);
}

/// Bytes that mean something to one parser or another.
const SPECIAL: &[u8] = b"\n\r\x1e#-`[]{}<>\"\\:$|\xff\0 ";

/// Random numbers that are the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end.max(1) as u64) as usize
    }

    /// An input near `data`, with pieces of `other` in it.
    fn neighbour(&mut self, data: &[u8], other: &[u8]) -> Vec<u8> {
        let mut new = data.to_vec();
        for _ in 0..=self.below(4) {
            let at = self.below(new.len() + 1);
            let end = (at + self.below(8)).min(new.len());
            match self.below(5) {
                0 if at < new.len() => new[at] ^= 1 << self.below(8),
                1 => drop(new.drain(at..end)),
                2 => {
                    let piece = new[at..end].to_vec();
                    new.splice(at..at, piece);
                }
                3 => {
                    let from = self.below(other.len() + 1);
                    let to = (from + self.below(40)).min(other.len());
                    new.splice(at..at, other[from..to].iter().copied());
                }
                _ => new.insert(at, SPECIAL[self.below(SPECIAL.len())]),
            }
        }
        new
    }
}

fn replay(targets: &[Target]) {
    for target in targets {
        let inputs: Vec<Vec<u8>> =
            corpus(target).iter().map(|file| fs::read(file).unwrap()).collect();
        assert!(!inputs.is_empty(), "no corpus for {}", target.name);
        for input in &inputs {
            handle(target, input);
        }
        let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
        for _ in 0..NEIGHBOURS {
            let (one, other) = (dice.below(inputs.len()), dice.below(inputs.len()));
            handle(target, &dice.neighbour(&inputs[one], &inputs[other]));
        }
    }
}

#[test]
fn pure_functions_and_importers_handle_the_corpus() {
    replay(TEXT);
}

#[test]
fn the_server_and_the_books_handle_the_corpus() {
    replay(SITE);
}

#[cfg(unix)]
#[test]
fn the_script_knows_every_target() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz");
    let list = std::process::Command::new(script).arg("--list").output().unwrap();
    let mut listed: Vec<&str> = std::str::from_utf8(&list.stdout).unwrap().lines().collect();
    let mut known: Vec<&str> = TEXT.iter().chain(SITE).map(|target| target.name).collect();
    listed.sort_unstable();
    known.sort_unstable();
    assert_eq!(listed, known);
}
