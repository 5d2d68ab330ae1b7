//! Words that differ by one typing error.

/// Whether `a` becomes `b` by at most one insertion, deletion, replacement or swap of neighbours.
pub fn within_one_typo(a: &str, b: &str) -> bool {
    let prefix = common_prefix(a.chars(), b.chars());
    let (mut a, mut b) = (a.chars(), b.chars());
    for _ in 0..prefix {
        a.next();
        b.next();
    }
    let suffix = common_prefix(a.clone().rev(), b.clone().rev());
    for _ in 0..suffix {
        a.next_back();
        b.next_back();
    }
    match (a.next(), a.next(), b.next(), b.next()) {
        (_, None, _, None) => true,
        (Some(a1), Some(a2), Some(b1), Some(b2)) => {
            a1 == b2 && a2 == b1 && a.next().is_none() && b.next().is_none()
        }
        _ => false,
    }
}

fn common_prefix(a: impl Iterator<Item = char>, b: impl Iterator<Item = char>) -> usize {
    a.zip(b).take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::within_one_typo;

    #[test]
    fn slips() {
        for (a, b) in [
            ("", ""),
            ("", "a"),
            ("kubernetes", "kubernetes"),
            ("kubernetes", "kuberentes"),
            ("kubernetes", "kubernets"),
            ("kubernetes", "kubbernetes"),
            ("kubernetes", "kubermetes"),
            ("суббота", "субота"),
            ("суббота", "сууббота"),
            ("カメラ", "カメア"),
            ("ab", "ba"),
            ("aab", "aaab"),
        ] {
            assert!(within_one_typo(a, b), "{a} {b}");
            assert!(within_one_typo(b, a), "{b} {a}");
        }
    }

    #[test]
    fn more_than_a_slip() {
        for (a, b) in [
            ("", "ab"),
            ("abc", "cba"),
            ("kubernetes", "kubrntes"),
            ("суббота", "собота"),
            ("abcd", "badc"),
            ("東京", "大阪"),
        ] {
            assert!(!within_one_typo(a, b), "{a} {b}");
            assert!(!within_one_typo(b, a), "{b} {a}");
        }
    }

    fn distance(a: &[char], b: &[char]) -> usize {
        let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
        for i in 0..=a.len() {
            for j in 0..=b.len() {
                rows[i][j] = if i == 0 || j == 0 {
                    i + j
                } else {
                    let change = usize::from(a[i - 1] != b[j - 1]);
                    let mut best = (rows[i - 1][j] + 1)
                        .min(rows[i][j - 1] + 1)
                        .min(rows[i - 1][j - 1] + change);
                    if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                        best = best.min(rows[i - 2][j - 2] + 1);
                    }
                    best
                };
            }
        }
        rows[a.len()][b.len()]
    }

    proptest! {
        #[test]
        fn agrees_with_the_full_table(a in "[abж]{0,6}", b in "[abж]{0,6}") {
            let (left, right): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
            prop_assert_eq!(within_one_typo(&a, &b), distance(&left, &right) <= 1);
        }
    }
}
