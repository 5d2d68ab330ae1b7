//! Search over many passages through the tool door, with the embedded model turning each question
//! into a vector. The passages' own vectors are random: they cost the scan the same, and a million
//! real ones would take hours to compute.

use std::{
    collections::HashMap,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use serde_json::json;

use super::{
    config,
    corpus::{Corpus, Random, new_word},
    open, process,
    report::{Goal, Report, Times},
    rivals,
};
use crate::{
    app::App,
    config::EmbedProvider,
    domain::{Chunk, Document, Error, Filters, Kind, Pid, Progress, Result, Timestamp},
    embed::embedded::Embedded,
    index::{self, Asked, Embed, Index, Source},
    search::{self, Engine, Mode, Options},
    store::{
        Store,
        pages::{Facts, NewPage, PageChange},
    },
    tools, vault,
};

/// Passages of one note.
const PASSAGES: u32 = 20;
const QUESTIONS: u64 = 1_000;
/// Questions to `ask`, which embeds the statements of five passages for each.
const ANSWERS: u64 = 100;
const EDITS: u64 = 20;
/// The vault name of the generated notes.
const VAULT: &str = "bench";

/// The library's own registry and log, with documents that are made when asked for.
struct Shelf {
    store: Store,
    corpus: Arc<Corpus>,
    notes: i64,
    /// Differs from run to run, so that a library that was kept can be changed again.
    run: u64,
    /// What was added to items since.
    edits: Mutex<HashMap<i64, String>>,
}

impl Source for Shelf {
    fn changes(&self, after: i64, limit: usize) -> Result<Vec<(i64, Pid)>> {
        self.store.items.changes(after, limit)
    }

    fn head(&self) -> Result<i64> {
        self.store.items.head()
    }

    fn document(&self, pid: Pid) -> Result<Option<Document>> {
        let mut document = self.corpus.document(pid.0);
        let edits = self.edits.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(text) = edits.get(&pid.0) {
            document.chunks.push(Chunk {
                ordinal: PASSAGES,
                toc_path: Vec::new(),
                text: text.clone(),
                range: 0..text.len(),
            });
        }
        Ok(Some(document))
    }

    fn library(&self) -> Result<i64> {
        Ok(0)
    }

    fn all(&self) -> Result<Vec<Pid>> {
        let items = self.store.items.list(None, None, usize::MAX >> 1)?;
        Ok(items.into_iter().map(|item| item.pid).collect())
    }
}

/// What `folder` has from a run before is used again. With `store`, the library is one of a server,
/// and this process a replica.
pub fn run(
    count: u64,
    seed: u64,
    bar: &dyn Progress,
    folder: &Path,
    store: Option<&str>,
) -> Result<Report> {
    let notes = count.div_ceil(u64::from(PASSAGES)).max(1) as i64;
    let count = notes as u64 * u64::from(PASSAGES);
    let mut report = Report::new(format!("Search over {count} passages of {notes} notes"));
    let corpus = Arc::new(Corpus::new(seed, PASSAGES));
    let library = folder.join("library");
    let (app, shelf) = build(&library, store, notes, &corpus, bar, &mut report)?;
    let per_million = |bytes: u64| Some(bytes * 1_000_000 / count);
    report.megabytes("index on disk", Some(process::size(&library.join("index"))), Goal::None);
    report.megabytes(
        "index on disk, for a million passages",
        per_million(process::size(&library.join("index"))),
        Goal::None,
    );

    let mut tokens: Vec<usize> =
        (0..QUESTIONS).map(|number| Embedded::new().tokens(&corpus.question(number))).collect();
    tokens.sort_unstable();
    for (at, share) in [(50, 0.5), (99, 0.99)] {
        let place = (tokens.len() as f64 * share) as usize;
        report.add(
            format!("a question as the model sees it, p{at}"),
            tokens[place] as f64,
            "tokens",
            Goal::None,
        );
    }
    let door =
        ask(count.min(QUESTIONS), bar, |number| through_the_door(&app, &corpus.question(number)))?;
    let most = if count > 100_000 { 60.0 } else { 15.0 };
    let middle = if count > 100_000 { Goal::None } else { Goal::Below(5.0) };
    report.times("hybrid search through the tool door", &door, middle, Goal::Below(most));
    let process = std::process::id();
    for (line, what) in [("VmRSS", "memory"), ("RssAnon", "memory without mapped files")] {
        let bytes = process::memory(process, line);
        report.megabytes(format!("{what} after these searches"), bytes, Goal::None);
        report.megabytes(
            format!("{what}, for a million passages"),
            bytes.and_then(per_million),
            Goal::None,
        );
    }
    let answers = ask(count.min(ANSWERS), bar, |number| {
        let arguments = json!({ "question": corpus.question(number) });
        tools::call(&app, &app.owner(), "ask", arguments, &tools::Call::default()).map(drop)
    })?;
    report.times("`ask` through the tool door", &answers, Goal::None, Goal::None);
    let words = ask(count.min(QUESTIONS), bar, |number| by_words(&app, &corpus.question(number)))?;
    report.times("search by words", &words, Goal::None, Goal::None);
    let terms =
        ask(count.min(QUESTIONS), bar, |number| best_terms(&app, &corpus.question(number)))?;
    report.times("the best 10 passages by words, nothing else", &terms, Goal::None, Goal::None);
    let changed = ask(EDITS, bar, |number| change(&app, &shelf, number))?;
    report.times("one changed note, found by the next search", &changed, Goal::None, Goal::None);

    let ours = (words, terms);
    against(&app, &ours, notes, &corpus, bar, &folder.join("rivals"), &mut report)?;
    Ok(report)
}

/// Raw tantivy and FTS5 on the same documents, asked for the same terms.
fn against(
    app: &App,
    (words, terms): &(Times, Times),
    notes: i64,
    corpus: &Corpus,
    bar: &dyn Progress,
    folder: &Path,
    report: &mut Report,
) -> Result<()> {
    let view = app.index.view()?;
    let count = QUESTIONS.min(notes as u64 * u64::from(PASSAGES));
    let numbers = 0..count + warm(count);
    // The terms that our own search looks up, and every word of the question: neither rival knows
    // which words mean nothing.
    let ours: Vec<Vec<String>> = numbers
        .clone()
        .map(|number| Ok(view.words(&corpus.question(number))?.terms))
        .collect::<Result<_>>()?;
    let typed: Vec<Vec<String>> =
        numbers.map(|number| rivals::every_word(&corpus.question(number))).collect();
    drop(view);
    let rivals = rivals::Rivals::build(folder, notes, corpus, bar)?;
    let mut race = |who: &str, count, one: &dyn Fn(u64) -> Result<()>| -> Result<Times> {
        let times = ask(count, bar, one)?;
        report.times(who, &times, Goal::None, Goal::None);
        Ok(times)
    };
    let few = (count / 5).max(1);
    let our_terms = race("raw tantivy, one field, best 10, our terms", count, &|number| {
        rivals.tantivy(&ours[number as usize])
    })?;
    let tantivy = race("raw tantivy, one field, best 10, every word", count, &|number| {
        rivals.tantivy(&typed[number as usize])
    })?;
    race("SQLite FTS5, bm25, best 10, our terms", few, &|number| {
        rivals.fts5(&ours[number as usize])
    })?;
    let fts5 = race("SQLite FTS5, bm25, best 10, every word", few, &|number| {
        rivals.fts5(&typed[number as usize])
    })?;
    let (whole, best) = ("search by words", "the best 10 passages by words");
    let ratios = [
        (whole, words, "raw tantivy, every word", &tantivy, Goal::Below(2.0)),
        (best, terms, "raw tantivy, every word", &tantivy, Goal::Below(2.0)),
        (best, terms, "raw tantivy, our terms", &our_terms, Goal::Below(2.0)),
        ("FTS5, every word", &fts5, whole, words, Goal::AtLeast(20.0)),
        ("FTS5, every word", &fts5, best, terms, Goal::AtLeast(20.0)),
    ];
    for (over, one, under, other, goal) in ratios {
        for (name, at, goal) in [("p50", 0.5, goal), ("p99", 0.99, Goal::None)] {
            let ratio = one.at(at) / other.at(at).max(1e-6);
            report.add(format!("{over} / {under}, {name}"), ratio, "times", goal);
        }
    }
    Ok(())
}

/// A library whose index holds the whole corpus, and whose questions are embedded for real.
fn build(
    folder: &Path,
    store: Option<&str>,
    notes: i64,
    corpus: &Arc<Corpus>,
    bar: &dyn Progress,
    report: &mut Report,
) -> Result<(App, Arc<Shelf>)> {
    let mut settings = config(folder, EmbedProvider::Embedded);
    settings.store.url = store.unwrap_or_default().to_owned();
    let mut app = open(settings)?;
    let Some(model) = crate::eval::Model::of(&app) else {
        return Err(Error::internal("the embedded model is not there"));
    };
    let known = app.store.items.count(Some(Kind::Page))? as i64;
    if known == 0 {
        app.store.pages.add_vault(VAULT, &folder.to_string_lossy(), false)?;
    }
    let pids: Vec<i64> = (known + 1..=notes).collect();
    for batch in pids.chunks(2_000) {
        bar.report(batch[0] as u64, Some(notes as u64), "registering notes");
        let changes: Result<Vec<PageChange>> = batch
            .iter()
            .map(|pid| Ok(PageChange::Put { pid: None, page: Box::new(page(corpus, *pid, 0)?) }))
            .collect();
        app.store.pages.apply(&changes?)?;
    }
    let shelf = Arc::new(Shelf {
        store: app.store.clone(),
        corpus: corpus.clone(),
        notes,
        run: (Timestamp::now().0 as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1,
        edits: Mutex::default(),
    });
    let (id, dims) = (model.id.as_str(), model.dims);
    let index = Arc::new(Index::open(&folder.join("index"), shelf.clone(), Some((id, dims)))?);
    let started = Instant::now();
    index.catch_up(&|stage| stage.report(bar))?;
    report.add("indexing the words", started.elapsed().as_secs_f64(), "s", Goal::None);
    let started = Instant::now();
    vectors(&index, dims, bar)?;
    report.add("keeping the vectors", started.elapsed().as_secs_f64(), "s", Goal::None);
    app.engine = Engine::new(index.clone(), Some(model.questions), Duration::from_secs(60));
    app.index = index;
    Ok((app, shelf))
}

/// Gives every passage a vector, by the worker that would compute real ones.
fn vectors(index: &Arc<Index>, dims: usize, bar: &dyn Progress) -> Result<()> {
    let embed: Embed =
        Arc::new(move |texts| Ok(texts.iter().map(|text| vector(text, dims)).collect()));
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let worker = index::Worker::start(index.clone(), embed, cores)?;
    loop {
        std::thread::sleep(Duration::from_millis(100));
        let Some(state) = index.status()?.vectors else {
            return Err(Error::internal("the index has no vectors"));
        };
        bar.report(state.done, Some(state.total), "making vectors");
        if state.is_complete() {
            drop(worker);
            return Ok(());
        }
    }
}

/// A direction that only depends on the text. The length is the index's business.
fn vector(text: &str, dims: usize) -> Vec<f32> {
    let seed = text.bytes().fold(0xCBF2_9CE4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01B3)
    });
    let mut random = Random::new(seed);
    let mut vector: Vec<f32> = (0..dims)
        .map(|_| (random.share() + random.share() + random.share() - 1.5) as f32)
        .collect();
    let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt().max(f32::MIN_POSITIVE);
    vector.iter_mut().for_each(|x| *x /= length);
    vector
}

