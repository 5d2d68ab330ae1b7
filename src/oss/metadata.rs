//! Stars, description and archive state of a repository, from its forge's API.
//!
//! The API is asked only if the config names it. The answer does not change the score. After a
//! failure the values stay unknown.

use std::time::Duration;

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;

use super::url::RepoUrl;
use crate::config;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Metadata {
    pub stars: Option<u64>,
    pub description: Option<String>,
    pub archived: Option<bool>,
    /// The address of the API that answered.
    pub from: Option<String>,
}

/// The most bytes of an answer.
const MAX_ANSWER: u64 = 1 << 20;

pub fn ask(repo: &RepoUrl, config: &config::Oss) -> Metadata {
    let Some(base) = config.api.get(&repo.host) else { return Metadata::default() };
    let base = base.trim_end_matches('/');
    let address = match repo.host.contains("gitlab") {
        true => format!("{base}/projects/{}", utf8_percent_encode(&repo.path, NON_ALPHANUMERIC)),
        false => format!("{base}/repos/{}", repo.path),
    };
    match read(&address) {
        Ok(value) => Metadata::of(&value, address),
        Err(why) => {
            tracing::info!(address, why, "the forge's API did not answer; stars stay unknown");
            Metadata::default()
        }
    }
}

fn read(address: &str) -> Result<Value, String> {
    let agent: ureq::Agent = ureq::Agent::config_builder()
        .timeout_global(Some(Duration::from_secs(10)))
        .user_agent("notewell")
        .build()
        .into();
    let mut response = agent.get(address).call().map_err(|error| error.to_string())?;
    let text = response.body_mut().with_config().limit(MAX_ANSWER).read_to_string();
    let text = text.map_err(|error| error.to_string())?;
    serde_json::from_str(&text).map_err(|error| error.to_string())
}

impl Metadata {
    /// Reads an answer of GitHub, Forgejo or GitLab. Each has its own name for stars.
    fn of(value: &Value, from: String) -> Self {
        let stars = ["stargazers_count", "stars_count", "star_count"]
            .iter()
            .find_map(|key| value[key].as_u64());
        let description = value["description"]
            .as_str()
            .map(|text| text.chars().filter(|c| !c.is_control()).take(300).collect::<String>());
        let archived = value["archived"].as_bool();
        let known = stars.is_some() || archived.is_some();
        Self { stars, description, archived, from: known.then_some(from) }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_forge_has_its_words() {
        for value in [
            json!({ "stargazers_count": 5, "archived": false, "description": "a\ntool" }),
            json!({ "stars_count": 5, "archived": false, "description": "a\ntool" }),
            json!({ "star_count": 5, "archived": false, "description": "a\ntool" }),
        ] {
            let found = Metadata::of(&value, "x".into());
            assert_eq!((found.stars, found.archived), (Some(5), Some(false)));
            assert_eq!(found.description.as_deref(), Some("atool"));
        }
        assert_eq!(Metadata::of(&json!("nonsense"), "x".into()), Metadata::default());
    }
}
