//! stdio: newline-delimited JSON, and `Content-Length` framed messages as older hosts send them.
//! Each answer uses the framing of its request. Nothing but protocol is written to stdout, broken
//! input is answered and survived, and what was accepted is answered before the process ends.

pub mod framing;
mod replies;

use std::{
    collections::VecDeque,
    io::Write,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use rmcp::{
    RoleServer,
    model::{ClientJsonRpcMessage, RequestId, ServerJsonRpcMessage},
    transport::Transport,
};
use serde_json::{Value, value::RawValue};
use tokio::{
    sync::{Notify, mpsc},
    time::Instant,
};

use self::{framing::Frame, replies::Replies};
use super::{Handler, Hub, Link, message};
use crate::{
    app::App,
    domain::{Error, Result, Toolsets, error::Doing},
};

/// Serves the owner on stdin and stdout until stdin ends.
pub async fn serve(app: Arc<App>, toolsets: Toolsets) -> Result<()> {
    let (sender, frames) = mpsc::channel(64);
    let most = app.config.limits.body_bytes;
    // A thread of its own: a blocked read of stdin must not hold up the end of the process.
    std::thread::Builder::new()
        .name("stdin".into())
        .spawn(move || {
            framing::read(std::io::stdin().lock(), most, |frame| {
                sender.blocking_send(frame).is_ok()
            });
        })
        .doing("start reading stdin")?;
    let batch = app.config.limits.batch;
    let patience = Duration::from_secs(app.config.limits.request_seconds);
    let transport = Stdio {
        frames,
        waiting: VecDeque::new(),
        input_ended: false,
        out: Out { replies: Arc::default(), answered: Arc::default() },
        batch,
        patience,
        ended: None,
    };
    let link = Link::of(app.owner().within(toolsets));
    let handler = Handler::new(Hub::new(app), link);
    let running = rmcp::service::serve_directly(handler, transport, None);
    running.waiting().await.doing("serve on stdin and stdout")?;
    Ok(())
}

struct Stdio {
    frames: mpsc::Receiver<Frame>,
    /// Messages that the SDK has not got yet.
    waiting: VecDeque<ClientJsonRpcMessage>,
    input_ended: bool,
    out: Out,
    batch: usize,
    /// How long answers are waited for once stdin has ended.
    patience: Duration,
    ended: Option<Instant>,
}

#[derive(Clone)]
struct Out {
    replies: Arc<Mutex<Replies>>,
    /// Rung when an answer went out.
    answered: Arc<Notify>,
}

impl Out {
    /// Writes a message, which perhaps answers a request.
    fn send(&self, message: Box<RawValue>, answers: Option<&RequestId>) -> std::io::Result<()> {
        let mut replies = self.replies.lock().unwrap_or_else(PoisonError::into_inner);
        let mut stdout = std::io::stdout().lock();
        if let Some((message, framing)) = replies.place(message, answers) {
            framing::write(&mut stdout, message.get(), framing)?;
        }
        stdout.flush()?;
        self.answered.notify_one();
        Ok(())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Replies> {
        self.replies.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Stdio {
    /// Turns a frame into messages, answering at once what is none.
    fn take(&mut self, frame: Frame) {
        let framing = frame.framing;
        self.out.lock().latest = framing;
        let parsed =
            frame.bytes.map_err(Error::limit).and_then(|bytes| message::parse(&bytes, self.batch));
        match parsed {
            Err(error) => self.refuse(message::text(&message::error(&Value::Null, &error))),
            Ok(message::Incoming::One(value)) => match message::decode(value) {
                Ok(message) => {
                    self.out.lock().expect(&message, framing, None);
                    self.waiting.push_back(message);
                }
                Err(answer) => self.refuse(message::text(&answer)),
            },
            Ok(message::Incoming::Batch(values)) => {
                let batch = self.out.lock().open_batch(framing);
                for value in values {
                    match message::decode(value) {
                        Ok(message) => {
                            self.out.lock().expect(&message, framing, Some(batch));
                            self.waiting.push_back(message);
                        }
                        Err(answer) => self.out.lock().add_to_batch(batch, message::text(&answer)),
                    }
                }
                let finished = self.out.lock().seal_batch(batch);
                if let Some(answer) = finished {
                    self.refuse(answer);
                }
            }
        }
    }

    /// The first message that need not wait for the answer to another.
    fn next_ready(&mut self) -> Option<ClientJsonRpcMessage> {
        let mut replies = self.out.lock();
        let at = self.waiting.iter().position(|message| !replies.must_wait(message))?;
        let message = self.waiting.remove(at)?;
        replies.hand_over(&message);
        Some(message)
    }

    fn refuse(&self, answer: Box<RawValue>) {
        if let Err(error) = self.out.send(answer, None) {
            tracing::warn!(%error, "could not write to stdout");
        }
    }
}

impl Transport<RoleServer> for Stdio {
    type Error = std::io::Error;

    fn send(
        &mut self,
        item: ServerJsonRpcMessage,
    ) -> impl Future<Output = std::io::Result<()>> + Send + 'static {
        let out = self.out.clone();
        async move { out.send(message::encode(&item), message::answers(&item)) }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            if let Some(message) = self.next_ready() {
                return Some(message);
            }
            tokio::select! {
                frame = self.frames.recv(), if !self.input_ended => match frame {
                    Some(frame) => self.take(frame),
                    None => self.input_ended = true,
                },
                () = self.out.answered.notified(), if !self.waiting.is_empty() => {}
                else => break,
            }
        }
        // stdin ended: what was accepted is still answered, unless its caller cancelled it.
        let until = *self.ended.get_or_insert_with(|| Instant::now() + self.patience);
        while self.out.lock().open() {
            if tokio::time::timeout_at(until, self.out.answered.notified()).await.is_err() {
                break;
            }
        }
        None
    }

    async fn close(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
