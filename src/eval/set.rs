//! A judged set: documents, questions and what people found relevant.

use std::{
    collections::HashMap,
    io::{BufRead, BufReader, Read},
    path::{Path, PathBuf},
};

use serde::{Deserialize, de::DeserializeOwned};

use crate::domain::{Error, Result, error::Doing};

#[derive(Debug, Clone, Deserialize)]
pub struct Entry {
    pub id: String,
    pub lang: String,
    #[serde(default)]
    pub title: String,
    pub text: String,
    #[serde(default)]
    pub path: String,
}

/// A question of a set.
#[derive(Debug, Clone, Deserialize)]
pub struct Question {
    /// Its id.
    pub id: String,
    /// Its words.
    pub text: String,
    /// Only documents in this language count.
    pub target: Option<String>,
    /// The question is this whole document, which does not count itself.
    #[serde(rename = "doc")]
    pub document: Option<String>,
}

/// What was judged of each question: document and how relevant it is.
pub type Judgements = HashMap<String, HashMap<String, f64>>;

/// A judged set.
pub struct Set {
    /// The name of its folder.
    pub name: String,
    /// The documents.
    pub documents: Vec<Entry>,
    /// The questions.
    pub questions: Vec<Question>,
    /// Relevance by question and document.
    pub judgements: Judgements,
}

#[derive(Deserialize)]
struct Mixed {
    sets: Vec<String>,
}

impl Set {
    /// Reads a set's folder; one with `mixed.json` is the sets it names, in one index.
    pub fn read(folder: &Path) -> Result<Self> {
        let name = folder.file_name().map(|name| name.to_string_lossy().into_owned());
        let name = name.unwrap_or_else(|| "set".into());
        let mixed = folder.join("mixed.json");
        if mixed.exists() {
            let text = std::fs::read_to_string(&mixed).doing("read `mixed.json`")?;
            let mixed: Mixed = serde_json::from_str(&text)
                .map_err(|error| Error::invalid_params(format!("`mixed.json`: {error}")))?;
            let mut whole =
                Self { name, documents: vec![], questions: vec![], judgements: HashMap::new() };
            for part in mixed.sets {
                let part = Self::read(&folder.join("..").join(part))?;
                whole.documents.extend(part.documents);
                whole.questions.extend(part.questions);
                whole.judgements.extend(part.judgements);
            }
            return Ok(whole);
        }
        Ok(Self {
            name,
            documents: read_documents(&folder.join("docs.jsonl.gz"))?,
            questions: read_lines(open(&folder.join("queries.jsonl"))?, folder)?,
            judgements: read_judgements(&folder.join("qrels.tsv"))?,
        })
    }
}

pub(super) fn open(path: &Path) -> Result<Box<dyn Read>> {
    let file = std::fs::File::open(path).doing(format_args!("open `{}`", path.display()))?;
    Ok(Box::new(file))
}

/// The documents of a file.
pub(super) fn read_documents(file: &Path) -> Result<Vec<Entry>> {
    read_lines(open_documents(file)?, file)
}

/// The documents, gzipped; or, where a link became a file, the path that it points to.
fn open_documents(path: &Path) -> Result<Box<dyn Read>> {
    let mut start = Vec::new();
    open(path)?.take(2).read_to_end(&mut start).doing("read the documents")?;
    if start == [0x1f, 0x8b] {
        return Ok(Box::new(flate2::read::MultiGzDecoder::new(open(path)?)));
    }
    let target = std::fs::read_to_string(path).doing(format_args!("read `{}`", path.display()))?;
    let target: PathBuf = path.parent().unwrap_or(Path::new(".")).join(target.trim());
    if !target.exists() {
        return Err(Error::invalid_params(format!(
            "`{}` is neither gzipped documents nor the path of some",
            path.display()
        )));
    }
    Ok(Box::new(flate2::read::MultiGzDecoder::new(open(&target)?)))
}

pub(super) fn read_lines<T: DeserializeOwned>(
    input: Box<dyn Read>,
    folder: &Path,
) -> Result<Vec<T>> {
    let mut entries = Vec::new();
    for (number, line) in BufReader::new(input).lines().enumerate() {
        let line = line.doing(format_args!("read the set `{}`", folder.display()))?;
        if line.trim().is_empty() {
            continue;
        }
        entries.push(serde_json::from_str(&line).map_err(|error| {
            Error::invalid_params(format!("`{}` line {}: {error}", folder.display(), number + 1))
        })?);
    }
    Ok(entries)
}

fn read_judgements(path: &Path) -> Result<Judgements> {
    let text = std::fs::read_to_string(path).doing(format_args!("read `{}`", path.display()))?;
    let mut judgements = Judgements::new();
    for line in text.lines() {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let (question, document, relevance) = match fields[..] {
            [question, document, relevance] => (question, document, relevance),
            [question, _, document, relevance] => (question, document, relevance),
            _ => continue,
        };
        let Ok(relevance) = relevance.parse() else { continue };
        judgements.entry(question.to_owned()).or_default().insert(document.to_owned(), relevance);
    }
    judgements.retain(|_, documents| documents.values().any(|relevance| *relevance > 0.0));
    Ok(judgements)
}
