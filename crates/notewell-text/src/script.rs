//! Which script a character belongs to, as coarsely as the analyser needs.
//!
//! Ranges are written out, most frequent first, because this runs once per character of a vault.

use unicode_normalization::char::is_combining_mark;

/// The writing system of a character, or what it is instead of a letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Script {
    /// Space, punctuation, symbols: ends a word.
    None,
    /// Decimal digits of any script.
    Digit,
    /// Combining marks and invisible joiners: belongs to whatever stands before it.
    Mark,
    /// Latin letters.
    Latin,
    /// Cyrillic letters.
    Cyrillic,
    /// Greek letters.
    Greek,
    /// Hebrew letters.
    Hebrew,
    /// Arabic letters.
    Arabic,
    /// Devanagari letters.
    Devanagari,
    /// Tamil letters.
    Tamil,
    /// Armenian letters.
    Armenian,
    /// Any other alphabet that separates its words.
    Alphabet,
    /// Han characters.
    Han,
    /// Hiragana.
    Hiragana,
    /// Katakana.
    Katakana,
    /// Hangul.
    Hangul,
    /// Thai, Lao, Khmer, Burmese: words without spaces, found by a trained segmenter.
    SouthEastAsian,
    /// Pictographs.
    Emoji,
}

impl Script {
    /// Letters and digits of the scripts that put something between words.
    pub fn is_spaced(self) -> bool {
        !matches!(self, Self::None | Self::Emoji | Self::Hangul | Self::SouthEastAsian)
            && !self.is_japanese()
    }

    /// Scripts of Japanese and Chinese, which run on without spaces.
    pub fn is_japanese(self) -> bool {
        matches!(self, Self::Han | Self::Hiragana | Self::Katakana)
    }
}

/// The script of one character.
pub fn of(c: char) -> Script {
    let code = u32::from(c);
    match code {
        0..=0x7F => match c {
            'a'..='z' | 'A'..='Z' => Script::Latin,
            '0'..='9' => Script::Digit,
            _ => Script::None,
        },
        0x400..=0x482 | 0x48A..=0x52F => Script::Cyrillic,
        0x3041..=0x3096 | 0x309D..=0x309F => Script::Hiragana,
        0x30A1..=0x30FA | 0x30FC..=0x30FF | 0x31F0..=0x31FF | 0xFF66..=0xFF9D => Script::Katakana,
        // The sound marks after half-width kana compose with them.
        0x3099 | 0x309A | 0xFF9E | 0xFF9F => Script::Mark,
        0x4E00..=0x9FFF
        | 0x3400..=0x4DBF
        | 0x3005..=0x3007
        | 0xF900..=0xFAFF
        | 0x2_0000..=0x3_FFFF => Script::Han,
        0xC0..=0xD6 | 0xD8..=0xF6 | 0xF8..=0x24F | 0x1E00..=0x1EFF => Script::Latin,
        0xAA
        | 0xBA
        | 0x250..=0x2AF
        | 0x212A
        | 0x212B
        | 0x2160..=0x2188
        | 0x24B6..=0x24E9
        | 0x2C60..=0x2C7F => Script::Latin,
        0xA720..=0xA7FF | 0xFB00..=0xFB06 | 0xFF21..=0xFF3A | 0xFF41..=0xFF5A => Script::Latin,
        // Squared units such as ㎏ and telegraph months; the rest of that block spells words.
        0x3371..=0x337A | 0x3380..=0x33DF | 0x33FF => Script::Latin,
        0x3300..=0x3357 => Script::Katakana,
        0x337B..=0x337F | 0x3220..=0x3247 | 0x3280..=0x32B0 => Script::Han,
        0x300..=0x36F
        | 0xAD
        | 0x200B..=0x200F
        | 0x202A..=0x202E
        | 0x2060..=0x2069
        | 0xFEFF
        | 0xFE00..=0xFE0F => Script::Mark,
        0xAC00..=0xD7FB | 0x1100..=0x11FF | 0x3131..=0x318E | 0xA960..=0xA97C | 0xFFA1..=0xFFDC => {
            Script::Hangul
        }
        0xE01..=0xE3A
        | 0xE40..=0xE4E
        | 0xE81..=0xECF
        | 0xEDC..=0xEDF
        | 0x1000..=0x103F
        | 0x104A..=0x109D => Script::SouthEastAsian,
        0x1780..=0x17D3 | 0x17DC | 0x17DD => Script::SouthEastAsian,
        0x1F1E6..=0x1F1FF
        | 0x1F300..=0x1FAFF
        | 0x2600..=0x27BF
        | 0x2B50
        | 0x2B55
        | 0x231A
        | 0x231B
        | 0x23E9..=0x23FA => {
            if (0x2776..=0x2793).contains(&code) {
                Script::Digit
            } else {
                Script::Emoji
            }
        }
        0x1F000..=0x1F0FF => Script::Emoji,
        _ => of_rare(c),
    }
}

fn of_rare(c: char) -> Script {
    let code = u32::from(c);
    if is_combining_mark(c) {
        return Script::Mark;
    }
    if c.is_numeric() {
        return Script::Digit;
    }
    if !c.is_alphabetic() {
        return Script::None;
    }
    match code {
        0x370..=0x3FF | 0x1F00..=0x1FFF | 0x2126 => Script::Greek,
        0x590..=0x5FF | 0xFB1D..=0xFB4F => Script::Hebrew,
        0x600..=0x6FF | 0x750..=0x77F | 0x8A0..=0x8FF | 0xFB50..=0xFDFF | 0xFE70..=0xFEFC => {
            Script::Arabic
        }
        0x900..=0x97F | 0xA8E0..=0xA8FF => Script::Devanagari,
        0xB80..=0xBFF => Script::Tamil,
        0x530..=0x58F | 0xFB13..=0xFB17 => Script::Armenian,
        0x1C80..=0x1C8F | 0x2DE0..=0x2DFF | 0xA640..=0xA69F => Script::Cyrillic,
        0x2B0..=0x2BB
        | 0x2BD..=0x2FF
        | 0x1D00..=0x1DBF
        | 0x2071..=0x209C
        | 0x2100..=0x218F
        | 0x1_D400..=0x1_D6A5 => Script::Latin,
        0x1_D6A8..=0x1_D7CB => Script::Greek,
        // The letter apostrophe is an apostrophe.
        0x2BC => Script::None,
        _ => Script::Alphabet,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_letters() {
        for (c, script) in [
            ('q', Script::Latin),
            ('É', Script::Latin),
            ('Ｗ', Script::Latin),
            ('ж', Script::Cyrillic),
            ('Ё', Script::Cyrillic),
            ('λ', Script::Greek),
            ('ש', Script::Hebrew),
            ('م', Script::Arabic),
            ('क', Script::Devanagari),
            ('漢', Script::Han),
            ('々', Script::Han),
            ('が', Script::Hiragana),
            ('ー', Script::Katakana),
            ('ｶ', Script::Katakana),
            ('한', Script::Hangul),
            ('ไ', Script::SouthEastAsian),
            ('7', Script::Digit),
            ('７', Script::Digit),
            ('٣', Script::Digit),
            ('🎉', Script::Emoji),
            ('\u{301}', Script::Mark),
            ('、', Script::None),
            ('—', Script::None),
            (' ', Script::None),
        ] {
            assert_eq!(of(c), script, "{c}");
        }
    }
}
