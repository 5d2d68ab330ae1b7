//! What the person who saved it probably wants to do with it, by what it is and where it leads.

use super::{
    links::{Link, Target},
    purpose::{Purpose, Purposes},
    reading::Reading,
};
use crate::domain::{Bookmark, bookmark::Judged, query::Action};

/// Bytes of a text that takes a while to read.
const LONG_TEXT: usize = 1500;

/// Titles of Hacker News that present something to use.
const SHOWN: [&str; 2] = ["Show HN", "Launch HN"];

/// Why a rule decides on an action, the strongest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reason {
    Project,
    Shown,
    ReferencePage,
    Paper,
    ReferenceWords,
    LongText,
    ToolWords,
    Home,
    Article,
    Announcement,
    SavedPage,
    SharedLink,
    Post,
}

impl Reason {
    pub(super) const ALL: [Self; 13] = [
        Self::Project,
        Self::Shown,
        Self::ReferencePage,
        Self::Paper,
        Self::ReferenceWords,
        Self::LongText,
        Self::ToolWords,
        Self::Home,
        Self::Article,
        Self::Announcement,
        Self::SavedPage,
        Self::SharedLink,
        Self::Post,
    ];

    pub(super) fn of(
        bookmark: &Bookmark,
        reading: &Reading,
        links: &[Link],
        purposes: &Purposes,
    ) -> Self {
        let leads = |wanted: fn(&Target) -> bool| links.iter().any(|link| wanted(&link.target));
        let post = matches!(links.first(), None | Some(Link { target: Target::Thread, .. }));
        if leads(|target| matches!(target, Target::Project(_))) {
            Self::Project
        } else if SHOWN.iter().any(|prefix| bookmark.title.starts_with(prefix)) {
            Self::Shown
        } else if leads(|target| *target == Target::Reference) {
            Self::ReferencePage
        } else if bookmark.title.ends_with("[pdf]")
            || leads(|target| matches!(target, Target::Paper | Target::Video))
        {
            Self::Paper
        } else if purposes.has(Purpose::Reference) {
            Self::ReferenceWords
        } else if reading.body.len() - reading.title > LONG_TEXT {
            Self::LongText
        } else if leads(|target| *target == Target::Home) {
            Self::Home
        } else if purposes.has(Purpose::Tool) {
            Self::ToolWords
        } else if post && leads(|target| *target == Target::Article) {
            Self::Article
        } else if purposes.has(Purpose::Announcement) {
            Self::Announcement
        } else if !post {
            Self::SavedPage
        } else if leads(|target| *target == Target::Short) {
            Self::SharedLink
        } else {
            Self::Post
        }
    }

    /// The action, and the share of labelled bookmarks for which it is right.
    pub(super) fn verdict(self) -> Judged<Action> {
        let (action, sure) = match self {
            Self::Project => (Action::TryTool, 0.95),
            Self::Shown => (Action::TryTool, 0.95),
            Self::ReferencePage => (Action::Reference, 0.8),
            Self::Paper => (Action::ReadLater, 0.95),
            Self::ReferenceWords => (Action::Reference, 0.7),
            Self::LongText => (Action::ReadLater, 0.7),
            Self::ToolWords => (Action::TryTool, 0.55),
            Self::Home => (Action::TryTool, 0.75),
            Self::Article => (Action::ReadLater, 0.85),
            Self::Announcement => (Action::Share, 0.5),
            // A page that was kept was kept to be read.
            Self::SavedPage => (Action::ReadLater, 0.85),
            Self::SharedLink => (Action::ReadLater, 0.7),
            Self::Post => (Action::Archive, 0.75),
        };
        Judged::by_rule(action, sure)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{domain::Timestamp, enrich::links::links};

    fn of(url: &str, title: &str, text: &str) -> Action {
        let mut bookmark = Bookmark::new(Some("1"), url, text, Timestamp(0)).unwrap();
        bookmark.title = title.to_owned();
        let reading = Reading::of(&bookmark);
        let purposes = Purposes::of(&reading);
        Reason::of(&bookmark, &reading, &links(&bookmark), &purposes).verdict().value
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
            ("https://jellyfin.org/", Action::TryTool),
        ] {
            assert_eq!(of(url, "", ""), expected, "{url}");
        }
    }

    #[test]
    fn pictures_of_a_post_are_nothing_to_read() {
        let text = "I think so too http://pbs.twimg.com/media/x.jpg";
        assert_eq!(of("https://x.com/a/status/1", "", text), Action::Archive);
    }

    #[test]
    fn by_its_words_in_three_languages() {
        let post = "https://x.com/a/status/1";
        for (text, expected) in [
            ("A cheat sheet for git", Action::Reference),
            ("Шпаргалка по git", Action::Reference),
            ("gitのチートシート", Action::Reference),
            ("A free tool that draws maps", Action::TryTool),
            ("Полезная утилита для карт", Action::TryTool),
            ("地図を描くツール", Action::TryTool),
            ("Drawing maps https://maps.example", Action::TryTool),
            ("Рисует карты https://maps.example", Action::TryTool),
            ("地図を描く https://maps.example", Action::TryTool),
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
