//! One change may hold several revisions of one item: an import of two files that both have it, an
//! undo that was interrupted. They are taken back as one, from before the first to after the last.

use std::collections::HashMap;

use crate::{
    domain::{Kind, Pid},
    store::revisions::Revision,
};

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Identity {
    Pid(Pid),
    Key(Kind, String),
}

impl Identity {
    fn of(revision: &Revision) -> Self {
        match revision.pid {
            Some(pid) => Self::Pid(pid),
            None => Self::Key(revision.kind, revision.key.clone()),
        }
    }
}

/// The items of a change, and what was seen so far of those that it changed several times.
#[derive(Debug, Clone, Default)]
pub(super) struct Folding {
    items: usize,
    /// Revisions that are still to come, of items with several.
    left: HashMap<Identity, usize>,
    begun: HashMap<Identity, Revision>,
}

impl Folding {
    /// Counts the revisions of a change, which come in pages.
    pub fn of<E>(mut page: impl FnMut(usize) -> Result<Vec<Revision>, E>) -> Result<Self, E> {
        let (mut left, mut from): (HashMap<Identity, usize>, usize) = (HashMap::new(), 0);
        loop {
            let revisions = page(from)?;
            if revisions.is_empty() {
                break;
            }
            from += revisions.len();
            for revision in &revisions {
                *left.entry(Identity::of(revision)).or_default() += 1;
            }
        }
        let items = left.len();
        left.retain(|_, count| *count > 1);
        Ok(Self { items, left, begun: HashMap::new() })
    }

    /// How many items the change changed.
    pub fn items(&self) -> usize {
        self.items
    }

    /// Takes the next revision. Returns the item's whole one when it is complete, unless the item
    /// ended as it began.
    pub fn next(&mut self, revision: Revision) -> Option<Revision> {
        let identity = Identity::of(&revision);
        let Some(left) = self.left.get_mut(&identity) else { return Some(revision) };
        *left = left.saturating_sub(1);
        let is_complete = *left == 0;
        let whole = match self.begun.remove(&identity) {
            Some(first) => joined(first, revision),
            None => revision,
        };
        if is_complete {
            return Some(whole).filter(|whole| !whole.is_empty());
        }
        self.begun.insert(identity, whole);
        None
    }
}

fn joined(first: Revision, last: Revision) -> Revision {
    let key = last.key_after().to_owned();
    let moved_to = (key != first.key).then_some(key);
    Revision { moved_to, after: last.after, ..first }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn revision(pid: i64, before: Option<&str>, after: Option<&str>) -> Revision {
        let bytes = |text: Option<&str>| text.map(|text| text.as_bytes().to_vec());
        Revision {
            pid: Some(Pid(pid)),
            kind: Kind::Bookmark,
            key: format!("k{pid}"),
            moved_to: None,
            before: bytes(before),
            after: bytes(after),
        }
    }

    #[test]
    fn revisions_of_an_item_become_one_wherever_they_stand() {
        let all = [
            revision(1, None, Some("a")),
            revision(2, Some("x"), Some("y")),
            revision(3, None, Some("gone")),
            revision(1, Some("a"), Some("b")),
            revision(3, Some("gone"), None),
            revision(1, Some("b"), Some("c")),
        ];
        let page = |from: usize| Ok::<_, ()>(all.iter().skip(from).take(2).cloned().collect());
        let mut folding = Folding::of(page).unwrap();
        assert_eq!(folding.items(), 3);
        let folded: Vec<Revision> =
            all.iter().cloned().filter_map(|revision| folding.next(revision)).collect();
        assert_eq!(folded, [revision(2, Some("x"), Some("y")), revision(1, None, Some("c"))]);
    }

    #[test]
    fn an_item_that_moved_twice_moved_once() {
        let mut first = revision(1, Some("a"), Some("a"));
        first.moved_to = Some("k2".into());
        let mut last = revision(1, Some("a"), Some("a"));
        (last.key, last.moved_to) = ("k2".into(), Some("k3".into()));
        let whole = joined(first.clone(), last.clone());
        assert_eq!((whole.key.as_str(), whole.key_after()), ("k1", "k3"));
        last.moved_to = Some("k1".into());
        assert!(joined(first, last).is_empty());
    }
}
