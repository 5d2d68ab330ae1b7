//! Which framing each answer takes, and which answers belong together in a batch.

use std::collections::{HashMap, HashSet, VecDeque};

use rmcp::model::{ClientJsonRpcMessage, ClientNotification, RequestId};
use serde_json::value::RawValue;

use super::{framing::Framing, message};

#[derive(Debug, Default)]
pub struct Replies {
    /// Requests that are not answered yet, by id, the oldest first: a client may use one id twice.
    expected: HashMap<String, VecDeque<Expected>>,
    /// Ids of the requests that the SDK works on. It drops the answer of the second of two with one
    /// id, so a second one waits until the first is answered.
    running: HashSet<String>,
    batches: HashMap<usize, Batch>,
    next_batch: usize,
    /// What the client used last: notifications follow it.
    pub latest: Framing,
}

/// The form of an answer, and the batch it belongs to.
type Expected = (Framing, Option<usize>);

#[derive(Debug)]
struct Batch {
    framing: Framing,
    answers: Vec<Box<RawValue>>,
    missing: usize,
    sealed: bool,
}

impl Replies {
    /// Remembers that a message wants an answer, and in which form.
    pub fn expect(
        &mut self,
        message: &ClientJsonRpcMessage,
        framing: Framing,
        batch: Option<usize>,
    ) {
        let ClientJsonRpcMessage::Request(request) = message else { return };
        self.expected.entry(key(&request.id)).or_default().push_back((framing, batch));
        if let Some(batch) = batch.and_then(|batch| self.batches.get_mut(&batch)) {
            batch.missing += 1;
        }
    }

    /// Whether a message must wait, because the SDK works on a request with the same id.
    pub fn must_wait(&self, message: &ClientJsonRpcMessage) -> bool {
        match message {
            ClientJsonRpcMessage::Request(request) => self.running.contains(&key(&request.id)),
            _ => false,
        }
    }

    /// Notes that the SDK gets a message.
    pub fn hand_over(&mut self, message: &ClientJsonRpcMessage) {
        match message {
            ClientJsonRpcMessage::Request(request) => {
                self.running.insert(key(&request.id));
            }
            ClientJsonRpcMessage::Notification(notification) => {
                // A cancelled request is never answered.
                if let ClientNotification::CancelledNotification(cancelled) =
                    &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    self.running.remove(&key(id));
                }
            }
            _ => {}
        }
    }

    /// Whether an answer is still owed.
    pub fn open(&self) -> bool {
        !self.expected.is_empty()
    }

    pub fn open_batch(&mut self, framing: Framing) -> usize {
        self.next_batch += 1;
        let batch = Batch { framing, answers: Vec::new(), missing: 0, sealed: false };
        self.batches.insert(self.next_batch, batch);
        self.next_batch
    }

    pub fn add_to_batch(&mut self, batch: usize, answer: Box<RawValue>) {
        if let Some(batch) = self.batches.get_mut(&batch) {
            batch.answers.push(answer);
        }
    }

    /// All of the batch was read. Its answer, when nothing in it has to be waited for.
    pub fn seal_batch(&mut self, number: usize) -> Option<Box<RawValue>> {
        self.batches.get_mut(&number)?.sealed = true;
        self.finish(number).map(|(answer, _)| answer)
    }

    /// What to write now that a message is ready, which perhaps answers a request: nothing while
    /// its batch is incomplete.
    pub fn place(
        &mut self,
        message: Box<RawValue>,
        answers: Option<&RequestId>,
    ) -> Option<(Box<RawValue>, Framing)> {
        match answers.and_then(|id| self.take_expected(&key(id))) {
            None => Some((message, self.latest)),
            Some((framing, None)) => Some((message, framing)),
            Some((_, Some(number))) => {
                if let Some(batch) = self.batches.get_mut(&number) {
                    batch.missing -= 1;
                    batch.answers.push(message);
                }
                self.finish(number)
            }
        }
    }

    fn take_expected(&mut self, id: &str) -> Option<Expected> {
        self.running.remove(id);
        let waiting = self.expected.get_mut(id)?;
        let first = waiting.pop_front();
        if waiting.is_empty() {
            self.expected.remove(id);
        }
        first
    }

    fn finish(&mut self, number: usize) -> Option<(Box<RawValue>, Framing)> {
        let batch = self.batches.get(&number)?;
        if !batch.sealed || batch.missing > 0 {
            return None;
        }
        let batch = self.batches.remove(&number)?;
        // A batch of notifications has no answer.
        (!batch.answers.is_empty()).then(|| (message::text(&batch.answers), batch.framing))
    }
}

/// An id as text: `1` and `"1"` are two.
fn key(id: &RequestId) -> String {
    serde_json::to_value(id).unwrap_or_default().to_string()
}
