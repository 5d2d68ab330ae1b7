//! The analyser: a text in, its terms out, with their place in the original text.
//!
//! Indexing and asking go through the same code. What differs is how generous it is: a note gives
//! each word once in the base language of its script and once in the note's own language; a query,
//! too short to have a language, asks in all of them.

use std::ops::Range;

use super::compound::Piece;
use super::fold;
use super::grams::Character;
use super::lang::{self, Lang};
use super::script::{self, Script};
use super::stem::{self, Stems};

/// Between a stem and the code of its language, for languages that are not their script's base.
///
/// Without it `notes` would become `not` in German and find every English note.
pub const TAG: char = '~';

/// What the terms are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Every term under which a text is to be found.
    Index,
    /// Every term that may find a text, alternatives for one word at one position.
    Query,
    /// One term for each position, in sequence: what a phrase query matches against an index.
    ///
    /// Han characters that only Chinese folds together follow the language, so ask once as
    /// Japanese and once as Chinese where the two differ.
    Phrase,
}

/// How a term came about, so that a search can weigh it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A word: its stem in the base language of its script.
    Word,
    /// The same word, stemmed in another language and tagged with it: an alternative to the word.
    ///
    /// Few notes of a vault may be in that language, which makes the term rare there and dear to
    /// BM25. Take the better of the word and its forms, and no form for rarer than the word.
    Form(Lang),
    /// Words joined by `-`, `_`, `.` or `@`, as one: `e-mail` as `email`. Comes with the words.
    Whole,
    /// A part of a word such as `getUserName` or `O'Brien`: weaker evidence than the word.
    Part,
    /// Two neighbouring characters of Japanese, Chinese or Korean, or one that stands alone.
    Gram,
    /// The same two characters as Chinese folds them: an alternative to the gram. Queries only.
    Variant,
    /// One character inside a run that also has its grams.
    Single,
    Emoji,
}

/// One term and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token<'a> {
    pub term: &'a str,
    /// Bytes of the original text, before any normalising.
    pub range: Range<usize>,
    /// Grows by one with each word, or with each character where words are not separated.
    pub position: u32,
    pub kind: Kind,
}

/// A [`Token`] that owns its term.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Term {
    pub term: String,
    pub range: Range<usize>,
    pub position: u32,
    pub kind: Kind,
}

/// Turns texts into terms. Holds caches and buffers: make one for each thread and keep it.
pub struct Analyser {
    pub(super) stems: Stems,
    pub(super) buffers: Buffers,
}

/// Memory that is used again for each word.
#[derive(Default)]
pub(super) struct Buffers {
    pub(super) lower: String,
    pub(super) bare: String,
    pub(super) joined: String,
    pub(super) term: String,
    pub(super) pieces: Vec<Piece>,
    pub(super) characters: Vec<Character>,
    pub(super) cuts: Vec<usize>,
}

impl Default for Analyser {
    fn default() -> Self {
        Self::new()
    }
}

impl Analyser {
    pub fn new() -> Self {
        Self { stems: Stems::new(), buffers: Buffers::default() }
    }

