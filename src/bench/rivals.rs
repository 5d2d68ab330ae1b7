//! The programs that search is compared with: plain tantivy and SQLite's FTS5, with the same
//! passages, the same terms and the same questions, in the same run. Both get the terms of our own
//! analyser, so that all three look for the same things.

use std::path::Path;

use rusqlite::Connection;
use tantivy::{
    IndexReader, Term,
    collector::TopDocs,
    query::{BooleanQuery, Occur, Query, TermQuery},
    schema::{Field, IndexRecordOption, Schema, TextFieldIndexing, TextOptions},
    tokenizer::{TextAnalyzer, WhitespaceTokenizer},
};

use super::corpus::Corpus;
use crate::{
    domain::{Document, Progress, Result, error::Doing},
    text::{self, Analyser, Kind, Mode},
};

/// What the writer of raw tantivy may keep in memory.
const BUFFER: usize = 256 << 20;
const BEST: usize = 10;

pub struct Rivals {
    reader: IndexReader,
    field: Field,
    database: Connection,
}

impl Rivals {
    /// Indexes the whole corpus twice.
    pub fn build(folder: &Path, notes: i64, corpus: &Corpus, bar: &dyn Progress) -> Result<Self> {
        let (tantivy, sqlite) = ("build raw tantivy", "build FTS5");
        let done = folder.join("done");
        if done.exists() {
            return Self::open(folder);
        }
        std::fs::create_dir_all(folder.join("tantivy")).doing(tantivy)?;
        let mut schema = Schema::builder();
        let indexing = TextFieldIndexing::default()
            .set_tokenizer("terms")
            .set_index_option(IndexRecordOption::WithFreqsAndPositions);
        let field =
            schema.add_text_field("text", TextOptions::default().set_indexing_options(indexing));
        let index =
            tantivy::Index::create_in_dir(folder.join("tantivy"), schema.build()).doing(tantivy)?;
        index.tokenizers().register("terms", TextAnalyzer::from(WhitespaceTokenizer::default()));
        let mut writer = index.writer(BUFFER).doing(tantivy)?;

        let database = Connection::open(folder.join("fts5.db")).doing(sqlite)?;
        database
            .execute_batch(
                "PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF;
                 CREATE VIRTUAL TABLE passages USING fts5(text, content = '', tokenize = \"unicode61 remove_diacritics 0\");
                 BEGIN",
            )
            .doing(sqlite)?;
        {
            let mut insert =
                database.prepare("INSERT INTO passages(text) VALUES (?1)").doing(sqlite)?;
            let mut analyser = Analyser::new();
            for pid in 1..=notes {
                if pid % 64 == 0 {
                    bar.report(pid as u64, Some(notes as u64), "building the rivals");
                }
                for terms in terms(&mut analyser, &corpus.document(pid)) {
                    insert.execute([&terms]).doing(sqlite)?;
                    let mut document = tantivy::TantivyDocument::default();
                    document.add_text(field, &terms);
                    writer.add_document(document).doing(tantivy)?;
                }
            }
        }
        bar.report(0, None, "finishing the rivals");
        database
            .execute_batch("COMMIT; INSERT INTO passages(passages) VALUES ('optimize')")
            .doing(sqlite)?;
        writer.commit().doing(tantivy)?;
        writer.wait_merging_threads().doing(tantivy)?;
        std::fs::File::create(done).doing(tantivy)?;
        let reader = index.reader().doing(tantivy)?;
        Ok(Self { reader, field, database })
    }

    /// What an earlier run built.
    fn open(folder: &Path) -> Result<Self> {
        let what = "open the rivals";
        let index = tantivy::Index::open_in_dir(folder.join("tantivy")).doing(what)?;
        let field = index.schema().get_field("text").doing(what)?;
        let reader = index.reader().doing(what)?;
        let database = Connection::open(folder.join("fts5.db")).doing(what)?;
        Ok(Self { reader, field, database })
    }

    pub fn tantivy(&self, terms: &[String]) -> Result<()> {
        let clause = |term: &String| -> (Occur, Box<dyn Query>) {
            let term = Term::from_field_text(self.field, term);
            (Occur::Should, Box::new(TermQuery::new(term, IndexRecordOption::WithFreqs)))
        };
        let query = BooleanQuery::new(terms.iter().map(clause).collect());
        let best = TopDocs::with_limit(BEST).order_by_score();
        self.reader.searcher().search(&query, &best).doing("ask raw tantivy").map(drop)
    }

    pub fn fts5(&self, terms: &[String]) -> Result<()> {
        if terms.is_empty() {
            // None of the words occurs; FTS5 takes that for a syntax error.
            return Ok(());
        }
        let quoted: Vec<String> =
            terms.iter().map(|term| format!("\"{}\"", term.replace('"', "\"\""))).collect();
        let question = quoted.join(" OR ");
        let what = "ask FTS5";
        let mut statement = self
            .database
            .prepare_cached(
                "SELECT rowid FROM passages WHERE passages MATCH ?1 ORDER BY rank LIMIT 10",
            )
            .doing(what)?;
        let rows = statement.query_map([question], |row| row.get::<_, i64>(0)).doing(what)?;
        rows.collect::<rusqlite::Result<Vec<i64>>>().doing(what).map(drop)
    }
}

/// The terms of every word of a question, each once.
pub fn every_word(question: &str) -> Vec<String> {
    let mut seen = std::collections::HashSet::new();
    let terms = Analyser::new().terms(question, None, Mode::Query);
    terms
        .into_iter()
        .filter(|term| !matches!(term.kind, Kind::Form(_) | Kind::Key | Kind::Variant | Kind::Part))
        .map(|term| term.term)
        .filter(|term| seen.insert(term.clone()))
        .collect()
}

/// Title, heading and text of each passage as terms with a space between.
fn terms(analyser: &mut Analyser, document: &Document) -> Vec<String> {
    let lang = text::lang::detect(document.chunks.first().map_or("", |chunk| chunk.text.as_str()));
    let mut all = Vec::with_capacity(document.chunks.len());
    for chunk in &document.chunks {
        let mut terms = String::with_capacity(chunk.text.len() * 2);
        for part in [&document.title, &chunk.toc_path.join(" "), &chunk.text] {
            analyser.analyse(part, Some(lang), Mode::Index, |token| {
                terms.push_str(token.term);
                terms.push(' ');
            });
        }
        all.push(terms);
    }
    all
}
