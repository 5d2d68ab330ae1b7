//! What the person who saved it probably wants to do with it, by what it is and where it leads.

use super::reading::{Reading, fold};
use crate::{
    app::bookmarks::project,
    domain::{
        Bookmark,
        bookmark::{Judged, domain, same_address},
        query::Action,
    },
};

/// Characters of a text that takes a while to read.
const LONG: usize = 1500;

/// Sites where things are looked up.
const LOOKED_UP: &[&str] = &[
    "developer.mozilla.org",
    "stackoverflow.com",
    "stackexchange.com",
    "wikipedia.org",
    "readthedocs.io",
    "docs.rs",
    "man7.org",
    "cppreference.com",
    "w3.org",
    "rfc-editor.org",
    "wiktionary.org",
    "devdocs.io",
    "superuser.com",
    "serverfault.com",
];
/// Sites of papers, long articles and talks.
const READ: &[&str] = &[
    "arxiv.org",
    "medium.com",
    "substack.com",
    "newyorker.com",
    "theatlantic.com",
    "youtube.com",
    "youtu.be",
    "vimeo.com",
    "nature.com",
    "acm.org",
    "quantamagazine.org",
    "longreads.com",
    "habr.com",
    "note.com",
    "biorxiv.org",
    "semanticscholar.org",
    "aeon.co",
];

const REFERENCE: &[&str] = &[
    "cheat sheet",
    "cheatsheet",
    "reference",
    "documentation",
    "handbook",
    "specification",
    "glossary",
    "awesome list",
    "list of",
    "faq",
    "style guide",
    "manual",
    "api docs",
    "how to",
    "howto",
    "tutorial",
    "справочник",
    "шпаргалка",
    "документация",
    "руководство",
    "глоссарий",
    "спецификация",
    "инструкция",
    "список",
    "как настроить",
    "как сделать",
    "リファレンス",
    "チートシート",
    "ドキュメント",
    "まとめ",
    "仕様",
    "用語集",
    "手順",
    "使い方",
    "入門",
];
const TOOL: &[&str] = &[
    "show hn",
    "launch hn",
    "open source tool",
    "open-source",
    "command-line tool",
    "cli tool",
    "npm install",
    "pip install",
    "cargo install",
    "brew install",
    "browser extension",
    "self-hosted",
    "playground",
    "demo",
    "try it",
    "free tool",
    "app for",
    "library for",
    "plugin",
    "framework for",
    "инструмент",
    "утилита",
    "расширение",
    "плагин",
    "попробуйте",
    "библиотека для",
    "ツール",
    "プラグイン",
    "拡張機能",
    "試してみ",
    "ライブラリ",
    "アプリを作",
];
const ANNOUNCED: &[&str] = &[
    "announcing",
    "announce",
    "introducing",
    "released",
    "release",
    "launches",
    "launched",
    "now available",
    "is out",
    "join us",
    "tune in",
    "happening now",
    "breaking",
    "congratulations",
    "вышел",
    "вышла",
    "вышло",
    "релиз",
    "анонс",
    "представляем",
    "выпустила",
    "выпустили",
    "поздравляем",
    "リリース",
    "発表",
    "公開しました",
    "お知らせ",
    "登場",
];

