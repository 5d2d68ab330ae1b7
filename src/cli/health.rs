//! `notewell serve --health`: the health check of containers and supervisors, where there is no curl.

use std::{net::SocketAddr, time::Duration};

use super::{open::reachable, out, serving};
use crate::{
    config::Config,
    domain::{Error, Result},
    post::probe::Probe,
};

/// The server itself answers within five seconds, or says that it cannot.
const PATIENCE: Duration = Duration::from_secs(8);

/// Prints what `/readyz` of the running server answers. An error unless it is ready.
pub fn ask(config: &Config) -> Result<()> {
    let address = serving::address(&config.data).unwrap_or(config.server.listen);
    out::say(readiness(address, PATIENCE)?.trim_end());
    Ok(())
}

/// What `/readyz` of the server at an address answers. An error unless it is ready.
pub fn readiness(address: SocketAddr, patience: Duration) -> Result<String> {
    let server = format!("http://{}", reachable(address));
    match Probe::new(patience, false).get(&format!("{server}/readyz"), &[]) {
        Ok(answer) if answer.status == 200 => Ok(answer.body),
        Ok(answer) => Err(Error::outside(format!(
            "the server at `{server}` is not ready (status {}): {}",
            answer.status,
            answer.body.lines().next().unwrap_or_default()
        ))),
        Err(_) => Err(Error::outside(format!(
            "no server answers at `{server}`; start one with `notewell serve`"
        ))),
    }
}