    /// Gives `sink` every term of `text`, ordered by where it starts.
    ///
    /// `lang` is the language of the whole note, best found once over its full text; `None` guesses
    /// from `text` when indexing and means "any" when asking.
    pub fn analyse(
        &mut self,
        text: &str,
        lang: Option<Lang>,
        mode: Mode,
        sink: impl FnMut(Token<'_>),
    ) {
        let lang = match mode {
            Mode::Query => lang,
            Mode::Index | Mode::Phrase => Some(lang.unwrap_or_else(|| lang::detect(text))),
        };
        let chinese = lang == Some(Lang::Chinese);
        Scan { text, lang, chinese, mode, position: 0, analyser: self, sink }.run();
    }

    /// The terms of `text` as a list.
    pub fn terms(&mut self, text: &str, lang: Option<Lang>, mode: Mode) -> Vec<Term> {
        let mut terms = Vec::new();
        self.analyse(text, lang, mode, |token| {
            terms.push(Term {
                term: token.term.into(),
                range: token.range,
                position: token.position,
                kind: token.kind,
            });
        });
        terms
    }
}

/// One pass over one text.
pub(super) struct Scan<'t, 'a, F> {
    pub(super) text: &'t str,
    pub(super) lang: Option<Lang>,
    pub(super) chinese: bool,
    pub(super) mode: Mode,
    pub(super) position: u32,
    pub(super) analyser: &'a mut Analyser,
    pub(super) sink: F,
}

impl<F: FnMut(Token<'_>)> Scan<'_, '_, F> {
    fn run(&mut self) {
        let bytes = self.text.as_bytes();
        let mut at = 0;
        while at < bytes.len() {
            let byte = bytes[at];
            at = if byte.is_ascii_alphanumeric() {
                self.compound(at, false)
            } else if byte == b'.' {
                let leads = (at == 0 || b" \t\n([{`'\"".contains(&bytes[at - 1]))
                    && bytes.get(at + 1).is_some_and(u8::is_ascii_alphabetic);
                if leads { self.compound(at + 1, true) } else { at + 1 }
            } else if byte.is_ascii() {
                at + 1
            } else {
                self.beyond_ascii(at)
            };
        }
    }

    fn beyond_ascii(&mut self, at: usize) -> usize {
        let Some(c) = self.text[at..].chars().next() else { return self.text.len() };
        match script::of(c) {
            Script::None | Script::Mark => at + c.len_utf8(),
            Script::Han | Script::Hiragana | Script::Katakana => self.japanese(at),
            Script::Hangul => self.hangul(at),
            Script::SouthEastAsian => self.south_east_asian(at),
            Script::Emoji => self.emoji(at),
            _ => self.compound(at, false),
        }
    }

    pub(super) fn emit(&mut self, term: &str, range: Range<usize>, kind: Kind) {
        (self.sink)(Token { term, range, position: self.position, kind });
    }

    /// One word of one script: its base stem and, where asked, its forms in other languages.
    pub(super) fn word(
        &mut self,
        script: Script,
        lower: &str,
        bare: &str,
        range: Range<usize>,
        kind: Kind,
    ) {
        let stemmable =
            bare.len() > 2 && !bare.bytes().any(|b| b.is_ascii_digit() || b == b'.' || b == b'-');
        match stem::base_lang(script) {
            Some(base) if stemmable => {
                let term = self.analyser.stems.stem(base, bare);
                (self.sink)(Token { term, range: range.clone(), position: self.position, kind });
            }
            _ => self.emit(bare, range.clone(), kind),
        }
        // Words this short are small words, and they hardly bend.
        let short = bare.chars().nth(3).is_none();
        if !stemmable || short || kind != Kind::Word || self.mode == Mode::Phrase {
            return;
        }
        let langs = stem::further_langs(script);
        match self.lang {
            Some(lang) if langs.contains(&lang) => self.form(lang, lower, range),
            None => {
                for lang in langs {
                    self.form(*lang, lower, range.clone());
                }
            }
            Some(_) => {}
        }
    }

    fn form(&mut self, lang: Lang, lower: &str, range: Range<usize>) {
        let mut term = std::mem::take(&mut self.analyser.buffers.term);
        term.clear();
        fold::push_bare(self.analyser.stems.stem(lang, lower), &mut term);
        term.push(TAG);
        term.push_str(lang.code());
        self.emit(&term, range, Kind::Form(lang));
        self.analyser.buffers.term = term;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use unicode_normalization::UnicodeNormalization;

    use super::*;

    fn terms(text: &str, lang: Option<Lang>, mode: Mode) -> Vec<Term> {
        Analyser::new().terms(text, lang, mode)
    }

    fn index(text: &str) -> Vec<String> {
        terms(text, None, Mode::Index).into_iter().map(|term| term.term).collect()
    }

    /// Whether a query of `query` shares a term with a note of `note`, in the note's own language.
    fn finds(query: &str, note: &str) -> bool {
        let note = index(note);
        terms(query, None, Mode::Query).iter().any(|term| note.contains(&term.term))
    }

    fn spans(text: &str, mode: Mode) -> Vec<(String, String, u32)> {
        terms(text, None, mode)
            .into_iter()
            .map(|t| (t.term, text[t.range].to_owned(), t.position))
            .collect()
    }

    #[test]
    fn word_forms_meet_in_a_query_of_one_word_and_a_long_note() {
        let english =
            "We were running several experiments with connected databases in the cities nearby";
        for query in ["run", "runs", "experiment", "connections", "database", "city", "WERE"] {
            assert!(finds(query, english), "{query}");
        }
        let russian = "В субботу мы ездили на дачу, сажали картошку и разговаривали о новых книгах";
        for query in [
            "суббота",
            "субботы",
            "СУББОТАМИ",
            "дача",
            "дачи",
            "картошка",
            "разговаривать",
            "новая",
            "книга",
        ] {
            assert!(finds(query, russian), "{query}");
        }
        let german = "Die alten Häuser in den kleinen Städten werden von den Kindern bewohnt";
        for query in
            ["Haus", "haus", "Häuser", "häusern", "hauser", "klein", "Kind", "Kinder", "alte"]
        {
            assert!(finds(query, german), "{query}");
        }
        let french =
            "Les grandes maisons étaient habitées par des familles heureuses pendant les étés";
        for query in ["grand", "maison", "habité", "habiter", "heureux", "été", "l'été", "famille"]
        {
            assert!(finds(query, french), "{query}");
        }
        let spanish =
            "Los niños cantaban canciones alegres mientras los perros corrían por las montañas";
        for query in ["niño", "nino", "cantar", "canción", "alegre", "perro", "correr", "montaña"]
        {
            assert!(finds(query, spanish), "{query}");
        }
        let ukrainian = "У суботу ми поїдемо на дачу і будемо читати книжки, а їжаки спатимуть";
        for query in ["книжка", "книжки", "їжак", "читати"] {
            assert!(finds(query, ukrainian), "{query}");
        }
    }

    #[test]
    fn languages_do_not_find_each_other_by_accident() {
        // German takes the ending off `notes`; every English note has a `not`.
        assert!(!finds("notes", "it is not here, and this sentence is plainly in English"));
        assert!(!finds("news", "a new thing that was written in English, like all the others"));
        assert!(!finds("й", "и"));
        assert!(!finds("йод", "иод"));
        assert!(!finds("かき", "がき"));
    }

    #[test]
    fn japanese_and_chinese_and_korean() {
        for (query, note) in [
            ("東京", "昨日は東京都に行きました。"),
            ("東京都", "東京都庁"),
            ("カメラ", "新しいカメラを買った"),
            ("ｶﾒﾗ", "新しいカメラを買った"),
            ("カ\u{3099}ラス", "ガラスの靴"),
            ("雨", "大雨が降る"),
            ("寿司", "お寿司を食べた"),
            ("サーバ", "サーバーを再起動する"),
            ("漢字", "汉字很难"),
            ("手機", "我的手机没电了，请你借我充电器"),
            ("手机", "我的手機沒電了，請你借我充電器"),
            ("頭髮", "他的头发很长"),
            ("飛行機", "飛行機に乗りました"),
            ("飛行機", "我們坐飛機去旅行"),
            ("학교", "학교에서 공부했다"),
            ("집", "집에 가고 싶다"),
            ("㍿", "株式会社"),
        ] {
            assert!(finds(query, note), "{query} in {note}");
        }
        let note = index("髪を切りました");
        assert!(!note.contains(&"発".to_owned()), "hair is not departure: {note:?}");
    }

    #[test]
    fn grams_have_their_places() {
        assert_eq!(
            spans("東京へ", Mode::Index),
            [
                ("東京".into(), "東京".into(), 0),
                ("東".into(), "東".into(), 0),
                ("京へ".into(), "京へ".into(), 1),
                ("京".into(), "京".into(), 1),
            ]
            .map(|(term, text, position): (String, String, u32)| (
                term.replace('東', "东"),
                text,
                position
            ))
        );
        let phrase: Vec<_> =
            spans("ガラスの靴", Mode::Phrase).into_iter().map(|(term, _, at)| (term, at)).collect();
        assert_eq!(
            phrase,
            [("ガラ".into(), 0), ("ラス".into(), 1), ("スの".into(), 2), ("の靴".into(), 3)]
        );
        // The place is in the original text, half-width marks included.
        assert_eq!(spans("ｶﾞﾗｽ", Mode::Phrase)[0], ("ガラ".into(), "ｶﾞﾗ".into(), 0));
    }

    #[test]
    fn thai_by_words() {
        let note = index("วันนี้ฉันไปโรงเรียนกับเพื่อน");
        assert!(note.len() > 5 && note.contains(&"เพื่อน".to_owned()), "{note:?}");
        assert!(finds("โรงเรียน", "วันนี้ฉันไปโรงเรียนกับเพื่อน"));
        assert!(finds("เพื่อน", "วันนี้ฉันไปโรงเรียนกับเพื่อน"));
        assert!(!finds("แมว", "วันนี้ฉันไปโรงเรียนกับเพื่อน"));
    }

    #[test]
    fn names_from_code_are_split_and_kept() {
        for (text, expected) in [
            ("getUserName", vec!["getusernam", "get", "user", "name"]),
            ("HTTPServer2", vec!["httpserver2", "http", "server", "2"]),
            ("snake_case", vec!["snakecas", "snake", "case"]),
            ("kebab-case", vec!["kebabcas", "kebab", "case"]),
            ("utf-8", vec!["utf8", "utf", "8"]),
            ("UTF8", vec!["utf8", "utf", "8"]),
            ("k8s", vec!["k8s"]),
            ("v2", vec!["v2"]),
            ("1.2.3", vec!["1.2.3", "1", "2", "3"]),
            ("1,000,000", vec!["1000000"]),
            ("C++", vec!["c++", "c"]),
            ("C#", vec!["c#", "c"]),
            (".NET", vec![".net", "net"]),
            ("U.S.A.", vec!["usa"]),
            ("Node.js", vec!["nodej", "node", "js"]),
            ("it's", vec!["it"]),
            ("don’t", vec!["dont"]),
            ("O'Brien", vec!["obrien", "brien"]),
            ("l’été", vec!["ete"]),
            ("9f86d081884c7d659a2f", vec!["9f86d081884c7d659a2f"]),
            ("#tag", vec!["tag"]),
            ("API-ключ", vec!["api", "ключ"]),
            ("👍🏽 ❤️ 👩‍💻 🇯🇵", vec!["👍", "❤", "👩‍💻", "🇯🇵"]),
            ("צה\"ל", vec!["צהל"]),
        ] {
            assert_eq!(index(text), expected, "{text}");
        }
        for (query, note) in [
            ("user name", "call getUserName() first"),
            ("getusername", "call getUserName() first"),
            ("get_user_name", "call getUserName() first"),
            ("GET-USER-NAME", "call getUserName() first"),
            ("email", "send an e-mail"),
            ("e-mails", "send an email"),
            ("nodejs", "Node.js is here"),
            ("main.rs", "look into src/main.rs:42"),
            ("example", "write to someone@mail.example.org"),
            ("someone@mail.example.org", "write to someone@mail.example.org"),
            ("wifi", "Wi-Fi-роутер сломался"),
        ] {
            assert!(finds(query, note), "{query} in {note}");
        }
    }

    #[test]
    fn right_to_left_scripts_lose_their_points() {
        assert!(finds("مدرسة", "ذهب إلى المَدْرَسَةِ صباحا"));
        assert!(finds("كتاب", "قرأت الكتاب أمس"));
        assert!(finds("שלום", "אמר שָׁלוֹם לכולם"));
    }

    #[test]
    fn phrases_are_one_term_for_each_position() {
        for text in [
            "the well-known getUserName of C++ in e-mail",
            "Мы едем в по-настоящему новый дом",
            "東京都の天気",
            "한국어 문장",
        ] {
            let phrase = terms(text, None, Mode::Phrase);
            let note = terms(text, None, Mode::Index);
            for (expected, term) in phrase.iter().enumerate() {
                assert!(
                    note.iter().any(|n| n.term == term.term && n.position == term.position),
                    "{term:?}"
                );
                // The last character of a Japanese run starts no pair.
                assert!(term.position as usize >= expected);
            }
        }
        let positions: Vec<u32> =
            terms("well-known fact", None, Mode::Phrase).iter().map(|t| t.position).collect();
        assert_eq!(positions, [0, 1, 2]);
    }

    fn any_text() -> impl Strategy<Value = String> {
        let alphabet = "[a-zA-Z0-9а-яёЁйßéÅñçİ'’.,@_+#&/: \n\u{301}\u{306}\u{308}\u{3099}\u{200D}\u{FE0F}\u{AD}あがパー東機机發한국ไทย가ｶﾞ👍🏽👩💻🇯🇵مدرسةَשלום١हिन्दी㍿㎏①Ⅳﬁ-]{0,40}";
        prop_oneof![
            alphabet.prop_map(String::from),
            "\\PC{0,40}".prop_map(String::from),
            any::<String>()
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]

        #[test]
        fn any_text_gives_terms_in_their_places(text in any_text()) {
            let mut analyser = Analyser::new();
            for mode in [Mode::Index, Mode::Query, Mode::Phrase] {
                for lang in [None, Some(Lang::German), Some(Lang::Chinese), Some(Lang::Ukrainian)] {
                    let found = analyser.terms(&text, lang, mode);
                    let (mut start, mut position) = (0, 0);
                    for term in &found {
                        prop_assert!(!term.term.is_empty());
                        prop_assert!(term.term.len() <= 600);
                        prop_assert!(!term.term.contains(char::is_whitespace), "{:?}", term);
                        prop_assert!(text.get(term.range.clone()).is_some_and(|span| !span.is_empty()));
                        prop_assert!(term.range.start >= start && term.position >= position, "{:?}", found);
                        (start, position) = (term.range.start, term.position);
                    }
                    prop_assert_eq!(&found, &terms(&text, lang, mode));
                }
            }
        }

        #[test]
        fn composed_and_decomposed_text_have_the_same_terms(text in any_text()) {
            let list = |text: &str| -> Vec<(String, u32)> {
                terms(text, Some(Lang::French), Mode::Index).into_iter().map(|t| (t.term, t.position)).collect()
            };
            let composed: String = text.nfc().collect();
            let decomposed: String = text.nfd().collect();
            prop_assert_eq!(list(&composed), list(&decomposed));
        }

        #[test]
        fn a_query_asks_for_every_term_of_the_same_note(text in any_text()) {
            for lang in [None, Some(Lang::German), Some(Lang::Chinese), Some(Lang::Japanese)] {
                let query: Vec<String> = terms(&text, None, Mode::Query).into_iter().map(|t| t.term).collect();
                let note = terms(&text, lang, Mode::Index);
                // The `c` of `c++` and the single characters of Chinese are only extra ways in.
                for term in note.iter().filter(|term| !matches!(term.kind, Kind::Part | Kind::Single)) {
                    prop_assert!(query.contains(&term.term), "{:?} not in {:?}", term, query);
                }
            }
        }
    }
}
