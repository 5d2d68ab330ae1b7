//! What a question says of the answer it wants: which of its words only ask, and whether a number, a
//! date or a name is expected.

use crate::text::{Lang, lang, script};

/// What kind of thing is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    Number,
    Date,
    Name,
}

/// A question, read.
pub(super) struct Question<'a> {
    pub text: &'a str,
    pub lang: Lang,
    /// The question without the words that only ask.
    pub core: String,
    pub wanted: Option<Wanted>,
}

/// Words that ask for a number, a date or a name; lower case, the more telling ones first.
const HINTS: &[(&str, Wanted)] = &[
    ("how long ago", Wanted::Date),
    ("how many", Wanted::Number),
    ("how much", Wanted::Number),
    ("how old", Wanted::Number),
    ("how long", Wanted::Number),
    ("how far", Wanted::Number),
    ("how often", Wanted::Number),
    ("what percentage", Wanted::Number),
    ("what number", Wanted::Number),
    ("what year", Wanted::Date),
    ("which year", Wanted::Date),
    ("what date", Wanted::Date),
    ("what day", Wanted::Date),
    ("what century", Wanted::Date),
    ("when", Wanted::Date),
    ("whom", Wanted::Name),
    ("whose", Wanted::Name),
    ("who", Wanted::Name),
    ("where", Wanted::Name),
    ("сколько", Wanted::Number),
    ("скольких", Wanted::Number),
    ("как долго", Wanted::Number),
    ("какое количество", Wanted::Number),
    ("каково количество", Wanted::Number),
    ("какой процент", Wanted::Number),
    ("каком году", Wanted::Date),
    ("какого года", Wanted::Date),
    ("какой год", Wanted::Date),
    ("каком веке", Wanted::Date),
    ("когда", Wanted::Date),
    ("кто", Wanted::Name),
    ("кого", Wanted::Name),
    ("кому", Wanted::Name),
    ("кем", Wanted::Name),
    ("где", Wanted::Name),
    ("いくつ", Wanted::Number),
    ("いくら", Wanted::Number),
    ("どのくらい", Wanted::Number),
    ("どれくらい", Wanted::Number),
    ("いつ", Wanted::Date),
    ("何世紀", Wanted::Date),
    ("何年間", Wanted::Number),
    ("何年", Wanted::Date),
    ("何月", Wanted::Date),
    ("何日", Wanted::Date),
    ("何時", Wanted::Date),
    ("西暦", Wanted::Date),
    ("何人", Wanted::Number),
    ("何個", Wanted::Number),
    ("何回", Wanted::Number),
    ("何歳", Wanted::Number),
    ("何度", Wanted::Number),
    ("何番", Wanted::Number),
    ("何パーセント", Wanted::Number),
    ("何%", Wanted::Number),
    ("何メートル", Wanted::Number),
    ("何キロ", Wanted::Number),
    ("何位", Wanted::Number),
    ("何本", Wanted::Number),
    ("何種類", Wanted::Number),
    ("何つ", Wanted::Number),
];

/// Words that ask and say nothing of the matter. Whole words where words are spaced.
const ASKING: &[&str] = &[
    "how many",
    "how much",
    "how long",
    "how often",
    "how old",
    "how",
    "what",
    "which",
    "when",
    "where",
    "who",
    "whom",
    "whose",
    "why",
    "many",
    "much",
    "did",
    "does",
    "do",
    "tell me",
    "please",
    "сколько",
    "скольких",
    "какой",
    "какая",
    "какое",
    "какие",
    "каких",
    "какого",
    "каком",
    "какую",
    "каким",
    "какими",
    "какова",
    "каков",
    "каково",
    "каковы",
    "чем",
    "кто",
    "кого",
    "кому",
    "кем",
    "где",
    "когда",
    "почему",
    "зачем",
    "что",
    "чего",
    "чему",
    "как",
    "куда",
    "откуда",
    "скажи",
    "пожалуйста",
    "教えてください",
    "教えて下さい",
    "教えて",
    "のはどんな",
    "どのような",
    "どういう",
    "どんな",
    "どのくらい",
    "どれくらい",
    "でしょうか",
    "でしたか",
    "ましたか",
    "ますか",
    "ですか",
    "だったか",
    "であるか",
    "とは何",
    "は何",
    "が何",
    "何と",
    "何を",
    "何に",
    "何で",
    "何が",
    "何か",
    "何ですか",
    "なんですか",
    "なに",
    "なぜ",
    "どこ",
    "どの",
    "どれ",
    "どう",
    "いつ",
    "誰",
    "だれ",
    "いくつ",
    "いくら",
    "何",
];

