//! Numbers of things, as messages say them.

use std::fmt::Display;

/// A number with its noun, in singular or plural: `1 note`, `2 notes`. The plural ends in `s`.
pub fn count<N: Display + PartialEq + From<u8>>(number: N, noun: &str) -> String {
    let plural = if number == N::from(1) { "" } else { "s" };
    format!("{number} {noun}{plural}")
}

#[cfg(test)]
mod tests {
    use super::count;

    #[test]
    fn one_thing_is_singular() {
        assert_eq!(
            [0, 1, 2].map(|number: u64| count(number, "note")),
            ["0 notes", "1 note", "2 notes"]
        );
        assert_eq!(count(1_usize, "more line"), "1 more line");
    }
}
