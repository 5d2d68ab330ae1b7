use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use clap::{Args, ValueEnum};

use super::{Common, bar::Bar, out};
use crate::{
    app::App,
    domain::{Progress, Result, error::Doing},
    eval::{
        self, Bench, Question, Ranked, Run, Scores, Set,
        asking::{self, Bin, Figures, Outcome},
    },
    search::Mode,
    vault,
};

#[derive(Args)]
pub struct Eval {
    /// Folders of judged sets
    #[arg(required = true, value_name = "SET")]
    sets: Vec<PathBuf>,
    /// How to search [default: lexical, vector and hybrid]
    #[arg(long)]
    mode: Vec<ModeFlag>,
    /// Write a TREC run file for each set and mode here
    #[arg(long, value_name = "DIR")]
    run_out: Option<PathBuf>,
    /// Also write the scores of every result: passage, item, share of words, cosine
    #[arg(long, requires = "run_out")]
    explain: bool,
    /// Keep indexes and vectors here, for the next evaluation
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
    /// For `ask`: questions that the sets do not answer [default: noanswer.jsonl of the set, or of
    /// the set that it was made from]
    #[arg(long, value_name = "FILE")]
    noanswer: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum ModeFlag {
    Lexical,
    Vector,
    Hybrid,
    /// Answers instead of rankings
    Ask,
}

impl From<ModeFlag> for Mode {
    fn from(flag: ModeFlag) -> Self {
        match flag {
            ModeFlag::Lexical => Mode::Lexical,
            ModeFlag::Vector => Mode::Vector,
            ModeFlag::Hybrid | ModeFlag::Ask => Mode::Hybrid,
        }
    }
}

impl Eval {
    pub fn run(self, common: &Common) -> Result<()> {
        let throwaway = tempfile::tempdir().doing("make a folder for the index")?;
        let folder = self.keep.clone().unwrap_or_else(|| throwaway.path().to_path_buf());
        let common = Common { data: Some(folder.join("library")), ..common.clone() };
        let app = common.open()?;
        let modes = match self.mode.is_empty() {
            true => vec![ModeFlag::Lexical, ModeFlag::Vector, ModeFlag::Hybrid],
            false => self.mode.clone(),
        };
        let (asking, modes): (Vec<_>, Vec<_>) =
            modes.into_iter().partition(|mode| matches!(mode, ModeFlag::Ask));
        if !asking.is_empty() {
            self.ask(&app, &folder)?;
        }
        if modes.is_empty() {
            return Ok(());
        }
        let mut means: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
        out::say("set                   mode     questions  nDCG@10  MRR@10   recall@10");
        for path in &self.sets {
            let set = Set::read(path)?;
            let bar = Bar::new();
            let bench = Bench::prepare(
                &set.documents,
                &folder.join(&set.name),
                eval::Model::of(&app),
                &bar as &dyn Progress,
            )?;
            for mode in &modes {
                let run = bench.run(&set.questions, (*mode).into(), &bar)?;
                bar.finish();
                let scores = Scores::of(&run, &set.judgements);
                let name = word(*mode);
                out::say(format_args!(
                    "{:<21} {name:<8} {:>9}  {:.4}   {:.4}   {:.4}",
                    set.name, scores.questions, scores.ndcg, scores.mrr, scores.recall
                ));
                means.entry(name).or_default().push(scores.ndcg);
                if let Some(folder) = &self.run_out {
                    std::fs::create_dir_all(folder).doing("make the folder for run files")?;
                    let file = folder.join(format!("{}.{name}.run", set.name));
                    vault::replace(&file, trec(&run, name).as_bytes())?;
                    if self.explain {
                        let file = folder.join(format!("{}.{name}.tsv", set.name));
                        vault::replace(&file, explained(&run).as_bytes())?;
                    }
                }
            }
        }
        if self.sets.len() > 1 {
            for (name, scores) in means {
                let mean = scores.iter().sum::<f64>() / scores.len() as f64;
                out::say(format_args!("{:<21} {name:<8} {:>9}  {mean:.4}", "mean", scores.len()));
            }
        }
        Ok(())
    }
}

impl Eval {
    /// How well questions are answered, beside the best passage as the answer to everything.
    fn ask(&self, app: &App, folder: &Path) -> Result<()> {
        out::say(
            "set                   questions            asked  in answer  right source  declined  sure, wrong  characters",
        );
        for path in &self.sets {
            let set = Set::read(path)?;
            let golds = asking::golds(path)?;
            let bar = Bar::new();
            let model = eval::Model::of(app);
            let bench = Bench::prepare(
                &set.documents,
                &folder.join(&set.name),
                model.clone(),
                &bar as &dyn Progress,
            )?;
            let all = |questions: &[Question], withhold| {
                bench.ask_all(model.as_ref(), &set, questions, &golds, withhold, &bar)
            };
            let answerable = all(&set.questions, false)?;
            let withheld = all(&set.questions, true)?;
            let unanswerable = match self.unanswerable(path) {
                Some(file) => all(&asking::questions(&file)?, false)?,
                None => Vec::new(),
            };
            bar.finish();
            row(&set.name, "best passage", &Figures::of_passages(&answerable));
            row(&set.name, "answerable", &Figures::of(&answerable));
            row(&set.name, "note withheld", &Figures::of(&withheld));
            if !unanswerable.is_empty() {
                row(&set.name, "not in the notes", &Figures::of(&unanswerable));
            }
            let others: Vec<&Outcome> = withheld.iter().chain(&unanswerable).collect();
            let bins = asking::reliability(&answerable, &others);
            let error = asking::calibration_error(&bins);
            out::say(format_args!("{:<21} calibration error {error:.4}", set.name));
            for bin in bins.iter().filter(|bin| bin.answers > 0) {
                let Bin { answers, confidence, right, .. } = bin;
                out::say(format_args!(
                    "{:<21} confidence {confidence:.3}  right {right:.3}  of {answers}",
                    ""
                ));
            }
            if let Some(folder) = &self.run_out {
                std::fs::create_dir_all(folder).doing("make the folder for run files")?;
                let runs = [
                    ("answerable", &answerable),
                    ("withheld", &withheld),
                    ("unanswerable", &unanswerable),
                ];
                for (name, outcomes) in runs {
                    let file = folder.join(format!("{}.ask.{name}.jsonl", set.name));
                    let text: String =
                        outcomes.iter().map(|outcome| line(outcome, self.explain)).collect();
                    vault::replace(&file, text.as_bytes())?;
                }
            }
        }
        Ok(())
    }

