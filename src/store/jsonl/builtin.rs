//! The prompts that come with the binary.

use std::sync::LazyLock;

use super::lines::Lines;
use crate::store::prompts::Origin;

pub fn lines() -> &'static Lines {
    static LINES: LazyLock<Lines> = LazyLock::new(|| {
        let file = include_bytes!("../../../assets/prompts/default.jsonl");
        Lines::read(file, Origin::BuiltIn, &Lines::default())
    });
    &LINES
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_line_reads() {
        assert_eq!(super::lines().problems("default.jsonl"), []);
    }
}
