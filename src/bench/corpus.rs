//! A library made from a seed: words of English, Russian and Japanese form, as frequent as Zipf says
//! words are. The frequent ones are real words, taken from the embedded model's vocabulary, so that a
//! question costs the model what a real one does; the rare ones are made up. Nothing is kept: a
//! document is made anew whenever it is asked for, so that a million passages need no memory here.

use std::collections::HashSet;

use crate::{
    domain::{Chunk, Document, Kind, Pid},
    embed::embedded,
    text::script,
};

/// Words of a passage.
const WORDS: usize = 80;
/// Words of each language, and how many of them are real at most.
const VOCABULARY: usize = 50_000;
const REAL: usize = 20_000;

const ENGLISH: &str =
    "the of and to in a is that for it with as was on be by this are or from at an not have which";
const RUSSIAN: &str =
    "и в не на что с по как это из у за от к для же он но до или так бы все при о";
const JAPANESE: &str =
    "の に は を が と で から まで も する した して いる ある こと この その など ない";

/// A small generator of numbers (SplitMix64): the same on every machine.
#[derive(Clone)]
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }

    /// 0 to 1.
    pub fn share(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}

struct Tongue {
    code: &'static str,
    words: Vec<String>,
    /// Between words, and at the end of a sentence.
    space: &'static str,
    stop: &'static str,
}

pub struct Corpus {
    seed: u64,
    tongues: [Tongue; 3],
    /// The share of a text that the words up to each rank make.
    ranks: Vec<f64>,
    /// Passages of one document.
    pub passages: u32,
}

impl Corpus {
    pub fn new(seed: u64, passages: u32) -> Self {
        let pieces = embedded::pieces();
        let tongue = |number: u64,
                      code,
                      frequent: &str,
                      space,
                      stop,
                      is_real: fn(&str) -> bool,
                      made_up: fn(&mut Random) -> String| {
            let mut random = Random::new(seed ^ (number << 32));
            let mut words: Vec<String> = frequent.split(' ').map(str::to_owned).collect();
            let real = pieces.iter().map(|piece| piece.trim_start_matches('▁'));
            let (mut seen, frequent) = (HashSet::new(), words.clone());
            let is_new = |word: &&str| !frequent.iter().any(|known| known == word);
            let real = real.filter(|word| is_real(word) && seen.insert(*word)).filter(is_new);
            words.extend(real.take(REAL).map(str::to_owned));
            words.resize_with(VOCABULARY, || made_up(&mut random));
            Tongue { code, words, space, stop }
        };
        let mut total = 0.0;
        let ranks = (1..=VOCABULARY)
            .map(|rank| {
                total += 1.0 / rank as f64;
                total
            })
            .collect::<Vec<f64>>();
        Self {
            seed,
            tongues: [
                tongue(1, "en", ENGLISH, " ", ". ", is_english, english),
                tongue(2, "ru", RUSSIAN, " ", ". ", is_russian, russian),
                tongue(3, "ja", JAPANESE, "", "。", is_japanese, japanese),
            ],
            ranks: ranks.iter().map(|rank| rank / total).collect(),
            passages,
        }
    }

    fn tongue(&self, pid: i64) -> &Tongue {
        &self.tongues[pid.rem_euclid(3) as usize]
    }

    fn word<'a>(&'a self, tongue: &'a Tongue, random: &mut Random) -> &'a str {
        let share = random.share();
        let rank = self.ranks.partition_point(|rank| *rank < share);
        &tongue.words[rank.min(VOCABULARY - 1)]
    }

    fn text(&self, tongue: &Tongue, random: &mut Random, words: usize) -> String {
        let mut text = String::new();
        let mut sentence = 0;
        for at in 0..words {
            text += self.word(tongue, random);
            sentence += 1;
            let last = at + 1 == words;
            if !last && sentence > 6 && random.below(8) == 0 {
                text += tongue.stop;
                sentence = 0;
            } else if !last {
                text += tongue.space;
            }
        }
        text
    }

    fn random(&self, pid: i64) -> Random {
        Random::new(self.seed.wrapping_mul(0x2545_F491_4F6C_DD1D) ^ pid as u64)
    }

    /// The item of that number: the same whenever it is asked for.
    pub fn document(&self, pid: i64) -> Document {
        let (tongue, mut random) = (self.tongue(pid), self.random(pid));
        let title = self.text(tongue, &mut random, 4);
        let mut document =
            Document::new(Pid(pid), Kind::Page, title, format!("{}/{pid}.md", tongue.code));
        for ordinal in 0..self.passages {
            let heading = self.text(tongue, &mut random, 2);
            let words = WORDS * 3 / 4 + random.below(WORDS / 2);
            let text = self.text(tongue, &mut random, words);
            let range = 0..text.len();
            document.chunks.push(Chunk { ordinal, toc_path: vec![heading], text, range });
        }
        document
    }

