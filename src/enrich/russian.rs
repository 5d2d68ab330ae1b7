//! Parts of speech of Russian words, by their endings: good enough to prefer subjects as tags.

/// Letters of a word whose ending says something.
const MIN_LETTERS: usize = 5;

const VERBS: &[&str] = &[
    "ться",
    "тся",
    "ется",
    "ится",
    "ются",
    "лся",
    "лась",
    "лось",
    "лись",
    "ает",
    "яет",
    "ует",
    "ают",
    "яют",
    "уют",
    "ешь",
    "ишь",
    "ете",
    "ите",
    "йте",
    "аю",
    "яю",
    "ую",
    "ывать",
    "ивать",
    "ировать",
    "нуть",
    "ать",
    "ять",
    "ить",
    "еть",
    "ала",
    "ила",
    "яла",
    "ела",
    "али",
    "или",
    "яли",
    "ели",
    "ала",
    "ывал",
    "ивал",
    "овал",
    "ирал",
    "ился",
];
const ADVERBS: &[&str] = &["чески", "енно", "ально", "ично", "ьно", "вшись", "ывая", "ивая"];
const ADJECTIVES: &[&str] = &[
    "ый", "ий", "ой", "ая", "яя", "ое", "ее", "ые", "ие", "ого", "его", "ому", "ему", "ыми", "ими",
    "ых", "их", "ую", "юю",
];

/// How likely a word names a subject: 1 for a noun or a word of another script.
pub(super) fn subject(form: &str) -> f32 {
    let form = form.to_lowercase();
    if !is_russian(&form) {
        1.0
    } else if ends(&form, VERBS) || ends(&form, ADVERBS) {
        0.5
    } else if ends(&form, ADJECTIVES) {
        0.75
    } else {
        1.0
    }
}

/// Whether a word is an adjective and the next a noun that it may belong to.
pub(super) fn qualifies(adjective: &str, noun: &str) -> bool {
    let (adjective, noun) = (adjective.to_lowercase(), noun.to_lowercase());
    let both = is_russian(&adjective) && is_russian(&noun);
    both && ends(&adjective, ADJECTIVES) && !ends(&noun, ADJECTIVES) && !ends(&noun, VERBS)
}

fn is_russian(form: &str) -> bool {
    form.chars().count() >= MIN_LETTERS
        && form.chars().all(|c| ('а'..='ё').contains(&c) || c == '-')
}

fn ends(form: &str, endings: &[&str]) -> bool {
    endings.iter().any(|ending| form.ends_with(ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nouns_are_subjects_and_verbs_are_not() {
        for noun in ["налог", "велосипеды", "клавиатура", "Kubernetes", "機械学習", "сон"]
        {
            assert_eq!(subject(noun), 1.0, "{noun}");
        }
        for other in ["печатаю", "предложили", "механическая", "обновляется"]
        {
            assert!(subject(other) < 1.0, "{other}");
        }
        assert!(qualifies("механическая", "клавиатура"));
        assert!(!qualifies("клавиатура", "механическая"));
        assert!(!qualifies("good", "keyboard"));
    }
}
