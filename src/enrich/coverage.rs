//! How much of one text another has, word by word.

use std::collections::{HashMap, HashSet};

use crate::text::{Analyser, Mode, is_stop_word};

/// The share of the words of `wanted` that `text` has in some form; 0 when it has no words.
pub fn covered(wanted: &str, text: &str) -> f32 {
    let mut analyser = Analyser::new();
    let terms: HashSet<String> =
        analyser.terms(text, None, Mode::Index).into_iter().map(|term| term.term).collect();
    let mut words: HashMap<u32, bool> = HashMap::new();
    for term in analyser.terms(wanted, None, Mode::Query) {
        if !is_stop_word(&wanted[term.range], None) {
            *words.entry(term.position).or_default() |= terms.contains(&term.term);
        }
    }
    let hits = words.values().filter(|covered| **covered).count();
    if words.is_empty() { 0.0 } else { hits as f32 / words.len() as f32 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_covered_in_whatever_form() {
        for (wanted, text) in [
            ("vector databases", "Built a RAG pipeline with a vector database"),
            ("базу данных", "Наша база данных растёт"),
            ("ベクトル検索", "ベクトル検索と再ランキング"),
            ("the Python", "written in Python"),
        ] {
            assert!(covered(wanted, text) >= 1.0, "{wanted}: {text}");
        }
        assert!(covered("merino wool yarn", "a vector database of wool") < 0.6);
        assert_eq!(covered("the and of", "the and of"), 0.0, "stop words ask for nothing");
    }
}
