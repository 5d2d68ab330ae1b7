//! The language of a text, as far as stemming needs to know it.
//!
//! Within most scripts there is nothing to ask. Within Latin the guess decides only which *extra*
//! stem a word gets: every Latin word also has its English stem and every Cyrillic word its Russian
//! one, on both sides of a search, so a wrong guess costs a word form and never the word.

use frostem::Algorithm;

use super::fold;
use super::script::{self, Script};

/// Bytes of a text that are looked at to guess its language.
const SAMPLE: usize = 600;

/// Fewer letters than this and the guess is a coin toss.
const ENOUGH_LETTERS: usize = 24;

/// A language the analyser treats in its own way.
#[allow(missing_docs, reason = "a variant is the language of that name")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Lang {
    English,
    German,
    French,
    Spanish,
    Italian,
    Portuguese,
    Dutch,
    Swedish,
    Turkish,
    Vietnamese,
    Russian,
    Ukrainian,
    Greek,
    Armenian,
    Arabic,
    Hebrew,
    Hindi,
    Tamil,
    Japanese,
    Chinese,
    Korean,
    Thai,
}

impl Lang {
    /// Every language, in the order of declaration.
    pub const ALL: [Self; 22] = [
        Self::English,
        Self::German,
        Self::French,
        Self::Spanish,
        Self::Italian,
        Self::Portuguese,
        Self::Dutch,
        Self::Swedish,
        Self::Turkish,
        Self::Vietnamese,
        Self::Russian,
        Self::Ukrainian,
        Self::Greek,
        Self::Armenian,
        Self::Arabic,
        Self::Hebrew,
        Self::Hindi,
        Self::Tamil,
        Self::Japanese,
        Self::Chinese,
        Self::Korean,
        Self::Thai,
    ];

    /// The two-letter code of ISO 639-1.
    pub fn code(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::German => "de",
            Self::French => "fr",
            Self::Spanish => "es",
            Self::Italian => "it",
            Self::Portuguese => "pt",
            Self::Dutch => "nl",
            Self::Swedish => "sv",
            Self::Turkish => "tr",
            Self::Vietnamese => "vi",
            Self::Russian => "ru",
            Self::Ukrainian => "uk",
            Self::Greek => "el",
            Self::Armenian => "hy",
            Self::Arabic => "ar",
            Self::Hebrew => "he",
            Self::Hindi => "hi",
            Self::Tamil => "ta",
            Self::Japanese => "ja",
            Self::Chinese => "zh",
            Self::Korean => "ko",
            Self::Thai => "th",
        }
    }

    /// The language of a code such as `en`, `en-GB` or `ru_RU`.
    pub fn from_code(code: &str) -> Option<Self> {
        let primary = code.split(['-', '_']).next()?;
        Self::ALL.into_iter().find(|lang| lang.code().eq_ignore_ascii_case(primary))
    }

    /// The Snowball algorithm of this language, where there is one.
    pub(super) fn algorithm(self) -> Option<Algorithm> {
        Some(match self {
            Self::English => Algorithm::English,
            Self::German => Algorithm::German,
            Self::French => Algorithm::French,
            Self::Spanish => Algorithm::Spanish,
            Self::Italian => Algorithm::Italian,
            Self::Portuguese => Algorithm::Portuguese,
            Self::Dutch => Algorithm::Dutch,
            Self::Swedish => Algorithm::Swedish,
            Self::Turkish => Algorithm::Turkish,
            Self::Russian => Algorithm::Russian,
            Self::Ukrainian => Algorithm::Ukrainian,
            Self::Greek => Algorithm::Greek,
            Self::Armenian => Algorithm::Armenian,
            Self::Arabic => Algorithm::Arabic,
            Self::Hindi => Algorithm::Hindi,
            Self::Tamil => Algorithm::Tamil,
            Self::Vietnamese
            | Self::Hebrew
            | Self::Japanese
            | Self::Chinese
            | Self::Korean
            | Self::Thai => return None,
        })
    }
}

