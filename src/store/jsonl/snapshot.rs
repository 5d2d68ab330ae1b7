//! The prompts of all layers as one ordered list, made once per change and shared by readers.

use std::{
    collections::HashSet,
    sync::{Arc, OnceLock},
};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};

use super::{
    DEFAULT, USER, builtin, composed,
    lines::{self, Line, Lines},
};
use crate::{
    domain::Error,
    store::prompts::{Page, Problem, Stored},
};

/// A change of more lines than this is not worth following.
const MAX_CHANGED_LINES: usize = 64;

#[derive(Debug)]
pub struct Snapshot {
    /// Ordered by name, each name once.
    pub listed: Arc<[Arc<Stored>]>,
    user: Arc<Lines>,
    default: Arc<Lines>,
    problems: OnceLock<Vec<Problem>>,
    shared: OnceLock<Arc<[Arc<Stored>]>>,
}

impl Snapshot {
    pub fn new(user: &Arc<Lines>, default: &Arc<Lines>) -> Self {
        let layers = [user, default, builtin::lines()];
        let mut listed = Vec::with_capacity(layers.iter().map(|layer| layer.0.len()).sum());
        let mut seen = HashSet::with_capacity(listed.capacity());
        for stored in layers.into_iter().flat_map(Lines::prompts) {
            if seen.insert(stored.prompt.name.as_str()) {
                listed.push(stored.clone());
            }
        }
        listed.sort_unstable_by(|a, b| a.prompt.name.cmp(&b.prompt.name));
        Self::of(listed, user, default)
    }

    fn of(listed: Vec<Arc<Stored>>, user: &Arc<Lines>, default: &Arc<Lines>) -> Self {
        let (user, default) = (user.clone(), default.clone());
        let (problems, shared) = (OnceLock::new(), OnceLock::new());
        Self { listed: listed.into(), user, default, problems, shared }
    }

    /// The list as it would be without the user's file: a prompt of the user's hides none of them.
    pub fn shared(&self) -> Arc<[Arc<Stored>]> {
        let without_user = || Self::new(&Arc::default(), &self.default).listed;
        self.shared.get_or_init(without_user).clone()
    }

    /// The same list after a change. Where few lines changed only their names are looked at: ten
    /// thousand others would take longer than writing them.
    pub fn after(&self, user: &Arc<Lines>, default: &Arc<Lines>) -> Self {
        let (gone, new) = self.user.differing(user);
        if gone.len() + new.len() > MAX_CHANGED_LINES || !Arc::ptr_eq(&self.default, default) {
            return Self::new(user, default);
        }
        let mut listed = self.listed.to_vec();
        let prompts = gone.iter().chain(new).filter_map(Line::prompt);
        let names: HashSet<&str> = prompts.map(|stored| stored.prompt.name.as_str()).collect();
        for name in names {
            match place(&listed, name) {
                Ok(at) => {
                    let layers = [user, default, builtin::lines()];
                    match layers.into_iter().find_map(|layer| layer.find(name)) {
                        Some(found) => listed[at] = found.clone(),
                        None => drop(listed.remove(at)),
                    }
                }
                // It was nowhere before, so the first of the new lines is the first of all.
                Err(at) => {
                    let mut new = new.iter().filter_map(Line::prompt);
                    if let Some(found) = new.find(|stored| stored.prompt.name == name) {
                        listed.insert(at, found.clone());
                    }
                }
            }
        }
        Self::of(listed, user, default)
    }

    /// One page of the list.
    pub fn page(&self, cursor: Option<&str>, limit: usize) -> crate::domain::Result<Page> {
        let after = cursor.filter(|cursor| !cursor.is_empty()).map(read_cursor).transpose()?;
        let listed = &self.listed;
        let start = match &after {
            Some(name) => listed.partition_point(|stored| stored.prompt.name <= *name),
            None => 0,
        };
        let end = start.saturating_add(limit.max(1)).min(listed.len());
        let prompts = listed[start..end].to_vec();
        let last = prompts.last().filter(|_| end < listed.len());
        let next = last.map(|stored| URL_SAFE_NO_PAD.encode(format!("n{}", stored.prompt.name)));
        Ok(Page { prompts, next })
    }