impl<'a> Question<'a> {
    pub(super) fn read(text: &'a str) -> Self {
        let lower = text.to_lowercase();
        let wanted =
            HINTS.iter().find(|(hint, _)| find(&lower, hint).is_some()).map(|(_, wanted)| *wanted);
        let mut core = lower.clone();
        for asking in ASKING {
            while let Some(at) = find(&core, asking) {
                core.replace_range(at..at + asking.len(), " ");
            }
        }
        // A question of nothing else is asked as it is.
        if !core.chars().any(char::is_alphanumeric) {
            core = lower;
        }
        Self { text, lang: lang::detect(text), core, wanted }
    }
}

/// Where a word stands: as a whole word where its script puts spaces between words.
fn find(text: &str, word: &str) -> Option<usize> {
    let spaced = |c: char| script::of(c).is_spaced();
    text.match_indices(word).map(|(at, _)| at).find(|at| {
        let before = text[..*at].chars().next_back();
        let after = text[at + word.len()..].chars().next();
        let whole = word.chars().next().is_some_and(spaced);
        !whole || !(before.is_some_and(spaced) || after.is_some_and(spaced))
    })
}

impl Wanted {
    /// Whether a sentence has such a thing that the question has not.
    pub(super) fn is_in(self, sentence: &str, question: &str) -> bool {
        match self {
            Wanted::Number | Wanted::Date => {
                numbers(sentence).any(|number| !question.contains(number))
                    || self == Wanted::Number && has_number_word(sentence)
            }
            Wanted::Name => names(sentence).any(|name| !question.contains(name)),
        }
    }
}

/// Runs of digits, with what joins them.
pub(super) fn numbers(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_numeric() && !matches!(c, '.' | ','))
        .map(|run| run.trim_matches(['.', ',']))
        .filter(|run| run.chars().any(char::is_numeric))
}

fn has_number_word(text: &str) -> bool {
    const WORDS: &[&str] = &[
        "two",
        "three",
        "four",
        "five",
        "six",
        "seven",
        "eight",
        "nine",
        "ten",
        "dozen",
        "hundred",
        "thousand",
        "million",
        "billion",
        "half",
        "twice",
        "два",
        "две",
        "двух",
        "три",
        "трех",
        "трёх",
        "четыре",
        "пять",
        "пяти",
        "шесть",
        "семь",
        "восемь",
        "девять",
        "десять",
        "сто",
        "тысяч",
        "миллион",
        "миллиард",
        "половин",
        "二",
        "三",
        "四",
        "五",
        "六",
        "七",
        "八",
        "九",
        "十",
        "百",
        "千",
        "万",
        "億",
    ];
    let lower = text.to_lowercase();
    WORDS.iter().any(|word| find(&lower, word).is_some())
}

/// Words that begin with a capital, the first of the sentence left out; in Japanese, runs of
/// katakana or of several Han characters.
fn names(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|c: char| !c.is_alphanumeric() && c != '-' && c != '\'');
    let capital = words
        .filter(|word| !word.is_empty())
        .skip(1)
        .filter(|word| word.chars().next().is_some_and(char::is_uppercase));
    let runs = text
        .split(|c: char| {
            !matches!(script::of(c), script::Script::Han | script::Script::Katakana) && c != '・'
        })
        .filter(|run| run.chars().nth(1).is_some());
    capital.chain(runs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wanted_in_three_languages() {
        for (text, wanted) in [
            ("How many points?", Some(Wanted::Number)),
            ("In what year did it end?", Some(Wanted::Date)),
            ("Who wrote it?", Some(Wanted::Name)),
            ("What is a whole?", None),
            ("Сколько очков?", Some(Wanted::Number)),
            ("В каком году это было?", Some(Wanted::Date)),
            ("Кто написал?", Some(Wanted::Name)),
            ("何人いますか", Some(Wanted::Number)),
            ("いつ始まった？", Some(Wanted::Date)),
        ] {
            assert_eq!(Question::read(text).wanted, wanted, "{text}");
        }
    }

    #[test]
    fn the_core_is_what_is_asked_about() {
        for (text, core) in [
            ("How many points did the Panthers score?", "points the panthers score?"),
            ("Кто написал «Войну и мир»?", "написал «войну и мир»?"),
            ("梅雨はいつ始まりますか？", "梅雨は 始まり ？"),
            ("What?", "what?"),
        ] {
            let read = Question::read(text).core;
            assert_eq!(read.split_whitespace().collect::<Vec<_>>().join(" "), core, "{text}");
        }
    }

    #[test]
    fn a_sentence_has_what_the_question_has_not() {
        assert!(Wanted::Number.is_in("It has 24 of them.", "how many in 1999?"));
        assert!(!Wanted::Date.is_in("In 1999 it ended.", "when in 1999?"));
        assert!(Wanted::Name.is_in("It was won by Miller.", "Who won?"));
        assert!(!Wanted::Name.is_in("It was won.", "Who won?"));
    }
}
