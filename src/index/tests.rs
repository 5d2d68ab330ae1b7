// A torn file is what these tests are about.
#![allow(clippy::disallowed_methods, reason = "a test's own files")]

use std::{
    collections::BTreeSet,
    fs,
    path::Path,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::Duration,
};

use super::{
    generation::Generation,
    repair::Repairs,
    shelf::{DIMS, Shelf, embed, embed_one, page},
    *,
};
use crate::domain::{
    Filters, Kind, Timestamp, Visible,
    query::{Action, Sentiment},
};

const LONG: Duration = Duration::from_secs(20);

fn open(folder: &Path, shelf: &Shelf) -> Index {
    Index::open(folder, shelf.source(), Some(("test", DIMS))).unwrap()
}

fn everything() -> Filters {
    Filters::default()
}

fn find_with(
    index: &Index,
    text: &str,
    filters: &Filters,
    phrases: &[&str],
    excluded: &[&str],
) -> Vec<String> {
    assert!(index.ensure_fresh(LONG).unwrap().is_fresh());
    let view = index.view().unwrap();
    let (phrases, excluded): (Vec<String>, Vec<String>) = (
        phrases.iter().map(|p| (*p).to_owned()).collect(),
        excluded.iter().map(|p| (*p).to_owned()).collect(),
    );
    let narrowing = view
        .narrow(&Asked { filters, phrases: &phrases, excluded: &excluded, lang: None })
        .unwrap();
    let words = view.words(text).unwrap();
    let hits = view.lexical(&words, &view.sums(&words).unwrap(), &narrowing, 50).unwrap();
    hits.iter().map(|hit| hit.id.to_string()).collect()
}

fn find(index: &Index, text: &str) -> Vec<String> {
    find_with(index, text, &everything(), &[], &[])
}

fn sorted(mut found: Vec<String>) -> Vec<String> {
    found.sort();
    found
}

fn library() -> Shelf {
    let shelf = Shelf::default();
    shelf.put(page(1, "Garden", &["Tomatoes want sun and water", "Slugs eat lettuce"]));
    shelf.put(page(2, "Сад", &["Помидоры любят солнце", "Поливать в субботу утром"]));
    shelf.put(page(3, "庭", &["トマトは太陽が好きです", "東京の天気は晴れ"]));
    shelf.put(page(4, "Empty page", &[]));
    shelf
}

#[test]
fn words_are_found_in_three_languages() {
    let folder = tempfile::tempdir().unwrap();
    let index = open(folder.path(), &library());
    assert_eq!(find(&index, "tomatoes"), ["p1:c0"]);
    assert_eq!(find(&index, "помидоры"), ["p2:c0"]);
    assert_eq!(find(&index, "東京"), ["p3:c1"]);
    assert_eq!(find(&index, "empty"), ["p4:c0"], "an item without text is found by its title");
    assert_eq!(find(&index, "garden").len(), 2, "a title is a title of every passage");
}

#[test]
fn a_change_is_seen_by_the_next_search() {
    let folder = tempfile::tempdir().unwrap();
    let shelf = library();
    let index = open(folder.path(), &shelf);
    assert_eq!(find(&index, "cucumber"), [""; 0]);
    shelf.put(page(1, "Garden", &["Cucumbers and one cucumber"]));
    assert_eq!(find(&index, "cucumber"), ["p1:c0"]);
    assert_eq!(find(&index, "lettuce"), [""; 0], "the old passages are gone");
    shelf.remove(1);
    assert_eq!(find(&index, "cucumber"), [""; 0]);
    let view = index.view().unwrap();
    assert!(view.passages_of(Pid(1)).unwrap().is_empty());
}

