//! What the trained weights see of a bookmark beside its vector: named numbers, most of them 0 or 1.
//!
//! The names go into the file of weights, so that weights and code that differ are noticed.

use super::{
    action::Reason,
    links::{Link, Target},
    purpose::{Purpose, Purposes},
    reading::{Case, Reading},
    sentiment::Tone,
};
use crate::domain::Bookmark;

/// Most that a count of words adds.
const MAX_TONE: f32 = 3.0;

/// The features of one bookmark, by name, always in the same order.
pub(super) struct Features(pub(super) Vec<(String, f32)>);

/// Everything the rules found out about a bookmark.
pub(super) struct Signals<'a> {
    pub(super) bookmark: &'a Bookmark,
    pub(super) reading: &'a Reading,
    pub(super) links: &'a [Link],
    pub(super) purposes: &'a Purposes,
    pub(super) tone: Tone,
    pub(super) reason: Reason,
}

impl Features {
    pub(super) fn of(signals: &Signals<'_>) -> Self {
        let mut features = Self(Vec::with_capacity(64));
        features.add_links(signals);
        features.add_words(signals);
        features.add_form(signals);
        features
    }

    pub(super) fn values(&self) -> impl Iterator<Item = f32> {
        self.0.iter().map(|(_, value)| *value)
    }

    fn push(&mut self, name: impl Into<String>, value: f32) {
        self.0.push((name.into(), value));
    }

    fn flag(&mut self, name: impl Into<String>, holds: bool) {
        self.push(name, f32::from(u8::from(holds)));
    }

    fn add_links(&mut self, signals: &Signals<'_>) {
        for reason in Reason::ALL {
            self.flag(format!("reason {reason:?}"), signals.reason == reason);
        }
        let leads = |wanted: fn(&Target) -> bool| signals.links.iter().any(|l| wanted(&l.target));
        self.flag("link home", leads(|target| *target == Target::Home));
        self.flag("link article", leads(|target| *target == Target::Article));
        self.flag("link video", leads(|target| *target == Target::Video));
        self.flag("link thread", leads(|target| *target == Target::Thread));
        self.flag("link media", leads(|target| *target == Target::Media));
        self.flag("link short", leads(|target| *target == Target::Short));
        let outside = |link: &&Link| !matches!(link.target, Target::Thread | Target::Media);
        self.flag("link none", signals.links.iter().find(outside).is_none());
    }

    fn add_words(&mut self, signals: &Signals<'_>) {
        for purpose in Purpose::ALL {
            self.flag(format!("purpose {purpose:?}"), signals.purposes.has(purpose));
        }
        let Tone { good, bad, .. } = signals.tone;
        self.push("tone good", good.min(MAX_TONE));
        self.push("tone bad", bad.min(MAX_TONE));
        self.flag("tone positive", good > bad);
        self.flag("tone negative", bad > good);
        self.flag("tone none", good + bad == 0.0);
    }

    fn add_form(&mut self, signals: &Signals<'_>) {
        let Signals { bookmark, reading, .. } = signals;
        let body = &reading.body;
        let lang = bookmark.lang.as_deref();
        let (ru, ja) = (lang == Some("ru"), lang == Some("ja"));
        self.flag("lang ru", ru);
        self.flag("lang ja", ja);
        let titled = !bookmark.title.trim().is_empty();
        self.flag("title only", titled && bookmark.text.trim().is_empty());
        self.flag("text only", !titled);
        let characters = body.chars().count() as f32 * if ja { 2.0 } else { 1.0 };
        self.push("length", ((characters + 1.0).ln() - 4.0) / 2.0);
        self.flag("question", body.contains(['?', '？']));
        self.flag("exclamation", body.contains(['!', '！']));
        self.flag("quotation", body.contains(['"', '“', '«', '「', '『']));
        self.flag("ellipsis", body.contains('…') || body.contains("..."));
        self.flag("hashtag", reading.words.iter().any(|word| word.hashtag));
        self.flag("mention", reading.words.iter().any(|word| word.mention));
        self.flag("repost", body.starts_with("RT "));
        self.flag("digits", body.contains(|c: char| c.is_ascii_digit()));
        self.flag("year", body.trim_end().ends_with(')') && ends_with_year(body));
        let sentences = body.matches(['.', '!', '?', '。', '！', '？']).count();
        self.flag("several sentences", sentences > 1);
        let latin = |form: &str| form.chars().any(|c| c.is_ascii_alphabetic());
        let named = |case| matches!(case, Case::Mixed | Case::Capital | Case::Upper);
        let foreign = reading.words.iter().any(|word| latin(&word.form) && named(word.case));
        self.flag("foreign name", (ru || ja) && foreign);
        self.flag("invented name", reading.words.iter().any(|word| word.case == Case::Mixed));
        self.flag("ask hn", bookmark.title.starts_with("Ask HN"));
    }
}

/// `(2018)` at the end of a title.
fn ends_with_year(body: &str) -> bool {
    let inside = body.trim_end().trim_end_matches(')').rsplit('(').next().unwrap_or_default();
    inside.len() == 4 && inside.bytes().all(|b| b.is_ascii_digit())
}
