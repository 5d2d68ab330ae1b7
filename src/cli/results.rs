//! Search results as a person reads them: title, place, and the passage with the words that were
//! searched for.

use std::{collections::HashSet, ops::Range};

use serde_json::Value;

use super::out::{self, Style};
use crate::{
    app::App,
    domain::{Kind, Pid, Result},
    search,
    text::{self, Analyser},
    vault,
};

/// Prints the answer of `search` or `similar`. Notes about the answer go to stderr.
pub fn print(answer: &Value, query: &str) {
    let results = print_few(answer, query);
    if results == 0 {
        out::note("Nothing found.");
    }
    for note in answer["notes"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        out::note(format_args!("Note: {note}."));
    }
    if let Some(cursor) = answer["nextCursor"].as_str() {
        let total = answer["totalMatches"].as_u64().unwrap_or_default();
        let at_least = if answer["totalIsExact"] == Value::Bool(false) { "at least " } else { "" };
        out::note(format_args!(
            "{results} of {at_least}{total} results. The next page: the same command with --cursor {cursor}"
        ));
    }
}

/// Prints the results without what there is to say about the answer, and counts them.
pub fn print_few(answer: &Value, query: &str) -> usize {
    let results = answer["results"].as_array().map_or(&[][..], Vec::as_slice);
    let mut marker = Marker::new(query);
    for (number, result) in results.iter().enumerate() {
        let mut shown = out::Text::for_stdout();
        if number > 0 {
            shown.plain("\n");
        }
        item(&mut shown, number + 1, result, &mut marker);
        shown.print();
    }
    results.len()
}

fn item(shown: &mut out::Text, number: usize, result: &Value, marker: &mut Marker) {
    let text = |name: &str| result[name].as_str().unwrap_or_default();
    let kind = text("kind");
    shown.plain(&format!("{number}. ")).styled(Style::Title, text("title"));
    if kind != Kind::Page.as_str() {
        shown.styled(Style::Aside, &format!(" ({kind})"));
    }
    let place = if kind == Kind::Bookmark.as_str() { text("url") } else { text("path") };
    for found in result["matches"].as_array().into_iter().flatten() {
        shown.plain("\n   ").styled(Style::Place, place);
        let section = found["toc_path"].as_array().into_iter().flatten();
        let section: Vec<&str> = section.filter_map(Value::as_str).collect();
        if !section.is_empty() {
            shown.plain(" > ").styled(Style::Place, &section.join(" > "));
        }
        let id = found["match_id"].as_str().unwrap_or_default();
        shown.styled(Style::Aside, &format!("  [{id}]"));
        shown.plain("\n   ");
        marker.mark(shown, found["snippet"].as_str().unwrap_or_default());
    }
}

/// Where a result is, for another program: the file of a page, the address of anything else.
pub fn location(app: &App, result: &Value) -> Result<String> {
    if result["kind"] == Kind::Page.as_str()
        && let Some(pid) = result["pid"].as_i64()
        && let Some(row) = app.store.pages.get(Pid(pid))?
    {
        let Some(vault) = app.sources.vault(&row.vault)? else { return Ok(row.path) };
        if vault.is_hosted() {
            return Ok(format!("{}/{}", vault.location, row.path));
        }
        return Ok(vault::locate(vault.folder(), &row.facts.page.path).display().to_string());
    }
    Ok(result["url"].as_str().unwrap_or_default().to_owned())
}

/// Finds the words of a query in a snippet, in whatever form they stand there.
struct Marker {
    analyser: Analyser,
    terms: HashSet<String>,
}

impl Marker {
    fn new(query: &str) -> Self {
        let words = search::parse(query).map(|query| query.text).unwrap_or_default();
        let mut analyser = Analyser::new();
        let terms = analyser.terms(&words, None, text::Mode::Query);
        Self { analyser, terms: terms.into_iter().map(|term| term.term).collect() }
    }

    /// The snippet on one line, and where the words are in it.
    fn find(&mut self, snippet: &str) -> (String, Vec<Range<usize>>) {
        let all = snippet.chars().count() + 2;
        let is_asked = |term: &str| self.terms.contains(term);
        let cut = text::snippet(&mut self.analyser, snippet, None, all, is_asked);
        (cut.text, cut.marks)
    }

    fn mark(&mut self, shown: &mut out::Text, snippet: &str) {
        let (line, marks) = self.find(snippet);
        let mut at = 0;
        for mark in marks {
            shown.plain(&line[at..mark.start]).styled(Style::Mark, &line[mark.clone()]);
            at = mark.end;
        }
        shown.plain(&line[at..]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_marked_in_every_form() {
        for (query, snippet, expected) in [
            ("brewing", "I brewed it twice.", "brewed"),
            ("суббота -мясо", "Поход в субботу утром.", "субботу"),
            ("京都 label:旅", "京都旅行の記録。", "京都"),
        ] {
            let (line, marks) = Marker::new(query).find(snippet);
            let marked: Vec<&str> = marks.iter().map(|mark| &line[mark.clone()]).collect();
            assert_eq!(line, snippet);
            assert!(marked.iter().any(|mark| mark.contains(expected)), "{query}: {marked:?}");
        }
    }
}