#[test]
fn each_filter_narrows_words_and_vectors_alike() {
    let shelf = Shelf::default();
    for pid in 1..=40 {
        let mut item = page(pid, &format!("Item {pid}"), &["apple pie"]);
        item.chunks[0].text = format!("apple pie number {pid}");
        shelf.put(item);
    }
    let mut special = page(77, "Special", &["apple tart"]);
    special.kind = Kind::Bookmark;
    special.path = "Guides/Deep/special.md".into();
    special.labels = vec!["Work".into(), "日本".into()];
    special.category = Some("Еда".into());
    special.author = Some("@Karpathy".into());
    special.date = Timestamp::parse("2025-03-10");
    special.sentiment = Some("positive".into());
    special.action = Some("try_tool".into());
    special.free = true;
    shelf.put(special);
    let mut archived = page(88, "Archived", &["apple core"]);
    archived.archived = true;
    shelf.put(archived);
    let folder = tempfile::tempdir().unwrap();
    let index = open(folder.path(), &shelf);
    index.catch_up(&|_| {}).unwrap();
    index.embed_all(&embed(), 2, &|_, _| {}).unwrap();
    let day = |text| Timestamp::parse(text);
    let only = |change: &dyn Fn(&mut Filters)| {
        let mut filters = everything();
        change(&mut filters);
        filters
    };
    let holding = [
        only(&|f| f.kinds = vec![Kind::Bookmark, Kind::Card]),
        only(&|f| f.path = Some("guides/".into())),
        only(&|f| f.path = Some("Guides/Deep".into())),
        only(&|f| f.path = Some("guides/deep/special.md".into())),
        only(&|f| f.labels = vec!["work".into(), "#日本".into()]),
        only(&|f| f.category = Some("еда".into())),
        only(&|f| f.author = Some("karpathy".into())),
        only(&|f| f.from = day("2025-03-10")),
        only(&|f| f.until = day("2025-03-11")),
        only(&|f| f.sentiment = Some(Sentiment::Positive)),
        only(&|f| f.action = Some(Action::TryTool)),
        only(&|f| f.visible = Visible::free()),
    ];
    let near = |filters: &Filters| {
        let view = index.view().unwrap();
        let narrowing = view.narrow(&Asked::by(filters)).unwrap();
        let hits = view.nearest(&embed_one("apple"), &narrowing, 100).unwrap();
        hits.iter().map(|hit| hit.id.to_string()).collect::<Vec<_>>()
    };
    for filters in &holding {
        assert_eq!(find_with(&index, "apple", filters, &[], &[]), ["p77:c0"], "{filters:?}");
        assert_eq!(near(filters), ["p77:c0"], "{filters:?}");
    }
    let failing = [
        only(&|f| f.kinds = vec![Kind::Prompt]),
        only(&|f| f.path = Some("guide".into())),
        only(&|f| f.labels = vec!["work".into(), "home".into()]),
        only(&|f| f.category = Some("food".into())),
        only(&|f| f.from = day("2025-03-11")),
        only(&|f| f.until = day("2025-03-10")),
        only(&|f| f.sentiment = Some(Sentiment::Negative)),
    ];
    for filters in &failing {
        assert!(find_with(&index, "apple", filters, &[], &[]).is_empty(), "{filters:?}");
        assert!(near(filters).is_empty(), "{filters:?}");
    }
    assert!(!find(&index, "apple").contains(&"p88:c0".to_owned()), "archived: only when asked");
    assert!(!near(&everything()).contains(&"p88:c0".to_owned()));
    let archived = only(&|f| f.archived = true);
    assert!(find_with(&index, "apple", &archived, &[], &[]).contains(&"p88:c0".to_owned()));
    assert_eq!(near(&archived).len(), 42);
}

#[test]
fn phrases_and_exclusions() {
    let shelf = Shelf::default();
    shelf.put(page(1, "A", &["the quick brown fox", "also a lazy dog"]));
    shelf.put(page(2, "B", &["the brown quick fox"]));
    shelf.put(page(3, "В", &["Быстрая рыжая лиса", "ленивая собака"]));
    shelf.put(page(4, "C", &["東京都庁の展望台", "大阪城の桜"]));
    let folder = tempfile::tempdir().unwrap();
    let index = open(folder.path(), &shelf);
    let f = everything();
    assert_eq!(find_with(&index, "quick brown", &f, &["quick brown"], &[]), ["p1:c0"]);
    assert_eq!(find_with(&index, "быстрая рыжая", &f, &["быстрая рыжая"], &[]), ["p3:c0"]);
    assert_eq!(find_with(&index, "東京都庁", &f, &["東京都庁"], &[]), ["p4:c0"]);
    assert!(find_with(&index, "fox", &f, &["brown brown fox"], &[]).is_empty());
    assert_eq!(
        find_with(&index, "fox", &f, &[], &["lazy"]),
        ["p2:c0"],
        "a word excludes the item, not only the passage it stands in"
    );
    assert_eq!(find_with(&index, "лиса", &f, &[], &["собака"]), [""; 0]);
    assert_eq!(find_with(&index, "東京", &f, &[], &["大阪"]), [""; 0]);
}

