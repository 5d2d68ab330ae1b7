//! Variables for a program that starts with an environment of its own, as clients and supervisors
//! start one: those that are handed on to it, and those that it does not see.

use std::path::PathBuf;

use super::environment::{env_path, env_text};

/// The address of the library.
const STORE: &str = "NOTEWELL_STORE_URL";

/// The paths that decide which library, cards and prompts are used.
const PATHS: [&str; 5] = [
    "NOTEWELL_CONFIG",
    "NOTEWELL_DATA",
    "NOTEWELL_VAULT",
    "NOTEWELL_CARDS_DATABASE",
    "NOTEWELL_PROMPTS_DIRECTORY",
];

/// Every other setting, and its key in the config. A key that ends with `_file` names a file with a
/// secret.
const SETTINGS: [(&str, &str); 14] = [
    ("NOTEWELL_LOG", "log"),
    ("NOTEWELL_LISTEN", "[server] listen"),
    ("NOTEWELL_PUBLIC_URL", "[server] public_url"),
    ("NOTEWELL_ALLOWED_HOSTS", "[server] allowed_hosts"),
    ("NOTEWELL_TRUSTED_PROXIES", "[server] trusted_proxies"),
    ("NOTEWELL_ANONYMOUS", "[server] anonymous"),
    ("NOTEWELL_EMBED_PROVIDER", "[embed] provider"),
    ("NOTEWELL_EMBED_KEY", "[embed] key_file"),
    ("NOTEWELL_LLM_PROVIDER", "[llm] provider"),
    ("NOTEWELL_LLM_URL", "[llm] url"),
    ("NOTEWELL_LLM_MODEL", "[llm] model"),
    ("NOTEWELL_LLM_KEY", "[llm] key_file"),
    ("NOTEWELL_STRIPE_KEY", "[market.stripe] key_file"),
    ("NOTEWELL_STRIPE_WEBHOOK_SECRET", "[market.stripe] webhook_secret_file"),
];

/// The variables that decide which library, cards and prompts are used. The paths are absolute.
pub fn library_environment() -> Vec<(&'static str, PathBuf)> {
    PATHS
        .into_iter()
        .filter_map(|name| Some((name, env_path(name)?)))
        .map(|(name, path)| (name, std::path::absolute(&path).unwrap_or(path)))
        .collect()
}

/// Whether the environment says where the library lives. It may hold a password, so it is not written
/// into files: what starts with an environment of its own does not see it.
pub fn store_is_from_environment() -> bool {
    env_text(STORE).is_some()
}

/// A variable that is set, and that a program with an environment of its own does not see.
#[derive(Debug, Clone, Copy)]
pub struct Unseen {
    /// The variable.
    pub name: &'static str,
    /// The key of the config that says the same.
    pub key: &'static str,
}

impl Unseen {
    /// Whether the value is a secret. Then the key names a file.
    pub fn is_secret(self) -> bool {
        self.key.ends_with("_file")
    }
}

/// The settings of the environment that are not handed on.
pub fn unseen_settings() -> Vec<Unseen> {
    let set = SETTINGS.into_iter().filter(|(name, _)| env_text(name).is_some());
    set.map(|(name, key)| Unseen { name, key }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    #[test]
    fn every_variable_is_handed_on_or_has_a_key() {
        // Its first lines list them.
        let example = include_str!("../../config.example.toml");
        let words = example.split(|c: char| !c.is_ascii_uppercase() && c != '_');
        let mut found = 0;
        for name in words.filter(|word| word.starts_with("NOTEWELL_")) {
            found += 1;
            let has_key = SETTINGS.iter().any(|(setting, _)| *setting == name);
            assert!(has_key || PATHS.contains(&name) || name == STORE, "{name}");
        }
        assert!(found > SETTINGS.len(), "the variables were not found");
    }

    #[test]
    fn every_key_is_one_of_the_config() {
        let config = toml::Value::try_from(Config::default()).unwrap();
        for (name, key) in SETTINGS {
            let (section, key) = key.split_once("] ").unwrap_or(("", key));
            let path = section.trim_start_matches('[').split('.').chain([key]);
            let mut value = Some(&config);
            for part in path.filter(|part| !part.is_empty()) {
                value = value.and_then(|value| value.get(part));
            }
            assert!(value.is_some(), "{name} has no key `{key}`");
        }
    }
}
