//! What is fuzzed: one function per kind of input, over the public functions that a stranger's bytes
//! reach. Each returns when its input was handled as promised, and panics otherwise.
//!
//! The fuzzer (`../src/bin`) and the ordinary tests (`tests/it/fuzz_corpus.rs`) share this folder.

pub mod imports;
pub mod ledger;
pub mod markup;
pub mod notes;
pub mod protocol;
pub mod site;
pub mod values;
pub mod words;

use std::{borrow::Cow, ops::Range, path::PathBuf};

/// A target.
pub struct Target {
    /// Its name on the command line, and that of its folder in `corpus`.
    pub name: &'static str,
    /// Handles one input.
    pub run: fn(&[u8]),
}

const fn target(name: &'static str, run: fn(&[u8])) -> Target {
    Target { name, run }
}

/// Targets that are pure functions, or read one file.
pub const TEXT: &[Target] = &[
    target("frames", protocol::frames),
    target("query", protocol::query),
    target("config", protocol::config),
    target("rules", protocol::rules),
    target("frontmatter", notes::frontmatter),
    target("outline", notes::outline),
    target("edit", notes::edit),
    target("merge", notes::merge),
    target("template", notes::template),
    target("html", markup::html),
    target("math", markup::math),
    target("values", values::values),
    target("words", words::words),
    target("japanese", words::japanese),
    target("bookmarks", imports::bookmarks),
    target("cards", imports::cards),
    target("prompts", imports::prompts),
];

/// Targets that need an open library.
pub const SITE: &[Target] = &[
    target("http", site::http),
    target("mcp", site::mcp),
    target("dav", site::dav),
    target("oauth", site::oauth),
    target("ledger", ledger::ledger),
];

/// Stands between the parts of an input.
const SEPARATOR: u8 = 0x1e;

/// The parts of an input; those that are missing are empty.
fn parts<const N: usize>(data: &[u8]) -> [&[u8]; N] {
    let mut given = data.splitn(N, |byte| *byte == SEPARATOR);
    std::array::from_fn(|_| given.next().unwrap_or_default())
}

/// Bytes as text.
fn text(data: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(data)
}

/// Which of several costly checks an input gets: all of them in the tests, and one in the fuzzer,
/// where an input that differs by a byte gets another one.
fn turns(data: &[u8], count: usize) -> Range<usize> {
    if cfg!(test) {
        return 0..count;
    }
    let sum = data.iter().fold(data.len(), |sum, byte| sum.wrapping_add(usize::from(*byte)));
    let turn = sum % count.max(1);
    turn..turn + 1
}

/// A folder in memory where the system has one: a target must not wait for a disk. `./fuzz` names one
/// in `FUZZ_FOLDER`, and removes it when its process ends.
fn folder() -> tempfile::TempDir {
    let named = std::env::var_os("FUZZ_FOLDER").map(PathBuf::from);
    let memory = named.unwrap_or_else(|| PathBuf::from("/dev/shm"));
    let made = match memory.is_dir() {
        true => tempfile::tempdir_in(memory),
        false => tempfile::tempdir(),
    };
    made.expect("a temporary folder")
}
