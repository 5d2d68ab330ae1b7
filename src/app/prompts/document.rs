//! A prompt as search sees it.

use sha2::{Digest, Sha256};

use crate::{
    domain::{Document, Kind, Pid, Prompt, Result},
    markdown::Note,
    store::Prompts,
};

/// The document of a prompt: its description and the text of its messages.
pub fn document(prompt: &Prompt, pid: Pid) -> Document {
    let mut document = Document::new(pid, Kind::Prompt, &prompt.title, &prompt.name);
    document.labels = prompt.tags.clone();
    // Found by its name as words too.
    document.aliases = vec![prompt.name.replace('_', " ")];
    document.date = prompt.updated.or(prompt.created);
    let text = text(prompt);
    document.chunks = Note::parse(&text, &prompt.title).chunks();
    document
}

/// What `document` cuts into passages; a passage's range counts in this text.
pub fn text(prompt: &Prompt) -> String {
    let parts: Vec<&str> =
        prompt.description.as_deref().into_iter().chain(prompt.texts()).collect();
    // A blank line first, so that a prompt that begins with `---` is not taken for frontmatter.
    format!("\n{}\n", parts.join("\n\n"))
}

/// Name and content stamp of the user's own prompts, for the registry of items. Those that came with
/// the program are in every list of prompts; in a search of somebody's notes they would be noise.
pub fn stamps(prompts: &dyn Prompts) -> Result<Vec<(String, i64)>> {
    let all = prompts.all()?;
    let own = all.iter().filter(|stored| stored.origin.is_user());
    Ok(own.map(|stored| (stored.prompt.name.clone(), stamp(&stored.prompt))).collect())
}

/// A number that changes with anything that search looks at.
pub(super) fn stamp(prompt: &Prompt) -> i64 {
    let mut hash = Sha256::new();
    for part in [prompt.title.as_str(), &text(prompt)]
        .into_iter()
        .chain(prompt.tags.iter().map(String::as_str))
    {
        hash.update(part);
        hash.update([0]);
    }
    hash.update(prompt.updated.or(prompt.created).map_or(0, |at| at.0).to_le_bytes());
    let bytes: [u8; 32] = hash.finalize().into();
    i64::from_le_bytes(std::array::from_fn(|at| bytes[at]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Timestamp, prompt::Draft};

    #[test]
    fn a_prompt_is_found_by_its_words_in_three_languages() {
        let draft = serde_json::json!({"name": "code_review", "title": "Обзор кода", "description": "Проверяет код",
            "messages": [{"role": "user", "content": {"type": "text", "text": "---\nReview this.\n\n# 手順\n\nコードを読む。"}}],
            "tags": ["код"]});
        let mut prompt = Draft::parse(draft).unwrap().into_prompt(Timestamp(5)).unwrap();
        let document = document(&prompt, Pid(7));
        let all: String = document.chunks.iter().map(|chunk| chunk.text.as_str()).collect();
        for words in ["Проверяет код", "Review this", "コードを読む"] {
            assert!(all.contains(words), "{all}");
        }
        assert_eq!(
            (document.path.as_str(), document.title.as_str()),
            ("code_review", "Обзор кода")
        );
        assert_eq!(document.aliases, ["code review"]);
        let before = stamp(&prompt);
        prompt.tags.push("new".into());
        assert_ne!(stamp(&prompt), before);
    }
}
