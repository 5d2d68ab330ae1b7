//! Small texts with a meaning: paths, addresses, amounts, dates, names.

use notewell::{
    domain::{
        Money, Timestamp, Toolsets, UserName, VaultPath,
        bookmark::{domain, links, same_address},
        card::{Image, Recurrence, next_occurrence, parse_image_link},
        property::{PropertyFilter, Sort, compare},
        user::Scopes,
    },
    vault::join_path,
};

use super::{parts, text};

/// Each text is one of its kind, or is refused with a sentence.
pub fn values(data: &[u8]) {
    let [one, other] = parts(data);
    let (one, other) = (text(one), text(other));
    path(&one, &other);
    if let Ok(money) = Money::parse(&one) {
        assert!(money >= Money::ZERO);
        assert_eq!(Money::parse(&money.to_string()).expect("what was written"), money);
        for percent in [0, 1, 33, 70, 99, 100] {
            let (author, rest) = money.split(percent);
            assert_eq!(author.plus(rest).expect("the parts"), money);
        }
    }
    if let Some(moment) = Timestamp::parse(&one) {
        assert_eq!(Timestamp::parse(&moment.to_string()), Some(moment), "{one}");
        moment.date();
        let now = Timestamp::parse(&other).unwrap_or(Timestamp(0));
        for recurrence in [Recurrence::Daily, Recurrence::Weekly, Recurrence::Monthly] {
            if let Some(next) = next_occurrence(moment, recurrence, now) {
                assert!(next > now && next > moment, "{one} {other}: {next}");
            }
        }
    }
    assert_eq!(compare(&one, &other), compare(&other, &one).reverse(), "{one:?} {other:?}");
    if let Ok(filter) = PropertyFilter::from_text(&one, &other) {
        filter.test.passes(&one);
        filter.test.passes(&other);
    }
    let _ = Sort::parse(&one);
    let _ = Scopes::parse(&one);
    let _ = Toolsets::parse(&one);
    let _ = UserName::new(&one);
    let _ = parse_image_link(&one);
    if let Some(image) = Image::parse(&one) {
        let again = Image::parse(&Image::data_url(&image.mime, &image.bytes));
        assert!(again.is_some_and(|again| again.bytes == image.bytes));
    }
    same_address(&one);
    domain(&one);
    let mut end = 0;
    for range in links::addresses(&one) {
        assert!(range.start >= end && one.get(range.clone()).is_some());
        end = range.end;
    }
}

/// A path stays inside its vault.
fn path(one: &str, other: &str) {
    if let Ok(path) = VaultPath::parse(one) {
        let text = path.as_str();
        assert!(!text.starts_with('/') && !text.contains('\\') && !text.contains('\0'));
        assert!(text.split('/').all(|part| !part.is_empty() && part != "." && part != ".."));
        assert_eq!(VaultPath::parse(text).ok().as_ref(), Some(&path), "{one:?}");
        let inside = std::path::Path::new("/vault").join(text);
        assert!(inside.starts_with("/vault"));
        if let Some(joined) = join_path(path.folder(), other) {
            assert!(joined.split('/').all(|part| part != ".."), "{joined}");
        }
    }
}
