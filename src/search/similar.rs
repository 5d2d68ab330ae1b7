//! The items nearest to a text or to another item, by meaning alone.

use std::collections::HashMap;

use super::{
    answer::Answer,
    engine::{Engine, Options, POOL, Role, Vectorise, next},
    fuse::{Evidence, Mode},
    group::{Candidate, group},
};
use crate::{
    domain::{Error, MatchId, Patience, Pid, Result},
    index::{Asked, Total, View},
};

/// Passages of an item that are compared.
const MAX_COMPARED: usize = 16;

/// What `similar` starts from.
#[derive(Debug, Clone, Copy)]
pub enum Like<'a> {
    /// A text.
    Text(&'a str),
    /// An item of the library.
    Item(Pid),
}

impl Engine {
    /// The items nearest to a text or to another item.
    pub fn similar(&self, like: Like<'_>, options: &Options<'_>) -> Result<Answer> {
        self.index.guarded(|| self.similar_once(like, options))
    }

    fn similar_once(&self, like: Like<'_>, options: &Options<'_>) -> Result<Answer> {
        options.check()?;
        let Some(vectorise) = &self.vectorise else {
            return Err(Error::invalid_params(
                "`similar` needs search by meaning, which is switched off; set `[embed] provider` in the config",
            ));
        };
        let (view, freshness) = self.look(options.filters)?;
        let own = match like {
            Like::Item(pid) => Some(pid),
            Like::Text(_) => None,
        };
        let vectors = self.vectors_like(&view, vectorise, like)?;
        let narrowing = view.narrow(&Asked { lang: options.lang, ..Asked::by(options.filters) })?;
        let wanted = (options.offset + options.limit) * 4;
        let mut best: HashMap<MatchId, Candidate> = HashMap::new();
        for vector in &vectors {
            Patience::current().check()?;
            for hit in view.nearest(vector, &narrowing, wanted.max(POOL))? {
                if Some(hit.id.pid) == own {
                    continue;
                }
                let evidence = Evidence { cosine: Some(hit.score), ..Evidence::default() };
                let candidate = Candidate { hit, evidence, score: hit.score };
                let kept = best.entry(hit.id).or_insert(Candidate { score: f32::MIN, ..candidate });
                if hit.score > kept.score {
                    *kept = Candidate { hit, evidence, score: hit.score };
                }
            }
        }
        let groups = group(best.into_values().collect(), Mode::Vector);
        Ok(Answer {
            next: next(options, groups.len()),
            results: self.show(&view, &groups, options, Mode::Vector, &[])?,
            total: Total { items: groups.len(), exact: false },
            expansions: Vec::new(),
            unknown: Vec::new(),
            unknown_filters: Vec::new(),
            none_near: groups.is_empty(),
            prompts_left_out: 0,
            mentioned: Vec::new(),
            freshness,
            vectors: self.index.vector_progress(&view)?,
            words_only: None,
            repairs: self.index.recent_repairs(),
        })
    }

    fn vectors_like(
        &self,
        view: &View,
        vectorise: &Vectorise,
        like: Like<'_>,
    ) -> Result<Vec<Vec<f32>>> {
        match like {
            Like::Text(text) if text.chars().any(char::is_alphanumeric) => {
                Ok(vec![self.vector(vectorise, text, Role::Passage)?])
            }
            Like::Text(_) => {
                Err(Error::invalid_params("text has no words; give a sentence or more"))
            }
            Like::Item(pid) => {
                let mut vectors = view.vectors_of(pid)?;
                vectors.truncate(MAX_COMPARED);
                if vectors.is_empty() {
                    // Its vectors are still to come: the first passage speaks for it.
                    let Some(hit) = view.passages_of(pid)?.into_iter().next() else {
                        return Err(Error::invalid_params(format!(
                            "no item has pid `{pid}`; take it from a search result"
                        )));
                    };
                    let passage = view.passage(&hit)?;
                    let text = crate::index::embedded_text(
                        &passage.title,
                        &passage.toc_path,
                        &passage.text,
                    );
                    vectors.push(self.vector(vectorise, &text, Role::Passage)?);
                }
                Ok(vectors)
            }
        }
    }
}
