//! The documents of an evaluation: those of a judged set, and of other kinds beside them, each made
//! as the library makes it.

use std::path::Path;

use super::set::{self, Entry};
use crate::{
    app,
    domain::{Bookmark, Document, Error, Kind, Pid, Result, Timestamp, count},
    import,
    index::Source,
    markdown::Note,
};

/// Documents with the ids that judgements name them by.
#[derive(Default)]
pub struct Corpus {
    documents: Vec<Document>,
    ids: Vec<String>,
}

impl Corpus {
    /// The documents of a set as items of one kind.
    pub fn of(entries: &[Entry], kind: Kind) -> Result<Self> {
        let mut corpus = Self::default();
        for entry in entries {
            corpus.push_entry(entry, kind)?;
        }
        Ok(corpus)
    }

    /// Adds the records of a file as items of one kind. Bookmarks and prompts are read as an import
    /// reads them, pages from the documents of a set.
    pub fn add(&mut self, kind: Kind, file: &Path) -> Result<()> {
        match kind {
            Kind::Bookmark => {
                let mut skipped = 0;
                import::bookmarks::read(file, Timestamp(0), &mut |found| {
                    match found.bookmark {
                        Ok(bookmark) => self.push_bookmark(&bookmark),
                        Err(_) => skipped += 1,
                    }
                    Ok(())
                })?;
                whole(file, skipped)
            }
            Kind::Prompt => {
                let mut reading = import::prompts::Reading::default();
                reading.path(file);
                let (prompts, report) = reading.finish();
                if let Some((file, reason)) = report.failed.first() {
                    let file = file.display();
                    return Err(Error::invalid_params(format!("`{file}`: {reason}")));
                }
                for found in prompts {
                    let document = app::prompts::document(&found.prompt, self.next());
                    self.push(document, format!("prompt {}", found.place));
                }
                Ok(())
            }
            Kind::Page | Kind::Card => {
                for entry in set::read_documents(file)? {
                    self.push_entry(&entry, kind)?;
                }
                Ok(())
            }
        }
    }

    /// The number of documents.
    pub fn len(&self) -> usize {
        self.documents.len()
    }

    /// Whether there are no documents.
    pub fn is_empty(&self) -> bool {
        self.documents.is_empty()
    }

    pub(super) fn ids(&self) -> Vec<String> {
        self.ids.clone()
    }

    fn next(&self) -> Pid {
        Pid(self.documents.len() as i64 + 1)
    }

    fn push(&mut self, document: Document, id: String) {
        self.documents.push(document);
        self.ids.push(id);
    }

    fn push_bookmark(&mut self, bookmark: &Bookmark) {
        let document = app::bookmarks::document(self.next(), bookmark);
        self.push(document, format!("bookmark {}", bookmark.id));
    }

    fn push_entry(&mut self, entry: &Entry, kind: Kind) -> Result<()> {
        let pid = self.next();
        let mut document = if kind == Kind::Bookmark {
            let mut bookmark = Bookmark::new(Some(&entry.id), "", &entry.text, Timestamp(0))?;
            bookmark.title.clone_from(&entry.title);
            app::bookmarks::document(pid, &bookmark)
        } else {
            let title = if entry.title.is_empty() { &entry.path } else { &entry.title };
            let mut document = Document::new(pid, kind, entry.title.clone(), entry.path.clone());
            document.chunks = Note::parse(&entry.text, title).chunks();
            document
        };
        document.lang = Some(entry.lang.clone()).filter(|lang| !lang.is_empty());
        self.push(document, entry.id.clone());
        Ok(())
    }
}

/// An evaluation counts everything that a file has.
fn whole(file: &Path, skipped: usize) -> Result<()> {
    if skipped == 0 {
        return Ok(());
    }
    Err(Error::invalid_params(format!(
        "`{}`: {} could not be read; `notewell import bookmarks` says why",
        file.display(),
        count(skipped, "record")
    )))
}

impl Source for Corpus {
    fn changes(&self, after: i64, limit: usize) -> Result<Vec<(i64, Pid)>> {
        let from = usize::try_from(after).unwrap_or(0);
        let pids = self.documents.iter().skip(from).take(limit);
        Ok(pids.map(|document| (document.pid.0, document.pid)).collect())
    }

    fn head(&self) -> Result<i64> {
        Ok(self.documents.len() as i64)
    }

    fn document(&self, pid: Pid) -> Result<Option<Document>> {
        Ok(usize::try_from(pid.0 - 1).ok().and_then(|at| self.documents.get(at)).cloned())
    }

    fn library(&self) -> Result<i64> {
        Ok(0)
    }

    fn all(&self) -> Result<Vec<Pid>> {
        Ok(self.documents.iter().map(|document| document.pid).collect())
    }
}