/// The language of `text` by its commonest script and, within Latin, by its letter sequences.
///
/// Short Latin text is called English and short Cyrillic text Russian. Text with no letters is English.
pub fn detect(text: &str) -> Lang {
    let sample = &text[..fold::floor_char(text, SAMPLE)];
    let counts = Counts::of(sample);
    // Japanese is written mostly in Han here and there: any good share of kana decides.
    let han = counts.han + counts.kana;
    let most = [counts.latin, counts.cyrillic, han, counts.hangul, counts.thai, counts.other]
        .into_iter()
        .max();
    let Some(most) = most.filter(|most| *most > 0) else { return Lang::English };
    // A character of these says about as much as three letters.
    if han > 0 && han * 3 >= most {
        return if counts.kana * 20 > counts.han { Lang::Japanese } else { Lang::Chinese };
    }
    if counts.cyrillic == most {
        return if counts.ukrainian * 100 > counts.cyrillic {
            Lang::Ukrainian
        } else {
            Lang::Russian
        };
    }
    if counts.latin == most {
        return if counts.latin < ENOUGH_LETTERS { Lang::English } else { detect_latin(sample) };
    }
    if counts.hangul == most {
        return Lang::Korean;
    }
    if counts.thai == most { Lang::Thai } else { counts.other_lang.unwrap_or(Lang::English) }
}

/// Letter sequences propose, function words decide.
///
/// A list of English keywords may look Dutch; tagged with Dutch stems, rare in the index, it would
/// outrank everything. So another language than English must show its small words.
fn detect_latin(sample: &str) -> Lang {
    let (lang, small): (Lang, &[&str]) = match whichlang::detect_language(sample) {
        whichlang::Lang::Deu => (Lang::German, &GERMAN),
        whichlang::Lang::Fra => (Lang::French, &FRENCH),
        whichlang::Lang::Spa => (Lang::Spanish, &SPANISH),
        whichlang::Lang::Ita => (Lang::Italian, &ITALIAN),
        whichlang::Lang::Por => (Lang::Portuguese, &PORTUGUESE),
        whichlang::Lang::Nld => (Lang::Dutch, &DUTCH),
        whichlang::Lang::Swe => (Lang::Swedish, &SWEDISH),
        whichlang::Lang::Tur => (Lang::Turkish, &TURKISH),
        // No stems, so nothing to be wrong about.
        whichlang::Lang::Vie => return Lang::Vietnamese,
        _ => return Lang::English,
    };
    let (mut words, mut own, mut english) = (0, 0, 0);
    for word in sample.split(|c: char| !c.is_alphabetic()).filter(|word| !word.is_empty()) {
        words += 1;
        own += usize::from(small.iter().any(|small| small.eq_ignore_ascii_case(word)));
        english += usize::from(ENGLISH.iter().any(|small| small.eq_ignore_ascii_case(word)));
    }
    if own > english && own * SMALL_WORD_SHARE >= words { lang } else { Lang::English }
}

/// One word in so many must be a small one; real prose has twice as many and more.
const SMALL_WORD_SHARE: usize = 12;

// Without the letters and short words that are names in code or words of English.
const ENGLISH: [&str; 16] = [
    "the", "of", "and", "to", "a", "is", "for", "that", "with", "on", "are", "it", "by", "this",
    "from", "was",
];
const GERMAN: [&str; 24] = [
    "der", "die", "und", "das", "den", "von", "zu", "mit", "sich", "ist", "im", "nicht", "ein",
    "eine", "für", "auf", "dem", "des", "ich", "wir", "auch", "sind", "werden", "bei",
];
const FRENCH: [&str; 23] = [
    "de", "la", "le", "et", "les", "des", "en", "un", "une", "du", "dans", "est", "que", "pour",
    "qui", "par", "sur", "pas", "nous", "avec", "il", "je", "au",
];
const SPANISH: [&str; 16] = [
    "de", "la", "que", "el", "en", "los", "del", "las", "un", "por", "con", "una", "su", "para",
    "es", "nos",
];
const ITALIAN: [&str; 19] = [
    "di", "il", "la", "che", "un", "del", "per", "una", "è", "con", "non", "della", "le", "dei",
    "si", "gli", "nelle", "nel", "da",
];
const PORTUGUESE: [&str; 17] = [
    "de", "que", "da", "em", "um", "para", "com", "não", "uma", "os", "na", "por", "dos", "nos",
    "ao", "das", "é",
];
const DUTCH: [&str; 18] = [
    "de", "het", "een", "van", "en", "dat", "te", "niet", "voor", "met", "zijn", "ik", "aan",
    "die", "bij", "ook", "naar", "wij",
];
const SWEDISH: [&str; 19] = [
    "och", "att", "det", "på", "är", "som", "en", "av", "för", "med", "till", "den", "ett", "jag",
    "inte", "har", "de", "genom", "vi",
];
const TURKISH: [&str; 14] = [
    "ve", "bir", "bu", "da", "de", "için", "ile", "çok", "olarak", "daha", "gibi", "ben", "en",
    "sonra",
];

