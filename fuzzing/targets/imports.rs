//! Files of other programs. A file may be broken or hostile; it is read, or refused with a reason.

use std::{cell::OnceCell, fs, path::PathBuf};

use notewell::{
    domain::{Timestamp, prompt::Prompt},
    import::{
        self, ImportReport, Remarks,
        cards::{CardReader, Source},
        prompts::{Reading, markdown, slug},
    },
};

use super::{folder, text};

thread_local! {
    static FOLDER: OnceCell<tempfile::TempDir> = const { OnceCell::new() };
}

/// Writes an input where its importer looks for it.
fn file(ending: &str, data: &[u8]) -> PathBuf {
    let root = FOLDER.with(|made| made.get_or_init(folder).path().to_path_buf());
    let path = root.join(format!("file.{ending}"));
    fs::write(&path, data).expect("the folder of the target");
    path
}

/// Bookmarks of every kind of export: the content decides which it is.
pub fn bookmarks(data: &[u8]) {
    let path = file("txt", data);
    let mut position = 0;
    let read = import::bookmarks::read(&path, Timestamp(1_700_000_000_000), &mut |record| {
        assert!(record.at >= position || record.at == 0, "the position goes on");
        position = record.at;
        match record.bookmark {
            Ok(bookmark) => {
                assert!(!bookmark.id.is_empty(), "{bookmark:?}");
                bookmark.name();
                bookmark.words();
            }
            Err(skipped) => assert!(!skipped.reason.is_empty() && !skipped.place.is_empty()),
        }
        Ok(())
    });
    if let Err(error) = read {
        assert!(!error.plain().is_empty());
    }
}

/// Cards of Keep, Memento and Markdown; the first byte says as which kind of file.
pub fn cards(data: &[u8]) {
    let Some((kind, data)) = data.split_first() else { return };
    let ending = match kind {
        b'k' | b'{' | b'[' => "json",
        b'm' => "md",
        b'z' => "zip",
        other => ["json", "md", "zip"][usize::from(*other) % 3],
    };
    let path = file(ending, data);
    let mut skipped = Remarks::default();
    let Ok(mut source) = Source::open(&path, &mut skipped) else { return };
    let mut report = ImportReport::default();
    let mut reader = CardReader::new(&mut report);
    for index in 0..source.count().min(20) {
        let read = reader.read(&mut source, index, &mut |draft, _| {
            assert!(!draft.from.is_empty());
            draft.card.name();
            Ok(())
        });
        if let Err(error) = read {
            assert!(!error.plain().is_empty());
        }
    }
}

/// Prompts as CSV, JSON, JSONL and Markdown; the first byte says which.
pub fn prompts(data: &[u8]) {
    let Some((kind, data)) = data.split_first() else { return };
    let ending = match kind {
        b'c' => "csv",
        b'l' => "jsonl",
        b'j' => "json",
        b'm' => "md",
        other => ["csv", "jsonl", "json", "md", "csv.gz"][usize::from(*other) % 5],
    };
    let mut reading = Reading::default();
    reading.path(&file(ending, data));
    let (prompts, _) = reading.finish();
    for found in prompts {
        let prompt = &found.prompt;
        assert!(!found.place.is_empty());
        slug(&prompt.title);
        let again = Prompt::read(prompt.to_map()).expect("what an import made can be stored");
        assert_eq!(again.messages, prompt.messages);
        if prompt.check().is_ok() {
            let page = markdown::write(prompt);
            let _ = markdown::read(&page, &prompt.name);
        }
    }
    let _ = markdown::read(&text(data), "name");
}
