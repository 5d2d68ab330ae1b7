//! What a view has stored: the passages of an item and what is shown of them.

use std::collections::HashSet;

use tantivy::{DocAddress, TantivyDocument, Term, schema::Value};

use super::{Hit, View};
use crate::{
    domain::{Error, MatchId, Pid, Result, Timestamp, error::Doing},
    index::schema::Passage,
};

impl View {
    /// Every passage of an item, in order; empty when the index does not have it.
    pub fn passages_of(&self, pid: Pid) -> Result<Vec<Hit>> {
        let mut hits: Vec<Hit> = self
            .with_term(&Term::from_field_i64(self.fields.pid, pid.0))?
            .into_iter()
            .map(|address| self.hit(0.0, address))
            .collect::<Result<_>>()?;
        hits.sort_by_key(|hit| hit.id);
        Ok(hits)
    }

    /// What a result shows of a passage.
    pub fn passage(&self, hit: &Hit) -> Result<Passage> {
        self.read(hit.address)
    }

    pub(super) fn read(&self, address: DocAddress) -> Result<Passage> {
        let document: TantivyDocument = self.searcher.doc(address).doing("read a passage")?;
        let stored = document.get_first(self.fields.stored).and_then(|value| value.as_bytes());
        let stored = stored.ok_or_else(|| {
            Error::internal("a passage has no text; run `notewell index --rebuild`")
        })?;
        serde_json::from_slice(stored).doing("read a passage")
    }

    /// The date of a passage's item.
    pub(in crate::index) fn date(&self, hit: &Hit) -> Result<Option<Timestamp>> {
        let columns = self.columns(hit.address.segment_ord)?;
        Ok(columns.date.first(hit.address.doc_id).map(Timestamp))
    }

    /// Whether a passage's item is archived.
    pub(in crate::index) fn is_archived(&self, hit: &Hit) -> Result<bool> {
        let segment = self.searcher.segment_reader(hit.address.segment_ord);
        let column = segment.fast_fields().bool("archived").doing("read the index's columns")?;
        Ok(column.first(hit.address.doc_id).unwrap_or(false))
    }

    /// Every (item, passage) in the index, for comparing two of them.
    pub fn contents(&self) -> Result<Vec<(MatchId, Passage)>> {
        let mut out = Vec::new();
        for (ordinal, segment) in (0u32..).zip(self.searcher.segment_readers()) {
            for doc in segment.doc_ids_alive() {
                let address = DocAddress::new(ordinal, doc);
                out.push((self.hit(0.0, address)?.id, self.read(address)?));
            }
        }
        out.sort_by_key(|(id, _)| *id);
        Ok(out)
    }

    /// Which of these items the index has.
    pub fn has(&self, pids: &[Pid]) -> Result<HashSet<Pid>> {
        let mut out = HashSet::new();
        for pid in pids {
            if !self.with_term(&Term::from_field_i64(self.fields.pid, pid.0))?.is_empty() {
                out.insert(*pid);
            }
        }
        Ok(out)
    }
}
