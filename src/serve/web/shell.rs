//! What every page shows around its own content.

use super::assets;

/// A link of the navigation.
#[derive(Debug, Clone)]
pub struct Entry {
    /// Where it leads.
    pub href: &'static str,
    /// What it says.
    pub name: &'static str,
    /// Whether it is the page that is shown.
    pub current: bool,
}

/// The frame of a page: `base.html` shows it around the page's own blocks.
#[derive(Debug, Clone)]
pub struct Shell {
    /// The language of the page's text.
    pub lang: String,
    /// The name of the site.
    pub site: String,
    /// `light` or `dark` where the person chose; empty: as the system has it.
    pub theme: &'static str,
    /// Whether the search box is shown.
    pub search: bool,
    /// What the search box says.
    pub query: String,
    /// Whether the search box has the focus when the page opens.
    pub focus: bool,
    /// Whether this is the front page, where results take the place of the page as one types.
    pub is_front: bool,
    /// Whether questions can be answered here.
    pub may_ask: bool,
    /// Filters that a new search keeps.
    pub carried: Vec<(&'static str, String)>,
    /// Whether the caller is the owner.
    pub is_owner: bool,
    /// The address of this page, to come back to.
    pub here: String,
    /// The main navigation.
    pub nav: Vec<Entry>,
    /// The links of the person's menu.
    pub menu: Vec<Entry>,
    /// What the menu is called: the person's name, or `Menu`.
    pub viewer: String,
    /// Whether there is a session to end.
    pub signed_in: bool,
}

impl Shell {
    /// The address of a file such as `style.css`.
    pub fn asset(&self, name: &str) -> String {
        assets::address(name)
    }
}
