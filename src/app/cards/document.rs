//! A card as Markdown, and as the document that the index reads.

use crate::{
    domain::{Card, Chunk, Document, Kind, Pid},
    markdown::Note,
};

/// The card as one Markdown text: title, content, checklist, labels. Passages point into it.
pub fn markdown(card: &Card) -> String {
    let mut parts = Vec::new();
    if card.title.as_deref().is_some_and(|title| !title.trim().is_empty()) {
        parts.push(format!("# {}", card.name().split_whitespace().collect::<Vec<_>>().join(" ")));
    }
    if !card.content.trim().is_empty() {
        parts.push(card.content.trim_end().to_owned());
    }
    // Signs rather than words: a search for "done" should not find every checklist.
    let items: Vec<String> = card
        .items()
        .filter(|(text, _)| !text.trim().is_empty())
        .map(|(text, checked)| {
            format!("- {} {}", if checked { '☑' } else { '☐' }, text.trim().replace('\n', "\n  "))
        })
        .collect();
    if !items.is_empty() {
        parts.push(items.join("\n"));
    }
    let labels = card.labels.as_deref().unwrap_or_default();
    if !labels.is_empty() {
        parts.push(labels.join(", "));
    }
    let text = parts.join("\n\n");
    // A card has no frontmatter: a rule on its first line is a rule.
    if text.starts_with("---") { format!("\n{text}") } else { text }
}

/// A card as the index sees it.
pub fn document(pid: Pid, card: &Card) -> Document {
    let text = markdown(card);
    let name = card.name();
    let mut chunks = Note::parse(&text, name).chunks();
    if chunks.is_empty() {
        // An empty card can still be found by the word that stands for its name.
        chunks.push(Chunk {
            ordinal: 0,
            toc_path: Vec::new(),
            text: name.to_owned(),
            range: 0..text.len(),
        });
    }
    Document {
        labels: card.labels.clone().unwrap_or_default(),
        date: card.updated_at.or(card.created_at),
        archived: card.is_archived,
        chunks,
        ..Document::new(pid, Kind::Card, name.lines().next().unwrap_or_default(), card.id.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Timestamp;
    use serde_json::json;

    #[test]
    fn everything_a_card_says_is_in_its_document() {
        let card = Card {
            id: "c1".into(),
            title: Some("Покупки\nна неделю".into()),
            content: "в *магазине*".into(),
            check_items: Some(vec![
                json!({"id": "1", "text": "молоко", "checked": true}),
                json!({"id": "2", "text": "パン", "checked": false}),
            ]),
            labels: Some(vec!["дом".into()]),
            is_archived: true,
            updated_at: Some(Timestamp(5)),
            ..Card::default()
        };
        let document = document(Pid(7), &card);
        let text =
            document.chunks.iter().map(|chunk| chunk.text.as_str()).collect::<Vec<_>>().join("\n");
        for part in ["Покупки на неделю", "в магазине", "☑ молоко", "☐ パン", "дом"]
        {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert_eq!((document.path.as_str(), document.archived), ("c1", true));
        assert_eq!((document.labels, document.date), (vec!["дом".to_owned()], Some(Timestamp(5))));
        let source = markdown(&card);
        assert!(document.chunks.iter().all(|chunk| source.get(chunk.range.clone()).is_some()));
    }

    #[test]
    fn a_rule_at_the_start_is_not_frontmatter_and_an_empty_card_has_a_passage() {
        let card = Card { content: "---\nsecret: 1\n---\nrest".into(), ..Card::default() };
        let text: String =
            document(Pid(1), &card).chunks.iter().map(|chunk| chunk.text.clone()).collect();
        assert!(text.contains("secret"), "{text}");
        assert_eq!(document(Pid(1), &Card::default()).chunks[0].text, "untitled");
    }
}
