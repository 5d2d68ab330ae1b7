//! The activity of a repository: commits and people in the year before its newest commit, tags, age.
//!
//! Only the commits of that year are fetched, without files. The year ends with the newest commit, not
//! today, so the result for a commit never changes.

use std::collections::BTreeSet;

use super::clone::{Checkout, Git};
use crate::domain::Result;

const YEAR: i64 = 365 * 86_400;
/// The number of newest tags whose signature is checked.
const MAX_TAGS: usize = 20;
/// The limit of a fetch from a forge that cannot limit by date.
const DEPTH: &str = "--depth=1000";

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct History {
    /// In the year before the newest commit, that one included.
    pub commits: u32,
    pub contributors: u32,
    /// The first commit, or the oldest one fetched, in seconds since 1970.
    pub oldest: i64,
    /// Whether `oldest` is the first commit.
    pub complete: bool,
    /// By version, the newest first.
    pub tags: Vec<String>,
    /// Of the newest tags, how many were checked and how many have a signature.
    pub signed: (usize, usize),
}

pub fn read(git: &Git<'_>, checkout: &Checkout) -> Result<History> {
    let room = git.room("history", true)?;
    let since = checkout.committed - YEAR;
    let cut = format!("--shallow-since=@{since}");
    // Without files: a commit is a few hundred bytes.
    let fetch = |cut: &str| {
        git.ask(
            &room,
            &["fetch", "--quiet", "--no-tags", "--filter=tree:0", cut, "origin", &checkout.commit],
        )
    };
    fetch(&cut).or_else(|_| fetch(DEPTH))?;
    let log = git.ask(&room, &["log", "--format=%ct %ae", &checkout.commit])?;
    let mut history = History { oldest: checkout.committed, ..History::default() };
    let mut people = BTreeSet::new();
    for line in log.lines() {
        let (time, email) = line.split_once(' ').unwrap_or((line, ""));
        let Ok(time) = time.parse::<i64>() else { continue };
        history.oldest = history.oldest.min(time);
        // Bots commit too, but do not count as people.
        if (since..=checkout.committed).contains(&time) {
            history.commits += 1;
            if !email.contains("[bot]") {
                people.insert(email.to_lowercase());
            }
        }
    }
    history.contributors = u32::try_from(people.len()).unwrap_or(u32::MAX);
    history.complete = !room.join("shallow").exists();
    read_tags(git, &mut history)?;
    Ok(history)
}

fn read_tags(git: &Git<'_>, history: &mut History) -> Result<()> {
    let room = git.room("tags", true)?;
    let listed = git.ask(&room, &["ls-remote", "--tags", "--sort=-version:refname", "origin"])?;
    let mut annotated = BTreeSet::new();
    for line in listed.lines() {
        let Some((_, name)) = line.split_once("refs/tags/") else { continue };
        match name.strip_suffix("^{}") {
            Some(name) => drop(annotated.insert(name.to_owned())),
            None => history.tags.push(name.to_owned()),
        }
    }
    let newest = &history.tags[..history.tags.len().min(MAX_TAGS)];
    // A tag that is only a name for a commit has no room for a signature.
    let refs: Vec<String> = newest
        .iter()
        .filter(|name| annotated.contains(*name))
        .map(|name| format!("refs/tags/{name}:refs/tags/{name}"))
        .collect();
    let mut signed = 0;
    if !refs.is_empty() {
        let mut arguments =
            vec!["fetch", "--quiet", "--no-tags", "--filter=tree:0", "--depth=1", "origin"];
        arguments.extend(refs.iter().map(String::as_str));
        git.ask(&room, &arguments)?;
        let all =
            git.ask(&room, &["for-each-ref", "--format=%(contents:signature)%00", "refs/tags"])?;
        signed = all.split('\0').filter(|text| text.contains("-----BEGIN ")).count();
    }
    history.signed = (newest.len(), signed);
    Ok(())
}
