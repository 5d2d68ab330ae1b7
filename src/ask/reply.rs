//! An answer: its sentences, its sources and how sure it is.

use super::{Candidate, Statement};
use crate::text::Lang;

/// How an answer was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Sentences of the library, as they stand.
    Extracted,
    /// A language model's sentences, each checked against a passage.
    Generated,
    /// Counts and lists of the library's items.
    Counted,
}

/// A sentence of the answer, and the cited passage that supports it.
#[derive(Debug, Clone, PartialEq)]
pub struct Sentence {
    /// The sentence.
    pub text: String,
    /// Absent where the sentence is a count.
    pub source: Option<usize>,
}

/// An answer.
#[derive(Debug, Clone)]
pub struct Reply {
    /// Of the question.
    pub lang: Lang,
    /// Empty when the library does not say.
    pub sentences: Vec<Sentence>,
    /// The passages that are cited, in the order in which they are first.
    pub cited: Vec<Candidate>,
    /// The probability that the answer is right, 0 to 1.
    pub confidence: f32,
    /// How the answer came about.
    pub method: Method,
    /// A part of the library could not be searched, as `notes` says.
    pub partial: bool,
    /// The passage that came nearest to an answer.
    pub nearest: Option<Candidate>,
    /// Notices for the reader.
    pub notes: Vec<String>,
    /// The answer as it would be with enough confidence, and the statements that were weighed: for
    /// evaluation.
    pub draft: String,
    /// The evidence that was weighed, best first.
    pub statements: Vec<Statement>,
}

impl Reply {
    /// Whether the library answers the question.
    pub fn is_answer(&self) -> bool {
        !self.sentences.is_empty()
    }

    /// The answer as a text; with the number of the source after each sentence, if wanted.
    pub fn text(&self, numbered: bool) -> String {
        if !self.is_answer() {
            return not_in_your_notes(self.lang, self.partial).to_owned();
        }
        let mut text = String::new();
        for Sentence { text: sentence, source } in &self.sentences {
            let wide = text.chars().next_back().is_some_and(is_wide);
            if !text.is_empty() && !wide {
                text.push(' ');
            }
            text.push_str(sentence);
            if let Some(source) = source.filter(|_| numbered) {
                text += &format!(" [{}]", source + 1);
            }
        }
        text
    }
}

/// Characters that need no space before the next sentence.
fn is_wide(c: char) -> bool {
    matches!(c, '\u{3000}'..='\u{9FFF}' | '\u{FF00}'..='\u{FFEF}')
}

/// That the library does not say, in the language of the question; or only not so far, while a part
/// of it cannot be found yet.
fn not_in_your_notes(lang: Lang, so_far: bool) -> &'static str {
    match (lang, so_far) {
        (Lang::Russian | Lang::Ukrainian, false) => "В ваших заметках этого нет.",
        (Lang::Russian | Lang::Ukrainian, true) => "Пока в ваших заметках этого не нашлось.",
        // Two or three Han characters alone are called Chinese.
        (Lang::Japanese | Lang::Chinese, false) => "あなたのノートには見当たりません。",
        (Lang::Japanese | Lang::Chinese, true) => "今のところ、あなたのノートには見つかりません。",
        (_, false) => "This is not in your notes.",
        (_, true) => "This was not found in your notes so far.",
    }
}
