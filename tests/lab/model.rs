//! What a library may hold: the states that acknowledged and unanswered changes allow.

use std::collections::BTreeMap;

use crate::paths::State;

/// What a change does: keys and their values. A number is added to what was there.
pub type Effect = BTreeMap<String, Option<String>>;

/// The effect of a change, from the states before and after it.
pub fn effect(before: &State, after: &State) -> Effect {
    let mut effect = Effect::new();
    for key in before.keys().filter(|key| !after.contains_key(*key)) {
        effect.insert(key.clone(), None);
    }
    for (key, value) in after.iter().filter(|(key, value)| before.get(*key) != Some(value)) {
        let value = match value.parse::<i64>() {
            Ok(number) => (number - count(before.get(key))).to_string(),
            Err(_) => value.clone(),
        };
        effect.insert(key.clone(), Some(value));
    }
    effect
}

/// A state with the effect of a change.
fn with(state: &State, effect: &Effect) -> State {
    let mut state = state.clone();
    for (key, value) in effect {
        let Some(value) = value else {
            state.remove(key);
            continue;
        };
        let value = match value.parse::<i64>() {
            Err(_) => value.clone(),
            Ok(more) => (more + count(state.get(key))).to_string(),
        };
        state.insert(key.clone(), value);
    }
    state
}

fn count(value: Option<&String>) -> i64 {
    value.and_then(|value| value.parse().ok()).unwrap_or(0)
}

/// The states that are possible.
pub struct Model(pub Vec<State>);

impl Model {
    /// A change that was acknowledged.
    pub fn done(&mut self, effect: &Effect) {
        for state in &mut self.0 {
            *state = with(state, effect);
        }
    }

    /// A change that may have happened, as a whole or not at all.
    pub fn unknown(&mut self, effect: &Effect) {
        let changed: Vec<State> = self.0.iter().map(|state| with(state, effect)).collect();
        self.0.extend(changed);
    }

    /// Whether a state is possible; if so, it is the one that is.
    pub fn accept(&mut self, state: &State) -> bool {
        let possible = self.0.contains(state);
        if possible {
            self.0 = vec![state.clone()];
        }
        possible
    }

    /// How a state differs from the possible one that is nearest to it.
    pub fn nearest(&self, state: &State) -> String {
        let differences = self.0.iter().map(|one| {
            let mut lines = Vec::new();
            for (key, value) in one.iter().filter(|(key, value)| state.get(*key) != Some(value)) {
                lines.push(format!("    {key}: {value:?} expected, {:?} seen", state.get(key)));
            }
            for (key, value) in state.iter().filter(|(key, _)| !one.contains_key(*key)) {
                lines.push(format!("    {key}: nothing expected, {value:?} seen"));
            }
            lines
        });
        let lines = differences.min_by_key(Vec::len).unwrap_or_default();
        let text =
            format!("{} possible; the nearest differs in\n{}", self.0.len(), lines.join("\n"));
        text.chars().take(1_500).collect()
    }
}
