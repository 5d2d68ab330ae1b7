use std::fs::OpenOptions;

use notewell_vectors::codes;

use super::*;

/// A small generator, so that the tests need no other one: xorshift.
struct Random(u64);

impl Random {
    fn unit(&mut self) -> f32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 40) as f32 / (1u64 << 23) as f32 - 1.0
    }

    fn vector(&mut self, dims: usize) -> Vec<f32> {
        // A few dominant directions, as real embeddings have.
        (0..dims).map(|at| self.unit() * if at % 37 == 0 { 4.0 } else { 1.0 }).collect()
    }
}

fn open(folder: &Path) -> Vectors {
    Vectors::open(folder, "test/model", 384, &Repairs::new(folder)).unwrap()
}

fn cosine(a: &[f32], b: &[f32]) -> f32 {
    let (a, b) = (codes::normalise(a), codes::normalise(b));
    a.iter().zip(&b).map(|(a, b)| a * b).sum()
}

#[test]
fn the_best_ten_are_those_of_exact_arithmetic() {
    let folder = tempfile::tempdir().unwrap();
    let vectors = open(folder.path());
    let mut random = Random(7);
    let rows: Vec<(u64, Vec<f32>)> = (0..3_000).map(|key| (key, random.vector(384))).collect();
    vectors.writer().unwrap().unwrap().append(rows.clone()).unwrap();
    let snapshot = vectors.rows().unwrap();
    let mut worst = 0.0f32;
    for _ in 0..50 {
        let question = random.vector(384);
        let mut exact: Vec<_> =
            rows.iter().map(|(key, row)| (cosine(&question, row), *key)).collect();
        exact.sort_by(|a, b| b.0.total_cmp(&a.0));
        let mut found = snapshot.nearest(&question, 40, None);
        found.truncate(10);
        let keys = |list: &[(f32, u64)]| list.iter().map(|(_, key)| *key).collect::<Keys>();
        assert_eq!(keys(&found), keys(&exact[..10]), "recall 1.000");
        for (found, exact) in found.iter().zip(&exact) {
            worst = worst.max((found.0 - exact.0).abs());
        }
    }
    assert!(worst < 1e-5, "sixteen bits are as good as f32: off by {worst}");
}

/// Rows around a few hundred topics, as notes are, and questions about them.
type Topics = (Vec<(u64, Vec<f32>)>, Vec<Vec<f32>>);

fn about_topics(random: &mut Random, rows: u64) -> Topics {
    let topics: Vec<Vec<f32>> = (0..300).map(|_| random.vector(384)).collect();
    let mut near = |topic: &[f32], far: f32| -> Vec<f32> {
        let noise = random.vector(384);
        topic.iter().zip(noise).map(|(topic, noise)| topic + far * noise).collect()
    };
    let questions = topics.iter().take(30).map(|topic| near(topic, 1.2)).collect();
    let rows = (0..rows).map(|key| (key, near(&topics[key as usize % 300], 1.2))).collect();
    (rows, questions)
}

#[test]
fn a_prefilter_loses_nothing_that_matters() {
    let folder = tempfile::tempdir().unwrap();
    let vectors = open(folder.path());
    let (rows, questions) = about_topics(&mut Random(11), 22_000);
    vectors.writer().unwrap().unwrap().append(rows).unwrap();
    let snapshot = vectors.rows().unwrap();
    let all = snapshot.keys();
    let mut kept = 0;
    for question in &questions {
        let looked = snapshot.nearest(question, 100, None);
        let every = snapshot.nearest(question, 100, Some(&all));
        assert_eq!(looked[..10], every[..10]);
        let (near, of) = scan::prefilter(&snapshot.rows, &QueryVector::new(question), 100).unwrap();
        assert!(of == 22_000 && near.len() < 5_000, "{} of {of} are compared", near.len());
        kept += every.iter().filter(|found| looked.contains(found)).count();
    }
    assert!(kept >= questions.len() * 99, "{kept} of {}", questions.len() * 100);
}

/// Rows that were written before there were bits, or whose bits a power cut took.
#[test]
fn rows_without_bits_are_found_and_get_theirs() {
    let folder = tempfile::tempdir().unwrap();
    let (rows, questions) = about_topics(&mut Random(5), 21_000);
    let vectors = open(folder.path());
    vectors.writer().unwrap().unwrap().append(rows).unwrap();
    let before = vectors.rows().unwrap().nearest(&questions[0], 10, None);
    let file = vectors.folder.join("rows-0/bits");
    let bits = fs::read(&file).unwrap();
    assert_eq!(bits.len(), 21_000 * 48);
    drop(vectors);
    for left in [0, 20_500 * 48] {
        OpenOptions::new().write(true).open(&file).unwrap().set_len(left).unwrap();
        let vectors = open(folder.path());
        assert_eq!(vectors.rows().unwrap().nearest(&questions[0], 10, None), before);
        vectors.writer().unwrap().unwrap().close().unwrap();
        assert_eq!(fs::read(&file).unwrap(), bits);
        assert_eq!(vectors.rows().unwrap().nearest(&questions[0], 10, None), before);
    }
}

