//! Questions answered from the library, with sources.
//!
//! A question about the library itself is counted ([`library`], [`counted`]). Any other is answered
//! from passages, found as `search` finds them and read statement by statement: sentences, list
//! items, table rows, whole lists and tables ([`statement`]). Without a language model the answer is
//! the few statements that rank first, as they stand ([`extract`]); with one, its answer is split
//! into sentences and every sentence that no passage supports is dropped ([`generate`], [`check`]).
//! The confidence is the probability that the answer is right, fitted on judged questions
//! ([`features`], [`weights`]); below [`MIN_CONFIDENCE`] the answer is that the library does not say. Text of a
//! passage is only ever quoted, never followed.

mod blocks;
mod check;
mod counted;
mod definition;
mod extract;
pub mod features;
mod generate;
mod library;
mod passages;
mod period;
mod question;
mod reply;
mod statement;
mod vocabulary;
mod weights;

pub use blocks::ReadNote;
pub use passages::Candidate;
pub use question::{Question, Wanted};
pub use reply::{Method, Reply, Sentence};
pub use statement::Statement;

use std::sync::Arc;

use self::{blocks::Notes, check::Checker, passages::Retrieved};
use crate::{
    domain::{Error, Filters, Pid, Result, Timestamp},
    index::Embed,
    llm::Provider,
    search::Engine,
};

/// The confidence from which on there is an answer; below, the library does not say. Of ten
/// questions without an answer nine and more are below.
pub const MIN_CONFIDENCE: f32 = 0.33;
/// The share of the confidence that is left when a model says that the passages do not answer.
const DENIED: f32 = 0.3;

/// Answers questions from one index.
pub struct Asker<'a> {
    /// Finds passages.
    pub engine: &'a Engine,
    /// Compares sentences by meaning.
    pub embed: Option<Embed>,
    /// The language model.
    pub provider: Option<Arc<dyn Provider>>,
    /// Reads the Markdown of an item, for its lists and tables.
    pub notes: Option<ReadNote<'a>>,
    /// Whether a failure of the provider is reported with its address and its message.
    pub in_full: bool,
}

/// A question, and what may be used to answer it.
pub struct Asked<'a> {
    /// The question.
    pub question: &'a str,
    /// What the caller may see.
    pub filters: &'a Filters,
    /// An item that must not be used: to measure what happens without it.
    pub without: Option<Pid>,
    /// The moment of the question: `yesterday` is the day before.
    pub now: Timestamp,
}

impl Asker<'_> {
    /// Answers a question.
    pub fn answer(&self, asked: &Asked<'_>) -> Result<Reply> {
        if let Some(request) = library::Request::read(asked.question, asked.now) {
            return counted::answer(self.engine, asked, &request);
        }
        let question = Question::read(asked.question);
        let found = passages::find(self.engine, &question, asked.filters, asked.without)?;
        let mut notes = Notes::new(self.notes);
        let statements = statement::gather(&question, &found, &mut notes, self.embed.as_ref())?;
        let reply = extracted(&question, &found, statements);
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
        found: &Retrieved,
        extracted: &Reply,
    ) -> Result<Reply> {
        let shown = &found.passages[..found.passages.len().min(generate::MAX_SHOWN)];
        let claims = generate::write(provider, question, shown)?;
        let mut reply = Reply {
            sentences: Vec::new(),
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
                "left out {dropped} of the {} sentences that the language model wrote: no passage supports {}",
                claims.len(),
                if dropped == 1 { "it" } else { "them" },
            ));
        }
        // Half from the passages, half from the share of sentences that they support.
        let supported = quotes.len() as f32 / claims.len() as f32;
        reply.confidence = supported * (1.0 + extracted.confidence) / 2.0;
        cite(&mut reply, shown, quotes);
        Ok(reply)
    }
}

/// The answer in the library's own words.
fn extracted(question: &Question<'_>, found: &Retrieved, statements: Vec<Statement>) -> Reply {
    let best = extract::best(question, &statements);
    let confidence = best.map_or(0.0, |best| features::confidence(question, best));
    let quotes = extract::pick(question, found, &statements);
    let mut reply = Reply {
        lang: question.lang,
        sentences: Vec::new(),
        cited: Vec::new(),
        confidence,
        method: Method::Extracted,
        partial: !found.notes.is_empty(),
        nearest: found.passages.first().cloned(),
        notes: found.notes.clone(),
        draft: quotes.iter().map(|quote| quote.text.as_str()).collect::<Vec<_>>().join(" "),
        statements,
    };
    if confidence >= MIN_CONFIDENCE {
        cite(&mut reply, &found.passages, quotes);
    }
    reply
}

/// Adds the sentences, and each of their passages once.
fn cite(reply: &mut Reply, passages: &[Candidate], quotes: Vec<extract::Quote>) {
    for extract::Quote { text, passage } in quotes {
        let candidate = &passages[passage];
        let known = reply.cited.iter().position(|cited| cited.id == candidate.id);
        let source = known.unwrap_or_else(|| {
            reply.cited.push(candidate.clone());
            reply.cited.len() - 1
        });
        reply.sentences.push(Sentence { text, source: Some(source) });
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
