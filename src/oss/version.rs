//! Compares versions, well enough for every registry: numbers first, then the words of a
//! pre-release.

use std::cmp::Ordering;

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    /// `alpha` before `beta` before `rc`, all before nothing.
    Word(String),
    Number(u64),
}

pub fn compare(a: &str, b: &str) -> Ordering {
    let ((a, a_pre), (b, b_pre)) = (split(a), split(b));
    let longest = a.len().max(b.len());
    let at = |numbers: &[u64], n: usize| numbers.get(n).copied().unwrap_or(0);
    (0..longest).map(|n| at(&a, n).cmp(&at(&b, n))).find(|order| order.is_ne()).unwrap_or_else(
        || match (a_pre.is_empty(), b_pre.is_empty()) {
            (true, true) => Ordering::Equal,
            // A pre-release comes before its release.
            (true, false) => Ordering::Greater,
            (false, true) => Ordering::Less,
            (false, false) => a_pre.cmp(&b_pre),
        },
    )
}

fn split(version: &str) -> (Vec<u64>, Vec<Part>) {
    let version = version.trim().trim_start_matches(['v', '=']);
    let version = version.split('+').next().unwrap_or_default();
    let mut numbers = Vec::new();
    let mut rest = version;
    loop {
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let Ok(number) = rest[..digits].parse() else { break };
        numbers.push(number);
        rest = &rest[digits..];
        match rest.strip_prefix('.').filter(|next| next.starts_with(|c: char| c.is_ascii_digit())) {
            Some(next) => rest = next,
            None => break,
        }
    }
    let mut parts = Vec::new();
    let mut rest = rest.to_lowercase();
    // PEP 440: a post-release comes after its release.
    if let Some(post) = rest.strip_prefix(".post") {
        numbers.resize(8, 0);
        numbers.push(post.parse::<u64>().unwrap_or(0) + 1);
        rest = String::new();
    }
    let mut word = String::new();
    for c in rest.chars().chain(['.']) {
        let turns =
            word.chars().last().is_some_and(|last| last.is_ascii_digit() != c.is_ascii_digit());
        if (!c.is_ascii_alphanumeric() || turns) && !word.is_empty() {
            parts.push(word.parse().map_or_else(|_| Part::Word(word.clone()), Part::Number));
            word.clear();
        }
        if c.is_ascii_alphanumeric() {
            word.push(c);
        }
    }
    (numbers, parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_stand_in_order() {
        let order = [
            "0.0.1",
            "0.1",
            "0.9.9",
            "1.0.0-alpha",
            "1.0.0-alpha.1",
            "1.0.0-beta",
            "1.0.0-rc.2",
            "1.0.0-rc.10",
            "1.0.0",
            "1.0.0.post1",
            "1.0.1",
            "1.2",
            "1.10.0rc1",
            "1.10.0",
            "2.0.0",
        ];
        for pair in order.windows(2) {
            assert_eq!(compare(pair[0], pair[1]), Ordering::Less, "{pair:?}");
            assert_eq!(compare(pair[1], pair[0]), Ordering::Greater, "{pair:?}");
        }
        for (a, b) in [("1.0", "1.0.0"), ("v1.2.3", "1.2.3"), ("1.0.0+build", "1.0.0"), ("", "")] {
            assert_eq!(compare(a, b), Ordering::Equal, "{a} {b}");
        }
    }
}
