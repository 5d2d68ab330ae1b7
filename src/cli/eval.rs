use std::{collections::BTreeMap, path::PathBuf};

use clap::{Args, ValueEnum};

use super::{Common, bar::Bar, out};
use crate::{
    app::eval::{Bench, Ranked, Run, Scores, Set},
    domain::{Progress, Result, error::Doing},
    search::Mode,
    vault,
};

#[derive(Args)]
pub struct Eval {
    /// Folders of judged sets
    #[arg(required = true, value_name = "SET")]
    sets: Vec<PathBuf>,
    /// How to search [default: all three]
    #[arg(long)]
    mode: Vec<ModeFlag>,
    /// Write a TREC run file for each set and mode here
    #[arg(long, value_name = "DIR")]
    run_out: Option<PathBuf>,
    /// Also write what each side said of every result: passage, item, share, cosine
    #[arg(long, requires = "run_out")]
    explain: bool,
    /// Keep indexes and vectors here, for the next evaluation
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum ModeFlag {
    Lexical,
    Vector,
    Hybrid,
}

impl From<ModeFlag> for Mode {
    fn from(flag: ModeFlag) -> Self {
        match flag {
            ModeFlag::Lexical => Mode::Lexical,
            ModeFlag::Vector => Mode::Vector,
            ModeFlag::Hybrid => Mode::Hybrid,
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
        let mut means: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
        out::say("set                   mode     questions  nDCG@10  MRR@10   recall@10");
        for path in &self.sets {
            let set = Set::read(path)?;
            let bar = Bar::new();
            let bench = Bench::prepare(
                &set.documents,
                &folder.join(&set.name),
                app.model(),
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

fn word(mode: ModeFlag) -> &'static str {
    match mode {
        ModeFlag::Lexical => "lexical",
        ModeFlag::Vector => "vector",
        ModeFlag::Hybrid => "hybrid",
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
