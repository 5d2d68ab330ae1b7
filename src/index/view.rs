//! What can be searched at one moment: terms and vectors that belong together.

mod stored;

use std::{
    collections::{HashMap, HashSet, hash_map::Entry},
    sync::{Arc, OnceLock},
};

use tantivy::{
    DocAddress, DocSet, Searcher, SegmentReader, TERMINATED, Term, index::SegmentId,
    schema::IndexRecordOption,
};

use super::{
    bits::Bits,
    cache::{Cache, Columns},
    census::Census,
    coverage::Coverage,
    generation::Generation,
    lexical::{self, Total, Words},
    narrow::{Asked, Narrowing, narrow},
    schema::{Fields, Passage},
    tally::Sums,
    vectors::{Keys, Progress, Snapshot},
    visible,
};
use crate::domain::{Error, Filters, Kind, MatchId, Pid, Result, Visible, error::Doing};

/// A passage that was found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hit {
    /// The passage.
    pub id: MatchId,
    /// BM25 for words, the cosine for vectors, the date for a listing.
    pub score: f32,
    /// Equal for passages that say the same.
    pub fold: u64,
    /// The item's kind.
    pub kind: Kind,
    address: DocAddress,
}

/// A moment of the index. It does not change while it is held.
pub struct View {
    pub(super) searcher: Searcher,
    pub(super) fields: Fields,
    rows: Option<Snapshot>,
    pub(super) cache: Arc<Cache>,
    /// What its caller may see, where that is not everything.
    visible: Option<Part>,
    census: OnceLock<Arc<Census>>,
    /// What the cache knows of each segment, as far as it was asked for.
    segments: Vec<Segment>,
}

/// A part of the library.
#[derive(Clone)]
pub(super) struct Part {
    /// What it is called where something is kept of it.
    pub(super) name: Arc<str>,
    pub(super) passages: Arc<Narrowing>,
}

#[derive(Default)]
struct Segment {
    columns: OnceLock<Arc<Columns>>,
    firsts: OnceLock<Arc<Bits>>,
}

impl View {
    pub(super) fn new(generation: &Generation, rows: Option<Snapshot>, cache: Arc<Cache>) -> Self {
        let searcher = generation.reader.searcher();
        let segments = searcher.segment_readers().iter().map(|_| Segment::default()).collect();
        Self {
            searcher,
            fields: generation.fields.clone(),
            rows,
            cache,
            visible: None,
            census: OnceLock::new(),
            segments,
        }
    }

    /// The same moment for a caller who sees only a part of the library: whatever is asked of it,
    /// the answer does not depend on the rest.
    pub(super) fn within(mut self, part: &Visible) -> Result<Self> {
        let filters = Filters { visible: part.clone(), archived: true, ..Filters::default() };
        let passages = Arc::new(self.narrow(&Asked::by(&filters))?);
        self.visible = Some(Part { name: visible::name(part).into(), passages });
        Ok(self)
    }

    /// The same moment for a caller whose filters these are.
    pub(super) fn for_filters(self, filters: &Filters) -> Result<Self> {
        match filters.visible.is_everything() {
            true => Ok(self),
            false => self.within(&filters.visible),
        }
    }

    /// The name of the part that the caller sees; `None` for everything.
    pub(super) fn part(&self) -> Option<&Arc<str>> {
        self.visible.as_ref().map(|part| &part.name)
    }

    /// Living passages of the whole collection.
    pub fn passages(&self) -> u64 {
        self.searcher.num_docs()
    }

    /// Living passages that the caller may see.
    pub(super) fn visible_passages(&self) -> Result<u64> {
        Ok(self.census()?.passages)
    }

    pub(super) fn census(&self) -> Result<&Arc<Census>> {
        if let Some(census) = self.census.get() {
            return Ok(census);
        }
        let visible = self.visible.clone();
        let census = Census::take(&self.searcher, &self.fields, &self.cache, visible)?;
        Ok(self.census.get_or_init(|| Arc::new(census)))
    }

