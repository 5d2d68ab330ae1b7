//! Follows the redirects of a forge, for instance of a renamed repository.
//!
//! Each redirect is checked like the first address. Git then follows none itself and connects to the
//! address that was checked.

use std::{net::SocketAddr, time::Duration};

use ureq::unversioned::transport::DefaultConnector;

use super::url::{Policy, RepoUrl};
use crate::{
    domain::{Error, Result},
    post::public::Pinned,
};

/// The most redirects that are followed.
const MAX_REDIRECTS: usize = 5;
/// The first request of git, which a forge redirects like all others.
const FIRST_REQUEST: &str = ".git/info/refs?service=git-upload-pack";

/// The final address of a repository, and the IP addresses of its host.
pub fn follow(
    policy: &Policy,
    repo: &RepoUrl,
    time: Duration,
) -> Result<(RepoUrl, Vec<SocketAddr>)> {
    let mut repo = repo.clone();
    for _ in 0..=MAX_REDIRECTS {
        let addresses = policy.addresses(&repo)?;
        let Some(next) = ask(&repo, &addresses, time)? else { return Ok((repo, addresses)) };
        repo = policy.parse(&next).map_err(|error| {
            let why = error.plain();
            Error::outside(format!("`{}` redirects to a place that is not asked: {why}", repo.url))
        })?;
    }
    Err(Error::outside(format!("`{}` redirects more than {MAX_REDIRECTS} times", repo.url)))
}

/// The address that the forge redirects to, if it does.
fn ask(repo: &RepoUrl, addresses: &[SocketAddr], time: Duration) -> Result<Option<String>> {
    let config = ureq::Agent::config_builder()
        .timeout_global(Some(time))
        .http_status_as_error(false)
        .max_redirects(0)
        .proxy(None)
        .user_agent("git/2 (notewell)")
        .build();
    let pinned = Pinned(addresses.to_vec());
    let agent = ureq::Agent::with_parts(config, DefaultConnector::default(), pinned);
    let asked = format!("{}{FIRST_REQUEST}", repo.url);
    let response = agent.get(&asked).call().map_err(|error| {
        Error::outside(format!("could not reach `{}`: {error}; is there a network?", repo.url))
            .with_source(error)
    })?;
    let status = response.status();
    if status.is_redirection() {
        let to = response.headers().get("location").and_then(|value| value.to_str().ok());
        let base = url::Url::parse(&asked).ok();
        let to = to.and_then(|to| base?.join(to).ok());
        let mut to =
            to.ok_or_else(|| Error::outside(format!("`{}` redirects to nowhere", repo.url)))?;
        to.set_query(None);
        let path = to.path().trim_end_matches("/info/refs").to_owned();
        to.set_path(&path);
        return Ok(Some(to.into()));
    }
    match status.as_u16() {
        200..=299 => Ok(None),
        401 | 403 | 404 | 410 => Err(Error::outside(format!(
            "there is no public repository at `{}` (its forge answered {}); look at the address",
            repo.url,
            status.as_u16()
        ))),
        other => Err(Error::outside(format!(
            "the forge answered {other} for `{}`; try again later",
            repo.url
        ))),
    }
}
