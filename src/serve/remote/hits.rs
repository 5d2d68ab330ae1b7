//! The results in a foreign answer. Servers shape them each in their own way: a list under one of
//! several names, JSON in a text, or the numbered list of trip2g. What cannot be read as a list is
//! one result, its text.
//!
//! Every text is foreign. It is cut to a length, on one line where ours is, and without control
//! characters and invisible ones.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

const MAX_TITLE: usize = 200;
const MAX_PATH: usize = 300;
const MAX_SNIPPET: usize = 500;
const MAX_HANDLE: usize = 300;

/// A result of another base.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Hit {
    /// The base.
    pub from: String,
    pub title: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    pub snippet: String,
    /// What note_html reads it by.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub match_id: Option<String>,
}

/// The first results in a tool's result. `None` where there is nothing that could be one.
pub fn read(from: &str, result: &Value, most: usize) -> Option<Vec<Hit>> {
    let texts: Vec<&str> = result["content"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|part| part["text"].as_str())
        .collect();
    let structured = &result["structuredContent"];
    if let Some(list) = list(structured) {
        return Some(of_list(from, list, most));
    }
    // JSON in the text: one list, or one object in each text.
    let parsed: Vec<Value> =
        texts.iter().map_while(|text| serde_json::from_str(text).ok()).collect();
    if let [one] = parsed.as_slice()
        && let Some(list) = list(one)
    {
        return Some(of_list(from, list, most));
    }
    if !texts.is_empty() && parsed.len() == texts.len() && parsed.iter().all(Value::is_object) {
        return Some(of_list(from, &parsed, most));
    }
    let text = texts.join("\n");
    let text = match structured["result"].as_str() {
        Some(result) if text.trim().is_empty() => result.to_owned(),
        _ => text,
    };
    if text.trim().is_empty() {
        return result["content"].is_array().then(Vec::new);
    }
    let numbered = of_numbered(from, &text, most);
    if !numbered.is_empty() {
        return Some(numbered);
    }
    if reports_no_results(&text) {
        return Some(Vec::new());
    }
    let snippet = line(&text, MAX_SNIPPET);
    let whole = Hit {
        from: from.to_owned(),
        title: from.to_owned(),
        path: None,
        url: None,
        snippet,
        match_id: None,
    };
    Some(vec![whole])
}

/// Where servers keep their list of results.
fn list(value: &Value) -> Option<&Vec<Value>> {
    let names = ["results", "result", "hits", "items", "matches", "notes", "memories", "documents"];
    // FastMCP wraps a result that is no object in `result`, and some that are.
    let places = [value, &value["result"]];
    let named = places.into_iter().flat_map(|place| names.iter().map(|name| &place[*name]));
    let found = std::iter::once(value).chain(named).find_map(Value::as_array)?;
    found.iter().all(|item| item.is_object() || item.is_string()).then_some(found)
}

fn of_list(from: &str, list: &[Value], most: usize) -> Vec<Hit> {
    list.iter().filter_map(|item| of_item(from, item)).take(most).collect()
}

