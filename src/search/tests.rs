use std::{path::Path, sync::Arc, time::Duration};

use super::*;
use crate::{
    domain::{Code, Error, Filters, Kind, Pid, Timestamp},
    index::{
        Index,
        shelf::{DIMS, Shelf, embed, embed_one, page},
    },
};

const LONG: Duration = Duration::from_secs(20);

struct Library {
    shelf: Shelf,
    engine: Engine,
    _folder: tempfile::TempDir,
}

fn engine(folder: &Path, shelf: &Shelf) -> Engine {
    let index = Index::open(folder, shelf.source(), Some(("test", DIMS))).unwrap();
    Engine::new(Arc::new(index), Some(Arc::new(|text, _| Ok(embed_one(text)))), LONG)
}

impl Library {
    fn new(shelf: Shelf) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let engine = engine(folder.path(), &shelf);
        engine.index().catch_up(&|_| {}).unwrap();
        engine.index().embed_all(&embed(), 1, &|_, _| {}).unwrap();
        Self { shelf, engine, _folder: folder }
    }

    fn ask(&self, query: &str) -> Answer {
        self.ask_in(query, Mode::Hybrid)
    }

    fn ask_in(&self, query: &str, mode: Mode) -> Answer {
        let filters = Filters::default();
        let options = Options { mode, ..Options::new(&filters) };
        self.engine.search(&parse(query).unwrap(), &options).unwrap()
    }

    fn error(&self, query: &str, change: &dyn Fn(&mut Options<'_>)) -> Error {
        let filters = Filters::default();
        let mut options = Options::new(&filters);
        change(&mut options);
        self.engine.search(&parse(query).unwrap(), &options).unwrap_err()
    }
}

fn pids(answer: &Answer) -> Vec<i64> {
    answer.results.iter().map(|found| found.pid.0).collect()
}

fn garden() -> Library {
    let shelf = Shelf::default();
    shelf.put(page(
        1,
        "Roses",
        &["Prune roses in early spring. Cut above a bud.", "Feed roses with compost in May."],
    ));
    shelf.put(page(2, "Огород", &["Полив помидоров в субботу утром.", "Морковь сеют в апреле."]));
    shelf.put(page(3, "庭の手入れ", &["バラの剪定は早春に行います。", "東京では三月が目安です。"]));
    let mut card = page(4, "Shopping", &["compost, gloves, string"]);
    card.kind = Kind::Card;
    card.labels = vec!["garden".into()];
    card.date = Timestamp::parse("2025-05-05");
    shelf.put(card);
    Library::new(shelf)
}

#[test]
fn an_answer_has_items_with_their_best_passages() {
    let library = garden();
    let answer = library.ask("roses compost");
    assert_eq!(pids(&answer)[0], 1, "both words in one item");
    let first = &answer.results[0];
    assert_eq!(
        (first.kind, first.title.as_str(), first.path.as_str()),
        (Kind::Page, "Roses", "notes/1.md")
    );
    assert_eq!(first.matches[0].id.to_string(), "p1:c1");
    assert_eq!(first.matches[0].toc_path, ["Part 1"]);
    assert!(first.matches[0].snippet.contains("compost"), "{:?}", first.matches[0]);
    let marked: Vec<_> =
        first.matches[0].marks.iter().map(|mark| &first.matches[0].snippet[mark.clone()]).collect();
    assert_eq!(marked, ["roses", "compost"]);
    assert_eq!(first.matches.len(), 2);
    assert!(answer.notes().is_empty(), "{:?}", answer.notes());
    for found in &answer.results {
        assert!((0.0..=1.0).contains(&found.relevance));
    }
    assert!(answer.results.windows(2).all(|pair| pair[0].score >= pair[1].score));
}

#[test]
fn every_mode_finds_it_in_three_languages() {
    let library = garden();
    for (query, pid) in [("prune roses", 1), ("суббота помидоры", 2), ("バラの剪定は早春に", 3)]
    {
        for mode in [Mode::Lexical, Mode::Vector, Mode::Hybrid] {
            assert_eq!(pids(&library.ask_in(query, mode))[0], pid, "{query} {mode:?}");
        }
    }
    assert_eq!(library.ask("суббота").results[0].matches[0].id.to_string(), "p2:c0");
}

