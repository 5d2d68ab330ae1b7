//! How well search finds what people judged relevant: a judged set goes through the real pipeline
//! (chunks, analyser, index, vectors, fusion) and is scored as `trec_eval` does.

pub mod asking;
mod corpus;
mod reliability;
mod score;
mod set;

pub use corpus::Corpus;
pub use reliability::{Bin as ReliabilityBin, Reliability};
pub use score::{Scores, promises};
pub use set::{Question, Set};

use std::{
    collections::HashMap,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use crate::{
    app::{App, query_embedder},
    domain::{Filters, Pid, Progress, Result},
    index::{Embed, Index},
    search::{self, Engine, Evidence, Like, Mode, Options, Vectorise},
};

/// Ranks kept for each question: what a run file holds.
pub const DEPTH: usize = 99;

/// What an evaluation needs of the model.
#[derive(Clone)]
pub struct Model {
    /// Names the folder of its vectors.
    pub id: String,
    /// Values of one vector.
    pub dims: usize,
    /// Embeds passages.
    pub passages: Embed,
    /// Embeds questions.
    pub questions: Vectorise,
    /// Threads for embedding.
    pub threads: usize,
}

impl Model {
    /// The library's model; `None` where none is configured.
    pub fn of(app: &App) -> Option<Self> {
        let embedder = app.embedder()?.clone();
        Some(Self {
            id: embedder.id().to_owned(),
            dims: embedder.dims(),
            passages: app.passage_embedder()?,
            questions: query_embedder(embedder),
            threads: std::thread::available_parallelism().map_or(1, usize::from),
        })
    }
}

/// The answers of one mode to every question, best first, with their scores.
pub type Run = Vec<(String, Vec<Ranked>)>;

/// A document in a ranking, with the evidence for it.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranked {
    /// The document's id in the set.
    pub document: String,
    /// The score of the ranking.
    pub score: f32,
    /// The probability that it answers the question.
    pub relevance: f32,
    /// What words and meaning contribute.
    pub evidence: Evidence,
}

/// A set in an index of its own.
pub struct Bench {
    engine: Engine,
    ids: Vec<String>,
    by_id: HashMap<String, Pid>,
}

impl Bench {
    /// Indexes a corpus below `folder`; what is there already is used again.
    pub fn prepare(
        corpus: Corpus,
        folder: &Path,
        model: Option<Model>,
        progress: &dyn Progress,
    ) -> Result<Self> {
        let ids = corpus.ids();
        let by_id =
            ids.iter().enumerate().map(|(at, id)| (id.clone(), Pid(at as i64 + 1))).collect();
        let named = model.as_ref().map(|model| (model.id.as_str(), model.dims));
        let index = Arc::new(Index::open(folder, Arc::new(corpus), named)?);
        index.catch_up(&|stage| stage.report(progress))?;
        if let Some(model) = &model {
            index.embed_all(&model.passages, model.threads, &|done, total| {
                progress.report(done, Some(total), "embedding passages");
            })?;
        }
        let questions = model.map(|model| model.questions);
        let engine = Engine::new(index, questions, std::time::Duration::from_secs(60));
        Ok(Self { engine, ids, by_id })
    }

    /// Asks every question.
    pub fn run(&self, questions: &[Question], mode: Mode, progress: &dyn Progress) -> Result<Run> {
        let next = Mutex::new((0, Vec::with_capacity(questions.len())));
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let failed = Mutex::new(None);
        std::thread::scope(|scope| {
            for _ in 0..cores {
                scope.spawn(|| {
                    loop {
                        let at = {
                            let mut next = next.lock().unwrap_or_else(PoisonError::into_inner);
                            next.0 += 1;
                            next.0 - 1
                        };
                        let Some(question) = questions.get(at) else { return };
                        match self.ask(question, mode) {
                            Ok(ranking) => {
                                let mut next = next.lock().unwrap_or_else(PoisonError::into_inner);
                                next.1.push((at, question.id.clone(), ranking));
                                let done = next.1.len() as u64;
                                progress.report(done, Some(questions.len() as u64), "asking");
                            }
                            Err(error) => {
                                *failed.lock().unwrap_or_else(PoisonError::into_inner) =
                                    Some(error);
                                return;
                            }
                        }
                    }
                });
            }
        });
        if let Some(error) = failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
            return Err(error);
        }
        let (_, mut run) = next.into_inner().unwrap_or_else(PoisonError::into_inner);
        run.sort_by_key(|(at, ..)| *at);
        Ok(run.into_iter().map(|(_, id, ranking)| (id, ranking)).collect())
    }

    fn ask(&self, question: &Question, mode: Mode) -> Result<Vec<Ranked>> {
        let filters = Filters::default();
        let mut options = Options::new(&filters);
        options.lang = question.target.as_deref();
        options.mode = mode;
        // One more than needed: a document does not count as its own answer.
        options.limit = DEPTH + 1;
        let own = question.document.as_ref().and_then(|id| self.by_id.get(id)).copied();
        let answer = match own {
            Some(pid) => self.engine.similar(Like::Item(pid), &options)?,
            None => self.engine.search(&search::parse(&question.text)?, &options)?,
        };
        let ranked = answer.results.into_iter().flat_map(|found| {
            // What was folded away as saying the same still counts, behind what is shown.
            let (score, relevance, evidence) = (found.score, found.relevance, found.evidence);
            std::iter::once(found.pid)
                .chain(found.duplicates)
                .map(move |pid| (pid, score, relevance, evidence))
        });
        Ok(ranked
            .filter(|(pid, ..)| Some(*pid) != own)
            .take(DEPTH)
            .map(|(pid, score, relevance, evidence)| Ranked {
                document: self.ids[pid.0 as usize - 1].clone(),
                score,
                relevance,
                evidence,
            })
            .collect())
    }
}