fn of_item(from: &str, item: &Value) -> Option<Hit> {
    if let Some(text) = item.as_str() {
        let snippet = line(text, MAX_SNIPPET);
        let title = line(text, 60);
        return (!title.is_empty()).then(|| Hit {
            from: from.to_owned(),
            title,
            path: None,
            url: None,
            snippet,
            match_id: None,
        });
    }
    // A passage of the note: ours, markdown-vault-mcp's.
    let inner = [&item["matches"][0], &item["sections"][0]].into_iter().find(|it| it.is_object());
    let inner = inner.unwrap_or(&Value::Null);
    let first = |names: &[&str], most: usize| {
        let values =
            [inner, item].into_iter().flat_map(|of| names.iter().map(move |name| &of[*name]));
        values.filter_map(Value::as_str).map(|text| line(text, most)).find(|text| !text.is_empty())
    };
    let path = first(&["path", "file_path", "file", "filename", "source"], MAX_PATH);
    let handle = first(&["match_id", "permalink", "identifier"], MAX_HANDLE)
        .or_else(|| path.clone())
        .or_else(|| first(&["id", "uri"], MAX_HANDLE));
    let url = first(&["url", "href", "link"], MAX_PATH).filter(|url| is_web(url));
    let snippet = first(
        &[
            "snippet",
            "matched_chunk",
            "excerpt",
            "content",
            "text",
            "preview",
            "summary",
            "description",
        ],
        MAX_SNIPPET,
    );
    let title =
        first(&["title", "name"], MAX_TITLE).or_else(|| path.clone()).or_else(|| handle.clone());
    if title.is_none() && snippet.is_none() {
        return None;
    }
    Some(Hit {
        from: from.to_owned(),
        title: title.unwrap_or_else(|| from.to_owned()),
        path,
        url,
        snippet: snippet.unwrap_or_default(),
        match_id: handle.map(|handle| format!("{from}/{handle}")),
    })
}

/// The numbered list of trip2g: a title after the number, and below it, indented, the path, the
/// address, a snippet and `match_id: p29:c32`.
fn of_numbered(from: &str, text: &str, most: usize) -> Vec<Hit> {
    let mut hits: Vec<Hit> = Vec::new();
    for row in text.lines() {
        let title = row.split_once(". ").filter(|(number, _)| {
            !number.is_empty() && number.len() <= 3 && number.bytes().all(|c| c.is_ascii_digit())
        });
        if let Some((_, title)) = title {
            if hits.len() == most {
                break;
            }
            let title = line(title, MAX_TITLE);
            hits.push(Hit {
                from: from.to_owned(),
                title,
                path: None,
                url: None,
                snippet: String::new(),
                match_id: None,
            });
            continue;
        }
        let (Some(hit), true) = (hits.last_mut(), row.starts_with([' ', '\t'])) else { continue };
        let row = line(row, MAX_SNIPPET);
        if let Some(id) = row.strip_prefix("match_id: ") {
            hit.match_id.get_or_insert_with(|| format!("{from}/{}", line(id, MAX_HANDLE)));
        } else if hit.path.is_none() && !row.is_empty() && !is_web(&row) {
            hit.path = Some(line(&row, MAX_PATH));
        } else if is_web(&row) {
            hit.url.get_or_insert(row);
        } else if hit.snippet.is_empty() && !row.is_empty() && !row.starts_with("section: ") {
            hit.snippet = row;
        }
    }
    for hit in &mut hits {
        let path = hit.path.as_ref().map(|path| format!("{from}/{path}"));
        hit.match_id = hit.match_id.take().or(path);
    }
    hits.retain(|hit| !hit.title.is_empty());
    hits
}

/// Whether a text of a server says that there are no results.
fn reports_no_results(text: &str) -> bool {
    let text = text.trim().to_lowercase();
    let short = text.chars().count() < 400;
    let words = [
        "found nothing",
        "no results",
        "no matches",
        "nothing found",
        "found 0",
        "0 results",
        "no notes",
    ];
    short && words.iter().any(|word| text.contains(word))
}

fn is_web(text: &str) -> bool {
    text.starts_with("https://") || text.starts_with("http://")
}

/// A foreign text on one line, without characters that cannot be seen, at most so many characters.
pub fn line(text: &str, most: usize) -> String {
    let clean = visible(text, most.saturating_mul(4));
    let words = clean.split_whitespace().collect::<Vec<_>>().join(" ");
    match words.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", words[..end].trim_end()),
        None => words,
    }
}

