//! The folded texts of all cards, one after another, so that a search is one walk through memory
//! instead of a visit to each card.

use std::sync::Arc;

use memchr::memmem::Finder;

/// Where a card's text stands; its number stays until the texts are packed.
pub type Place = u32;

#[derive(Debug, Default)]
pub struct Texts {
    bytes: Vec<u8>,
    spans: Vec<Span>,
    /// Bytes of cards that have changed or gone since.
    stale: usize,
}

#[derive(Debug)]
struct Span {
    end: usize,
    /// `None` when the card has another text now, or none.
    id: Option<Arc<str>>,
}

/// The cards in which something was found.
pub enum Matches {
    Few(Vec<Arc<str>>),
    /// By place: a list of most cards would cost more to sort than to walk.
    Many(Vec<bool>),
}

impl Texts {
    /// Adds a text whose parts no match may join: each ends with a NUL.
    pub fn push(&mut self, id: Arc<str>, folded: &str) -> Place {
        self.bytes.extend_from_slice(folded.as_bytes());
        self.bytes.push(0);
        self.spans.push(Span { end: self.bytes.len(), id: Some(id) });
        Place::try_from(self.spans.len() - 1).unwrap_or(Place::MAX)
    }

    pub fn remove(&mut self, place: Place) {
        let at = place as usize;
        let start = at.checked_sub(1).map_or(0, |before| self.spans[before].end);
        self.stale += self.spans[at].end - start;
        self.spans[at].id = None;
    }

    /// Whether more than half of it is of no use.
    pub fn wants_packing(&self) -> bool {
        self.stale > 1 << 20 && self.stale > self.bytes.len() / 2
    }

    /// Takes out what is of no use, and says where each text stands now.
    pub fn pack(&mut self) -> Vec<(Arc<str>, Place)> {
        let old = std::mem::take(self);
        let mut start = 0;
        let mut moved = Vec::new();
        for span in old.spans {
            if let Some(id) = span.id {
                self.bytes.extend_from_slice(&old.bytes[start..span.end]);
                self.spans.push(Span { end: self.bytes.len(), id: Some(id.clone()) });
                moved.push((id, (self.spans.len() - 1) as Place));
            }
            start = span.end;
        }
        moved
    }

    pub fn find(&self, needle: &str) -> Matches {
        let finder = Finder::new(needle);
        let few = self.spans.len() / 16 + 100;
        let (mut found, mut at, mut span) = (Vec::new(), 0, 0);
        // A needle with a NUL could join two texts; no text has one of its own.
        while !needle.contains('\0')
            && let Some(hit) = finder.find(&self.bytes[at..])
        {
            span += self.spans[span..].partition_point(|span| span.end <= at + hit);
            if self.spans[span].id.is_some() {
                found.push(span);
            }
            at = self.spans[span].end;
        }
        if found.len() <= few {
            return Matches::Few(
                found.into_iter().filter_map(|span| self.spans[span].id.clone()).collect(),
            );
        }
        let mut places = vec![false; self.spans.len()];
        found.into_iter().for_each(|span| places[span] = true);
        Matches::Many(places)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(texts: &Texts, needle: &str) -> Vec<String> {
        match texts.find(needle) {
            Matches::Few(ids) => ids.iter().map(|id| id.to_string()).collect(),
            Matches::Many(places) => {
                let hits = places.iter().enumerate().filter(|(_, hit)| **hit);
                hits.map(|(at, _)| texts.spans[at].id.as_deref().unwrap().to_owned()).collect()
            }
        }
    }

    #[test]
    fn texts_are_found_changed_and_packed() {
        let mut texts = Texts::default();
        let places: Vec<Place> = (0..2000)
            .map(|n| {
                texts.push(n.to_string().into(), &format!("заметка {n}.\0{}", "я".repeat(600)))
            })
            .collect();
        assert_eq!(found(&texts, "заметка 7."), ["7"]);
        assert_eq!(found(&texts, "заметка").len(), 2000);
        assert!(found(&texts, "я\0за").is_empty() && found(&texts, "яза").is_empty());
        assert!(found(&texts, "нет").is_empty());
        places.iter().filter(|place| **place % 3 != 0).for_each(|place| texts.remove(*place));
        assert!(found(&texts, "заметка 7.").is_empty());
        assert!(texts.wants_packing());
        let moved = texts.pack();
        assert_eq!(moved.len(), 667);
        assert_eq!(found(&texts, "заметка 9."), ["9"]);
        assert_eq!(moved[3], ("9".into(), 3));
        assert!(!texts.wants_packing());
    }
}
