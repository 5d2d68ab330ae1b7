use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use clap::{Args, ValueEnum};

use super::{Common, bar::Bar, out};
use crate::{
    app::App,
    domain::{Error, Kind, Progress, Result, error::Doing},
    eval::{
        self, Bench, Corpus, Question, Ranked, Reliability, ReliabilityBin as Bin, Run, Scores,
        Set,
        asking::{self, Figures, Outcome},
    },
    search::{Evidence, Mode},
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
    /// Also write the evidence of every result: words, whole, share, cosine, own, place, other
    /// language, kind, score
    #[arg(long, requires = "run_out")]
    explain: bool,
    /// Keep indexes and vectors here, for the next evaluation
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
    /// The kind of item that the documents of the sets become [default: page]
    #[arg(
        long = "as",
        value_name = "KIND",
        default_value = "page",
        hide_default_value = true,
        value_parser = super::word::<Kind>
    )]
    kind: Kind,
    /// Search the sets beside the items of a file: `bookmark:FILE`, `prompt:FILE` or `page:FILE`
    #[arg(long, value_name = "KIND:FILE", value_parser = super::word::<Beside>)]
    beside: Vec<Beside>,
    /// Also ask the questions of this set, which the documents do not answer. May be repeated
    #[arg(long, value_name = "SET")]
    foreign: Vec<PathBuf>,
    /// Also print whether the relevance of the best ten results is a probability
    #[arg(long)]
    reliability: bool,
    /// For `ask`: questions that the sets do not answer [default: noanswer.jsonl of the set, or of
    /// the set that it was made from]
    #[arg(long, value_name = "FILE")]
    noanswer: Option<PathBuf>,
}

/// A file whose items are searched beside a set.
#[derive(Debug, Clone)]
struct Beside {
    kind: Kind,
    file: PathBuf,
}

impl std::str::FromStr for Beside {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let (kind, file) = text.split_once(':').ok_or_else(|| {
            Error::invalid_params(format!("`{text}` is not KIND:FILE, such as bookmark:all.jsonl"))
        })?;
        Ok(Self { kind: kind.parse()?, file: file.into() })
    }
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
        let mut promised: BTreeMap<&str, Vec<(f32, bool)>> = BTreeMap::new();
        let foreign: Vec<Set> =
            self.foreign.iter().map(|path| Set::read(path)).collect::<Result<_>>()?;
        out::say("set                   mode     questions  nDCG@10  MRR@10   recall@10");
        for path in &self.sets {
            let set = Set::read(path)?;
            let bar = Bar::new();
            let bench = Bench::prepare(
                self.corpus(&set)?,
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
                promised.entry(name).or_default().extend(eval::promises(&run, &set.judgements));
                self.write(&set.name, name, &run)?;
                for other in &foreign {
                    let run = bench.run(&other.questions, (*mode).into(), &bar)?;
                    bar.finish();
                    let empty = run.iter().filter(|(_, ranking)| ranking.is_empty()).count();
                    out::say(format_args!(
                        "{:<21} {name:<8} {:>9}  {empty} without a result: questions of {}",
                        set.name,
                        run.len(),
                        other.name
                    ));
                    let nothing = Default::default();
                    promised.entry(name).or_default().extend(eval::promises(&run, &nothing));
                    self.write(&format!("{}.{}", set.name, other.name), name, &run)?;
                }
            }
        }
        if self.reliability {
            for (name, results) in &promised {
                say_reliability(name, &Reliability::of(results.iter().copied()));
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
    /// Writes the run file of a set and a mode, where asked for.
    fn write(&self, set: &str, mode: &str, run: &Run) -> Result<()> {
        let Some(folder) = &self.run_out else { return Ok(()) };
        std::fs::create_dir_all(folder).doing("make the folder for run files")?;
        vault::replace(&folder.join(format!("{set}.{mode}.run")), trec(run, mode).as_bytes())?;
        if self.explain {
            let file = folder.join(format!("{set}.{mode}.tsv"));
            vault::replace(&file, explained(run).as_bytes())?;
        }
        Ok(())
    }

    /// The documents of a set and what it is searched beside.
    fn corpus(&self, set: &Set) -> Result<Corpus> {
        let mut corpus = Corpus::of(&set.documents, self.kind)?;
        for Beside { kind, file } in &self.beside {
            corpus.add(*kind, file)?;
        }
        Ok(corpus)
    }

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
                self.corpus(&set)?,
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
            say_reliability(&set.name, &asking::reliability(&answerable, &others));
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

fn say_reliability(name: &str, table: &Reliability) {
    out::say(format_args!("{name:<21} calibration error {:.4}", table.error()));
    for bin in table.bins() {
        let Bin { count, probability, right, .. } = bin;
        out::say(format_args!(
            "{:<21} probability {probability:.3}  right {right:.3}  of {count}",
            ""
        ));
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
        for Ranked { document, evidence, score, .. } in ranking {
            let cosine = evidence.cosine.map_or("-".to_owned(), |cosine| format!("{cosine:.4}"));
            let Evidence { words, whole, share, own, place, abroad, kind, .. } = evidence;
            let abroad = u8::from(*abroad);
            text += &format!(
                "{question}\t{document}\t{words:.3}\t{whole:.3}\t{share:.4}\t{cosine}\t{own:.4}\t{place}\t{abroad}\t{kind}\t{score:.5}\n",
            );
        }
    }
    text
}
