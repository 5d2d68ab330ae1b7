//! A saved post or link, with its summary, tags, category, sentiment and action.

mod address;
pub mod links;

pub use address::{domain, same_address};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::{
    Error, Result, Timestamp,
    query::{Action, Sentiment, words},
};

words!(
    /// Who decided: our own rules, a language model, or the person. The person always wins.
    By, "source", { Rule = "rule", Model = "model", User = "user" }
);

/// A value that somebody or something decided on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Judged<T> {
    /// The decision.
    pub value: T,
    /// 0 to 1.
    pub confidence: f32,
    /// Who decided.
    pub source: By,
}

impl<T> Judged<T> {
    /// The person's own decision: certain.
    pub fn by_user(value: T) -> Self {
        Self { value, confidence: 1.0, source: By::User }
    }

    /// A rule's decision. `confidence` is clamped to 0 to 1.
    pub fn by_rule(value: T, confidence: f32) -> Self {
        Self { value, confidence: confidence.clamp(0.0, 1.0), source: By::Rule }
    }
}

/// One bookmark. It is kept, exported and imported as JSON in these words.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Bookmark {
    /// The post's own number (`tweetId`), the id an export gave, or one made of the address.
    pub id: String,
    /// As it was saved; empty for a text without a link.
    #[serde(default)]
    pub url: String,
    /// The account's handle, without the `@`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
    /// The author's display name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author_name: Option<String>,
    /// The page title; empty for a post.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// The post, or the description that was saved with a link.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// Two letters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lang: Option<String>,
    /// When it was saved if the export says so, when it was posted otherwise.
    pub date: Timestamp,
    /// Hashtags, folders and tags that came with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    /// Web addresses in the text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<String>,
    /// Likes, reposts, points, comments… as the export counted them.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub engagement: Map<String, Value>,
    /// One sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<Judged<String>>,
    /// Lower-case topics.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tags: Option<Judged<Vec<String>>>,
    /// A name of the taxonomy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub category: Option<Judged<String>>,
    /// How the text speaks of its subject.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sentiment: Option<Judged<Sentiment>>,
    /// What the person probably wants to do with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<Judged<Action>>,
    /// Fields of the export that we do not know.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub extra: Map<String, Value>,
}

/// Whether an id was made of an address or a text.
pub fn is_made_id(id: &str) -> bool {
    id.len() == MADE.len() + 16 && id.starts_with(MADE)
}

impl Bookmark {
    /// A bookmark with an identity and nothing else. One without an id of its own is known by its
    /// address, or by its text when it has none.
    pub fn new(id: Option<&str>, url: &str, text: &str, date: Timestamp) -> Result<Self> {
        let id = match id.map(str::trim).filter(|id| !id.is_empty()) {
            Some(id) => id.to_owned(),
            None if !url.trim().is_empty() => made_id(&same_address(url)),
            None if !text.trim().is_empty() => made_id(text.trim()),
            None => {
                return Err(Error::invalid_params(
                    "a bookmark needs an id, a url or a text; this one has none",
                ));
            }
        };
        Ok(Self {
            id,
            url: url.trim().to_owned(),
            author: None,
            author_name: None,
            title: String::new(),
            text: text.to_owned(),
            lang: None,
            date,
            labels: Vec::new(),
            links: Vec::new(),
            engagement: Map::new(),
            summary: None,
            tags: None,
            category: None,
            sentiment: None,
            action: None,
            extra: Map::new(),
        })
    }

    /// Whether the id was made of the address: another export may know the real one.
    pub fn has_made_id(&self) -> bool {
        is_made_id(&self.id)
    }

    /// What it is called in a list: its title, or the beginning of its text.
    pub fn name(&self) -> String {
        const MAX_NAME_CHARS: usize = 80;
        let line = |text: &str| {
            text.lines().map(str::trim).find(|line| !line.is_empty()).map(str::to_owned)
        };
        let Some(name) = line(&self.title).or_else(|| line(&self.text)) else {
            return if self.url.is_empty() { self.id.clone() } else { self.url.clone() };
        };
        match name.char_indices().nth(MAX_NAME_CHARS) {
            None => name,
            Some((at, _)) => {
                let cut = name[..at].rfind(' ').filter(|cut| *cut > at / 2).unwrap_or(at);
                format!("{}…", name[..cut].trim_end())
            }
        }
    }

    /// Everything it says, for judging and searching.
    pub fn words(&self) -> String {
        match (self.title.trim().is_empty(), self.text.trim().is_empty()) {
            (true, _) => self.text.clone(),
            (false, true) => self.title.clone(),
            (false, false) => format!("{}\n\n{}", self.title, self.text),
        }
    }

