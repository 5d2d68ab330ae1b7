//! Names of skills from names of other things.
//!
//! A skill's name has lower-case ASCII letters, digits and hyphens only. Russian is transliterated;
//! what has no Latin spelling here gets a name from its digest, which stays the same as long as the
//! text does.

use std::collections::HashSet;

use sha2::{Digest, Sha256};

use super::address::MAX_NAME;
use crate::domain::Pid;

/// A name that a skill may have, for any text.
pub fn plain(text: &str) -> String {
    let mut name = String::new();
    let mut is_whole = true;
    for c in text.chars().flat_map(char::to_lowercase) {
        match c {
            'a'..='z' | '0'..='9' => {
                name.push(c);
            }
            c => match latin(c) {
                Some(letters) => {
                    name += letters;
                }
                None => {
                    is_whole &= !c.is_alphanumeric();
                    name.push('-');
                }
            },
        }
    }
    let words: Vec<&str> = name.split('-').filter(|word| !word.is_empty()).collect();
    let name = words.join("-");
    if is_whole && (1..=MAX_NAME).contains(&name.len()) {
        return name;
    }
    // Two texts that differ only in what was lost have two names.
    let digest = Sha256::digest(text.as_bytes());
    let digest: String = digest.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
    let start = if name.is_empty() { "skill" } else { &name };
    with_ending(start, &digest)
}

/// The names of the methods of these pages and names, each once, and none that is taken. The page
/// with the lower number keeps the plain name, so that a new page renames no other.
pub fn of_methods<'a>(
    methods: &[(Pid, &str)],
    taken: impl IntoIterator<Item = &'a str>,
) -> Vec<String> {
    let mut order: Vec<usize> = (0..methods.len()).collect();
    order.sort_by_key(|at| methods[*at].0);
    let mut taken: HashSet<String> = taken.into_iter().map(str::to_owned).collect();
    let mut names = vec![String::new(); methods.len()];
    for at in order {
        let (pid, method) = methods[at];
        let mut name = plain(method);
        let mut ending = format!("p{pid}");
        while taken.contains(&name) {
            name = with_ending(&plain(method), &ending);
            ending.push('x');
        }
        taken.insert(name.clone());
        names[at] = name;
    }
    names
}

/// `start-ending`, with `start` cut so that the whole is a name.
fn with_ending(start: &str, ending: &str) -> String {
    let most = MAX_NAME.saturating_sub(ending.len() + 1);
    let cut = start.get(..most.min(start.len())).unwrap_or(start).trim_end_matches('-');
    format!("{cut}-{ending}")
}

/// The Latin spelling of a Cyrillic letter; empty for the signs that have none.
fn latin(c: char) -> Option<&'static str> {
    Some(match c {
        'а' => "a",
        'б' => "b",
        'в' => "v",
        'г' | 'ґ' => "g",
        'д' => "d",
        'е' | 'э' => "e",
        'ё' => "yo",
        'ж' => "zh",
        'з' => "z",
        'и' | 'і' => "i",
        'й' | 'ї' => "y",
        'к' => "k",
        'л' => "l",
        'м' => "m",
        'н' => "n",
        'о' => "o",
        'п' => "p",
        'р' => "r",
        'с' => "s",
        'т' => "t",
        'у' => "u",
        'ф' => "f",
        'х' => "kh",
        'ц' => "ts",
        'ч' => "ch",
        'ш' => "sh",
        'щ' => "shch",
        'ъ' | 'ь' => "",
        'ы' => "y",
        'ю' => "yu",
        'я' => "ya",
        'є' => "ye",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{super::address::is_name, *};

    #[test]
    fn a_name_says_what_the_text_says_where_it_can() {
        for (text, name) in [
            ("weekly_plan", "weekly-plan"),
            ("Mira.Review", "mira-review"),
            ("Обзор кода", "obzor-koda"),
            ("объезд щенят", "obezd-shchenyat"),
        ] {
            assert_eq!(plain(text), name);
        }
        let (plan, code) = (plain("週次計画"), plain("コードレビュー"));
        assert!(plan.starts_with("skill-") && code.starts_with("skill-"), "{plan} {code}");
        assert_ne!(plan, code);
        assert_eq!(plan, plain("週次計画"), "the same text, the same name");
        assert_ne!(plain("レビュー v2"), plain("計画 v2"));
        assert!(plain("レビュー v2").starts_with("v2-"));
        assert!(is_name(&plain("___")));
        assert_ne!(plain(&"x".repeat(200)), plain(&"x".repeat(201)));
    }

    #[test]
    fn two_methods_have_two_names_and_a_new_one_renames_nobody() {
        let old = [(Pid(4), "weekly_plan"), (Pid(9), "weekly-plan")];
        assert_eq!(of_methods(&old, []), ["weekly-plan", "weekly-plan-p9"]);
        let new = [(Pid(12), "Weekly.Plan"), (Pid(9), "weekly-plan"), (Pid(4), "weekly_plan")];
        assert_eq!(of_methods(&new, []), ["weekly-plan-p12", "weekly-plan-p9", "weekly-plan"]);
        let odd = [(Pid(1), "a"), (Pid(2), "a-p3"), (Pid(3), "a_")];
        assert_eq!(of_methods(&odd, []), ["a", "a-p3", "a-p3x"]);
        assert_eq!(of_methods(&old, ["weekly-plan"]), ["weekly-plan-p4", "weekly-plan-p9"]);
    }

    proptest! {
        #[test]
        fn every_text_has_a_name(text in ".{0,100}") {
            prop_assert!(is_name(&plain(&text)), "{}", plain(&text));
        }

        #[test]
        fn names_are_unique(texts in proptest::collection::vec("[aA._-]{1,5}|.{1,3}", 1..20)) {
            let methods: Vec<(Pid, &str)> =
                (1_i64..).map(Pid).zip(texts.iter().map(String::as_str)).collect();
            let names = of_methods(&methods, ["a"]);
            prop_assert!(names.iter().all(|name| is_name(name) && name != "a"));
            let unique: HashSet<&String> = names.iter().collect();
            prop_assert_eq!(unique.len(), names.len());
        }
    }
}
