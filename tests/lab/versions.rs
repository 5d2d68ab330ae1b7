//! An older version and today's at work on one library at the same time. `NOTEWELL_LAB_OTHER` names
//! the older program.

use std::path::PathBuf;

use crate::{
    bench::Bench,
    model::Model,
    paths,
    paths::Path,
    rounds::Lab,
    session::{Outcome, Session},
    tally::Tally,
};

/// The library is the older version's. Both change it in turn, each is killed and started again,
/// and today's version sees what either acknowledged.
fn share(make: fn(&Bench) -> Path) {
    let other = std::env::var_os("NOTEWELL_LAB_OTHER").filter(|path| !path.is_empty());
    let Some(other) = other.map(PathBuf::from) else {
        println!("\nskip two versions at once: NOTEWELL_LAB_OTHER names no other program");
        return;
    };
    let Some(bench) = Bench::new() else { return };
    bench.test(Some(&other));
    let path = make(&bench);
    bench.test(None);
    let lab = Lab::on(bench, path);
    let mut tally = Tally::default();
    for first in 0..lab.path.requests.len() {
        lab.bench.restore();
        let mut model = Model(vec![lab.start.clone()]);
        let total = lab.path.requests.len();
        let mut requests = (first..first + total).map(|number| number % total);
        let open = |old: bool| -> Session {
            lab.bench.test(old.then_some(other.as_path()));
            let session = lab.open(false, false);
            lab.bench.test(None);
            session.unwrap_or_else(|| panic!("{}", lab.bench.log()))
        };
        let mut sessions = [open(true), open(false)];
        // Old, new, old, the new one dies, new, the old one dies, old.
        for (at, dies) in [(0, false), (1, false), (0, false), (1, true), (0, true)] {
            if dies {
                let next = open(at == 0);
                std::mem::replace(&mut sessions[at], next).kill();
            }
            let number = requests.next().unwrap();
            let outcome = sessions[at].perform(&lab.bench, &lab.path.requests[number]);
            if let Outcome::Refused(why) = &outcome {
                println!("{}: version {at} refused: {why}", lab.path.name);
            }
            assert_ne!(outcome, Outcome::Dead, "{}", lab.bench.log());
            lab.learned(&mut model, number, &outcome, &mut tally);
        }
        for session in sessions {
            session.close();
        }
        let next = requests.next().unwrap();
        lab.verify(&mut model, next).unwrap_or_else(|wrong| panic!("{first}: {wrong:?}"));
    }
    println!(
        "two versions, {}: {} acknowledged, {} refused, nothing lost",
        lab.path.name, tally.acknowledged, tally.refused
    );
}

#[test]
fn two_versions_share_cards() {
    share(paths::cards);
}

#[test]
fn two_versions_share_prompts() {
    share(paths::prompts);
}

#[test]
fn two_versions_share_pages() {
    share(paths::pages);
}

#[test]
fn two_versions_share_bookmarks() {
    share(paths::bookmarks);
}
