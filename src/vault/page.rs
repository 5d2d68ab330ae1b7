//! A file's text as a page: what the note says of itself, with what its path says.

use crate::{
    domain::{Page, VaultPath},
    markdown::Note,
};

/// Reads a page. The note comes with it, for its outline, links and passages.
pub fn page(vault: &str, path: &VaultPath, text: &str) -> (Page, Note) {
    let note = Note::parse(text, path.stem());
    let front = &note.front;
    let page = Page {
        vault: vault.to_owned(),
        path: path.clone(),
        title: note.title.clone(),
        free: front.free,
        members: front.members,
        labels: note.labels(),
        aliases: front.aliases.clone(),
        date: front.date,
        lang: front.lang.clone(),
        author: front.author.clone(),
        price: front.price,
        method: front.method.clone(),
        description: front.description.clone(),
        arguments: front.arguments.clone(),
        searchable: front.search != Some(false) && !path.is_private(),
        extra: front.extra.clone(),
        problems: front.problems.clone(),
    };
    (page, note)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_joins_path_and_text() {
        let path = VaultPath::parse("Дневник/Май.md").unwrap();
        let (read, note) = page("v", &path, "---\nfree: true\ntags: [a]\n---\nТекст #b\n");
        assert_eq!((read.title.as_str(), read.free, read.searchable), ("Май", true, true));
        assert_eq!(read.labels, ["a", "b"]);
        assert_eq!(note.chunks().len(), 1);
        let (hidden, _) = page("v", &VaultPath::parse("_drafts/a.md").unwrap(), "x");
        assert!(!hidden.searchable);
        let (silent, _) = page("v", &path, "---\nsearch: false\n---\nx");
        assert!(!silent.searchable);
        let json = serde_json::to_string(&read).unwrap();
        assert_eq!(serde_json::from_str::<Page>(&json).unwrap(), read);
    }
}
