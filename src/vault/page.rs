//! A file's text as a page: what the note says of itself, with what its path says.

use crate::{
    domain::{Page, VaultPath},
    markdown::Note,
};

/// Reads a page. The note comes with it, for its outline, links and passages.
pub fn page(vault: &str, path: &VaultPath, text: &str) -> (Page, Note) {
    let note = Note::parse(text, path.stem());
    let front = &note.front;
    let mut page = Page {
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
        price: front.price.clone(),
        price_free: front.price_free,
        market_description: front.market_description.clone(),
        market_example: front.market_example.clone(),
        method: front.method.clone(),
        description: front.description.clone(),
        arguments: front.arguments.clone(),
        searchable: front.search != Some(false) && !path.is_private(),
        extra: front.extra.clone(),
        problems: front.problems.clone(),
    };
    if page.is_priced() {
        // Calls are sold, and the text is what is sold: no heading and no tag of it is shown.
        (page.free, page.members) = (false, false);
        page.title = front.title.clone().unwrap_or_else(|| path.stem().to_owned());
        page.labels = front.labels.clone();
    }
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
        let sold = "---\nfree: true\naccess: members\nmcp_method: m\nprice: 0.1\ntags: [a]\n---\n# Секрет\n\n#secret";
        let (sold, _) = page("v", &path, sold);
        assert_eq!((sold.title.as_str(), sold.labels.len()), ("Май", 1));
        assert!(sold.is_priced() && !sold.free && !sold.members);
        assert_eq!(sold.price().unwrap().to_string(), "0.10");
        let (unread, _) = page("v", &path, "---\nfree: true\nmcp_method: m\nprice: dear\n---\nx");
        assert!(unread.is_priced() && !unread.free && unread.price().is_none());
        let (kept, _) = page("v", &path, "---\nfree: true\nprice: 20\n---\nA lamp.");
        assert!(!kept.is_priced() && kept.free, "a price without a method is a property");
        let mut old = serde_json::to_value(&sold).unwrap();
        old["price"] = serde_json::json!(0.1);
        assert_eq!(serde_json::from_value::<Page>(old).unwrap(), sold);
        let json = serde_json::to_string(&read).unwrap();
        assert_eq!(serde_json::from_str::<Page>(&json).unwrap(), read);
    }
}
