//! Where a bookmark leads: its own address, the links that came with it, and those in its text.

use url::Url;

use super::{
    project::{Project, project},
    reading::{MAX_CHARACTERS, first},
};
use crate::domain::{
    Bookmark,
    bookmark::{domain, links::addresses, same_address},
};

/// Links of one bookmark that are read.
const MAX_LINKS: usize = 8;

/// What a link leads to, by its address alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Target {
    /// A repository or a package.
    Project(Project),
    /// The front page of a site: a product, more often than not.
    Home,
    /// Documentation, an encyclopedia, a question with its answers.
    Reference,
    /// A paper or a PDF.
    Paper,
    /// A recording.
    Video,
    /// A post or a discussion.
    Thread,
    /// A picture or a clip that belongs to the post itself.
    Media,
    /// A shortened address says nothing about where it leads.
    Short,
    Article,
}

#[derive(Debug, Clone)]
pub(super) struct Link {
    pub(super) host: String,
    pub(super) target: Target,
}

const REFERENCE_SITES: &[&str] = &[
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
const REFERENCE_PATHS: &[&str] =
    &["://docs.", "/docs/", "/documentation/", "/reference/", "/wiki/", "/manual/"];
const PAPER_SITES: &[&str] =
    &["arxiv.org", "acm.org", "biorxiv.org", "medrxiv.org", "semanticscholar.org", "doi.org"];
const VIDEO_SITES: &[&str] =
    &["youtube.com", "youtu.be", "vimeo.com", "rutube.ru", "nicovideo.jp", "twitch.tv"];
const MEDIA_SITES: &[&str] = &["twimg.com", "pic.twitter.com", "media.tumblr.com", "i.redd.it"];
const THREAD_SITES: &[&str] =
    &["news.ycombinator.com", "reddit.com", "lobste.rs", "threads.net", "t.me", "bsky.app"];
const SHORT_SITES: &[&str] =
    &["t.co", "bit.ly", "trib.al", "buff.ly", "ow.ly", "tinyurl.com", "goo.gl", "is.gd", "clck.ru"];

/// The links of a bookmark, each address once, its own first.
pub(super) fn links(bookmark: &Bookmark) -> Vec<Link> {
    let text = first(&bookmark.text, MAX_CHARACTERS);
    let in_text = addresses(text).into_iter().map(|at| &text[at]);
    let known = std::iter::once(&bookmark.url).chain(&bookmark.links).map(String::as_str);
    let mut seen = Vec::new();
    let mut links = Vec::new();
    for address in known.chain(in_text).filter(|address| !address.is_empty()) {
        let same = same_address(address);
        if links.len() == MAX_LINKS || seen.contains(&same) {
            continue;
        }
        if let Some(host) = domain(address) {
            links.push(Link { target: target(address, &same, &host), host });
        }
        seen.push(same);
    }
    links
}

/// The projects among the links of a bookmark.
pub fn linked_projects(bookmark: &Bookmark) -> impl Iterator<Item = Project> {
    links(bookmark).into_iter().filter_map(|link| match link.target {
        Target::Project(project) => Some(project),
        _ => None,
    })
}

fn target(address: &str, same: &str, host: &str) -> Target {
    if let Some(project) = project(address) {
        return Target::Project(project);
    }
    let site = |list: &[&str]| list.iter().any(|known| belongs(host, known));
    let lower = address.to_lowercase();
    let path = |parts: &[&str]| parts.iter().any(|part| lower.contains(part));
    if site(MEDIA_SITES) {
        Target::Media
    } else if site(SHORT_SITES) {
        Target::Short
    } else if same.starts_with("x.com/i/status/") || site(THREAD_SITES) {
        Target::Thread
    } else if site(REFERENCE_SITES) || path(REFERENCE_PATHS) {
        Target::Reference
    } else if site(PAPER_SITES) || path(&[".pdf"]) {
        Target::Paper
    } else if site(VIDEO_SITES) {
        Target::Video
    } else if is_home(address) {
        Target::Home
    } else {
        Target::Article
    }
}

fn is_home(address: &str) -> bool {
    Url::parse(address).is_ok_and(|url| {
        let path = url.path().trim_matches('/');
        url.query().is_none() && (path.is_empty() || matches!(path, "index.html" | "en" | "home"))
    })
}

/// Whether a host is a site or a part of it.
pub(super) fn belongs(host: &str, site: &str) -> bool {
    host.strip_suffix(site).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Timestamp;

    fn of(url: &str, text: &str) -> Vec<Target> {
        let bookmark = Bookmark::new(Some("1"), url, text, Timestamp(0)).unwrap();
        links(&bookmark).into_iter().map(|link| link.target).collect()
    }

    #[test]
    fn what_an_address_leads_to() {
        for (url, expected) in [
            ("https://x.com/a/status/1", Target::Thread),
            ("https://news.ycombinator.com/item?id=1", Target::Thread),
            ("https://penpot.app", Target::Home),
            ("https://example.org/en/", Target::Home),
            ("https://example.org/?page=1", Target::Article),
            ("http://pbs.twimg.com/media/x.jpg", Target::Media),
            ("https://t.co/x", Target::Short),
            ("https://ja.wikipedia.org/wiki/Rust", Target::Reference),
            ("https://docs.example.org/x", Target::Reference),
            ("https://arxiv.org/abs/1706.03762", Target::Paper),
            ("https://example.org/a.PDF", Target::Paper),
            ("https://www.youtube.com/watch?v=1", Target::Video),
            ("https://example.org/story", Target::Article),
        ] {
            assert_eq!(of(url, ""), [expected], "{url}");
        }
        assert!(matches!(of("https://github.com/a/b", "")[..], [Target::Project(_)]));
    }

    #[test]
    fn links_in_the_text_count_in_three_languages() {
        for text in [
            "A wonderful editor https://penpot.app, try it",
            "Отличный редактор: https://penpot.app",
            "素晴らしいエディタです https://penpot.app。",
        ] {
            assert_eq!(
                of("https://x.com/a/status/1", text),
                [Target::Thread, Target::Home],
                "{text}"
            );
        }
        let twice = "https://example.org/a https://www.example.org/a/";
        assert_eq!(of("https://example.org/a", twice).len(), 1);
    }
}
