//! A bookmark as Markdown, and as the document that the index reads.

use crate::{
    domain::{Bookmark, Document, Kind, Pid},
    markdown::Note,
};

/// The bookmark as one text: its title and what it says. Passages point into it.
pub fn markdown(bookmark: &Bookmark) -> String {
    let mut parts = Vec::new();
    if !bookmark.title.trim().is_empty() {
        parts
            .push(format!("# {}", bookmark.title.split_whitespace().collect::<Vec<_>>().join(" ")));
    }
    if !bookmark.text.trim().is_empty() {
        parts.push(bookmark.text.trim_end().to_owned());
    }
    let text = parts.join("\n\n");
    // A post has no frontmatter: a rule on its first line is a rule.
    if text.starts_with("---") { format!("\n{text}") } else { text }
}

/// A post has no title of its own: in lists it is called by its beginning, but among the words that
/// are searched that would count them twice.
pub fn title(bookmark: &Bookmark) -> String {
    match (&bookmark.author, bookmark.title.trim()) {
        (Some(author), "") if !bookmark.text.trim().is_empty() => format!("@{author}"),
        (_, "") => bookmark.name(),
        (_, title) => title.split_whitespace().collect::<Vec<_>>().join(" "),
    }
}

/// A bookmark as the index sees it.
pub fn document(pid: Pid, bookmark: &Bookmark) -> Document {
    let title = title(bookmark);
    let chunks = Note::parse(&markdown(bookmark), &title).chunks();
    let tags = bookmark.tags.iter().flat_map(|judged| &judged.value);
    let mut labels = bookmark.labels.clone();
    for tag in tags {
        if !labels.contains(tag) {
            labels.push(tag.clone());
        }
    }
    Document {
        labels,
        aliases: bookmark.author_name.iter().chain(&bookmark.author).cloned().collect(),
        lang: bookmark.lang.clone().filter(|lang| lang.len() == 2),
        author: bookmark.author.clone(),
        date: Some(bookmark.date),
        category: bookmark.category.as_ref().map(|judged| judged.value.clone()),
        sentiment: bookmark.sentiment.as_ref().map(|judged| judged.value.to_string()),
        action: bookmark.action.as_ref().map(|judged| judged.value.to_string()),
        chunks,
        ..Document::new(pid, Kind::Bookmark, title, bookmark.id.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Timestamp, bookmark::Judged, query::Action};

    #[test]
    fn what_a_post_says_and_what_was_made_of_it_is_in_its_document() {
        let mut post = Bookmark::new(
            Some("1"),
            "https://x.com/a/status/1",
            "---\nRAGの実装パターンをまとめた\nПаттерны RAG",
            Timestamp(5),
        )
        .unwrap();
        post.author = Some("ai_researcher".into());
        post.labels = vec!["rag".into()];
        post.tags = Some(Judged::by_rule(vec!["rag".into(), "vector-db".into()], 0.7));
        post.category = Some(Judged::by_rule("AI-Tools".into(), 0.7));
        post.action = Some(Judged::by_user(Action::Reference));
        let document = document(Pid(3), &post);
        assert_eq!((document.title.as_str(), document.path.as_str()), ("@ai_researcher", "1"));
        assert_eq!(document.labels, ["rag", "vector-db"]);
        assert_eq!(document.category.as_deref(), Some("AI-Tools"));
        assert_eq!(document.action.as_deref(), Some("reference"));
        let text: String = document.chunks.iter().map(|chunk| chunk.text.as_str()).collect();
        assert!(text.contains("RAGの実装") && text.contains("Паттерны"), "{text}");
        let source = markdown(&post);
        assert!(document.chunks.iter().all(|chunk| source.get(chunk.range.clone()).is_some()));
    }
}
