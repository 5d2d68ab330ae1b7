//! Word forms that a stemmer does not join: `mice` and `mouse`, `went` and `go`, `дня` and `день`.
//!
//! A table maps a word, or the stem of a word, to its key: the one term that all forms of the word
//! share. The tables are sorted lines in the binary and are searched in place. `forms/README.md`
//! describes the format, the sources and the licences.

use super::lang::Lang;

const ENGLISH: &str = include_str!(concat!(env!("OUT_DIR"), "/forms-en.tsv"));
const RUSSIAN: &str = include_str!(concat!(env!("OUT_DIR"), "/forms-ru.tsv"));

/// Marks a line about every word of one stem.
const STEM: u8 = b'=';

/// The keys of a folded word, separated by spaces, likelier first; `""` where the stem is the key.
///
/// A line about the word itself wins over one about its stem. Two keys mean that the word is a form
/// of two words: `left` of `left` and `leave`.
pub(super) fn keys(lang: Lang, word: &str, stem: &str) -> &'static str {
    let table = match lang {
        Lang::English => ENGLISH,
        Lang::Russian => RUSSIAN,
        _ => return "",
    };
    let key = look_up(table, word.bytes())
        .or_else(|| look_up(table, std::iter::once(STEM).chain(stem.bytes())));
    key.unwrap_or("")
}

/// The second column of the line whose first column is `key`.
fn look_up(table: &str, key: impl Iterator<Item = u8> + Clone) -> Option<&str> {
    let bytes = table.as_bytes();
    let (mut low, mut high) = (0, bytes.len());
    while low < high {
        let middle = low + (high - low) / 2;
        let start =
            bytes[low..middle].iter().rposition(|b| *b == b'\n').map_or(low, |at| low + at + 1);
        let end =
            bytes[middle..high].iter().position(|b| *b == b'\n').map_or(high, |at| middle + at);
        let line = &bytes[start..end];
        let tab = line.iter().position(|b| *b == b'\t').unwrap_or(line.len());
        match line[..tab].iter().copied().cmp(key.clone()) {
            std::cmp::Ordering::Less => low = (end + 1).min(high),
            std::cmp::Ordering::Greater => high = start,
            std::cmp::Ordering::Equal => return table.get(start + tab + 1..end),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_both_tables_is_found() {
        for (table, least) in [(ENGLISH, 2_000), (RUSSIAN, 30_000)] {
            let lines: Vec<(&str, &str)> =
                table.lines().map(|line| line.split_once('\t').unwrap()).collect();
            assert!(lines.len() > least, "{}", lines.len());
            assert!(lines.windows(2).all(|pair| pair[0].0.as_bytes() < pair[1].0.as_bytes()));
            for (key, value) in lines {
                assert_eq!(look_up(table, key.bytes()), Some(value), "{key}");
                assert!(!value.is_empty());
            }
        }
    }

    #[test]
    fn words_without_a_line_have_no_key() {
        for word in ["", "=", "\t", "\n", "a", "zzzz", "ящур", "東京", "\u{10FFFF}", "mice\tmous"]
        {
            assert_eq!(look_up(ENGLISH, word.bytes()), None, "{word:?}");
        }
        assert_eq!(keys(Lang::German, "mice", "mice"), "");
    }

    #[test]
    fn a_form_of_two_words_has_two_keys() {
        assert_eq!(keys(Lang::English, "left", "left").split(' ').count(), 2);
        assert_eq!(keys(Lang::Russian, "другом", "друг").split(' ').count(), 2);
    }
}
