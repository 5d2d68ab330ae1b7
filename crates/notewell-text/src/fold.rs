//! One word, one spelling: NFKC, case, accents, `ё`, invisible joiners, digits of other scripts.
//!
//! Accents are dropped from Latin and Greek, where people leave them out when they type. They stay
//! where they make another letter: `й` is not `и`, `が` is not `か`.

use std::sync::OnceLock;

use unicode_normalization::UnicodeNormalization;

use super::han_table;
use super::script::{self, Script};

/// A longer word is cut here, on both sides of a search: it is data, not language.
pub(super) const MAX_WORD: usize = 64;

/// Writes `raw` in lower case into `lower`, and without accents into `bare`.
pub(super) fn fold_word(raw: &str, lower: &mut String, bare: &mut String) {
    lower.clear();
    bare.clear();
    if raw.is_ascii() {
        lower.push_str(&raw[..raw.len().min(MAX_WORD)]);
        lower.make_ascii_lowercase();
        bare.push_str(lower);
        return;
    }
    if fold_plain_cyrillic(raw, lower) {
        bare.push_str(lower);
        return;
    }
    // Twice, because some capitals come out decomposed.
    let folded =
        raw.chars().filter(|c| !is_invisible(*c)).nfkc().flat_map(char::to_lowercase).nfkc();
    for c in folded.take(MAX_WORD) {
        push_folded(c, lower, bare);
    }
}

/// The common case of Russian text, without tables.
fn fold_plain_cyrillic(raw: &str, lower: &mut String) -> bool {
    for (count, c) in raw.chars().enumerate() {
        let folded = match c {
            'а'..='я' => c,
            'А'..='Я' => char::from_u32(u32::from(c) + 0x20).unwrap_or(c),
            'ё' | 'Ё' => 'е',
            _ => {
                lower.clear();
                return false;
            }
        };
        if count < MAX_WORD {
            lower.push(folded);
        }
    }
    true
}

fn push_folded(c: char, lower: &mut String, bare: &mut String) {
    match script::of(c) {
        Script::Latin | Script::Greek => {
            lower.push(c);
            match bare_letter(c) {
                Some(letters) => bare.push_str(letters),
                None => unicode_normalization::char::decompose_canonical(c, |d| {
                    if !is_accent(d) {
                        bare.push(if d == 'ς' { 'σ' } else { d });
                    }
                }),
            }
        }
        Script::Mark if is_accent(c) => {
            if !matches!(u32::from(c), 0x591..=0x670 | 0x6D6..=0x6ED) {
                lower.push(c);
            }
        }
        // What NFKC leaves of spacing forms and the like.
        Script::None if !matches!(c, '\'' | '’' | 'ʼ' | ',' | '"' | '⁄') => {}
        _ => {
            let plain = plain_letter(c);
            lower.extend(plain);
            bare.extend(plain);
        }
    }
}

/// Appends `word`, already in lower case, without its accents.
pub(super) fn push_bare(word: &str, bare: &mut String) {
    if word.is_ascii() {
        bare.push_str(word);
        return;
    }
    let mut lower = String::new();
    for c in word.chars() {
        push_folded(c, &mut lower, bare);
    }
}

/// Latin letters that have no decomposition but a plain spelling.
fn bare_letter(c: char) -> Option<&'static str> {
    Some(match c {
        'ß' => "ss",
        'æ' => "ae",
        'œ' => "oe",
        'ø' => "o",
        'ł' => "l",
        'đ' | 'ð' => "d",
        'þ' => "th",
        'ı' => "i",
        'ħ' => "h",
        'ŋ' => "ng",
        _ => return None,
    })
}

/// Letters and digits written in more than one way; `None` where the character says nothing.
fn plain_letter(c: char) -> Option<char> {
    Some(match c {
        'ё' => 'е',
        'أ' | 'إ' | 'آ' | 'ٱ' => 'ا',
        'ى' | 'ی' => 'ي',
        'ک' => 'ك',
        '’' | 'ʼ' => '\'',
        'ـ' | '׳' | '״' | '·' => return None,
        '٠'..='٩' => digit(c, '٠'),
        '۰'..='۹' => digit(c, '۰'),
        '०'..='९' => digit(c, '०'),
        '๐'..='๙' => digit(c, '๐'),
        _ => c,
    })
}

fn digit(c: char, zero: char) -> char {
    char::from_digit(u32::from(c) - u32::from(zero), 10).unwrap_or(c)
}

/// Marks that only say how to read a letter: accents, Hebrew points, Arabic vowel signs.
fn is_accent(c: char) -> bool {
    matches!(u32::from(c), 0x300..=0x36F | 0x591..=0x5C7 | 0x610..=0x61A | 0x64B..=0x65F | 0x670 | 0x6D6..=0x6ED | 0x20D0..=0x20F0)
}

