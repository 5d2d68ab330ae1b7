//! Text to the model's piece ids: NFKC, the model's own few character rules, words led by `▁`, and
//! for each word the most probable way to cut it into pieces (Unigram, Viterbi).
//!
//! Equal to what the `tokenizers` library does with the model's `tokenizer.json` on NFKC text, with
//! one difference on purpose: `<s>`, `</s>`, `<pad>` and `<unk>` written in a text are text.

use unicode_normalization::UnicodeNormalization;

use super::vocabulary::Vocabulary;

const START: u32 = 0;
const END: u32 = 2;
const UNKNOWN: u32 = 3;

/// How much worse than the rarest piece an unknown character is.
const UNKNOWN_PENALTY: f64 = 10.0;

/// What leads a word, in place of the space before it.
const LEAD: char = '\u{2581}';

/// Normalised bytes read of one text. 512 pieces of at most 48 bytes end well before it, so only a
/// run of unknown script longer than this can hide what follows it.
const READ: usize = 64 * 1024;

pub struct Tokenizer {
    vocabulary: Vocabulary,
}

/// A way to cut the word up to some byte: the best piece that ends there.
#[derive(Clone, Copy)]
struct Cut {
    from: usize,
    piece: u32,
    score: f64,
}

/// Memory that is used again for every word of a text.
#[derive(Default)]
struct Scratch {
    cuts: Vec<Cut>,
    path: Vec<(usize, u32)>,
}

impl Tokenizer {
    pub fn new(vocabulary: Vocabulary) -> Self {
        Self { vocabulary }
    }

    /// The ids of `prefix` and `text` as one text, between start and end, at most `limit` of them.
    pub fn encode(&self, prefix: &str, text: &str, limit: usize) -> Vec<u32> {
        let mut ids = vec![START];
        let mut scratch = Scratch::default();
        for word in words(&prepare(prefix, text)) {
            self.cut(word, &mut scratch, |piece, _| ids.push(piece));
            if ids.len() >= limit {
                break;
            }
        }
        ids.truncate(limit - 1);
        ids.push(END);
        ids
    }

    /// The share of the characters, spaces aside, that the model has words for: those of a known
    /// piece, except in scripts where it knows single letters only and so understands nothing.
    pub fn covered(&self, text: &str) -> f32 {
        let (mut all, mut known) = (0_usize, 0_usize);
        let mut scratch = Scratch::default();
        for word in words(&prepare("", text)) {
            self.cut(word, &mut scratch, |piece, part| {
                let part = part.strip_prefix(LEAD).unwrap_or(part);
                all += part.chars().count();
                if piece != UNKNOWN {
                    known += part.chars().filter(|c| !letters_only(*c)).count();
                }
            });
        }
        if all == 0 { 1.0 } else { known as f32 / all as f32 }
    }

    /// Cuts one word and gives each piece with the text it stands for.
    fn cut<'w>(&self, word: &'w str, scratch: &mut Scratch, mut out: impl FnMut(u32, &'w str)) {
        const NONE: usize = usize::MAX;
        let cuts = &mut scratch.cuts;
        cuts.clear();
        cuts.resize(word.len() + 1, Cut { from: NONE, piece: UNKNOWN, score: 0.0 });
        let unknown = self.vocabulary.lowest() - UNKNOWN_PENALTY;
        for (from, character) in word.char_indices() {
            let so_far = cuts[from].score;
            let one = character.len_utf8();
            let mut known = false;
            let mut offer = |length: usize, piece: u32, score: f64| {
                let cut = &mut cuts[from + length];
                if cut.from == NONE || score > cut.score {
                    *cut = Cut { from, piece, score };
                }
            };
            self.vocabulary.prefixes(&word.as_bytes()[from..], |length, piece| {
                known |= length == one;
                offer(length, piece, so_far + self.vocabulary.score(piece));
            });
            if !known {
                offer(one, UNKNOWN, so_far + unknown);
            }
        }
        scratch.path.clear();
        let mut to = word.len();
        while to > 0 {
            let Cut { from, piece, .. } = cuts[to];
            // Neighbouring unknown characters are one piece.
            match scratch.path.last_mut() {
                Some((start, UNKNOWN)) if piece == UNKNOWN => *start = from,
                _ => scratch.path.push((from, piece)),
            }
            to = from;
        }
        let mut path = scratch.path.iter().rev().peekable();
        while let Some((from, piece)) = path.next() {
            let to = path.peek().map_or(word.len(), |next| next.0);
            out(*piece, &word[*from..to]);
        }
    }
}

/// Scripts of which the pieces are single letters at best: Greek, everything from Armenian to
/// Balinese (Hebrew, Arabic, the scripts of India, Thai, Georgian, Ethiopic, Khmer…), Hangul.
fn letters_only(character: char) -> bool {
    matches!(character, '\u{370}'..='\u{3ff}' | '\u{530}'..='\u{1bff}' | '\u{1c90}'..='\u{1cff}'
        | '\u{1f00}'..='\u{1fff}' | '\u{a800}'..='\u{d7ff}')
}

