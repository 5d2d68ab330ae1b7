//! Words that say how other words relate and little else.
//!
//! None is dropped when indexing: BM25 weighs them down by itself and phrases need them. A query
//! may drop or discount them.

use std::{collections::HashSet, sync::LazyLock};

use super::lang::Lang;
use super::script::{self, Script};

/// Lower case, without apostrophes. Sorted.
const ENGLISH: &str = "\
    a about above after again against all also am an and any are arent as at be because been before \
    being below between both but by can cannot cant could couldnt did didnt do does doesnt doing dont \
    down during each few for from further had hadnt has hasnt have havent having he her here hers \
    herself him himself his how i if in into is isnt it its itself just me more most my myself no nor \
    not of off on once only or other our ours ourselves out over own same she should shouldnt so some \
    such than that the their theirs them themselves then there these they this those through to too \
    under until up us very was wasnt we were werent what when where which while who whom whose why will \
    with wont would wouldnt you your yours yourself yourselves";

/// Lower case, `е` for `ё`. Sorted.
const RUSSIAN: &str = "\
    а без более больше будем будет будете будешь буду будут бы был была были было быть в вам вами вас \
    ваш ваша ваше ваши вдруг ведь во вот впрочем все всегда всего всех всю вся вы где да даже для до его \
    ее ей ему если есть еще ею же за зачем и из изо или им ими иногда их к каждая каждый как какая какие \
    какой когда кого ком кому конечно которая которого которой которую которые который которых кто куда \
    ли либо лучше между меня мне много мной мог могут может можно мои мой моя мы на над надо наконец нам \
    нами нас наш наша наше наши не него нее ней нельзя нем нему нет нею ни нибудь никогда ним ними них \
    ничего но ну о об обо однако он она они оно от ото перед по под после потом потому почему почти при \
    про с сам сама сами само свое своего своей свои своих свой свою своя себе себя со совсем та так \
    такая также такие такой там те тебе тебя тем теми теперь тех то тобой того тоже той только том тому \
    тот ту тут ты у уж уже хоть хотя чего чем чему через что чтоб чтобы чуть эта эти этим этих это этого \
    этой этом этому этот эту я";

/// Particles, copulas, pronouns and the pairs of characters that verbs and particles end in. Sorted.
const JAPANESE: &str = "\
    ある あれ いう いた いて いる おり か かっ かも から が があ くだ け けど ここ こと この これ さい され さん した して しま しょ す すか する せん そう そこ その それ \
    た たい たが ただ たち だ だが だけ だっ っ った って つい て てい てき てく であ でき でし です では でも と とい とう とか とき とし とは とも どう どこ どの な \
    ない なか なく など なら なる なん に にお につ には によ に関 の のか ので のは のよ は はい へ べき まし ます ませ また まで も もの や よ よう より ら られ り る \
    るの れ れた れて れる わ を ん んか んで 何 何で";

static LISTED: LazyLock<HashSet<&str>> = LazyLock::new(|| {
    [ENGLISH, RUSSIAN, JAPANESE].iter().flat_map(|list| list.split(' ')).collect()
});

/// Whether `word`, as written or as a term, only holds a sentence together.
///
/// `None` asks all of English, Russian and Japanese; other languages have no list and say no.
/// Japanese is asked by pairs of characters, as the analyser cuts it.
pub fn is_stop_word(word: &str, lang: Option<Lang>) -> bool {
    let Some(first) = word.chars().next() else { return false };
    let of = match script::of(first) {
        Script::Latin => Lang::English,
        Script::Cyrillic => Lang::Russian,
        Script::Hiragana | Script::Han => Lang::Japanese,
        _ => return false,
    };
    if lang.is_some_and(|lang| lang != of) {
        return false;
    }
    let (mut lower, mut bare) = (String::new(), String::new());
    super::fold::fold_word(word, &mut lower, &mut bare);
    bare.retain(|c| c != '\'');
    // No word stands in two of the lists: each has its own script.
    LISTED.contains(bare.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn function_words_of_three_languages() {
        for word in
            ["the", "The", "don't", "don’t", "и", "Ещё", "еще", "который", "の", "です", "から"]
        {
            assert!(is_stop_word(word, None), "{word}");
        }
        for word in ["", "note", "суббота", "東京", "カメラ", "не-а", "k8s", "7", "🙂"]
        {
            assert!(!is_stop_word(word, None), "{word}");
        }
    }

    #[test]
    fn only_the_language_asked_for() {
        assert!(is_stop_word("an", Some(Lang::English)));
        assert!(!is_stop_word("an", Some(Lang::German)));
        assert!(!is_stop_word("и", Some(Lang::English)));
    }
}