    /// How many of the passages that the caller may see have their vector.
    pub(super) fn visible_progress(&self) -> Result<Progress> {
        let (Some(visible), Some(rows)) = (&self.visible, &self.rows) else {
            return Ok(Progress::default());
        };
        let known = rows.keys();
        let keys = self.keys(&visible.passages)?;
        let done = keys.iter().filter(|key| known.contains(key)).count();
        Ok(Progress { done: done as u64, total: keys.len() as u64 })
    }

    /// The vectors of up to `most` passages that the caller may see; `None` for a caller who sees
    /// everything.
    pub(super) fn visible_sample(&self, most: usize) -> Result<Option<Vec<Vec<f32>>>> {
        let (Some(visible), Some(rows)) = (&self.visible, &self.rows) else { return Ok(None) };
        // Keys are hashes, so the smallest are a fair sample, and the same one in every process.
        let mut keys: Vec<u64> = self.keys(&visible.passages)?.into_iter().collect();
        keys.sort_unstable();
        keys.truncate(most);
        Ok(Some(rows.find(&keys).into_iter().map(|(_, vector)| vector).collect()))
    }

    /// Whether the caller may not see everything.
    pub fn is_part(&self) -> bool {
        self.visible.is_some()
    }

    /// Rows of vectors, those of passages that are gone included.
    pub fn rows(&self) -> usize {
        self.rows.as_ref().map_or(0, Snapshot::len)
    }

    /// How many passages have a row; `None` without an embedder.
    pub(super) fn covered(&self, coverage: &Coverage) -> Result<Option<Progress>> {
        let Some(rows) = &self.rows else { return Ok(None) };
        let segments = (0u32..)
            .zip(self.searcher.segment_readers())
            .map(|(ordinal, segment)| Ok((segment, self.columns(ordinal)?)));
        coverage.count(rows, segments).map(Some)
    }

    /// Resolves filters to the passages that pass.
    pub fn narrow(&self, asked: &Asked<'_>) -> Result<Narrowing> {
        narrow(&self.searcher, &self.fields, &self.cache, asked)
    }

    /// Whether a passage is among those that `narrowing` lets through.
    pub fn is_among(&self, narrowing: &Narrowing, hit: &Hit) -> bool {
        narrowing.passes(hit.address.segment_ord, hit.address.doc_id)
    }

    /// Looks up the words of a question.
    pub fn words(&self, text: &str) -> Result<Words> {
        lexical::words(&self.searcher, &self.fields, Arc::clone(self.census()?), text)
    }

    /// What the words add up to in each passage.
    pub fn sums(&self, words: &Words) -> Result<Sums> {
        lexical::sums(&self.searcher, &self.cache, words)
    }

    /// What the words add up to in each item.
    pub fn item_sums(&self, words: &Words) -> Result<Sums> {
        lexical::item_sums(&self.searcher, &self.cache, words)
    }

    /// The best passages by words, best first.
    pub fn lexical(
        &self,
        words: &Words,
        sums: &Sums,
        narrowing: &Narrowing,
        limit: usize,
    ) -> Result<Vec<Hit>> {
        lexical::best(&self.searcher, words, sums, narrowing, limit)?
            .into_iter()
            .map(|(score, address)| self.hit(score, address))
            .collect()
    }

    /// The best items by all their words together, best first, each by its first passage.
    pub fn items(
        &self,
        words: &Words,
        item_sums: &Sums,
        narrowing: &Narrowing,
        limit: usize,
    ) -> Result<Vec<Hit>> {
        lexical::best_items(&self.searcher, words, item_sums, narrowing, limit)?
            .into_iter()
            .map(|(score, address)| self.hit(score, address))
            .collect()
    }

