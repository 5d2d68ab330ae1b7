//! How well `ask` answers: notes, questions, the strings that a right answer has and the section
//! that holds them; and how often it declines when the notes do not say.

use std::{
    path::Path,
    sync::{Mutex, PoisonError},
};

use serde::Deserialize;

use super::{Bench, Model, Question, Reliability, Set, set};
use crate::{
    ask::{Asked, Asker, Candidate, Reply, features},
    domain::{Filters, Pid, Progress, Result, Timestamp},
    markdown::Note,
};

/// The judged answer of a question.
#[derive(Debug, Clone, Deserialize)]
pub struct Gold {
    /// The question's id in the set.
    pub id: String,
    /// The document that answers it.
    #[serde(rename = "doc")]
    pub document: String,
    /// Counted from 1: the number that its heading ends in.
    pub section: usize,
    /// Accepted answer strings.
    pub answers: Vec<String>,
}

/// The strings and sections of a set's answers.
pub fn golds(folder: &Path) -> Result<Vec<Gold>> {
    set::read_lines(set::open(&folder.join("answers.jsonl"))?, folder)
}

/// Questions of a file: `queries.jsonl` or `noanswer.jsonl`.
pub fn questions(file: &Path) -> Result<Vec<Question>> {
    set::read_lines(set::open(file)?, file)
}

/// From this confidence on a wrong answer misleads.
pub const SURE: f32 = 0.8;

/// Shares of questions, 0 to 1, and how long the answers are.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Figures {
    /// Number of questions.
    pub questions: usize,
    /// The answer has one of the right strings.
    pub holds: f64,
    /// The answer is wrong and its confidence above [`SURE`].
    pub surely_wrong: f64,
    /// The first source is the right section.
    pub first: f64,
    /// Declined.
    pub declined: f64,
    /// Mean length of the answers that were given, in characters.
    pub characters: f64,
}

/// The answer to one question, judged.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// The question's id.
    pub id: String,
    /// The answer.
    pub reply: Reply,
    /// Whether the answer contains an accepted string.
    pub holds: bool,
    /// Whether the first sentence does.
    pub first: bool,
    /// Whether the answer would be right if it were given with any confidence.
    pub draft_holds: bool,
    /// The features of each weighed statement, and whether it holds the answer.
    pub statements: Vec<([f32; features::COUNT], bool)>,
    /// The best passage alone, had it been the answer: does it hold it, is it the right section?
    pub passage_holds: bool,
    /// Whether the first passage does.
    pub passage_first: bool,
}

impl Figures {
    /// Sums up the outcomes.
    pub fn of(outcomes: &[Outcome]) -> Self {
        let share = |is: fn(&Outcome) -> bool| {
            outcomes.iter().filter(|outcome| is(outcome)).count() as f64
                / outcomes.len().max(1) as f64
        };
        let lengths: Vec<usize> = outcomes
            .iter()
            .filter(|outcome| outcome.reply.is_answer())
            .map(|outcome| outcome.reply.text(false).chars().count())
            .collect();
        Self {
            questions: outcomes.len(),
            holds: share(|outcome| outcome.holds),
            first: share(|outcome| outcome.first),
            surely_wrong: share(|outcome| {
                outcome.reply.is_answer() && !outcome.holds && outcome.reply.confidence > SURE
            }),
            declined: share(|outcome| !outcome.reply.is_answer()),
            characters: mean(&lengths),
        }
    }

    /// What the best passage would be as the answer to everything.
    pub fn of_passages(outcomes: &[Outcome]) -> Self {
        let share = |is: fn(&Outcome) -> bool| {
            outcomes.iter().filter(|outcome| is(outcome)).count() as f64
                / outcomes.len().max(1) as f64
        };
        let lengths: Vec<usize> = outcomes
            .iter()
            .filter_map(|outcome| outcome.reply.nearest.as_ref())
            .map(|nearest| nearest.passage.text.chars().count())
            .collect();
        Self {
            questions: outcomes.len(),
            holds: share(|outcome| outcome.passage_holds),
            first: share(|outcome| outcome.passage_first),
            surely_wrong: 0.0,
            declined: 0.0,
            characters: mean(&lengths),
        }
    }
}