pub(super) fn judge(bookmark: &Bookmark, reading: &Reading) -> Judged<Action> {
    let text = fold(&reading.body[..reading.body.len().min(floor(&reading.body, 2000))]);
    let says = |list: &[&str]| list.iter().any(|word| contains(&text, word));
    let post = same_address(&bookmark.url).starts_with("x.com/i/status/");
    let links = || std::iter::once(&bookmark.url).chain(&bookmark.links).take(8);
    let site = |list: &[&str]| {
        links().filter_map(|address| domain(address)).any(|host| {
            list.iter().any(|known| {
                host.strip_suffix(known).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
            })
        })
    };
    let path = |parts: &[&str]| {
        links().any(|address| parts.iter().any(|part| address.to_lowercase().contains(part)))
    };
    // The prefix that `Reading` leaves out.
    let shown = ["Show HN", "Launch HN"].iter().any(|prefix| bookmark.title.starts_with(prefix));

    let (action, sure) = if links().any(|address| project(address).is_some()) {
        (Action::TryTool, 0.8)
    } else if shown {
        (Action::TryTool, 0.75)
    } else if site(LOOKED_UP)
        || path(&["://docs.", "/docs/", "/documentation/", "/reference/", "/wiki/", "/manual/"])
    {
        (Action::Reference, 0.75)
    } else if bookmark.title.ends_with("[pdf]") || path(&[".pdf", "doi.org/"]) || site(READ) {
        (Action::ReadLater, 0.75)
    } else if says(REFERENCE) {
        (Action::Reference, 0.6)
    } else if reading.body.len() - reading.title > LONG {
        (Action::ReadLater, 0.7)
    } else if says(TOOL) {
        (Action::TryTool, 0.55)
    } else if says(ANNOUNCED) {
        (Action::Share, 0.5)
    } else if !post && !bookmark.url.is_empty() {
        // A page that was kept was kept to be read.
        (Action::ReadLater, 0.5)
    } else if !bookmark.links.is_empty() {
        (Action::ReadLater, 0.4)
    } else {
        (Action::Archive, 0.45)
    };
    Judged::by_rule(action, sure)
}

/// A word of a spaced script must not be the end or the beginning of another.
fn contains(text: &str, word: &str) -> bool {
    let spaced = word.chars().all(|c| !crate::text::script::of(c).is_japanese());
    text.match_indices(word).any(|(at, found)| {
        let before = text[..at].chars().next_back().is_some_and(char::is_alphanumeric);
        let after = text[at + found.len()..].chars().next().is_some_and(char::is_alphanumeric);
        // Russian words end as they please.
        let cyrillic = word.chars().next().is_some_and(|c| ('а'..='я').contains(&c));
        !spaced || (!before && (!after || cyrillic))
    })
}

fn floor(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Timestamp;

    fn of(url: &str, title: &str, text: &str) -> Action {
        let mut bookmark = Bookmark::new(Some("1"), url, text, Timestamp(0)).unwrap();
        bookmark.title = title.to_owned();
        judge(&bookmark, &Reading::of(&bookmark)).value
    }

    #[test]
    fn by_where_it_leads() {
        for (url, expected) in [
            ("https://github.com/owner/repo", Action::TryTool),
            ("https://crates.io/crates/serde", Action::TryTool),
            ("https://arxiv.org/abs/1706.03762", Action::ReadLater),
            ("https://ja.wikipedia.org/wiki/Rust", Action::Reference),
            ("https://docs.example.org/x", Action::Reference),
            ("https://example.org/paper.pdf", Action::ReadLater),
            ("https://example.org/story", Action::ReadLater),
        ] {
            assert_eq!(of(url, "", ""), expected, "{url}");
        }
    }

    #[test]
    fn by_what_it_says_in_three_languages() {
        let post = "https://x.com/a/status/1";
        for (text, expected) in [
            ("A cheat sheet for git", Action::Reference),
            ("Шпаргалка по git", Action::Reference),
            ("gitのチートシート", Action::Reference),
            ("A free tool that draws maps", Action::TryTool),
            ("Полезная утилита для карт", Action::TryTool),
            ("地図を描くツール", Action::TryTool),
            ("Version 2 is out", Action::Share),
            ("Вышла вторая версия", Action::Share),
            ("第二版をリリース", Action::Share),
            ("I think so too", Action::Archive),
            ("Я тоже так думаю", Action::Archive),
            ("私もそう思う", Action::Archive),
        ] {
            assert_eq!(of(post, "", text), expected, "{text}");
        }
        assert_eq!(of("https://example.org", "Show HN: My thing", ""), Action::TryTool);
        assert_eq!(of(post, "", &"Длинный текст о разном. ".repeat(100)), Action::ReadLater);
    }
}
