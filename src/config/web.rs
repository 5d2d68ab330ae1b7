//! `[web]`: pages for people.

use serde::{Deserialize, Serialize};

/// `[web]`: how the pages present themselves to the public.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Web {
    /// The name of the site, in the titles of its front page and its feed.
    pub title: String,
    /// Whether search engines may list the free pages. Other pages are never listed.
    pub robots: bool,
}

impl Default for Web {
    fn default() -> Self {
        Self { title: "Notewell".into(), robots: true }
    }
}