    fn unanswerable(&self, set: &Path) -> Option<PathBuf> {
        let name = set.file_name()?.to_string_lossy().replace("-notes", "");
        let files = [set.join("noanswer.jsonl"), set.with_file_name(name).join("noanswer.jsonl")];
        self.noanswer.clone().or_else(|| files.into_iter().find(|file| file.exists()))
    }
}

fn row(set: &str, what: &str, figures: &Figures) {
    let Figures { questions, holds, first, surely_wrong, declined, characters } = figures;
    out::say(format_args!(
        "{set:<21} {what:<18} {questions:>7}     {holds:.4}        {first:.4}    {declined:.4}       {surely_wrong:.4}  {characters:>10.0}"
    ));
}

/// One answer as a line of JSON; with the features of every statement, for `models/ask/fit.py`.
fn line(outcome: &Outcome, explain: bool) -> String {
    let mut line = serde_json::json!({
        "id": outcome.id,
        "answer": outcome.reply.text(true),
        "confidence": outcome.reply.confidence,
        "answered": outcome.reply.is_answer(),
        "holds": outcome.holds,
        "draft_holds": outcome.draft_holds,
        "first": outcome.first,
    });
    if explain {
        let rows = outcome.statements.iter().zip(&outcome.reply.statements);
        line["statements"] = rows
            .map(|((features, holds), statement)| {
                serde_json::json!({ "features": features, "holds": holds, "text": statement.text })
            })
            .collect();
    }
    format!("{line}\n")
}

fn word(mode: ModeFlag) -> &'static str {
    match mode {
        ModeFlag::Lexical => "lexical",
        ModeFlag::Vector => "vector",
        ModeFlag::Hybrid => "hybrid",
        ModeFlag::Ask => "ask",
    }
}

fn trec(run: &Run, tag: &str) -> String {
    let mut text = String::new();
    for (question, ranking) in run {
        for (rank, Ranked { document, score, .. }) in ranking.iter().enumerate() {
            text += &format!("{question} Q0 {document} {} {score:.6} notewell-{tag}\n", rank + 1);
        }
    }
    text
}

fn explained(run: &Run) -> String {
    let mut text = String::new();
    for (question, ranking) in run {
        for Ranked { document, evidence, .. } in ranking {
            let cosine = evidence.cosine.map_or("-".to_owned(), |cosine| format!("{cosine:.4}"));
            text += &format!(
                "{question}\t{document}\t{:.3}\t{:.3}\t{:.3}\t{cosine}\n",
                evidence.words, evidence.whole, evidence.share
            );
        }
    }
    text
}