    /// What all words of the items of these passages score together; 0 for one that has none of
    /// the words.
    pub fn item_scores<'a>(
        &self,
        words: &Words,
        item_sums: &Sums,
        hits: impl Iterator<Item = &'a Hit>,
    ) -> Result<HashMap<Pid, f32>> {
        let mut firsts: HashMap<Pid, DocAddress> = HashMap::new();
        for hit in hits {
            if let Entry::Vacant(entry) = firsts.entry(hit.id.pid) {
                entry.insert(self.first(hit.address)?);
            }
        }
        if !item_sums.is_unknown() {
            return Ok(firsts.into_iter().map(|(pid, first)| (pid, item_sums.at(first))).collect());
        }
        let addresses: Vec<DocAddress> = firsts.values().copied().collect();
        let among = Narrowing::of(&self.searcher, &addresses);
        lexical::best_items(&self.searcher, words, item_sums, &among, addresses.len())?
            .into_iter()
            .map(|(score, address)| self.hit(score, address).map(|hit| (hit.id.pid, score)))
            .collect()
    }

    fn columns(&self, ordinal: u32) -> Result<&Columns> {
        let known = &self.segments[ordinal as usize].columns;
        if let Some(columns) = known.get() {
            return Ok(columns);
        }
        let columns = self.cache.columns(self.searcher.segment_reader(ordinal))?;
        Ok(known.get_or_init(|| columns))
    }

    fn firsts(&self, ordinal: u32) -> Result<&Bits> {
        let known = &self.segments[ordinal as usize].firsts;
        if let Some(firsts) = known.get() {
            return Ok(firsts);
        }
        let segment = self.searcher.segment_reader(ordinal);
        let firsts = self.cache.firsts(&self.searcher, segment, &self.fields)?;
        Ok(known.get_or_init(|| firsts))
    }

    /// Where the item of a passage begins.
    fn first(&self, address: DocAddress) -> Result<DocAddress> {
        let firsts = self.firsts(address.segment_ord)?;
        let first = firsts.last_until(address.doc_id).unwrap_or(address.doc_id);
        Ok(DocAddress::new(address.segment_ord, first))
    }

    /// The passages that the item of this one has, in order.
    pub fn beside(&self, hit: &Hit) -> Result<Vec<Hit>> {
        let segment = self.searcher.segment_reader(hit.address.segment_ord);
        let firsts = self.firsts(hit.address.segment_ord)?;
        let first = firsts.last_until(hit.address.doc_id).unwrap_or(hit.address.doc_id);
        let end = firsts.first_after(hit.address.doc_id).unwrap_or(segment.max_doc());
        (first..end)
            .filter(|doc| !segment.is_deleted(*doc))
            .map(|doc| self.hit(0.0, DocAddress::new(hit.address.segment_ord, doc)))
            .collect()
    }

    /// How many items have at least one of the words.
    pub fn count(&self, words: &Words, item_sums: &Sums, narrowing: &Narrowing) -> Result<Total> {
        lexical::count(&self.searcher, &self.fields, words, item_sums, narrowing, &self.cache)
    }

    /// The nearest passages by meaning, best first.
    pub fn nearest(&self, vector: &[f32], narrowing: &Narrowing, limit: usize) -> Result<Vec<Hit>> {
        let Some(rows) = &self.rows else { return Ok(Vec::new()) };
        if vector.len() != rows.dims() {
            return Err(Error::internal(format!(
                "the model gives vectors of {} numbers and the index has vectors of {}; run `notewell index --rebuild`",
                vector.len(),
                rows.dims()
            )));
        }
        if limit == 0 || narrowing.is_empty() || rows.len() == 0 {
            return Ok(Vec::new());
        }
        // The prefilter, too, picks candidates only among what the caller may see.
        if narrowing.is_narrow() || narrowing.is_part {
            let keys = self.keys(narrowing)?;
            let found = rows.nearest(vector, limit, Some(&keys));
            return self.living(&found, narrowing, limit);
        }
        // Passages that may not be answered, or are gone, take places: ask for more until enough
        // are left.
        let mut asked = (limit * 2).max(40);
        loop {
            let found = rows.nearest(vector, asked, None);
            let hits = self.living(&found, narrowing, limit)?;
            if hits.len() >= limit || found.len() < asked || asked >= rows.len() {
                return Ok(hits);
            }
            asked *= 4;
        }
    }

    /// The passages of rows, as far as they live and may be answered.
    fn living(
        &self,
        found: &[(f32, u64)],
        narrowing: &Narrowing,
        limit: usize,
    ) -> Result<Vec<Hit>> {
        let mut hits = Vec::with_capacity(limit);
        for (cosine, key) in found {
            for address in self.addresses(*key)? {
                if narrowing.passes(address.segment_ord, address.doc_id) {
                    hits.push(self.hit(*cosine, address)?);
                }
            }
            if hits.len() >= limit {
                break;
            }
        }
        hits.truncate(limit);
        Ok(hits)
    }

    /// The living passages that were embedded under `key`.
    fn addresses(&self, key: u64) -> Result<Vec<DocAddress>> {
        let mut out = Vec::new();
        for (ordinal, segment) in (0u32..).zip(self.searcher.segment_readers()) {
            let living =
                self.columns(ordinal)?.with_key(key).filter(|doc| !segment.is_deleted(*doc));
            out.extend(living.map(|doc| DocAddress::new(ordinal, doc)));
        }
        Ok(out)
    }

    fn with_term(&self, term: &Term) -> Result<Vec<DocAddress>> {
        let what = "look up a passage";
        let mut out = Vec::new();
        for (ordinal, segment) in (0u32..).zip(self.searcher.segment_readers()) {
            let terms = segment.inverted_index(term.field()).doing(what)?;
            let postings = terms.read_postings(term, IndexRecordOption::Basic).doing(what)?;
            let Some(mut postings) = postings else { continue };
            let mut doc = postings.doc();
            while doc != TERMINATED {
                if !segment.is_deleted(doc) {
                    out.push(DocAddress::new(ordinal, doc));
                }
                doc = postings.advance();
            }
        }
        Ok(out)
    }

    fn keys(&self, narrowing: &Narrowing) -> Result<Keys> {
        let mut keys = Keys::default();
        for ((ordinal, segment), bits) in
            (0u32..).zip(self.searcher.segment_readers()).zip(&narrowing.segments)
        {
            let columns = self.columns(ordinal)?;
            let mut add = |doc| keys.extend(columns.key.first(doc));
            match bits {
                Some(bits) => {
                    bits.iter().filter(|doc| !segment.is_deleted(*doc)).for_each(&mut add)
                }
                None => segment.doc_ids_alive().for_each(&mut add),
            }
        }
        Ok(keys)
    }

    /// The segments that this view reads.
    pub(super) fn segment_ids(&self) -> impl Iterator<Item = SegmentId> {
        self.searcher.segment_readers().iter().map(SegmentReader::segment_id)
    }

    /// The key, date and item of every living passage, except in the segments of `skip`.
    pub(super) fn living_keys(&self, skip: &HashSet<SegmentId>) -> Result<Vec<(u64, i64, i64)>> {
        let mut out = Vec::new();
        for (ordinal, segment) in (0u32..).zip(self.searcher.segment_readers()) {
            if skip.contains(&segment.segment_id()) {
                continue;
            }
            let columns = self.columns(ordinal)?;
            for doc in segment.doc_ids_alive() {
                if let Some(key) = columns.key.first(doc) {
                    let date = columns.date.first(doc).unwrap_or(i64::MIN);
                    out.push((key, date, columns.pid.first(doc).unwrap_or(0)));
                }
            }
        }
        Ok(out)
    }

    /// The passage that was embedded under `key`, while it lives.
    pub(super) fn embedded(&self, key: u64) -> Result<Option<Passage>> {
        match self.addresses(key)?.first() {
            Some(address) => self.read(*address).map(Some),
            None => Ok(None),
        }
    }

    /// Items without a question: one passage each, the newest first.
    pub fn listing(&self, narrowing: &Narrowing, limit: usize) -> Result<(Vec<Hit>, Total)> {
        let mut first: HashMap<i64, (u64, i64, DocAddress)> = HashMap::new();
        for (ordinal, segment) in (0u32..).zip(self.searcher.segment_readers()) {
            let columns = self.columns(ordinal)?;
            let passing = segment.doc_ids_alive().filter(|doc| narrowing.passes(ordinal, *doc));
            for doc in passing {
                let Some(pid) = columns.pid.first(doc) else { continue };
                let place = columns.ordinal.first(doc).unwrap_or(0);
                let date = columns.date.first(doc).unwrap_or(i64::MIN);
                let entry = (place, date, DocAddress::new(ordinal, doc));
                let kept = first.entry(pid).or_insert(entry);
                if place < kept.0 {
                    *kept = entry;
                }
            }
        }
        let total = Total { items: first.len(), exact: true };
        let mut items: Vec<_> =
            first.into_iter().map(|(pid, (_, date, at))| (date, pid, at)).collect();
        items.sort_unstable_by(|a, b| b.0.cmp(&a.0).then(b.1.cmp(&a.1)));
        items.truncate(limit);
        let hits: Result<Vec<Hit>> =
            items.into_iter().map(|(_, _, at)| self.hit(0.0, at)).collect();
        Ok((hits?, total))
    }

    /// The vectors of an item's passages.
    pub fn vectors_of(&self, pid: Pid) -> Result<Vec<Vec<f32>>> {
        let Some(rows) = &self.rows else { return Ok(Vec::new()) };
        let keys: Vec<u64> =
            self.passages_of(pid)?.iter().map(|hit| self.key(hit)).collect::<Result<_>>()?;
        Ok(rows.find(&keys).into_iter().map(|(_, vector)| vector).collect())
    }

    fn key(&self, hit: &Hit) -> Result<u64> {
        let columns = self.columns(hit.address.segment_ord)?;
        Ok(columns.key.first(hit.address.doc_id).unwrap_or(0))
    }

    /// The cosines of a question with these passages; `None` for one that has no vector yet.
    pub fn cosines(&self, vector: &[f32], hits: &[Hit]) -> Result<Vec<Option<f32>>> {
        let Some(rows) = &self.rows else { return Ok(vec![None; hits.len()]) };
        let keys: Vec<u64> = hits.iter().map(|hit| self.key(hit)).collect::<Result<_>>()?;
        let cosines = rows.cosines(vector, &keys);
        Ok(keys.iter().map(|key| cosines.get(key).copied()).collect())
    }

    /// The BM25 scores of these passages; 0 for one that has none of the words.
    pub fn scores(&self, words: &Words, sums: &Sums, hits: &[Hit]) -> Result<Vec<f32>> {
        if !sums.is_unknown() {
            return Ok(hits.iter().map(|hit| sums.at(hit.address)).collect());
        }
        let addresses: Vec<DocAddress> = hits.iter().map(|hit| hit.address).collect();
        let among = Narrowing::of(&self.searcher, &addresses);
        let scored: HashMap<DocAddress, f32> =
            lexical::best(&self.searcher, words, sums, &among, hits.len())?
                .into_iter()
                .map(|(score, address)| (address, score))
                .collect();
        Ok(addresses.iter().map(|address| scored.get(address).copied().unwrap_or(0.0)).collect())
    }

    fn hit(&self, score: f32, address: DocAddress) -> Result<Hit> {
        let columns = self.columns(address.segment_ord)?;
        let pid = Pid(columns.pid.first(address.doc_id).unwrap_or(0));
        let ordinal = columns.ordinal.first(address.doc_id).unwrap_or(0);
        let chunk = u32::try_from(ordinal).unwrap_or(u32::MAX);
        let fold = columns.fold.first(address.doc_id).unwrap_or(0);
        let kind = Kind::ALL[columns.kind(address.doc_id)];
        Ok(Hit { id: MatchId { pid, chunk }, score, fold, kind, address })
    }
}