    /// The same item as a file of a vault.
    pub fn markdown(&self, pid: i64) -> String {
        let document = self.document(pid);
        let mut text = format!("# {}\n", document.title);
        for chunk in &document.chunks {
            text += &format!("\n## {}\n\n{}\n", chunk.toc_path.join(" "), chunk.text);
        }
        text
    }

    /// A question in the words of a text: 6 to 14 different ones, as frequent as they are there, so
    /// that a third of them are the words that hold every sentence together.
    pub fn question(&self, number: u64) -> String {
        let mut random =
            Random::new(self.seed.rotate_left(17) ^ number.wrapping_mul(0xD6E8_FEB8_6659_FD93));
        let tongue = &self.tongues[random.below(3)];
        let words = 6 + random.below(9);
        let mut asked: Vec<&str> = Vec::new();
        while asked.len() < words {
            let word = self.word(tongue, &mut random);
            if !asked.contains(&word) {
                asked.push(word);
            }
        }
        asked.join(tongue.space)
    }
}

/// A word that nothing else has, nor anything a typo away from it.
pub fn new_word(number: u64) -> String {
    let mut random = Random::new(number ^ 0x5EED_0F00);
    (0..14).map(|_| (b'a' + random.below(26) as u8) as char).collect()
}

fn join(random: &mut Random, firsts: &[char], seconds: &[char], most: usize) -> String {
    let pairs = 2 + random.below(most);
    (0..pairs)
        .flat_map(|_| [firsts[random.below(firsts.len())], seconds[random.below(seconds.len())]])
        .collect()
}

fn is_english(word: &str) -> bool {
    word.len() > 2 && word.bytes().all(|byte| byte.is_ascii_lowercase())
}

fn is_russian(word: &str) -> bool {
    word.chars().count() > 2 && word.chars().all(|c| ('а'..='я').contains(&c))
}

fn is_japanese(word: &str) -> bool {
    word.chars().count() > 1 && word.chars().all(|c| script::of(c).is_japanese())
}

fn english(random: &mut Random) -> String {
    let ends = ["", "", "n", "r", "s", "ing", "ed", "ment"];
    let word = join(
        random,
        &['b', 'c', 'd', 'f', 'g', 'k', 'l', 'm', 'n', 'p', 'r', 's', 't', 'v'],
        &['a', 'e', 'i', 'o', 'u'],
        3,
    );
    word + ends[random.below(ends.len())]
}

fn russian(random: &mut Random) -> String {
    let ends = ["", "й", "ть", "ние", "ого", "ами", "ая", "ы"];
    let word = join(
        random,
        &['б', 'в', 'г', 'д', 'ж', 'к', 'л', 'м', 'н', 'п', 'р', 'с', 'т'],
        &['а', 'е', 'и', 'о', 'у'],
        3,
    );
    word + ends[random.below(ends.len())]
}

/// Two in three of two Han characters, the rest of katakana.
fn japanese(random: &mut Random) -> String {
    let mut one =
        |from: u32, count: usize| char::from_u32(from + random.below(count) as u32).unwrap_or('一');
    if one(0, 3) as u32 == 0 {
        let length = 3 + one(0, 3) as u32;
        return (0..length).map(|_| one(0x30A2, 0x50)).collect();
    }
    (0..2).map(|_| one(0x4E00, 2_500)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_makes_the_same_library_twice() {
        let (one, two, other) = (Corpus::new(1, 3), Corpus::new(1, 3), Corpus::new(2, 3));
        for pid in 1..=3 {
            assert_eq!(one.document(pid), two.document(pid));
            assert_ne!(one.document(pid), other.document(pid));
        }
        assert_eq!(one.question(5), two.question(5));
        assert_ne!(one.question(5), one.question(6));
    }

    #[test]
    fn it_reads_like_three_languages() {
        let corpus = Corpus::new(1, 1);
        let texts: Vec<String> =
            (1..=3).map(|pid| corpus.document(pid).chunks[0].text.clone()).collect();
        assert!(texts.iter().any(|text| text.contains(" the ")), "{texts:?}");
        assert!(texts.iter().any(|text| text.contains(" и ")), "{texts:?}");
        assert!(texts.iter().any(|text| text.contains('の')), "{texts:?}");
        for text in texts.iter().filter(|text| text.contains(' ')) {
            let words = text.split_whitespace().count();
            assert!((60..=100).contains(&words), "{words}");
        }
    }
}