#[test]
fn a_word_that_occurs_nowhere_is_tried_by_prefix_and_by_one_typo() {
    let shelf = Shelf::default();
    shelf.put(page(1, "Ops", &["kubernetes cluster", "прометей следит"]));
    let folder = tempfile::tempdir().unwrap();
    let index = open(folder.path(), &shelf);
    assert_eq!(find(&index, "kubernutes"), ["p1:c0"]);
    assert_eq!(find(&index, "kuber"), ["p1:c0"]);
    assert_eq!(find(&index, "промтеей"), ["p1:c1"], "two letters changed places");
    let view = index.view().unwrap();
    let words = view.words("kuber kubernutes zzzzzz cluster").unwrap();
    let told: Vec<_> =
        words.expansions.iter().map(|e| (e.word.as_str(), e.how, e.instead.len())).collect();
    assert_eq!(told, [("kuber", Replacement::Prefix, 1), ("kubernutes", Replacement::Typo, 1)]);
    assert_eq!(words.unknown, ["zzzzzz"]);
}

#[test]
fn matches_are_counted_by_item() {
    let folder = tempfile::tempdir().unwrap();
    let shelf = Shelf::default();
    for pid in 1..=30 {
        shelf.put(page(pid, "T", &["common word", "common again", "other"]));
    }
    shelf.remove(7);
    let index = open(folder.path(), &shelf);
    index.ensure_fresh(LONG).unwrap();
    let view = index.view().unwrap();
    let narrowing = view.narrow(&Asked::by(&everything())).unwrap();
    let words = view.words("common").unwrap();
    let total = view.count(&words, &view.item_sums(&words).unwrap(), &narrowing).unwrap();
    assert_eq!(total, Total { items: 29, exact: true });
    let (listed, total) = view.listing(&narrowing, 5).unwrap();
    assert_eq!((listed.len(), total.items), (5, 29));
}

/// Adding up and skipping are two ways to one answer.
#[test]
fn adding_up_finds_what_skipping_finds() {
    let folder = tempfile::tempdir().unwrap();
    let shelf = Shelf::default();
    let words = ["alpha", "beta", "гамма", "дельта", "東京", "晴れ"];
    for pid in 1..=60i64 {
        let text = |part: i64| -> String {
            let word = |at: i64| words[((pid * 7 + part * 3 + at * at) % 6) as usize];
            (0..3 + (pid + part) % 5).map(|at| format!("{} ", word(at))).collect()
        };
        shelf.put(page(pid, words[(pid % 6) as usize], &[&text(0), &text(1), "other things"]));
    }
    let index = open(folder.path(), &shelf);
    index.ensure_fresh(LONG).unwrap();
    shelf.remove(9);
    shelf.put(page(12, "alpha", &["beta beta", "東京 alpha"]));
    index.ensure_fresh(LONG).unwrap();
    let view = index.view().unwrap();
    let filters = Filters { path: Some("notes".into()), ..everything() };
    let narrowing = view.narrow(&Asked::by(&filters)).unwrap();
    for question in ["alpha", "beta дельта", "東京 晴れ alpha гамма", "part other", "nothing"]
    {
        let words = view.words(question).unwrap();
        let (sums, items) = (view.sums(&words).unwrap(), view.item_sums(&words).unwrap());
        let skipping = Sums::unknown();
        let added = view.lexical(&words, &sums, &narrowing, 20).unwrap();
        let skipped = view.lexical(&words, &skipping, &narrowing, 20).unwrap();
        assert_eq!(added.len(), skipped.len(), "{question}");
        for (added, skipped) in added.iter().zip(&skipped) {
            assert!((added.score - skipped.score).abs() < 1e-4, "{question}");
        }
        let hits = || added.iter();
        let (one, two) = (
            view.item_scores(&words, &items, hits()).unwrap(),
            view.item_scores(&words, &skipping, hits()).unwrap(),
        );
        for (pid, score) in &one {
            let other = two.get(pid).copied().unwrap_or(0.0);
            assert!((score - other).abs() < 1e-4, "{question} {pid} {score} {other}");
        }
        let passages: Vec<Hit> =
            view.beside(added.first().unwrap_or(&all_of(&view, 12)[0])).unwrap();
        let (one, two) = (
            view.scores(&words, &sums, &passages).unwrap(),
            view.scores(&words, &skipping, &passages).unwrap(),
        );
        assert!(one.iter().zip(&two).all(|(one, two)| (one - two).abs() < 1e-4), "{question}");
        assert_eq!(
            view.count(&words, &items, &narrowing).unwrap(),
            view.count(&words, &skipping, &narrowing).unwrap(),
            "{question}"
        );
    }
    assert_eq!(view.beside(&all_of(&view, 12)[1]).unwrap(), all_of(&view, 12));
}

