//! The model's pieces as a byte trie, read where it lies in the binary: nothing is built or copied
//! at start. The layout is described in `models/vocabulary.py`, which writes it.

use crate::{Damaged, Result};

/// A view of `vocabulary.bin`.
#[derive(Clone, Copy)]
pub struct Vocabulary {
    scores: &'static [[u8; 4]],
    first: &'static [[u8; 4]],
    pieces: &'static [[u8; 4]],
    labels: &'static [u8],
    lowest: f32,
}

impl Vocabulary {
    /// Checks the header and the lengths; the rest is trusted as part of the binary.
    pub fn parse(file: &'static [u8]) -> Result<Self> {
        let broken = || Damaged("the embedded vocabulary is damaged: build again".to_owned());
        let rest = file.strip_prefix(b"NWV1").ok_or_else(broken)?;
        let (head, rest) = rest.split_at_checked(12).ok_or_else(broken)?;
        let (head, _) = head.as_chunks::<4>();
        let (count, nodes) = (number(head[0]), number(head[1]));
        let (scores, rest) = rest.split_at_checked(count * 4).ok_or_else(broken)?;
        let (first, rest) = rest.split_at_checked(nodes * 4 + 4).ok_or_else(broken)?;
        let (pieces, labels) = rest.split_at_checked(nodes * 4).ok_or_else(broken)?;
        if labels.len() != nodes {
            return Err(broken());
        }
        Ok(Self {
            scores: scores.as_chunks().0,
            first: first.as_chunks().0,
            pieces: pieces.as_chunks().0,
            labels,
            lowest: f32::from_le_bytes(head[2]),
        })
    }

    /// How many pieces there are, the special ones included.
    pub fn len(&self) -> usize {
        self.scores.len()
    }

    /// The log probability of a piece.
    pub fn score(&self, piece: u32) -> f64 {
        f64::from(f32::from_le_bytes(self.scores[piece as usize]))
    }

    /// The log probability of the rarest piece.
    pub fn lowest(&self) -> f64 {
        f64::from(self.lowest)
    }

    /// Calls `found(length, piece)` for every piece that the bytes begin with, shortest first.
    pub fn prefixes(&self, bytes: &[u8], mut found: impl FnMut(usize, u32)) {
        let mut node = 0;
        for (at, byte) in bytes.iter().enumerate() {
            let (from, to) = (number(self.first[node]), number(self.first[node + 1]));
            match self.labels[from..to].binary_search(byte) {
                Ok(child) => node = from + child,
                Err(_) => return,
            }
            let piece = u32::from_le_bytes(self.pieces[node]);
            if piece != 0 {
                found(at + 1, piece);
            }
        }
    }

    /// Calls `tell(bytes, piece)` for every piece.
    pub fn each(&self, mut tell: impl FnMut(&[u8], u32)) {
        // A node and the depth it stands at; its bytes are those of the way there.
        let mut open = vec![(0, 0)];
        let mut bytes = Vec::new();
        while let Some((node, depth)) = open.pop() {
            bytes.truncate(depth.max(1) - 1);
            if depth > 0 {
                bytes.push(self.labels[node]);
            }
            let piece = u32::from_le_bytes(self.pieces[node]);
            if piece != 0 {
                tell(&bytes, piece);
            }
            let children = number(self.first[node])..number(self.first[node + 1]);
            open.extend(children.map(|child| (child, depth + 1)));
        }
    }
}

fn number(bytes: [u8; 4]) -> usize {
    u32::from_le_bytes(bytes) as usize
}
