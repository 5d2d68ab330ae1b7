//! What every embedder promises, checked over each of them.

use unicode_normalization::UnicodeNormalization;

use super::{Embedder, Role};

pub fn cosine(a: &[f32], b: &[f32]) -> f64 {
    let dot = |a: &[f32], b: &[f32]| -> f64 {
        a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
    };
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
}

/// Stops at the first promise that is broken.
pub fn check(embedder: &dyn Embedder) {
    let texts =
        ["How do I back up my notes?", "Как сохранить заметки?", "メモの保存方法", "", " \n\t"];
    assert!(!embedder.id().is_empty());
    for role in [Role::Query, Role::Passage] {
        assert!(embedder.embed(&[], role).unwrap().is_empty());
        let vectors = embedder.embed(&texts, role).unwrap();
        assert_eq!(vectors.len(), texts.len());
        for (vector, text) in vectors.iter().zip(texts) {
            assert_eq!(vector.len(), embedder.dims());
            assert!((cosine(vector, vector).sqrt() - 1.0).abs() < 1e-6);
            let length: f32 = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
            assert!((length - 1.0).abs() < 1e-4, "{length} for {text:?}");
        }
        assert_eq!(embedder.embed(&texts, role).unwrap(), vectors, "the same again");
        assert_ne!(vectors[0], vectors[1], "another text, another vector");
    }

    for text in ["naïve café", "ёлка и йод", "がぎぐげご パピプペポ"] {
        let decomposed: String = text.nfd().collect();
        assert_ne!(text, decomposed);
        let vectors = embedder.embed(&[text, &decomposed], Role::Passage).unwrap();
        assert!(cosine(&vectors[0], &vectors[1]) > 0.999_999, "{text}");
    }

    for piece in ["word ", "слово ", "言葉", "\u{1f980}", "\u{301}"] {
        let long = piece.repeat(1_000_000 / piece.len());
        let vectors = embedder.embed(&[&long, "short"], Role::Passage).unwrap();
        assert!(vectors.iter().flatten().all(|x| x.is_finite()), "{piece}");
        assert_eq!(vectors[0].len(), embedder.dims());
    }
    assert!((0.0..=1.0).contains(&embedder.covered("Hello, мир, 世界, \u{1f980}")));
}
