//! The tool that a bookmark is about: the project it links to, a product whose front page it links
//! to and names, or a name it recommends.

use super::{
    links::{Target, links},
    reading::{Case, Reading, Word},
};
use crate::domain::{Bookmark, query::Action};

/// How sure the action must be for a name without a link.
const MIN_CONFIDENCE: f32 = 0.5;
/// Characters of a name.
const MAX_NAME: usize = 40;

/// The name of the tool; `None` where the bookmark is about something else.
pub fn tool_name(bookmark: &Bookmark) -> Option<String> {
    let links = links(bookmark);
    let project = links.iter().find_map(|link| match &link.target {
        Target::Project(project) => Some(project.name.clone()),
        _ => None,
    });
    if project.is_some() {
        return project;
    }
    let presented = presented(&bookmark.title);
    if presented.is_some() {
        return presented;
    }
    let judged = bookmark.action.as_ref()?;
    if judged.value != Action::TryTool || judged.confidence < MIN_CONFIDENCE {
        return None;
    }
    let reading = Reading::of(bookmark);
    let homes = links.iter().filter(|link| link.target == Target::Home);
    let linked = homes.filter_map(|link| named_by_host(&reading, &link.host)).next();
    linked.or_else(|| foreign_name(&reading)).or_else(|| titled(&bookmark.title))
}

/// `Show HN: Name – what it is`.
fn presented(title: &str) -> Option<String> {
    let rest = ["Show HN:", "Launch HN:"].iter().find_map(|prefix| title.strip_prefix(prefix))?;
    let end =
        [" – ", " — ", " - ", ": ", ", ", " ("].iter().filter_map(|mark| rest.find(mark)).min();
    short_name(&rest[..end?])
}

/// `Name: what it is`.
fn titled(title: &str) -> Option<String> {
    let end = [": ", " – ", " — ", " - ", ", a "].iter().filter_map(|mark| title.find(mark)).min();
    short_name(&title[..end?])
}

/// A name is one to three words, the first with a capital of its own.
fn short_name(name: &str) -> Option<String> {
    let name = name.trim();
    let words = name.split_whitespace().count();
    let capital = name.chars().next().is_some_and(|c| c.is_uppercase() || c.is_ascii_digit());
    let own = capital || name.chars().any(char::is_uppercase);
    ((1..=3).contains(&words) && own && name.chars().count() <= MAX_NAME).then(|| name.to_owned())
}

/// A word of the text that the site is called by: `Caddy` and `caddyserver.com`.
fn named_by_host(reading: &Reading, host: &str) -> Option<String> {
    let label = host.trim_start_matches("www.").split('.').next()?;
    let mut names = reading.words.iter().flat_map(latin_parts);
    let found = names.find(|name| {
        let name = name.to_lowercase();
        name.len() > 1 && (label == name || name.len() > 3 && label.starts_with(&name))
    });
    found
        .or_else(|| (label.len() > 2 && !label.contains("example")).then_some(label))
        .map(str::to_owned)
}

/// A Latin name in a Russian or Japanese text.
fn foreign_name(reading: &Reading) -> Option<String> {
    let foreign = |word: &Word| word.form.chars().any(|c| c.is_alphabetic() && !c.is_ascii());
    if !reading.words.iter().any(foreign) {
        let invented = |word: &&Word| word.case == Case::Mixed && !word.mention && !word.hashtag;
        return reading.words.iter().find(invented).map(|word| word.form.clone());
    }
    let names = reading.words.iter().filter(|word| !word.mention && !word.hashtag);
    let mut names = names.flat_map(latin_parts);
    names.find(|name| is_product(name)).map(str::to_owned)
}

/// `DuckDB`, `Jellyfin`, `htmx` and `py-spy`, not `CSV` or `CPU`.
fn is_product(name: &str) -> bool {
    let letters = name.chars().filter(char::is_ascii_alphabetic).count();
    letters > 2 && name.chars().any(|c| c.is_ascii_lowercase())
}

/// The stretches of Latin letters in a word; a Japanese run may have one inside.
fn latin_parts(word: &Word) -> impl Iterator<Item = &str> {
    let inside = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_' | '+');
    let parts = word.form.split(move |c: char| !inside(c));
    parts.filter(|part| part.chars().any(|c| c.is_ascii_alphabetic()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Timestamp, bookmark::Judged};

    fn of(url: &str, title: &str, text: &str, action: Action) -> Option<String> {
        let mut bookmark = Bookmark::new(Some("1"), url, text, Timestamp(0)).unwrap();
        bookmark.title = title.to_owned();
        bookmark.action = Some(Judged::by_rule(action, 0.8));
        tool_name(&bookmark)
    }

    #[test]
    fn tools_by_link_and_by_name_in_three_languages() {
        let post = "https://x.com/a/status/1";
        for (url, title, text, name) in [
            ("https://github.com/a/ripgrep", "", "", "ripgrep"),
            (post, "", "Searching with https://github.com/a/ripgrep", "ripgrep"),
            (post, "", "Caddy renews certificates https://caddyserver.com", "Caddy"),
            (post, "", "Caddy сам продлевает сертификаты https://caddyserver.com", "Caddy"),
            (post, "", "Caddyは証明書を更新する https://caddyserver.com", "Caddy"),
            (post, "", "Поставил KeePassXC и доволен", "KeePassXC"),
            (post, "", "両親にBitwardenを入れてもらった", "Bitwarden"),
            (post, "", "I moved to KeePassXC and like it", "KeePassXC"),
            ("https://a.example/x", "Show HN: Gizmo – a thing for things", "", "Gizmo"),
            ("https://a.example/x", "In-toto: A framework for supply chains", "", "In-toto"),
        ] {
            assert_eq!(
                of(url, title, text, Action::TryTool).as_deref(),
                Some(name),
                "{text}{title}"
            );
        }
    }

    #[test]
    fn other_bookmarks_are_about_no_tool() {
        let post = "https://x.com/a/status/1";
        for text in ["KeePassXC и файл в облаке", "Bitwardenの話", "About KeePassXC"]
        {
            assert_eq!(of(post, "", text, Action::ReadLater), None, "{text}");
        }
        assert_eq!(of(post, "", "Файл CSV на CPU", Action::TryTool), None);
        assert_eq!(
            of("https://a.example/x", "Ask HN: What do you use?", "", Action::ReadLater),
            None
        );
    }
}
