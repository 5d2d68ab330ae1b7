//! One search for one caller. The tool, the shell and the pages all search through here, so that
//! the same question has the same results in the same order everywhere.

use super::{App, rights::Rights};
use crate::{
    domain::{Error, Filters, Result, property::Sort},
    search::{self, Answer, Options, Query},
};

/// What to search for.
#[derive(Debug, Clone, Default)]
pub struct Question {
    /// The words, with filters in them.
    pub text: String,
    /// Filters beside those in the text.
    pub filters: Filters,
    /// By a property instead of relevance.
    pub sort: Option<Sort>,
    /// Results wanted.
    pub limit: usize,
    /// Results to leave out, as `Answer::next` gave it.
    pub offset: usize,
    /// Whether a language model puts the first results in order.
    pub rerank: bool,
}

/// The results of a search, and how the question was read.
pub struct Searched {
    /// The results.
    pub answer: Answer,
    /// The question.
    pub query: Query,
    /// The filters beside it, with those of the caller's rights.
    pub filters: Filters,
    /// Why results are not in the order that was asked for.
    pub note: Option<String>,
}

impl App {
    /// Searches what the caller may read.
    pub fn search(&self, question: Question, rights: &Rights) -> Result<Searched> {
        let Question { text, mut filters, sort, limit, offset, rerank } = question;
        let most = self.config.limits.query_chars;
        if text.chars().count() > most {
            return Err(Error::invalid_params(format!(
                "query has more than {most} characters; ask in fewer words, or use `similar` for a long text"
            )));
        }
        let is_word = |c: char| c.is_alphanumeric() || !(c.is_ascii() || c.is_whitespace());
        if !text.trim().is_empty() && !text.chars().any(is_word) {
            return Err(Error::invalid_params(
                "query has no words, only punctuation; write what you are looking for",
            ));
        }
        let query = search::parse(&text)?;
        rights.narrow(&mut filters);
        let query = self.engine.with_properties(query, &filters)?;
        let mut options = Options::new(&filters);
        options.sort = sort.as_ref();
        options.limit = limit;
        options.offset = offset;
        let (answer, note) = match rerank {
            true => self.search_reranked(&query, &options, rights)?,
            false => (self.engine.search(&query, &options)?, None),
        };
        Ok(Searched { answer, query, filters, note })
    }
}
