//! nDCG@10, MRR@10 and recall@10, as `trec_eval` counts them.

use std::collections::HashMap;

use super::{Ranked, Run, set::Judgements};

const K: usize = 10;

/// Means over the questions of a set.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Scores {
    /// Number of questions.
    pub questions: usize,
    /// nDCG@10.
    pub ndcg: f64,
    /// MRR@10.
    pub mrr: f64,
    /// Recall@10.
    pub recall: f64,
}

impl Scores {
    /// Means over every question that has a relevant document; one without an answer scores 0.
    pub fn of(run: &Run, judgements: &Judgements) -> Self {
        let ranked: HashMap<&str, &[Ranked]> =
            run.iter().map(|(id, ranking)| (id.as_str(), ranking.as_slice())).collect();
        let mut sum = Self::default();
        for (question, relevant) in judgements {
            let ranking = ranked.get(question.as_str()).copied().unwrap_or_default();
            sum.add(ranking, relevant);
        }
        let count = judgements.len().max(1) as f64;
        Self {
            questions: judgements.len(),
            ndcg: sum.ndcg / count,
            mrr: sum.mrr / count,
            recall: sum.recall / count,
        }
    }

    fn add(&mut self, ranking: &[Ranked], relevant: &HashMap<String, f64>) {
        let gain = |id: &str| relevant.get(id).copied().unwrap_or(0.0).max(0.0);
        let discount = |rank: usize| ((rank + 2) as f64).log2();
        let top = &ranking[..ranking.len().min(K)];
        let gained: f64 = top
            .iter()
            .enumerate()
            .map(|(rank, found)| gain(&found.document) / discount(rank))
            .sum();
        let mut ideal: Vec<f64> = relevant.values().copied().filter(|gain| *gain > 0.0).collect();
        ideal.sort_by(|a, b| b.total_cmp(a));
        let most: f64 =
            ideal.iter().take(K).enumerate().map(|(rank, gain)| gain / discount(rank)).sum();
        self.ndcg += gained / most;
        let first = top.iter().position(|found| gain(&found.document) > 0.0);
        self.mrr += first.map_or(0.0, |rank| 1.0 / (rank + 1) as f64);
        let found = top.iter().filter(|found| gain(&found.document) > 0.0).count();
        self.recall += found as f64 / ideal.len() as f64;
    }
}

/// The best results of every question: their relevance, and whether they were judged relevant.
pub fn promises(run: &Run, judgements: &Judgements) -> Vec<(f32, bool)> {
    let judged = |question: &str, document: &str| {
        judgements.get(question)?.get(document).copied().filter(|gain| *gain > 0.0)
    };
    let mut promises = Vec::new();
    for (question, ranking) in run {
        for Ranked { document, relevance, .. } in ranking.iter().take(K) {
            promises.push((*relevance, judged(question, document).is_some()));
        }
    }
    promises
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_of_a_run_worked_by_hand() {
        let judged = HashMap::from([
            ("q1".to_owned(), HashMap::from([("a".to_owned(), 2.0), ("b".to_owned(), 1.0)])),
            ("q2".to_owned(), HashMap::from([("c".to_owned(), 1.0)])),
        ]);
        let ranked = |document: &str| Ranked {
            document: document.to_owned(),
            score: 1.0,
            relevance: 1.0,
            evidence: Default::default(),
        };
        let run: Run = vec![("q1".into(), ["x", "b", "a"].map(ranked).to_vec())];
        let scores = Scores::of(&run, &judged);
        let gained = 1.0 / 3f64.log2() + 2.0 / 2.0;
        let ideal = 2.0 + 1.0 / 3f64.log2();
        assert!((scores.ndcg - gained / ideal / 2.0).abs() < 1e-12);
        assert!((scores.mrr - 0.25).abs() < 1e-12);
        assert!((scores.recall - 0.5).abs() < 1e-12);
        assert_eq!(scores.questions, 2);
    }
}
