//! Values that prompts were rendered with before, so that a client can offer them again.
//!
//! Small on purpose: short single lines only, the latest few per argument. Losing them loses
//! nothing, so they are written without waiting for the disk; they are still never half written.

use std::{
    fs, io,
    path::PathBuf,
    sync::{Mutex, PoisonError},
};

use serde_json::{Map, Value};

use super::{
    replace::{Fresh, Lock},
    stamp::Stamp,
};
use crate::domain::{Result, error::Doing};

/// Values of one argument that are kept.
pub const PER_ARGUMENT: usize = 20;
/// Prompts whose values are kept.
pub const MAX_PROMPTS: usize = 500;
/// Code and documents are not offered again.
const MAX_VALUE_CHARS: usize = 200;

/// Prompt → argument → values, the latest first; prompts in the order of use, the latest last.
type Used = Map<String, Value>;

pub struct Completions {
    file: Option<PathBuf>,
    /// What was read or written last, and of which state of the file; all there is without one.
    memory: Mutex<(Option<Stamp>, Used)>,
}

impl Completions {
    pub fn new(file: Option<PathBuf>) -> Self {
        Self { file, memory: Mutex::default() }
    }

    pub fn remember(&self, prompt: &str, values: &Map<String, Value>) -> Result<()> {
        let values = worth_keeping(values);
        if values.is_empty() {
            return Ok(());
        }
        let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(file) = &self.file else {
            add(&mut memory.1, prompt, &values);
            return Ok(());
        };
        // A caller who asks for the same again waits for nothing.
        if self.refresh(&mut memory).is_ok() && is_latest(&memory.1, prompt, &values) {
            return Ok(());
        }
        if let Some(folder) = file.parent() {
            fs::create_dir_all(folder).doing(format!("create `{}`", folder.display()))?;
        }
        let _lock = Lock::take(&file.with_extension("lock"))?;
        self.refresh(&mut memory)?;
        add(&mut memory.1, prompt, &values);
        let text = serde_json::to_vec(&memory.1).doing("write the values used before")?;
        // Not known again until it is on its way.
        memory.0 = None;
        let mut fresh = Fresh::write_lightly(file, &text)?;
        fresh.put_in_place()?;
        memory.0 = Stamp::of_own(file, fresh.modified).ok().flatten();
        Ok(())
    }

    pub fn complete(&self, prompt: &str, argument: &str, prefix: &str) -> Result<Vec<String>> {
        let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        self.refresh(&mut memory)?;
        let values = memory.1.get(prompt).and_then(|arguments| arguments.get(argument));
        let values = values.and_then(Value::as_array).into_iter().flatten();
        let prefix = prefix.to_lowercase();
        Ok(values
            .filter_map(Value::as_str)
            .filter(|value| value.to_lowercase().starts_with(&prefix))
            .map(str::to_owned)
            .collect())
    }

    /// Reads the file if it is not the one that is known.
    fn refresh(&self, (known, used): &mut (Option<Stamp>, Used)) -> Result<()> {
        let Some(file) = &self.file else { return Ok(()) };
        let what = || format!("read `{}`", file.display());
        let now = Stamp::of(file).doing(what())?;
        if let (Some(known), Some(now)) = (&*known, &now)
            && known.matches(now)
        {
            return Ok(());
        }
        *used = match fs::read(file) {
            // A damaged file is no loss: it starts anew.
            Ok(bytes) => serde_json::from_slice(&bytes).unwrap_or_default(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Used::new(),
            Err(error) => return Err(error).doing(what()),
        };
        *known = now;
        Ok(())
    }
}

/// The values that are offered again: short single lines.
pub fn worth_keeping(values: &Map<String, Value>) -> Vec<(&String, &str)> {
    let texts = values.iter().filter_map(|(argument, value)| Some((argument, value.as_str()?)));
    texts
        .filter(|(_, text)| !text.trim().is_empty() && text.chars().count() <= MAX_VALUE_CHARS)
        .filter(|(_, text)| !text.contains(['\n', '\r']))
        .collect()
}

/// Whether these are the latest values already, of the prompt that was used last.
fn is_latest(used: &Used, prompt: &str, values: &[(&String, &str)]) -> bool {
    let Some((last, arguments)) = used.iter().next_back() else { return false };
    let latest = |argument: &str| arguments.get(argument)?.get(0)?.as_str();
    last == prompt && values.iter().all(|(argument, value)| latest(argument) == Some(*value))
}

fn add(used: &mut Used, prompt: &str, values: &[(&String, &str)]) {
    let mut arguments = match used.shift_remove(prompt) {
        Some(Value::Object(arguments)) => arguments,
        _ => Map::new(),
    };
    for (argument, value) in values {
        let mut list = match arguments.shift_remove(*argument) {
            Some(Value::Array(list)) => list,
            _ => Vec::new(),
        };
        list.retain(|known| known != value);
        list.insert(0, (*value).into());
        list.truncate(PER_ARGUMENT);
        arguments.insert((*argument).clone(), list.into());
    }
    used.insert(prompt.to_owned(), arguments.into());
    while used.len() > MAX_PROMPTS
        && let Some(oldest) = used.keys().next().cloned()
    {
        used.shift_remove(&oldest);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_latest_short_values_come_back() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("data/completions.json");
        for completions in [Completions::new(Some(file.clone())), Completions::new(None)] {
            for value in ["Go", "Rust", "Русский", "日本語", "Go", "two\nlines"] {
                let Value::Object(values) = json!({"language": value, "n": 1}) else { panic!() };
                completions.remember("p", &values).unwrap();
            }
            let all = completions.complete("p", "language", "").unwrap();
            assert_eq!(all, ["Go", "日本語", "Русский", "Rust"]);
            assert_eq!(completions.complete("p", "language", "ру").unwrap(), ["Русский"]);
            assert!(completions.complete("other", "language", "").unwrap().is_empty());
            for round in 0..MAX_PROMPTS + 10 {
                let mut values = Map::new();
                values.insert("a".into(), "v".into());
                if round % 100 == 0 || completions.file.is_none() {
                    completions.remember(&format!("p{round}"), &values).unwrap();
                }
            }
        }
        fs::remove_file(&file).unwrap();
    }
}