fn all_of(view: &View, pid: i64) -> Vec<Hit> {
    view.passages_of(Pid(pid)).unwrap()
}

/// What another process does between the moment at which a build is opened and the first search.
#[test]
fn what_is_committed_while_a_build_is_opened_is_found() {
    let changes: [fn(&Index); 2] = [
        |writer| assert_eq!(find(writer, "nineteen"), ["p9:c0"]),
        |writer| {
            writer.rebuild(&|_| {}).unwrap();
            assert_eq!(find(writer, "nineteen"), ["p9:c0"]);
        },
    ];
    for change in changes {
        let (folder, shelf) = (tempfile::tempdir().unwrap(), Shelf::default());
        let writer = open(folder.path(), &shelf);
        shelf.put(page(1, "Garden", &["Tomatoes need water."]));
        assert_eq!(find(&writer, "tomatoes"), ["p1:c0"]);
        let opened = Index::showing(
            folder.path(),
            shelf.source(),
            None,
            Repairs::new(folder.path()),
            |root, _, _| {
                let build = Generation::open(root, &writer.generation().name);
                shelf.put(page(9, "Nine", &["nineteen"]));
                change(&writer);
                build
            },
        );
        assert_eq!(find(&opened.unwrap(), "nineteen"), ["p9:c0"]);
    }
}

#[test]
fn two_handles_share_one_folder() {
    let folder = tempfile::tempdir().unwrap();
    let shelf = library();
    let (first, second) = (open(folder.path(), &shelf), open(folder.path(), &shelf));
    assert_eq!(find(&first, "tomatoes"), ["p1:c0"]);
    assert!(first.status().unwrap().writing);
    assert_eq!(find(&second, "tomatoes"), ["p1:c0"], "a reader needs no lease");
    // The first holds the lease and sleeps: the second waits, answers and says that it is behind.
    shelf.put(page(9, "Nine", &["nineteen"]));
    let freshness = second.ensure_fresh(Duration::from_millis(30)).unwrap();
    assert_eq!(freshness.behind, 1);
    // The first goes: the second takes over.
    drop(first);
    assert_eq!(find(&second, "nineteen"), ["p9:c0"]);
}

#[test]
fn a_waiting_handle_sees_what_the_follower_of_another_does() {
    let folder = tempfile::tempdir().unwrap();
    let shelf = library();
    let holder = std::sync::Arc::new(open(folder.path(), &shelf));
    let follower = Follower::start(std::sync::Arc::clone(&holder)).unwrap();
    let other = open(folder.path(), &shelf);
    for round in 0..5 {
        shelf.put(page(50 + round, "New", &[&format!("fresh{round} text")]));
        assert_eq!(find(&other, &format!("fresh{round}"))[0], format!("p{}:c0", 50 + round));
    }
    drop(follower);
}

