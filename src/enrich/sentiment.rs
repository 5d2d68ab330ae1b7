//! How a post sounds: small lists of words in three languages, turned round by a negation.
//!
//! Most of what people save is a plain statement, so neutral is the answer unless words say
//! otherwise, and a single word says it with little confidence.

use std::{
    collections::{HashMap, HashSet},
    sync::LazyLock,
};

use super::reading::{Reading, fold, keys};
use crate::domain::{bookmark::Judged, query::Sentiment};

const GOOD: &str = "\
    good great awesome amazing excellent fantastic wonderful brilliant beautiful elegant delightful perfect \
    best better love loved enjoy happy glad proud grateful thankful congratulations congrats celebrate excited \
    exciting impressive incredible nice cool fun success successful win winning winner victory honor honored \
    progress improve improved improvement helpful useful powerful fast faster simple safe secure strong favorite \
    recommend blessed hope hopeful thanks thank welcome fabulous superb magnificent joy inspiring breakthrough \
    хороший хорошо отличный отлично прекрасный прекрасно замечательный великолепный удобный полезный классный \
    круто люблю нравится рад рада счастлив спасибо поздравляю успех успешный победа лучший лучше красивый \
    вдохновляет восхитительный надежный быстрый простой радость гордость благодарен рекомендую шикарный здорово";

const BAD: &str = "\
    bad worse worst terrible horrible awful disgusting hate hated sad angry fear afraid scary worried worry \
    broken fail failed failing failure fails failed bug crash crashed disaster catastrophe tragic tragedy kill \
    killed killing dead death die died dies victim crime criminal fraud scam scammer lie lies lying liar fake \
    corrupt corruption wrong problem problems issue dangerous danger threat attack attacked abuse abused leak \
    leaked breach hacked vulnerable vulnerability malware ransomware useless stupid ridiculous annoying slow \
    ugly painful pain suffering suffer crisis collapse shutdown outage lawsuit sued ban banned layoffs recession \
    war terror terrorist violence violent hunt witch disgrace disrespect loss lose losing lost unfair unacceptable \
    shame shameful outrageous devastating devastated cruel evil sick poor weak nightmare regret sorry deprecated \
    плохой плохо ужасный ужасно отвратительный ненавижу грустно печально злой страшный страх боюсь сломан сломался \
    ошибка провал катастрофа трагедия убит убийство смерть умер погиб жертва преступление мошенник обман ложь врет \
    опасный опасность угроза атака утечка взлом уязвимость бесполезный глупый раздражает медленный кризис крах \
    война насилие потеря проиграл позор разочарован разочарование жаль проблема худший хуже боль беда бесит";

/// Looked for anywhere in a text.
const GOOD_JAPANESE: [&str; 26] = [
    "素晴らし",
    "すばらし",
    "すごい",
    "凄い",
    "最高",
    "嬉しい",
    "うれしい",
    "楽しい",
    "楽しかった",
    "好き",
    "便利",
    "良い",
    "良かった",
    "よかった",
    "ありがとう",
    "おめでとう",
    "感謝",
    "成功",
    "美しい",
    "美味し",
    "おすすめ",
    "優れ",
    "期待",
    "簡単",
    "安心",
    "面白い",
];
const BAD_JAPANESE: [&str; 27] = [
    "最悪",
    "ひどい",
    "酷い",
    "悪い",
    "嫌い",
    "悲しい",
    "怖い",
    "辛い",
    "つらい",
    "残念",
    "失敗",
    "問題",
    "危険",
    "事故",
    "事件",
    "死亡",
    "被害",
    "詐欺",
    "脆弱性",
    "漏洩",
    "障害",
    "不便",
    "不安",
    "怒り",
    "困る",
    "使いにくい",
    "遅い",
];
/// What turns a Japanese word round stands behind it.
const NOT_JAPANESE: [&str; 7] = ["ない", "なく", "ません", "なかった", "ず、", "じゃ", "では"];

const GOOD_SIGNS: &str = "😀😃😄😁😊😍🥰😎👍👏🎉🎊❤💕💖🔥✨🙌🥳🏆😂🤩💯🙏";
const BAD_SIGNS: &str = "😡😠😢😭😞😔👎💔😱🤬😨😰🤮💀😤";

const NEGATIONS: &str = "not no never none nothing nobody cant cannot dont doesnt didnt isnt arent wasnt werent wont \
    wouldnt shouldnt couldnt hasnt havent without hardly barely lack lacks не ни нет без нельзя никогда ничего";

/// Words before a word that may turn it round.
const REACH: usize = 3;

struct Lexicon {
    words: HashMap<String, f32>,
    negations: HashSet<&'static str>,
}

