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

use super::replace::{Fresh, Lock};
use crate::domain::{Result, error::Doing};

const PER_ARGUMENT: usize = 20;
const PROMPTS: usize = 500;
/// Code and documents are not offered again.
const LONGEST: usize = 200;

/// Prompt → argument → values, the latest first; prompts in the order of use, the latest last.
type Used = Map<String, Value>;

pub struct Completions {
    file: Option<PathBuf>,
    /// Used when there is no file.
    memory: Mutex<Used>,
}

impl Completions {
    pub fn new(file: Option<PathBuf>) -> Self {
        Self { file, memory: Mutex::new(Used::new()) }
    }

    pub fn remember(&self, prompt: &str, values: &Map<String, Value>) -> Result<()> {
        let values: Vec<_> = values
            .iter()
            .filter_map(|(argument, value)| Some((argument, value.as_str()?)))
            .filter(|(_, text)| !text.trim().is_empty() && text.chars().count() <= LONGEST)
            .filter(|(_, text)| !text.contains(['\n', '\r']))
            .collect();
        if values.is_empty() {
            return Ok(());
        }
        let Some(file) = &self.file else {
            add(&mut self.memory.lock().unwrap_or_else(PoisonError::into_inner), prompt, &values);
            return Ok(());
        };
        if let Some(folder) = file.parent() {
            fs::create_dir_all(folder).doing(format!("create `{}`", folder.display()))?;
        }
        let _lock = Lock::take(&file.with_extension("lock"))?;
        let mut used = self.load()?;
        let before = used.clone();
        add(&mut used, prompt, &values);
        if used == before {
            return Ok(());
        }
        Fresh::write(file, Value::Object(used).to_string().as_bytes())?.put_in_place()
    }

    pub fn complete(&self, prompt: &str, argument: &str, prefix: &str) -> Result<Vec<String>> {
        let used = self.load()?;
        let values = used.get(prompt).and_then(|arguments| arguments.get(argument));
        let values = values.and_then(Value::as_array).into_iter().flatten();
        let prefix = prefix.to_lowercase();
        Ok(values
            .filter_map(Value::as_str)
            .filter(|value| value.to_lowercase().starts_with(&prefix))
            .map(str::to_owned)
            .collect())
    }

    fn load(&self) -> Result<Used> {
        let Some(file) = &self.file else {
            return Ok(self.memory.lock().unwrap_or_else(PoisonError::into_inner).clone());
        };
        match fs::read(file) {
            // A damaged file is no loss: it starts anew.
            Ok(bytes) => Ok(serde_json::from_slice(&bytes).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Used::new()),
            Err(error) => Err(error).doing(format!("read `{}`", file.display())),
        }
    }
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
    while used.len() > PROMPTS
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
            for round in 0..PROMPTS + 10 {
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