/// What the registry knows of a note.
fn page(corpus: &Corpus, pid: i64, version: u64) -> Result<NewPage> {
    let document = corpus.document(pid);
    let path = document.path.parse()?;
    let (page, _) = vault::page(VAULT, &path, &format!("# {}\n", document.title));
    let mut hash = [0; 32];
    hash[..8].copy_from_slice(&pid.to_le_bytes());
    hash[8..16].copy_from_slice(&version.to_le_bytes());
    let toc = document.chunks.iter().flat_map(|chunk| chunk.toc_path.clone()).collect();
    let facts = Facts { page, links: Vec::new(), toc, slow_ms: None };
    Ok(NewPage { vault: VAULT.into(), path: document.path, size: 1, mtime_ns: 1, hash, facts })
}

/// Calls that come first and do not count.
fn warm(count: u64) -> u64 {
    count / 10
}

fn ask(count: u64, bar: &dyn Progress, mut one: impl FnMut(u64) -> Result<()>) -> Result<Times> {
    let warm = warm(count);
    Times::of(std::process::id(), warm, count, |number| {
        if number.is_multiple_of(16) {
            bar.report(number, Some(warm + count), "asking");
        }
        let started = Instant::now();
        one(number)?;
        Ok(started.elapsed())
    })
}

fn call(app: &App, question: &str) -> Result<tools::Output> {
    let arguments = json!({ "query": question });
    tools::call(app, &app.owner(), "search", arguments, &tools::Call::default())
}