/// The last character boundary of `text` at or before `at`.
pub(super) fn floor_char(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

/// Joiners, direction marks, variation selectors, soft hyphens.
pub(super) fn is_invisible(c: char) -> bool {
    matches!(u32::from(c), 0xAD | 0x200C..=0x200F | 0x202A..=0x202E | 0x2060..=0x2069 | 0xFEFF | 0xFE00..=0xFE0F)
}

/// Whether a Japanese or Chinese character is already in its NFKC form and takes no mark.
pub(super) fn is_plain_japanese(c: char) -> bool {
    matches!(u32::from(c), 0x4E00..=0x9FFF | 0x3041..=0x3096 | 0x30A1..=0x30FE | 0x3400..=0x4DBF | 0x3005..=0x3007)
}

/// The form under which a Han character is found; `chinese` folds pairs that Japanese keeps apart.
pub(super) fn fold_han(c: char, chinese: bool) -> char {
    let Some(index) = u32::from(c).checked_sub(HAN_START) else { return c };
    let tables = han_tables();
    let table = if chinese { &tables.chinese } else { &tables.always };
    match table.get(index as usize) {
        Some(code) => char::from_u32(u32::from(*code)).unwrap_or(c),
        None => c,
    }
}

const HAN_START: u32 = 0x4E00;
const HAN_END: u32 = 0xA000;

struct HanTables {
    always: Vec<u16>,
    chinese: Vec<u16>,
}

fn han_tables() -> &'static HanTables {
    static TABLES: OnceLock<HanTables> = OnceLock::new();
    TABLES.get_or_init(|| {
        let mut always: Vec<u16> = (HAN_START..HAN_END).map(|code| code as u16).collect();
        fill(&mut always, &han_table::ALWAYS);
        let mut further: Vec<u16> = (HAN_START..HAN_END).map(|code| code as u16).collect();
        fill(&mut further, &han_table::CHINESE);
        let chinese =
            always.iter().map(|code| further[usize::from(*code) - HAN_START as usize]).collect();
        HanTables { always, chinese }
    })
}

fn fill(table: &mut [u16], pairs: &[(&str, &str)]) {
    for (from, to) in pairs {
        for (from, to) in from.chars().zip(to.chars()) {
            table[(u32::from(from) - HAN_START) as usize] = u32::from(to) as u16;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fold(raw: &str) -> (String, String) {
        let (mut lower, mut bare) = (String::new(), String::new());
        fold_word(raw, &mut lower, &mut bare);
        (lower, bare)
    }

    #[test]
    fn letters_that_lose_their_accents_and_letters_that_do_not() {
        for (raw, bare) in [
            ("Résumé", "resume"),
            ("re\u{301}sume\u{301}", "resume"),
            ("Straße", "strasse"),
            ("Ærøskøbing", "aeroskobing"),
            ("İstanbul", "istanbul"),
            ("ＷＩＤＥ７", "wide7"),
            ("ﬁnal", "final"),
            ("Ёлка", "елка"),
            ("е\u{308}лка", "елка"),
            ("Йод", "йод"),
            ("и\u{306}од", "йод"),
            ("за\u{301}мок", "замок"),
            ("їжак", "їжак"),
            ("Ὀδυσσεύς", "οδυσσευσ"),
            ("مُدَرِّسَة", "مدرسة"),
            ("שָׁלוֹם", "שלום"),
            ("٢٠٢٤", "2024"),
            ("co\u{AD}operate", "cooperate"),
            ("हिन्दी", "हिन्दी"),
        ] {
            assert_eq!(fold(raw).1, bare, "{raw}");
        }
        assert_eq!(fold("ÉTÉ").0, "été");
    }

    #[test]
    fn long_words_are_cut() {
        assert_eq!(fold(&"a".repeat(500)).1.len(), MAX_WORD);
        assert_eq!(fold(&"Я".repeat(500)).1.chars().count(), MAX_WORD);
    }

    #[test]
    fn han_variants_meet() {
        for (one, other) in [('國', '国'), ('電', '电'), ('學', '学'), ('頭', '头'), ('発', '發')]
        {
            assert_eq!(fold_han(one, false), fold_han(other, false));
        }
        // Machine and desk, hair and departure, after and empress: apart in Japanese.
        for (one, other) in [('機', '机'), ('髪', '発'), ('後', '后'), ('裏', '里')] {
            assert_ne!(fold_han(one, false), fold_han(other, false));
            assert_eq!(fold_han(one, true), fold_han(other, true));
        }
        for c in ('\u{4E00}'..'\u{A000}').chain(['あ', 'ー', 'a']) {
            assert_eq!(fold_han(fold_han(c, false), false), fold_han(c, false), "{c}");
            assert_eq!(fold_han(fold_han(c, true), true), fold_han(c, true), "{c}");
            assert_eq!(fold_han(fold_han(c, false), true), fold_han(c, true), "{c}");
        }
    }
}