static LEXICON: LazyLock<Lexicon> = LazyLock::new(|| {
    let mut words = HashMap::new();
    for (list, sign) in [(GOOD, 1.0), (BAD, -1.0)] {
        for word in list.split_whitespace() {
            words.extend(keys(word).into_iter().map(|key| (key, sign)));
        }
    }
    Lexicon { words, negations: NEGATIONS.split_whitespace().collect() }
});

pub(super) fn judge(reading: &Reading) -> Judged<Sentiment> {
    let (mut good, mut bad) = (0.0_f32, 0.0_f32);
    let mut count = |sign: f32| if sign > 0.0 { good += sign } else { bad -= sign };
    let lexicon = &*LEXICON;
    for (at, word) in reading.words.iter().enumerate().filter(|(_, word)| !word.mention) {
        let Some(sign) = lexicon.words.get(&word.key) else { continue };
        let before = &reading.words[at.saturating_sub(REACH)..at];
        let turned = before.iter().any(|word| {
            let bare: String =
                word.form.to_lowercase().chars().filter(|c| !matches!(c, '\'' | '’')).collect();
            lexicon.negations.contains(bare.as_str())
        });
        // `not bad` is no praise.
        count(if turned { -sign * 0.7 } else { *sign });
    }
    if !reading.folded.is_empty() {
        for (list, sign) in [(&GOOD_JAPANESE[..], 1.0), (&BAD_JAPANESE[..], -1.0)] {
            for word in list {
                if let Some(at) = reading.folded.find(fold(word).as_str()) {
                    let behind: String =
                        reading.folded[at..].chars().skip(word.chars().count()).take(5).collect();
                    let turned = turned(word, &reading.folded[at..], &behind);
                    count(if turned { -sign * 0.7 } else { sign });
                }
            }
        }
        // 良くない: the ending of the word itself changes.
        for (word, sign) in [
            ("良くな", -1.0),
            ("よくな", -0.7),
            ("楽しくな", -1.0),
            ("悪くな", 0.7),
            ("面白くな", -1.0),
        ] {
            if reading.folded.contains(word) {
                count(sign);
            }
        }
    }
    for c in reading.body.chars().filter(|c| !c.is_ascii()) {
        if GOOD_SIGNS.contains(c) {
            count(0.8);
        } else if BAD_SIGNS.contains(c) {
            count(-0.8);
        }
    }
    weigh(good, bad, reading.words.len())
}

fn turned(word: &str, from: &str, behind: &str) -> bool {
    let ends_itself = word.ends_with('い') || from.starts_with("ありがとう");
    !ends_itself
        && NOT_JAPANESE.iter().any(|not| behind.contains(not))
        && behind.contains(['な', 'せ', 'ず'])
}

fn weigh(good: f32, bad: f32, words: usize) -> Judged<Sentiment> {
    let (all, lean) = (good + bad, good - bad);
    if all < 0.7 {
        // The longer a text says nothing of the kind, the surer.
        let sure = if words < 3 { 0.4 } else { 0.6 };
        return Judged::by_rule(Sentiment::Neutral, sure);
    }
    let clear = lean.abs() / all;
    if clear < 0.34 {
        return Judged::by_rule(Sentiment::Neutral, 0.4);
    }
    let sentiment = if lean > 0.0 { Sentiment::Positive } else { Sentiment::Negative };
    Judged::by_rule(sentiment, (0.4 + 0.12 * lean.abs().min(4.0) * clear).min(0.9))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Bookmark, Timestamp};

    fn of(text: &str) -> Judged<Sentiment> {
        judge(&Reading::of(&Bookmark::new(Some("1"), "", text, Timestamp(0)).unwrap()))
    }

    #[test]
    fn how_it_sounds_in_three_languages() {
        use Sentiment::{Negative, Neutral, Positive};
        for (text, expected) in [
            ("What a wonderful, elegant library. I love it!", Positive),
            ("This is not good at all", Negative),
            ("A terrible disaster, people were killed", Negative),
            ("It isn't bad", Positive),
            ("Version 2 of the protocol is out", Neutral),
            ("Отличная библиотека, всем рекомендую", Positive),
            ("Мне это не нравится", Negative),
            ("Ужасная ошибка и утечка данных", Negative),
            ("Вышла вторая версия протокола", Neutral),
            ("素晴らしいライブラリです。ありがとう", Positive),
            ("これは便利ではない", Negative),
            ("最悪の障害で残念", Negative),
            ("プロトコルの第二版が出た", Neutral),
            ("👍🎉", Positive),
            ("", Neutral),
        ] {
            assert_eq!(of(text).value, expected, "{text}");
        }
    }

    #[test]
    fn more_words_are_surer() {
        assert!(of("great").confidence < of("great, wonderful, amazing").confidence);
        assert!(of("great").confidence < 0.6);
        assert!(of("good and bad").value == Sentiment::Neutral);
    }
}
