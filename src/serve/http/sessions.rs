//! Sessions of streamable HTTP, each bound to the caller who opened it. For anybody else its id is
//! as unknown as any other.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use futures::{Stream, stream};
use rmcp::{
    model::{ClientJsonRpcMessage, ServerJsonRpcMessage},
    transport::streamable_http_server::session::{
        ServerSseMessage, SessionId, SessionManager,
        local::{LocalSessionHandle, LocalSessionManager, LocalSessionManagerError},
    },
};

use tokio::runtime::Handle;

use super::gate::Visitor;
use crate::{config, serve::mcp::Identity};

/// How long a finished answer waits for a client that resumes.
const RESUME: Duration = Duration::from_secs(15);

/// The SDK's sessions, with who owns each.
pub struct Sessions {
    sdk: LocalSessionManager,
    owners: Mutex<HashMap<SessionId, Owner>>,
    abandoned: Abandoned,
    most: usize,
    most_per_caller: usize,
}

struct Owner {
    visitor: Visitor,
    used: Instant,
}

impl Sessions {
    pub fn new(config: &config::Config) -> Self {
        let mut sdk = LocalSessionManager::default();
        let idle = Duration::from_secs(config.server.session_idle_seconds);
        sdk.session_config.keep_alive = Some(idle);
        sdk.session_config.completed_cache_ttl = RESUME;
        Self {
            sdk,
            owners: Mutex::default(),
            abandoned: Abandoned::default(),
            most: config.limits.sessions,
            most_per_caller: config.limits.sessions_per_caller,
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<SessionId, Owner>> {
        self.owners.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a session is this caller's. Counts as a use of it.
    pub fn is_of(&self, id: &str, visitor: &Visitor) -> bool {
        match self.lock().get_mut(id) {
            Some(owner) if owner.visitor.is_same_caller(visitor) => {
                owner.used = Instant::now();
                true
            }
            _ => false,
        }
    }

    /// Makes room for one more session of this caller by ending the least recently used. False:
    /// none that they may end is left.
    pub async fn make_room(&self, visitor: &Visitor) -> bool {
        loop {
            let victim = {
                let owners = self.lock();
                let is_own = |one: &Visitor| one == visitor;
                let is_guest = |one: &Visitor| !one.owner;
                let count = |which: &dyn Fn(&Visitor) -> bool| {
                    owners.values().filter(|owner| which(&owner.visitor)).count()
                };
                let room = owners.len() < self.most
                    && (visitor.owner
                        || count(&is_guest) < self.most - self.most / 4
                            && count(&is_own) < self.most_per_caller);
                if room {
                    return true;
                }
                match visitor.owner {
                    true => oldest(&owners, &is_guest).or_else(|| oldest(&owners, &is_own)),
                    false => oldest(&owners, &is_own),
                }
            };
            let Some(victim) = victim else { return false };
            self.end(&victim).await;
        }
    }

    /// Binds a new session to its caller.
    pub async fn bind(&self, id: &str, visitor: &Visitor) {
        let id: SessionId = id.to_owned().into();
        self.lock().insert(id.clone(), Owner { visitor: visitor.clone(), used: Instant::now() });
        // It may have ended before it was bound.
        if !self.sdk.sessions.read().await.contains_key(&id) {
            self.lock().remove(&id);
        }
    }

    /// Ends every session that a credential opened.
    pub async fn end_of(&self, identity: &Identity) {
        let is_theirs = |owner: &Owner| owner.visitor.identity == *identity;
        let ended: Vec<SessionId> = {
            let owners = self.lock();
            owners.iter().filter(|(_, owner)| is_theirs(owner)).map(|(id, _)| id.clone()).collect()
        };
        for id in ended {
            self.end(&id).await;
        }
    }

    async fn end(&self, id: &SessionId) {
        // One that cannot be reached any more has ended.
        drop(self.close_session(id).await);
    }
}

/// The least recently used session of the callers that `which` picks.
fn oldest(
    owners: &HashMap<SessionId, Owner>,
    which: &dyn Fn(&Visitor) -> bool,
) -> Option<SessionId> {
    owners
        .iter()
        .filter(|(_, owner)| which(&owner.visitor))
        .min_by_key(|(_, owner)| owner.used)
        .map(|(id, _)| id.clone())
}

/// Answers whose client went away before the end, oldest first. The SDK keeps each for a client
/// that resumes.
type Abandoned = Arc<Mutex<VecDeque<(LocalSessionHandle, u64)>>>;

/// How many answers are kept for clients that resume; each may have `limits.result_bytes`.
const MAX_ABANDONED: usize = 16;

/// The answer to one request of a session, while it is being sent.
struct Answer {
    session: LocalSessionHandle,
    request: Option<u64>,
    sent: bool,
    taken: bool,
    abandoned: Abandoned,
}

impl Answer {
    /// The stream ended. One that ends without its answer goes on elsewhere.
    fn end(&mut self) {
        self.taken = self.sent;
    }
}

/// The SDK would keep every answer for a while. One that was taken whole is let go at once.
impl Drop for Answer {
    fn drop(&mut self) {
        let Some(request) = self.request else { return };
        let done = match self.taken {
            true => Some((self.session.clone(), request)),
            false => {
                let mut abandoned = self.abandoned.lock().unwrap_or_else(PoisonError::into_inner);
                abandoned.push_back((self.session.clone(), request));
                if abandoned.len() > MAX_ABANDONED { abandoned.pop_front() } else { None }
            }
        };
        if let (Some((session, request)), Ok(runtime)) = (done, Handle::try_current()) {
            runtime.spawn(async move { drop(session.close_request_wise_channel(request).await) });
        }
    }
}

fn is_answer(message: &ServerJsonRpcMessage) -> bool {
    matches!(message, ServerJsonRpcMessage::Response(_) | ServerJsonRpcMessage::Error(_))
}

/// The SDK's sessions, except that an owner is forgotten with the session and an answer when it was
/// taken.
impl SessionManager for Sessions {
    type Error = LocalSessionManagerError;
    type Transport = <LocalSessionManager as SessionManager>::Transport;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), Self::Error> {
        self.sdk.create_session().await
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, Self::Error> {
        self.sdk.initialize_session(id, message).await
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, Self::Error> {
        self.sdk.has_session(id).await
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), Self::Error> {
        self.lock().remove(id);
        self.sdk.close_session(id).await
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        let session = self.sdk.sessions.read().await.get(id).cloned();
        let session =
            session.ok_or_else(|| LocalSessionManagerError::SessionNotFound(id.clone()))?;
        let receiver = session.establish_request_wise_channel().await?;
        session.push_message(message, receiver.http_request_id).await?;
        let answer = Answer {
            session,
            request: receiver.http_request_id,
            sent: false,
            taken: false,
            abandoned: self.abandoned.clone(),
        };
        Ok(stream::unfold((receiver.inner, answer), |(mut messages, mut answer)| async move {
            let Some(message) = messages.recv().await else {
                answer.end();
                return None;
            };
            answer.sent |= message.message.as_deref().is_some_and(is_answer);
            Some((message, (messages, answer)))
        }))
    }

    async fn accept_message(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<(), Self::Error> {
        self.sdk.accept_message(id, message).await
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        self.sdk.create_standalone_stream(id).await
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        self.sdk.resume(id, last_event_id).await
    }
}
