//! Answers a caller's question from what that caller sees of the library.

use std::sync::Arc;

use super::{
    App,
    rights::{Right, Rights},
};
use crate::{
    ask::{Asked, Asker, Reply},
    domain::{Error, Filters, Result, Timestamp},
    llm::Provider,
};

impl App {
    /// Answers a question from what this caller sees of the library.
    pub fn ask(&self, question: &str, rights: &Rights) -> Result<Reply> {
        let max_chars = self.config.limits.query_chars;
        if question.chars().count() > max_chars {
            return Err(Error::invalid_params(format!(
                "question has more than {max_chars} characters; ask in fewer words"
            )));
        }
        if !question.chars().any(char::is_alphanumeric) {
            return Err(Error::invalid_params("question is required, in words"));
        }
        let mut filters = Filters::default();
        rights.narrow(&mut filters);
        // What cannot be read now is answered from the index.
        let read = |pid| match self.open_pid(pid, rights) {
            Ok(opened) => opened.map(|opened| (opened.text, opened.note)),
            Err(error) => {
                tracing::debug!(?error, "answered without the lists and tables of an item");
                None
            }
        };
        let asker = Asker {
            engine: &self.engine,
            embed: self.passage_embedder(),
            provider: self.provider_for(rights),
            notes: Some(&read),
            in_full: rights.may(Right::Causes),
        };
        let now = Timestamp::now();
        let mut reply = asker.answer(&Asked { question, filters: &filters, without: None, now })?;
        let notices = self.notices(rights)?;
        if rights.may(Right::LibraryState) && self.is_empty_library()? {
            // Nothing can be missing from a library that has nothing.
            reply.notes.clear();
        }
        reply.notes.extend(notices);
        Ok(reply)
    }

    /// The language model, if one is configured and the request may use it.
    pub fn provider_for(&self, rights: &Rights) -> Option<Arc<dyn Provider>> {
        self.provider.clone().filter(|_| rights.may(Right::LanguageModel))
    }
}
