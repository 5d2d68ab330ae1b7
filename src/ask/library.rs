//! Questions about the library itself: `how many bookmarks do I have`, `что я сохранил в августе`,
//! `8月に保存したもの`. Such a question is recognised only when every word of it is known here; any
//! other word makes it a question about what the items say.

use super::{period::Period, question::find};
use crate::{
    domain::{Kind, Timestamp},
    text::{Lang, lang},
};

/// What a question asks of the library.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Request {
    pub lang: Lang,
    /// Whether a number is asked for, and not the items.
    pub counts: bool,
    pub kinds: Vec<Kind>,
    pub period: Option<Period>,
    pub label: Option<String>,
    /// The subject of the items to count.
    pub topic: Option<String>,
}

/// Words for kinds of item; lower case, split at commas.
const KINDS: &[(&[Kind], &str)] = &[
    (
        &[Kind::Bookmark],
        "bookmarks, bookmark, saved posts, saved links, links, tweets, posts, закладок, закладки, \
         закладка, закладку, закладками, ссылок, ссылки, ссылка, постов, посты, ブックマーク, リンク, \
         お気に入り, 投稿",
    ),
    (
        &[Kind::Page, Kind::Card],
        "notes, note, заметок, заметки, заметка, заметку, заметками, メモ, ノート",
    ),
    (&[Kind::Page], "pages, markdown files, страниц, страницы, страница, страницу, ページ"),
    (&[Kind::Card], "cards, карточек, карточки, карточка, карточку, カード"),
    (&[Kind::Prompt], "prompts, prompt, промптов, промпты, промпт, промтов, промты, プロンプト"),
    (
        &Kind::ALL,
        "items, everything, all things, library, записей, записи, всего в библиотеке, библиотеке, \
         библиотека, элементов, ライブラリ, 項目, アイテム",
    ),
];

/// Words for how items came into the library.
const VERBS: &[(&[Kind], &str)] = &[
    (
        &[Kind::Bookmark],
        "saved, save, bookmarked, сохранил, сохранила, сохраняла, сохранял, сохранено, сохранила, \
         保存しました, 保存した, 保存済み, 保存",
    ),
    (
        &[Kind::Page, Kind::Card],
        "wrote, write, written, написал, написала, написано, писал, писала, записал, записала, \
         書きました, 書いた, 作成した, 作成しました",
    ),
    (
        &Kind::ALL,
        "added, add, created, create, добавил, добавила, добавлено, создал, создала, 追加しました, \
         追加した, 登録した, 登録しました",
    ),
];

const COUNT: &str = "how many, number of, count, total number of, сколько, количество, число, いくつ, \
    何件, 何個, 何枚, 何本, 件数, 何通";

const LATEST: &str = "latest, newest, most recent, recent, recently, lately, last, последние, последняя, \
    последнюю, недавно, новые, новых, 最近, 最新, 新しい";

/// Words that ask for a list.
const SHOW: &str = "show me, show, list, which, what, покажи, покажите, перечисли, список, какие, что, \
    一覧, 見せて, 表示して, もの, 何";

/// Words before the subject of items.
const ABOUT: &str =
    " about , on the topic of , on the subject of , про , на тему , по теме , о , об ";
/// Words between the subject of items and their kind.
const ABOUT_JA: &str = "についての, に関する, に関連する, について";
/// Words before a label.
const LABELLED: &str = " tagged with , tagged , with the tag , with tag , labelled , labeled , with the label , \
    с тегом , с меткой , с ярлыком ";
const LABELLED_JA: &str = "タグが付いた, タグの付いた, タグの, タグ付きの";

/// Words without a meaning of their own in such a question.
const FILLER: &str = "do i have, have i, did i, i have, i've, are there, is there, do, did, does, i, me, my, \
    have, has, had, are, is, was, were, been, there, in, on, at, of, from, during, for, within, the, a, an, \
    all, total, altogether, so far, now, currently, that, it, you, please, tell, and, \
    у меня, меня, мои, моих, моей, моя, мой, мне, я, есть, имеется, всего, сейчас, в, во, за, на, из, у, и, \
    было, были, все, всё, мной, мною, ли, же, скажи, пожалуйста, библиотеке, хранится, лежит, общее, месяце, \
    года, году, год, месяц, \
    ありますか, ありました, あります, あるか, ある, 持っていますか, 持っています, 持っている, 教えてください, 教えて, \
    何ですか, ですか, ましたか, ますか, です, ました, ます, した, して, いる, います, いますか, 全部で, 合計, \
    全て, すべて, 全部, 私, 自分, 今, 中, 内, 数, は, が, を, に, の, で, と, も, か, 件, 個, ください";