    /// The same list after a change of the user's lines.
    pub fn after_user(&self, user: &Arc<Lines>) -> Self {
        self.after(user, &self.default)
    }

    /// What a person should look at.
    pub fn problems(&self) -> &[Problem] {
        self.problems.get_or_init(|| {
            let mut problems = self.user.problems(USER);
            problems.extend(self.default.problems(DEFAULT));
            problems.extend(hidden(&self.user));
            problems
        })
    }

    pub fn find(&self, name: &str) -> Option<Arc<Stored>> {
        self.look_up(name).cloned()
    }

    /// Whether a prompt of the user's has this name.
    pub fn is_taken(&self, name: &str) -> bool {
        self.look_up(name).is_some_and(|stored| stored.origin.is_user())
    }

    /// As written first: a file may hold a name that is not composed.
    pub fn look_up(&self, name: &str) -> Option<&Arc<Stored>> {
        let exact = |name: &str| place(&self.listed, name).ok().map(|at| &self.listed[at]);
        exact(name).or_else(|| exact(&composed(name)))
    }
}

/// The name that a cursor of a list holds.
fn read_cursor(cursor: &str) -> crate::domain::Result<String> {
    let name = URL_SAFE_NO_PAD.decode(cursor).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    name.and_then(|name| name.strip_prefix('n').map(str::to_owned)).ok_or_else(|| {
        Error::invalid_params("cursor is not one of ours; leave it out to start from the beginning")
    })
}

/// Where a name is in the list, or where it would be.
fn place(listed: &[Arc<Stored>], name: &str) -> Result<usize, usize> {
    listed.binary_search_by(|stored| stored.prompt.name.as_str().cmp(name))
}

/// Prompts of the user's that stand before a built-in one of the same name.
fn hidden(user: &Lines) -> Vec<Problem> {
    let remark = |(number, name): (usize, &str)| Problem {
        place: lines::place(USER, number + 1),
        broken: false,
        what: format!("`{name}` is used instead of the built-in prompt of that name"),
    };
    let lines = user.0.iter().enumerate();
    lines
        .filter_map(|(number, line)| Some((number, line.prompt()?.prompt.name.as_str())))
        .filter(|(_, name)| builtin::lines().position(name).is_some())
        .map(remark)
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::store::prompts::Origin;

    proptest! {
        /// Names that come, go, change and stand twice, one that is built in among them.
        #[test]
        fn following_a_change_gives_what_reading_anew_gives(
            files in prop::collection::vec(prop::collection::vec(0..6usize, 0..8), 2..5),
        ) {
            let names = ["a", "b", "c", "d", &builtin::lines().0[0].prompt().unwrap().prompt.name];
            let line = |(at, name): (usize, &usize)| match names.get(*name) {
                Some(name) => format!(
                    r#"{{"name":"{name}","title":"{at}","messages":[{{"role":"user","content":{{"type":"text","text":"x"}}}}]}}"#
                ),
                None => "broken".to_owned(),
            };
            let mut snapshot = Snapshot::new(&Arc::default(), &Arc::default());
            for file in files {
                let text: Vec<String> = file.iter().enumerate().map(line).collect();
                let lines = Lines::read(text.join("\n").as_bytes(), Origin::User, &snapshot.user);
                let lines = Arc::new(lines);
                snapshot = snapshot.after(&lines, &Arc::clone(&snapshot.default));
                let anew = Snapshot::new(&lines, &snapshot.default);
                prop_assert_eq!(&snapshot.listed, &anew.listed);
                prop_assert_eq!(snapshot.problems(), anew.problems());
            }
        }
    }

    #[test]
    fn the_built_in_prompts_are_there_and_sound() {
        let snapshot = Snapshot::new(&Arc::default(), &Arc::default());
        assert!(snapshot.listed.len() >= 8);
        assert!(snapshot.listed.iter().all(|stored| stored.origin == Origin::BuiltIn));
        for stored in snapshot.listed.iter() {
            stored.prompt.check().unwrap();
            crate::store::prompts::check_placeholders(&stored.prompt).unwrap();
            assert!(stored.prompt.description.is_some(), "{}", stored.prompt.name);
        }
    }
}
