//! The prompts of all layers as one ordered list, made once per change and shared by readers.

use std::{collections::HashSet, sync::Arc};

use super::{DEFAULT, USER, builtin, composed, lines::Lines};
use crate::store::prompts::{Problem, Stored};

#[derive(Debug)]
pub struct Snapshot {
    /// Ordered by name, each name once.
    pub listed: Arc<[Arc<Stored>]>,
    pub problems: Vec<Problem>,
}

impl Snapshot {
    pub fn new(user: &Lines, default: &Lines) -> Self {
        let layers = [user, default, builtin::lines()];
        let mut listed = Vec::with_capacity(layers.iter().map(|layer| layer.0.len()).sum());
        let mut seen = HashSet::with_capacity(listed.capacity());
        for stored in layers.into_iter().flat_map(Lines::prompts) {
            if seen.insert(stored.prompt.name.as_str()) {
                listed.push(stored.clone());
            }
        }
        listed.sort_unstable_by(|a, b| a.prompt.name.cmp(&b.prompt.name));
        let mut problems = user.problems(USER);
        problems.extend(default.problems(DEFAULT));
        problems.extend(hidden(user));
        Self { listed: listed.into(), problems }
    }

    pub fn find(&self, name: &str) -> Option<Arc<Stored>> {
        self.look_up(name).cloned()
    }

    /// As written first: a file may hold a name that is not composed.
    pub fn look_up(&self, name: &str) -> Option<&Arc<Stored>> {
        let exact = |name: &str| {
            let at = self.listed.binary_search_by(|stored| stored.prompt.name.as_str().cmp(name));
            at.ok().map(|at| &self.listed[at])
        };
        exact(name).or_else(|| exact(&composed(name)))
    }
}

/// Prompts of the user's that stand before a built-in one of the same name.
fn hidden(user: &Lines) -> Vec<Problem> {
    let remark = |(number, name): (usize, &str)| Problem {
        file: USER.to_owned(),
        line: number + 1,
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
    use super::*;
    use crate::store::prompts::Origin;

    #[test]
    fn the_built_in_prompts_are_there_and_sound() {
        let snapshot = Snapshot::new(&Lines::default(), &Lines::default());
        assert!(snapshot.listed.len() >= 8);
        assert!(snapshot.listed.iter().all(|stored| stored.origin == Origin::BuiltIn));
        for stored in snapshot.listed.iter() {
            stored.prompt.check().unwrap();
            crate::store::prompts::check_placeholders(&stored.prompt).unwrap();
            assert!(stored.prompt.description.is_some(), "{}", stored.prompt.name);
        }
    }
}