impl Request {
    /// Reads a question; `None` when it is not about the library itself.
    pub(super) fn read(question: &str, now: Timestamp) -> Option<Self> {
        let lower = question.to_lowercase();
        let mut text =
            format!(" {} ", lower.trim().trim_end_matches(['?', '？', '!', '.', '。']).trim());
        let label = take_after(&mut text, LABELLED).or_else(|| take_before(&mut text, LABELLED_JA));
        let topic = take_after(&mut text, ABOUT).or_else(|| take_before(&mut text, ABOUT_JA));
        let period = Period::take(&mut text, now);
        let counts = remove_all(&mut text, COUNT);
        let verb = VERBS.iter().find(|(_, words)| remove_all(&mut text, words));
        let mut kinds: Vec<Kind> = Vec::new();
        for (named, words) in KINDS {
            if remove_all(&mut text, words) {
                kinds.extend(named.iter().filter(|kind| !kinds.contains(kind)).collect::<Vec<_>>());
            }
        }
        let latest = remove_all(&mut text, LATEST);
        let shows = remove_all(&mut text, SHOW);
        remove_all(&mut text, FILLER);
        if text.chars().any(char::is_alphanumeric) {
            return None;
        }
        let is_list = match verb {
            Some(_) => shows || period.is_some() || latest,
            None => !kinds.is_empty() && (period.is_some() || latest),
        };
        // What is asked about a subject is in the items, unless it is their number.
        if !counts && (!is_list || topic.is_some()) {
            return None;
        }
        if kinds.is_empty() {
            kinds = verb?.0.to_vec();
        }
        Some(Self { lang: lang::detect(question), counts, kinds, period, label, topic })
    }
}

/// Removes every one of these words; says whether one was there.
fn remove_all(text: &mut String, words: &str) -> bool {
    let mut words: Vec<&str> = words.split(", ").map(str::trim).collect();
    words.sort_by_key(|word| std::cmp::Reverse(word.len()));
    let mut removed = false;
    for word in words {
        while let Some(at) = find(text, word) {
            text.replace_range(at..at + word.len(), " ");
            removed = true;
        }
    }
    removed
}

/// Takes what follows one of these words.
fn take_after(text: &mut String, words: &str) -> Option<String> {
    let words = words.split(',').map(|word| format!(" {} ", word.trim()));
    let (at, end) = words.filter_map(|word| Some((text.find(&word)?, word.len()))).min()?;
    taken(text.split_off(at).get(end..)?)
}

/// Takes what comes before one of these words.
fn take_before(text: &mut String, words: &str) -> Option<String> {
    let (at, len) = words.split(", ").find_map(|word| Some((text.find(word)?, word.len())))?;
    let rest = text.split_off(at + len);
    let before = std::mem::replace(text, rest);
    taken(&before[..at])
}

fn taken(text: &str) -> Option<String> {
    let text = text.trim().trim_matches(['#', '"', '“', '”', '«', '»', '「', '」', '`']).trim();
    (!text.is_empty()).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(question: &str) -> Option<Request> {
        Request::read(question, Timestamp::parse("2026-11-16").unwrap())
    }

    #[test]
    fn questions_about_the_library_in_three_languages() {
        let notes = [Kind::Page, Kind::Card];
        for (question, counts, kinds, dated) in [
            ("How many bookmarks do I have?", true, &[Kind::Bookmark][..], false),
            ("How many notes are there in my library?", true, &Kind::ALL[..], false),
            ("What did I save in August?", false, &[Kind::Bookmark], true),
            ("how many links did I save last week", true, &[Kind::Bookmark], true),
            ("Which notes did I write this month?", false, &notes, true),
            ("Show my latest bookmarks", false, &[Kind::Bookmark], false),
            ("Сколько у меня заметок?", true, &notes, false),
            ("сколько закладок я сохранил в августе", true, &[Kind::Bookmark], true),
            ("Что я сохранил в августе?", false, &[Kind::Bookmark], true),
            ("メモはいくつありますか？", true, &notes, false),
            ("8月に保存したもの", false, &[Kind::Bookmark], true),
            ("先週保存したブックマークは何件ですか", true, &[Kind::Bookmark], true),
        ] {
            let request = read(question).unwrap_or_else(|| panic!("{question}"));
            assert_eq!(request.counts, counts, "{question}");
            let mut named = request.kinds.clone();
            named.sort_by_key(|kind| Kind::ALL.iter().position(|one| one == kind));
            assert_eq!(named, kinds, "{question}");
            assert_eq!(request.period.is_some(), dated, "{question}");
        }
        let tagged = read("How many notes are tagged work?").unwrap();
        assert_eq!(tagged.label.as_deref(), Some("work"));
        let about = read("Сколько закладок про Rust?").unwrap();
        assert_eq!(about.topic.as_deref(), Some("rust"));
        let about = read("Rustについてのブックマークは何件ありますか").unwrap();
        assert_eq!(about.topic.as_deref(), Some("rust"));
    }

    #[test]
    fn questions_about_what_items_say() {
        for question in [
            "How many notes are in an octave?",
            "How many cards are in a deck?",
            "What did I save for the trip to Kyoto?",
            "Which vector databases did I save?",
            "What did I write about coffee in May?",
            "How many pages does the manual have?",
            "Сколько страниц в «Войне и мире»?",
            "Что нужно для борща?",
            "Сколько варить свёклу?",
            "トランプのカードは何枚ありますか",
            "What?",
            "何？",
            "notes",
        ] {
            assert_eq!(read(question), None, "{question}");
        }
    }
}
