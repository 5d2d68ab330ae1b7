//! What becomes of a start: the server answers, it ends, or neither is seen in time.

use std::{
    net::SocketAddr,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use super::{
    super::health,
    supervisor::{LOOK, Supervisor},
};

/// How long a start is watched. launchd lets ten seconds pass between two starts.
pub const PATIENCE: Duration = Duration::from_secs(15);
/// How long a server may take for one answer.
const ANSWER: Duration = Duration::from_secs(2);

/// What became of a start.
pub enum Start {
    /// It answers at this address.
    Answers(SocketAddr),
    /// It ended, and this is what the supervisor calls it.
    Ended(String),
    /// It neither answered nor ended. `None` where the supervisor does not say how it is.
    Silent(Option<String>),
}

impl Start {
    /// Watches a server that was started just now.
    pub fn watch(supervisor: &Supervisor, data: &Path) -> Self {
        let until = Instant::now() + PATIENCE;
        loop {
            let report = supervisor.report();
            if let Some(report) = report.as_ref().filter(|report| report.has_ended()) {
                return Self::Ended(report.state.clone());
            }
            let address = report.as_ref().and_then(|report| report.address(data));
            let answers = |address: &SocketAddr| health::readiness(*address, ANSWER).is_ok();
            if let Some(address) = address.filter(answers) {
                return Self::Answers(address);
            }
            if Instant::now() >= until {
                return Self::Silent(report.map(|report| report.state));
            }
            thread::sleep(LOOK);
        }
    }
}
