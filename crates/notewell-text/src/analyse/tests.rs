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
    for query in ["Haus", "haus", "Häuser", "häusern", "hauser", "klein", "Kind", "Kinder", "alte"]
    {
        assert!(finds(query, german), "{query}");
    }
    let french = "Les grandes maisons étaient habitées par des familles heureuses pendant les étés";
    for query in ["grand", "maison", "habité", "habiter", "heureux", "été", "l'été", "famille"]
    {
        assert!(finds(query, french), "{query}");
    }
    let spanish =
        "Los niños cantaban canciones alegres mientras los perros corrían por las montañas";
    for query in ["niño", "nino", "cantar", "canción", "alegre", "perro", "correr", "montaña"] {
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

#[test]
fn a_lone_letter_is_one_however_it_is_composed() {
    // Two letters that are one in NFC.
    for text in ["\u{16D68}0", "\u{16D67}\u{16D67}0"] {
        let found = terms(text, None, Mode::Index);
        assert_eq!(found.len(), 1, "{found:?}");
    }
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

#[test]
fn a_part_that_is_only_a_mark_is_no_term() {
    let mut analyser = Analyser::new();
    for mode in [Mode::Index, Mode::Query, Mode::Phrase] {
        let terms = analyser.terms("\u{37a}\u{376}αβγ", Some(Lang::Greek), mode);
        assert!(!terms.is_empty(), "{mode:?}");
        assert!(terms.iter().all(|term| !term.term.is_empty()), "{mode:?}: {terms:?}");
    }
}