    /// How much others cared, over all that was counted.
    pub fn engaged(&self) -> u64 {
        self.engagement
            .iter()
            // A rank counts the other way round.
            .filter(|(name, _)| !name.contains("rank"))
            .filter_map(|(_, count)| count.as_u64())
            .sum()
    }

    /// Takes over what a newer copy says, except what the person decided here. `false` when there
    /// was nothing new.
    pub fn take(&mut self, newer: &Bookmark) -> bool {
        let before = self.clone();
        // Exports cut texts short, each in its own way: the longest is the whole one, in whatever
        // order they come.
        for (mine, other) in [(&mut self.title, &newer.title), (&mut self.text, &newer.text)] {
            if other.chars().count() > mine.chars().count() {
                mine.clone_from(other);
            }
        }
        if !newer.url.is_empty() && same_address(&self.url) != same_address(&newer.url) {
            self.url.clone_from(&newer.url);
        }
        for (mine, other) in [
            (&mut self.author, &newer.author),
            (&mut self.author_name, &newer.author_name),
            (&mut self.lang, &newer.lang),
        ] {
            if other.is_some() {
                mine.clone_from(other);
            }
        }
        for (mine, other) in [(&mut self.labels, &newer.labels), (&mut self.links, &newer.links)] {
            for value in other {
                if !mine.contains(value) {
                    mine.push(value.clone());
                }
            }
        }
        for (mine, other) in
            [(&mut self.engagement, &newer.engagement), (&mut self.extra, &newer.extra)]
        {
            for (name, value) in other {
                mine.insert(name.clone(), value.clone());
            }
        }
        judge(&mut self.summary, &newer.summary);
        judge(&mut self.tags, &newer.tags);
        judge(&mut self.category, &newer.category);
        judge(&mut self.sentiment, &newer.sentiment);
        judge(&mut self.action, &newer.action);
        *self != before
    }
}

/// A later judgement replaces an earlier one of the same or a lesser judge.
fn judge<T: Clone>(mine: &mut Option<Judged<T>>, other: &Option<Judged<T>>) {
    let Some(other) = other else { return };
    let rank = |by: By| By::ALL.iter().position(|known| *known == by);
    if mine.as_ref().is_none_or(|mine| rank(other.source) >= rank(mine.source)) {
        *mine = Some(other.clone());
    }
}

const MADE: &str = "bm_";

fn made_id(text: &str) -> String {
    let digest = Sha256::digest(text);
    let hex: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    format!("{MADE}{hex}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bookmark(text: &str) -> Bookmark {
        Bookmark::new(None, "https://example.org/a", text, Timestamp(0)).unwrap()
    }

    #[test]
    fn the_same_address_is_the_same_bookmark() {
        let one =
            Bookmark::new(None, "http://www.Example.org/a/?utm_source=x#top", "", Timestamp(1));
        assert_eq!(one.unwrap().id, bookmark("other").id);
        assert!(bookmark("").has_made_id());
        assert!(!Bookmark::new(Some("123"), "", "", Timestamp(0)).unwrap().has_made_id());
        assert!(Bookmark::new(None, " ", "", Timestamp(0)).is_err());
    }

    #[test]
    fn what_the_person_decided_stays() {
        let mut mine = bookmark("text");
        mine.category = Some(Judged::by_user("Garden".to_owned()));
        mine.action = Some(Judged::by_rule(Action::Share, 0.4));
        let mut newer = bookmark("text");
        newer.category = Some(Judged::by_rule("AI-Tools".to_owned(), 0.9));
        newer.action = Some(Judged::by_rule(Action::Archive, 0.6));
        newer.extra.insert("views".into(), 7.into());
        assert!(mine.take(&newer));
        assert_eq!(mine.category.as_ref().unwrap().value, "Garden");
        assert_eq!(mine.action.as_ref().unwrap().value, Action::Archive);
        assert_eq!(mine.extra["views"], 7);
        assert!(!mine.take(&newer), "a second time changes nothing");
    }

    #[test]
    fn it_reads_back_from_its_json() {
        let mut one = bookmark("текст 文章");
        one.tags = Some(Judged::by_rule(vec!["rust".into()], 0.5));
        let json = serde_json::to_string(&one).unwrap();
        assert_eq!(serde_json::from_str::<Bookmark>(&json).unwrap(), one);
    }

    #[test]
    fn a_long_text_is_named_by_its_beginning() {
        let name = bookmark(&"длинное предложение ".repeat(20)).name();
        assert!(name.ends_with('…') && name.chars().count() <= 81, "{name}");
        assert_eq!(bookmark("").name(), "https://example.org/a");
    }
}