#[test]
fn a_change_is_in_the_next_answer() {
    let library = garden();
    library.shelf.put(page(9, "Tulips", &["Plant tulips in October."]));
    let answer = library.ask("tulips");
    assert_eq!(pids(&answer)[0], 9);
    let vectors = answer.vectors.unwrap();
    assert!(answer.freshness.is_fresh());
    assert_eq!(vectors.total, 8);
    library.shelf.remove(9);
    assert!(!pids(&library.ask("tulips")).contains(&9));
}

#[test]
fn the_query_string_narrows() {
    let library = garden();
    assert_eq!(pids(&library.ask("compost kind:card")), [4]);
    assert_eq!(pids(&library.ask("compost label:garden")), [4]);
    assert_eq!(pids(&library.ask("compost after:2025-01-01 before:2026-01-01")), [4]);
    assert!(!pids(&library.ask("compost -gloves")).contains(&4));
    assert_eq!(pids(&library.ask("\"early spring\"")), [1]);
    assert_eq!(pids(&library.ask("label:garden")), [4], "filters alone are a listing");
    assert_eq!(library.ask("kind:page").total.items, 3);
}

#[test]
fn what_was_done_is_told() {
    let library = garden();
    let answer = library.ask("compots qqqqqqq");
    let notes = answer.notes().join("; ");
    assert!(notes.contains("`compots`") && notes.contains("instead"), "{notes}");
    assert!(notes.contains("qqqqqqq"), "{notes}");
    let folder = tempfile::tempdir().unwrap();
    let cold = engine(folder.path(), &library.shelf);
    let filters = Filters::default();
    let answer = cold.search(&parse("roses").unwrap(), &Options::new(&filters)).unwrap();
    assert_eq!(pids(&answer)[0], 1, "words work before there is any vector");
    assert!(answer.notes().iter().any(|note| note.contains("0 of 7")), "{:?}", answer.notes());
}

#[test]
fn a_broken_embedder_leaves_the_words_and_is_told() {
    let library = garden();
    let index = Arc::clone(library.engine.index());
    let broken: Vectorise = Arc::new(|_, _| Err(Error::outside("the server is down")));
    let engine = Engine::new(index, Some(broken), LONG);
    let filters = Filters::default();
    let answer = engine.search(&parse("roses").unwrap(), &Options::new(&filters)).unwrap();
    assert_eq!(pids(&answer), [1]);
    assert!(answer.notes()[0].contains("the server is down"));
}

#[test]
fn odd_questions_get_sensible_answers() {
    let library = garden();
    for query in ["???", "—", "\"", "the of and", "и в на", "のはが", "🎉", "-", "\"…\""]
    {
        let answer = library.ask(query);
        assert!(answer.results.len() <= 10, "{query}");
    }
    assert!(library.ask("???").results.is_empty());
    for (query, limit) in [("", 10), ("roses", 0), ("roses", 10_000)] {
        assert_eq!(
            library.error(query, &|options| options.limit = limit).code,
            Code::InvalidParams
        );
    }
    assert_eq!(library.error("roses", &|options| options.offset = 5_000).code, Code::InvalidParams);
    let long = library.ask(&"roses ".repeat(1_600));
    assert_eq!(pids(&long)[0], 1);
}

#[test]
fn pages_do_not_overlap_and_cover_everything() {
    let shelf = Shelf::default();
    for pid in 1..=57 {
        shelf.put(page(pid, &format!("Note {pid}"), &[&format!("lamp number {pid}")]));
    }
    let library = Library::new(shelf);
    let filters = Filters::default();
    let query = parse("lamp").unwrap();
    let (mut seen, mut offset) = (Vec::new(), 0);
    loop {
        let options = Options { offset, mode: Mode::Lexical, ..Options::new(&filters) };
        let answer = library.engine.search(&query, &options).unwrap();
        assert_eq!(answer.total.items, 57);
        seen.extend(pids(&answer));
        match answer.next {
            Some(next) => offset = next,
            None => break,
        }
    }
    seen.sort_unstable();
    assert_eq!(seen, (1..=57).collect::<Vec<_>>());
}