#[test]
fn what_was_not_committed_is_caught_up_after_a_crash() {
    let folder = tempfile::tempdir().unwrap();
    let shelf = library();
    let index = open(folder.path(), &shelf);
    index.ensure_fresh(LONG).unwrap();
    shelf.put(page(5, "Late", &["latecomer"]));
    // A process that dies leaves locks free, files unfinished and nothing committed.
    drop(index);
    let build = fs::read_to_string(folder.path().join("current")).unwrap();
    fs::write(folder.path().join(&build).join("00000000000000000000000000000000.store"), b"half")
        .unwrap();
    let index = open(folder.path(), &shelf);
    assert_eq!(find(&index, "latecomer"), ["p5:c0"]);
    assert_eq!(find(&index, "tomatoes"), ["p1:c0"]);
}

#[test]
fn a_fill_that_was_cut_short_goes_on_where_it_was() {
    struct Flaky(Shelf, AtomicUsize);
    impl Source for Flaky {
        fn changes(&self, after: i64, limit: usize) -> Result<Vec<(i64, Pid)>> {
            self.0.changes(after, limit)
        }
        fn head(&self) -> Result<i64> {
            self.0.head()
        }
        fn document(&self, pid: Pid) -> Result<Option<Document>> {
            if self.1.fetch_add(1, Ordering::SeqCst) == 150 {
                return Err(crate::domain::Error::internal("the disk went away"));
            }
            self.0.document(pid)
        }
        fn library(&self) -> Result<i64> {
            self.0.library()
        }
        fn all(&self) -> Result<Vec<Pid>> {
            self.0.all()
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let shelf = Shelf::default();
    for pid in 1..=250 {
        shelf.put(page(pid, "T", &[&format!("word{pid}")]));
    }
    let source = std::sync::Arc::new(Flaky(shelf.clone(), AtomicUsize::new(0)));
    let index = Index::open(folder.path(), source.clone(), None).unwrap();
    assert!(index.ensure_fresh(LONG).is_err(), "a failure is reported");
    let before = source.1.load(Ordering::SeqCst);
    assert_eq!(index.view().unwrap().passages(), 100, "the first step was kept");
    assert_eq!(index.ensure_fresh(LONG).unwrap(), Freshness::default());
    assert_eq!(source.1.load(Ordering::SeqCst) - before, 150, "only the rest was read again");
    assert_eq!(index.view().unwrap().passages(), 250);
}

#[test]
fn an_index_that_cannot_be_trusted_is_made_anew() {
    let folder = tempfile::tempdir().unwrap();
    let shelf = library();
    let index = open(folder.path(), &shelf);
    index.ensure_fresh(LONG).unwrap();
    drop(index);
    let name = || fs::read_to_string(folder.path().join("current")).unwrap();
    let first = name();
    let meta = folder.path().join(&first).join("meta.json");
    let text = fs::read_to_string(&meta).unwrap().replace("seq", "sequence");
    fs::write(&meta, text).unwrap();
    let index = open(folder.path(), &shelf);
    assert_eq!(find(&index, "tomatoes"), ["p1:c0"]);
    assert_ne!(name(), first, "a wrong payload");
    drop(index);
    fs::write(folder.path().join(name()).join("meta.json"), "{").unwrap();
    assert_eq!(find(&open(folder.path(), &shelf), "tomatoes"), ["p1:c0"], "a torn meta.json");
    // Written in another boot, not flushed, and a segment lost its end.
    let build = folder.path().join(name());
    fs::write(build.join("boot"), "another boot").unwrap();
    let mut segments = fs::read_dir(&build).unwrap().map(|entry| entry.unwrap().path());
    let segment = segments.find(|path| path.extension().is_some_and(|e| e == "idx")).unwrap();
    let mut bytes = fs::read(&segment).unwrap();
    bytes[3] ^= 0xff;
    fs::write(&segment, bytes).unwrap();
    assert_eq!(find(&open(folder.path(), &shelf), "tomatoes"), ["p1:c0"], "a torn segment");
    fs::remove_dir_all(folder.path()).unwrap();
    assert_eq!(find(&open(folder.path(), &shelf), "tomatoes"), ["p1:c0"], "nothing is left at all");
}

#[test]
fn a_log_that_went_back_means_another_library() {
    let folder = tempfile::tempdir().unwrap();
    let shelf = library();
    let index = open(folder.path(), &shelf);
    index.ensure_fresh(LONG).unwrap();
    shelf.remove(2);
    shelf.forget_log(3);
    index.tend(LONG).unwrap();
    assert_eq!(find(&index, "помидоры"), [""; 0]);
    assert_eq!(find(&index, "tomatoes"), ["p1:c0"]);
}

#[test]
fn an_index_that_followed_equals_one_made_anew() {
    let folder = tempfile::tempdir().unwrap();
    let shelf = Shelf::default();
    let index = open(folder.path(), &shelf);
    let mut number = 11u64;
    let words = ["apple", "pear", "слива", "груша", "東京", "大阪", "plum"];
    for _ in 0..300 {
        number = number.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let pid = (number >> 33) % 40;
        if number >> 60 == 3 {
            shelf.remove(pid as i64);
        } else {
            let text = |at: u64| words[((number >> (20 + at * 3)) % 7) as usize];
            let one = format!("{} {} {}", text(0), text(1), text(2));
            shelf.put(page(pid as i64, text(3), &[&one, text(4)]));
        }
        if number >> 61 == 1 {
            index.ensure_fresh(LONG).unwrap();
        }
    }
    index.ensure_fresh(LONG).unwrap();
    let fresh_folder = tempfile::tempdir().unwrap();
    let fresh = open(fresh_folder.path(), &shelf);
    fresh.ensure_fresh(LONG).unwrap();
    let before = index.view().unwrap().contents().unwrap();
    assert_eq!(before, fresh.view().unwrap().contents().unwrap());
    index.rebuild(&|_| {}).unwrap();
    assert_eq!(index.view().unwrap().contents().unwrap(), before);
    for word in words {
        let found = |index: &Index| -> BTreeSet<String> { find(index, word).into_iter().collect() };
        assert_eq!(found(&index), found(&fresh), "{word}");
    }
}

#[test]
fn a_rebuild_is_searched_only_when_it_is_whole() {
    let folder = tempfile::tempdir().unwrap();
    let shelf = library();
    let index = open(folder.path(), &shelf);
    let other = open(folder.path(), &shelf);
    index.ensure_fresh(LONG).unwrap();
    let first = index.status().unwrap().build;
    index
        .rebuild(&|_| assert_eq!(other.status().unwrap().passages, 7, "the old one answers"))
        .unwrap();
    assert_ne!(index.status().unwrap().build, first);
    assert_eq!(find(&index, "tomatoes"), ["p1:c0"]);
    assert_eq!(find(&other, "tomatoes"), ["p1:c0"], "other handles change over too");
    assert_eq!(other.status().unwrap().build, index.status().unwrap().build);
    shelf.remove(1);
    assert_eq!(find(&index, "tomatoes"), [""; 0]);
    assert!(!folder.path().join(first).exists(), "the old one is gone");
}

#[test]
fn a_build_of_an_older_analyser_answers_until_its_successor_is_whole() {
    let folder = tempfile::tempdir().unwrap();
    let shelf = library();
    let index = open(folder.path(), &shelf);
    index.ensure_fresh(LONG).unwrap();
    drop(index);
    let name = fs::read_to_string(folder.path().join("current")).unwrap();
    let old = format!("terms-{}-0-1", schema::VERSION);
    fs::rename(folder.path().join(name), folder.path().join(&old)).unwrap();
    fs::write(folder.path().join("current"), &old).unwrap();
    let index = open(folder.path(), &shelf);
    assert!(index.status().unwrap().outdated);
    assert_eq!(find(&index, "tomatoes"), ["p1:c0"]);
    index.tend(LONG).unwrap();
    let status = index.status().unwrap();
    assert!(!status.outdated && status.passages == 7, "{status:?}");
    assert_eq!(find(&index, "tomatoes"), ["p1:c0"]);
    assert!(!folder.path().join(old).exists());
}

#[test]
fn vectors_follow_and_never_point_at_what_is_gone() {
    let folder = tempfile::tempdir().unwrap();
    let shelf = library();
    let index = std::sync::Arc::new(open(folder.path(), &shelf));
    index.ensure_fresh(LONG).unwrap();
    assert_eq!(index.status().unwrap().vectors, Some(Progress { done: 0, total: 7 }));
    let calls = std::sync::Arc::new(AtomicUsize::new(0));
    let counting: Embed = {
        let (calls, embed) = (std::sync::Arc::clone(&calls), embed());
        std::sync::Arc::new(move |texts| {
            calls.fetch_add(texts.len(), Ordering::SeqCst);
            embed(texts)
        })
    };
    let worker = Worker::start(std::sync::Arc::clone(&index), counting, 1).unwrap();
    let wait = |done: &dyn Fn() -> bool| {
        for _ in 0..1_000 {
            if done() {
                return;
            }
            thread::sleep(Duration::from_millis(10));
        }
        panic!("the worker did not finish");
    };
    let complete = || index.status().unwrap().vectors.unwrap().is_complete();
    wait(&complete);
    assert_eq!(calls.load(Ordering::SeqCst), 7);
    let nearest = |text: &str| {
        index.ensure_fresh(LONG).unwrap();
        let view = index.view().unwrap();
        let narrowing = view.narrow(&Asked::by(&everything())).unwrap();
        let hits = view.nearest(&embed_one(text), &narrowing, 50).unwrap();
        hits.iter().map(|hit| hit.id.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(nearest("Garden > Part 1\nSlugs eat lettuce")[0], "p1:c1");
    assert_eq!(nearest("Сад > Part 1\nПоливать в субботу утром")[0], "p2:c1");
    // Moved: same words under another number and path. Nothing is computed again.
    let mut moved = shelf.document(Pid(1)).unwrap().unwrap();
    shelf.remove(1);
    moved.pid = Pid(100);
    moved.path = "elsewhere.md".into();
    shelf.put(moved);
    assert_eq!(nearest("Garden > Part 1\nSlugs eat lettuce")[0], "p100:c1");
    wait(&complete);
    assert_eq!(calls.load(Ordering::SeqCst), 7);
    shelf.remove(100);
    let left = sorted(nearest("Garden > Part 1\nSlugs eat lettuce"));
    assert_eq!(left, ["p2:c0", "p2:c1", "p3:c0", "p3:c1", "p4:c0"]);
    drop(worker);
    // Another start finds every vector again.
    drop(index);
    let again = open(folder.path(), &shelf);
    let never: Embed = std::sync::Arc::new(|_| panic!("nothing is missing"));
    again.embed_all(&never, 1, &|_, _| {}).unwrap();
}

#[test]
fn a_collection_has_a_centre_once_it_is_one() {
    let (folder, shelf) = (tempfile::tempdir().unwrap(), Shelf::default());
    let index = open(folder.path(), &shelf);
    let grow = |pids: std::ops::Range<i64>| {
        for pid in pids {
            shelf.put(page(pid, "Roses", &[&format!("Prune roses in spring, note {pid}.")]));
        }
        index.catch_up(&|_| {}).unwrap();
        index.embed_all(&embed(), 1, &|_, _| {}).unwrap();
        index.centre(&index.view().unwrap()).unwrap()
    };
    assert!(grow(1..20).is_none());
    let centre = grow(20..101).unwrap();
    assert_eq!(centre.len(), DIMS);
    let length: f32 = centre.iter().map(|value| value * value).sum::<f32>().sqrt();
    assert!((0.1..=1.001).contains(&length), "{length}");
    assert!(
        std::sync::Arc::ptr_eq(&centre, &grow(101..110).unwrap()),
        "a tenth more is no other collection"
    );
    assert!(!std::sync::Arc::ptr_eq(&centre, &grow(110..180).unwrap()));
}
