//! A bookmark as a page shows it.

use crate::{
    domain::{
        Bookmark, Pid,
        bookmark::{By, Judged},
    },
    serve::web::{age::Age, encode, hits::host},
};

/// Characters of a bookmark's text in a list.
const EXCERPT: usize = 400;

/// A bookmark in a list or alone.
pub struct BookmarkView {
    /// Its page here.
    pub href: String,
    /// What it is called.
    pub name: String,
    /// Where it leads, if that is an address that browsers open.
    pub url: Option<String>,
    /// The site that it leads to.
    pub host: String,
    /// What it says.
    pub text: String,
    /// The beginning of that.
    pub excerpt: String,
    /// The author's handle and the address of their bookmarks.
    pub author: Option<(String, String)>,
    /// When it was saved or posted.
    pub age: Age,
    /// The day.
    pub day: String,
    /// Its category and the address of what else is in it.
    pub category: Option<(String, String)>,
    /// Tags and labels, each with the address of what else has it.
    pub labels: Vec<(String, String)>,
    /// What to do with it.
    pub action: Option<String>,
    /// One sentence.
    pub summary: Option<String>,
    /// What others thought of it: `1200 likes`.
    pub engagement: Vec<String>,
}

impl BookmarkView {
    /// The view of a bookmark.
    pub fn of(pid: Pid, bookmark: &Bookmark) -> Self {
        let narrowed = |filter: &str, value: &str| format!("/bookmarks?{filter}={}", encode(value));
        let mut labels: Vec<String> =
            bookmark.tags.iter().flat_map(|tags| tags.value.clone()).collect();
        for label in &bookmark.labels {
            if !labels.iter().any(|known| known.eq_ignore_ascii_case(label)) {
                labels.push(label.clone());
            }
        }
        let name = bookmark.name();
        // A post goes by its beginning: the list would say it twice.
        let text = bookmark.text.trim();
        let excerpt = match text.strip_prefix(name.trim_end_matches('…')) {
            Some(rest) if bookmark.title.is_empty() && !rest.is_empty() => format!("…{rest}"),
            Some(_) if bookmark.title.is_empty() => String::new(),
            _ => text.to_owned(),
        };
        Self {
            href: format!("/bookmarks/{pid}"),
            url: web_address(&bookmark.url),
            host: host(&bookmark.url),
            excerpt: shortened(&excerpt),
            text: text.to_owned(),
            author: bookmark.author.as_ref().map(|author| {
                let shown = match &bookmark.author_name {
                    Some(name) => format!("{name} @{author}"),
                    None => format!("@{author}"),
                };
                (shown, narrowed("author", author))
            }),
            age: Age::of(bookmark.date),
            day: bookmark.date.date(),
            category: bookmark
                .category
                .as_ref()
                .map(|judged| (judged.value.clone(), narrowed("category", &judged.value))),
            labels: labels
                .into_iter()
                .map(|label| {
                    let href = narrowed("label", &label);
                    (label, href)
                })
                .collect(),
            action: bookmark.action.as_ref().map(|judged| words(judged.value.as_str())),
            summary: bookmark.summary.as_ref().map(|judged| judged.value.clone()),
            engagement: engagement(bookmark),
            name,
        }
    }
}

/// Who decided on a value, in words.
pub fn decided<T>(judged: &Option<Judged<T>>) -> String {
    match judged.as_ref().map(|judged| judged.source) {
        None => String::new(),
        Some(By::Rule) => "decided by a rule".to_owned(),
        Some(By::Model) => "decided by the language model".to_owned(),
        Some(By::User) => "decided by you".to_owned(),
    }
}

/// A word of the wire as people write it: `read_later` is `read later`.
pub fn words(word: &str) -> String {
    word.replace('_', " ")
}

fn engagement(bookmark: &Bookmark) -> Vec<String> {
    let counts = bookmark.engagement.iter();
    let counts = counts.filter_map(|(name, count)| Some((name, count.as_u64()?)));
    counts
        .filter(|(_, count)| *count > 0)
        .map(|(name, count)| format!("{count} {}", words(name)))
        .collect()
}

/// An address that is safe to link: nothing but http and https.
fn web_address(text: &str) -> Option<String> {
    let url = url::Url::parse(text).ok()?;
    matches!(url.scheme(), "http" | "https").then(|| url.to_string())
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(EXCERPT) {
        None => text.to_owned(),
        Some((at, _)) => format!("{}…", text[..at].trim_end()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Timestamp;

    #[test]
    fn only_addresses_of_the_web_are_linked() {
        assert!(web_address("https://example.org/a").is_some());
        for bad in ["javascript:alert(1)", "data:text/html,x", "", "file:///etc/passwd"] {
            assert_eq!(web_address(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_post_is_not_said_twice() {
        let of = |title: &str, text: &str| {
            let mut bookmark = Bookmark::new(Some("1"), "", text, Timestamp(0)).unwrap();
            bookmark.title = title.to_owned();
            BookmarkView::of(Pid(1), &bookmark)
        };
        let short = of("", "Короткий пост");
        assert_eq!((short.name.as_str(), short.excerpt.as_str()), ("Короткий пост", ""));
        let long = of("", &"слово ".repeat(200));
        assert!(long.name.ends_with('…') && long.excerpt.starts_with('…'), "{}", long.excerpt);
        assert!(long.excerpt.chars().count() <= EXCERPT + 1);
        assert_eq!(of("Title", "text").excerpt, "text");
    }
}
