//! The example vault and bookmarks, carried in the binary so that the demo needs nothing.

use std::path::Path;

use super::App;
use crate::{
    domain::{Error, Result, Silent, Timestamp, error::Doing},
    store::revisions::Actor,
};

/// Path and text of each example page.
pub const PAGES: &[(&str, &str)] = &[
    ("Home.md", include_str!("../../examples/vault/Home.md")),
    ("_private/Journal.md", include_str!("../../examples/vault/_private/Journal.md")),
    ("books/Walden.md", include_str!("../../examples/vault/books/Walden.md")),
    ("coffee/Coffee beans.md", include_str!("../../examples/vault/coffee/Coffee beans.md")),
    ("coffee/Coffee brewing.md", include_str!("../../examples/vault/coffee/Coffee brewing.md")),
    ("coffee/Tea notes.md", include_str!("../../examples/vault/coffee/Tea notes.md")),
    ("dev/Rust error handling.md", include_str!("../../examples/vault/dev/Rust error handling.md")),
    ("garden/Garden log.md", include_str!("../../examples/vault/garden/Garden log.md")),
    (
        "guides/Home backup guide.md",
        include_str!("../../examples/vault/guides/Home backup guide.md"),
    ),
    (
        "meetings/2025-03-14 Search review.md",
        include_str!("../../examples/vault/meetings/2025-03-14 Search review.md"),
    ),
    ("methods/Code review.md", include_str!("../../examples/vault/methods/Code review.md")),
    ("methods/Weekly plan.md", include_str!("../../examples/vault/methods/Weekly plan.md")),
    ("recipes/Lentil soup.md", include_str!("../../examples/vault/recipes/Lentil soup.md")),
    ("travel/Lisbon in May.md", include_str!("../../examples/vault/travel/Lisbon in May.md")),
    ("Заметки/Борщ.md", include_str!("../../examples/vault/Заметки/Борщ.md")),
    ("Заметки/Мёртвые души.md", include_str!("../../examples/vault/Заметки/Мёртвые души.md")),
    ("Заметки/Субботний поход.md", include_str!("../../examples/vault/Заметки/Субботний поход.md")),
    ("日本語/京都旅行.md", include_str!("../../examples/vault/日本語/京都旅行.md")),
    ("日本語/坊っちゃん.md", include_str!("../../examples/vault/日本語/坊っちゃん.md")),
    ("日本語/開発メモ.md", include_str!("../../examples/vault/日本語/開発メモ.md")),
];

const BOOKMARKS: &str = include_str!("../../examples/bookmarks.jsonl");

impl App {
    /// Brings the example bookmarks in, as a person would; says how many there are.
    pub fn import_demo_bookmarks(&self, folder: &Path) -> Result<usize> {
        let file = folder.join("bookmarks.jsonl");
        put(&file, BOOKMARKS)?;
        Ok(self.import_bookmarks(&[file], Timestamp::now(), &Silent, &Actor::shell("demo"))?.added)
    }
}

/// Writes one page of the throwaway vault.
pub fn put(path: &Path, text: &str) -> Result<()> {
    let folder = path.parent().ok_or_else(|| Error::internal("a page has a folder"))?;
    std::fs::create_dir_all(folder).doing("make the example vault")?;
    #[expect(clippy::disallowed_methods, reason = "a new file in a throwaway folder")]
    std::fs::write(path, text).doing("write an example page")
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::PAGES;

    #[test]
    fn every_example_page_travels_in_the_binary() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/vault");
        let walk = crate::vault::walk(&folder, &crate::vault::Scope::whole(1 << 20)).unwrap();
        let on_disk: Vec<&str> = walk.files.iter().map(|found| found.path.as_str()).collect();
        let carried: Vec<&str> = PAGES.iter().map(|(path, _)| *path).collect();
        assert_eq!(carried, on_disk);
        assert!(walk.skipped.is_empty(), "{:?}", walk.skipped);
    }
}
