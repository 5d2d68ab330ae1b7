//! Progress of a call as notifications.

use rmcp::{
    RoleServer,
    model::*,
    service::{Peer, RequestContext},
};
use tokio::sync::mpsc;

use crate::domain::{Progress, Silent};

/// Passes progress on to the caller when it asked for it.
pub(super) fn reporter(
    context: &RequestContext<RoleServer>,
) -> (Box<dyn Progress>, Option<tokio::task::JoinHandle<()>>) {
    let Some(token) = context.meta.get_progress_token() else { return (Box::new(Silent), None) };
    // Bounded: when the client reads slowly, steps are left out rather than piled up.
    let (sender, receiver) = mpsc::channel(64);
    let task = tokio::spawn(forward(receiver, token, context.peer.clone()));
    (Box::new(Reporter(sender)), Some(task))
}

type Step = (u64, Option<u64>, String);

struct Reporter(mpsc::Sender<Step>);

impl Progress for Reporter {
    fn report(&self, done: u64, total: Option<u64>, message: &str) {
        drop(self.0.try_send((done, total, message.to_owned())));
    }
}

async fn forward(mut steps: mpsc::Receiver<Step>, token: ProgressToken, peer: Peer<RoleServer>) {
    let mut last = None;
    while let Some((done, total, message)) = steps.recv().await {
        // The protocol wants progress to grow with every step.
        if last.is_some_and(|last| done <= last) {
            continue;
        }
        last = Some(done);
        let mut step = ProgressNotificationParam::new(token.clone(), done as f64);
        step.total = total.map(|total| total as f64);
        step.message = Some(message);
        if peer.notify_progress(step).await.is_err() {
            return;
        }
    }
}