fn through_the_door(app: &App, question: &str) -> Result<()> {
    call(app, question).map(drop)
}

fn by_words(app: &App, question: &str) -> Result<()> {
    let filters = Filters::default();
    let mut options = Options::new(&filters);
    options.mode = Mode::Lexical;
    app.engine.search(&search::parse(question)?, &options).map(drop)
}

fn best_terms(app: &App, question: &str) -> Result<()> {
    let view = app.index.view()?;
    let filters = Filters::default();
    let words = view.words(question)?;
    let sums = view.sums(&words)?;
    view.lexical(&words, &sums, &view.narrow(&Asked::by(&filters))?, 10).map(drop)
}

/// Adds a passage to a note, and finds it.
fn change(app: &App, shelf: &Shelf, number: u64) -> Result<()> {
    let pid = number as i64 * 97 % shelf.notes + 1;
    let word = new_word(number ^ shelf.run);
    let text = format!("Here is a new paragraph about {word}.");
    shelf.edits.lock().unwrap_or_else(PoisonError::into_inner).insert(pid, text);
    let page = page(&shelf.corpus, pid, shelf.run ^ number)?;
    app.store.pages.apply(&[PageChange::Put { pid: Some(Pid(pid)), page: Box::new(page) }])?;
    let found = call(app, &word)?;
    match found.text.contains(&format!("p{pid}:c{PASSAGES}")) {
        true => Ok(()),
        false => Err(Error::internal(format!("a change was not found at once: `{}`", found.text))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Silent;

    #[test]
    fn a_small_one_finds_its_changes() {
        let folder = tempfile::tempdir().unwrap();
        let report = run(60, 1, &Silent, folder.path(), None).unwrap();
        let json = super::super::report::json(&[report]);
        let figures = json["benches"][0]["figures"].as_array().unwrap();
        let has = |what: &str| {
            figures.iter().any(|figure| figure["what"].as_str().unwrap().contains(what))
        };
        for what in ["hybrid search", "raw tantivy", "FTS5", "one changed note", "on disk"] {
            assert!(has(what), "{what} is not in {json:#}");
        }
    }

    #[test]
    fn vectors_are_of_length_one_and_of_their_text() {
        let (one, two) = (vector("a", 64), vector("b", 64));
        assert!((one.iter().map(|x| x * x).sum::<f32>() - 1.0).abs() < 1e-4);
        assert_eq!(one, vector("a", 64));
        assert!(one.iter().zip(&two).map(|(x, y)| x * y).sum::<f32>().abs() < 0.6);
    }
}
