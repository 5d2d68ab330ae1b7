//! Takes a change back from what an item is now: three-way, so that what somebody changed since
//! stays.

use serde_json::{Map, Value};

use super::text::{WRITE_DATES, object};
use crate::domain::Kind;

/// An item with one change taken back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reverted {
    /// Nothing of the change is left in it.
    Already,
    /// It was not changed since: what was there before.
    Clean(Option<Vec<u8>>),
    /// It was changed since, elsewhere: both are kept.
    Merged(Vec<u8>),
    /// It was changed since in the same place, or it was created or deleted.
    Conflict,
}

/// Takes back the change from `before` to `after` where the item is `now`.
pub fn revert(
    kind: Kind,
    before: Option<&[u8]>,
    after: Option<&[u8]>,
    now: Option<&[u8]>,
) -> Reverted {
    if now == before {
        return Reverted::Already;
    }
    if now == after {
        return Reverted::Clean(before.map(<[u8]>::to_vec));
    }
    let (Some(before), Some(after), Some(now)) = (before, after, now) else {
        return Reverted::Conflict;
    };
    let merged = match kind {
        Kind::Page => diffy::merge_bytes(after, now, before).ok(),
        Kind::Card | Kind::Bookmark | Kind::Prompt => merge_objects(before, after, now),
    };
    match merged {
        None => Reverted::Conflict,
        Some(merged) if merged == now => Reverted::Already,
        Some(merged) => Reverted::Merged(merged),
    }
}

/// Field by field; a text that both changed is merged by its lines.
fn merge_objects(before: &[u8], after: &[u8], now: &[u8]) -> Option<Vec<u8>> {
    let (before, after, mut now) = (object(before)?, object(after)?, object(now)?);
    let names: Vec<&String> =
        before.keys().chain(after.keys().filter(|name| !before.contains_key(*name))).collect();
    for name in names {
        let (old, new) = (before.get(name), after.get(name));
        if old == new || WRITE_DATES.contains(&name.as_str()) {
            continue;
        }
        let current = now.get(name);
        if current == new {
            set(&mut now, name, old.cloned());
        } else if current != old {
            let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
            let (old, new, current) = (text(old)?, text(new)?, text(current)?);
            let merged = diffy::merge(&new, &current, &old).ok()?;
            set(&mut now, name, Some(merged.into()));
        }
    }
    Some(Value::Object(now).to_string().into_bytes())
}

fn set(fields: &mut Map<String, Value>, name: &str, value: Option<Value>) {
    match value {
        Some(value) => drop(fields.insert(name.to_owned(), value)),
        None => drop(fields.shift_remove(name)),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn page(before: &str, after: &str, now: &str) -> Reverted {
        let bytes = |text: &str| Some(text.as_bytes().to_vec());
        let (before, after, now) = (bytes(before), bytes(after), bytes(now));
        revert(Kind::Page, before.as_deref(), after.as_deref(), now.as_deref())
    }

    #[test]
    fn what_a_person_changed_elsewhere_stays() {
        let before = "# Один\n\nстарое\n\n# 二\n\n文\n\n# Three\n\nend\n";
        let after = before.replace("старое", "новое");
        let now = after.replace("end", "end, and a word of mine");
        let wanted = before.replace("end", "end, and a word of mine");
        assert_eq!(page(before, &after, &now), Reverted::Merged(wanted.into_bytes()));
        let clash = after.replace("новое", "новое и моё");
        assert_eq!(page(before, &after, &clash), Reverted::Conflict);
        assert_eq!(page(before, &after, before), Reverted::Already);
        assert_eq!(page(before, &after, &after), Reverted::Clean(Some(before.into())));
    }

    #[test]
    fn fields_are_taken_back_one_by_one() {
        let card = |title: &str, content: &str, pinned: bool, updated: &str| {
            json!({"title": title, "content": content, "isPinned": pinned, "updatedAt": updated})
                .to_string()
                .into_bytes()
        };
        let before = card("A", "text", false, "1");
        let after = card("Б", "text", false, "2");
        let pinned = card("Б", "text", true, "3");
        assert_eq!(
            revert(Kind::Card, Some(&before), Some(&after), Some(&pinned)),
            Reverted::Merged(card("A", "text", true, "3"))
        );
        let renamed = card("語", "text", false, "3");
        assert_eq!(
            revert(Kind::Card, Some(&before), Some(&after), Some(&renamed)),
            Reverted::Conflict
        );
    }

    #[test]
    fn what_was_created_and_changed_is_not_deleted() {
        assert_eq!(revert(Kind::Page, None, Some(b"a"), Some(b"b")), Reverted::Conflict);
        assert_eq!(revert(Kind::Page, None, Some(b"a"), Some(b"a")), Reverted::Clean(None));
        assert_eq!(revert(Kind::Page, Some(b"a"), Some(b"b"), None), Reverted::Conflict);
        assert_eq!(revert(Kind::Page, None, Some(b"a"), None), Reverted::Already);
    }

    proptest! {
        /// Lines that somebody added at the end survive any change of the lines before them.
        #[test]
        fn added_words_are_never_lost(
            lines in proptest::collection::vec("[a-c]{0,2}", 1..8),
            changed in proptest::collection::vec("[a-c]{0,2}", 1..8),
        ) {
            let text = |lines: &[String]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
            let (before, after) = (text(&lines), text(&changed));
            let now = format!("{after}fixed\nfixed\nмоё слово\n");
            match page(&format!("{before}fixed\nfixed\n"), &format!("{after}fixed\nfixed\n"), &now) {
                Reverted::Clean(_) | Reverted::Conflict => prop_assert!(before != after),
                Reverted::Already => prop_assert_eq!(before, after),
                Reverted::Merged(merged) => {
                    let merged = String::from_utf8(merged).unwrap();
                    prop_assert!(merged.ends_with("моё слово\n"));
                }
            }
        }
    }
}
