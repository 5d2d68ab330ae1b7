//! From a bookmark to what the store files: what was made of it, its topics, the project it leads to.

use super::project;
use crate::{
    app::App,
    domain::{Bookmark, Result},
    store::bookmarks::Filed,
};

impl App {
    /// Judges bookmarks and says what each is filed under.
    pub(super) fn judge(&self, bookmarks: Vec<Bookmark>) -> Result<Vec<Filed>> {
        Ok(bookmarks.into_iter().map(file).collect())
    }
}

fn file(bookmark: Bookmark) -> Filed {
    let linked = std::iter::once(&bookmark.url).chain(&bookmark.links);
    let tool = linked.into_iter().find_map(|address| project(address)).map(|project| project.name);
    Filed { topics: Vec::new(), tool, bookmark }
}
