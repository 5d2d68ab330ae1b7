//! The commands of the README, pasted block by block.

use crate::pasted::{blocks, root, run};

/// Blocks that a test cannot run.
const MAX_NOT_RUN: usize = 5;

#[test]
fn every_block_can_be_pasted() {
    let blocks = blocks(&std::fs::read_to_string(root().join("README.md")).unwrap());
    let not_run: Vec<usize> =
        blocks.iter().filter(|block| block.not_run.is_some()).map(|block| block.line).collect();
    assert!(not_run.len() <= MAX_NOT_RUN, "too many blocks are not run: lines {not_run:?}");
    assert!(blocks.len() - not_run.len() >= 7, "only {} blocks", blocks.len());
    let printed = run("README.md", &blocks);
    for expected in [
        "A first search",
        "`notewell` is set up in",
        "1. Coffee brewing",
        "Grind finer first",
        "Nothing is wrong.",
        "\"jsonrpc\"",
        "vector",
        "complete -F _notewell",
    ] {
        let (out, err) = (&printed.out, &printed.err);
        assert!(out.contains(expected), "`{expected}` is not in\n{out}\n---\n{err}");
    }
}
