//! A cache of Snowball stems and of the keys of word forms: a vault repeats its words, and a stem
//! costs ten times as much as the rest of a word's analysis.

use frostem::{Algorithm, Stemmer};

use super::forms;
use super::lang::Lang;
use super::script::Script;

/// Cached words of one analyser; a power of two. 80 bytes each: 1.3 MB.
const SLOTS: usize = 1 << 14;
/// Bytes of a slot for the word and its stem.
const ROOM: usize = 61;

/// The language whose stem every word of a script gets, whatever the text is in.
///
/// This is what makes a query of one word agree with a long note.
pub(super) fn base_lang(script: Script) -> Option<Lang> {
    Some(match script {
        Script::Latin => Lang::English,
        Script::Cyrillic => Lang::Russian,
        Script::Greek => Lang::Greek,
        Script::Arabic => Lang::Arabic,
        Script::Devanagari => Lang::Hindi,
        Script::Tamil => Lang::Tamil,
        Script::Armenian => Lang::Armenian,
        _ => return None,
    })
}

/// The further languages of a script, whose stems are kept apart by a tag.
pub(super) fn further_langs(script: Script) -> &'static [Lang] {
    match script {
        Script::Latin => &[
            Lang::German,
            Lang::French,
            Lang::Spanish,
            Lang::Italian,
            Lang::Portuguese,
            Lang::Dutch,
            Lang::Swedish,
            Lang::Turkish,
        ],
        Script::Cyrillic => &[Lang::Ukrainian],
        _ => &[],
    }
}

/// A word as the terms that it is found under.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stemmed<'a> {
    pub(super) stem: &'a str,
    /// The keys of its forms, separated by spaces; empty where the stem is the key.
    pub(super) keys: &'static str,
}

#[derive(Clone, Copy)]
struct Slot {
    /// `Lang` plus one; zero for a slot never used.
    lang: u8,
    word: u8,
    stem: u8,
    bytes: [u8; ROOM],
    keys: &'static str,
}

impl Slot {
    fn holds(&self, tag: u8, word: &str) -> bool {
        self.lang == tag
            && usize::from(self.word) == word.len()
            && self.bytes.get(..word.len()).is_some_and(|bytes| bytes == word.as_bytes())
    }

    fn read<'a>(&'a self, word: &'a str) -> Stemmed<'a> {
        let from = usize::from(self.word);
        let stem = std::str::from_utf8(&self.bytes[from..from + usize::from(self.stem)]);
        Stemmed { stem: stem.unwrap_or(word), keys: self.keys }
    }
}

/// A bounded cache of stems: each word has two slots to be in, and a new word evicts the older of the
/// two.
pub(super) struct Stems {
    slots: Vec<Slot>,
    spare: String,
}

impl Stems {
    pub(super) fn new() -> Self {
        Self {
            slots: vec![Slot { lang: 0, word: 0, stem: 0, bytes: [0; ROOM], keys: "" }; SLOTS],
            spare: String::new(),
        }
    }

    /// The stem of a word in lower case, and the keys of its forms.
    pub(super) fn look_up<'a>(&'a mut self, lang: Lang, word: &'a str) -> Stemmed<'a> {
        let Some(algorithm) = lang.algorithm() else { return Stemmed { stem: word, keys: "" } };
        let tag = lang as u8 + 1;
        let index = hash(tag, word.as_bytes()) as usize & (SLOTS - 1);
        for place in [index, index ^ 1] {
            if self.slots[place].holds(tag, word) {
                return self.slots[place].read(word);
            }
        }
        self.learn(algorithm, lang, index, word)
    }

    fn learn<'a>(
        &'a mut self,
        algorithm: Algorithm,
        lang: Lang,
        index: usize,
        word: &'a str,
    ) -> Stemmed<'a> {
        let stem = Stemmer::new(algorithm).stem(word);
        // Greek `εστε` is all ending.
        let stem = if stem.is_empty() { word.into() } else { stem };
        let keys = forms::keys(lang, word, &stem);
        let (len, total) = (word.len(), word.len() + stem.len());
        if total > ROOM {
            self.spare.clear();
            self.spare.push_str(&stem);
            return Stemmed { stem: &self.spare, keys };
        }
        self.slots[index ^ 1] = self.slots[index];
        let slot = &mut self.slots[index];
        slot.lang = lang as u8 + 1;
        slot.word = len as u8;
        slot.stem = stem.len() as u8;
        slot.bytes[..len].copy_from_slice(word.as_bytes());
        slot.bytes[len..total].copy_from_slice(stem.as_bytes());
        slot.keys = keys;
        slot.read(word)
    }
}

/// Multiplies eight bytes at a time; the high bits are the good ones.
fn hash(tag: u8, bytes: &[u8]) -> u64 {
    const ODD: u64 = 0x9E37_79B9_7F4A_7C15;
    let mut state = u64::from(tag) ^ (bytes.len() as u64) << 8;
    let mut chunks = bytes.chunks_exact(8);
    for chunk in &mut chunks {
        let mut eight = [0; 8];
        eight.copy_from_slice(chunk);
        state = (state.rotate_left(5) ^ u64::from_le_bytes(eight)).wrapping_mul(ODD);
    }
    for byte in chunks.remainder() {
        state = (state << 8) ^ (state >> 56) ^ u64::from(*byte);
    }
    state.wrapping_mul(ODD) >> 40
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remembered_stems_are_the_stems() {
        let mut stems = Stems::new();
        let words = ["running", "runs", "субботу", "суббота", "connection", "a", "", "häusern"];
        for _ in 0..2 {
            for word in words {
                for lang in [Lang::English, Lang::Russian, Lang::German] {
                    let direct = Stemmer::new(lang.algorithm().unwrap()).stem(word).into_owned();
                    assert_eq!(stems.look_up(lang, word).stem, direct);
                }
            }
        }
    }

    #[test]
    fn words_that_share_a_slot_do_not_mix() {
        let mut stems = Stems::new();
        for round in 0..2 {
            for number in 0..40_000_u32 {
                let word: String = format!("{number}")
                    .bytes()
                    .map(|digit| char::from(digit - b'0' + b'a'))
                    .collect();
                let direct = Stemmer::new(Algorithm::English).stem(&word).into_owned();
                assert_eq!(stems.look_up(Lang::English, &word).stem, direct, "round {round}");
            }
        }
    }

    #[test]
    fn cached_keys_are_the_keys() {
        let mut stems = Stems::new();
        for _ in 0..2 {
            assert_eq!(stems.look_up(Lang::English, "mice").keys, "mous");
            assert_eq!(stems.look_up(Lang::English, "mouse").keys, "");
            assert_eq!(stems.look_up(Lang::German, "mice").keys, "");
            assert_eq!(stems.look_up(Lang::Russian, "дня").keys, "ден");
        }
    }

    #[test]
    fn a_word_that_is_all_ending_is_its_own_stem() {
        let mut stems = Stems::new();
        for _ in 0..2 {
            assert_eq!(stems.look_up(Lang::Greek, "εστε").stem, "εστε");
        }
    }

    #[test]
    fn very_long_words_pass_through() {
        let word = "я".repeat(64);
        assert_eq!(Stems::new().look_up(Lang::Hebrew, &word).stem, word);
        assert!(!Stems::new().look_up(Lang::Russian, &word).stem.is_empty());
    }
}
