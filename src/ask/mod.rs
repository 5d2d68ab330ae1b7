//! Questions answered from the library, with sources.
//!
//! Passages are found as `search` finds them. Without a language model the answer is the few
//! sentences that speak most to the question, as they stand ([`extract`]); with one, its answer is
//! taken apart and every sentence that no passage supports is left out ([`generate`], [`check`]).
//! How sure the answer is was fitted on judged questions ([`confidence`]), and below one half the
//! answer is that the library does not say. What a passage says is only ever quoted: nothing in it
//! is followed.

mod check;
mod confidence;
mod extract;
mod generate;
mod passages;
mod question;
mod sentence;

pub use confidence::ENOUGH;
pub use passages::Candidate;

use std::sync::Arc;

use self::{check::Checker, passages::Found, question::Question, sentence::Sentence};
use crate::{
    domain::{Error, Filters, Pid, Result},
    index::Embed,
    llm::Provider,
    search::Engine,
    text::Lang,
};

/// What a model's word that the passages do not answer leaves of the confidence.
const DENIED: f32 = 0.3;

/// Answers questions from one index.
pub struct Asker<'a> {
    pub engine: &'a Engine,
    pub embed: Option<Embed>,
    pub provider: Option<Arc<dyn Provider>>,
    /// Whether a failure of the provider may be told with its address and what it said.
    pub in_full: bool,
}

/// A question, and what may be used to answer it.
pub struct Asked<'a> {
    pub question: &'a str,
    pub filters: &'a Filters,
    /// An item that must not be used: to measure what happens without it.
    pub without: Option<Pid>,
}

/// How an answer came about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Sentences of the library, as they stand.
    Extracted,
    /// A language model's sentences, each checked against a passage.
    Generated,
}

/// A sentence of the answer, and which of the cited passages says it.
#[derive(Debug, Clone, PartialEq)]
pub struct Said {
    pub text: String,
    pub source: usize,
}

/// An answer.
#[derive(Debug, Clone)]
pub struct Reply {
    /// Of the question.
    pub lang: Lang,
    /// Empty when the library does not say.
    pub said: Vec<Said>,
    /// The passages that are cited, in the order in which they are first.
    pub cited: Vec<Candidate>,
    /// How probable it is that the library answers the question, 0 to 1.
    pub confidence: f32,
    pub method: Method,
    /// A part of the library could not be looked at, as the notes say.
    pub partial: bool,
    /// The passage that came nearest to an answer.
    pub nearest: Option<Candidate>,
    /// What the reader has to know about the answer.
    pub notes: Vec<String>,
}

impl Reply {
    pub fn is_answer(&self) -> bool {
        !self.said.is_empty()
    }

    /// The answer as a text; with the number of the source after each sentence, if wanted.
    pub fn text(&self, numbered: bool) -> String {
        if !self.is_answer() {
            return not_in_your_notes(self.lang, self.partial).to_owned();
        }
        let mut text = String::new();
        for Said { text: sentence, source } in &self.said {
            let wide = text.chars().next_back().is_some_and(is_wide);
            if !text.is_empty() && !wide {
                text.push(' ');
            }
            text.push_str(sentence);
            if numbered {
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

impl Asker<'_> {
    pub fn answer(&self, asked: &Asked<'_>) -> Result<Reply> {
        let question = Question::read(asked.question);
        let found = passages::find(self.engine, &question, asked.filters, asked.without)?;
        let sentences = sentence::gather(&question, &found, self.embed.as_ref())?;
        let reply = extracted(&question, &found, &sentences);
        let Some(provider) = self.provider.as_deref().filter(|_| !found.passages.is_empty()) else {
            return Ok(reply);
        };
        match self.generated(provider, &question, &found, &reply) {
            Ok(generated) => Ok(generated),
            Err(error) => {
                tracing::warn!(?error, "answered without the language model");
                Ok(Reply {
                    notes: with(&reply.notes, fallen_back(self.in_full.then_some(&error))),
                    ..reply
                })
            }
        }
    }

    /// The model's answer, as far as the passages support it.
    fn generated(
        &self,
        provider: &dyn Provider,
        question: &Question<'_>,
        found: &Found,
        extracted: &Reply,
    ) -> Result<Reply> {
        let shown = &found.passages[..found.passages.len().min(generate::SHOWN)];
        let claims = generate::write(provider, question, shown)?;
        let mut reply = Reply {
            said: Vec::new(),
            cited: Vec::new(),
            method: Method::Generated,
            ..extracted.clone()
        };
        if claims.is_empty() {
            reply.confidence *= DENIED;
            return Ok(reply);
        }
        let checker =
            Checker { question: question.text, passages: shown, embed: self.embed.as_ref() };
        let mut quotes = Vec::new();
        for claim in &claims {
            if let Some(passage) = checker.support(&claim.text, &claim.named)? {
                quotes.push(extract::Quote { text: claim.text.clone(), passage });
            }
        }
        if quotes.is_empty() {
            return Err(Error::outside("no passage supports what the language model answered"));
        }
        let dropped = claims.len() - quotes.len();
        if dropped > 0 {
            reply.notes.push(format!(
                "left out {dropped} of the {} sentences that the language model wrote: no passage supports them",
                claims.len()
            ));
        }
        // Half for what the passages promised, half for having been answered and borne out.
        let borne_out = quotes.len() as f32 / claims.len() as f32;
        reply.confidence = borne_out * (1.0 + extracted.confidence) / 2.0;
        cite(&mut reply, shown, quotes);
        Ok(reply)
    }
}

/// The answer in the library's own words.
fn extracted(question: &Question<'_>, found: &Found, sentences: &[Sentence]) -> Reply {
    let confidence = confidence::of(question, sentences);
    let mut reply = Reply {
        lang: question.lang,
        said: Vec::new(),
        cited: Vec::new(),
        confidence,
        method: Method::Extracted,
        partial: !found.notes.is_empty(),
        nearest: found.passages.first().cloned(),
        notes: found.notes.clone(),
    };
    if confidence >= ENOUGH {
        cite(&mut reply, &found.passages, extract::pick(found, sentences));
    }
    reply
}

/// Fills in the sentences, and each of their passages once.
fn cite(reply: &mut Reply, passages: &[Candidate], quotes: Vec<extract::Quote>) {
    for extract::Quote { text, passage } in quotes {
        let candidate = &passages[passage];
        let known = reply.cited.iter().position(|cited| cited.id == candidate.id);
        let source = known.unwrap_or_else(|| {
            reply.cited.push(candidate.clone());
            reply.cited.len() - 1
        });
        reply.said.push(Said { text, source });
    }
}

fn fallen_back(error: Option<&Error>) -> String {
    let cause = error.map(|error| format!(": {error}")).unwrap_or_default();
    format!(
        "the language model could not be used, so this is what the notes say in their own words{cause}"
    )
}

fn with(notes: &[String], more: String) -> Vec<String> {
    notes.iter().cloned().chain([more]).collect()
}