/// A foreign text without control characters and without those that hide or reorder text, at most
/// so many characters. Line ends and tabs stay.
pub fn visible(text: &str, most: usize) -> String {
    let is_hidden = |c: char| {
        matches!(c,
            '\u{ad}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e0fff}')
    };
    text.chars()
        .filter(|c| matches!(c, '\n' | '\t') || !(c.is_control() || is_hidden(*c)))
        .take(most)
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn hits(result: Value) -> Vec<Hit> {
        read("team", &result, 5).unwrap()
    }

    #[test]
    fn a_notewell_answers_with_passages() {
        let found = hits(json!({ "content": [], "structuredContent": { "results": [
            { "pid": 29, "kind": "page", "title": "Розы", "path": "Розы.md", "url": "https://a/Розы",
              "matches": [{ "match_id": "p29:c32", "snippet": "обрезать\nвесной" }] },
        ] } }));
        assert_eq!(found[0].match_id.as_deref(), Some("team/p29:c32"));
        assert_eq!(
            (found[0].title.as_str(), found[0].snippet.as_str()),
            ("Розы", "обрезать весной")
        );
    }

    #[test]
    fn the_answers_of_peers_are_read() {
        let vault = json!({ "structuredContent": { "result": [
            { "path": "Roses.md", "title": "Roses", "score": 1.0,
              "sections": [{ "heading": null, "content": "# Roses\n\nPrune" }] },
        ] } });
        let memory = json!({ "content": [{ "type": "text", "text": json!({ "results": [
            { "title": "Roses", "type": "entity", "permalink": "garden/roses",
              "file_path": "garden/Roses.md", "content": "Prune", "score": 0.5 },
        ] }).to_string() }] });
        let wrapped =
            json!({ "structuredContent": { "result": { "results": [{ "title": "Roses" }] } } });
        assert_eq!(hits(wrapped)[0].title, "Roses");
        assert_eq!(hits(vault)[0].match_id.as_deref(), Some("team/Roses.md"));
        let found = hits(memory);
        assert_eq!(found[0].match_id.as_deref(), Some("team/garden/roses"));
        assert_eq!(found[0].snippet, "Prune");
    }

    #[test]
    fn a_numbered_list_is_read() {
        let text = "Found 2 notes:\n\n1. 京都の旅\n   旅/京都.md\n   https://a.example/x\n   … 紅葉 …\n   match_id: p31:c12\n\n2. Go\n   /programming/go-errors\n";
        let found = hits(json!({ "content": [{ "type": "text", "text": text }] }));
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].match_id.as_deref(), Some("team/p31:c12"));
        assert_eq!(found[0].snippet, "… 紅葉 …");
        assert_eq!(found[1].match_id.as_deref(), Some("team//programming/go-errors"));
    }

    #[test]
    fn anything_else_is_text_or_nothing() {
        let text = |text: &str| hits(json!({ "content": [{ "type": "text", "text": text }] }));
        assert_eq!(text("Roses need light.")[0].snippet, "Roses need light.");
        assert!(text("No results found for `x`").is_empty());
        assert!(text("").is_empty());
        for lie in [json!(null), json!(7), json!({ "content": "x" }), json!({ "tools": [] })] {
            assert_eq!(read("team", &lie, 5), None, "{lie}");
        }
        // Wrong types inside a list are passed over.
        let odd = json!({ "structuredContent": { "results": [{ "title": 7 }, { "title": "A", "path": [1] }] } });
        assert_eq!(hits(odd).len(), 1);
    }

    #[test]
    fn what_cannot_be_seen_is_removed_and_long_texts_are_cut() {
        let long = format!("a\u{202e}b\u{1b}[2J\u{e0041} {}", "x".repeat(5_000));
        let found = hits(
            json!({ "structuredContent": { "results": [{ "title": long, "content": long }] } }),
        );
        assert!(found[0].title.starts_with("ab[2J xxx") && found[0].title.ends_with('…'));
        assert!(found[0].title.chars().count() <= MAX_TITLE + 1);
        assert!(found[0].snippet.chars().count() <= MAX_SNIPPET + 1);
    }

    #[test]
    fn no_more_than_asked_for_are_taken() {
        let many: Vec<Value> = (0..1_000).map(|n| json!({ "title": n.to_string() })).collect();
        assert_eq!(hits(json!({ "structuredContent": { "results": many } })).len(), 5);
    }
}
