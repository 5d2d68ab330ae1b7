//! Text to search terms, in the languages of the product.

use std::{cell::RefCell, collections::HashSet, ops::Range};

use notewell::text::{
    Analyser, Lang, Mode, Term,
    lang::detect,
    sentences::sentences,
    snippet,
    tokens::{estimate, prefix},
    typo::within_one_typo,
    words::count_words,
};

use super::{text, turns};

thread_local! {
    static ANALYSER: RefCell<Analyser> = RefCell::new(Analyser::new());
}

/// Words of any script.
pub fn words(data: &[u8]) {
    let source = text(data);
    let langs = [None, Some(Lang::English), Some(Lang::Russian), Some(Lang::Japanese)];
    for turn in turns(data, langs.len()) {
        analyse(&source, langs[turn]);
    }
    detect(&source);
    count_words(&source);
    ascending(&source, &sentences(&source));
    let cost = estimate(&source);
    for most in [0, 1, cost / 2, cost] {
        let end = prefix(&source, most);
        assert!(end == 0 || estimate(&source[..end]) <= most, "{most}");
    }
    if let Some((one, other)) = source.split_once(' ') {
        assert_eq!(within_one_typo(one, other), within_one_typo(other, one));
    }
}

/// Texts of kana, kanji, marks and halfwidth forms, made of the bytes.
pub fn japanese(data: &[u8]) {
    const MARKS: [char; 16] = [
        'ー', '々', 'ゝ', 'ヽ', '゛', '゜', '\u{3099}', '\u{309a}', '・', '「', '。', ' ', 'A',
        'ｱ', 'ﾞ', '〜',
    ];
    let pairs = data.chunks(2).map(|pair| (pair[0], pair.get(1).copied().unwrap_or(0)));
    let source: String = pairs
        .map(|(kind, byte)| match kind % 4 {
            0 => char::from_u32(0x3041 + u32::from(byte) % 0x56).unwrap_or('あ'),
            1 => char::from_u32(0x30a1 + u32::from(byte) % 0x5a).unwrap_or('ア'),
            2 => {
                char::from_u32(0x4e00 + u32::from(kind / 4) * 256 + u32::from(byte)).unwrap_or('本')
            }
            _ => MARKS[usize::from(byte) % MARKS.len()],
        })
        .collect();
    for turn in turns(data, 2) {
        analyse(&source, [Some(Lang::Japanese), None][turn]);
    }
    ascending(&source, &sentences(&source));
}

/// Terms stand where they say, and a phrase of a text finds that text.
fn analyse(source: &str, lang: Option<Lang>) {
    ANALYSER.with_borrow_mut(|analyser| {
        let index = analyser.terms(source, lang, Mode::Index);
        placed(source, &index);
        placed(source, &analyser.terms(source, lang, Mode::Query));
        let phrase = analyser.terms(source, lang, Mode::Phrase);
        placed(source, &phrase);
        let known: HashSet<&str> = index.iter().map(|term| term.term.as_str()).collect();
        for term in &phrase {
            assert!(known.contains(term.term.as_str()), "{term:?} of {source:?} is not indexed");
        }
        let asked = index.first().map(|term| term.term.clone()).unwrap_or_default();
        let cut = snippet(analyser, source, lang, 40, |term| term == asked);
        assert!(source.get(cut.source.clone()).is_some());
        ascending(&cut.text, &cut.marks);
        assert!(cut.text.chars().count() <= 40, "{:?}", cut.text);
    });
}

fn placed(source: &str, terms: &[Term]) {
    let (mut start, mut position) = (0, 0);
    for term in terms {
        assert!(!term.term.is_empty(), "an empty term of {source:?}");
        assert!(source.get(term.range.clone()).is_some(), "{term:?} of {source:?}");
        assert!(term.range.start >= start && term.position >= position, "{term:?} of {source:?}");
        (start, position) = (term.range.start, term.position);
    }
}

fn ascending(source: &str, ranges: &[Range<usize>]) {
    let mut end = 0;
    for range in ranges {
        assert!(range.start >= end && source.get(range.clone()).is_some(), "{range:?}");
        end = range.end;
    }
}
