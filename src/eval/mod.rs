//! How well search finds what people judged relevant: a judged set goes through the real pipeline
//! (chunks, analyser, index, vectors, fusion) and is scored as `trec_eval` does.

pub mod asking;
mod score;
mod set;

pub use score::Scores;
pub use set::{Question, Set};

use std::{
    collections::HashMap,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use crate::{
    app::{App, query_embedder},
    domain::{Document, Filters, Kind, Pid, Progress, Result},
    index::{Embed, Index, Source},
    markdown::Note,
    search::{self, Engine, Evidence, Like, Mode, Options, Vectorise},
};

/// Ranks kept for each question: what a run file holds.
pub const DEPTH: usize = 99;

/// What an evaluation needs of the model.
#[derive(Clone)]
pub struct Model {
    pub id: String,
    pub dims: usize,
    pub passages: Embed,
    pub questions: Vectorise,
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

/// A document in a ranking, with what each side of the search said of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranked {
    pub document: String,
    pub score: f32,
    pub evidence: Evidence,
}

/// A set in an index of its own.
pub struct Bench {
    engine: Engine,
    ids: Vec<String>,
    by_id: HashMap<String, Pid>,
}

impl Bench {
    /// Indexes the documents of a set below `folder`; what is there already is used again.
    pub fn prepare(
        documents: &[set::Entry],
        folder: &Path,
        model: Option<Model>,
        progress: &dyn Progress,
    ) -> Result<Self> {
        let shelf = Arc::new(Shelf::new(documents));
        let ids: Vec<String> = documents.iter().map(|entry| entry.id.clone()).collect();
        let by_id =
            ids.iter().enumerate().map(|(at, id)| (id.clone(), Pid(at as i64 + 1))).collect();
        let named = model.as_ref().map(|model| (model.id.as_str(), model.dims));
        let index = Arc::new(Index::open(folder, shelf, named)?);
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
            let (score, evidence) = (found.score, found.evidence);
            std::iter::once(found.pid)
                .chain(found.duplicates)
                .map(move |pid| (pid, score, evidence))
        });
        Ok(ranked
            .filter(|(pid, ..)| Some(*pid) != own)
            .take(DEPTH)
            .map(|(pid, score, evidence)| Ranked {
                document: self.ids[pid.0 as usize - 1].clone(),
                score,
                evidence,
            })
            .collect())
    }
}

/// The documents of a set as the index reads them.
struct Shelf(Vec<Document>);

impl Shelf {
    fn new(entries: &[set::Entry]) -> Self {
        let documents = entries.iter().enumerate().map(|(at, entry)| {
            let title = match entry.title.is_empty() {
                true => entry.path.as_str(),
                false => &entry.title,
            };
            let pid = Pid(at as i64 + 1);
            let mut document =
                Document::new(pid, Kind::Page, entry.title.clone(), entry.path.clone());
            document.lang = Some(entry.lang.clone());
            document.chunks = Note::parse(&entry.text, title).chunks();
            document
        });
        Self(documents.collect())
    }
}

impl Source for Shelf {
    fn changes(&self, after: i64, limit: usize) -> Result<Vec<(i64, Pid)>> {
        let from = usize::try_from(after).unwrap_or(0);
        let pids = self.0.iter().skip(from).take(limit);
        Ok(pids.map(|document| (document.pid.0, document.pid)).collect())
    }

    fn head(&self) -> Result<i64> {
        Ok(self.0.len() as i64)
    }

    fn document(&self, pid: Pid) -> Result<Option<Document>> {
        Ok(usize::try_from(pid.0 - 1).ok().and_then(|at| self.0.get(at)).cloned())
    }

    fn library(&self) -> Result<i64> {
        Ok(0)
    }

    fn all(&self) -> Result<Vec<Pid>> {
        Ok(self.0.iter().map(|document| document.pid).collect())
    }
}