#[test]
fn relevance_is_a_probability_that_never_rises() {
    let library = garden();
    for query in ["roses compost", "помидоры в субботу", "バラの剪定"] {
        for mode in [Mode::Lexical, Mode::Hybrid] {
            let answer = library.ask_in(query, mode);
            let list: Vec<f32> = answer.results.iter().map(|found| found.relevance).collect();
            assert!(list.iter().all(|relevance| (0.0..=1.0).contains(relevance)), "{list:?}");
            assert!(list.windows(2).all(|pair| pair[0] >= pair[1]), "{query}: {list:?}");
        }
    }
}

/// A prompt has the words of the question, and is found where it is asked for.
#[test]
fn prompts_are_found_where_they_are_asked_for() {
    for (note, prompt, query) in [
        (
            "Prune roses in spring.",
            "Act as a gardener and talk of spring things.",
            "prune roses in early spring",
        ),
        (
            "Обрезка роз весной.",
            "Веди себя как садовник и говори о весне.",
            "обрезка роз ранней весной",
        ),
        (
            "バラの剪定は早春に行います。",
            "あなたは庭師です。早春の話をしてください。",
            "バラの剪定は早春に",
        ),
    ] {
        let shelf = Shelf::default();
        shelf.put(page(1, "Garden", &[note]));
        let mut weak = page(2, "Gardener", &[prompt]);
        weak.kind = Kind::Prompt;
        shelf.put(weak);
        let library = Library::new(shelf);
        assert_eq!(pids(&library.ask_in(query, Mode::Lexical)), [1], "{query}");
        let asked = format!("{query} kind:prompt");
        assert_eq!(pids(&library.ask_in(&asked, Mode::Lexical)), [2], "{query}");
    }
}

#[test]
fn similar_goes_on_where_it_ended() {
    let shelf = Shelf::default();
    for pid in 1..=5 {
        shelf.put(page(pid, "Roses", &[&format!("pruning roses, part {pid}")]));
    }
    let library = Library::new(shelf);
    let filters = Filters::default();
    let page = |offset| {
        let options = Options { limit: 2, offset, ..Options::new(&filters) };
        library.engine.similar(Like::Text("pruning roses"), &options).unwrap()
    };
    let (first, second) = (page(0), page(2));
    assert_eq!(first.next, Some(2));
    assert!(pids(&first).iter().all(|pid| !pids(&second).contains(pid)));
}

#[test]
fn copies_are_folded() {
    let shelf = Shelf::default();
    let text = "A long paragraph about the habits of hedgehogs in city gardens at night.";
    for pid in 1..=3 {
        shelf.put(page(pid, "Hedgehogs", &[text]));
    }
    shelf.put(page(4, "Other", &["Hedgehogs also like leaves."]));
    let library = Library::new(shelf);
    let answer = library.ask("hedgehogs city gardens");
    assert_eq!(answer.results.len(), 2);
    assert_eq!(answer.results[0].pid, Pid(1), "the first of equals, always");
    assert_eq!(answer.results[0].duplicates, [Pid(2), Pid(3)]);
}

#[test]
fn similar_by_text_and_by_item() {
    let shelf = Shelf::default();
    shelf.put(page(1, "A", &["pruning roses in the early spring"]));
    shelf.put(page(2, "B", &["pruning of roses, early spring work"]));
    shelf.put(page(3, "C", &["quarterly tax declaration forms"]));
    let library = Library::new(shelf);
    let filters = Filters::default();
    let options = Options::new(&filters);
    let answer = library.engine.similar(Like::Item(Pid(1)), &options).unwrap();
    assert_eq!(pids(&answer)[0], 2);
    assert!(!pids(&answer).contains(&1), "not itself");
    let answer = library.engine.similar(Like::Text("tax declaration"), &options).unwrap();
    assert_eq!(pids(&answer)[0], 3);
    assert!(answer.results[0].relevance > answer.results[1].relevance);
    for like in [Like::Item(Pid(99)), Like::Text(" … ")] {
        let error = library.engine.similar(like, &options).unwrap_err();
        assert_eq!(error.code, Code::InvalidParams);
    }
}