#[derive(Default)]
struct Counts {
    latin: usize,
    cyrillic: usize,
    ukrainian: usize,
    han: usize,
    kana: usize,
    hangul: usize,
    thai: usize,
    other: usize,
    other_lang: Option<Lang>,
}

impl Counts {
    fn of(sample: &str) -> Self {
        let mut counts = Self::default();
        for c in sample.chars() {
            let other = match script::of(c) {
                Script::Latin => {
                    counts.latin += 1;
                    continue;
                }
                Script::Cyrillic => {
                    counts.cyrillic += 1;
                    counts.ukrainian +=
                        usize::from(matches!(c, 'і' | 'ї' | 'є' | 'ґ' | 'І' | 'Ї' | 'Є' | 'Ґ'));
                    continue;
                }
                Script::Han => {
                    counts.han += 1;
                    continue;
                }
                Script::Hiragana | Script::Katakana => {
                    counts.kana += 1;
                    continue;
                }
                Script::Hangul => {
                    counts.hangul += 1;
                    continue;
                }
                Script::SouthEastAsian => {
                    counts.thai += 1;
                    continue;
                }
                Script::Greek => Lang::Greek,
                Script::Armenian => Lang::Armenian,
                Script::Arabic => Lang::Arabic,
                Script::Hebrew => Lang::Hebrew,
                Script::Devanagari => Lang::Hindi,
                Script::Tamil => Lang::Tamil,
                _ => continue,
            };
            counts.other += 1;
            counts.other_lang.get_or_insert(other);
        }
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_recognised() {
        for (text, lang) in [
            ("The quick brown fox jumps over the lazy dog and goes home.", Lang::English),
            ("Die Häuser in der Stadt sind alt und die Straßen schmal.", Lang::German),
            ("Les enfants jouent dans le jardin pendant que nous parlons.", Lang::French),
            ("Los niños juegan en el jardín mientras nosotros hablamos.", Lang::Spanish),
            ("В субботу мы поедем на дачу и будем сажать картошку.", Lang::Russian),
            ("У суботу ми поїдемо на дачу і будемо садити картоплю.", Lang::Ukrainian),
            ("土曜日に東京へ行きました。", Lang::Japanese),
            ("星期六我们去北京看朋友。", Lang::Chinese),
            ("토요일에 서울에 갔습니다.", Lang::Korean),
            ("วันเสาร์เราไปกรุงเทพ", Lang::Thai),
            ("ذهبنا إلى المدرسة يوم السبت", Lang::Arabic),
            ("הלכנו לבית הספר ביום שבת", Lang::Hebrew),
        ] {
            assert_eq!(detect(text), lang, "{text}");
        }
    }

    #[test]
    fn short_texts_fall_back_by_script() {
        for (text, lang) in [
            ("", Lang::English),
            ("123 --- !", Lang::English),
            ("Haus", Lang::English),
            ("дом", Lang::Russian),
            ("カメラ", Lang::Japanese),
            ("相机", Lang::Chinese),
        ] {
            assert_eq!(detect(text), lang, "{text}");
        }
    }

    #[test]
    fn codes_go_there_and_back() {
        for lang in Lang::ALL {
            assert_eq!(Lang::from_code(lang.code()), Some(lang));
        }
        assert_eq!(Lang::from_code("en-GB"), Some(Lang::English));
        assert_eq!(Lang::from_code("RU_ru"), Some(Lang::Russian));
        assert_eq!(Lang::from_code("tlh"), None);
        assert_eq!(Lang::from_code(""), None);
    }
}