/// The text as the pieces know it: composed, without control characters, each run of spaces one
/// `▁`, and a `▁` in front.
fn prepare(prefix: &str, text: &str) -> String {
    let mut prepared = String::with_capacity((prefix.len() + text.len() + 16).min(READ + 16));
    prepared.push(LEAD);
    let mut spaced = true;
    for character in prefix.chars().chain(text.chars()).nfkc() {
        match character {
            '\u{1}'..='\u{8}' | '\u{b}' | '\u{e}'..='\u{1f}' | '\u{7f}' | '\u{8f}' | '\u{9f}' => {}
            ' '
            | '\t'
            | '\n'
            | '\u{c}'
            | '\r'
            | '\u{1680}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'
            | '\u{2029}'
            | LEAD
            | '\u{feff}'
            | '\u{fffd}' => {
                if !spaced {
                    prepared.push(LEAD);
                    spaced = true;
                }
            }
            character => {
                prepared.push(character);
                spaced = false;
                if prepared.len() > READ {
                    break;
                }
            }
        }
    }
    prepared
}

/// The words of a prepared text, each with its `▁`.
fn words(prepared: &str) -> impl Iterator<Item = &str> {
    let mut rest = prepared;
    std::iter::from_fn(move || {
        let lead = rest.chars().next()?.len_utf8();
        let end = rest[lead..].find(LEAD).map_or(rest.len(), |at| at + lead);
        let word;
        (word, rest) = rest.split_at(end);
        Some(word)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokenizer() -> Tokenizer {
        Tokenizer::new(Vocabulary::parse(super::super::VOCABULARY).unwrap())
    }

    #[test]
    fn spaces_and_controls_are_prepared_as_the_model_learned_them() {
        let same = |a: &str, b: &str| assert_eq!(prepare("", a), prepare("", b), "{a:?}");
        same("a b", "▁a▁b");
        same("a \t\r\n\u{a0}\u{3000}\u{200b} b", "a b");
        same("a\u{7}b\u{7f}", "ab");
        same("ﬁ ① ｶﾞ Ａ", "fi 1 ガ A");
        same("e\u{301} и\u{306} か\u{3099}", "é й が");
        assert_eq!(prepare("query: ", " x "), "▁query:▁x▁");
        assert_eq!(prepare("", ""), "▁");
    }

    #[test]
    fn what_is_written_never_becomes_a_control_token() {
        let ids = tokenizer().encode("", "<s>a</s> <pad> <unk>", 512);
        assert_eq!((ids[0], ids[ids.len() - 1]), (START, END));
        assert!(ids[1..ids.len() - 1].iter().all(|id| *id > UNKNOWN), "{ids:?}");
    }

    #[test]
    fn a_run_of_unknown_characters_is_one_piece() {
        let ids = tokenizer().encode("", "a ᚠᚢᚦᚨ b", 512);
        assert_eq!(ids.iter().filter(|id| **id == UNKNOWN).count(), 1, "{ids:?}");
    }

    #[test]
    fn never_more_than_the_limit() {
        for text in ["", "word ", "слово ", "言葉", "ᚠ", "x"] {
            for repeat in [0, 1, 8, 2000] {
                let ids = tokenizer().encode("", &text.repeat(repeat), 16);
                assert!(ids.len() <= 16 && ids[0] == START && ids[ids.len() - 1] == END);
            }
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_cut_without_loss(text in "\\PC{0,60}") {
            let tokenizer = tokenizer();
            let prepared = prepare("", &text);
            let mut again = String::new();
            for word in words(&prepared) {
                tokenizer.cut(word, &mut Scratch::default(), |_, part| again.push_str(part));
            }
            assert_eq!(again, prepared);
        }
    }

    /// Every piece of the model's own file ends where the trie says.
    #[test]
    fn the_trie_holds_the_pieces_of_tokenizer_json() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../shared/model/tokenizer.json");
        let Ok(json) = std::fs::read_to_string(file) else {
            eprintln!("skipped: the model's tokenizer.json is not here");
            return;
        };
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        let pieces = json["model"]["vocab"].as_array().unwrap();
        let vocabulary = tokenizer().vocabulary;
        assert_eq!(pieces.len(), vocabulary.len());
        for (id, piece) in pieces.iter().enumerate().skip(4) {
            let text = piece[0].as_str().unwrap();
            let mut last = None;
            vocabulary.prefixes(text.as_bytes(), |length, piece| last = Some((length, piece)));
            assert_eq!(last, Some((text.len(), id as u32)), "{text}");
            let score = piece[1].as_f64().unwrap() as f32;
            assert_eq!(vocabulary.score(id as u32), f64::from(score), "{text}");
        }
    }
}
