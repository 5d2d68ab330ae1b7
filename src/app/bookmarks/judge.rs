//! Judges bookmarks and names what the store files them under: topics, and the tool they are about.

use std::sync::{Arc, PoisonError};

use crate::{
    app::App,
    domain::{Bookmark, Error, Result},
    enrich::{Enricher, Taxonomy, tool_name, topics},
    store::bookmarks::Filed,
};

/// Bookmarks that one thread judges at a time.
const BATCH: usize = 256;

impl App {
    /// The rules and categories that bookmarks are judged by, read once.
    pub(super) fn enricher(&self) -> Result<Arc<Enricher>> {
        let mut known = self.enricher.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(enricher) = &*known {
            return Ok(enricher.clone());
        }
        let enricher = Arc::new(Enricher::new(self.taxonomy()?, self.embedder().cloned())?);
        *known = Some(enricher.clone());
        Ok(enricher)
    }

    fn taxonomy(&self) -> Result<Taxonomy> {
        let file = &self.config.bookmarks.taxonomy;
        match file.as_os_str().is_empty() {
            true => Taxonomy::built_in(),
            false => Taxonomy::open(file),
        }
    }

    /// The categories that there are.
    pub fn category_names(&self) -> Result<Vec<String>> {
        Ok(self.taxonomy()?.names().to_vec())
    }

    /// Judges bookmarks, on all cores.
    pub(super) fn judge(&self, mut bookmarks: Vec<Bookmark>) -> Result<Vec<Filed>> {
        let enricher = self.enricher()?;
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let share = bookmarks.len().div_ceil(cores).clamp(1, BATCH);
        let shares = std::sync::Mutex::new(bookmarks.chunks_mut(share));
        let work = || -> Result<()> {
            loop {
                let next = shares.lock().unwrap_or_else(PoisonError::into_inner).next();
                let Some(batch) = next else { return Ok(()) };
                enricher.enrich(batch)?;
            }
        };
        std::thread::scope(|scope| {
            let threads: Vec<_> = (1..cores).map(|_| scope.spawn(work)).collect();
            let mine = work();
            for thread in threads {
                thread.join().map_err(|_| Error::internal("judging bookmarks stopped"))??;
            }
            mine
        })?;
        Ok(bookmarks.into_iter().map(file).collect())
    }
}

/// A bookmark with its topics and its tool, as the store files it.
pub(in crate::app) fn file(bookmark: Bookmark) -> Filed {
    Filed { topics: topics(&bookmark), tool: tool_name(&bookmark), bookmark }
}
