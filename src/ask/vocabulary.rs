//! The words by which questions ask, in English, Russian and Japanese; lower case, split at commas.

use super::question::Wanted;

/// Words that tell which kind of answer is expected. The longest that occurs decides.
pub(super) const HINTS: &[(Wanted, &str)] = &[
    (
        Wanted::Date,
        "how long ago, what year, which year, what date, what day, what century, when, каком году, \
     какого года, какой год, каком веке, когда, いつ, 何世紀, 何年, 何月, 何日, 何時, 西暦",
    ),
    (
        Wanted::Number,
        "how many, how much, how old, how long, how far, how often, what percentage, what number, \
     сколько, скольких, как долго, какое количество, каково количество, какой процент, いくつ, \
     いくら, どのくらい, どれくらい, 何年間, 何人, 何個, 何回, 何歳, 何度, 何番, 何パーセント, 何%, 何メートル, 何キロ, 何位, 何本, 何種類, 何つ",
    ),
    (Wanted::Name, "whom, whose, who, where, кто, кого, кому, кем, где"),
    (
        Wanted::List,
        "what are the, what do i need, what should i, what goes into, what belongs, what is on, \
     what's on, what is in, what's in, which are, name all, list, ingredients, steps, какие, \
     каковы, перечисли, перечислите, список, списке, что нужно, что надо, что входит, \
     что взять, что купить, из чего, состав, ингредиенты, шаги, 何が必要, 必要なもの, 材料, 持ち物, 手順, 一覧, \
     リスト, 何を買, 何を持, 挙げて, どんなもの",
    ),
];

/// Words that only ask. Earlier ones are removed first, so that a phrase goes before its words.
pub(super) const ASKING: &str = "the definition of, the meaning of, what is meant by, define, что такое, что значит, \
     что означает, とは何のこと, とはどういう意味, とは何, とは, って何, って, の意味, how many, how much, how long, how often, how old, how, what, which, when, where, who, \
     whom, whose, why, many, much, did, does, do, tell me, please, сколько, скольких, какой, \
     какая, какое, какие, каких, какого, каком, какую, каким, какими, какова, каков, каково, \
     каковы, чем, кто, кого, кому, кем, где, когда, почему, зачем, что, чего, чему, как, куда, \
     откуда, скажи, пожалуйста, 教えてください, 教えて下さい, 教えて, のはどんな, どのような, どういう, どんな, どのくらい, どれくらい, \
     でしょうか, でしたか, ましたか, ますか, ですか, だったか, であるか, とは何, は何, が何, 何と, 何を, 何に, 何で, 何が, 何か, 何ですか, \
     なんですか, なに, なぜ, どこ, どの, どれ, どう, いつ, 誰, だれ, いくつ, いくら, 何";

/// Numbers in words, and words that count.
pub(super) const NUMBER_WORDS: &str = "two, three, four, five, six, seven, eight, nine, ten, dozen, hundred, thousand, million, \
     billion, half, twice, два, две, двух, три, трех, трёх, четыре, пять, пяти, шесть, семь, \
     восемь, девять, десять, сто, тысяч, миллион, миллиард, половин, 二, 三, 四, 五, 六, 七, 八, 九, \
     十, 百, 千, 万, 億";

/// The words of a table above.
pub(super) fn words(table: &'static str) -> impl Iterator<Item = &'static str> {
    table.split(", ")
}