#[test]
fn only_asked_keys_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let vectors = open(folder.path());
    let mut random = Random(3);
    let rows: Vec<_> = (0..200).map(|key| (key, random.vector(384))).collect();
    vectors.writer().unwrap().unwrap().append(rows).unwrap();
    let only: Keys = [5, 50, 150].into_iter().collect();
    let mut found: Vec<u64> = vectors
        .rows()
        .unwrap()
        .nearest(&random.vector(384), 10, Some(&only))
        .into_iter()
        .map(|(_, key)| key)
        .collect();
    found.sort_unstable();
    assert_eq!(found, [5, 50, 150]);
}

#[test]
fn a_key_is_stored_once_and_read_by_another_handle() {
    let folder = tempfile::tempdir().unwrap();
    let (writer, reader) = (open(folder.path()), open(folder.path()));
    let mut random = Random(1);
    let vector = random.vector(384);
    let mut held = writer.writer().unwrap().unwrap();
    assert!(reader.writer().unwrap().is_none(), "one writer at a time");
    held.append(vec![(9, vector.clone()), (9, vector.clone())]).unwrap();
    held.append(vec![(9, vector.clone())]).unwrap();
    let rows = reader.rows().unwrap();
    assert_eq!(rows.len(), 1);
    assert!(cosine(&rows.find(&[9])[0].1, &vector) > 0.99999);
    held.close().unwrap();
    assert!(reader.writer().unwrap().unwrap().has(9));
}

#[test]
fn an_unfinished_row_does_not_exist_and_is_written_over() {
    let folder = tempfile::tempdir().unwrap();
    let vectors = open(folder.path());
    let mut random = Random(1);
    vectors.writer().unwrap().unwrap().append(vec![(1, random.vector(384))]).unwrap();
    let files = vectors.files("rows-0").folder;
    // Killed between the codes and the record, and in the middle of a record.
    use std::io::Write;
    for (name, bytes) in [("codes", 384), ("exact", 100), ("records", 11)] {
        let mut file = OpenOptions::new().append(true).open(files.join(name)).unwrap();
        file.write_all(&vec![7; bytes]).unwrap();
    }
    let again = open(folder.path());
    assert_eq!(again.rows().unwrap().len(), 1);
    let second = random.vector(384);
    again.writer().unwrap().unwrap().append(vec![(2, second.clone())]).unwrap();
    let found = again.rows().unwrap().nearest(&second, 1, None);
    assert_eq!(found[0].1, 2);
    assert!(found[0].0 > 0.9999);
}

#[test]
fn truncated_and_torn_files_lose_only_what_is_damaged() {
    let folder = tempfile::tempdir().unwrap();
    let vectors = open(folder.path());
    let mut random = Random(1);
    let rows: Vec<_> = (0..20).map(|key| (key, random.vector(384))).collect();
    vectors.writer().unwrap().unwrap().append(rows).unwrap();
    let files = vectors.files("rows-0").folder;
    drop(vectors);
    let codes = OpenOptions::new().write(true).open(files.join("codes")).unwrap();
    codes.set_len(384 * 15 + 3).unwrap();
    assert_eq!(open(folder.path()).rows().unwrap().len(), 15);
    // A page of zeroes where a row was, as a power cut leaves it.
    use std::io::{Seek, SeekFrom, Write};
    let mut exact = OpenOptions::new().write(true).open(files.join("exact")).unwrap();
    exact.seek(SeekFrom::Start(768 * 12)).unwrap();
    exact.write_all(&[0; 768]).unwrap();
    let again = open(folder.path());
    let writer = again.writer().unwrap().unwrap();
    assert!(!writer.has(12), "torn: to be computed again");
    assert!(writer.has(11) && writer.has(13));
    assert_eq!(again.rows().unwrap().len(), 14);
}

#[test]
fn dead_rows_go_when_they_are_many() {
    let folder = tempfile::tempdir().unwrap();
    let vectors = open(folder.path());
    let reader = open(folder.path());
    let mut random = Random(5);
    let rows: Vec<_> = (0..3_000).map(|key| (key, random.vector(384))).collect();
    let kept = rows[2_500].1.clone();
    let mut writer = vectors.writer().unwrap().unwrap();
    writer.append(rows).unwrap();
    let before = reader.rows().unwrap();
    let live: Keys = (2_000..3_000).collect();
    assert!(writer.compact(&live).unwrap());
    assert!(!writer.compact(&live).unwrap(), "nothing left to drop");
    assert_eq!(reader.rows().unwrap().len(), 1_000);
    assert_eq!(reader.rows().unwrap().nearest(&kept, 1, None)[0].1, 2_500);
    assert_eq!(before.nearest(&kept, 1, None)[0].1, 2_500, "an old snapshot goes on working");
}