/// The reliability of the confidence: whether of the answers with 0.7 seven in ten are right.
/// Questions that the notes answer weigh as much in sum as those that they do not. An answer that
/// was declined counts as it would have been given.
pub fn reliability(answerable: &[Outcome], others: &[&Outcome]) -> Reliability {
    let weigh = |outcome: &Outcome, count: usize| {
        (outcome.reply.confidence, outcome.draft_holds, 0.5 / count.max(1) as f64)
    };
    let answerable = answerable.iter().map(|outcome| weigh(outcome, answerable.len()));
    let others = others.iter().map(|outcome| weigh(outcome, others.len()));
    Reliability::weighted(answerable.chain(others))
}

fn mean(lengths: &[usize]) -> f64 {
    lengths.iter().sum::<usize>() as f64 / lengths.len().max(1) as f64
}

impl Bench {
    /// Asks every question; with `withhold`, as if the note that answers it were not there.
    pub fn ask_all(
        &self,
        model: Option<&Model>,
        set: &Set,
        questions: &[Question],
        golds: &[Gold],
        withhold: bool,
        progress: &dyn Progress,
    ) -> Result<Vec<Outcome>> {
        let read = |pid: Pid| {
            let entry = set.documents.get(usize::try_from(pid.0 - 1).ok()?)?;
            Some((entry.text.clone(), Note::parse(&entry.text, &entry.title)))
        };
        let asker = Asker {
            engine: &self.engine,
            embed: model.map(|model| model.passages.clone()),
            provider: None,
            notes: Some(&read),
            in_full: true,
        };
        let next = Mutex::new(0);
        let done = Mutex::new(Vec::with_capacity(questions.len()));
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        std::thread::scope(|scope| {
            for _ in 0..cores {
                scope.spawn(|| {
                    loop {
                        let at = {
                            let mut next = next.lock().unwrap_or_else(PoisonError::into_inner);
                            *next += 1;
                            *next - 1
                        };
                        let Some(question) = questions.get(at) else { return };
                        let gold = golds.iter().find(|gold| gold.id == question.id);
                        let outcome = self.outcome(&asker, question, gold, withhold);
                        let failed = outcome.is_err();
                        let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
                        done.push((at, outcome));
                        let count = done.len() as u64;
                        progress.report(count, Some(questions.len() as u64), "asking");
                        if failed {
                            return;
                        }
                    }
                });
            }
        });
        let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
        done.sort_by_key(|(at, _)| *at);
        done.into_iter().map(|(_, outcome)| outcome).collect()
    }

    fn outcome(
        &self,
        asker: &Asker<'_>,
        question: &Question,
        gold: Option<&Gold>,
        withhold: bool,
    ) -> Result<Outcome> {
        let note = gold.and_then(|gold| self.by_id.get(&gold.document)).copied();
        let filters = Filters::default();
        let without = note.filter(|_| withhold);
        let now = Timestamp::now();
        let asked = Asked { question: &question.text, filters: &filters, without, now };
        let reply = asker.answer(&asked)?;
        let parsed = crate::ask::Question::read(&question.text);
        let holds = |text: &str| {
            gold.is_some_and(|gold| gold.answers.iter().any(|answer| text.contains(answer)))
        };
        let right = |passage: Option<&Candidate>| {
            gold.zip(passage).is_some_and(|(gold, passage)| is_of(passage, note, gold.section))
        };
        let nearest = reply.nearest.as_ref();
        let statements = reply.statements.iter().map(|one| {
            let held = holds(&one.text) || one.entries.iter().any(|entry| holds(entry));
            (features::of(&parsed, one), held)
        });
        Ok(Outcome {
            draft_holds: holds(&reply.draft),
            statements: statements.collect(),
            id: question.id.clone(),
            holds: reply.is_answer() && holds(&reply.text(false)),
            first: right(reply.cited.first()),
            passage_holds: nearest.is_some_and(|nearest| holds(&nearest.passage.text)),
            passage_first: right(nearest),
            reply,
        })
    }
}

fn is_of(passage: &Candidate, note: Option<Pid>, section: usize) -> bool {
    let number = section.to_string();
    Some(passage.id.pid) == note
        && passage
            .passage
            .toc_path
            .last()
            .is_some_and(|heading| heading.rsplit(' ').next() == Some(number.as_str()))
}
